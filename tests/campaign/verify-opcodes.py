#!/usr/bin/env python3
"""tare verify --experiment generated against an opcode that it cannot look up.

`tare run --flaws random:opcode:SEED` draws one opcode of all that the decoder knows, an event that counts it wrongly,
and perhaps interrupts and page faults; one seed in seven draws none. Every instruction with that opcode must be named,
with its amount, and no other one; events without the flaw must be clean. FORMS prints what the generator can run on this
CPU: an opcode that it cannot run must not be found. Each seed runs all instructions, and a tenth of them (--quick),
where what is named must be right.

usage: verify-opcodes.py TARE FORMS [FIRST [LAST [CPU]]]; `make test-all` runs the seeds 1 to 60.
"""
import collections, json, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from cli import check, checking, finish, need_engine  # noqa: E402

CPUS = ["zen2", "skylake", "nehalem", "core2", "k10", "haswell", "zen4", "westmere", "icelake", "bobcat"]
MOST = 32       # opcodes that tare verify names for one event
DONE = collections.Counter()


def forms_of_this_cpu(program):
    """(encoding, map, opcode) -> {(middle field of ModRM, name)}"""
    forms = collections.defaultdict(set)
    for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
        encoding, opmap, opcode, field, name = line.split(" ", 4)
        forms[encoding, int(opmap), int(opcode, 16)].add((int(field), name))
    return forms


def names_of(forms, what):
    """The names of all forms with an opcode that is written as for --flaws insn=: "0fae/7", "vex0f58"."""
    m = re.fullmatch(r"(vex|evex|)(0f38|0f3a|0f|)([0-9a-f]{2})(?:/([0-7]))?", what)
    key = m[1] or "0", ["", "0f", "0f38", "0f3a"].index(m[2]), int(m[3], 16)
    return {name for field, name in forms[key] if m[4] is None or int(m[4]) == field}


def run(tare, cpu, seed, *args):
    p = subprocess.run([tare, "run", "--cpu", cpu, "--flaws", f"random:opcode:{seed}", *args], capture_output=True,
                       text=True)
    check(p.stdout and p.returncode in (0, 2), cpu, seed, args, p.returncode, p.stderr)
    return json.loads(p.stdout)


def check_event(what, row, finding, flaws, forms, quick):
    name = row["event"].removesuffix(":u")
    mine = [f for f in flaws if f["event"] == name and f["cause"] == "instruction"]
    want = {n for f in mine for n in names_of(forms, f["what"])}
    got = {c["instruction"]: c["amount"] for c in row["causes"] if c["letter"] in "DM"}
    if quick or len(want) > MOST:
        check(set(got) <= want and (quick or len(got) == MOST), *what, name, "planted", mine, "found", got)
    else:
        check(set(got) == want, *what, name, "planted", mine, "not found", want - set(got), "too much", set(got) - want)
    check(set(got.values()) <= {f["amount"] for f in mine}, *what, name, "amounts", mine, got)
    check(finding["verdict"] == ("caveat" if got else "good"), *what, finding)
    noise = {f["letter"] for f in flaws if f["event"] == name and f["cause"] in ("interrupt", "page-fault")}
    check({c["letter"] for c in row["causes"]} - {"D", "M"} == noise, *what, name, "noise", noise, row["causes"])
    if row["verdict"] not in ("not-run", "inconclusive"):
        check(set(row["letters"]) >= ({"D" if a > 0 else "M" for a in got.values()}), *what, row["letters"], got)
    DONE["clean events" if not mine else "found" if got else "in another tenth" if want else "not run by this CPU"] += 1


def check_seed(tare, forms, cpu, seed, *quick):
    flaws = run(tare, cpu, seed, "--show-flaws")["planted"]
    report = run(tare, cpu, seed, "--seed", str(seed), "--", tare, "verify", "-j", "--kernel", "nops", "--seed", str(seed),
                 "--experiment", "page-faults", "--experiment", "interrupts", "--experiment", "generated", *quick)
    found = {f["event"]: f for f in report["findings"] if f["experiment"] == "generated"}
    check(len(found) >= 2, cpu, seed, found)
    for row in report["events"]:
        if row["event"] in found:
            check_event((f"{cpu} seed {seed}{' --quick' if quick else ''}:",), row, found[row["event"]], flaws, forms,
                        bool(quick))


def main():
    tare = os.path.abspath(sys.argv[1])
    need_engine(tare)
    first, last = (int(a) for a in (sys.argv[3:5] + ["1", "60"][len(sys.argv[3:5]):]))
    forms, wrong = forms_of_this_cpu(sys.argv[2]), []
    check(sum(len(f) for f in forms.values()) > 1000, "forms", len(forms))
    for seed in range(first, last + 1):
        cpu = sys.argv[5] if len(sys.argv) > 5 else CPUS[seed % len(CPUS)]
        before = checking.bad
        check_seed(tare, forms, cpu, seed)
        check_seed(tare, forms, cpu, seed, "--quick")
        wrong += [f"{seed} ({cpu})"] if checking.bad > before else []
        print(f"seed {seed} ({cpu}){': wrong' if checking.bad > before else ''}", flush=True)
    print(f"{last - first + 1} seeds.", ", ".join(f"{DONE[k]} {k}" for k in sorted(DONE)))
    check(last - first < 3 or DONE["found"], "no opcode was found")
    print("wrong seeds:", ", ".join(wrong) or "none")
    finish()


if __name__ == "__main__":
    main()
