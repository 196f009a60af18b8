#!/usr/bin/env python3
"""clang-tidy, with the checks that .clang-tidy lists, finds nothing in src/ and cmd/.
usage: lint.py SOURCE [FILE...]"""
import os, shutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

source = os.path.abspath(sys.argv[1])
if not shutil.which("clang-tidy"):
    print("clang-tidy is not installed")
    sys.exit(77)
machine = os.uname().machine
other = {"x86_64": "aarch64", "aarch64": "x86_64"}[machine]
files, folders = [], set()
for top in ("src", "cmd"):
    for folder, below, names in os.walk(f"{source}/{top}"):
        below[:] = [b for b in below if b != other]
        if any(n.endswith((".h", ".c", ".inc")) for n in names):
            folders.add(folder)
        files += [f"{folder}/{n}" for n in names if n.endswith(".c")]
if machine != "x86_64":
    files = [f for f in files if "/src/soft/" not in f]
if not sys.argv[2:] and len(files) < 100:
    sys.exit(f"only {len(files)} files found below {source}")
# File names are unique across the tree, so that one list of folders is right for all files.
flags = ["-std=gnu11", "-D_GNU_SOURCE", f"-I{source}/include", *(f"-I{f}" for f in sorted(folders))]


def tidy(part):
    # the engine is freestanding: no header of the C library
    more = ["-ffreestanding"] if "/src/soft/" in part[0] else []
    p = subprocess.run(["clang-tidy", "--quiet", *part, "--", *more, *flags], cwd=source, capture_output=True, text=True)
    return p.returncode, p.stdout + (p.stderr if p.returncode else "")


files = sys.argv[2:] or sorted(files)
kinds = [f for f in files if "/src/soft/" in f], [f for f in files if "/src/soft/" not in f]
parts = [k[i::8] for k in kinds for i in range(8) if k[i::8]]
bad = 0
with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    for status, text in pool.map(tidy, parts):
        if status:
            bad += 1
            print(text)
print(f"{len(files)} files, {'findings above' if bad else 'no finding'}")
sys.exit(bad != 0)
