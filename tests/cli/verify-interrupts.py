#!/usr/bin/env python3
"""tare verify finds the event that counts interrupts: in the tables, in those of other CPUs, by a
scan; and tells when an interrupt is counted.

usage: verify-interrupts.py TARE
"""
import json, os, sys

from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)


def findings(cpu, *args, flaws="interrupts=100000,faults", how=()):
    p = run(tare, "run", "--cpu", cpu, "--flaws", flaws, *how, "--", tare, "verify", "-j", "--quick", "-r", "1", "-e",
            "instructions:u", "--kernel", "nops", "--experiment", "interrupt-event", "--experiment", "iret", *args)
    check(p.returncode in (0, 2, 3), cpu, flaws, args, p.stderr)
    if not p.stdout:
        return {"interrupt-event": [{"event": None, "text": "", "numbers": {}}]}
    report = json.loads(p.stdout)
    check_schema(report, "tare.verify-1")
    found = {}
    for f in report["findings"]:
        found.setdefault(f["experiment"], []).append(f)
    return found


def interrupt_event(cpu, *args, **how):
    found = findings(cpu, *args, **how)["interrupt-event"]
    check(len(found) == 1, found)
    return found[0]


for cpu, name, code in ("zen2", "INTERRUPT_TAKEN:u", 0x2c), ("skylake", "HW_INTERRUPTS.RECEIVED:u", 0x1cb), \
        ("k10", "INTERRUPTS_TAKEN:u", 0xcf):
    for begin, event, word in ("table", name, f"from the table of {cpu}"), ("scan", f"r{code:04x}:u", "a scan of"):
        f = interrupt_event(cpu, "--interrupts-from", begin)
        check(f["event"] == event and f["verdict"] == "good" and word in f["text"], cpu, begin, f)
        check(f["numbers"]["raw"] == code, cpu, begin, f)
        check(f["numbers"]["count"] == f["numbers"]["excess"] > 0 and f["numbers"]["each"] == 1, cpu, f)
# the table of another CPU of the vendor
f = interrupt_event("zen2", "--interrupts-from", "vendor")
check(f["event"] == "r002c:u" and "another CPU of this vendor" in f["text"] and "zen2" not in f["text"], f)
# the tables have a code that does not count interrupts; another one does
for cpu in "zen2", "skylake":
    f = interrupt_event(cpu, flaws="interrupts=100000,faults,undocumented=0x4ed")
    check(f["event"] == "r04ed:u" and f["verdict"] == "good" and "a scan of" in f["text"], f)
# an event that counts some interrupts that the instructions do not have is not proved by them
f = interrupt_event("haswell", flaws="interrupts=100000,undercount=7")
check(f["event"] == "HW_INTERRUPTS.RECEIVED:u" and f["verdict"] == "caveat" and f["numbers"]["count"] > f["numbers"]["excess"], f)
# … but it agrees with /proc/interrupts: no other one could do better, and no scan is made
check(f["numbers"]["codes"] < 5, f)
# … also where in each trial one comes between the two reads
f = interrupt_event("haswell", flaws="interrupts=100000,undercount=7", how=("--seed", "13"))
check(f["verdict"] == "caveat" and f["numbers"]["codes"] < 5, f)
# no interrupts: nothing is proved
f = interrupt_event("zen2", flaws="")
check(f["event"] == "INTERRUPT_TAKEN:u" and f["verdict"] == "info" and "not tested" in f["text"], f)
# counters that are taken away before the first code is tried say nothing of interrupts
f = interrupt_event("zen2", flaws="stolen=5")
check(not f["event"] and "not known" in f["text"] and f["numbers"]["codes"] == 0, f)

# Where hardly any interrupt comes during the runs, more runs show what one adds: a whole number, whenever they come.
for rate, seed in ("3000", "1"), ("300", "1"), ("300", "1000"), ("300", "2000"):
    p = run(tare, "run", "--cpu", "zen2", "--flaws", f"interrupts={rate}", "--seed", seed, "--", tare, "verify", "-j", "--quick", "-r", "3",
            "-e", "instructions:u,cond-branches:u", "--kernel", "nops", "--experiment", "interrupts")
    events = json.loads(p.stdout)["events"]
    check([e["word"] for e in events] == ["h", "DETERMINISTIC"] and events[0]["causes"][0]["amount"] == 1, rate, seed, events)

# Where none comes at all, the report says so.
for flaws, word, told in ("", "DETERMINISTIC", ["none came"]), ("interrupts=3000", "h", []):
    p = run(tare, "run", "--cpu", "zen2", "--flaws", flaws, "--", tare, "verify", "-j", "--quick", "-r", "1", "-e",
            "instructions:u", "--kernel", "nops", "--experiment", "interrupts")
    report = json.loads(p.stdout)
    (event,) = report["events"]
    check(event["word"] == word, flaws, event)
    check([f["text"][:9] for f in report["findings"] if f["experiment"] == "interrupts"] == told, report["findings"])

# When an interrupt is counted: with iret, or not with it. (entry, exit) of each event; and how far a
# corrected pair is off that the kernel reads between interrupt and iret.
for flaws, instructions, both, error in ("", (0, 0), (0, 0), 0), (",iret", (0, 1), (0, 1), -1), \
        (",entry", (1, 0), (1, 0), 0):
    found = findings("zen2", flaws="interrupts=10000,faults" + flaws).get("iret", [])
    seen = {f["event"]: (f["numbers"]["entry"], f["numbers"]["exit"]) for f in found if f["event"]}
    check(seen == {"instructions:u": instructions, "INTERRUPT_TAKEN:u": (0, 0), "UNDOCUMENTED_0420:u": both},
          flaws, found)
    check([f["numbers"]["pair_error"] for f in found if not f["event"]] == [error], flaws, found)
finish()
