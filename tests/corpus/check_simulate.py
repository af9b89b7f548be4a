#!/usr/bin/env python3
"""check_simulate.py MEMSNAP FOLDER... -- every file with a whole history simulates to itself: each allocation at its recorded address,
the recorded final blocks, and the statistics of `memsnap stats`. The truth's limit_bytes, where there is one, is the limit."""
import glob, json, os, subprocess, sys

EXCEPT = {"num_sync_all_streams"}   # an empty_cache that freed nothing leaves no trace
program = sys.argv[1]


def run(*args):
    r = subprocess.run([program, *args], capture_output=True, text=True)
    if r.returncode > 1:
        raise RuntimeError(r.stderr.strip()[-300:])
    return json.loads(r.stdout)


def check(path, truth):
    devices = [d for d in run("info", "--json", path)["devices"] if d["device"] is not None and d["device"] >= 0]
    stats = {d["device"]: d["stats"] for d in run("stats", "--json", path)["devices"]}
    for d in devices:
        if d["history"] != "complete" or not d["events"]:
            continue
        limit = ["--limit", str(truth["limit_bytes"])] if truth.get("limit_bytes") else []
        sim = run("simulate", "--json", "--device", str(d["device"]), *limit, path)
        p = sim["placement"]
        if not p:
            yield f"device {d['device']}: no placement"
        elif p["different"] or p["end_blocks_different"]:
            yield f"device {d['device']}: {p['different']} of {p['compared']} allocations land elsewhere, {p['end_blocks_different']} final blocks differ"
        wrong = [(k, sim["stats"][k], v) for k, v in stats[d["device"]].items() if k not in EXCEPT and sim["stats"][k] != v]
        if wrong:
            yield f"device {d['device']}: {len(wrong)} statistics differ, e.g. {wrong[:3]}"
        yield None


good = bad = 0
for folder in sys.argv[2:]:
    for path in sorted(glob.glob(os.path.join(folder, "*.pickle*"))):
        stem = path[: path.index(".pickle")]
        truth = json.load(open(stem + ".truth.json")) if os.path.exists(stem + ".truth.json") else {}
        try:
            said = list(check(path, truth))
        except Exception as e:
            said = [f"{type(e).__name__}: {e}"]
        wrong = [w for w in said if w]
        good, bad = good + (bool(said) and not wrong), bad + bool(wrong)
        for w in wrong[:3]:
            print(f"{path}: {w}")
print(f"{good} passed, {bad} failed")
sys.exit(bool(bad) or not good)
