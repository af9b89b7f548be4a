#!/usr/bin/env python3
"""make.py -- writes the small snapshots beside it, and the tables of README.md.

Nothing but the standard library; the same bytes every time. Names say the verdict:
good_ loads and has nothing to remark, odd_ loads with oddities or faults, bad_ is refused.
`make.py --check` writes nothing and fails where a file differs from what it would write.
"""
import copy, gzip, io, os, pickle, random, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
FILES = {}   # name -> bytes
NOTES = {}   # name -> (origin, expected)


def put(name, data, origin, expected):
    assert name not in FILES, name
    FILES[name], NOTES[name] = data, (origin, expected)


# ---- a small caching allocator, so that every made file is true to itself ----

def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


LIB = "/usr/lib/python3/dist-packages/torch/"
MAIN = frame("<module>", "/home/ada/train.py", 40)
STACKS = {
    "weight": [frame("__init__", LIB + "nn/modules/linear.py", 106), frame("build", "/home/ada/model.py", 12), MAIN],
    "input": [frame("load", "/home/ada/data.py", 31), frame("<module>", "/home/ada/train.py", 44)],
    "forward": [frame("forward", LIB + "nn/modules/linear.py", 125), frame("forward", "/home/ada/model.py", 20),
                frame("<module>", "/home/ada/train.py", 45)],
    "backward": [],   # a C++ thread recorded with stacks="python": a stack without frames
    "step": [frame("step", LIB + "optim/sgd.py", 80), frame("<module>", "/home/ada/train.py", 47)],
}


class Device:
    """Best fit, splitting, merging and rounding as PyTorch's native allocator with default settings."""

    def __init__(self, device=0, base=0x7F0000000000, t=1_700_000_000_000_000):
        self.device, self.next, self.t = device, base, t
        self.segments, self.trace, self.live = [], [], {}

    def event(self, action, addr, size, stream, stack, **more):
        e = {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": self.t,
             "compile_context": "N/A", "user_metadata": ""}
        if action == "oom":
            e["device_free"] = e.pop("addr")
        if stack is not None:
            e["frames"] = STACKS[stack]
        e.update(more)
        self.trace.append(e)
        self.t += 10

    def alloc(self, name, size, stack="forward", stream=0):
        rounded = max(512, (size + 511) & ~511)
        small = rounded <= MIB
        kind = "small" if small else "large"
        fits = [(b["size"], b["address"], i, j) for i, s in enumerate(self.segments) for j, b in enumerate(s["blocks"])
                if b["state"] == "inactive" and b["size"] >= rounded and s["segment_type"] == kind and s["stream"] == stream]
        if fits:
            _, _, i, j = min(fits)
        else:
            total = 2 * MIB if small else 20 * MIB if rounded < 10 * MIB else -(-rounded // (2 * MIB)) * 2 * MIB
            self.segments.append({
                "device": self.device, "address": self.next, "total_size": total, "stream": stream,
                "segment_type": kind, "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                "blocks": [{"address": self.next, "size": total, "requested_size": 0, "state": "inactive", "frames": []}]})
            self.event("segment_alloc", self.next, total, stream, stack)
            self.next += -(-total // (32 * MIB)) * 32 * MIB
            i, j = len(self.segments) - 1, 0
        s = self.segments[i]
        b = s["blocks"][j]
        rest = b["size"] - rounded
        if rest >= (512 if small else MIB + 1):
            s["blocks"].insert(j + 1, {"address": b["address"] + rounded, "size": rest, "requested_size": 0,
                                       "state": "inactive", "frames": []})
            b["size"] = rounded
        b.update(requested_size=size, state="active_allocated", frames=STACKS[stack])
        self.live[name] = (s, b)
        self.event("alloc", b["address"], size, stream, stack)

    def free(self, name, stack="forward", pending=False):
        s, b = self.live[name]
        self.event("free_requested", b["address"], b["requested_size"], s["stream"], stack)
        b["state"] = "active_pending_free"
        if not pending:
            self.complete(name, stack)

    def complete(self, name, stack="forward"):
        s, b = self.live.pop(name)
        self.event("free_completed", b["address"], b["requested_size"], s["stream"], stack)
        b.update(state="inactive", frames=[])
        bs = s["blocks"]
        k = next(n for n, x in enumerate(bs) if x is b)
        for a in (k, k - 1):   # merge with the right, then with the left neighbour
            if 0 <= a < len(bs) - 1 and bs[a]["state"] == bs[a + 1]["state"] == "inactive":
                bs[a]["size"] += bs.pop(a + 1)["size"]

    def empty_cache(self, stack="step"):
        for s in [s for s in self.segments if len(s["blocks"]) == 1 and s["blocks"][0]["state"] == "inactive"]:
            self.segments.remove(s)
            self.event("segment_free", s["address"], s["total_size"], s["stream"], stack)

    def state(self):
        out = []
        for s in sorted(self.segments, key=lambda s: s["address"]):
            act = [b for b in s["blocks"] if b["state"] != "inactive"]
            out.append(dict(s, allocated_size=sum(b["size"] for b in act if b["state"] == "active_allocated"),
                            active_size=sum(b["size"] for b in act), requested_size=sum(b["requested_size"] for b in act)))
        return out


def step(d, n=1):
    """One training step of a two-layer model."""
    d.alloc(f"x{n}", 3 * MIB, "input")
    d.alloc(f"h{n}", 6 * MIB, "forward")
    d.alloc(f"loss{n}", 4, "forward")
    d.alloc(f"g1{n}", 1000, "backward")
    d.alloc(f"g2{n}", 4 * MIB, "backward")
    for name in ("h", "loss", "x"):
        d.free(f"{name}{n}", "backward")
    d.alloc(f"tmp{n}", 4 * MIB, "step")
    d.free(f"tmp{n}", "step")
    d.free(f"g1{n}", "step")
    d.free(f"g2{n}", "step")


def training(device=0, base=0x7F0000000000, steps=2):
    d = Device(device, base)
    d.alloc("w1", 1000, "weight")
    d.alloc("w2", 4 * MIB, "weight")
    for n in range(steps):
        step(d, n)
    d.alloc("side", 700000, "forward", stream=0x55AA00)
    d.free("side", "forward", pending=True)
    return d


SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
    "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
    "graph_capture_record_stream_reuse": False, "roundup_power2_divisions": {str(1 << k): 0 for k in range(16)}}
T0 = 1_700_000_000_000_000
NOTESLIST = [{"name": "step#0", "stage": "START", "device": 0, "time_us": T0 + 40}, {"name": "step#0", "stage": "END", "device": 0, "time_us": T0 + 215}]


def snapshot(*devices, **more):
    """The dict of PyTorch 2.11."""
    n = max([d.device for d in devices], default=-1) + 1
    traces = [[] for _ in range(n)]
    for d in devices:
        traces[d.device] = d.trace
    s = {"segments": [g for d in devices for g in d.state()], "device_traces": traces,
         "allocator_settings": SETTINGS, "external_annotations": NOTESLIST}
    s.update(more)
    return s


def base():
    return snapshot(training())


def deep(s):
    """A copy without shared parts, so that one place can be changed."""
    return copy.deepcopy(s) if s is not None else None


def py(obj, protocol=4):
    return pickle.dumps(obj, protocol)


# ---- two more writers: PyTorch's C++ pickler, and Python 2's protocol 0 ----

def cpp(obj):
    out, memo = bytearray(b"\x80\x02"), {}

    def long1(v):
        return b"\x8a\x08" + struct.pack("<Q", v & (1 << 64) - 1)

    def put_id(key):
        memo[key] = len(memo)
        return b"q" + bytes([memo[key]]) if memo[key] < 256 else b"r" + struct.pack("<I", memo[key])

    def get_id(key):
        return b"h" + bytes([memo[key]]) if memo[key] < 256 else b"j" + struct.pack("<I", memo[key])

    def walk(v):
        nonlocal out
        if isinstance(v, str):
            if v in memo:
                out += get_id(v)
            else:
                b = v.encode()
                out += b"X" + struct.pack("<I", len(b)) + b + put_id(v)
        elif isinstance(v, bool):
            out += b"\x88" if v else b"\x89"
        elif isinstance(v, int):
            out += (b"K" + bytes([v]) if 0 <= v < 256 else b"M" + struct.pack("<H", v) if 0 <= v < 65536 else
                    b"J" + struct.pack("<i", v) if -2**31 <= v < 2**31 else long1(v))
        elif isinstance(v, float):
            out += b"G" + struct.pack(">d", v)
        elif isinstance(v, tuple):
            for x in v:
                walk(x)
            out += b"\x86"
        elif id(v) in memo:
            out += get_id(id(v))
        elif isinstance(v, list):
            out += b"]("
            for x in v:
                walk(x)
            out += b"e"
            if v and all(isinstance(x, dict) and "filename" in x for x in v):
                out += put_id(id(v))   # only stacks are shared, and get their id when they are full
        else:
            out += b"}("
            for k, x in v.items():
                walk(k)
                walk(x)
            out += b"u"
            if "filename" in v:
                out += put_id(id(v))
    walk(obj)
    return bytes(out + b".")


def py2(obj):
    """Protocol 0 as Python 2 writes it: S'..' strings, dicts by d and s, lists by l and a, p and g."""
    out, memo = bytearray(), {}

    def walk(v):
        nonlocal out
        if isinstance(v, str):
            if v in memo:
                out += b"g%d\n" % memo[v]
            else:
                memo[v] = len(memo)
                out += b"S" + repr(v).encode() + b"\np%d\n" % memo[v]
        elif isinstance(v, bool):
            out += b"I01\n" if v else b"I00\n"
        elif isinstance(v, int):
            out += b"I%d\n" % v if -2**31 <= v < 2**31 else b"L%dL\n" % v
        elif isinstance(v, float):
            out += b"F%r\n" % v
        elif isinstance(v, tuple):
            out += b"("
            for x in v:
                walk(x)
            out += b"t"
        elif id(v) in memo:
            out += b"g%d\n" % memo[id(v)]
        elif isinstance(v, list):
            memo[id(v)] = len(memo)
            out += b"(lp%d\n" % memo[id(v)]
            for x in v:
                walk(x)
                out += b"a"
        else:
            memo[id(v)] = len(memo)
            out += b"(dp%d\n" % memo[id(v)]
            for k, x in v.items():
                walk(k)
                walk(x)
                out += b"s"
    walk(obj)
    return bytes(out + b".")


def gz(data):
    f = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=f, mtime=0) as g:
        g.write(data)
    return f.getvalue()


# ---- good: every way to write the same history ----

def make_good():
    b = base()
    for p in range(6):
        put(f"good_protocol{p}.pickle", py(b, p), f"the base history, Python's protocol {p}", "loads; same report as good_protocol4")
    put("good_protocol0_python2.pickle", py2(b), "the same, protocol 0 as Python 2 writes it (S strings)", "same report as good_protocol4")
    put("good_cpp_writer.pickle", cpp(b), "the same, as PyTorch's C++ writer: protocol 2, empty batches, BINPUT after filling", "same report as good_protocol4")
    for e in b["device_traces"][0][2:8]:
        e["frames"] = []
    empty = py(b)
    more = empty.count(b"]\x94u")
    assert empty[2:3] == b"\x95" and more
    empty = empty[:3] + struct.pack("<Q", len(empty) - 11 + 2 * more) + empty[11:].replace(b"]\x94u", b"]\x94(eu")
    put("good_empty_appends.pickle", empty, "stacks without frames, as empty lists that nothing is appended to", "loads")
    b = base()
    put("good_gzip.pickle.gz", gz(py(b)), "good_protocol4 in gzip", "same report as good_protocol4")
    two = gz(py(b)[:700]) + gz(py(b)[700:])
    put("good_gzip_two_members.pickle.gz", two, "good_protocol4 in gzip, as two members (pigz, cat)", "same report as good_protocol4")
    for k in (1, 3):
        put(f"good_trailing_{k}.pickle", py(b) + bytes(k), f"good_protocol4 and {k} NUL after STOP (pages of _memory_viz.py)", "same report as good_protocol4")

    s = deep(b)
    for d in s["device_traces"]:
        for e in d:
            e.pop("time_us"), e.pop("compile_context"), e.pop("user_metadata")
    s.pop("allocator_settings"), s.pop("external_annotations")
    put("good_2.1.pickle", py(s), "the base history with the keys of PyTorch 2.1: no times, settings, annotations", "loads; no times")

    s = deep(b)   # kind B
    for d in s["device_traces"]:
        for e in d:
            e.pop("time_us"), e.pop("compile_context"), e.pop("user_metadata")
    s.pop("allocator_settings"), s.pop("external_annotations")
    for g in s["segments"]:
        for k in ("segment_pool_id", "is_expandable", "frames"):
            g.pop(k)
        for x in g["blocks"]:
            f = x.pop("frames")
            if x["state"] != "inactive":
                x["history"] = [{"addr": x["address"], "real_size": x["requested_size"], "frames": f}]
            x.pop("address")
    put("good_2.0_history.pickle", py(s), "the base history as PyTorch 2.0 has it: blocks with `history`, without `address`", "loads; addresses computed, stacks from `history`")

    segs = deep(s["segments"])   # kind A
    for g in segs:
        g.pop("requested_size")
        for x in g["blocks"]:
            x.pop("requested_size")
    put("good_1.13_list.pickle", py(segs, 4), "the segments as PyTorch 1.13 has them: a list, blocks with `history`", "loads; state only, no events")
    put("good_bare_list.pickle", py(b["segments"]), "torch.cuda.memory_snapshot(): a bare list of 2.1+ segments", "loads; state only, no events")

    s = deep(b)
    for d in s["device_traces"]:
        for e in d:
            e.pop("frames")
    for g in s["segments"]:
        g["frames"] = []
        for x in g["blocks"]:
            x["frames"] = []
    put("good_no_frames.pickle", py(s), "recorded with context=None: no stacks at all", "loads; stack 0 everywhere")

    many = snapshot(training(1), training(5, 0x7E0000000000, 3))
    many["device_traces"] += [[], []]
    put("good_devices_1_and_5.pickle", py(many), "8 device lists, 6 empty; devices 1 and 5", "loads; two devices; device 5 is the default")

    s = deep(b)
    for g in s["segments"]:
        g["segment_pool_id"] = [0, 0]
    s = {"device_traces": s["device_traces"], "segments": s["segments"], "allocator_settings": s["allocator_settings"]}
    put("good_pool_lists.pickle", py(s), "converted file: pool ids are lists, device_traces stands first", "loads")

    s = deep(b)
    for d in s["device_traces"]:
        for e in d:
            e["pool_id"] = (0, 0)
            if e["action"] == "alloc":
                e["forward_frames"] = ["  File \"/home/ada/train.py\", line 45, in <module>\n"]
    s["host_segments"], s["host_traces"] = [], []
    d = s["device_traces"][0]
    d.append({"action": "annotate", "addr": d[1]["addr"], "size": 1000, "stream": 0, "time_us": d[-1]["time_us"] + 5, "compile_context": "N/A",
              "user_metadata": "{\"role\":\"embedding\"}", "pool_id": (0, 0), "frames": STACKS["weight"]})
    put("good_2.14.pickle", py(s), "keys of PyTorch 2.12 to 2.14: pool_id, forward_frames, annotate, empty host_* lists", "loads")

    s = deep(b)
    host = [{"action": a, "addr": 0x7F4000000000, "size": 4096, "stream": 0, "time_us": T0 + 10 * i, "frames": STACKS["input"]}
            for i, a in enumerate(("segment_alloc", "alloc", "free_requested", "free_completed", "alloc"))]
    s["host_traces"] = [host]
    s["host_segments"] = [{"address": 0x7F4000000000, "size": 4096, "total_size": 4096, "allocated_size": 4096, "active_size": 4096, "state": "active_allocated",
                           "segment_pool_id": (0, 0), "frames": STACKS["input"]}]
    put("good_host.pickle", py(s), "host_segments and host_traces (2.13+; key names partly guessed)", "loads; pinned memory beside device 0")

    s = deep(b)
    s["device_traces"][0][3]["frames"][0]["line"] = 2**64 - 1
    s["device_traces"][0][4]["frames"] = [frame("f", "/home/ada/train.py", -1)]
    s["device_traces"][0][5]["frames"] = [frame("f", "/home/ada/train.py", 0)]
    put("good_unknown_lines.pickle", py(s), "frames whose line is 2^64-1, -1 and 0: the interpreter knew none", "loads; no line is printed")

    hi = training(0, 0xFF00000000000000)
    for g in hi.segments:
        g["stream"] = 0xFFFF8000AB12CD00
    for e in hi.trace:
        e["stream"] = 0xFFFF8000AB12CD00
        e.pop("compile_context"), e.pop("user_metadata")
    s = snapshot(hi, allocator_settings={"PYTORCH_ALLOC_CONF": "", "expandable_segments": False})
    s.pop("external_annotations")
    put("good_xpu.pickle", py(s), "XPU: addresses and queues of 2^63 and more (LONG1 of 9 bytes), few keys", "loads")

    s = deep(b)
    s.pop("allocator_settings"), s.pop("external_annotations")
    for i, g in enumerate(s["segments"]):
        g["stream"] = 94000000000000
    for e in s["device_traces"][0]:
        e["stream"] = 94000000000000
        e.pop("time_us")
    s["device_traces"] += [[] for _ in range(7)]
    put("good_npu.pickle", py(s), "Ascend NPU style: a pointer for every stream, no settings, no times, 8 lists", "loads")

    s = deep(b)
    for g in s["segments"]:
        for x in g["blocks"]:
            if x["state"] == "inactive":
                x["requested_size"] = x["size"] + 4096
    put("good_stale_requested.pickle", py(s), "inactive blocks show the last tenant's requested_size, larger than the block", "loads; the stale numbers are not used")

    s = deep(b)
    fx = s["device_traces"][0][3]["frames"][0]
    fx.update(fx_node_op="call_module", fx_node_name="linear", fx_node_target="linear", fx_original_trace="  File \"/home/ada/model.py\", line 20, in forward\n")
    fx2 = s["device_traces"][0][5]["frames"][0]
    fx2.update(fx_node_op=None, fx_node_name=None, fx_node_target="x")
    put("good_fx_frames.pickle", py(s), "frames with fx_* keys (augment_with_fx_traces), some null", "loads")

    s = deep(b)
    for i, e in enumerate(s["device_traces"][0]):
        e["user_metadata"] = f"phase {i // 8}"
        e["compile_context"] = "Torch-Compiled Region: 0/0" if i % 3 else "N/A"
    put("good_user_metadata.pickle", py(s), "user_metadata and compile_context that change", "loads")

    s = deep(b)
    s["allocator_settings"].update(trace_alloc_overflowed=[True], trace_alloc_max_entries=[len(s["device_traces"][0])],
                                   PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64", max_split_size=64 * MIB)
    put("good_ring_keys.pickle", py(s), "allocator_settings with trace_alloc_overflowed and trace_alloc_max_entries (lists)", "loads")

    d = training()
    cut = d.trace[9:]
    s = snapshot(d)
    s["device_traces"] = [cut]
    put("good_cut.pickle", py(s), "the base history without its first 9 events: ring or late start", "loads; history cut; the start is rebuilt")

    s = deep(base())
    s["device_traces"] = [s["device_traces"][0][-1:]]
    put("good_state_mode.pickle", py(s), "enabled=\"state\": a trace of one entry", "loads; history cut")
    s = deep(base())
    s["device_traces"] = [[]]
    put("good_empty_trace.pickle", py(s), "segments, and a trace that recorded nothing", "loads; state only")
    put("good_uncached.pickle", py({"segments": [], "device_traces": [[], []], "allocator_settings": SETTINGS, "external_annotations": []}),
        "PYTORCH_NO_CUDA_MEMORY_CACHING=1: no segments, empty traces", "loads; no device to report")
    d = Device()
    d.alloc("a", 5 * MIB), d.free("a"), d.empty_cache()
    put("good_all_freed.pickle", py(snapshot(d)), "everything freed and given back: a trace and no segments", "loads; history complete")

    d = Device()
    for n in ("a", "b", "c"):
        d.alloc(n, 2 * MIB, "weight")
    before = len(d.trace)
    for n in ("b", "a"):
        d.free(n, "step")
    s = snapshot(d)
    s["device_traces"] = [d.trace[before:]]
    put("good_frees_only.pickle", py(s), "only frees: what is freed was live before the recording began", "loads; history cut; two initial allocations")

    d = training()
    for stage in ("a", "b"):
        d.event("oom", 3 * MIB, 64 * MIB, 0, "forward")
    d.alloc("retry", 8 * MIB, "forward")
    put("good_oom_survived.pickle", py(snapshot(d)), "two OOMs, then an allocation: the program went on", "loads; oom entries are survived")
    d = training()
    d.event("oom", 3 * MIB, 64 * MIB, 0, "forward")
    put("good_oom_final.pickle", py(snapshot(d)), "the last event is an OOM", "loads; the OOM is not survived")

    d = training()
    full = d.trace
    s = snapshot(d)
    s["device_traces"] = [[e for e in full if e["action"] != "free_requested"]]
    put("good_skip_free_requested.pickle", py(s), "skip_actions=[\"free_requested\"]", "loads; a lone free_completed frees")
    s = snapshot(d)
    s["device_traces"] = [[e for e in full if not e["action"].startswith("segment_")]]
    put("good_skip_segments.pickle", py(s), "skip_actions names the segment actions", "loads; segments are taken from the end")

    d = training()
    d.event("snapshot", 0, sum(g["active_size"] for g in d.state()), 0, None)
    step(d, 9)
    put("good_snapshot_twice.pickle", py(snapshot(d)), "an earlier dump left its `snapshot` entry", "loads")

    d = training()
    s = snapshot(d)
    segs = []
    for g in s["segments"]:   # kind G
        segs.append({k: g[k] for k in ("device", "address", "total_size", "stream")})
        segs[-1]["blocks"] = [{"size": x["size"], "state": "inactive"} if x["state"] == "inactive" else
                              {"size": x["size"], "requested_size": x["requested_size"], "state": x["state"], "frames": []} for x in g["blocks"]]
    tr = []
    for e in d.trace:
        if e["action"].startswith("segment"):
            continue
        e = {k: e[k] for k in ("action", "addr", "size", "stream")}
        if e["action"] == "alloc":
            e.update(frames=[{"name": "aten::empty", "filename": "none", "line": 0}], category="parameter" if len(tr) < 2 else "unknown")
        tr.append(e)
    put("odd_profile_plot.pickle", py({"segments": segs, "device_traces": [tr, []]}), "made by profile_plot: `category`, few segment keys, no times", "loads; oddity profiler_category")


def make_odd():
    b = base()
    s = deep(b)
    s["comet"] = {"tail": [1, 2, (3, None)]}
    s["segments"][0]["registration_counter"] = 7
    s["segments"][0]["blocks"][0]["owner"] = "me"
    s["device_traces"][0][2]["thread"] = 12
    s["device_traces"][0][3]["frames"][0]["column"] = 8
    put("odd_unknown_keys.pickle", py(s), "a key that no release has, in each kind of dict", "loads; oddity unknown_key")
    s = deep(b)
    s["device_traces"][0].insert(4, {"action": "teleport", "addr": 1, "size": 2, "stream": 0, "time_us": T0 + 21})
    s["device_traces"][0].insert(4, {"action": "user_defined", "addr": 0, "size": 0, "stream": 0, "time_us": T0 + 21, "frames": [frame("START", "epoch", 0)]})
    put("odd_unknown_action.pickle", py(s), "an action that no release has, and the nightlies' user_defined", "loads; listed by its name; oddity unknown_action")
    for key in ("time_us", "frames", "addr", "stream", "size", "action"):
        s = deep(b)
        s["device_traces"][0][5].pop(key)
        put(f"odd_missing_{key}.pickle", py(s), f"one entry has no `{key}`", "loads")
    s = deep(b)
    s["external_annotations"] = [{"name": "lost", "stage": "END", "device": 0, "time_us": T0 + 5}] + NOTESLIST + [
        {"name": "open", "stage": "START", "device": 0, "time_us": T0 + 300}, {"name": "", "stage": "MIDDLE", "device": 9, "time_us": T0 + 310}]
    put("odd_annotations.pickle", py(s), "an END without START, a START without END, an unknown stage", "loads")
    one = [{"action": "free_completed", "addr": 0x7F0000000000, "size": 512, "stream": 0, "time_us": T0}]
    put("odd_stray_free.pickle", py({"segments": [], "device_traces": [one]}), "a single free_completed and no segment", "loads; a fault")
    t = b["device_traces"][0]
    put("odd_shared_trace.pickle", py({"segments": b["segments"], "device_traces": [t, t]}), "one trace list stands for two devices", "loads; device 1 has faults")
    s = deep(b)
    for e in s["device_traces"][0]:
        for k in ("addr", "size", "stream", "time_us"):
            e[k] = float(e[k])
    for g in s["segments"]:
        for k in ("address", "total_size"):
            g[k] = float(g[k])
    put("odd_floats.pickle", py(s), "whole floats where integers belong (converted by other tools)", "loads; same numbers")
    s = deep(b)
    s["segments"][0]["allocated_size"] += 512
    s["segments"][1]["blocks"][0]["size"] += 512
    put("odd_sums_differ.pickle", py(s), "a segment's sums and its blocks disagree", "loads; `check` says where")
    s = deep(b)
    s["device_traces"][0].insert(8, dict(s["device_traces"][0][3]))
    put("odd_double_alloc.pickle", py(s), "an address is allocated twice without a free between", "loads; a fault")
    s = deep(b)
    s["segments"].reverse()
    put("odd_unsorted_segments.pickle", py(s), "segments in falling order (an anonymised public file)", "loads")
    s = deep(b)
    s["device_traces"][0] = s["device_traces"][0][10:] + s["device_traces"][0][:10]
    put("odd_rotated_ring.pickle", py(s), "max_entries was changed while recording: the list is not in time order", "loads; a fault")
    s = deep(b)
    s["segments"][0]["blocks"][0]["state"] = "active_awaiting_free"
    s["segments"][1]["blocks"][0]["state"] = "resting"
    put("odd_block_state.pickle", py(s), "a state from the docstrings, and one that no release has", "loads")
    s = deep(b)
    s["device_traces"][0][3]["frames"] = [frame("evil\x1b[31m\n<script>\"'&\u202e\0", "/home/ada/=cmd|' /C calc'!A0", 7)] * 2
    s["device_traces"][0][5]["user_metadata"] = "lone \ud800 surrogate"
    put("odd_hostile_text.pickle", pickle_surrogates(s), "control characters, markup and a lone surrogate in names", "loads; output is escaped")
    s = deep(b)
    laugh = ["ha"]
    for _ in range(30):
        laugh = [laugh] * 10
    s["laughs"] = laugh
    put("odd_laughs.pickle", py(s), "an unknown key whose value refers to itself 10^30-fold (a memo bomb)", "loads at once")
    s = deep(b)
    loop = []
    loop.append(loop)
    s["loop"] = loop
    put("odd_loop.pickle", py(s), "an unknown key whose list holds itself", "loads")
    put("odd_trailing_text.pickle", py(b) + b"and then some", "text after STOP", "loads; trailing bytes are counted")
    put("bad_empty_dict.pickle", py({}), "an empty dict", "exit 3; see its golden")
    put("odd_empty_list.pickle", py([]), "an empty list: torch.cuda.memory_snapshot() of a program that used nothing", "loads; no device")
    sparse = py(b, 2)
    i = sparse.index(b"q\x00")
    put("odd_sparse_memo.pickle", sparse[:i] + b"r\xff\xff\xff\xff" + sparse[i:], "a memo slot numbered 2^32-1", "loads")
    put("odd_pop_dup.pickle", b"\x80\x02" + b"K\x010" + b"(K\x01K\x021" + b"}20X\x08\x00\x00\x00segments]sX\r\x00\x00\x00device_traces]]as.",
        "POP, POP_MARK and DUP before a snapshot without segments", "loads; no device")


def pickle_surrogates(s):
    class P(pickle._Pickler):   # Python's own refuses nothing here: it writes surrogates as their three bytes
        pass
    f = io.BytesIO()
    P(f, 4).dump(s)
    return f.getvalue()


# ---- bad: refused with exit 3, each with its own sentence ----

HEAD = b"\x80\x02}X\x08\x00\x00\x00segments]sX\r\x00\x00\x00device_traces]]"   # ... then entries, "a", "s."
ENTRY = b"}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x04\x00\x00\x00sizeM\x00\x02X\x06\x00\x00\x00stream"


def text(t):
    b = t.encode()
    return b"X" + struct.pack("<I", len(b)) + b


def make_bad():
    why = "exit 3; see its golden"
    b = base()
    whole = py(b)
    put("bad_empty.pickle", b"", "a dump that died before its first byte", why)
    put("bad_random.pickle", random.Random(7).randbytes(300), "random bytes", why)
    put("bad_text.pickle", b"Hello, this is a note about snapshots.\n", "plain text", why)
    put("bad_lfs_pointer.pickle", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a2146" * 8 + b"\nsize 4211234\n", "a Git LFS pointer", why)
    put("bad_torch_save.pickle", b"PK\x03\x04\x00\x00\x08\x08\x00\x00" + bytes(16) + b"\x10\x00\x12\x00archive/data.pklFB\x0e\x00" + b"Z" * 14 + py({"w": 1}, 2), "the head of a torch.save file (zip)", why)
    put("bad_torch_save_old.pickle", py(0x1950A86A20F9469CFC6C, 2) + py(1001, 2) + py({"protocol_version": 1001}, 2), "torch.save before 1.6: a magic number first", why)
    put("bad_html.pickle", b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "an HTML page that holds no snapshot", why)
    put("bad_xz.pickle", b"\xfd7zXZ\x00\x00\x04" + bytes(30), "xz", why)
    put("bad_zstd.pickle", b"\x28\xb5\x2f\xfd" + bytes(30), "zstd", why)
    put("bad_bzip2.pickle", b"BZh91AY&SY" + bytes(30), "bzip2", why)
    put("bad_json.pickle", b"{\"segments\": [], \"device_traces\": [[]]}\n", "JSON (not read yet)", why)
    put("bad_json_other.pickle", b"[1, 2, 3]\n", "JSON of something else", why)
    put("bad_proto_only.pickle", b"\x80\x04", "cut after PROTO", why)
    put("bad_int.pickle", py(42), "pickle of an int", why)
    put("bad_none.pickle", py(None), "pickle of None", why)
    put("bad_string.pickle", py("segments"), "pickle of a string", why)
    put("bad_list_of_strings.pickle", py(["a", "b"]), "pickle of a list of strings", why)
    put("bad_list_of_dicts.pickle", py([{"name": "a"}]), "pickle of a list of other dicts", why)
    put("bad_weights.pickle", py({"layer.weight": [0.5, 0.25], "layer.bias": [0.0]}), "pickle of a dict of model weights", why)
    put("odd_only_traces.pickle", py({"device_traces": [[]]}), "a dict with device_traces and without segments", "loads; no device")
    put("odd_only_segments.pickle", py({"segments": []}), "a dict with segments and without device_traces", "loads; no device")

    for n in (1, 2, 3):
        k = len(whole) * n // 4
        put(f"bad_cut_{n}.pickle", whole[:k], f"good_protocol4 cut after {n}/4", why)
    put("bad_cut_last.pickle", whole[:-1], "good_protocol4 without STOP", why)
    z = gz(whole)
    put("bad_gzip_cut.pickle.gz", z[:len(z) // 2], "a gzip file cut in the middle", why)
    put("bad_gzip_head.pickle.gz", z[:10], "a gzip header and nothing else", why)
    put("bad_gzip_crc.pickle.gz", z[:-8] + bytes(4) + z[-4:], "gzip whose checksum lies", why)
    put("bad_gzip_length.pickle.gz", z[:-4] + struct.pack("<I", 1 << 30), "gzip whose length lies", why)
    put("bad_gzip_no_trailer.pickle.gz", z[:-8], "gzip without its trailer", why)
    put("bad_gzip_damaged.pickle.gz", z[:200] + bytes(x ^ 0x55 for x in z[200:260]) + z[260:], "gzip with damaged bytes inside", why)
    put("bad_gzip_of_gzip.pickle.gz", gz(z), "gzip in gzip", why)
    put("bad_gzip_of_text.gz", gz(b"not a pickle\n"), "gzip of a text", why)
    put("odd_gzip_garbage_after.pickle.gz", z + b"garbage", "a good gzip member and then garbage", "loads, as gzip itself does")

    call = {   # each refused opcode as the value of a stream, deep inside an entry
        "global": b"cos\nsystem\n", "stack_global": text("os") + text("system") + b"\x93", "reduce": text("x") + b")R",
        "build": text("x") + b"}b", "inst": b"(ios\nsystem\n", "obj": b"(" + text("x") + b"o", "newobj": text("x") + b")\x81",
        "newobj_ex": text("x") + b")}\x92", "ext1": b"\x82\x01", "ext2": b"\x83\x01\x00", "ext4": b"\x84\x01\x00\x00\x00", "persid": b"P42\n",
        "binpersid": b"K\x01Q", "binbytes": b"B\x02\x00\x00\x00ab", "short_binbytes": b"C\x02ab", "binbytes8": b"\x8e\x02" + bytes(7) + b"ab",
        "bytearray8": b"\x96\x02" + bytes(7) + b"ab", "next_buffer": b"\x97", "readonly_buffer": b"K\x01\x98", "empty_set": b"\x8f",
        "frozenset": b"(K\x01\x91", "additems": b"\x8f(K\x01\x90"}
    for name, code in call.items():
        put(f"bad_op_{name}.pickle", HEAD + ENTRY + code + b"uaas.", f"{name.upper()} as a value in an entry", why)
    put("bad_op_global_first.pickle", b"cos\nsystem\n(S'true'\ntR.", "GLOBAL first: the textbook attack", why)
    put("bad_op_global_proto4.pickle", b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.", "the same in protocol 4", why)
    put("bad_op_global_key.pickle", b"\x80\x02}cos\nsystem\nK\x01s.", "GLOBAL as a key", why)
    put("bad_op_reduce_end.pickle", whole[:-1] + b")R.", "a good snapshot whose last step calls", why)
    put("bad_op_ordered_dict.pickle", b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01.", "an OrderedDict (a state_dict)", why)
    put("bad_op_unknown.pickle", b"\x80\x02}\xfe.", "a byte that is no opcode", why)
    put("bad_proto6.pickle", b"\x80\x06}.", "protocol 6", why)
    put("bad_proto_inside.pickle", HEAD + ENTRY + b"\x80\x09K\x01uaas.", "protocol 9 in the middle", why)

    put("bad_len_binunicode8.pickle", b"\x80\x04}\x8d" + struct.pack("<Q", 1 << 60) + b"abc", "a string that claims 2^60 bytes", why)
    put("bad_len_binunicode.pickle", b"\x80\x02}X\xff\xff\xff\x7fabc", "a string that claims 2^31-1 bytes", why)
    put("bad_len_long4.pickle", b"\x80\x02}\x8b\xff\xff\xff\x7f\x01", "an integer that claims 2^31-1 bytes", why)
    put("bad_len_long4_negative.pickle", b"\x80\x02}\x8b\xff\xff\xff\xff\x01", "an integer that claims -1 bytes", why)
    put("bad_len_frame.pickle", b"\x80\x04\x95" + struct.pack("<Q", 1 << 60) + whole[11:-1], "a frame that claims 2^60 bytes, and no STOP", why)
    put("bad_len_long1.pickle", HEAD + ENTRY + b"\x8a\x14" + b"\x01" * 20 + b"uaas.", "a stream of 20 bytes", why)
    put("bad_get_unset.pickle", b"\x80\x02}h\x07.", "BINGET of a slot that was never filled", why)
    put("bad_get_text.pickle", b"(dg12345678901234567890\n.", "GET of a slot beyond 64 bits", why)
    put("bad_put_text.pickle", b"(dpxyz\n.", "PUT of a slot that is no number", why)
    put("bad_int_text.pickle", b"(dS'segments'\nI12x\ns.", "a text integer that is none", why)
    put("bad_string_text.pickle", b"(dS'segments\n(ls.", "a text string whose quote does not close", why)
    put("bad_string_escape.pickle", b"(dS'seg\\xZZ'\n(ls.", "a text string with a broken escape", why)
    put("bad_line_open.pickle", b"(dS'segments'", "a text opcode whose line does not end", why)
    put("bad_unicode_text.pickle", b"(dV\\u12\n(ls.", "a text string with a broken \\u", why)
    put("bad_no_mark.pickle", b"\x80\x02]K\x01e.", "APPENDS without MARK", why)
    put("bad_pop_empty.pickle", b"\x80\x020.", "POP on an empty stack", why)
    put("bad_stop_empty.pickle", b"\x80\x02.", "STOP on an empty stack", why)
    put("bad_stop_two.pickle", b"\x80\x02}}.", "STOP with two objects on the stack", why)
    put("bad_stop_mark.pickle", b"\x80\x02(.", "STOP on a MARK", why)
    put("bad_append_to_dict.pickle", b"\x80\x02}K\x01a.", "APPEND to a dict", why)
    put("bad_setitem_on_list.pickle", b"\x80\x02]K\x01K\x02s.", "SETITEM on a list", why)
    put("bad_setitems_odd.pickle", b"\x80\x02}(K\x01u.", "SETITEMS with a key and no value", why)
    put("bad_key_list.pickle", b"\x80\x02}]K\x01s.", "a list as a key", why)

    def wrong(name, change, origin):
        s = deep(b)
        change(s)
        put(f"bad_type_{name}.pickle", py(s), origin, why)

    def lacking(name, change, origin):
        s = deep(b)
        change(s)
        put(f"odd_{name}.pickle", py(s), origin, "loads")
    wrong("segments_dict", lambda s: s.update(segments={}), "`segments` is a dict")
    wrong("segments_none", lambda s: s.update(segments=None), "`segments` is None")
    wrong("segment_int", lambda s: s["segments"].insert(1, 5), "a segment is an int")
    wrong("traces_dict", lambda s: s.update(device_traces={}), "`device_traces` is a dict")
    wrong("trace_int", lambda s: s.update(device_traces=[3]), "a device's trace is an int")
    wrong("entry_list", lambda s: s["device_traces"][0].insert(2, []), "an entry is a list")
    wrong("blocks_int", lambda s: s["segments"][0].update(blocks=3), "`blocks` is an int")
    lacking("missing_blocks", lambda s: s["segments"][0].pop("blocks"), "a segment without `blocks`")
    wrong("block_string", lambda s: s["segments"][0]["blocks"].insert(0, "x"), "a block is a string")
    wrong("block_size_string", lambda s: s["segments"][0]["blocks"][0].update(size="512"), "a block's size is a string")
    lacking("missing_block_size", lambda s: s["segments"][0]["blocks"][0].pop("size"), "a block without `size`")
    lacking("missing_address", lambda s: s["segments"][0].pop("address"), "a segment without `address`")
    wrong("device_string", lambda s: s["segments"][0].update(device="cuda:0"), "a segment's device is a string")
    wrong("device_negative", lambda s: s["segments"][0].update(device=-3), "a segment's device is -3")
    wrong("device_huge", lambda s: s["segments"][0].update(device=1 << 40), "a segment's device is 2^40")
    wrong("size_string", lambda s: s["device_traces"][0][2].update(size="512"), "an entry's size is a string")
    wrong("size_negative", lambda s: s["device_traces"][0][2].update(size=-512), "an entry's size is negative")
    wrong("size_fraction", lambda s: s["device_traces"][0][2].update(size=512.5), "an entry's size is 512.5")
    wrong("size_nan", lambda s: s["device_traces"][0][2].update(size=float("nan")), "an entry's size is NaN")
    wrong("size_huge", lambda s: s["device_traces"][0][2].update(size=1 << 70), "an entry's size is 2^70")
    wrong("addr_list", lambda s: s["device_traces"][0][2].update(addr=[]), "an entry's addr is a list")
    wrong("action_int", lambda s: s["device_traces"][0][2].update(action=3), "an entry's action is an int")
    wrong("time_string", lambda s: s["device_traces"][0][2].update(time_us="now"), "an entry's time is a string")
    wrong("frames_string", lambda s: s["device_traces"][0][2].update(frames="main"), "an entry's frames are a string")
    wrong("frame_string", lambda s: s["device_traces"][0][2].update(frames=["main"]), "a frame is a string")
    wrong("frame_line_string", lambda s: s["device_traces"][0][2]["frames"][0].update(line="12"), "a frame's line is a string")
    lacking("frame_name_int", lambda s: s["device_traces"][0][2]["frames"][0].update(name=12), "a frame's name is an int")
    wrong("settings_list", lambda s: s.update(allocator_settings=[1]), "`allocator_settings` is a list")
    wrong("annotations_dict", lambda s: s.update(external_annotations={}), "`external_annotations` is a dict")
    wrong("pool_string", lambda s: s["segments"][0].update(segment_pool_id="0,0"), "a pool id is a string")
    wrong("pool_three", lambda s: s["segments"][0].update(segment_pool_id=(0, 0, 0)), "a pool id of three")

    s = deep(b)
    for g in s["segments"][:2]:
        g.update(total_size=1 << 63, allocated_size=1 << 63, active_size=1 << 63)
        g["blocks"] = [dict(g["blocks"][0], size=1 << 63, requested_size=1 << 63, state="active_allocated")]
    put("bad_sum_segments.pickle", py(s), "two segments of 2^63 bytes: their sum overflows", why)
    s = deep(b)
    s["segments"][0]["blocks"][0]["size"] = s["segments"][0]["blocks"][1]["size"] = 1 << 63
    put("bad_sum_blocks.pickle", py(s), "two blocks of 2^63 bytes in a segment", why)
    s = deep(b)
    s["segments"][0]["address"] = 2**64 - 512
    put("bad_segment_wraps.pickle", py(s), "a segment that ends beyond 2^64", why)
    s = {"segments": [], "device_traces": [[{"action": "alloc", "addr": 512 * i, "size": 1 << 63, "stream": 0} for i in range(3)]]}
    put("bad_sum_events.pickle", py(s), "three live allocations of 2^63 bytes: their sum overflows", why)


README = """# Small snapshots for the tests

The name says the verdict: `good_` loads without remark, `odd_` loads with oddities or faults, `bad_` is refused with
exit status 3. All but `real/` are written by `make.py` (standard library only; the same bytes every time), and so is this file. The exact
words that memsnap says about each are in `../tests/golden/`. Larger hostile inputs (deep nesting, gzip bombs) are made when the tests run.

## real/

Recorded by PyTorch 2.11.0+cu130 on one NVIDIA H200, by small programs that wrote down what they knew while they ran; directory
names of that machine were replaced by others of the same length, nothing else was touched.

| file | what |
| --- | --- |
"""

REAL = {
    "dcgan.pickle.gz": "DCGAN, four steps, Python stacks", "gpt_var.oom.pickle.gz": "a GPT with varying lengths under a limit, ended by an OOM",
    "gpt_var.nocache.pickle.gz": "recorded without the caching allocator: no segments, empty traces",
    "gpt.ring.pickle.gz": "a GPT whose ring kept the last 700 events", "device_oom.pickle.gz": "a real out-of-memory of the whole device",
    "mempool.pickle.gz": "private pools (MemPool)", "graphs.pickle.gz": "CUDA graphs", "graphs.expandable.pickle.gz": "the same with expandable segments",
    "streams.pickle.gz": "side streams, pending frees", "streams.expandable.pickle.gz": "the same with expandable segments",
    "annotated.pickle.gz": "record_function annotations", "frag.oom.pickle.gz": "fragmented on purpose; saved by a retry",
    "mnist.alloc.pickle.gz": "a small ConvNet recorded with context=\"alloc\"", "leak_list.pickle.gz": "a list that grows by one loss a step",
    "cppwriter.python.pickle.gz": "PyTorch's C++ writer", "cppwriter.python.python.pickle.gz": "the same history by Python's pickle",
    "exhausted_oom.pickle.gz": "an OOM by design: the memory is really used up", "fragmented_oom.pickle.gz": "an OOM by design: fragmentation",
    "fragmented_expandable.pickle.gz": "the same program saved by expandable segments", "outside_oom.pickle.gz": "an OOM by design: memory held outside the allocator",
    "pending_ok.pickle.gz": "frees that wait for a stream; the program waits, and fits",
    "metadata.pickle.gz": "user metadata", "fx.pickle.gz": "FX-augmented frames, a compile context", "pinned.pickle.gz": "pinned host memory",
}


def readme():
    t = README
    real = sorted(n for n in os.listdir(os.path.join(HERE, "real")) if not n.startswith("."))
    for n in real:
        t += f"| `{n}` | {REAL.get(n, '')} |\n"
    t += "\n## Made\n\nThe base history is one device: two weights, two training steps, and a tensor of a side stream that is freed and still pending.\n\n| file | origin | expected |\n| --- | --- | --- |\n"
    for n in sorted(NOTES):
        t += "| `{}` | {} | {} |\n".format(n, *(x.replace("|", "\\|") for x in NOTES[n]))
    return t.encode()


def main():
    make_good(), make_odd(), make_bad()
    FILES["README.md"] = readme()
    differ = 0
    for name, data in sorted(FILES.items()):
        path = os.path.join(HERE, name)
        old = open(path, "rb").read() if os.path.exists(path) else None
        if "--check" in sys.argv:
            # Another zlib may compress otherwise, so whole gzip files are held by content.
            same = old == data or (old is not None and name.startswith("good_") and name.endswith(".gz") and gzip.decompress(old) == gzip.decompress(data))
            same = same or (old is not None and name.startswith("bad_gzip"))
            if not same:
                differ += 1
                print(f"{name}: differs from what make.py writes")
        elif old != data:
            open(path, "wb").write(data)
    for name in sorted(os.listdir(HERE)):
        if name.split("_")[0] in ("good", "odd", "bad") and name not in FILES:
            differ += 1
            print(f"{name}: not written by make.py")
    sys.exit(bool(differ))


main()
