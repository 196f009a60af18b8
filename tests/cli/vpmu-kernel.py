#!/usr/bin/env python3
"""Debian's perf samples events of the kernel in `tare run`: beside virtual ones in one ring and in groups, in any
order, with the addresses that it finds outside.

usage: vpmu-kernel.py TARE PAGES PROGRAM
"""
import collections, os, re, shutil, sys, tempfile

from cli import check, finish, need_engine, run, skip, skipped

tare, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
need_engine(tare)
if not shutil.which("perf"):
    skip("perf is not installed (package linux-perf)")
if tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) < (6, 1):
    skip("sampling events of the kernel needs Linux 6.1")
folder = tempfile.mkdtemp(prefix="tare-perf.")
data = os.path.join(folder, "perf.data")
AREA, PAGES, IN_KERNEL = 0x7000000000, 60, 20


def record(*options, before=(tare, "run", "--"), command=(program,)):
    return run(*before, "perf", "record", "-q", "-o", data, *options, "--", *command)


def samples(fields):
    """Of each sample the event and these fields, as lists of words."""
    text = run("perf", "script", "-G", "-i", data, "-F", "event," + fields).stdout
    return [[w.rstrip(":") for w in line.split()] for line in text.splitlines() if line.strip()]


def of(event, fields="ip"):
    return [s[1:] for s in samples(fields) if s[0] == event]


def in_area(event):
    """The faults in the area: (page, address of the instruction)."""
    found = [(int(addr, 16), int(ip, 16)) for addr, ip in of(event, "ip,addr")]
    return [((addr - AREA) // 4096, ip) for addr, ip in found if 0 <= addr - AREA < 2 * PAGES * 4096]


OUTSIDE = "setarch", "-R"
p = record("-e", "page-faults:u", "-c", "1", "-d", before=OUTSIDE)
native = in_area("page-faults:u") if p.returncode == 0 else None
if record("-e", "page-faults:u", "-c", "1").returncode:
    skip("this machine does not let a program sample its page faults")


def user_faults(*options):
    p = record("-c", "1", "-d", *options)
    got = in_area("page-faults:u")
    check(p.returncode == 0 and [page for page, ip in got] == list(range(PAGES)), options, got, p.stderr[-500:])
    check(len({ip for page, ip in got}) == 1 and (native is None or got == native), options, got, native)
    every = of("page-faults:u", "ip,addr")
    engine = [f for f in every if int(f[0], 16) >> 40 == 0x44 or int(f[1], 16) >> 40 == 0x44]
    check(not engine and len(every) < 400, len(every), engine[:3])


user_faults("-e", "page-faults:u")
user_faults("-g", "-e", "page-faults:u")
if native is None:
    skipped("the kernel's own samples", p.stderr.strip())

# a known list of instructions beside each of them, in any order
CLOCK, INSNS = "cpu-clock/period=7000/u", "instructions/period=10000/u"
FAULTS, DUMMY, SWITCHES = "page-faults/period=1/u", "dummy/period=1/u", "context-switches/period=1/u"
check(record("-e", INSNS).returncode == 0)
insns = [ip for name, ip in samples("ip")]
check(len(insns) > 50, len(insns))
for events in ([FAULTS, INSNS], [INSNS, FAULTS], [CLOCK, INSNS], [DUMMY, INSNS], [INSNS, DUMMY], [SWITCHES, INSNS],
               [INSNS, SWITCHES], [FAULTS, CLOCK, DUMMY, INSNS], [INSNS, CLOCK, FAULTS], ["{" + FAULTS, INSNS + "}"],
               ["{" + INSNS, FAULTS + "}"], ["{" + DUMMY, CLOCK, INSNS + "}"]):
    p = record("-d", "-e", ",".join(events))
    got = samples("ip,addr")
    kinds = collections.Counter(s[0].split("/")[0] for s in got)
    ips = [s[-1] for s in got if s[0].startswith("instructions")]
    check(p.returncode == 0 and ips == insns, events, kinds, p.stderr[-500:])
    named = " ".join(events)
    pages = [int(s[1], 16) - AREA >> 12 for s in got if s[0].startswith("page-faults")]
    check([x for x in pages if 0 <= x < PAGES] == (list(range(PAGES)) if "page-faults" in named else []), events, pages)
    check((kinds["cpu-clock"] > 30) == ("cpu-clock" in named) and not kinds["dummy"] and
          not kinds["context-switches"], events, kinds)

# the clock is the virtual time: three instructions to the nanosecond
def periods():
    found = collections.defaultdict(list)
    for period, name in samples("period"):
        found[name].append(int(period))
    return found


check(record("-e", "{cpu-clock/period=7000/u,instructions:u}:S").returncode == 0)
steps = periods()["instructions:u"][1:]
check(set(steps) == {21000} and len(steps) > 30, steps)
check(record("-e", "task-clock:u", "-F", "10000").returncode == 0)
check(set(periods()["task-clock:u"]) == {100000}, periods())

# a group that is counted at each sample
p = record("-e", "{instructions:u,page-faults:u,task-clock:u}:S", "-c", "20000")
by = periods()
check(p.returncode == 0 and sum(by["page-faults:u"]) >= PAGES and len(by["instructions:u"]) > 20, by)
check(all(6666 <= x <= 6667 for x in by["task-clock:u"][1:]), by["task-clock:u"])


# what happens in the kernel, where it may be sampled
def kernel_too():
    if record("-e", "page-faults", "-c", "1", "-d", before=OUTSIDE).returncode or of("page-faults:u"):
        return skipped("events in the kernel", "only root may sample them")
    want = in_area("page-faults")
    for event in "page-faults", "page-faults,instructions:u", "instructions:u,page-faults":
        p = record("-e", event.replace("s,", "s/period=1/,"), "-c", "1" if "," not in event else "100000", "-d")
        name = [s[0] for s in samples("ip") if s[0].startswith("page-faults")][:1]
        if event.startswith("instructions"):
            continue
        got = in_area(*name)
        check(p.returncode == 0 and got == want and len(got) == PAGES + IN_KERNEL, event, got, want, p.stderr[-300:])
    record("-g", "-e", "page-faults", "-c", "1", "-d")
    chains = [c for c in run("perf", "script", "-i", data, "-F", "ip,sym,addr").stdout.split("\n\n") if "ksys_read" in c]
    check(len(chains) >= IN_KERNEL and all("read" in c.split("do_syscall_64")[1] for c in chains), chains[:1])
    for event in "context-switches", "context-switches/period=1/,instructions/period=100000/u":
        p = record("-e", event, *(["-c", "1"] if "," not in event else []))
        n = sum(s[0].startswith("context-switches") for s in samples("ip"))
        check(p.returncode == 0 and 4 <= n < 400, event, n, p.stderr[-300:])


kernel_too()
# with children, and an exec
p = record("-c", "1", "-d", "-e", "page-faults:u,instructions/period=100000/u",
           command=["sh", "-c", f"{program}; {program} & wait"])
name = [s[0] for s in samples("ip") if s[0].startswith("page-faults")][:1]
check(p.returncode == 0 and sorted(page for page, ip in in_area(*name)) == sorted(2 * list(range(PAGES))),
      in_area(*name), p.stderr[-300:])
shutil.rmtree(folder)
finish()
