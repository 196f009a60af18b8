#!/usr/bin/env python3
"""tools/report-tests permits the skips that tests/may-skip.txt has, and no others; and what
is in that file are tests. usage: may-skip.py SOURCE BUILD"""
import fnmatch, json, os, re, subprocess, sys, tempfile

source, build = sys.argv[1:3]
bad = 0
STDERR = "<stderr>"     # before what a test printed there


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def report(rows, allowed, units=0):
    """(status, text) for tests with these results: (name, result, what it printed)."""
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(f"{tmp}/meson-logs")
        with open(f"{tmp}/meson-logs/testlog.json", "w") as f:
            for name, result, text in rows:
                out, _, err = text.partition(STDERR)
                f.write(json.dumps({"name": f"tare:suite / {name}", "result": result, "stdout": out, "stderr": err}) +
                        "\n")
        with open(f"{tmp}/allowed", "w") as f:
            f.write(allowed)
        p = subprocess.run([f"{source}/tools/report-tests", tmp, *[f"{tmp}/none{i}" for i in range(units)]],
                           capture_output=True, text=True, env={**os.environ, "TARE_MAY_SKIP": f"{tmp}/allowed"})
        return p.returncode, p.stdout + p.stderr


good = ("a", "OK", "")
status, text = report([good], "")
check(status == 0 and text == "1 passed, 0 failed, 0 skipped\n", text)
# A part that a test leaves out is a skip too, once, and must be permitted as any other.
parts = ("a", "OK", "fine\nskipped: x: no tool\nskipped: x: no tool\nskipped: y: no tool\n")
status, text = report([parts], "a | no tool | true\n")
check(status == 0 and text == "skipped: a: x: no tool\nskipped: a: y: no tool\n1 passed, 0 failed, 2 skipped\n", text)
status, text = report([parts], "a | x: no tool | true\n")
check(status == 1 and "failed: a (skipped, and not as" in text and "y: no tool)" in text and
      "0 passed, 1 failed, 1 skipped" in text, text)
status, text = report([good, ("b", "FAIL", ""), ("c", "TIMEOUT", "")], "")
check(status == 1 and "failed: b (FAIL)" in text and "1 passed, 2 failed, 0 skipped" in text, text)
# Whoever sees only the end of the log sees why: the last lines of each failed test, just before the sum.
many = "".join(f"line {i}\n" for i in range(40))
status, text = report([("b", "FAIL", many + STDERR + "the cause \udc80\n"), ("c", "TIMEOUT", ""), good,
                       ("d", "SKIP", "why\n")], "")
check(text.endswith("failed: d (skipped, and not as tests/may-skip.txt permits on this machine: why)\n"
                    "--- b:\nstdout, the last 15 lines:\n" + "".join(f"  line {i}\n" for i in range(25, 40)) +
                    "stderr, all lines:\n  the cause ?\n--- c:\nnothing was printed\n"
                    "--- d:\nstdout, all lines:\n  why\n1 passed, 3 failed, 0 skipped\n"), text)
status, text = report([(f"t{i}", "FAIL", "x" * 10000) for i in range(30)], "")
check("failed: t29 (FAIL)" in text and "--- t19:" in text and "--- t20" not in text and
      "--- and 10 more" in text and len(text) < 20000, len(text))
skipped = ("b-1", "SKIP", "something\nno tool here (package tool)\n")
status, text = report([good, skipped], "b-* | no tool\\|no thing | true\n")
check(status == 0 and text.startswith("skipped: b-1: no tool here (package tool)\n1 passed, 0 failed, 1 skipped"), text)
for allowed in ("", "# nothing\n", "c-* | no tool | true\n", "b-* | other reason | true\n", "b-* | no tool | false\n"):
    status, text = report([good, skipped], allowed)
    check(status == 1 and "failed: b-1 (skipped, and not as" in text and "1 passed, 1 failed, 0 skipped" in text,
          allowed, text)
# A condition can look at what the skip says.
for condition, permitted in (('[ "$WHY" = "no tool here (package tool)" ]', True), ('[ -z "$WHY" ]', False)):
    status, text = report([good, skipped], f"b-* | no tool | {condition}\n")
    check((status == 0) == permitted, condition, text)
# A build that is not there is a skip of its own; no test at all is a failure.
status, text = report([good], "tests of none* | not built | true\n", units=1)
check(status == 0 and "skipped: tests of none0: not built" in text, text)
check(report([good], "", units=1)[0] == 1, "a build that is missing and must not be")
check(report([], "")[0] == 1, "no tests")
check(report([skipped], "b-1 | no | true\n")[0] == 1, "nothing but skips")
check(report([good], "two | fields\n")[0] != 0, "a malformed list")

# Where the engine is broken its tests fail: no row permits a skip for that.
for row in open(f"{source}/tests/may-skip.txt"):
    check(row.startswith("#") or "--backend soft" not in row, "a row about the engine:", row)
tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build],
                                  capture_output=True, text=True, check=True).stdout)


def engine_commands(tare):
    """{what is run: its command}, one for each script that needs the engine."""
    commands = {}
    for t in tests:
        words = [tare if os.path.basename(w) == "tare" else w for w in t["cmd"]]
        if "TARE_BUILD" in t["env"] and words[1:2] != ["step"]:
            commands.setdefault(os.path.basename(next(w for w in words if w.endswith(".py"))), words)
        elif t["name"] in ("stat-soft", "stat-counters", "demo"):
            commands[t["name"]] = words
    return commands


with tempfile.TemporaryDirectory() as tmp:
    broken = f"{tmp}/tare"
    with open(broken, "w") as f:
        f.write("#!/bin/sh\necho 'tare: this engine is broken' >&2\nexit 125\n")
    os.chmod(broken, 0o755)
    commands = engine_commands(broken)
    check(os.uname().machine != "x86_64" or len(commands) > 10, commands)
    for words in commands.values():
        p = subprocess.run(words, cwd=build, capture_output=True, text=True,
                           env={**os.environ, "TARE": broken, "TARE_BUILD": build})
        check(p.returncode == 1 and "the engine does not run" in p.stderr and "is broken" in p.stderr, p)

# Every row of the real list is of a test that there is.
names = [t["name"] for t in tests]
for folder, _, files in os.walk(f"{source}/tests"):
    if "meson.build" in files:      # tests that stand for those that a build leaves out
        names += re.findall(r"test\('([\w-]+)', left_out", open(f"{folder}/meson.build").read())
rows = [re.split(r"\s+\|\s+", line.strip(), maxsplit=2) for line in open(f"{source}/tests/may-skip.txt")
        if line.strip() and not line.startswith("#")]
check(len(rows) > 10, rows)
for test, says, command in rows:
    check(test.startswith("tests of ") or fnmatch.filter(names, test.split(" in build")[0]), "no such test:", test)
    # A condition looks at the machine, and is a command of the shell.
    check(command.strip() not in ("true", ":"), "a skip that any machine may make:", test, says)
    check(subprocess.run(["sh", "-n", "-c", command]).returncode == 0, "not a command:", command)
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
