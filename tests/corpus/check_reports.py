#!/usr/bin/env python3
"""check_reports.py FILE... -- every snapshot gives a report and a picture, and its peak adds up byte for byte:
the stacks (and categories, where there are any) sum to the allocated bytes; the peak is the highest state that the
events show; reading twice prints the same bytes. MEMSNAP names the program."""
import json, os, subprocess, sys, tempfile
import xml.etree.ElementTree

program = os.environ.get("MEMSNAP", "build/cli/memsnap")
has_plot = subprocess.run([program, "help", "plot"], capture_output=True).returncode == 0
T = tempfile.mkdtemp()


def run(*args):
    r = subprocess.run([program, *args], capture_output=True)
    if r.returncode:
        raise RuntimeError(f"memsnap {' '.join(args)}: exit {r.returncode}: {r.stderr.decode(errors='replace')[-300:]}")
    return r.stdout


def check(path):
    text = run("report", "--json", path)
    if run("report", "--json", path) != text:
        yield "a second reading prints other bytes"
    doc = json.loads(text)
    if doc["schema"] != "memsnap.report/1":
        yield f"schema is {doc['schema']}"
    top = {}
    for line in run("export", "--table", "events", path).splitlines():
        e = json.loads(line)
        d = top.setdefault(e["device"], [0, -1, 0])
        d[2] += 1
        if (e["allocated_bytes"] or 0) > d[0]:
            d[0], d[1] = e["allocated_bytes"], e["event"]
    info = {d["device"]: d for d in json.loads(run("info", "--json", path))["devices"]}
    for d in doc["devices"]:
        n, p = d["device"], d["peak"]
        if n not in info:
            yield f"device {n} is in the report and not in info"
        total = p["allocated_bytes"]
        if p.get("categories") and sum(p["categories"].values()) != total:
            yield f"device {n}: categories sum to {sum(p['categories'].values())}, not {total}"
        stacks = sum(s["bytes"] for s in p["stacks"])
        if stacks != total:
            yield f"device {n}: stacks sum to {stacks}, not {total}"
        if n in top and top[n][0] > total:
            yield f"device {n}: event {top[n][1]} shows {top[n][0]} allocated, above the peak {total}"
        if n in top and p["event"] is not None and (top[n][0], top[n][1]) != (total, p["event"]):
            yield f"device {n}: peak {total} at event {p['event']}, the events say {top[n][0]} at {top[n][1]}"
        if n in info and top.get(n, (0, 0, 0))[2] != info[n]["events"]:
            yield f"device {n}: {info[n]['events']} events, {top.get(n, (0, 0, 0))[2]} exported"
    if not run("report", path).strip():
        yield "an empty report"
    if has_plot:
        out = os.path.join(T, "x.svg")
        if os.path.exists(out):
            os.remove(out)
        devices = [d for d in info.values() if d["device"] is not None]
        r = subprocess.run([program, "plot", path, "-o", out], capture_output=True)
        if not devices:
            if r.returncode not in (0, 3):
                yield f"plot of a file without devices: exit {r.returncode}"
        elif r.returncode:
            yield f"plot: exit {r.returncode}: {r.stderr.decode(errors='replace')[-200:]}"
        elif not xml.etree.ElementTree.parse(out).getroot().tag.endswith("svg"):
            yield "plot: not an SVG"


good = bad = 0
for path in sys.argv[1:]:
    try:
        wrong = list(check(path))
    except Exception as e:
        wrong = [f"{type(e).__name__}: {e}"]
    good, bad = good + (not wrong), bad + bool(wrong)
    for w in wrong[:3]:
        print(f"{path}: {w}")
print(f"{good} passed, {bad} failed")
sys.exit(bool(bad) or not good)
