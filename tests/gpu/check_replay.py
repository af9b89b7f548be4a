#!/usr/bin/env python3
"""check_replay.py PROGRAM FOLDER... -- `memsnap replay` on this machine's GPU over recordings whose programs left a truth file.

NAME.pickle.gz stands beside NAME.truth.json: what the program knew (oom, and the peak of reserved bytes). A recording whose
program ran out of memory must fail again at that event, every other one must fit. WORKLOAD.t_SETTING.truth.json beside
WORKLOAD.t_default.pickle.gz: the workload under another setting, which --mode allocator must foretell: the same end, and the
same peak within 0.5 % (1 % with garbage collection, which goes by time). Exit 77 where there is no driver."""
import ctypes, glob, json, os, re, subprocess, sys

TOUCHED = ("gpt_var.oom", "dcgan", "streams", "graphs.expandable", "mempool", "frag", "gpt_var.expandable")
passed = failed = 0


def verdict(ok, *what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAILED", *what, flush=True)


def replay(*args):
    r = subprocess.run([program, "replay", "--json", *args], capture_output=True, text=True)
    try:
        return r.returncode, json.loads(r.stdout)
    except ValueError:
        return r.returncode, {"error": r.stderr.strip()}


class Truth:
    def __init__(self, path):
        t = json.load(open(path))
        stats = t.get("memory_stats") or {}
        self.oom = bool(t.get("oom"))
        self.conf = t.get("conf") or ""
        self.limit = t.get("limit_bytes")
        self.caching = not t.get("no_caching")
        self.peak = t.get("peak") or stats.get("reserved_bytes.all.peak")
        self.name = os.path.basename(path)[: -len(".truth.json")]
        self.file = path[: -len(".truth.json")] + ".pickle.gz"


def fails_again_or_fits(t):
    rc, j = replay(t.file)
    if "no events" in j.get("error", ""):
        return
    if t.oom and j.get("recorded_oom"):
        ok = j["reproduced"] is True and rc == 1 and j["oom"]["event"] == j["recorded_oom"]["event"]
        ok = ok and not (j["by_limit"] and t.name == "device_oom")  # the card itself was full
    else:
        ok = "error" not in j and j["oom"] is None and rc == 0
    verdict(ok, t.name, "oom" if t.oom else "fits", rc, j.get("error"), j.get("oom"), j.get("recorded_oom"))


def is_foretold(t, base):
    limit = ["--limit", str(t.limit)] if t.limit else []
    rc, j = replay("--mode", "allocator", "--conf", t.conf, *limit, base)
    if "error" in j:
        return verdict(False, t.name, rc, j["error"])
    off = abs(j["peak_reserved_bytes"] - t.peak) / t.peak
    ok = (j["oom"] is not None) == t.oom and (t.oom or off <= (0.01 if "garbage" in t.conf else 0.005))
    verdict(ok, t.name, t.conf, "oom here:", j["oom"], "real:", t.oom, "peak off by", off)


def nothing_overlaps(path):
    for mode in ("segments", "allocator"):
        rc, j = replay("--touch", "--mode", mode, path)
        verdict(rc in (0, 1) and j.get("overlaps") == 0, "touch", mode, path, rc, j.get("overlaps"), j.get("error"))


def calls_cost_what_they_cost(path):
    rc, j = replay(path)
    calls = sum(c["sum"] for c in j.get("call_us", {}).values()) / 1e6
    count = sum(c["count"] for c in j.get("call_us", {}).values())
    if count >= 50000:  # too few calls say nothing
        over = (j["seconds"] - calls) / calls
        print(f"{os.path.basename(path)}: {count} calls in {j['seconds']:.3f} s, of that not in the driver {100 * over:.2f} %")
        verdict(over <= 0.05, path, "overhead", over)


if len(sys.argv) < 3:
    sys.exit(__doc__)
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    print("no CUDA driver here: skipped")
    sys.exit(77)
program = os.path.abspath(sys.argv[1])
truths = [Truth(p) for folder in sys.argv[2:] for p in sorted(glob.glob(folder + "/**/*.truth.json", recursive=True))]
for t in truths:
    base = re.sub(r"\.t_.*", ".t_default.pickle.gz", t.file)
    if os.path.exists(t.file):
        fails_again_or_fits(t)
    if ".t_" in t.name and os.path.exists(base) and t.peak and t.caching and "Async" not in t.conf:
        is_foretold(t, base)
for path in sorted({t.file for t in truths if t.name in TOUCHED and os.path.exists(t.file)}):
    nothing_overlaps(path)
for folder in sys.argv[2:]:
    for path in sorted(glob.glob(folder + "/**/calls*.pickle.gz", recursive=True)):
        calls_cost_what_they_cost(path)
    for path in sorted(glob.glob(folder + "/**/overlap*.pickle.gz", recursive=True)):  # two live blocks share bytes there
        rc, j = replay("--touch", path)
        verdict(j.get("overlaps", 0) > 0, "planted overlap", path, rc, j.get("error"))
if truths:
    rc, j = replay("--device", "1000", next(t.file for t in truths if os.path.exists(t.file)))
    verdict(rc == 4 and "there is no GPU 1000" in j.get("error", ""), "a wrong number", rc, j)
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
