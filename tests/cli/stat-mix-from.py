#!/usr/bin/env python3
"""tare stat --mix-from: the counts of a CPU that miscounts some opcodes, corrected by the mix and the
certificate, are the engine's. usage: stat-mix-from.py TARE PAGES PROGRAM..."""
import json, os, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare, programs = sys.argv[1], sys.argv[3:]
need_engine(tare)
EVENTS = "loads:u,stores:u,instructions:u"
with tempfile.TemporaryDirectory(prefix="tare-") as folder:
    os.environ["XDG_STATE_HOME"] = folder
    nehalem = (tare, "run", "--cpu", "nehalem", "--flaws", "overcount", "--")
    mix = f"{folder}/mix.json"
    run(tare, "stat", "--mix", "-j", "-o", mix, programs[0])
    p = run(*nehalem, tare, "stat", "-e", EVENTS, "--mix-from", mix, programs[0])
    check(p.returncode == 125 and "wants a certificate" in p.stderr and "`tare verify` makes one" in p.stderr, p.stderr)
    p = run(*nehalem, tare, "verify", "--quick", "--certificate", "-e", EVENTS, "--experiment", "instructions",
            timeout=900)
    check(p.returncode in (0, 2, 3), p.stderr)
    deviates = False
    for program in programs:
        run(tare, "stat", "--mix", "-j", "-o", mix, program)
        exact = json.loads(run(tare, "stat", "--backend", "soft", "-j", "-o", "-", "-e", EVENTS, program).stdout)
        exact = [c["value"] for c in exact["runs"][0]["counts"]]
        p = run(*nehalem, tare, "stat", "-e", EVENTS, "--mix-from", mix, "-j", "-o", "-", program)
        r = json.loads(p.stdout)
        check_schema(r, "tare.stat-1")
        check([a["corrected"] for a in r["adjusted"]] == exact, program, r["adjusted"], exact)
        deviates |= any(a["count"] != e for a, e in zip(r["adjusted"], exact))
        check("Corrected, by the mix" in run(*nehalem, tare, "stat", "-e", EVENTS, "--mix-from", mix, program).stderr,
              "text")
    check(deviates, "no program deviates: the test is blind")
    for bad, says in {"/etc/passwd": "not JSON", f"{folder}/none": "No such file"}.items():
        p = run(tare, "stat", "--mix-from", bad, "true")
        check(p.returncode == 125 and says in p.stderr, bad, p.stderr)
    p = run(tare, "stat", "--mix-from", mix, "--mix", "true")
    check(p.returncode == 125 and "cannot be combined" in p.stderr, p.stderr)
finish()
