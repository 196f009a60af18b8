#!/usr/bin/env python3
"""tare compare, from files to exit status; and the CI examples. usage: compare.py TARE PAGES"""
import json, os, re, subprocess, sys, tempfile
from cli import check, check_schema, finish, perf_refused, run, skip, skipped, when_still

tare, pages = map(os.path.abspath, sys.argv[1:3])
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)


def result(name, values, event="instructions:u", provenance="exact", status=0, **more):
    """A result of tare stat as it would be, with these values."""
    counts = lambda v: [dict(event=event, value=v, unit="", provenance=provenance,
                             state="counted", perturbed=False, user_only=False, raw=v,
                             enabled_ns=1, running_ns=1, **more)]
    run_ = lambda v: dict(exit_status=status, wall_ns=10 ** 9 + v, user_ns=0, system_ns=0,
                          complete=True, timed_out=False, aslr_off=True, aslr_note=None,
                          counts=counts(v))
    json.dump(dict(schema="tare.stat/1", command=["./x"], backend="soft", cpu=dict(brand="c"),
                   environment=dict(aslr_off=True), runs=[run_(v) for v in values]),
              open(name, "w"))
    return name


def compare(status, *args):
    p = run(tare, "compare", *args)
    check(p.returncode == status, args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


base = result("base.json", [1000000] * 3)
check("same" in compare(0, base, base), "same")
worse = result("worse.json", [1000100] * 3)          # 0.01 %
text = compare(1, base, worse)
check(re.search(r"instructions:u +1,000,000 ±0 +1,000,100 ±0 +\+100 \(\+0.01 %\) +exact +regression",
                text), text)
check("improved" in compare(0, worse, base), "improved")
compare(1, "--any-change", worse, base)
# One run tells no spread, and is not shown with one. Beside two that agree it is enough.
text = compare(1, base, result("one.json", [1000001]))
check(re.search(r"1,000,000 ±0 +1,000,001 \(one run\) +\+1 ", text), text)
check("Note: one.json has one run, which does not show how much the counts vary." in text, text)
check("elapsed" in text and "ms (one run)" in text, text)
e = json.loads(compare(1, "-j", base, "one.json"))["comparisons"][0]["events"][0]
check(e["base"]["half_range"] == 0 and e["new"]["half_range"] is None, e)
check("| 1,000,001 (one run) |" in compare(1, "-f", "markdown", base, "one.json"), "markdown")
text = compare(2, result("single.json", [1000000]), "one.json")
check("one run on either side does not tell" in text and "stat -r 2" in text, text)
compare(0, "one.json", "single.json")
compare(0, "single.json", "single.json")
# A command of 3,000 words does not fill the screen.
for name, n in (("many", 3000), ("more", 3001)):
    tree = json.load(open(result(f"{name}.json", [5, 5])))
    json.dump(dict(tree, command=["./x"] + [str(i) for i in range(1, n)]), open(f"{name}.json", "w"))
for args in ((), ("-f", "markdown")):
    text = compare(0, *args, "many.json", "more.json")
    check(len(text) < 1500 and "... [3000 words]', './x 1 2 " in text and "... [3001 words]'" in text, len(text))
# Parts of a run and whole runs are not compared.
def of_parts(name, counted):
    r = json.load(open(result(name, [1000000] * len(counted))))
    for one, what in zip(r["runs"], counted):
        one["counted"] = what
    json.dump(r, open(name, "w"))
    return name


compare(0, base, of_parts("whole.json", ["whole"] * 3))
text = compare(2, base, of_parts("part.json", ["parts"] * 3))
check("part.json counts parts of the run, base.json the whole run" in text, text)
compare(0, "part.json", "part.json")
text = compare(2, "part.json", of_parts("mixed.json", ["parts", "whole", "parts"]))
check("some runs of mixed.json are counted whole, others in parts" in text, text)
# A program that varies by itself is judged by how much it does.
compare(0, base, result("spread.json", [1000000, 1000010]))
few = result("few.json", [1000000, 1000030, 1000010])
text = compare(0, few, result("few2.json", [1000040, 1000070, 1000050]))    # apart, by chance 1 in 20
check("it varies by itself; 3 and 3 runs show changes beyond ±47, more runs smaller ones" in text, text)
text = compare(2, few, result("far.json", [1001000, 1001030, 1001010]))
check("3 and 3 runs are too few" in text and "stat -r 10" in text, text)
check("too few to call it improved" in compare(0, "far.json", few), "improved")
compare(1, "-T", "5", few, "far.json")
compare(0, "-T", "0.5%", few, "far.json")
many = result("many.json", [1000000, 1000030, 1000010, 1000015, 1000005])
compare(0, many, result("many2.json", [1000010, 1000040, 1000020, 1000025, 1000015]))
text = compare(1, many, result("moved.json", [1000060, 1000090, 1000070, 1000075, 1000065]))
check("regression" in text and "usual causes are hash seeds" in text, text)
check("improved" in compare(0, "moved.json", many), "improved")
compare(0, "-T", "0.01%", base, worse)
compare(1, "-T", "0.0099%", base, worse)
compare(0, "-T", "100", base, worse)
compare(1, "-T", "99", base, worse)
compare(0, "-T", "instructions:u=1%", "-T", "5", base, worse)
compare(1, "-T", "elapsed=50%", base, worse)
# Several new files: each against the base, the worst decides.
text = compare(1, base, base, worse)
check(text.count("base.json -> ") == 2, text)
# The other formats.
text = compare(1, "-f", "markdown", base, worse)
check("| instructions:u | 1,000,000 ±0 | 1,000,100 ±0 | +100 (+0.01 %) | exact | **regression** |"
      in text, text)
r = json.loads(compare(1, "-j", base, worse))
check_schema(r, "tare.compare-1")
e = r["comparisons"][0]["events"][0]
check(r["verdict"] == e["verdict"] == "regression" and e["delta"] == 100, r)
check(abs(e["percent"] - 0.01) < 1e-12, e)
r = json.loads(compare(0, "-f", "json", base, base, base))
check_schema(r, "tare.compare-1")
check(r["verdict"] == "same" and len(r["comparisons"]) == 2, r)
compare(1, "-j", "-o", "out.json", base, worse)
check(json.load(open("out.json"))["verdict"] == "regression", "-o")
p = subprocess.run([tare, "compare", base, "-"], stdin=open(worse), capture_output=True)
check(p.returncode == 1, "standard input")

# What cannot be compared, and why.
for args, says in (
        ((base, result("failed.json", [1000000], status=1)), "exit status was 0 and is 1"),
        ((base, result("scaled.json", [1000000] * 5, provenance="scaled")), "an estimate is no proof"),
        ((base, result("raw.json", [1000000] * 5, provenance="raw")), "exact against raw"),
        ((base, result("other.json", [5], event="branches:u")), "only in the base"),
        ((base, "missing.json"), "missing.json: no such file\n"),
        ((base,), "name at least two files"),
        ((base, "/dev/null"), "the file is empty"),
        ((base, f"{here}/compare.py"), "JSON, byte 0"),
        (("-T", "x", base, worse), 'not "x"'),
        (("-T", "=5", base, worse), 'not "=5"'),
        (("-T", "-5", base, worse), 'not "-5"'),
        (("-T", "instrutions:u=5", base, worse), "did you mean instructions:u"),
        (("-e", "branches", base, worse), 'no file has an event "branches"'),
        (("-o", "/no/such/folder/x", base, worse), "cannot be written")):
    wrong = "two files" in says or says.startswith("not ")      # the command line itself
    check(says in compare(125 if wrong else 2, *args), args, says)
compare(0, "--allow-scaled", result("s1.json", [5] * 5, provenance="scaled"), "s1.json")

# Real results, and the examples for CI, which take them.
if perf_refused(tare):
    run("rm", "-rf", folder)
    skip(perf_refused(tare))
e = ("-e", "page-faults", "-r", "5", "-j", "-o")


def real():
    run(tare, "stat", *e, "a.json", pages, "100")
    run(tare, "stat", *e, "b.json", pages, "101")
    check("varies" not in compare(0, "a.json", "a.json"), "equal raw counts need no margin")
    # (The kernel may add a fault to some of the runs.)
    check(re.search(r"\+1(\.5)? ", compare(1, "a.json", "b.json")), "one page more")
    compare(0, "-T", "page-faults=3", "a.json", "b.json")


when_still(real)

script = f"{here}/../../examples/ci/check-counts.sh"
env = dict(os.environ, TARE=tare, TARE_EVENTS="page-faults", TARE_RUNS="5")
# No baseline: it fails, says so everywhere, and leaves what can become one.
p = run("sh", script, "counts.json", pages, "100", env=dict(env, TARE_REPORT="none.md"))
check(p.returncode == 2 and "NOTHING WAS COMPARED: there is no counts.json" in p.stderr, p.returncode, p.stderr)
check("**Nothing was compared**" in open("none.md").read() and not os.path.exists("counts.json"), "report")
# What it says to type makes the baseline, whatever its name.
for name in ("counts 1", "it's ü", "plain"):
    p = run("sh", script, f"{name}.json", "true", env=dict(env, TARE_EVENTS="task-clock", TARE_RUNS="1"))
    typed = re.search("^To make it: (mv .*), and commit it.$", p.stderr, re.M)
    check(typed and run("sh", "-c", typed[1]).returncode == 0 and os.path.exists(f"{name}.json"), name, p.stderr)
with_report = dict(env, TARE_REPORT="report.md", TARE_ARGS="-T page-faults=4")


def in_ci():
    if os.path.exists("counts.json"):
        os.unlink("counts.json")
    run("sh", script, "counts.json", pages, "100", env=env)
    os.rename("counts.new.json", "counts.json")
    for step, status in ((("counts.json", pages, "100"), 0), (("counts.json", pages, "101"), 1),
                         (("counts.json", "false"), 2), (("counts.json",), 2)):
        # the caller's environment has another size each time
        p = run("sh", script, *step, env=dict(env, STEP=step[-1] * 100))
        check(p.returncode == status, step, p.returncode, p.stdout, p.stderr)
        check("/tmp" not in p.stdout.replace(pages, ""), "no temporary paths", p.stdout)
    p = run("sh", script, "counts.json", pages, "102", env=with_report)
    report = open("report.md").read()
    check(p.returncode == 0 and "within the threshold" in report, p.stdout, p.stderr)
    check("### `counts.json` → `counts.new.json`" in report, report)


when_still(in_ci)
env = with_report
# What it keeps is what the command sees.
p = run("sh", script, "kept.json", "env", env=dict(env, TARE_KEEP="A B", A="1", B="2", C="3"))
check("A=1\nB=2\n" in p.stdout and "C=3" not in p.stdout and "GLIBC_TUNABLES=" in p.stdout, p.stdout)
# The workflow calls the script as it is, and is YAML (where Python can read that).
workflow = open(f"{here}/../../examples/ci/github-workflow.yml").read()
for variable in re.findall(r"\b(TARE_[A-Z]+)\b(?!_)", workflow):
    check(variable == "TARE_REPOSITORY" or variable in open(script).read(), variable)
try:
    import yaml
    steps = yaml.safe_load(workflow)["jobs"]["counts"]["steps"]
    check(any("check-counts.sh" in s.get("run", "") for s in steps), steps)
except ImportError:
    skipped("parsing the workflow", "python3-yaml is not installed")
# No ± where the locale lacks it, also in a reason.
vary = [result(f"vary{i}.json", [100, 110, 120, 105, 115 + i]) for i in (0, 1)]
for locale, sign in (("C", r"\+-"), ("C.UTF-8", "±")):
    p = run(tare, "compare", *vary, env=dict(os.environ, LC_ALL=locale))
    check(p.returncode == 0 and re.search(f"show changes beyond {sign}", p.stdout) and
          ("±" in p.stdout) == (locale != "C"), locale, p.stdout)
# A file that anybody may have written steers no terminal, whichever part of it is shown.
escape = "\x1b]0;title\x07\u009b31m\nline"
tree = json.load(open(result("plain.json", [5, 5])))
tree.update(command=["./x" + escape], backend="soft" + escape, cpu=dict(brand=escape))
tree["environment"].update(kernel=escape, cpu_features=escape, glibc_tunables=escape,
                           environ_bytes=10, variables={"V" + escape: 5})
tree["runs"][0]["counts"][0]["event"] = tree["runs"][1]["counts"][0]["event"] = "e" + escape
json.dump(tree, open("escape.json", "w"))
for args in (["plain.json", "escape.json"], ["escape.json", "escape.json"], ["-f", "markdown", "plain.json", "escape.json"],
             ["-j", "plain.json", "escape.json"]):
    p = run(tare, "compare", *args)
    said = json.dumps(json.loads(p.stdout), ensure_ascii=False) if "-j" in args else p.stdout
    check("title" in said, "nothing of the file is shown", args, said)
    check(not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|^line", said + p.stderr), "escapes", args, said, p.stderr)
run("rm", "-rf", folder)
finish()
