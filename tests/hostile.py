#!/usr/bin/env python3
"""hostile.py PROGRAM TESTDATA -- inputs too large to ship: deep nesting, bombs, and every kind of damage to a real file.

The program must end by itself, soon, with 0 or 3 (or 1, 2, 4 where named), never by a signal, and within the memory that its header promises."""
import gzip, os, random, resource, struct, subprocess, sys, tempfile, time, zlib

program, testdata = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SANITIZED = b"__asan_init" in open(program, "rb").read()   # its shadow memory needs no limit
bad = 0
T = tempfile.mkdtemp()


def run(name, data, want, *args, seconds=20, memory=1 << 30, stdin=False):
    """`want`: allowed exit codes. A line on the error output is required unless the end was good."""
    global bad
    path = os.path.join(T, name)
    if not stdin:
        open(path, "wb").write(data)

    def limits():
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    start = time.monotonic()
    try:
        p = subprocess.run([program, *(args or ("info",)), "-" if stdin else path], input=data if stdin else b"", capture_output=True, timeout=seconds * (10 if SANITIZED else 1), preexec_fn=limits)
    except subprocess.TimeoutExpired:
        bad += 1
        print(f"{name}: still running after {seconds} s")
        return None
    text = p.stderr.decode(errors="replace")
    wrong = []
    if p.returncode not in want:
        wrong.append(f"exit {p.returncode}, not {want}")
    if p.returncode == 3 and not text.startswith("memsnap: "):
        wrong.append("says nothing to the point")
    if "Sanitizer" in text or "runtime error" in text:
        wrong.append("sanitizer")
    if wrong:
        bad += 1
        print(f"{name}: {', '.join(wrong)} ({time.monotonic() - start:.1f} s): {text[-300:]}")
    if "-v" in sys.argv:
        print(f"{name}: {p.returncode}, {time.monotonic() - start:.1f} s")
    if not stdin:
        os.remove(path)
    return p


good = open(os.path.join(testdata, "good_protocol4.pickle"), "rb").read()
head = b"\x80\x02}X\x08\x00\x00\x00segments]sX\x0d\x00\x00\x00device_traces]]asX\x04\x00\x00\x00deep"

# Depth: in a known place, in an unknown key, and marks alone.
N = 1_000_000
run("deep_lists", b"\x80\x02" + b"]" * N + b"a" * (N - 1) + b".", {3})
run("deep_unknown", head + b"]" * N + b"a" * (N - 1) + b"s.", {0, 3})
run("deep_marks", head + b"(" * N + b"l" * N + b"s.", {0, 3})
run("deep_tuples", head + b")" + b"\x85" * N + b"s.", {0, 3})
run("deep_dicts", head + b"}K\x01" * N + b"}" + b"s" * N + b"s.", {0, 3})
run("many_marks", b"\x80\x02" + b"(" * N, {3})
run("many_dups", b"\x80\x02]" + b"2" * N + b".", {0, 3})
run("many_protos", b"\x80\x02" * N + b"}.", {3})
run("many_pops", b"\x80\x02" + b"N0" * N + b"}.", {3})
run("memo_stride", b"\x80\x02}" + b"".join(b"r" + struct.pack("<I", i << 12) for i in range(N // 4)) + b".", {3})
run("memo_stride_top", b"\x80\x02}" + b"".join(b"r" + struct.pack("<I", 0xFFFFFFFF - (i << 12)) for i in range(N // 4)) + b".", {3})
run("put_text_huge", b"(dp18446744073709551615\n.", {3})
# One list of two million references to one dict; a dict of as many keys; the same key over and over.
run("shared_entries", b"\x80\x02}X\x08\x00\x00\x00segments]sX\x0d\x00\x00\x00device_traces](](}X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocsq\x00" + b"h\x00" * (2 * N) + b"ees.", {0, 3})
run("colliding_keys", head + b"}(" + b"".join(b"J" + struct.pack("<i", i) + b"K\x01" for i in range(N)) + b"us.", {0, 3})
run("same_key", head + b"}(" + b"K\x01K\x02" * N + b"us.", {0, 3})
run("segments_again", b"\x80\x02}(" + b"X\x08\x00\x00\x00segments]" * (N // 10) + b"X\x0d\x00\x00\x00device_traces]u.", {0, 3})
run("long_string", head + b"X" + struct.pack("<I", 1 << 26) + bytes(1 << 26) + b"s.", {0, 3})
run("long_int", head + b"\x8b" + struct.pack("<I", 1 << 24) + b"\x7f" * (1 << 24) + b"s.", {0, 3})
run("long_text_int", head + b"L" + b"9" * (1 << 22) + b"L\ns.", {0, 3})
run("long_line", b"(dV" + b"a" * (1 << 24), {3})

# Bombs: 1 GiB (less for the slow sanitizers) of NUL or of lists in a small gzip file.
def bomb(byte, n):
    z, out = zlib.compressobj(9, wbits=31), []
    for _ in range(n >> 20):
        out.append(z.compress(byte * (1 << 20)))
    return b"".join(out) + z.flush()
BOMB = 1 << (20 if SANITIZED else 30)
run("bomb_nul.gz", bomb(b"\0", BOMB), {3})
run("bomb_lists.gz", bomb(b"]", BOMB), {3, 4}, seconds=60, memory=2 << 30)
run("bomb_lists_limited.gz", bomb(b"]", BOMB), {3}, "info", "--max-memory", "200MiB", seconds=60)
run("bomb_pipe", bomb(b"\0", 1 << 28), {3}, stdin=True)
run("members.gz", gzip.compress(good[:100]) + gzip.compress(b"") * 20000 + gzip.compress(good[100:]), {0})

# Damage: single bytes, cuts and repeats of real files. Seeded, so that a failure can be run again.
rng = random.Random(20)
rounds = 25 if SANITIZED else 60
for source in ("good_protocol4.pickle", "good_cpp_writer.pickle", "good_protocol0.pickle", "good_2.0_history.pickle", "real/streams.pickle.gz"):
    data = open(os.path.join(testdata, source), "rb").read()
    if source.endswith(".gz"):
        data = gzip.decompress(data)
    for i in range(rounds):
        b = bytearray(data)
        kind = rng.randrange(5)
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(b))
            if kind == 0:
                b[at] = rng.randrange(256)
            elif kind == 1:
                b[at] ^= 1 << rng.randrange(8)
            elif kind == 2:
                del b[at:at + rng.randrange(1, 9)]
            elif kind == 3:
                b[at:at] = b[at:at + rng.randrange(1, 40)]
            else:
                b[at] = rng.choice(b"]}(.0129HJKMNQRSTUVXabcdeghijlopqrstu\x80\x81\x85\x86\x87\x88\x89\x8a\x8b\x8c\x94\x95\xff")
        run(f"damage_{os.path.basename(source)}_{i}", bytes(b), {0, 3}, *(("report", "--json") if i % 2 else ("info", "--json")))

# The machine: no such file, a folder, a device that is full, a closed pipe.
ok = os.path.join(testdata, "good_protocol4.pickle")
for args, want in ((["info", os.path.join(T, "nothing")], 3), (["info", T], 3), (["report", ok, "-o", os.path.join(T, "no", "such", "folder")], 4)):
    p = subprocess.run([program, *args], capture_output=True)
    if p.returncode != want or not p.stderr.startswith(b"memsnap: "):
        bad += 1
        print(f"memsnap {' '.join(args)}: exit {p.returncode}, not {want}: {p.stderr.decode(errors='replace')[:300]}")
with open("/dev/full", "wb") as full:
    p = subprocess.run([program, "info", ok], stdout=full, stderr=subprocess.PIPE)
    if p.returncode != 4:
        bad += 1
        print(f"a full device: exit {p.returncode}, not 4: {p.stderr.decode(errors='replace')[:300]}")
print(f"{bad} failed")
sys.exit(bool(bad))
