#!/usr/bin/env python3
"""tare annotate --syscalls against strace -c: the same number of every call, and of errors; --allocations against calls
that are known. usage: annotate-syscalls.py TARE PAGES"""
import collections, json, os, re, shutil, subprocess, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)
if not shutil.which("strace"):
    print("strace is not installed")
    sys.exit(77)
folder = tempfile.TemporaryDirectory(prefix="tare-")
env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def counted_by_strace(command):
    out = f"{folder.name}/strace"
    p = subprocess.run(["strace", "-f", "-c", "-o", out, *command], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       text=True)
    if not os.path.exists(out) or "ptrace" in p.stderr:
        print(f"strace cannot trace here: {p.stderr.strip().splitlines()[-1:]}")
        sys.exit(77)
    calls, errors = collections.Counter(), collections.Counter()
    for line in open(out):
        if m := re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+(\d+))?\s+(\w+)$", line):
            if m[3] != "total":
                calls[m[3]], errors[m[3]] = int(m[1]), int(m[2] or 0)
    return calls, errors


def counted_by_tare(command):
    out = f"{folder.name}/tare"
    subprocess.run([tare, "annotate", "-j", "--syscalls", "--report", out, "--no-names", "--top", "1", "--", *command], env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    result = json.load(open(out))
    check_schema(result, "tare.annotate-1")
    calls, errors = collections.Counter(), collections.Counter()
    for s in result["syscalls"]:
        calls[s["name"]] += s["times"]
        errors[s["name"]] += s["errors"]
    return calls, errors


for command in (["ls", "/"], ["sh", "-c", "ls /no/such/file; cat /etc/hostname >/dev/null; (exit 3)"]):
    strace, tares = counted_by_strace(command), counted_by_tare(command)
    for calls in (strace[0], tares[0]):
        for name in ("execve", "exit_group", "exit"):	# strace's table has the first exec, and no exit
            calls.pop(name, None)
    for which, a, b in (("calls", strace[0], tares[0]), ("errors", strace[1], tares[1])):
        a, b = +a, +b
        check(a == b, command, which, "strace", a - b, "tare", b - a)

cc = shutil.which("cc")
if cc:
    with open(f"{folder.name}/p.c", "w") as f:
        f.write("""
#include <stdlib.h>
static __attribute__((noinline)) void *make(void) { return malloc(10); }
static __attribute__((noinline)) void *grow(void *p) { return realloc(p, 100); }
int main(void) { void *volatile p; for (int i = 0; i < 30; i++) { p = make(); if (i % 3 == 0) p = grow(p); free(p); } return 0; }
""")
    subprocess.run([cc, "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", f"{folder.name}/p", f"{folder.name}/p.c"],
                   check=True)
    p = run(tare, "annotate", "-j", "--calls", "--allocations", "--report", "-", "--", f"{folder.name}/p")
    found = {(a["name"], a["caller"]): a["calls"] for a in json.loads(p.stdout)["allocations"]}
    check(found.get(("malloc", "make")) == 30 and found.get(("realloc", "grow")) == 10 and found.get(("free", "main")) == 30,
          found)
finish()
