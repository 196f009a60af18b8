#!/usr/bin/env python3
"""tare verify: the experiment "skid", and what of it is in the certificate.
usage: verify-skid.py TARE PAGES"""
import json, os, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
FOLDER = tempfile.mkdtemp()
ENV = dict(os.environ, XDG_STATE_HOME=FOLDER)


def verify(flaws, events="instructions:u,branches:u", *more, cpu="zen2"):
    """{event: finding}"""
    p = run(tare, "run", "--cpu", cpu, "--flaws=" + flaws, "--", tare, "verify", "--quick", "-j", "-e", events,
            "--kernel", "nops", "--experiment", "skid", *more, env=ENV, timeout=300)
    check(p.returncode in (0, 1, 2), flaws, p.returncode, p.stderr)
    if not p.stdout:
        return {}
    report = json.loads(p.stdout)
    check_schema(report, "tare.verify-1")
    return {f["event"]: f for f in report["findings"] if f["experiment"] == "skid"}


def most(found, event):
    return found[event]["numbers"].get("most") if event in found else None


# Without the flaw an interrupt is at the very event; with one that does not vary, the skid is that of the flaw.
found = verify("")
check([most(found, e) for e in ("instructions:u", "branches:u")] == [0, 0], found)
for skid in 1, 37, 400:
    found = verify(f"skid={skid}:{skid}")
    check(most(found, "instructions:u") == skid, skid, found)
    check(0 < most(found, "branches:u") <= skid or skid == 1, skid, found)
# One that varies: no overflow is later, and of 200 one is later than half of it.
found = verify("skid=10:300", "instructions:u")
check(150 < most(found, "instructions:u") <= 300, found)

# Events that cannot be single-stepped to are left out; those of Intel's other counters are there.
found = verify("skid=50:50", "INST_RETIRED.ANY:u,INST_RETIRED.ANY_P:u,MEM_INST_RETIRED.ALL_LOADS:u", cpu="skylake")
check({e: most(found, e) for e in found} == {"INST_RETIRED.ANY:u": 50, "INST_RETIRED.ANY_P:u": 50}, found)

# A register that counts wrongly, counters that are taken away: no number.
for flaws, why in ("skid,register=0", "a register counts wrongly"), ("skid,stolen=1", "taken away"):
    found = verify(flaws, "instructions:u")
    check(list(found) == ["instructions:u"], flaws, found)
    check(all(f["verdict"] == "info" and not f["numbers"] and why in f["text"] for f in found.values()), flaws, found)

# The certificate has it for each event, and null where it was not measured.
verify("skid=37:37", "INST_RETIRED.ANY_P:u,MEM_INST_RETIRED.ALL_LOADS:u", "--certificate", cpu="skylake")
certificate = json.load(open(os.path.join(FOLDER, "tare", "certificate-virtual.json")))
check_schema(certificate, "tare.certificate-1")
check([e["skid"] for e in certificate["events"]] == [37, None], certificate["events"])

# A stop with hardware counters uses it: with a greater skid than that of the certificate it is refused.
verify("skid=37:37", "instructions:u", "--certificate")


def stop_at(flaws, n):
    p = run(tare, "run", "--cpu", "zen2", "--flaws=" + flaws, "--", tare, "stat", "--backend", "hw", "-e", "instructions:u",
            "--stop-at", f"instructions={n}", "--then", "continue", "--", "/bin/true", env=ENV, timeout=300)
    return p.returncode, p.stderr


for flaws, wanted in ("skid=37:37", True), ("skid=1000:1000", False):
    status, err = stop_at(flaws, 20000)
    check((status == 0) == wanted and ("later than expected (174)" in err) != wanted, flaws, status, err)
os.unlink(os.path.join(FOLDER, "tare", "certificate-virtual.json"))
status, err = stop_at("skid=1000:1000", 20000)
check(status == 0, "measured", status, err)
finish()
