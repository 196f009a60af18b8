#!/usr/bin/env python3
"""tare stat --mix and --mix-from on a CPU that miscounts some opcodes: what is predicted is what it counts, and its
counts, corrected by the mix and the certificate, are the engine's. usage: stat-mix-from.py TARE PAGES PROGRAM..."""
import json, os, subprocess, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare, programs = sys.argv[1], sys.argv[3:]
need_engine(tare)
EVENTS = "loads:u,stores:u,instructions:u"


def to_file(*words):
    """The result of a command that has an output of its own."""
    with tempfile.NamedTemporaryFile() as f:
        p = run(*(f.name if w == "RESULT" else w for w in words), stdout=subprocess.DEVNULL)
        check(p.returncode == 0, words, p.stderr)
        return json.load(open(f.name))


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
        # the other way: what is predicted of the program is what the CPU counts of it
        p = run(*nehalem, tare, "stat", "--mix", "-e", EVENTS, "-j", "-o", "-", program)
        predicted = json.loads(p.stdout)["adjusted"]
        check([a["predicted"] for a in predicted] == [a["count"] for a in r["adjusted"]], program, predicted, r["adjusted"])
        check(all(a["other_causes"] == "" for a in predicted), predicted)
    check(deviates, "no program deviates: the test is blind")
    # the mix of other code: nothing of it is taken for the program's
    run(tare, "stat", "--mix", "-j", "-o", mix, programs[0])
    for words, told in ((programs[0],), False), ((programs[-1],), True), (("-j", "-o", "-", programs[-1]), True):
        p = run(*nehalem, tare, "stat", "-e", EVENTS, "--mix-from", mix, *words)
        check(("other code ran than in the mix" in p.stderr) == told and p.returncode == 0, words, p.stderr)
    # a real program, which chooses its code by what cpuid says: both see the same machine
    sees = ("--cpu", "nehalem", "--flaws", "overcount", "--machine", "nehalem", "--")
    r = to_file(tare, "run", *sees, tare, "stat", "-e", EVENTS, "-j", "-o", "RESULT", "gzip", "-c", mix)
    counted = [c["value"] for c in r["runs"][0]["counts"]]
    predicted = to_file(*nehalem, tare, "stat", "--machine", "nehalem", "--mix", "-e", EVENTS, "-j", "-o", "RESULT",
                        "gzip", "-c", mix)["adjusted"]
    check([a["predicted"] for a in predicted] == counted, "gzip", predicted, counted)
    check(predicted[1]["deviation"], "gzip runs nothing that deviates: the comparison is blind", predicted)
    # Nothing is predicted where nothing is known; what is no opcode's comes on top, and is named.
    certificate = f"{folder}/tare/certificate-virtual.json"
    sound = open(certificate).read()
    for change, says in ((dict(verdict="inconclusive"), "verdict on it: inconclusive"), (dict(verdict="not-run"), "not-run"),
                         (dict(letters="hU"), "micro-operations"), (dict(event="x", role="other"), "does not have"),
                         ("bad", "register 2"), (dict(letters="Dhp"), None)):
        c = json.loads(sound)
        row = next(e for e in c["events"] if e["event"] == "stores:u")
        if change == "bad":
            c["bad"] = [dict(experiment="registers", event=row["event"], text="register 2 counts 5")]
        else:
            row.update(change)
        with open(certificate, "w") as f:
            json.dump(c, f)
        for words, key in (("--mix",), "predicted"), (("--mix-from", mix), "corrected"):
            r = json.loads(run(*nehalem, tare, "stat", *words, "-e", EVENTS, "-j", "-o", "-", programs[-1]).stdout)
            check_schema(r, "tare.stat-1")
            a = r["adjusted"][1]
            text = run(*nehalem, tare, "stat", *words, "-e", "stores:u", programs[-1]).stderr
            if says:
                check(key not in a and says in a["no_result"] and f"stores:u: {a['no_result']}" in text, change, a, text)
            else:
                check(key in a and a["other_causes"] == "hp" and "interrupts, page faults\n" in text, change, a, text)
            check(key in r["adjusted"][0] and key in r["adjusted"][2], change, r["adjusted"])
    # an event that verify itself has no verdict on: its difference is not explained
    run(*nehalem, tare, "verify", "--quick", "--certificate", "-e", "stores:u", "--kernel", "riprel", "--experiment",
        "page-faults")
    p = run(*nehalem, tare, "stat", "--mix", "-e", "stores:u", programs[0])
    check("predicted" not in p.stderr, "without the experiment instructions", p.stderr)
    with open(certificate, "w") as f:
        f.write(sound.replace('"microcode": "', '"microcode": "x'))
    check("not predicted: the certificate has expired" in run(*nehalem, tare, "stat", "--mix", "true").stderr, "expired")
    with open(certificate, "w") as f:
        f.write(sound)
    for bad, says in {"/etc/passwd": "not JSON", f"{folder}/none": "No such file"}.items():
        p = run(tare, "stat", "--mix-from", bad, "true")
        check(p.returncode == 125 and says in p.stderr, bad, p.stderr)
    p = run(tare, "stat", "--mix-from", mix, "--mix", "true")
    check(p.returncode == 125 and "cannot be combined" in p.stderr, p.stderr)
finish()
