#!/usr/bin/env python3
"""Debian's perf takes samples on the virtual PMU: with a period of 1 the list of all instructions, as
single-stepping gives it; reports, annotations and call chains of a program whose profile is known.

usage: vpmu-perf.py TARE STEPCOUNT HOT LATE PROGRAM...
"""
import os, re, shutil, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__))))
from cli import check, finish, need_engine, run, skip  # noqa: E402

tare, stepcount, hot, late, *programs = map(os.path.abspath, sys.argv[1:])
need_engine(tare)
if not shutil.which("perf"):
    skip("perf is not installed (package linux-perf)")
folder = tempfile.mkdtemp(prefix="tare-perf.")
data, trace = os.path.join(folder, "perf.data"), os.path.join(folder, "trace")


def virtual(*command, model="zen2"):
    p = run(tare, "run", "--cpu", model, "--", *command)
    check(p.returncode in (0, 1), command, p.returncode, p.stderr[-500:])
    return p


def recorded(*options, command, model="zen2"):
    """The addresses of all samples."""
    virtual("perf", "record", "-q", "-o", data, *options, "--", *command, model=model)
    return script("ip").split()


def script(fields):
    p = run("perf", "script", "-i", data, "-F", fields)
    check(p.returncode == 0, fields, p.stderr[-500:])
    return p.stdout


def each_instruction():
    for i, program in enumerate(programs):
        run(stepcount, "-t", trace, "-o", os.devnull, "--", program)
        want = open(trace).read().split()
        got = recorded("-e", "instructions:u", "-c", "1", command=[program], model=("zen2", "skylake")[i % 2])
        first = next((k for k, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        check(got == want and len(want) > 10, os.path.basename(program), len(got), len(want), "differ at", first,
              got[first:first + 3], want[first:first + 3])
        for period in 3, 19, 50:
            got = recorded("-e", "instructions:u", "-c", str(period), command=[program])
            check(got == want[period - 1::period], os.path.basename(program), "every", period, len(got), len(want))


def every_nth():
    """The samples of a period are those of period 1, each N-th of them: in long chains of blocks, which a sample
    leaves and enters in the middle."""
    for event in "instructions:u", "branches:u":
        want = recorded("-e", event, "-c", "1", command=[late])
        check(len(want) > 20000, event, len(want))
        for period in 2, 13, 97, 1009:
            got = recorded("-e", event, "-c", str(period), command=[late])
            first = next((k for k, (a, b) in enumerate(zip(got, want[period - 1::period])) if a != b), -1)
            check(got == want[period - 1::period], event, "every", period, len(got), len(want), "differ at", first)


def counts(*options, command, before=()):
    p = virtual(*before, "perf", "stat", "-x,", *options, "--", *command)
    return [line.split(",")[0] for line in p.stderr.splitlines() if ":u" in line]


def profile():
    events = "instructions:u", 10007
    recorded("-g", "-e", events[0], "-c", str(events[1]), command=[hot])
    report = run("perf", "report", "--stdio", "--no-children", "-i", data, "-F", "overhead,sym", "-g", "none").stdout
    shares = {m[2]: float(m[1]) for m in re.finditer(r"^ *([\d.]+)% +\[\.\] (\w+)", report, re.M)}
    check(abs(shares.get("hot", 0) - 75) < 1.5 and abs(shares.get("warm", 0) - 25) < 1.5, shares, report[-500:])
    chains = [re.findall(r"^\s+[0-9a-f]+ (\w+)", part, re.M) for part in script("ip,sym").split("\n\n")]
    in_hot = [c for c in chains if c and c[0] == "hot"]
    # (before its frame is made, or after, a function has no caller)
    called = [c for c in in_hot if c[1:2] == ["main"]]
    check(len(in_hot) > 100 and len(called) >= len(in_hot) - 2, len(in_hot), len(called), chains[-3:])
    text = run("perf", "annotate", "--stdio", "-i", data, "-s", "hot").stdout
    percents = [float(x) for x in re.findall(r"^ +([\d.]+) +[:│|]", text, re.M)]
    check(len(percents) > 2 and abs(sum(percents) - 100) < 2, percents, text[-800:])
    # each sample stands for a period
    ips = recorded("-e", events[0], "-c", str(events[1]), command=[hot])
    n = int(counts("-e", events[0], command=[hot])[0])
    check(abs(n - len(ips) * events[1]) < 2 * events[1], n, len(ips))


def frequency():
    """The virtual clock makes frequencies repeat."""
    first, second = [recorded("-e", "branches:u", "-F", "5000", command=[hot, "300000"]) for _ in "12"]
    check(first == second and len(first) > 10, len(first), len(second))


def group():
    """A group of which only the leader samples: each sample has the values of all, and perf script makes
    of them one line for each event to which something was added since the sample before."""
    for program in programs:
        total = [int(n) for n in counts("-e", "instructions:u,branches:u", command=[program])]
        virtual("perf", "record", "-q", "-o", data, "-e", "{instructions:u,branches:u}:S", "-c", "10", "--", program)
        added = {"instructions:u:": [], "branches:u:": []}
        for line in script("event,period").splitlines():
            added[line.split()[1]].append(int(line.split()[0]))
        instructions, branches = added.values()
        check(instructions == [10] * (total[0] // 10) and 0 <= total[1] - sum(branches) <= 10, os.path.basename(program), total,
              len(instructions), sum(branches))


def beside():
    """perf stat counts what it counts alone, while perf record samples the same program."""
    for program in programs:
        alone = counts("-e", "instructions:u,branches:u", command=[program])
        for period in "100", "1000003":
            both = counts("-e", "instructions:u,branches:u", command=[program],
                          before=["perf", "record", "-q", "-o", data, "-e", "instructions:u", "-c", period, "--"])
            check(len(alone) == 2 and alone == both, os.path.basename(program), period, alone, both)


def of_tasks():
    """Which records there are of names, mappings and tasks."""
    p = run("perf", "script", "-i", data, "--show-task-events", "--show-mmap-events")
    check(p.returncode == 0, p.stderr[-500:])
    return re.findall(r"PERF_RECORD_[A-Z0-9]+(?=.*$)", p.stdout, re.M)


def dummy():
    """The event that counts nothing has the records of tasks; it changes no sample."""
    for program in programs[:3]:
        alone = recorded("-e", "instructions:u", "-c", "7", command=[program])
        records = of_tasks()
        check(recorded("-e", "instructions:u,dummy:u", "-c", "7", command=[program]) == alone, program, len(alone))
        check(of_tasks() == records and {"PERF_RECORD_COMM", "PERF_RECORD_EXIT"} <= set(records), records, of_tasks())
    # tasks and mappings
    recorded("-e", "instructions:u,dummy:u", "-c", "1009", command=["sh", "-c", "true | cat"])
    check({"COMM", "FORK", "EXIT", "MMAP2"} <= {r[12:] for r in of_tasks()}, of_tasks())


def delayed():
    """perf record -D: the program waits for the message that the events are on, and starts another, which
    has the samples that it has without a delay."""
    message = os.path.join(folder, "message")
    script_of = f"until grep -q enabled {message}; do :; done; {hot} 30000; :"
    line = f'exec perf record -o {data} -e instructions:u -c 1009 "$@" -- sh -c "{script_of}" 2>> {message}'

    def samples(*options):
        virtual("sh", "-c", line, "sh", *options)
        lines = script("comm,ip").split("\n")
        return [x.split()[-1] for x in lines if os.path.basename(hot)[:15] in x]

    open(message, "w").close()
    late = samples("-D", "1")
    check({"COMM", "FORK", "EXIT", "MMAP2"} <= {r[12:] for r in of_tasks()}, of_tasks())
    at_once = samples()
    check(late == at_once and len(late) > 100, len(late), len(at_once), late[:3], at_once[:3])


each_instruction()
every_nth()
profile()
frequency()
group()
beside()
dummy()
delayed()
shutil.rmtree(folder)
finish()
