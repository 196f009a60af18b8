#!/usr/bin/env python3
"""tare stat where counters are lacking: an event that gets none is an error with its cause and
its cure, and never a number. On the virtual PMU. usage: stat-counters.py TARE PAGES"""
import json, os, re, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
LOOP = ("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")    # some virtual ms
CYCLES = "{cycles:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u}"
need_engine(tare)


def stat(flaws, *args, cpu="skylake", command=("true",)):
    flaws = flaws.split(",")
    cycles = ["--cycles"] if "cycles" in flaws else []
    rest = ",".join(f for f in flaws if f != "cycles")
    return run(tare, "run", "--cpu", cpu, *cycles, *(["--flaws", rest] if rest else []), "--", tare,
               "stat", *args, "--", *command)


def failed(p, code, *texts):
    """One error that says all of this, and exit status 125."""
    lines = [l for l in p.stderr.splitlines() if l.startswith("tare: ") and "warning: " not in l]
    check(p.returncode == 125 and len(lines) == 1, "one error, 125", p)
    for t in texts:
        check(t in p.stderr, t, p.stderr)
    return p.stderr.splitlines()[-1]     # the remedy


def counts(flaws, *args, **how):
    with tempfile.NamedTemporaryFile() as f:
        p = stat(flaws, "-j", "-o", f.name, *args, **how)
        r = json.loads(open(f.name).read() or "null")
    if r:
        check_schema(r, "tare.stat-1")
    return p, r


# The watchdog sits on Intel's fixed counter of cycles: a group with cycles wants one general
# counter more, and is never scheduled.
check(stat("cycles", "-e", CYCLES).returncode == 0, "it fits without the watchdog")
for backend in "auto", "hw":
    p = stat("cycles,watchdog", "--backend", backend, "-e", CYCLES)
    remedy = failed(p, 125, "cycles:u and 4 more events in its group",
                    "needs 5 general counters, and this CPU has 4", "kernel.nmi_watchdog is 1",
                    "the NMI watchdog holds a counter")
    for way in "kernel.nmi_watchdog=0", "fewer events in the group", "ungrouped", "--exact":
        check(way in remedy, way, remedy)
    check("--backend soft" not in remedy, "the engine cannot count cycles", remedy)
    check(p.stderr.count("<not counted>") == 5, p.stderr)
# Fields: perf's 0 ns and 0.00 %; JSON: no value, and the cause. What was counted is shown.
p = stat("cycles,watchdog", "-x,", "-e", CYCLES + ",instructions:u", command=LOOP)
failed(p, 125, "watchdog")
check(len(re.findall(r"^<not counted>,,(?:cycles|r00c4):u,0,0\.00,,,$", p.stderr, re.M)) == 5, p.stderr)
m = re.search(r"^(\d+),,instructions:u,\d+,(\d+\.\d+),", p.stderr, re.M)
check(m and int(m[1]) > 10**6 and float(m[2]) > 0, "the event beside the group", p.stderr)
p, r = counts("cycles,watchdog", "-e", CYCLES)
run0 = r["runs"][0]
for c in run0["counts"]:
    check(c["value"] is None and c["provenance"] is None and c["state"] == "not-scheduled" and
          c["running_ns"] == 0 and c["error"] == "WATCHDOG", c)
check(run0["failure"]["error"] == "WATCHDOG" and "--exact" in run0["failure"]["remedy"], run0["failure"])
check(all(s["n"] == 0 and s["values"] == [] for s in r["summary"]), r["summary"])
check("failure" not in counts("", "-e", "instructions:u")[1]["runs"][0], "no failure, none told")
# In batches it works, beside the watchdog too.
p, r = counts("cycles,watchdog", "--exact", "-e", CYCLES)
check(p.returncode == 0 and all(c["value"] > 0 for c in r["runs"][0]["counts"]), p)
# It is not to blame where others hold the counters, on Intel without cycles, or on AMD where a
# group fits beside it.
four = "{r00c4:u,r00c4:u,r00c4:u,r00c4:u}"
check(stat("watchdog", "--backend", "hw", "-e", four).returncode == 0, "all general counters are free")
remedy = failed(stat("watchdog,held=1", "--backend", "hw", "-e", four), 125, "needs 4 general counters",
                "of the 4 that this CPU has, 3 are free", "others hold them")
check("watchdog" not in remedy and "stop other users of the PMU" in remedy, remedy)
six = "{" + ",".join(["branches:u"] * 6) + "}"
remedy = failed(stat("watchdog", "--backend", "hw", "-e", six, cpu="zen2"), 125,
                "needs 6 general counters, and this CPU has 6, one of which the watchdog has")
check("kernel.nmi_watchdog=0" in remedy and "--backend soft" in remedy, remedy)
remedy = failed(stat("watchdog,held=3", "--backend", "hw", "-e", six, cpu="zen2"), 125, "others hold them")
check("watchdog" not in remedy, remedy)

# Counters that another process's pinned events hold. The engine takes over where it knows the
# events, as the doctor says; where it is not let, or does not, that is an error.
three = "{r00c4:u,r00c4:u,r00c4:u}"
p, r = counts("held=2", "-e", three)
check(p.returncode == 0 and r["backend"] == "soft" and "others hold" in r["backend_reason"], p, r)
check(len({c["value"] for c in r["runs"][0]["counts"]}) == 1, r["runs"][0]["counts"])
remedy = failed(stat("held=2", "--backend", "hw", "-e", three), 125,
                "r00c4:u and 2 more events in its group: needs 3 general counters",
                "of the 4 that this CPU has, 2 are free", "others hold them")
check("--backend soft" in remedy and "--exact" in remedy and "watchdog" not in remedy, remedy)
check(stat("held=2", "-e", "{r00c4:u,r00c4:u}").returncode == 0, "what is left is enough")
# All of them: also for the default events, and consistently with the doctor.
doctor = run(tare, "run", "--cpu", "skylake", "--flaws", "held", "--", tare, "doctor")
check(doctor.stdout.startswith("others hold all hardware counters; counting in software"), doctor.stdout)
p, r = counts("held")
check(p.returncode == 0 and r["backend"] == "soft" and r["runs"][0]["counts"][0]["value"] > 0, p)
remedy = failed(stat("held", "--backend", "hw", "-e", "instructions:u"), 125,
                "instructions:u: needs 1 fixed or general counter", "0 are free")
check("--exact" not in remedy and "group" not in remedy, "one event cannot be fewer", remedy)
# A remedy is never what the user did already.
remedy = failed(stat("held", "--backend", "hw", "--exact", "-e", "r00c4:u"), 125, "0 are free")
check("--exact" not in remedy and "--backend soft" in remedy, remedy)
remedy = failed(stat("held,cycles", "--exact", "-e", "cycles:u,r00c4:u"), 125, "0 are free")
check("--exact" not in remedy, remedy)
# A group that is too large for the CPU: refused by the kernel, and no obstacle to --exact.
five = "{" + ",".join(["branches:u"] * 5) + "}"
remedy = failed(stat("", "--backend", "hw", "-e", five), 125,
                "a group of 5 hardware events needs 5 general counters, and this CPU has 4")
check("--exact" in remedy and "ungrouped" in remedy, remedy)
p, r = counts("", "--backend", "hw", "--exact", "-e", five)
check(p.returncode == 0 and len({c["value"] for c in r["runs"][0]["counts"]}) == 1, p)
# Events that take turns, and a run that is over before all had theirs.
many = ",".join(["r00c4:u"] * 9)
remedy = failed(stat("", "--backend", "hw", "-e", many), 125, "its turn did not come before the end")
check("--exact" in remedy and "fewer events" in remedy, remedy)
# A counter that was lost on the way.
p, r = counts("stolen=1", "--exact", "-e", "instructions:u", cpu="zen2", command=LOOP)
c = r["runs"][0]["counts"][0]
check(p.returncode == 125 and c["state"] == "stolen" and c["value"] is None and
      r["runs"][0]["failure"]["error"] == "STOLEN", p, c)
finish()
