#!/usr/bin/env python3
"""bench.py FOLDER [--runs N] -- how fast, and in how much memory, beside CPython's own unpickler on this machine.

FOLDER holds big.pickle.gz and big.3m.pickle.xz; beside it, settings/gpt_var.t_default.pickle.gz is what tune runs on. All numbers but
tune's are ratios within one run: memsnap's seconds over those of pickle.load with gc.disable() on the same plain file. Runs are
interleaved and the least is taken, which what else runs on the machine disturbs least. Never a test's verdict."""
import argparse, gzip, json, lzma, os, shutil, subprocess, sys, tempfile, time

p = argparse.ArgumentParser()
p.add_argument("folder")
p.add_argument("--runs", type=int, default=5)
p.add_argument("--memsnap", default=os.environ.get("MEMSNAP", "build/cli/memsnap"))
a = p.parse_args()
T = tempfile.mkdtemp(prefix="bench")

big, big3, gz = (os.path.join(T, n) for n in ("big.pickle", "big.3m.pickle", "big.pickle.gz"))
shutil.copy(os.path.join(a.folder, "big.pickle.gz"), gz)
with gzip.open(gz) as i, open(big, "wb") as o:
    shutil.copyfileobj(i, o)
with lzma.open(os.path.join(a.folder, "big.3m.pickle.xz")) as i, open(big3, "wb") as o:
    shutil.copyfileobj(i, o)

PY = "import gc, pickle, sys, time; gc.disable(); t = time.perf_counter(); pickle.load(open(sys.argv[1], 'rb')); print(time.perf_counter() - t)"
INFLATE = """import sys, time, zlib
b = open(sys.argv[1], 'rb').read(); t = time.perf_counter(); d = zlib.decompressobj(31)
for i in range(0, len(b), 1 << 16): d.decompress(b[i:i + (1 << 16)])
print(time.perf_counter() - t)"""


def python(code, path):
    return float(subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True).stdout), 0, 0


def memsnap(*args):
    """Seconds, the highest resident bytes, and CPU seconds."""
    start = time.perf_counter()
    child = subprocess.Popen([a.memsnap, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"memsnap {' '.join(args)}: {err.decode(errors='replace')}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def events(path):
    info = subprocess.run([a.memsnap, "info", "--json", path], capture_output=True, check=True).stdout
    return sum(d["events"] for d in json.loads(info)["devices"])


svg = os.path.join(T, "x.svg")
jobs = {
    "pickle": lambda: python(PY, big), "inflate": lambda: python(INFLATE, gz),
    "info": lambda: memsnap("info", big), "report": lambda: memsnap("report", big), "report.gz": lambda: memsnap("report", gz),
    "plot": lambda: memsnap("plot", "--force", "-o", svg, big),
    "info.3m": lambda: memsnap("info", big3), "report.3m": lambda: memsnap("report", big3), "plot.3m": lambda: memsnap("plot", "--force", "-o", svg, big3),
    "pickle.3m": lambda: python(PY, big3), "simulate.3m": lambda: memsnap("simulate", big3)}
gpt = os.path.join(a.folder, "..", "settings", "gpt_var.t_default.pickle.gz")
if os.path.exists(gpt):   # under a limit garbage collection is among the settings: 64 in all
    jobs["tune"] = lambda: memsnap("tune", "--threads", "1", "--by", "peak", "--limit", "5GiB", gpt)
    jobs["tune.limits"] = lambda: memsnap("tune", "--threads", "1", "--by", "limit", "--limit", "5GiB", gpt)
seconds, resident, cpu = {k: [] for k in jobs}, {k: 0 for k in jobs}, {k: [] for k in jobs}
for n in range(a.runs):
    for k, job in jobs.items():
        if k.endswith("3m") and n >= max(1, a.runs // 2 + 1):
            continue
        s, r, c = job()
        seconds[k].append(s)
        cpu[k].append(c)
        resident[k] = max(resident[k], r)
s = {k: min(v) for k, v in seconds.items()}
size, size3 = os.path.getsize(big), os.path.getsize(big3)
growth = events(big3) / events(big)
rows = [   # what, measured, bar
    ("info of big.3m against pickle.load", s["info.3m"] / s["pickle.3m"], 1 / 25),
    ("report of big.3m against pickle.load", s["report.3m"] / s["pickle.3m"], 1 / 12),
    ("plot of big.3m against pickle.load", s["plot.3m"] / s["pickle.3m"], 1 / 8),
    ("simulate of big.3m against pickle.load", s["simulate.3m"] / s["pickle.3m"], 1 / 10),
    ("gzip: report against plain + inflate", s["report.gz"] / (s["report"] + s["inflate"]), 1),
    ("report: resident over file, big", resident["report"] / size, 1.5),
    ("report: resident over file, big.3m", resident["report.3m"] / size3, 1.5),
    ("plot: resident over file, big.3m", resident["plot.3m"] / size3, 1.5),
    (f"report: time's growth over {growth:.1f} times the events", s["report.3m"] / s["report"] / growth, 1),
    (f"plot: time's growth over {growth:.1f} times the events", s["plot.3m"] / s["plot"] / growth, 1)]
if "tune" in jobs:
    rows += [("tune, 64 settings by peak: CPU seconds", min(cpu["tune"]), 2),
             ("tune, each with its smallest limit: CPU seconds", min(cpu["tune.limits"]), 2)]
print(f"big {size / 2**20:.0f} MiB, big.3m {size3 / 2**20:.0f} MiB, {a.runs} runs, the least of each; pickle.load {s['pickle']:.2f} s, inflate {s['inflate']:.2f} s")
for k in jobs:
    print(f"  {k:<12} {s[k]:7.3f} s {resident[k] / 2**20:8.0f} MiB" if resident[k] else f"  {k:<12} {s[k]:7.3f} s")
print(f"{'ratio':<48} {'measured':>8} {'bar':>6}")
for what, measured, bar in rows:
    print(f"{what:<48} {measured:8.3f} {bar:6.3f}{'' if measured <= bar else '  over'}")
shutil.rmtree(T)
