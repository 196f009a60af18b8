#!/usr/bin/env python3
"""tare verify: the experiments on registers, reads and surroundings, and the invariants between
events. On a flawless virtual PMU all of them are clean; what is planted is found.
usage: verify-more.py TARE PAGES"""
import glob, json, os, signal, subprocess, sys, tempfile
from cli import check, check_schema, finish, need_engine, run, skipped

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
FOLDER = tempfile.TemporaryDirectory()
EXPERIMENTS = ["registers", "loaded", "wrap", "migration", "sibling", "threads", "contended", "patterns",
               "serialisers", "replay", "multiplexing"]
VERDICTS = []               # of the events of the last report


def verify(cpu, *experiments, flaws="", events="instructions:u,cond-branches:u"):
    """{experiment: [finding…]}"""
    names = [w for e in experiments for w in ("--experiment", e)]
    p = run(tare, "run", "--cpu", cpu, "--flaws=" + flaws, "--", tare, "verify", "--quick", "-j", "-e",
            events, "--kernel", "nops", "--kernel", "int_arith", *names)
    check(p.returncode in (0, 2, 3), cpu, flaws, p.returncode, p.stderr)
    report = json.loads(p.stdout)
    check_schema(report, "tare.verify-1")
    VERDICTS[:] = [e["verdict"] for e in report["events"]]
    found = {e: [] for e in experiments}
    for f in report["findings"]:
        found.setdefault(f["experiment"], []).append(f)
    return found


def clean(found, what):
    for f in (f for e in EXPERIMENTS for f in found.get(e, [])):
        check(f["verdict"] in ("good", "info"), what, f)


# Without a flaw: every experiment clean.
for cpu, registers in ("zen2", [6, 6]), ("skylake", [5, 4]):        # the fifth is a fixed one
    found = verify(cpu, *EXPERIMENTS)
    clean(found, cpu)
    check([f["numbers"]["registers"] for f in found["registers"]] == registers, found["registers"])
    check(all(f["numbers"]["held"] == 0 == f["numbers"]["deviating"] and f["verdict"] == "good"
              for f in found["registers"]), found["registers"])
    for f in found["loaded"]:
        n = f["numbers"]
        check(n["alone"] == n["loaded"] and n["others"] >= registers[1] - 1, f)
    # a sampling period brings the end of the register near, where the event has one
    check([f["numbers"].get("measured_width") for f in found["wrap"]] == [0, None, None], found["wrap"])
    check(found["wrap"][1]["numbers"]["across"] == found["wrap"][1]["numbers"]["elsewhere"] > 0, found["wrap"])
    for f in found["wrap"][2:]:
        n = f["numbers"]
        check(n["across"] == n["elsewhere"] > 0, f)
    check(len(found["threads"]) == 2, found["threads"])
    for f in found["threads"]:
        check(f["numbers"]["threads"] >= 3 and f["numbers"]["deviating"] == 0, f)
    check(found["sibling"] and found["migration"], found)
    check([f["event"] for f in found["contended"]] == ["instructions:u", "cond-branches:u"], found["contended"])
    check(all(f["verdict"] == "good" and f["numbers"]["with"] == f["numbers"]["without"] >= 6000
              for f in found["contended"]), found["contended"])
    check(len(found["patterns"]) == 4, found["patterns"])
    for f in found["patterns"]:
        n = f["numbers"]
        check(n["spread"] == 0 and n["read_read"] > n["read_stop"] >= 1 <= n["start_stop"], f)
    for f in found["serialisers"]:
        n = f["numbers"]
        check(n["none"] == n["lfence"] == n["mfence"] == n["cpuid"] == 0, f)
    for f, least, most in zip(found["replay"], (1, 2), (1.001, 20)):
        n = f["numbers"]
        check(n["useful"] == 1 and least <= n["instructions_per_event"] <= most and
              n["longest_gap"] < 200 and "useful for replay" in f["text"], f)
    # phases as long as turns are wrong, much shorter ones are right
    check(len(found["multiplexing"]) == 4, found["multiplexing"])
    for f in found["multiplexing"]:
        n = f["numbers"]
        check(n["turn_ms"] == 4 and n["unseen"] == 0 and n["truth"] > 1000000, f)
        check(n["greatest_error"] < 0.01 if n["phase_ms"] < 1 else n["greatest_error"] > 0.05, f)
# An event that this CPU does not have is in no experiment.
found = verify("nehalem", *EXPERIMENTS, events="instructions:u,ARITH:MUL:u")
check(VERDICTS == ["deterministic", "not-available"] and found["registers"], VERDICTS, found["registers"])
check(not [f for e in found for f in found[e] if f["event"] == "ARITH:MUL:u"], found)
# An event that does not come in the ordinary program has neither a rate nor a gap.
found = verify("zen2", "replay", events="instructions:u,RETIRED_MMX_FP_INSTRUCTIONS:X87_INSTR:u")["replay"]
check(len(found) == 2 and found[1]["numbers"].keys() == {"instructions", "events", "step", "useful"} and
      found[1]["numbers"]["events"] == 0 and found[0]["numbers"]["longest_gap"] > 0, found)
# The engine has no registers, and says so.
for names in [], ["registers", "loaded"]:
    p = run(tare, "verify", "--quick", "-r", "1", "-e", "instructions:u", "--kernel", "nops", "--backend", "soft",
            *(w for name in names for w in ("--experiment", name)))
    lines = [line for line in p.stdout.splitlines() if "registers" in line]
    check(len(lines) == 1 and lines[0].startswith("not run: ") and "the software engine has no counters" in lines[0], lines)
    check(lines[0].startswith(f"not run: {', '.join(names)}: ") if names else "iret" in lines[0], lines)

# What is planted, or what the PMU does, is found.
found = verify("zen2", "wrap", flaws="wrap")
clean(found, "wrap")
for f in found["wrap"][1:]:
    n = f["numbers"]
    check(f["verdict"] == "good" and n["across"] == n["elsewhere"] and 0 < n["events_to_the_end"] <= 1000
          and n["crossed"] >= 15, f)
check(len(found["wrap"]) == 5, "both events, by rdpmc and read(2)", found["wrap"])
found = verify("zen2", "registers", flaws="held=3")
check(all(f["numbers"]["registers"] == 3 == f["numbers"]["held"] and "held by others" in f["text"]
          for f in found["registers"]), found["registers"])
# … an event on a fixed counter does not move; the next one does
for cpu in "zen2", "haswell", "core2":
    found = verify(cpu, "registers", flaws="moved=1", events="instructions:u,branches:u")
    moves = [f for f in found["registers"] if "moved to another register" in f["text"]]
    check(len(moves) == 1 and moves[0]["numbers"]["moves"] > 1 and moves[0]["numbers"]["deviating"] == 0, cpu,
          found["registers"])
# … and they are a sentence, not a row without numbers
p = run(tare, "run", "--cpu", "skylake", "--flaws", "moved=1", "--", tare, "verify", "--quick", "-e", "branches:u", "--kernel",
        "nops", "--experiment", "registers")
rows = [line.split() for line in p.stdout.split("(registers)")[-1].splitlines() if line.startswith("branches:u ")]
check(len(rows) == 1 and len(rows[0]) > 5 and "moved to another register" in p.stdout, p.stdout)
# An event with one register: it stays there when others move, and where others hold the register, nothing is good.
def precise(flaws, *experiments):
    names = [w for e in experiments for w in ("--experiment", e)]
    p = run(tare, "run", "--cpu", "haswell", "--flaws", flaws, "--", tare, "verify", "-j", "--quick", "-r", "1",
            "--kernel", "nops", *names)
    check(p.returncode in (0, 2, 3), flaws, p.returncode, p.stderr)
    report = json.loads(p.stdout)
    word = {e["event"]: e["word"] for e in report["events"]}["INST_RETIRED.PREC_DIST:u"]
    return word, [f for f in report["findings"] if f["event"] == "INST_RETIRED.PREC_DIST:u"]


word, found = precise("moved=1", "registers", "serialisers")
check(word == "DETERMINISTIC" and [f["verdict"] for f in found] == ["good", "good"], word, found)
word, found = precise("held=3", "registers", "migration")
check(word == "?" and found and all(f["verdict"] == "info" for f in found), word, found)
for flaw, register, worst in ("register=2:16", 2, lambda n: n + n // 16), ("register=0:1000", 0, lambda n: n + n // 1000), \
        ("register=5", 5, lambda n: n + n // 16):
    found = verify("zen2", "registers", flaws=flaw)
    check(len(found["registers"]) == 2, found["registers"])
    check(VERDICTS == ["deterministic"] * 2, flaw, "events are counted on other registers:", VERDICTS)
    for f in found["registers"]:
        n = f["numbers"]
        check(f["verdict"] == "bad" and n["deviating"] == 1 and n["worst_register"] == register and
              abs(n["worst"] - worst(n["usual"])) <= 1 and f"register {register} counts" in f["text"], flaw, f)
# … also where half of the registers must stay free of events
verify("k10", "registers", flaws="register=1", events="instructions:u,branches:u")
check(VERDICTS == ["deterministic"] * 2, "four registers, the second is wrong:", VERDICTS)
for register in 0, 1:
    found = verify("core2", "registers", flaws=f"register={register}", events="instructions:u,branches:u")
    check(VERDICTS == ["deterministic"] * 2, "two registers, one is wrong:", register, VERDICTS)
    check([f["numbers"]["worst_register"] for f in found["registers"]] == [register] * 2, register, found)
# … and in each of several threads (a register that loses events, at other events in each of them)
for _ in range(3):
    p = run(tare, "run", "--cpu", "core2", "--flaws", "random:53", "--seed", "53", "--", tare, "verify", "--quick", "-r",
            "1", "-j", "--kernel", "nops", "--kernel", "branches", "--experiment", "threads")
    found = [f for f in json.loads(p.stdout)["findings"] if "counts nothing of code" not in f["text"]]
    check(found and all(f["verdict"] == "good" for f in found), found)
# … but neither an interrupt nor a page fault in one of the runs is the register's
for flaws in "interrupts=30000", "paper":
    found = verify("nehalem", "wrap", flaws=flaws, events="instructions:u")
    clean(found, flaws)
    check(found["wrap"][1]["numbers"]["across"] == found["wrap"][1]["numbers"]["elsewhere"] > 0, found["wrap"])
for bits in 18, 24:
    f = verify("zen2", "wrap", flaws=f"narrow={bits}")["wrap"][0]
    check(f["verdict"] == "bad" and f["numbers"]["width"] == 48 and f["numbers"]["measured_width"] == bits, f)
# What goes wrong around the code: reads that come too early, moves, more threads than CPUs.
NONE = {"serialisers": 0, "migration": 0, "threads": 0}


def surroundings(flaws):
    """{experiment: what each event deviates by}; serialisers: of the read without one."""
    found = verify("zen2", *NONE, flaws=flaws)
    for f in found["serialisers"]:
        n = f["numbers"]
        check(n["lfence"] == n["mfence"] == n["cpuid"] == 0 and (n["none"] < 0) == ("too early" in f["text"])
              and f["verdict"] == ("caveat" if n["none"] else "good"), flaws, f)
    for f in found["migration"] + found["threads"]:
        # nowhere to move to, or threads that the kernel never let another one run between
        check(f["verdict"] in ("good", "bad") or "not tried" in f["text"] or "none of the" in f["text"], flaws, f)
    return {"serialisers": [f["numbers"]["none"] for f in found["serialisers"]],
            "migration": [f["numbers"]["with"] - f["numbers"]["without"] for f in found["migration"]
                          if f["numbers"]],
            "threads": [f["numbers"].get("per_switch", 0) for f in found["threads"]
                        if f["verdict"] != "info"]}


for flaws, cause, want in ("early-reads=1", "serialisers", -1), ("migration=3", "migration", 6), \
        ("crowded=5", "threads", 5):
    got = surroundings(flaws)
    for experiment, numbers in got.items():
        first = want if experiment == cause else 0
        check(numbers in ([first, 0], []) and (numbers or experiment != "serialisers"), flaws, got)
check(-8 <= surroundings("early-reads")["serialisers"][0] <= -1, "early-reads")
# … also where interrupts come in all runs
found = verify("haswell", "serialisers", "threads", flaws="interrupts=300000,early-reads=5", events="instructions:u,branches:u")
first, second = (f["numbers"] for f in found["serialisers"])
check([f["verdict"] for f in found["serialisers"]] == ["caveat", "good"], found["serialisers"])
check(-5 <= first["none"] <= -1 and first["lfence"] == first["mfence"] == first["cpuid"] == second["none"] == 0, first, second)
check(all(f["verdict"] == "good" or "none of the" in f["text"] for f in found["threads"]), found["threads"])
# A busy sibling, where sysfs says that there is one: the other thread by itself changes no count.
LISTS = sorted(glob.glob("/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"))
TWO = os.path.join(FOLDER.name, "siblings")
with open(TWO, "w") as f:
    f.write("0-1\n")
BIND = " && ".join(f"mount --bind {TWO} {name}" for name in LISTS[:2]) or "false"
if run("unshare", "-rm", "sh", "-c", BIND).returncode:
    skipped("a busy sibling", "no mount namespace here, or one CPU")
else:
    p = run("unshare", "-rm", "sh", "-c", BIND + ' && exec "$@"', "sh", tare, "run", "--cpu", "zen2", "--", tare, "verify",
            "--quick", "-j", "-e", "instructions:u,branches:u", "--kernel", "nops", "--experiment", "sibling")
    found = [f for f in json.loads(p.stdout)["findings"] if f["experiment"] == "sibling"]
    check([f["verdict"] for f in found] == ["good", "good"] and "busy" in found[0]["text"], found)
# Locked instructions that count again only while another thread fights for the line.
for n in 16, 500:
    found = verify("zen2", "contended", flaws=f"contended={n}")["contended"]
    check([f["verdict"] for f in found] == ["bad", "bad"], n, found)
    check(all(f["numbers"]["with"] > f["numbers"]["without"] for f in found), n, found)
    check("a thread that fights for the cache line" in found[0]["text"], found)
found = verify("zen2", "contended", flaws="contended=16,interrupts=30000")["contended"]
check([f["verdict"] for f in found] == ["bad", "bad"], "under interrupts", found)
# A read that comes too early is no fault of the end of a register, and an end of it in the middle none of a move.
found = verify("zen2", "wrap", flaws="wrap,early-reads=60,interrupts=1000", events="instructions:u")
check([f["verdict"] for f in found["wrap"]] == ["good"] * 3, found["wrap"])
found = verify("zen2", "registers", "migration", flaws="narrow=18", events="instructions:u,branches:u")
check(all(f["verdict"] == "good" or "not tried" in f["text"] for f in found["registers"] + found["migration"]), found)
# … nor of a read that comes too early, of which there is one in each run.
for bits in 16, 18:
    found = verify("westmere", "serialisers", flaws=f"narrow={bits},early-reads=21", events="instructions:u")["serialisers"]
    check(found[0]["verdict"] == "caveat" and -21 <= found[0]["numbers"]["none"] < 0, bits, found)
# Every event is taken beyond the end of its register by a period, whatever it counts.
found = verify("skylake", "wrap", flaws="interrupts=1000", events="instructions:u,branches:u,cond-branches:u,loads:u,stores:u")["wrap"]
crossed = {f["event"]: f["numbers"] for f in found if "across" in f["numbers"]}
check(len(crossed) == 5 and all(f["verdict"] == "good" for f in found), found)
check(all(n["across"] == n["elsewhere"] > 1000 for n in crossed.values()), crossed)
# … also of flaws that verify cannot look up: what the seed plants, and nothing else
for seed in 0, 3, 15, 21:
    cpu = "zen2"
    p = run(tare, "run", "--cpu", cpu, "--flaws", f"random:{seed}", "--show-flaws")
    planted = {f["cause"]: f for f in json.loads(p.stdout)["planted"]}
    if planted.keys() & {"stolen", "moved"}:        # then an event may lose its counter
        continue
    found = verify(cpu, "registers", "wrap", flaws=f"random:{seed}")
    bad = [f["numbers"]["worst_register"] for f in found["registers"] if f["verdict"] == "bad"]
    check(set(bad) == ({planted["register"]["amount"]} if "register" in planted else set()), seed, cpu, bad)
    bits = {f["numbers"].get("measured_width") for f in found["wrap"] if f["verdict"] == "bad"}
    check(bits == ({planted["narrow"]["amount"]} if "narrow" in planted else set()), seed, cpu, bits)
clean(verify("zen2", "registers", "loaded", "threads", "migration", flaws="interrupts=20000"),
      "interrupts are no fault of a register")
# … nor where they come in all of the runs: then the means are compared, and less can be seen
for flaws in "interrupts=100000", "interrupts=500000":
    found = verify("haswell", "registers", "loaded", "migration", flaws=flaws, events="instructions:u,branches:u")
    findings = found["registers"] + found["loaded"] + found["migration"]
    check(len(findings) >= 4 and all(f["verdict"] == "good" and f["numbers"]["limit"] < 0.01 for f in findings), flaws, findings)
found = verify("zen2", "registers", "migration", flaws="interrupts=300000,register=2:100,migration=5")
check([(f["verdict"], f["numbers"].get("worst_register")) for f in found["registers"]] == [("bad", 2)] * 2, found["registers"])
f = found["registers"][0]["numbers"]
check(abs(f["worst"] - f["usual"] * 1.01) <= 3, f)
for f in found["migration"][:1]:
    n = f["numbers"]
    check(f["verdict"] == "bad" and abs(n["with"] - n["without"] - 10) <= 3, f)

# The text has one table for each experiment.
p = run(tare, "run", "--cpu", "zen2", "--", tare, "verify", "--quick", "-e", "instructions:u", "--kernel",
        "nops", "--experiment", "registers", "--experiment", "patterns")
check("The same event on every register in turn (registers)" in p.stdout, p.stdout)
check("READ-READ  START-READ  READ-STOP  START-STOP" in p.stdout, p.stdout)

# ---- invariants ----

BRANCHY = r"""
	.globl	_start
_start:	mov	$1000, %rcx
1:	movzx	%al, %ebx	# begins with 0F: Nehalem counts it as a conditional branch
	call	2f
	dec	%rcx
	jnz	1b
	mov	$231, %eax
	xor	%edi, %edi
	syscall
2:	ret
"""
program = os.path.join(FOLDER.name, "program")
open(program + ".S", "w").write(BRANCHY)
subprocess.run(["cc", "-nostdlib", "-static", program + ".S", "-o", program], check=True)


def invariants(*args, cpu=None, flaws=""):
    out = os.path.join(FOLDER.name, "out.json")
    inside = [tare, "run", "--cpu", cpu, "--flaws=" + flaws, "--"] if cpu else []
    p = run(*inside, tare, "verify", "-j", "-o", out, *args, "--", program)
    r = json.load(open(out))
    check_schema(r, "tare.invariants-1")
    check(len(r["invariants"]) == r["checked"] + sum(i["state"] == "not checked" for i in r["invariants"]), r)
    return p, r, {i["invariant"]: i for i in r["invariants"]}


INSTRUCTIONS = 1 + 1000 * 5 + 3
p, r, by = invariants("--backend", "soft")
check(p.returncode == 0 == r["broken"] and r["backend"] == "soft" and r["batches"] == 1, p, r)
check(by["branches:u <= instructions:u"]["left"] == 3001 and
      by["branches:u <= instructions:u"]["right"] == INSTRUCTIONS, by)
i = by["cond-branches:u + calls:u + returns:u <= branches:u"]
check(i["state"] == "holds" and i["left"] == 3000 and i["right"] == 3001, i)
check(r["checked"] >= 15, r["checked"])
for cpu in "zen2", "skylake", "icelake":
    p, r, by = invariants("-r", "2", cpu=cpu)
    check(p.returncode == 0 == r["broken"] and r["virtual_pmu"] and not r["simulated"], cpu, p, r)
    check(r["batches"] > 1 and r["witnesses_agree"] and r["least_witness"] == INSTRUCTIONS ==
          r["most_witness"] and r["runs"] == 2, cpu, r)
    i = by["instructions:u = instructions:u on another counter"]
    check(i["state"] == "holds" and i["left"] == i["right"] == INSTRUCTIONS, cpu, i)
    check(by["instructions-minus-irqs:u <= instructions:u"]["state"] == "holds", cpu, by)
    i = by["instructions:u + instructions:k = instructions:uk"]
    check(i["state"] == "not checked" and "kernel" in i["reason"], cpu, i)
check(by["instructions:u on the fixed counter = r00c0:u on a general one"]["state"] == "holds", by)
# Interrupts are not the program's: the batches executed the same, where an event counts interrupts beside them.
ORDINARY = open(program + ".S").read()
open(program + ".S", "w").write(ORDINARY.replace("$1000,", "$300000,"))
subprocess.run(["cc", "-nostdlib", "-static", program + ".S", "-o", program], check=True)
for cpu, witness in ("zen2", "instructions-minus-irqs:u"), ("haswell", "instructions-minus-irqs:u"), ("core2", "instructions:u"):
    p, r, by = invariants("-r", "2", cpu=cpu, flaws="interrupts=20000")
    check(r["witness"] == witness and 2 < r["compared"] <= r["batches"], cpu, r)
    many = 1 + 300000 * 5 + 3
    if witness == "instructions:u":
        check(r["compared"] == r["batches"] and r["most_witness"] > many, cpu, r)
    else:
        check(r["witnesses_agree"] and r["least_witness"] == many == r["most_witness"], cpu, r)
p = run(tare, "run", "--cpu", "core2", "--flaws", "interrupts=20000", "--", tare, "verify", "-r", "9", "--", program)
check("or interrupts were counted" in p.stderr, p.stderr)
open(program + ".S", "w").write(ORDINARY)
subprocess.run(["cc", "-nostdlib", "-static", program + ".S", "-o", program], check=True)
p, r, by = invariants(cpu="nehalem", flaws="overcount")
i = by["cond-branches:u <= branches:u"]
check(i["state"] == "holds" and i["left"] == 2001 and i["right"] == 3001, i)   # movzx, syscall
open(program + ".S", "w").write(BRANCHY.replace("movzx", "movzx %al, %ebx; movzx %al, %ebx; movzx"))
subprocess.run(["cc", "-nostdlib", "-static", program + ".S", "-o", program], check=True)
p, r, by = invariants("-r", "2", cpu="nehalem", flaws="overcount")
i = by["cond-branches:u <= branches:u"]
check(p.returncode == 1 == r["broken"] and i["state"] == "broken" and i["left"] == 4001 and
      i["right"] == 3001 and i["excess"] == 1000 and i["broken_runs"] == 2, p.returncode, i)
p = run(tare, "run", "--cpu", "nehalem", "--flaws=overcount", "--", tare, "verify", "--", program)
check(p.returncode == 1 and not p.stdout and "1 of " in p.stderr and
      "broken: cond-branches:u <= branches:u (a conditional branch is a branch)" in p.stderr, p)

# Hardware counts if one of the events opens, wherever it stands in the list.
for events in "cycles:u,instructions:u", "instructions:u,cycles:u":
    p = run(tare, "run", "--cpu", "skylake", "--flaws", "interrupts=100000", "--", tare, "verify", "-j", "--quick",
            "--kernel", "nops", "--experiment", "interrupts", "-e", events)
    rows = {r["event"]: r for r in json.loads(p.stdout)["events"]}
    check(json.loads(p.stdout)["backend"] == "hw" and rows["instructions:u"]["letters"] == "h", events, p.stdout)

# Bad input.
for args, status, words in (
        (["-e", "instructions:u", "--", "true"], 125, ["--event", "true"]),
        (["-e", "instructions:u,wall-time"], 125, ["wall-time is no event that a counter counts"]),
        (["--quick", "--", "true"], 125, ["--quick"]),
        (["--programs", "-e", "instructions:u"], 125, ["--programs", "--event"]),
        (["--programs", "--", "true"], 125, ["--programs", "a command"]),
        (["--certificate", "--no-certificate"], 125, ["--no-certificate"]),
        (["--", "none-such-command"], 127, ["none-such-command", "not found"]),
        (["--", "/"], 126, ["/"]),
        (["-o", "/nonexistent/x", "--", "true"], 125, ["/nonexistent/x"])):
    p = run(tare, "verify", *args)
    check(p.returncode == status and all(w in p.stderr for w in words), args, p)
# Ended by a signal: one line that says so.
for number in signal.SIGTERM, signal.SIGINT:
    with subprocess.Popen([tare, "verify"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        plan = p.stderr.readline()
        p.send_signal(number)
        out, err = p.communicate()
    check("events" in plan and p.returncode == 128 + number and not out and
          f"ended by a signal ({number})" in err and err.count("tare: ") == 1, number, p.returncode, plan, err)
p = run(tare, "verify", "--", "false")
check(p.returncode == 0 and "the exit status of the command is 1" in p.stderr, p)
finish()
