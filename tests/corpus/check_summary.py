#!/usr/bin/env python3
"""check_summary.py MEMSNAP FOLDER...: `memsnap stats --summary` against torch.cuda.memory_summary() of the same run, character by character."""
import glob, json, os, subprocess, sys

good = bad = 0
for folder in sys.argv[2:]:
    for truth in sorted(glob.glob(os.path.join(folder, "*.truth.json"))):
        stem = truth[: -len(".truth.json")]
        snap = next((stem + e for e in (".pickle.gz", ".pickle") if os.path.exists(stem + e)), None)
        want = json.load(open(truth))
        name = os.path.basename(stem)
        if not snap or not want.get("memory_summary") or not want.get("n_trace") or not any(want["n_trace"]):
            continue
        if any(tag in ("ring", "late", "nocache") for tag in name.split(".")):
            continue  # a cut history has no totals
        got = subprocess.run([sys.argv[1], "stats", "--summary", "--device", "0", snap], capture_output=True, text=True).stdout
        if got.strip() == want["memory_summary"].strip():
            good += 1
        else:
            bad += 1
            lines = [(a, b) for a, b in zip(got.splitlines(), want["memory_summary"].splitlines()) if a != b]
            print(f"{name}: {lines[:2]}")
print(f"{good} passed, {bad} failed")
sys.exit(bool(bad) or not good)
