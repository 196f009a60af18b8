#!/usr/bin/env python3
"""The edge cases of tare-engine(7), each a program of its own.

usage: rows.py step|engine           every row of rows.txt, counted
       rows.py man PAGE NAME...      every row of the page's table has its test
                                     and every row of rows.txt its line; NAMEs
                                     are the other tests it may refer to
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import check  # noqa: E402
import counting  # noqa: E402  (check.py has set the path)

FRAME = """#include "kernel.inc"
	.globl	_start
_start:
	leaq	data(%rip), %rsi
	leaq	data+2048(%rip), %rdi
{code}
	EXIT
{tail}
	.data
	.balign	4096
data:	.fill	8192, 1, 0
"""


def rows():
    name, out = None, {}
    for line in open(os.path.join(HERE, "rows.txt")):
        if line.startswith("#"):
            continue
        if line.startswith("== "):
            name = line[3:].strip()
            if name in out:
                sys.exit(f"rows.txt: {name} twice")
            out[name] = ""
        elif name:
            out[name] += line
    return out


def build(name, text, folder):
    code, _, tail = text.partition("---\n")
    source = os.path.join(folder, name + ".S")
    with open(source, "w") as f:
        f.write(FRAME.format(code=code, tail=tail))
    with open(os.path.join(HERE, "kernel.inc")) as i, \
            open(os.path.join(folder, "kernel.inc"), "w") as o:
        o.write(i.read())
    program = os.path.join(folder, name)
    cc = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*cc, "-nostdlib", "-static", "-no-pie", "-Wl,-z,noexecstack",
                    source, "-o", program], check=True)
    return [source], program


def run(who):
    failed, skipped = 0, []
    with tempfile.TemporaryDirectory(prefix="rows") as folder:
        for name, text in rows().items():
            status, lines = check.check(who, *build(name, text, folder), {})
            print(f"{name}: {['ok', 'FAILED'][status] if status < 2 else 'skipped'}")
            for line in lines:
                print(line if status == counting.SKIP else "    " + line)
            failed += status == 1
            if status == counting.SKIP:
                skipped.append(name)
    print(f"{len(rows())} rows, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else counting.SKIP if len(skipped) == len(rows()) else 0


def man(page, others):
    cells = re.findall(r"^T}\t(\S+)$", open(page).read(), re.M)
    known = set(rows()) | set(others)
    used = {c for c in cells if c != "T{"}
    bad = 0
    for name in sorted(used - known):
        print(f"{page}: no test is called {name}")
        bad += 1
    for name in sorted(set(rows()) - used):
        print(f"{page}: no line for the row {name}")
        bad += 1
    if not used:
        print(f"{page}: no table found")
        bad += 1
    print(f"{len(used)} tests named")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        if sys.argv[1] == "man":
            sys.exit(man(sys.argv[2], sys.argv[3:]))
        sys.exit(run(sys.argv[1]))
    except counting.Failed as e:
        sys.exit(str(e))
