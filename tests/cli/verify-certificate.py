#!/usr/bin/env python3
"""The certificate that tare verify writes, and what stat, record, doctor and compare say of it.

usage: verify-certificate.py TARE
"""
import json, os, re, sys, tempfile

from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp()
path = os.path.join(folder, "tare", "certificate-virtual.json")
ENV = dict(os.environ, XDG_STATE_HOME=folder)
EVENT = "instructions-minus-irqs:u"


def inside(*args, cpu="zen2", flaws="interrupts,faults", env=ENV):
    return run(tare, "run", "--cpu", cpu, "--flaws", flaws, "--", *args, env=env, timeout=600)


def verify(*args, **how):
    p = inside(tare, "verify", "-j", "--quick", "-e", "instructions:u,branches:u", "--kernel", "int_arith",
               "--kernel", "nops", "--kernel", "cpuid_misc", "--experiment", "page-faults",
               "--experiment", "interrupts", "--experiment", "instructions", "--experiment", "registers", *args, **how)
    check(p.returncode in (0, 2, 3), p.returncode, p.stderr)
    return p


def stat(**how):
    """What stat says of the correction, on the screen and in JSON."""
    out = os.path.join(folder, "stat.json")
    p = inside(tare, "stat", "-e", EVENT, "true", **how)
    check(p.returncode == 0, p.stderr)
    line = [l for l in p.stderr.splitlines() if l.startswith(f" {EVENT}: ")]
    check(len(line) == 1, "one line about the correction", p.stderr)
    p = inside(tare, "stat", "-j", "-o", out, "-e", EVENT, "true", **how)
    check(p.returncode == 0, p.stderr)
    result = json.load(open(out))
    check_schema(result, "tare.stat-1")
    correction = result["summary"][0]["correction"]
    check(line and correction["text"] in line[0], line, correction)
    return correction


def doctor():
    p = inside(tare, "doctor", "-j")
    check_schema(json.loads(p.stdout), "tare.doctor-1")
    return json.loads(p.stdout)["certificate"]


# None yet; a partial examination writes none unless asked.
says = stat()
check(says["certificate"] == "none" and not says["proved"] and "tare verify" in says["text"], says)
check(doctor()["state"] == "none", doctor())
verify()
check(not os.path.exists(path), "a part was certified")

# Proved, with what stays.
verify("--certificate")
certificate = json.load(open(path))
check_schema(certificate, "tare.certificate-1")
check(certificate["machine"]["simulated"] and certificate["machine"]["cpu"]["uarch"] == "zen2", certificate["machine"])
check(not [f for f in os.listdir(os.path.dirname(path)) if f != os.path.basename(path)], "a temporary file stays")
check(certificate["part"]["kernels"] == ["int_arith", "nops", "cpuid_misc"] and certificate["part"]["quick"] and
      certificate["part"]["chosen_events"] and certificate["part"]["runs"] == 3 and
      {"page-faults", "interrupts", "instructions", "registers"} <= set(certificate["part"]["experiments"]),
      certificate["part"])
# … of a part. (A full examination has null there; this stands in for one.)
says = stat()
check(says["certificate"] == "valid" and not says["proved"] and says["date"] == certificate["date"], says)
check("examined only in part" in says["text"] and "3 kernels" in says["text"] and "a tenth of the code" in says["part"],
      says)
check("a tenth of the code" in doctor()["part"], doctor())
p = inside(tare, "doctor")
check("examined only a part" in " ".join(p.stdout.split()), p.stdout[-400:])
full = dict(certificate, part=None)
json.dump(full, open(path, "w"))
check(doctor()["part"] is None, doctor())
says = stat()
check(says["certificate"] == "valid" and says["proved"] and says["date"] == certificate["date"], says)
check("proved here" in says["text"] and says["part"] is None, says)
check(says["residue"] == 0 and "p +1 per page fault" in says["text"] and "h +1" not in says["text"], says)
check(doctor()["state"] == "valid" and doctor()["date"] == certificate["date"], doctor())
p = inside(tare, "doctor")
check(certificate["date"][:10] in p.stdout, p.stdout[-300:])

# compare repeats what each result says.
base, new = os.path.join(folder, "a.json"), os.path.join(folder, "b.json")
inside(tare, "stat", "-j", "-o", base, "-e", EVENT, "true")
inside(tare, "stat", "-j", "-o", new, "-e", EVENT, "true", env=dict(ENV, XDG_STATE_HOME=folder + "/none"))
p = run(tare, "compare", "--ignore-environment", base, new)
check(f"{EVENT}, base: correction proved here" in p.stdout and f"{EVENT}, new: corrected by a table only" in p.stdout,
      p.stdout, p.stderr)

# record says it before the run.
p = inside(tare, "record", "-c", EVENT, "-o", os.path.join(folder, "profiles"), "--", "true")
check(f"tare: {EVENT}: correction proved here" in p.stderr, p.stderr)

# Deviations per instruction are a list.
verify("--certificate", cpu="core2", flaws="overcount")
certificate = json.load(open(path))
check_schema(certificate, "tare.certificate-1")
found = [d for d in certificate["deviations"] if d["event"] == "branches:u"]
check(found and "cpuid" in found[0]["instruction"] and found[0]["amount"] == 1, certificate["deviations"])
check(re.fullmatch("[0-9a-f]+", found[0]["code"]) if found else False, found)

# Of another machine, of an older kernel, damaged: one line each, and no proof.
says = stat()
check(says["certificate"] == "expired" and "Ryzen" in says["text"] and "Core(TM)2" in says["text"], says)
verify("--certificate")
text = open(path).read()
for what, damage, state, word in (
        ("another kernel", lambda t: re.sub(r'("kernel": ")[^"]*', r"\g<1>1.2.3", t), "expired", "1.2.3"),
        ("other microcode", lambda t: re.sub(r'("microcode": ")[^"]*', r"\g<1>0x1d", t), "expired", "microcode"),
        ("half of it", lambda t: t[:len(t) // 2], "damaged", "damaged"),
        ("nothing", lambda t: "", "damaged", "damaged"),
        ("no JSON", lambda t: "\x1b[31m certificate", "damaged", "damaged"),
        ("another schema", lambda t: t.replace("certificate/1", "stat/1"), "damaged", "tare.certificate/1"),
        ("no events", lambda t: t.replace('"events"', '"nothing"'), "damaged", "events"),
        ("no residue", lambda t: re.sub(r'"residue": [^,]*', '"residue": "x"', t), "damaged", "residue"),
        ("a residue below 0", lambda t: re.sub(r'"residue": [^,]*', '"residue": -5', t), "damaged", "residue"),
        ("no date", lambda t: re.sub(r'("date": ")[^"]*', r"\g<1>2026-99-99", t), "damaged", "date"),
        ("too large", lambda t: t + " " * (65 << 20), "damaged", "too large"),
        ("a real PMU's", lambda t: t.replace('"simulated": true', '"simulated": false'), "expired", "PMU"),
        ("no part", lambda t: t.replace('"part"', '"whole"'), "damaged", "part"),
        ("a part of nothing", lambda t: re.sub(r'"part": \{[^}]*\}', '"part": {}', t), "damaged", "part"),
        ("no amount", lambda t: re.sub(r'"amount": [^,]*', '"amount": -1e999', t, 1), "damaged", "amount")):
    open(path, "w").write(damage(text))
    says = stat()
    check(says["certificate"] == state and not says["proved"] and word in says["text"], what, says)
    check("\x1b" not in says["text"] and "\n" not in says["text"], what, says)
    check(doctor()["state"] == state and doctor()["why"], what, doctor())

# A register that counts wrongly: the event's correction is not proved, though its verdict is good elsewhere.
bad = [tare, "run", "--cpu", "zen2", "--flaws", "register=0", "--"]
p = run(*bad, tare, "verify", "--quick", "-e", "instructions:u", "--kernel", "nops", "--experiment", "registers",
        "--certificate", env=ENV)
check(p.returncode == 3 and "register 0 counts" in p.stdout and "; 1 finding is bad" in p.stdout, p.returncode, p.stdout,
      p.stderr)
certificate = json.load(open(path))
check_schema(certificate, "tare.certificate-1")
check([b["experiment"] for b in certificate["bad"]] == ["registers"], certificate["bad"])
p = run(*bad, tare, "stat", "-e", EVENT, "true", env=ENV)
check("not proved: `tare verify` found" in p.stderr and "register 0" in p.stderr, p.stderr)

# Without the experiment on interrupts nothing is said of their subtraction; of a part in place of all, a warning.
json.dump(full, open(path, "w"))
p = inside(tare, "verify", "--quick", "-e", "instructions:u", "--kernel", "nops", "--experiment", "registers",
           "--certificate")
check("replaces that of a full examination" in p.stderr, p.stderr)
json.dump(dict(full, part=json.load(open(path))["part"]), open(path, "w"))
says = stat()
check(not says["proved"] and says["residue"] is None and "without the experiment interrupts" in says["text"], says)
# The engine is no part of the machine.
p = run(tare, "verify", "--backend", "soft", "--quick", "-e", "instructions:u", "--kernel", "nops", "--certificate", env=ENV)
check(p.returncode == 0 and "no certificate is written" in p.stderr, p.returncode, p.stderr)

# A folder that cannot be written: a warning, and the report all the same.
file = os.path.join(folder, "file")
open(file, "w").close()
p = verify("--certificate", env=dict(ENV, XDG_STATE_HOME=file))
check(p.stdout and "certificate cannot be written" in p.stderr, p.stderr)
p = verify("--certificate", env={k: v for k, v in ENV.items() if k not in ("XDG_STATE_HOME", "HOME")})
check(p.stdout and "XDG_STATE_HOME" in p.stderr, p.stderr)
finish()
