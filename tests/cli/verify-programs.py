#!/usr/bin/env python3
"""tare verify --programs: the engine's counts repeat, are those of tare stat, and stand beside those of
callgrind and QEMU. usage: verify-programs.py TARE PAGES"""
import json, os, re, shutil, sys, tempfile
from cli import can_refuse, check, check_schema, finish, need_engine, refuse, run, skipped

tare = sys.argv[1]
need_engine(tare)
NAMES = "grep", "sha256sum", "sort", "sed", "awk", "openssl"
p = run(tare, "verify", *(w for n in NAMES for w in ("--program", n)), "-r", "2", "-j", timeout=1500)
check(p.returncode == 0, p.stderr)
r = json.loads(p.stdout)
check_schema(r, "tare.programs-1")
programs = {x["program"]: x for x in r["programs"]}
for name, x in programs.items():
    check(x["installed"] == ("engine" in x), name, x)
there = [x for x in programs.values() if x["installed"]]
check(len(there) >= 3, "too few programs are installed", list(programs))
# These repeat by themselves.
for name in "grep", "sha256sum", "sort", "sed":
    if programs[name]["installed"]:
        check(programs[name]["engine"]["spread"] == 0, programs[name])
for way, command in ("callgrind", "valgrind"), ("qemu", "qemu-x86_64"):
    with_it = [x for x in there if way in x]
    if not shutil.which(command):
        check(not with_it, way, with_it)
        continue
    if way == "qemu" and not with_it:
        skipped("counts of QEMU", "its plugins do not work here")
        continue
    check(len(with_it) >= len(there) / 2, way, "in too few", [x["program"] for x in with_it])
    for x in with_it:       # other string functions, rep: within a tenth
        more = x[way]["instructions"] / x["engine"]["instructions"] - 1
        # valgrind and QEMU hide instructions for SHA; Debian 13's sha256sum uses them where the CPU has them
        check(abs(more) < 0.1 or (more > 0 and x["program"] in ("sha256sum", "openssl")), way, x)
check(set(programs) == set(NAMES), list(programs))
p = run(tare, "verify", "--program", "no-such")
check(p.returncode == 125 and "--program no-such: there are gzip, " in p.stderr, p.stderr)
for options in (["--certificate"], ["--backend", "soft"], ["--seed", "3"], ["--no-certificate"], ["--quick"]):
    p = run(tare, "verify", "--program", "sed", *options)
    check(p.returncode == 125 and "cannot be combined with " + options[0] in p.stderr, options, p.stderr)
check("hardware" in there[0] or r["no_hardware"], r["no_hardware"])
# A program that cannot be counted has a reason, and a virtual PMU is not called this machine's hardware.
if can_refuse():
    p = run(tare, "verify", "--program", "sed", "--program", "grep", "-r", "1", preexec_fn=refuse("ptrace", "perf_event_open"))
    check(p.returncode == 1 and "none of the programs" in p.stderr, p.returncode, p.stderr)
    check(re.search(r"^not counted: sed \(engine\): .*ptrace is refused", p.stdout, re.M), p.stdout)
p = run(tare, "run", "--cpu", "zen2", "--", tare, "verify", "--program", "sed", "-r", "1")
check(p.returncode == 0 and "HARDWARE is a virtual PMU" in p.stdout, p.stdout, p.stderr)
p = run(tare, "run", "--cpu", "zen2", "--", tare, "verify", "--program", "sed", "-r", "1", "-j")
r = json.loads(p.stdout)
check_schema(r, "tare.programs-1")
x = r["programs"][0]
check(r["simulated"] and all(w in x or x["not_counted"].get(w) for w in ("engine", "hardware")), r)
# The inputs are in $TMPDIR, and nothing is left there.
with tempfile.TemporaryDirectory() as folder:
    p = run(tare, "verify", "--program", "sed", "-r", "1", env={**os.environ, "TMPDIR": folder})
    check(p.returncode == 0 and not os.listdir(folder), p.stderr, os.listdir(folder))
    none = os.path.join(folder, "none")
    p = run(tare, "verify", "--program", "sed", "-r", "1", env={**os.environ, "TMPDIR": none})
    check(p.returncode == 125 and none in p.stderr, p.returncode, p.stderr)
finish()
