#!/usr/bin/env python3
"""check_check.py MEMSNAP FILE... -- genuine snapshots have no fault: `memsnap check` exits 0 on each."""
import subprocess, sys

bad = 0
for path in sys.argv[2:]:
    r = subprocess.run([sys.argv[1], "check", path], capture_output=True, text=True)
    if r.returncode:
        bad += 1
        print(f"{path}: exit {r.returncode}: {(r.stdout + r.stderr).splitlines()[:2]}")
print(f"{len(sys.argv) - 2 - bad} passed, {bad} failed")
sys.exit(bool(bad) or len(sys.argv) < 3)
