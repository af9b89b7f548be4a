#!/usr/bin/env python3
"""docs.py SOURCE [PROGRAM] [--write] -- what the documents show is what is so.

docs/architecture.md lists every source file with its own first line. With PROGRAM, each "$ memsnap ..." in a ```console block
of README.md and docs/*.md is run at the top of the tree and must print what follows it; a line "..." stands for any lines.
A picture "-o NAME" that docs/pictures/NAME shows must be drawn so.
--write renews both."""
import glob, os, re, shutil, subprocess, sys, tempfile

write = "--write" in sys.argv
args = [a for a in sys.argv[1:] if a != "--write"]
os.chdir(args[0])
program = os.path.abspath(args[1]) if len(args) > 1 else None
bad = 0


def first_line(path):
    text = open(path, encoding="utf-8").read()
    m = re.match(r"/\* \S+ -- (.*?)(?: \*/)?$", text.split("\n", 1)[0])
    return re.sub(r"[.:;,]$", "", m.group(1)) if m else None


def table():
    rows, stems = [], {}
    for folder in ("lib/include/memsnap", "lib/base", "lib/format", "lib/model", "lib/analysis", "lib/replay", "render/include/memsnap", "render", "cli"):
        for path in sorted(glob.glob(folder + "/*.[ch]") + glob.glob(folder + "/*.def")):
            stems.setdefault(os.path.splitext(path)[0], []).append(path)
    for stem, paths in stems.items():
        ends = [os.path.splitext(p)[1] for p in paths]
        lines = [first_line(p) for p in sorted(paths, key=lambda p: not p.endswith(".h"))]
        if None in lines:
            yield None, f"{paths[lines.index(None)]}: the first line is not /* NAME -- what it is for. */"
        rows.append((stem + ends[0] + "".join(", " + e for e in ends[1:]), next((l for l in lines if l), "")))
    for name, line in rows:
        yield f"| `{name}` | {line} |", None


rows = list(table())
for _, wrong in rows:
    if wrong:
        bad += 1
        print(wrong)
path = "docs/architecture.md"
text = open(path, encoding="utf-8").read()
new = re.sub(r"(\| file \| job \|\n\| --- \| --- \|\n)(?:[|@].*\n)*", lambda m: m.group(1) + "".join(r + "\n" for r, _ in rows if r), text)
if new != text:
    if write:
        open(path, "w", encoding="utf-8").write(new)
    else:
        bad += 1
        print(f"{path}: the list of files is old; renew it: python3 tests/docs.py . --write")
        for r in sorted(set(new.split("\n")) ^ set(text.split("\n"))):
            print("   ", r)


def matches(shown, real):
    pattern = "".join(r"(?:.*\n)*?" if l == "..." else re.escape(l) + "\n" for l in shown)
    return re.fullmatch(pattern, real) is not None


def run(command, where):
    env = dict(os.environ, PATH=where + os.pathsep + os.environ["PATH"], LC_ALL="C", TERM="dumb", COLUMNS="100")
    p = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env)
    return p.stdout + p.stderr


if program:
    where = tempfile.mkdtemp()
    os.symlink(program, os.path.join(where, "memsnap"))
    for path in ["README.md"] + sorted(glob.glob("docs/*.md")):
        text = open(path, encoding="utf-8").read()

        def block(m):
            global bad
            out = "```console\n"
            for part in re.split(r"(?m)^(?=\$ )", m.group(1)):
                if not part:
                    continue
                command, shown = part[2:].split("\n", 1)
                tmp = os.path.join(where, "out.")
                real = run(re.sub(r"-o (\w+)\.", lambda o: "-o " + tmp, command), where)   # pictures go elsewhere
                real = re.sub(re.escape(tmp), (re.search(r"-o (\w+\.)", command) or [0, ""])[1], real)
                for f in glob.glob(tmp + "*"):
                    shown_file = "docs/pictures/" + re.search(r"-o (\S+)", command)[1]
                    if os.path.exists(shown_file) and open(f, "rb").read() != open(shown_file, "rb").read():
                        if write:
                            shutil.copyfile(f, shown_file)
                        else:
                            bad += 1
                            print(f"{shown_file} is not what memsnap draws now; renew it: python3 tests/docs.py . build/cli/memsnap --write")
                    os.remove(f)
                lines = shown.rstrip("\n").split("\n") if shown.strip() else []
                if not matches(lines, real):
                    if write and "..." not in lines:
                        part = f"$ {command}\n{real}"
                    else:
                        bad += 1
                        print(f"{path}: $ {command}\n  shows\n{shown}\n  and prints\n{real[:3000]}")
                out += part
            return out + "```"
        new = re.sub(r"(?s)```console\n(.*?)```", block, text)
        if new != text and write:
            open(path, "w", encoding="utf-8").write(new)
    shutil.rmtree(where)
sys.exit(bool(bad))
