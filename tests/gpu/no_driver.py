#!/usr/bin/env python3
"""no_driver.py PROGRAM SNAPSHOT -- without a CUDA driver `memsnap replay` says so, exits with 4, and --dry-run works. Exit 77 where there is one."""
import ctypes, subprocess, sys

try:
    ctypes.CDLL("libcuda.so.1")
    print("there is a CUDA driver here: skipped")
    sys.exit(77)
except OSError:
    pass
program, snapshot = sys.argv[1:]
r = subprocess.run([program, "replay", snapshot], capture_output=True, text=True)
want = "memsnap: there is no CUDA driver here (libcuda.so.1 does not open); use --dry-run for a modelled device\n"
if (r.returncode, r.stdout, r.stderr) != (4, "", want):
    sys.exit(f"exit {r.returncode}, out {r.stdout!r}, err {r.stderr!r}")
r = subprocess.run([program, "replay", "--dry-run", snapshot], capture_output=True, text=True)
if r.returncode not in (0, 1) or r.stderr:
    sys.exit(f"--dry-run: exit {r.returncode}, err {r.stderr!r}")
