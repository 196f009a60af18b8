#!/usr/bin/env python3
"""An include that goes the wrong way does not compile.

For every room, with the very flags the build compiles it with, one file that
includes a header of each other room is compiled: it must succeed just when
docs say the room may see the other. A header NAME-room.h of the engine is for the files
of its own room only.
"""
import json, pathlib, re, subprocess, sys, tempfile

SEES = {
    "base": [], "symbol": ["base"], "symbol/reader": ["symbol"], "cpu": [], "world": ["base"], "event": ["cpu", "base"],
    "counter": ["event", "cpu", "base"],
    # the rooms of the engine: src/soft itself is their root
    "soft/abi": [], "soft/decode": ["soft/abi"], "soft": ["soft/abi"],
    "soft/translate": ["soft/decode", "soft", "soft/abi"],
    "soft/guest": ["soft/translate", "soft/decode", "soft", "soft/abi"],
    "soft/still": ["soft/guest", "soft/translate", "soft/decode", "soft", "soft/abi"],
    "soft/vpmu": ["soft/guest", "soft/translate", "soft/decode", "soft", "soft/abi"],
    "model": ["soft/decode", "soft/abi", "cpu", "base"],
    "launch": ["model", "soft/decode", "soft/abi", "counter", "world", "base"], "profile": ["base"],
    "record": ["counter", "profile", "base"], "analysis": ["profile", "base"],
    "codeprofile": ["symbol", "base"],
    "known": ["soft/decode", "soft/abi", "base"],
    "doctor": ["known", "launch", "counter", "event", "base"],
    "verify": ["known", "launch", "counter", "event", "base"],
    "diverge": ["soft/decode", "soft/abi", "launch", "codeprofile", "base"],
    "cmd": ["base"],        # and the public headers, as everybody
}
source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folder = {r: source / ("cmd" if r == "cmd" else f"src/{r}") for r in SEES}
headers = {r: sorted(folder[r].glob("*.h")) for r in SEES}
commands = json.loads((build / "compile_commands.json").read_text())


def library_of(room):
    """Its objects: those of the engine's rooms go into one program, not into the library."""
    if room.split("/")[0] != "soft":
        return room.replace("/", "-")
    return "engine-" + (room.partition("/")[2] or "root")


def flags_of(room):
    for c in commands:
        if f"src/{room}/lib{library_of(room)}.a.p/" in c["command"] or room == "cmd" and \
                c["file"].endswith("cmd/main.c") and " tare.p/" in c["command"]:
            words = c["command"].split()
            return [w for w in words[1:] if w.startswith(("-I", "-D", "-std"))], c["directory"]
    return None


bad = tried = 0
names = {}
built = {str(p.parent.relative_to(source / "src")) for p in (source / "src").rglob("meson.build")
         if "static_library(" in p.read_text()} - {"."} | {"soft/abi", "cmd"}
if built != set(SEES):
    bad += 1
    print("rooms that this test does not know, or that are not there:", built ^ set(SEES))
# No way around the include folders: a name in quotes is a name, not a path.
for path in [p for r in SEES for p in folder[r].rglob("*.[chS]")]:
    for line in path.read_text().splitlines():
        if re.match(r'\s*#\s*include\s*"[^"]*/', line):
            print(f"{path}: {line.strip()}: an include by path")
            bad += 1
# What only the files of one of the engine's rooms share stays inside: the rooms above see the folder.
for path in (source / "src/soft").rglob("*.[chS]"):
    for private in re.findall(r'^\s*#\s*include\s*"(\w+)-room\.h"', path.read_text(), re.M):
        if path.parent.name != private:
            print(f"{path}: includes {private}-room.h, which belongs to the files of {private}")
            bad += 1
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
        if list(folder[room].glob("*.c")) and not (room == "symbol/reader" and not (build / "tare-symbols").exists()):
            print(f"{room} is not compiled as a room")
            bad += 1
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
sys.exit(bad != 0 or tried < 100)
