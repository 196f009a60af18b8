#!/usr/bin/env python3
"""tare annotate --diff: a planted regression has its function and line, zero elsewhere, and parts that add up.
usage: annotate-diff.py TARE
"""
import json, os, re, shutil, sys, tempfile
from cli import check, check_schema, finish, need_engine, run, skip

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-annotate-diff")
os.chdir(folder)

PROGRAM = r"""
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static void outer(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) static void inner(unsigned n)
{
	while (n--)
		sink ^= n;
}
int main(void)
{
	outer(20000);
	inner(1000);
	return 0;
}
"""
# Other addresses and other line numbers than before, and 0.1 % more in one function.
GROWN = PROGRAM.replace("static volatile unsigned sink;", """static volatile unsigned sink;
__attribute__((noinline, used)) static unsigned never(unsigned n)
{
	return n * sink;
}""").replace("\t\tsink ^= n;\n", "\t\tsink ^= n;\n\tfor (unsigned i = 0; i < 20; i++)\n\t\tsink -= i;\n")


def build(path, text, *options):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".c", "w") as f:
        f.write(text)
    p = run("cc", *(options or ("-g", "-O1")), path + ".c", "-o", path)
    check(p.returncode == 0, p.stderr)


def profile(name, *command, options=()):
    p = run(tare, "annotate", "-o", name, "--report", "/dev/null", *options, "--", *command)
    check(p.returncode == 0, command, p.stderr)


def diff(*args, status=0):
    p = run(tare, "annotate", "--diff", *args)
    check(p.returncode == status, args, p.returncode, p.stderr)
    return p


def difference(base, new):
    """The JSON of --diff, after its sums were checked."""
    got = json.loads(diff("-j", base, new).stdout)
    check_schema(got, "tare.annotate-diff-1")
    totals = [{e["name"]: e["total"] for e in json.load(open(name))["events"]} for name in (base, new)]
    for e in got["events"]:
        name = e["name"]
        check(e["change"] == totals[1][name] - totals[0][name], e, totals)
        check(sum(f["change"][name] for f in got["functions"]) == e["change"], name, e)
        for f in got["functions"]:
            check(sum(line["change"][name] for line in f["lines"]) == f["change"][name], f)
            for part in [f] + f["lines"]:
                check((part["new"] or {name: 0})[name] - (part["base"] or {name: 0})[name] == part["change"][name], part)
    sizes = [abs(f["change"][got["events"][0]["name"]]) for f in got["functions"]]
    check(sizes == sorted(sizes, reverse=True), sizes)
    return got


def changed(got):
    return {f["function"]: {(line.get("base_line"), line.get("new_line")) for line in f["lines"]} for f in got["functions"]}


build("a/prog", PROGRAM)
build("b/prog", GROWN)
profile("a.profile", "a/prog", options=["-e", "instructions,stores"])
profile("b.profile", "b/prog", options=["-e", "instructions,stores"])
if "inner" not in open("a.profile").read():
    skip("elfutils or libiberty is not installed")

# The planted regression, and nothing else.
at = GROWN.split("\n").index("\t\tsink -= i;") + 1
got = difference("a.profile", "b.profile")
events = {e["name"]: e for e in got["events"]}
check(0 < events["instructions"]["change"] < events["instructions"]["base"] / 500, events)
check(events["stores"]["change"] == 20, events)
check(changed(got) == {"inner": {(None, at - 1), (None, at)}}, changed(got))
p = diff("a.profile", "b.profile").stdout
check(re.search(r"^ +\+\d+ +\+0\.\d+ .* inner \[prog\]$", p, re.M) and f"prog.c:{at}, only in new  sink -= i;" in p, p)
check("1 of " in p and "outer" not in p, p)
p = diff("--by", "line", "a.profile", "b.profile").stdout
check(re.search(rf"prog\.c:{at}, only in new  sink -= i;  \(inner \[prog\]\)$", p, re.M), p)
p = diff("-f", "inner", "a.profile", "b.profile").stdout
check(re.search(r"^ +0 +3,000 +3,000 +prog\.c:\d+, in base line \d+  sink \^= n;$", p, re.M), p)
check(len(json.loads(diff("-j", "-f", "outer", "a.profile", "b.profile").stdout)["functions"]) == 1, "-f outer")

# The other way round; the same profile twice.
check(changed(difference("b.profile", "a.profile")) == {"inner": {(at - 1, None), (at, None)}}, "the other way round")
check(difference("a.profile", "a.profile")["functions"] == [], "a profile differs from itself")
check("same counts in both" in diff("a.profile", "a.profile").stdout, "the same")

# Rebuilt in its place, in the same second perhaps: the old text is gone.
build("c/prog", PROGRAM)
profile("c.profile", "c/prog")
build("c/prog", GROWN)
profile("d.profile", "c/prog")
check(changed(difference("c.profile", "d.profile")) == {"inner": {(None, at - 1), (None, at)}}, "rebuilt in its place")

# Another name of the program (as long as the old one: ld.so looks at it); a function that becomes another; more runs of the same line.
build("e/rest", PROGRAM.replace("inner", "renamed").replace("outer(20000)", "outer(20020)"))
profile("e.profile", "e/rest")
got = difference("a.profile", "e.profile")
sides = {f["function"]: (f["base"] is None, f["new"] is None) for f in got["functions"]}
check(sides["inner"] == (False, True) and sides["renamed"] == (True, False), sides)
check(sides["outer"] == (False, False) and set(sides) <= {"inner", "renamed", "outer", "main"}, sides)
lines = PROGRAM.split("\n")
same = {(n, n) for n in (lines.index("\tfor (unsigned i = 0; i < n; i++)") + 1, lines.index("\t\tsink += i;") + 1)}
check(changed(got)["outer"] <= same and changed(got)["outer"], changed(got))

# Clones of the compiler are the function; lines of a file that did not change are paired by number.
doc = json.load(open("a.profile"))
for f in doc["functions"]:
    if f["name"] == "outer":
        f["linkage"] = "outer.isra.0"
        f["name"] = "outer [clone .isra.0]"
json.dump(doc, open("clone.profile", "w"))
check(difference("a.profile", "clone.profile")["functions"] == [], "a clone")
doc = json.load(open("b.profile"))
old = json.load(open("a.profile"))
for d in doc, old:
    d["start_s"] = 2000
    for f in d["files"]:
        f["mtime"] = 1000
        f["path"] = os.path.basename(f["path"])
    json.dump(d, open("unchanged.new" if d is doc else "unchanged.base", "w"))
got = difference("unchanged.base", "unchanged.new")
check({f["function"] for f in got["functions"]} == {"inner"}, changed(got))
check(all(None in k or k[0] == k[1] for f in changed(got).values() for k in f), changed(got))
check((PROGRAM.split("\n").index("\twhile (n--)") + 1, None) in changed(got)["inner"], changed(got))

# Without names: by offset in the same build, by the shape of the code in another one.
for name in "a", "b":
    shutil.copy(f"{name}/prog", f"{name}/bare")
    run("strip", f"{name}/bare")
    profile(f"{name}.bare", f"{name}/bare")
got = difference("a.bare", "b.bare")
bare = [f for f in got["functions"] if "bare+0x" in f["function"]]
check(len(bare) <= 2, [f["function"] for f in got["functions"]])



def with_contexts(name):
    """The profile with call contexts: the first function calls all others."""
    doc = json.load(open(name))
    doc["has_calls"] = True
    doc["contexts"] = []
    for i, f in enumerate(doc["functions"]):
        sums = [0] * len(doc["events"])
        for insn in f["insns"]:
            sums = [a + int(b) for a, b in zip(sums, insn.split()[5:])]
        doc["contexts"].append(" ".join(map(str, [0 if i else -1, i, -1, "call" if i else "root", 1] + sums)))
    with open(name + ".calls", "w") as f:
        json.dump(doc, f)
    return name + ".calls"


# Stacks with two counts, and the differential flame graph: red where there is more, blue where there is less.
for pair in ("a.profile", "b.profile"), (with_contexts("a.profile"), with_contexts("b.profile")):
    lines = diff("--format", "collapsed", "-o", "-", "--report", "/dev/null", *pair).stdout.splitlines()
    columns = [(path, int(base), int(new)) for path, base, new in (line.rsplit(" ", 2) for line in lines)]
    for i, side in enumerate(("base", "new")):
        check(sum(c[i + 1] for c in columns) == events["instructions"][side], side, pair)
    differ = [c for c in columns if c[1] != c[2]]
    check(len(differ) == 1 and differ[0][0].endswith(";inner"), differ)
    check(differ[0][2] - differ[0][1] == events["instructions"]["change"], differ)
    for order, hue in (pair, "hsl(0,90%"), (pair[::-1], "hsl(220,90%"):
        diff("--format", "flamegraph", "-o", "graph.svg", "--report", "/dev/null", *order)
        frames = re.findall(r'data-n="([^"]*)"><title>[^<]*</title><rect[^>]*fill="([^"]*)"', open("graph.svg").read())
        check([n for n, c in frames if c.startswith(hue)] == ["inner"], hue, frames[:9])
        check(all(c == "hsl(0,0%,92%)" for n, c in frames if n != "inner") and len(frames) > 3, frames[:9])
check("json, collapsed and flamegraph" in diff("--format", "callgrind", "-o", "x", "a.profile", "b.profile",
                                               status=125).stderr, "--format callgrind")

# A full profile with -o; wrong operands and options.
diff("-o", "whole", "--report", "/dev/null", "a.profile", "b.profile")
check(json.load(open("whole")) == json.loads(diff("-j", "a.profile", "b.profile").stdout), "-o")
profile("loads", "a/prog", options=["-e", "loads"])
check("without a common event" in diff("a.profile", "loads", status=1).stderr, "other events")
check("wants two profiles" in diff("a.profile", status=125).stderr, "one operand")
check("wants two profiles" in diff("--", "a/prog", "b/prog", status=125).stderr, "a command")
check("a/prog" in diff("a.profile", "a/prog", status=1).stderr, "not a profile")
check("functions or lines" in diff("--by", "object", "a.profile", "b.profile", status=125).stderr, "--by object")
check("--per-process" in diff("--per-process", "a.profile", "b.profile", status=125).stderr, "--per-process")

# tare stat --functions: counts that add up; tare compare names the function that explains the change.
for name in "a", "b":
    p = run(tare, "stat", "--functions", "-e", "instructions,stores", "-r", "3", "-j", "-o", f"{name}.json", f"{name}/prog")
    check(p.returncode == 0, p.stderr)
    stat = json.load(open(f"{name}.json"))
    check_schema(stat, "tare.stat-1")
    for i, c in enumerate(stat["runs"][-1]["counts"]):
        check(sum(f["counts"][i] for f in stat["functions"]["list"]) == c["value"], c)
p = run(tare, "compare", "-j", "a.json", "b.json")
got = json.loads(p.stdout)
check(p.returncode == 1, p.stdout)
check_schema(got, "tare.compare-1")
named = [(f["event"], f["function"], f["change"]) for f in got["comparisons"][0]["functions"]]
check(named == [("instructions", "inner", events["instructions"]["change"]), ("stores", "inner", 20)], named)
p = run(tare, "compare", "a.json", "b.json").stdout
check(re.search(r"^ Function: stores: \+20 in inner \[prog\], base 1,000, new 1,020$", p, re.M), p)
check("in inner [prog]" in run(tare, "compare", "-f", "markdown", "a.json", "b.json").stdout, "Markdown")
check("Function:" not in run(tare, "compare", "a.json", "a.json").stdout, "no change")
# Of many functions three; one that is in the base only, and damaged lists.
doc = json.load(open("b.json"))
for i, f in enumerate(doc["functions"]["list"][:9]):
    f["counts"][1] += 1000 * (i + 1)
doc["functions"]["list"] = [f for f in doc["functions"]["list"] if f["function"] != "inner"]
json.dump(doc, open("many.json", "w"))
named = json.loads(run(tare, "compare", "-j", "a.json", "many.json").stdout)["comparisons"][0]["functions"]
changes = [f["change"] for f in named if f["event"] == "stores"]
check(changes == [9000, 8000, 7000], changes)
check({"inner"} == {f["function"] for f in named if f["event"] == "instructions"}, named)
for damaged in ({}, [], {"list": [{}], "objects": {}}, {"list": {"a": 1}, "objects": []}, {"list": [1], "objects": [1]}):
    json.dump(dict(doc, functions=damaged), open("bad.json", "w"))
    p = run(tare, "compare", "a.json", "bad.json")
    check(p.returncode == 1 and "Function:" not in p.stdout, damaged, p.stdout, p.stderr)
for options, says in ((["--backend", "hw"], "software engine"), (["-p", "1"], "a command to run"), (["-x", ","], "--field-separator"),
                      (["-e", "task-clock"], "task-clock")):
    p = run(tare, "stat", "--functions", *options, *([] if "-p" in options else ["a/prog"]))
    check(p.returncode == 125 and says in p.stderr, options, p.stderr)

shutil.rmtree(folder)
finish()
