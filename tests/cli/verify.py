#!/usr/bin/env python3
"""tare verify: the engine is exact, a flawless virtual PMU is clean, and bad input is refused.

usage: verify.py TARE
"""
import errno, json, os, re, sys, time

from cli import can_refuse, check, check_schema, finish, need_engine, refuse, run

tare = sys.argv[1]
need_engine(tare)


def verify(*args, cpu=None, flaws=None, **how):
    """The report and the exit status."""
    inside = [tare, "run", "--cpu", cpu] + (["--flaws", flaws] if flaws else []) + ["--"] if cpu else []
    p = run(*inside, tare, "verify", "-j", *args, timeout=600, **how)
    if not p.stdout:
        return None, p
    report = json.loads(p.stdout)
    check_schema(report, "tare.verify-1")
    return report, p


CAUSES = [w for name in ("page-faults", "interrupts", "exceptions", "lazy-fp", "instructions")
          for w in ("--experiment", name)]


def check_clean(report, what):
    for e in report["events"]:
        if e["verdict"] in ("not-available", "not-run"):
            check(e["reason"] or e["expected"] == 0, what, e)
            continue
        check(e["verdict"] == "deterministic" and e["word"] == "DETERMINISTIC", what, e)
        check(e["mean"] == e["expected"] and e["distance"] == 0 == e["difference"], what, e)
        check(sum(s["expected"] for s in e["sections"]) == e["expected"], what, e)
    check(any(e["verdict"] == "deterministic" for e in report["events"]), what, "no event")


# The engine: every event exact.
report, p = verify("--backend", "soft", "--quick", "-r", "1")
check(p.returncode == 0, p.returncode, p.stderr)
check(report["backend"] == "soft" and not report["simulated"], report["backend"])
check_clean(report, "engine")
check("kernels" in p.stderr and "instructions" in p.stderr, "the plan:", p.stderr)
lacking = [w.split(": this machine lacks ") for w in report["skipped"] if ": this machine lacks " in w]
for kernel, what in lacking[:1]:
    p = run(tare, "verify", "--backend", "soft", "--kernel", kernel)
    check(p.returncode == 125 and not p.stdout and kernel in p.stderr and what in p.stderr and "--list" in p.stderr, p)

# A virtual PMU without a flaw.
for cpu in "zen2", "skylake":
    report, p = verify("--quick", *CAUSES, cpu=cpu)
    check(p.returncode == 0, p.returncode, p.stderr)
    check(report["backend"] == "hw" and report["simulated"] and report["runs"] == 3, report)
    check_clean(report, cpu)

# -e, --kernel, -r.
report, p = verify("-e", "instructions:u", "--kernel", "nops", "-r", "1", cpu="zen2")
check(p.returncode == 0 and report["kernels"] == ["nops"] and report["runs"] == 1, p.stderr)
check([e["event"] for e in report["events"]] == ["instructions:u"], report["events"])
check_clean(report, "one run")

# Bad input: one clear line, and the way out.
for args, status, words in (
        (["--kernel", "none-such"], 125, ["none-such", "tare verify --list"]),
        (["--experiment", "none-such"], 125, ["none-such", "tare verify --list"]),
        (["-e", "none-such"], 125, ["none-such"]),
        (["-r", "0"], 125, ["0"]),
        (["none-such-command"], 127, ["none-such-command"]),
        (["--run-kernel", "nops", "x"], 125, ["twenty digits"])):
    p = run(tare, "verify", *args)
    check(p.returncode == status and not p.stdout, args, p.returncode, p.stdout)
    check(all(w in p.stderr for w in words), args, p.stderr)

# A filter forbids perf_event_open: the engine counts, as for tare stat; but not where hardware was asked for.
if can_refuse():
    for error in errno.EPERM, errno.ENOSYS:
        how = ["verify", "-j", "--quick", "-r", "1", "--kernel", "nops", "-e", "instructions:u"]
        p = run(tare, *how, preexec_fn=refuse("perf_event_open", error=error))
        check(p.returncode == 0 and json.loads(p.stdout)["backend"] == "soft", error, p.returncode, p.stderr)
        why = json.loads(p.stdout)["conclusion"].split("software engine, because ")[-1]
        check(why in ("a seccomp filter forbids perf_event_open", "this kernel has no perf_event_open"), error, why)
        p = run(tare, *how, "--backend", "hw", preexec_fn=refuse("perf_event_open", error=error))
        check(p.returncode == 1 and not p.stdout and "perf_event_open" in p.stderr, error, p.returncode, p.stderr)

# No permission, as for users where perf_event_paranoid is 3: an error with the way out where there is a PMU; where
# sysfs has none, permission would not help, and the engine counts.
if can_refuse():
    has_pmu = any(re.match("cpu|armv", name) for name in os.listdir("/sys/bus/event_source/devices"))
    refused = refuse("perf_event_open", error=errno.EACCES)
    p = run(tare, *how, preexec_fn=refused)
    if has_pmu:
        check(p.returncode == 1 and not p.stdout and "tare verify --backend soft" in p.stderr, p.returncode, p.stderr)
    else:
        check(p.returncode == 0 and "because this machine shows no hardware counters" in p.stdout, p.returncode, p.stderr)
    p = run(tare, *how, "--backend", "hw", preexec_fn=refused)
    check(p.returncode == 1 and not p.stdout and ("--backend soft" if has_pmu else "event_source") in p.stderr,
          p.returncode, p.stderr)

# No permission, and nothing that could count.
if can_refuse():
    p = run(tare, "verify", "--quick", "--kernel", "nops", preexec_fn=refuse("perf_event_open", "ptrace"))
    check(p.returncode == 1 and not p.stdout and "perf_event_open" in p.stderr, p.returncode, p.stderr)
    p = run(tare, "verify", "--backend", "soft", "--quick", "--kernel", "nops", preexec_fn=refuse("ptrace"))
    check(p.returncode == 1 and not p.stdout and "ptrace" in p.stderr, p.returncode, p.stderr)
    p = run(tare, "verify", "--quick", "--kernel", "nops", preexec_fn=refuse("ptrace"))
    check(p.returncode in (0, 2) or "nothing can count here" in p.stderr, p.returncode, p.stderr)

# Words and exit statuses: what was planned, and what is concluded, in numbers of one and of several.
p = run(tare, "run", "--cpu", "zen2", "--", tare, "verify", "--quick", "-e", "instructions", "--kernel", "nops",
        "--experiment", "registers")
check(p.returncode == 0 and "verify: 1 event, 1 kernel, 3 runs: 3.8 million instructions" in p.stderr, p.returncode, p.stderr)
check(p.stdout.startswith("1 of 1 event is deterministic; counted by a virtual PMU"), p.stdout)
check("\ninstructions:u " in p.stdout and "\n\n\n" not in p.stdout, "without a modifier: user mode", p.stdout)
p = run(tare, "run", "--cpu", "zen2", "--flaws", "register=1", "--", tare, "verify", "--quick", "-e", "instructions:u",
        "--kernel", "nops", "--experiment", "registers")
check(p.returncode == 3 and "finding is bad" in p.stdout.splitlines()[0], "a bad finding", p.returncode, p.stdout)
for events, said in ("cycles", "none of the events"), ("instructions:k", "none of the events"), ("x87", "none of the events"):
    p = run(tare, "verify", "--backend", "soft", "--quick", "-e", events, "--kernel", "nops")
    check(p.returncode == 1 and said in p.stderr, events, p.returncode, p.stdout, p.stderr)
# Page faults take long for few instructions; experiments are not estimated by them.
begin = time.monotonic()
p = run(tare, "run", "--cpu", "zen2", "--", tare, "verify", "--quick", "-e", "instructions:u", "--kernel", "pages",
        "--experiment", "registers", "--experiment", "loaded", "--experiment", "interrupts")
took = time.monotonic() - begin
said = int(re.search(r"about (\d+) second", p.stderr)[1])
check(said < 20 * took + 10, "the plan's time", said, took)
# Without UTF-8 there is no dash for what cannot be counted.
ends = []
for locale in ("C.UTF-8", "C"):
    p = run(tare, "run", "--cpu", "nehalem", "--", tare, "verify", "--quick", "-r", "1", "--kernel", "nops",
            "-e", "instructions:u,ARITH:MUL:u", env=dict(os.environ, LC_ALL=locale))
    ends.append(re.findall(r"^ARITH:MUL:u +(\S+)$", p.stdout, re.M))
    check(locale != "C" or p.stdout.isascii(), p.stdout)
check(ends == [["–"], ["-"]], ends)
p = run(tare, "verify", "--list", "ls")
check(p.returncode == 125 and "--list" in p.stderr and not p.stdout, p.returncode, p.stderr)
p = run(tare, "verify", "--list")
check(p.returncode == 0 and "nops" in p.stdout, p.stdout)
finish()
