#!/usr/bin/env python3
"""An include that goes the wrong way does not compile.

For every room, with the very flags the build compiles it with, one file that
includes a header of each other room is compiled: it must succeed just when
docs say the room may see the other.
"""
import json, pathlib, subprocess, sys, tempfile

SEES = {
    "bare": [], "base": ["bare"], "cpu": ["bare"], "event": ["cpu", "base"],
    "counter": ["event", "cpu", "base"], "soft": ["cpu", "bare"],
    "launch": ["soft", "counter", "base"], "profile": ["base"],
    "record": ["counter", "profile"], "analysis": ["profile", "base"],
    "verify": ["launch", "counter", "event"],
}
source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
headers = {r: sorted((source / "src" / r).glob("*.h")) for r in SEES}
commands = json.loads((build / "compile_commands.json").read_text())


def flags_of(room):
    for c in commands:
        if f"src/{room}/lib{room}.a.p/" in c["command"]:
            words = c["command"].split()
            return [w for w in words[1:] if w.startswith(("-I", "-D", "-std"))], c["directory"]
    return None


bad = tried = 0
names = {}
for path in list((source / "src").rglob("*.[ch]")) + list((source / "cmd").rglob("*.[ch]")):
    if path.parent.name in ("x86_64", "aarch64"):
        continue            # one contract, chosen by the build
    if path.name in names:
        print(f"file name used twice: {path} and {names[path.name]}")
        bad += 1
    names[path.name] = path

for room in SEES:
    found = flags_of(room)
    if not found:
        continue            # a room without C files compiles nothing
    flags, where = found
    for other in SEES:
        if not headers[other]:
            continue
        may = other == room or other in SEES[room]
        with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
            f.write(f'#if !__has_include("{headers[other][0].name}")\n#error not seen\n#endif\n')
            f.flush()
            ok = subprocess.run(["cc", "-fsyntax-only", *flags, f.name], cwd=where,
                                capture_output=True).returncode == 0
        tried += 1
        if ok != may:
            print(f"{room} {'sees' if ok else 'does not see'} {other}, wanted the opposite")
            bad += 1
print(f"{tried} pairs of rooms tried, {bad} wrong")
sys.exit(bad != 0 or tried == 0)
