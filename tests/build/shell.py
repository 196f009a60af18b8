#!/usr/bin/env python3
"""shellcheck finds nothing in any shell script of the tree, and where a check is off, the
comment says why. usage: shell.py SOURCE [TARE]"""
import os, re, shutil, subprocess, sys

source, bad = os.path.abspath(sys.argv[1]), 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def scripts():
    for folder, folders, files in os.walk(source):
        # not what builds and git keep there
        folders[:] = [f for f in folders if f != ".git" and
                      not os.path.exists(f"{folder}/{f}/meson-private")]
        for path in (f"{folder}/{f}" for f in files):
            if not os.path.isfile(path) or os.path.islink(path):
                continue
            with open(path, "rb") as f:
                first = f.read(200)
            if re.match(rb"#! ?/(usr/)?bin/(env )?(ba|da)?sh\b", first) or b"shellcheck shell=" in first:
                yield path


if not shutil.which("shellcheck"):
    print("shellcheck is not installed")
    sys.exit(77)
paths = sorted(scripts())
check(len(paths) >= 15 and f"{source}/tools/run-tests" in paths, paths)
p = subprocess.run(["shellcheck", "-x", "-P", source, *paths], capture_output=True, text=True, cwd=source)
check(p.returncode == 0, p.stdout, p.stderr)
for path in paths:
    for line in open(path):
        if "shellcheck disable=" in line:
            check(re.search(r"disable=[\w,]+ +#? ?\S", line), "no reason beside it:", path, line.strip())
# The completion of bash is written by the program. mapfile would need bash 4.4.
if len(sys.argv) > 2:
    text = subprocess.run([sys.argv[2], "completion", "bash"], capture_output=True, text=True, check=True).stdout
    p = subprocess.run(["shellcheck", "-s", "bash", "-e", "SC2207", "-"], input=text, capture_output=True, text=True)
    check(p.returncode == 0, p.stdout, p.stderr)
print(f"{bad} checks failed" if bad else f"{len(paths)} scripts, all checks passed")
sys.exit(bad != 0)
