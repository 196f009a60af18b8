#!/usr/bin/env python3
"""tare stat counts, with kernel events that any machine has. usage: stat-run.py TARE PAGES"""
import json, os, re, shutil, signal, subprocess, sys, tempfile
from cli import (can_refuse, check, check_schema, finish, given_time, perf_refused, refuse, run, skip,
                 skipped, until, when_still)

tare, pages = map(os.path.abspath, sys.argv[1:3])
if perf_refused(tare):
    skip(perf_refused(tare))


def stat(*args, **how):
    """The JSON of one call."""
    with tempfile.NamedTemporaryFile() as f:
        p = run(tare, "stat", "-j", "-o", f.name, *args, **how)
        text = open(f.name).read()
    r = json.loads(text) if text else None
    if r:
        check_schema(r, "tare.stat-1")
    return p, r


def count(r, event="page-faults", k=0):
    return next(c["value"] for c in r["runs"][k]["counts"] if c["event"] == event)


def faults(*args):
    """Of a few runs the least: tasks that race for a page now and then fault once more."""
    return min(stat("-r", "4", "-e", "page-faults", *args)[1]["summary"][0]["values"])


# Counted to the last one: the difference is what the program was told to touch.
def touched():
    base = faults(pages, "0")
    check(faults(pages, "1000") - base == 1000, "1000 pages")
    check(faults(pages, "1") - base == 1, "1 page")
    # Children and threads are in it, or not.
    both = faults(pages, "0", "0", "0")
    check(faults(pages, "0", "500", "0") - both == 500, "pages of the child")
    check(faults(pages, "0", "0", "700") - both == 700, "pages of the thread")
    alone = faults("--no-inherit", pages, "0", "0", "0")
    check(faults("--no-inherit", pages, "10", "500", "700") - alone == 10, "--no-inherit")
    check(alone < both, "--no-inherit leaves something out")
    each_task(both)


# Every task by itself, and their sum.
def by_task(*args):
    """The tasks of the first run, and the least count of each over the runs."""
    _, r = stat("--per-thread", "-r", "6", "-e", "page-faults", pages, *args)
    for run_ in r["runs"]:
        check(run_["counts"][0]["value"] == sum(t["counts"][0]["value"] for t in run_["tasks"]),
              "the sum of all tasks", run_)
    least = [min(c) for c in zip(*([t["counts"][0]["value"] for t in x["tasks"]]
                                   for x in r["runs"]))]
    return r["runs"][0]["tasks"], least


def each_task(both):
    tasks, few = by_task("0", "0", "0")
    tasks, many = by_task("10", "500", "700")
    check(abs(sum(few) - both) <= 2, "the sum of the least of all tasks", few, both)
    kinds = [(t["is_thread"], t["pid"] == t["tid"]) for t in tasks]
    check(kinds == [(False, True), (False, True), (True, False)], kinds)
    check([b - a for a, b in zip(few, many)] == [10, 500, 700], "pages of each task", few, many)
    check(all(os.path.samefile(t["exe"], pages) for t in tasks), "exe")


when_still(touched)


# The same as perf stat, under the same conditions.
def as_perf():
    for n in ("0", "1234"):
        p = run(setarch, "-R", perf, "stat", "-x,", "-e", "page-faults", pages, n)
        theirs = int(p.stderr.split(",")[0])
        check(theirs == faults(pages, n), "perf counts", theirs)


perf = shutil.which("perf")
setarch = shutil.which("setarch")
if perf and setarch and run(perf, "stat", "-e", "page-faults", "true").returncode == 0:
    when_still(as_perf)
else:
    skipped("comparing with perf stat", "perf is not installed or does not count")

# Groups, several runs, every value there.
# (Switches happen in the kernel, which not everybody may count.)
third = "context-switches" if run(tare, "stat", "-e", "cs", "true").returncode == 0 else "major-faults"


def several():
    base = faults(pages, "0")
    p, r = stat("-r", "4", "-e", "{page-faults,minor-faults}," + third + ",task-clock", pages, "9")
    check(len(r["runs"]) == 4, "4 runs")
    for k in range(4):
        check(count(r, "page-faults", k) == base + 9, "run", k)
    s = r["summary"][0]
    check(s["values"] == [base + 9] * 4 and s["half_range"] == 0 and s["stddev"] == 0, s)
    check(s["midpoint"] == s["mean"] == s["min"] == s["max"] == base + 9, s)
    one = stat("-e", "page-faults", pages, "9")[1]["summary"][0]
    check(one["half_range"] is None and one["stddev"] is None and one["greatest_distance"] is None, one)
    for s, clock in ((r["summary"][3], True), (r["summary"][0], False)):
        v = s["values"]
        check(s["min"] == min(v) and s["max"] == max(v), s)
        check(s["midpoint"] == (min(v) + max(v)) / 2, s)
        check(abs(s["mean"] - sum(v) / 4) < 1e-3, s)
        check(abs(s["greatest_distance"] - max(max(v) - s["mean"], s["mean"] - min(v))) < 1e-3, s)
        check((s["unit"] == "ns") == clock, s)
        var = sum((x - sum(v) / 4) ** 2 for x in v) / 3
        check(abs(s["stddev"] - var ** 0.5) < 1e-3 * (1 + s["stddev"]), s)


when_still(several)

# Exit status and output are the command's own.
for command, status in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
    p = run(tare, "stat", "-e", "page-faults", "sh", "-c", "echo out; echo err >&2; " + command)
    check(p.returncode == status, command, p.returncode)
    check(p.stdout == "out\n" and p.stderr.startswith("err\n"), p.stdout, p.stderr)
p = run(tare, "stat", "-e", "page-faults", "cat", input="through\n")
check(p.stdout == "through\n", "standard input")
# Nothing of ours is open in the command.
ls = "ls /proc/self/fd | wc -l"
check(run(tare, "stat", "-e", "page-faults", "sh", "-c", ls).stdout == run("sh", "-c", ls).stdout,
      "descriptors")
check(run(tare, "stat", "-e", "page-faults", "sh", "-c", ls + " 2>&1", stdin=subprocess.DEVNULL)
      .stdout == run("sh", "-c", ls + " 2>&1", stdin=subprocess.DEVNULL).stdout, "descriptors")

# Signals that were ignored are ignored in the command, no more and no less.
ignored = "grep SigIgn /proc/self/status"
for trap in ("", "trap '' INT; ", "trap '' INT HUP CHLD; "):
    check(run("sh", "-c", f"{trap}{tare} stat -e page-faults {ignored}").stdout ==
          run("sh", "-c", f"{trap}{ignored}").stdout, "ignored signals", trap)

# ASLR: off, on when asked, and the truth when a wrapper turns it on again.
maps = ("sh", "-c", "grep -m1 stack /proc/self/maps")
two = {run(tare, "stat", "-e", "page-faults", *maps).stdout for _ in range(2)}
check(len(two) == 1, "the stack moved:", two)
randomised = open("/proc/sys/kernel/randomize_va_space").read().strip() != "0"
if randomised:
    two = {run(tare, "stat", "--aslr", "-e", "page-faults", *maps).stdout for _ in range(4)}
    check(len(two) > 1, "--aslr left ASLR off")
    check(not stat("--aslr", "-e", "page-faults", "true")[1]["runs"][0]["aslr_off"], "--aslr")
    wrapped = (sys.executable, "-c", "import ctypes, os; ctypes.CDLL(None).personality(0); "
               "os.execvp('true', ['true'])")
    for extra in ((), ("--per-thread",)):
        _, r = stat(*extra, "-e", "page-faults", *wrapped)
        check(not r["runs"][0]["aslr_off"], "a wrapper turned ASLR on, and it was not noticed")
        check("turned ASLR on again" in r["runs"][0]["aslr_note"], r["runs"][0])
_, r = stat("-e", "page-faults", "true")
check(r["runs"][0]["aslr_off"] and r["environment"]["aslr_off"], "ASLR off")
check(r["runs"][0]["aslr_note"] is None, r["runs"][0])

# A container's seccomp profile: the truth about ASLR, and the cause by its name.
if can_refuse():
    for extra in ((), ("--per-thread",)):
        _, r = stat(*extra, "-e", "page-faults", "true", preexec_fn=refuse("personality"))
        if randomised:
            check(not r["runs"][0]["aslr_off"] and "refused here" in r["runs"][0]["aslr_note"],
                  r["runs"][0])
    p = run(tare, "stat", "-e", "page-faults", "true", preexec_fn=refuse("perf_event_open"))
    check(p.returncode == 125 and "seccomp" in p.stderr, p.stderr)
    p = run(tare, "stat", "--per-thread", "-e", "page-faults", "true", preexec_fn=refuse("ptrace"))
    check(p.returncode == 125 and "ptrace is refused" in p.stderr, p.stderr)
    p = run(tare, "stat", "true", preexec_fn=refuse("perf_event_open", "ptrace"))
    check(p.returncode == 125 and re.search("seccomp|ptrace is refused", p.stderr), p.stderr)
else:
    skipped("refusals", "no seccomp filter can be installed here")

# Separated fields, in perf's order.
def separated():
    base = faults(pages, "0")
    p = run(tare, "stat", "-x", ";", "-e", "page-faults,task-clock", "-r", "3", pages, "5")
    provenance = "raw" if third == "context-switches" else "raw+user-only"
    first, second = (line.split(";") for line in p.stderr.splitlines())
    check(first[:3] == [str(base + 5), "", "page-faults"], first)
    check(first[3] == "0.00%" and first[5] == "100.00" and first[-1] == provenance, first)
    check(second[1:3] == ["msec", "task-clock"] and float(second[0]) > 0, second)
    p = run(tare, "stat", "-x,", "-e", "page-faults", pages, "5")
    check(p.stderr.startswith(f"{base + 5},,page-faults,"), p.stderr)


when_still(separated)
p = run(tare, "stat", "-x", "\\t", "-e", "page-faults", "true")
check(p.stderr.count("\t") == 7, p.stderr)
if perf and third == "context-switches":
    # The same fields at the same places, with and without -r.
    for times in ("1", "3"):
        theirs, ours = (run(program, "stat", "-x,", "-r", times, "-e", "task-clock,page-faults", "true")
                        .stderr.splitlines() for program in (perf, tare))
        check(len(theirs) == len(ours) == 2, theirs, ours)
        kind = lambda line: [re.sub(r"[\d.]+", "N", f) for f in line.split(",")]
        for a, b in zip(theirs, ours):
            check(kind(a) == kind(b)[:-1], a, b)

# Text: the number grouped, its provenance, the spread of several runs.
def grouped():
    n = str(12345 - faults(pages, "0"))
    p = run(tare, "stat", "-e", "page-faults", pages, n)
    check(re.search(r"^ +12,345 +page-faults +raw", p.stderr, re.M), p.stderr)
    check("seconds elapsed" in p.stderr and "ASLR off" in p.stderr, p.stderr)
    p = run(tare, "stat", "-r", "3", "--table", "-e", "page-faults", pages, n)
    check(re.search(r"^ +12,345 ±0 +page-faults +raw", p.stderr, re.M), p.stderr)
    check(len(re.findall(r"^ +[123] +\d+\.\d+ +12,345$", p.stderr, re.M)) == 3, p.stderr)


when_still(grouped)

# Intervals: they add up.
def intervals(factor):
    pause = 0.2 * factor
    p, r = stat("-I", "50", "-e", "page-faults", "sh", "-c",
                f"{pages} 100; sleep {pause}; {pages} 200; sleep {pause}")
    parts = [i["counts"][0]["value"] for i in r["runs"][0]["intervals"]]
    check(sum(parts) == count(r), "intervals do not add up", parts, count(r))
    check(len(parts) >= 4 and 0 in parts, "no interval of sleep", parts)
    p = run(tare, "stat", "-I", "50", "-x,", "-e", "page-faults", "sleep", str(pause))
    rows = [line.split(",") for line in p.stderr.splitlines()]
    check(len(rows) >= 3 and all(r[3] == "page-faults" for r in rows), p.stderr)
    check([float(r[0]) for r in rows] == sorted(float(r[0]) for r in rows), p.stderr)


given_time(intervals)

# A running process, for as long as a command runs: the command starts the work and waits
# for its end.
def wait_attached(p):
    """Until the program holds a counter and waits. (It opens one on itself first, to see
    whether that works, and does not wait then.)"""
    def attached():
        try:
            links = [os.readlink(f"/proc/{p.pid}/fd/{n}") for n in os.listdir(f"/proc/{p.pid}/fd")]
            state = open(f"/proc/{p.pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        return state == "S" and any("perf_event" in link for link in links)
    until(attached, "the counter of a running process")


folder = tempfile.mkdtemp(prefix="tare-")
for name in ("go", "done"):
    os.mkfifo(f"{folder}/{name}")
target = subprocess.Popen(["sh", "-c", f"read a <{folder}/go; {pages} 3000; echo >{folder}/done; "
                           f"read a <{folder}/go"])
_, r = stat("-e", "page-faults", "-p", str(target.pid), "sh", "-c",
            f"echo >{folder}/go; read a <{folder}/done")
check(r["options"]["pid"] == target.pid and count(r) >= 3000, "attached", count(r))
_, r = stat("--per-thread", "-e", "page-faults", "-p", str(target.pid), "true")
check([t["tid"] for t in r["runs"][0]["tasks"]] == [target.pid], r["runs"][0])
p, r = stat("-e", "page-faults", "-t", str(target.pid), "--timeout", "200")
check(p.returncode == 0 and r["runs"][0]["timed_out"], p.returncode)
# Ctrl-C while attached is the ordinary end.
p = subprocess.Popen([tare, "stat", "-e", "page-faults", "-p", str(target.pid)],
                     stderr=subprocess.PIPE, text=True)
wait_attached(p)
p.send_signal(signal.SIGINT)
text = p.communicate(timeout=600)[1]
check(p.returncode == 0 and "page-faults" in text, p.returncode, text)
# Until it ends; a process and a thread.
for option in "-p", "-t":
    if option == "-t":
        target = subprocess.Popen(["sh", "-c", f"read a <{folder}/go"])
    p = subprocess.Popen([tare, "stat", "-e", "page-faults", option, str(target.pid)],
                         stderr=subprocess.PIPE, text=True)
    wait_attached(p)
    open(f"{folder}/go", "w").write("\n")
    check(target.wait(600) == 0, "the target was harmed")
    text = p.communicate(timeout=600)[1]
    check(p.returncode == 0 and re.search(r"\d page|\d +page-faults", text), p.returncode, text)
shutil.rmtree(folder)

# --timeout: what was counted until then, and the status of timeout(1).
# (A command that gets no CPU for 2 s after SIGTERM is killed.)
for extra in ((), ("--per-thread",)):
    def timed_out(factor):
        p, r = stat(*extra, "--timeout", str(300 * factor), "-r", "5", "-e", "page-faults", "sleep", "9999")
        check(p.returncode == 124 and len(r["runs"]) == 1, p.returncode)
        check(r["runs"][0]["timed_out"] and not r["runs"][0]["complete"], r["runs"][0])
        check(r["runs"][0]["exit_status"] == 143, "ended by SIGTERM", r["runs"][0]["exit_status"])
    given_time(timed_out)

# --exact with kernel events needs no batches; it is still a run.
def at_once():
    base = faults(pages, "0")
    _, r = stat("--exact", "-e", "page-faults,minor-faults", pages, "3")
    check(count(r) == base + 3 and "batches" not in r["runs"][0], r["runs"][0])


when_still(at_once)

# Not as root: what the kernel lets anybody count, counted; and the truth about ASLR.
if os.getuid() == 0:
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        mine = [shutil.copy(x, d) for x in (tare, pages)]
        for extra in ((), ("--per-thread",)):
            p = subprocess.run([mine[0], "stat", "-j", *extra, "-e", "page-faults:u", mine[1], "100"],
                               text=True, capture_output=True, user=65534, group=65534,
                               extra_groups=[], cwd="/")
            check(p.returncode == 0, p.stderr)
            r = json.loads(p.stderr)
            check_schema(r, "tare.stat-1")
            check(count(r, "page-faults:u") >= 100, r["runs"][0])
            check(r["runs"][0]["aslr_off"] and not r["runs"][0]["aslr_note"], r["runs"][0])
        # A folder in PATH that is not for everybody hides nothing.
        os.mkdir(f"{d}/mine", 0o700)
        open(f"{d}/not-x", "w").close()
        for name, status, says in (("no-such-command-here", 127, "command not found"),
                                   ("not-x", 126, "Permission denied: command is not exec")):
            p = subprocess.run([mine[0], "stat", "-e", "page-faults:u", name], text=True,
                               capture_output=True, user=65534, group=65534, extra_groups=[], cwd="/",
                               env=dict(os.environ, PATH=f"{d}/mine:{d}:/usr/bin:/bin"))
            check(p.returncode == status and says in p.stderr, name, p)
        # Where the kernel may not be counted, what only the kernel does is an error, not a
        # 0; the rest is narrowed to user mode and marked, but for clocks, which know no mode.
        if int(open("/proc/sys/kernel/perf_event_paranoid").read()) == 2:
            def anybody(*args):
                return subprocess.run([mine[0], "stat", *args], text=True, capture_output=True,
                                      user=65534, group=65534, extra_groups=[], cwd="/")
            for event in ("context-switches", "cpu-migrations"):
                p = anybody("-e", event, "true")
                check(p.returncode == 125 and "perf_event_paranoid is 2" in p.stderr, p.stderr)
            p = anybody("-x,", "-e", "page-faults,task-clock", "true")
            lines = p.stderr.splitlines()
            check(lines[0].endswith(",raw+user-only") and lines[1].endswith(",raw"), p.stderr)
            p = subprocess.Popen(["sleep", "9999"], user=65534, group=65534, extra_groups=[])
            q = anybody("-p", str(p.pid), "sleep", "0.1")       # the default events
            check(q.returncode == 0 and "task-clock" in q.stderr, q.stderr)
            check(re.search("Not available here: .*context-switches", q.stderr), q.stderr)
            p.kill()
            p.wait()
finish()
