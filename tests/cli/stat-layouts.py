#!/usr/bin/env python3
"""tare stat --layouts, and what tare compare makes of it. usage: stat-layouts.py TARE PAGES LAYOUT-SHOW"""
import json, os, re, shutil, subprocess, sys, tempfile
from cli import check, check_schema, finish, run

tare, _, program = map(os.path.abspath, sys.argv[1:4])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)


def stat(name, *options, command=(program,)):
    p = run(tare, "stat", "-j", "-o", name, "-e", "instructions:u,loads:u", *options, "--", *command, stdin=subprocess.DEVNULL)
    check(p.returncode == 0, p.stderr)
    r = json.load(open(name))
    check_schema(r, "tare.stat-1")
    return p.stdout.splitlines(), r


# Everything is elsewhere in each layout, and at the same places when it is repeated.
first, a = stat("a.json", "--layouts", "6")
again, b = stat("b.json", "--layouts", "6")
check(first == again and len(first) == 6, first, again)
for i, what in enumerate(("stack", "heap", "program", "library", "environment")):
    values = [int(line.split()[i].split("=")[1], 0) for line in first]
    check(len(set(values)) > 3, what, values)
    if what != "environment":
        check(max(values) - min(values) < 1 << 31, what, values)
check(all(int(line.split()[0].split("=")[1], 0) % 16 == int(first[0].split()[0].split("=")[1], 0) % 16 for line in first), first)
check(a["options"]["layouts"] == 6 and len(a["runs"]) == 6 and a["backend"] == "soft", a["options"])
values = [[c["value"] for c in r["counts"]] for r in a["runs"]]
check(values == [[c["value"] for c in r["counts"]] for r in b["runs"]], values)
s = a["summary"][0]
check(s["min"] == min(v[0] for v in values) < max(v[0] for v in values) == s["max"], s)
p = run(tare, "stat", "--layouts", "3", "-e", "instructions:u", "--", program)
check(re.search(r"By layout alone, over 3 layouts:\n   instructions:u moves from [\d,]+ to [\d,]+ \(±", p.stderr), p.stderr)
check(run(tare, "stat", "--functions", "--layouts", "2", "-e", "instructions:u", "--", program).returncode == 0, "--functions")
# In the still world nothing else differs; with Python, which is moved, too. (-I: it does not list this folder.)
STILL = ("python3", "-I", "-c", "print({'a', 'b', 'c'}, id(object()) > 0)")
if shutil.which("python3"):
    one, r = stat("h.json", "--hermetic", "--layouts", "3", command=STILL)
    two, q = stat("h2.json", "--hermetic", "--layouts", "3", command=STILL)
    check(one == two and r["summary"] == q["summary"], r["summary"], q["summary"])


def compare(*files):
    p = run(tare, "compare", *files)
    return p.returncode, p.stdout + p.stderr


# A change inside the band, and a real one; against layouts, and against the usual one.
check(compare("a.json", "b.json")[0] == 0, compare("a.json", "b.json"))
stat("less.json", "--layouts", "4")
status, text = compare("a.json", "less.json")
check(status == 0, status, text)
stat("more.json", "--layouts", "4", command=(program, "more"))
status, text = compare("a.json", "more.json", "--ignore-environment")
check(status == 1, status, text)
# by hand: the band of one file touches that of the other
r = json.load(open("b.json"))
for run_of in r["runs"]:
    run_of["counts"][0]["value"] += (s["max"] - s["min"]) // 2 or 1
json.dump(r, open("inside.json", "w"))
status, text = compare("a.json", "inside.json")
check(status == 0 and "inside the band in which layout alone moves it" in text, status, text)
check("by itself" not in text, text)
for run_of in r["runs"]:
    run_of["counts"][0]["value"] += s["max"] - s["min"] + 1
json.dump(r, open("outside.json", "w"))
status, text = compare("a.json", "outside.json")
check(status == 1, status, text)
r["runs"] = r["runs"][:1]
del r["options"]["layouts"]
json.dump(r, open("single.json", "w"))
status, text = compare("a.json", "single.json")
check(status == 1, status, text)
r["runs"][0]["counts"][0]["value"] = s["min"]
json.dump(r, open("single.json", "w"))
check(compare("a.json", "single.json")[0] == 0, compare("a.json", "single.json"))

for options, words in ((("--layouts", "1"), "from 2"), (("--layouts", "3", "-r", "2"), "one run of each layout"),
                       (("--layouts", "3", "--backend", "hw"), "wants the software engine"), (("--layouts", "3", "--aslr"), "--aslr"),
                       (("--layouts", "3", "-p", str(os.getpid())), "--layouts")):
    p = run(tare, "stat", *options, "--", "true")
    check(p.returncode == 125 and words in p.stderr, options, p.returncode, p.stderr)

shutil.rmtree(folder)
finish()
