#!/usr/bin/env python3
"""tare verify in the guest, on its PMU: the verdicts, and the JSON against its schema.

usage: tests/kernel/verify.py ARM64-BUILD

Boots the guest's suite "verify" (verify-check.c) and takes the report that it sends.
"""
import json, os, pathlib, subprocess, sys, tempfile

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "cli"))
from cli import check, check_schema, finish

with tempfile.TemporaryDirectory() as files:
    boot = subprocess.run([here / "boot", sys.argv[1], "bookworm", "cortex-a72", "verify"],
                          env={**os.environ, "TARE_GUEST_FILES": files}, capture_output=True, text=True)
    if boot.stdout.startswith("1..0 # SKIP"):
        print(boot.stdout.removeprefix("1..0 # SKIP").strip())
        sys.exit(77)
    print(boot.stdout)
    if boot.returncode or "\nnot ok" in boot.stdout:
        sys.exit("the guest's tests failed")
    report = json.loads((pathlib.Path(files) / "verify.json").read_text())

check_schema(report, "tare.verify-1")
check(report["backend"] == "hw" and not report["simulated"], report["backend"])
check("this machine lacks atomics" in " ".join(report["skipped"]), report["skipped"])
events = {e["event"]: e for e in report["events"]}

# The emulator counts instructions exactly, whatever comes between.
e = events.pop("INST_RETIRED:u")
check(e["verdict"] == "deterministic" and e["word"] == "DETERMINISTIC" and not e["causes"], e)
check(e["mean"] == e["expected"] > 10_000_000 and e["distance"] == 0, e)

# BR_RETIRED, BR_RETURN_RETIRED, EXC_SVC, LD_RETIRED and ST_RETIRED of the architecture, by their codes:
# the kernel opens them, the emulator does not count them.
# Of two that the core's table has, inspection gives no count: system calls and page faults are exceptions.
for name in "EXCEPTION_TAKEN:u", "EXCEPTION_RETURN:u":
    e = events.pop(name)
    check(e["verdict"] == "never-counts" and e["word"] == "0" and "counts nothing" in e["reason"], e)
check(sorted(events) == ["r0006:u", "r0007:u", "r000e:u", "r0021:u", "r0082:u"], sorted(events))
for name, e in events.items():
    check(e["verdict"] == "never-counts" and e["word"] == "0" and not e["causes"] and not e["letters"], e)
    check(e["mean"] == 0 < e["expected"] and ("_RETIRED" in e["reason"] or "EXC_SVC" in e["reason"]), e)
check("7 never count" in report["conclusion"], report["conclusion"])

# Every experiment says what it found, or that it was not made; nothing is wrong, and those on registers and
# reads are made of the event that counts.
found = {}
for f in report["findings"]:
    check(f["verdict"] in ("good", "info"), f)
    check(f["event"] in (None, "INST_RETIRED:u", "instructions:u"), f)
    found.setdefault(f["experiment"], []).append(f)
check("x86-64 only" in found["generated"][0]["text"], found["generated"])
check("no event counts interrupts" in found["interrupt-event"][0]["text"], found["interrupt-event"])
check("no int 0x80" in found["iret"][0]["text"], found["iret"])
check(found["registers"][0]["numbers"]["registers"] == 6, found["registers"])
# The emulator raises the interrupt of an overflow with the next tick.
check([f["event"] for f in found["skid"]] == ["INST_RETIRED:u"], found["skid"])
check(found["skid"][0]["numbers"]["overflows"] == 200 and found["skid"][0]["numbers"]["most"] > 1000, found["skid"])
for name in "loaded", "wrap", "threads", "patterns", "replay":
    check(found[name][0]["verdict"] == "good", found[name])
for name in "migration", "sibling", "contended", "serialisers", "multiplexing":
    check("not tried" in found[name][0]["text"], found[name])
finish()
