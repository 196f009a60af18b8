#!/usr/bin/env python3
"""tare stat has perf stat's habits: its options do here what they do there, and those that
cannot be had say so. usage: stat-options.py TARE PAGES"""
import json, os, pty, re, shutil, subprocess, sys, tempfile
from cli import check, check_schema, finish, given_time, run

tare, pages = map(os.path.abspath, sys.argv[1:3])
folder = tempfile.mkdtemp(prefix="tare-")


def stat(*args, **how):
    p = run(tare, "stat", "-j", "-o", "-", *args, **how)
    r = json.loads(p.stdout) if p.stdout.startswith("{") else None
    if r:
        check_schema(r, "tare.stat-1")
    return p, r


def refused(says, *args):
    p = run(tare, "stat", *args)
    lines = p.stderr.splitlines()
    check(p.returncode == 125 and lines and re.search(says, lines[0]), args, p.returncode, p.stderr)
    check(sum(l.startswith("tare: ") for l in lines) == 1, args, p.stderr)


has_engine = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "true").returncode == 0
faults = ("-e", "page-faults")

# --timeout is in milliseconds, and ends what would run for ever.
p, r = stat("--timeout", "300", *faults, "sleep", "9999")
check(p.returncode == 124 and r["runs"][0]["timed_out"], p, r)
refused("--timeout wants a whole number from 10", "--timeout", "9", "true")
check("300 ms" in run(tare, "stat", "--timeout", "300", *faults, "sleep", "9999").stderr, "the unit")

# --pre and --post: before and after each run, uncounted.
log = f"{folder}/log"
p, r = stat("-r", "3", "--pre", f"echo pre >>{log}", "--post", f"echo post >>{log}", *faults,
            "sh", "-c", f"echo run >>{log}")
check(p.returncode == 0 and open(log).read().split() == ["pre", "run", "post"] * 3, p, open(log).read())
p, with_hooks = stat("--pre", f"{pages} 20000", "--post", f"{pages} 20000", *faults, pages, "5")
check(p.returncode == 0 and with_hooks["runs"][0]["counts"][0]["value"] < 20000, "a hook was counted", with_hooks)
if has_engine:
    exactly = ("--backend", "soft", "-e", "instructions:u", pages, "5")
    with_hooks, without = (stat(*hooks, *exactly)[1]["runs"][0]["counts"][0]["value"]
                           for hooks in (("--pre", "seq 9 >/dev/null", "--post", "seq 9 >/dev/null"), ()))
    check(with_hooks == without > 0, "a hook was counted", with_hooks, without)
refused('--pre "exit 3" failed with status 3', "--pre", "exit 3", *faults, "touch", f"{folder}/ran")
check(not os.path.exists(f"{folder}/ran"), "run in spite of --pre")
refused("--post .* failed with status 1", "--post", "false", *faults, "true")

# -D: what the first part did is not counted.
work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
for backend in ("auto",) + (("soft",) if has_engine else ()):
    def delayed(factor):
        event = ("-e", "page-faults:u") if backend == "auto" else ("-e", "instructions:u")
        sleepy = ("sh", "-c", f"{work if backend == 'soft' else pages + ' 3000'}; sleep {factor}")
        _, whole = stat("--backend", backend, *event, *sleepy)
        _, rest = stat("--backend", backend, "-D", str(700 * factor), *event, *sleepy)
        a, b = (x["runs"][0]["counts"][0]["value"] for x in (whole, rest))
        check(b < a / 10, backend, "delayed", a, b)
        check(rest["options"]["delay_ms"] == 700 * factor, rest["options"])
        # the sleep alone takes 1000 * factor ms; the first 700 * factor ms are not in the time
        check(rest["runs"][0]["wall_ns"] < whole["runs"][0]["wall_ns"] - 350000000 * factor,
              "the time before counts", whole["runs"][0]["wall_ns"], rest["runs"][0]["wall_ns"])
    given_time(delayed)
p, r = stat("-D", "900000", *faults, "true")
c = r["runs"][0]["counts"][0]
check(p.returncode == 0 and c["value"] is None and c["error"] == "DELAY", c)
check("ended before the delay was over" in run(tare, "stat", "-D", "900000", *faults, "true").stderr, "said")
refused("--delay and --exact", "-D", "5", "--exact", *faults, "true")

# --append.
out = f"{folder}/out"
for n in (1, 2, 3):
    run(tare, "stat", "--append", "-o", out, *faults, "true")
    check(open(out).read().count("Counter stats for 'true'") == n, "--append", n, open(out).read())
run(tare, "stat", "-o", out, *faults, "true")
check(open(out).read().count("Counter stats") == 1, "without --append the file is replaced")
check(run(tare, "stat", "--append", *faults, "true").returncode == 0, "without -o it is ignored, as by perf")

# -n: only the time.
p, r = stat("-n", "-r", "2", "true")
check(p.returncode == 0 and r["summary"] == [] and r["runs"][1]["counts"] == [], r)
p = run(tare, "stat", "-n", "true")
check("seconds elapsed" in p.stderr and "instructions" not in p.stderr and "faults" not in p.stderr, p.stderr)
refused("--null counts nothing", "-n", *faults, "true")

# -i, --interval-count, -v, --all-user.
p, r = stat("-i", *faults, "sh", "-c", f"{pages} 20000; true")
check(r["options"]["inherit"] is False and r["runs"][0]["counts"][0]["value"] < 20000, r["runs"][0])


def two_intervals(factor):
    p = run(tare, "stat", "-I", "100", "--interval-count", "2", "-x,", *faults, "sleep", str(factor))
    check(p.returncode == 0 and len(p.stderr.splitlines()) == 2, p.stderr)


given_time(two_intervals)
p = run(tare, "stat", "-I", "100", "--interval-count", "2", "-x,", *faults, "-p", str(os.getpid()))
check(p.returncode == 0 and len(p.stderr.splitlines()) == 2, "attached: over after the last", p.stderr)
refused("--interval-count counts the intervals of -I", "--interval-count", "2", *faults, "true")
p = run(tare, "stat", "-v", "-r", "2", *faults, "true")
check(re.search(r"^cpu: .*\nbackend: .*\nevent page-faults: perf_event type 1 config 0x2", p.stderr) and
      "\nrun 2 of 2\n" in p.stderr, p.stderr)
p, r = stat("--all-user", "-e", "{page-faults,minor-faults},wall-time,faults:u", "true")
check([c["event"] for c in r["runs"][0]["counts"]] ==
      ["page-faults:u", "minor-faults:u", "wall-time", "faults:u"], r["runs"][0]["counts"])
refused("--all-user and the event page-faults:k contradict", "--all-user", "-e", "page-faults:k", "true")
refused("--all-user and --all-kernel", "--all-user", "--all-kernel", *faults, "true")
p, r = stat("--all-user", "true")
check(p.returncode == 0 and all(c["event"].endswith(":u") for c in r["runs"][0]["counts"]), p, r)

# -d adds to what is counted.
few, more = (stat(*extra, "true")[1] for extra in ((), ("-d",)))
names = [[c["event"] for c in x["runs"][0]["counts"]] for x in (few, more)]
check(names[1][:len(names[0])] == names[0], names)
said = run(tare, "stat", "-d", "true").stderr
check(len(names[1]) > len(names[0]) or "LLC-loads" in said, "-d adds nothing and says nothing", said)
if has_engine:
    p, r = stat("--backend", "soft", "-d", "-e", "calls,instructions", "true")
    names = [c["event"] for c in r["runs"][0]["counts"]]
    check("syscalls" in names and names.count("calls") == 1, names)

# -M: the events of a metric are counted by themselves.
listed = json.loads(run(tare, "list", "-j", "zzz-no-event-at-all").stdout or '{"metrics": []}')["metrics"]
all_metrics = json.loads(run(tare, "list", "-j").stdout)["metrics"]
check({"ipc", "taken-ratio", "loads-per-insn"} <= {m["name"] for m in all_metrics} and not listed, all_metrics)
for m in all_metrics:
    p, r = stat("-M", m["name"], "true")
    if m["here"] == "no":
        check(p.returncode == 125 and f"tare: metric {m['name']}: " in p.stderr, m, p.stderr)
        continue
    check(p.returncode == 0, m, p.stderr)
    counts = {c["event"]: c["value"] for c in r["runs"][0]["counts"]}
    (got,) = r["metrics"]
    factor, top, bottom = re.fullmatch(r"(?:(\d+) \* )?(\S+) / (\S+)", m["formula"]).groups()
    check(set(counts) == {top, bottom}, m, counts)
    if counts[bottom]:
        wanted = int(factor or 1) * counts[top] / counts[bottom]
        check(got["n"] == 1 and abs(got["min"] - wanted) <= 1e-9 * wanted and got["min"] == got["max"], got, wanted)
if has_engine:
    soft = ("--backend", "soft")
    p = run(tare, "stat", *soft, "-r", "2", "-M", "loads-per-insn,Taken-Ratio", "-e", "loads", "true")
    check(re.search(r"0\.\d{4} ±0 +loads-per-insn +exact, user mode +# loads per instruction", p.stderr) and
          re.search(r"\d\d\.\d\d ±0 % +taken-ratio", p.stderr) and p.stderr.count(" loads  ") == 1, p.stderr)
    p = run(tare, "stat", *soft, "-x,", "-M", "insn-per-branch", "true")
    check(re.fullmatch(r",,,,,[\d.]+,insn-per-branch,exact\+user-only", p.stderr.splitlines()[-1]), p.stderr)
    p, r = stat(*soft, "--all-user", "-M", "insn-per-branch", "true")
    check(r["metrics"][0]["top"] == "instructions:u", r["metrics"])
    # Where counters are scarce, --exact deals the events out to batches.
    p = run(tare, "run", "--cpu", "core2", "--", tare, "stat", "-j", "-o", "-", "--exact", "-M",
            "insn-per-branch,loads-per-insn,stores-per-insn", "true")
    r = json.loads(p.stdout)
    check_schema(r, "tare.stat-1")
    check(len(r["runs"][0]["batches"]) >= 2 and r["runs"][0]["witnesses_agree"], r["runs"][0])
    check(len(r["metrics"]) == 3 and all(m["n"] == 1 for m in r["metrics"]), r["metrics"])
refused('no metric is called "ipcc"; did you mean ipc', "-M", "ipcc", "true")
# Where there is no PMU, no software counts cycles: the remedy names neither the engine nor tare run.
p = run(tare, "stat", "-M", "ipc", "true")
if "no hardware counters" in p.stderr:
    check(p.returncode == 125 and "leave this metric out" in p.stderr and "in software" not in p.stderr and
          "tare run" not in p.stderr, p.stderr)

if has_engine:
    # A count that covers only part of the run is not exact, in any format.
    def cut_short(factor):
        cut = ("--timeout", str(300 * factor), "-e", "instructions:u", "sleep", "9999")
        for more in ("-x,",), ():
            p = run(tare, "stat", *soft, *more, *cut)
            check(p.returncode == 124 and "incomplete" in p.stderr and "exact" not in p.stderr, p)
        p = run(tare, "stat", *soft, "-j", "-o", "-", *cut)
        c = json.loads(p.stdout)["runs"][0]["counts"][0]
        check(c["provenance"] == "incomplete" and c["lower_bound"] and c["value"] > 0, c)
    given_time(cut_short)

    # perf's form of the spread: two decimals, also for 0.
    p = run(tare, "stat", *soft, "-x,", "-r", "2", "-e", "instructions:u", "/bin/true")
    check(re.match(r"[0-9.]+,,instructions:u,\d+\.\d\d%,", p.stderr), p.stderr)

# What cannot be had says so by name, and what to do instead.
for option, says in {("-a",): "--all-cpus: .*not CPUs", ("-C", "0"): "--cpu: .*taskset", ("-A",): "--no-aggr",
                     ("-G", "x"): "--cgroup", ("--per-core",): "--per-core", ("--topdown",): "--topdown: .*-M",
                     ("--metric-only",): "--metric-only", ("--no-scale",): "--no-scale: .*--exact",
                     ("--log-fd", "3"): "--log-fd: .*-o FILE", ("--bpf-counters",): "BPF",
                     ("--record-tpebs",): "samples", ("--tpebs-mode=max",): "samples",
                     ("--control=fd:3",): "--control: ", ("-T",): "--transaction", ("--quiet",): "/dev/null"}.items():
    refused(f"^tare: stat: .*{says}", *option, *faults, "true")
refused("--group: .*{a,b}", "-g", *faults, "true")
# All options that this machine's perf lists are known, if only to be refused.
if shutil.which("perf"):
    listed = subprocess.run(["perf", "stat", "--no-such-option"], capture_output=True, text=True).stderr
    for option in re.findall(r"^ +(?:-., )?(--[a-z][a-z-]+)", listed, re.M):
        p = run(tare, "stat", option)
        check("unknown option" not in p.stderr, "perf stat has", option, p.stderr)
check(not re.search("all-cpus|topdown", run(tare, "stat", "--help").stdout), "--help shows what is refused")
# The beginning of a name will do where it fits one option; -B is what is done anyway.
check(run(tare, "stat", "--time", "900000", "--rep=2", "-B", *faults, "true").returncode == 0, "--time")
refused("--all can be --all-user or --all-kernel", "--all", *faults, "true")

# Names with a colon that are no events.
refused("syscalls:sys_enter_write: tare counts no tracepoints", "-e", "syscalls:sys_enter_write", "true")
refused("sched:sched_switch: tare counts no tracepoints", "-e", "sched:sched_switch", "true")
refused("unknown modifier 'Q'", "-e", "instructions:Q", "true")
# tare-events(7): p is understood, and refused where counts are wanted.
for event in ("instructions:upp", "page-faults:p", "cycles:ppp", "branches:P"):
    for backend in ("auto", "hw", "soft"):
        refused("modifier p asks for precise samples", "--backend", backend, "-e", event, "true")

# One status for a wrong command line.
for command in ("stat", "run", "list", "doctor", "compare", "record", "summarize", "aggregate", "diff",
                "export", "view", "completion"):
    p = run(tare, command, "--no-such-option-at-all")
    check(p.returncode == 125 and p.stderr.startswith(f"tare: {command}: unknown option"), command, p)
for args in ((), ("no-such-command",), ("--no-such-option",), ("compare",), ("diff",), ("export",), ("view",),
             ("aggregate",), ("summarize",), ("record",), ("run",), ("stat",), ("completion",),
             ("completion", "tcsh"), ("doctor", "x"), ("list", "--cpu", "no-such")):
    check(run(tare, *args).returncode == 125, args, run(tare, *args))

# 3,000 arguments: a line in the heading, all of them in JSON.
many = [str(i) for i in range(3000)]
p = run(tare, "stat", *faults, "true", *many)
check(len(p.stderr) < 1000 and "... [3001 words]' (" in p.stderr, len(p.stderr))
check(stat(*faults, "true", *many)[1]["command"] == ["true", *many], "JSON has all")
p = run(tare, "stat", *faults, "true", "ä" * 1000)
check("ä... [2 words]" in p.stderr, "cut inside of a character", p.stderr)

# Without UTF-8 there is no ±. ("zero" is 0 in every run; page faults may differ.)
plain = dict(os.environ, LC_ALL="C")
same = ("-r", "2", "-e", "zero,page-faults", "true")
p = subprocess.run([tare, "stat", *same], capture_output=True, env=plain)
check(re.search(rb"^ +0 \+-0 +zero", p.stderr, re.M) and p.stderr.isascii(), p.stderr)
for name in ("a", "b"):
    run(tare, "stat", "-j", "-o", f"{folder}/{name}.json", *same)
p = subprocess.run([tare, "compare", "-T", "5", f"{folder}/a.json", f"{folder}/b.json"], capture_output=True, env=plain)
check(b"+-0" in p.stdout and p.stdout.isascii(), p.stdout)

for command in ([], ["stat"], ["stat", "--help"], ["verify", "--help"], ["compare"], ["annotate"], ["run"], ["record"]):
    p = subprocess.run([tare, *command], capture_output=True, env=plain)
    check(b"..." in p.stdout + p.stderr and (p.stdout + p.stderr).isascii(), command, p.stdout, p.stderr)
    p = run(tare, *command)
    check("…" in p.stdout + p.stderr, command, p.stdout, p.stderr)
p = subprocess.run([tare, "run", "--list"], capture_output=True, env=plain)
check(b"interrupt-at" in p.stdout and p.stdout.isascii(), p.stdout)

# Options of perf stat that are refused say why.
for option in ("--per-cluster", "--metric-no-threshold", "--filter=x", "--json-output", "--cputype=x", "--per-die"):
    p = run(tare, "stat", option, "true")
    check(p.returncode == 125 and "unknown option" not in p.stderr and option.split("=")[0] in p.stderr, option, p.stderr)


# A line of progress with -r, on a terminal only, and gone afterwards.
def on_terminal(*args):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(tare, [tare, "stat", *args])
    text = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.waitpid(pid, 0)
    return text.decode()


def screen(text, columns=80):
    """What is left to see: lines, with cursor columns, erasing, and save and restore."""
    lines, row, col, saved = [""], 0, 0, (0, 0)
    for token in re.findall(r"\033\[\d*[A-Za-z]|\033[78]|\r|\n|[^\033\r\n]", text):
        if token == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif token == "\r":
            col = 0
        elif token == "\0337":
            saved = row, col
        elif token == "\0338":
            row, col = saved
        elif token.endswith("G"):
            col = int(token[2:-1]) - 1
        elif token == "\033[K":
            lines[row] = lines[row][:col]
        elif len(token) == 1:
            lines[row] = lines[row].ljust(col)[:col] + token + lines[row][col + 1:]
            col += 1
    return "\n".join(line.rstrip() for line in lines)


text = on_terminal("-r", "3", *faults, "sleep", "0.1")
check("run 1 of 3" in text and "run 3 of 3" in text, text)
check("run " not in screen(text) and "(3 runs" in screen(text), screen(text))
text = screen(on_terminal("-r", "2", *faults, "printf", "no newline"))
check(text.count("no newline") == 3, "what the command wrote stays", text)
check("run 1 of" not in run(tare, "stat", "-r", "3", *faults, "true").stderr, "no progress in a pipe")

run("rm", "-rf", folder)
finish()
