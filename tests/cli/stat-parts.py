#!/usr/bin/env python3
"""tare stat counts parts of a run: callgrind's requests, tare/region.h, --delay and --control.
usage: stat-parts.py TARE PAGES PARTS PROGRAM"""
import json, os, re, shutil, subprocess, sys, tempfile
from cli import check, check_schema, finish, need_engine, perf_refused, run, skipped

tare, _, parts, program = map(os.path.abspath, sys.argv[1:5])
need_engine(tare)
E = ("instructions:u", "branches:u", "loads:u", "stores:u")


def stat(*args, inside=(), **how):
    with tempfile.NamedTemporaryFile() as f:
        p = run(*inside, tare, "stat", "-j", "-o", f.name, *args, **how)
        r = json.loads(open(f.name).read() or "null")
    check(r is not None, p)
    check_schema(r, "tare.stat-1")
    return p, r["runs"][-1]


def values(counts):
    return [c["value"] for c in counts]


def soft(*args, events=E, **how):
    return stat("--backend", "soft", "-e", ",".join(events), *args, **how)


# ---- callgrind's requests, counted to the instruction: parts.S says why ----

# START … STOP and so on, with counting off at first; a REQUEST is 8 instructions and one store.
for name, expected in {"part": [7 + 8, 0, 0, 1],
                       "loop": [1 + 1 + 200 + 1 + 8, 1 + 100 + 1, 1, 1 + 1],
                       "many": [1000 * (5 + 8), 0, 0, 1000],
                       "fork": [(2 + 3 + 8) + (3 + 9 + 3), 1 + 1 + 1 + 1, 0, 1],
                       "xexec": [6, 1, 1, 1],
                       "signal": [3 + 1 + 2 + 8, 0, 0, 1]}.items():
    for taken in ((), ("taken-branches:u",)):
        _, r = soft("-D", "-1", "--", parts, name, events=E + taken)
        check(values(r["counts"])[:4] == expected, f"{name}{taken}: {values(r['counts'])}, not {expected}")
        check(all(c["provenance"] == "exact" for c in r["counts"]), r["counts"])
        check(r["counted"] == "parts" and r["parts"]["started_off"], r)
_, r = soft("-D", "-1", "--", parts, "many")
check(r["parts"]["on"] == r["parts"]["off"] == 1000, r["parts"])

# With counting on at first.
start = 2 + 2 * 11                      # _start compares eleven letters, and the EXIT is 3
_, q = soft("--", parts, "q")
check(values(q["counts"])[0] == start + 3 and q["counted"] == "whole" and "parts" not in q, q)
_, r = soft("--", parts, "zero")
check(values(r["counts"])[0] == 4 + 3 and r["parts"]["zeroed"] == 1 and r["counted"] == "parts", r)
_, r = soft("--", parts, "dump")
check(values(r["counts"])[0] == 18 + 15 + 4, r["counts"])
check([(d["number"], d["name"], d["counts"][0]["value"]) for d in r["parts"]["dumps"]] ==
      [(1, "", 18), (2, "a dump", 15)], r["parts"])
_, r = soft("--", parts, "reset")
check(values(r["counts"])[0] == 8 + 2 + 3, r["counts"])
# What only looks like a request is none.
_, r = soft("--", parts, "bare")
check(values(r["counts"])[0] == start - 4 + 11 + 3 and "parts" not in r, r["counts"])
# RUNNING_ON_VALGRIND: natively and here 0.
check(run(parts, "valgrind").returncode == 0 and soft("--", parts, "valgrind")[0].returncode == 0, "valgrind")

# The mix follows the switch.
p, _ = soft("-D", "-1", "--mix", "--", parts, "many")
mix = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "-D", "-1", "--mix", "--", parts, "many")
check("Opcodes of 13,000 instructions, exact" in mix.stderr, mix.stderr)

# Never on: no count, and the text says why.
p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "-D", "-1", "--", parts, "q")
check("<not counted>" in p.stderr and "counting was off all the time" in p.stderr, p.stderr)
check("tare_region(3)" in p.stderr, p.stderr)
_, r = soft("-D", "-1", "--", parts, "q")
check(r["counts"][0]["value"] is None and r["counts"][0]["error"] == "NEVER_ON", r["counts"])

# On the screen.
p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "--", parts, "dump")
check(re.search(r"^ +37 +instructions:u +exact$", p.stderr, re.M) and "parts of the run" in p.stderr, p.stderr)
check(re.search(r'Dump 2 "a dump" \(process \d+\):\n +15 +instructions:u$', p.stderr, re.M), p.stderr)

# ---- tare/region.h ----

check(run(program, "region", "3", "100").stdout == "0\n", "natively nobody obeys")
check(run(program, "toggle", "3", "100").stdout == "0\n", "natively nobody toggles")


def region(*args, **how):
    p, r = stat("-e", "instructions:u,branches:u", "-D", "-1", *args, **how)
    return int(p.stdout), r


for backend, inside in (("soft", ()), ("hw", (tare, "run", "--"))):
    def measured(*args):
        return region("--backend", backend, "--", program, "region", *args, inside=inside)
    obeyed, one = measured("1", "1000")
    check(obeyed == 2 and one["parts"]["on"] == one["parts"]["off"] == 1, one)
    _, longer = measured("1", "3000")
    step = [b - a for a, b in zip(values(one["counts"]), values(longer["counts"]))]
    check(step[0] % 2000 == 0 and step[1] == 2000, f"{backend}: 2000 rounds: {step}")
    # what a switch itself costs, the same every time
    cost = values(one["counts"])[0] - step[0] // 2
    check(0 < cost < (40 if backend == "soft" else 400), f"{backend}: {cost} instructions around a part")
    obeyed, ten = measured("10", "1000")
    check(obeyed == 20 and values(ten["counts"]) == [10 * v for v in values(one["counts"])],
          f"{backend}: ten parts {values(ten['counts'])}, one {values(one['counts'])}")
    _, r = measured("0", "1000", "more")
    dumps = r["parts"]["dumps"]
    check([d["name"] for d in dumps] == ["first", ""] and r["parts"]["zeroed"] == 1, r["parts"])
    a, b = (d["counts"][0]["value"] for d in dumps)
    check(step[0] // 2 <= a < step[0] // 2 + 1000 and step[0] <= b < step[0] + 1000, f"{backend}: dumps {a}, {b}")
    check(a + b <= values(r["counts"])[0] < a + b + 1000, f"{backend}: {a} + {b}, {r['counts']}")
    obeyed, r = measured("0", "1000")
    check(r["counts"][0]["error"] == "NEVER_ON", r["counts"])

    def toggled(*args):
        return region("--backend", backend, "--", program, "toggle", *args, inside=inside)
    obeyed, one = toggled("1", "1000")
    check(obeyed == 2 and one["parts"]["on"] == one["parts"]["off"] == 1, one)
    _, longer = toggled("1", "3000")
    check([b - a for a, b in zip(values(one["counts"]), values(longer["counts"]))] == step, (one["counts"], longer["counts"]))
    obeyed, ten = toggled("10", "1000")
    check(obeyed == 20 and ten["parts"]["on"] == ten["parts"]["off"] == 10, ten["parts"])
    check(values(ten["counts"]) == [10 * v for v in values(one["counts"])],
          f"{backend}: ten toggled parts {values(ten['counts'])}, one {values(one['counts'])}")

# Counting is on from the start without --delay: only what is stopped is left out.
_, whole = stat("-e", "instructions:u", "--backend", "hw", "--", program, "region", "0", "1",
                inside=(tare, "run", "--"))
check(whole["counted"] == "whole" and whole["counts"][0]["value"] > 0, whole)

# A thread toggles; others run meanwhile and are not counted.
_, one = soft("-D", "-1", "--", program, "threads", "1000")
_, two = soft("-D", "-1", "--", program, "threads", "2000")
check(values(two["counts"])[1] - values(one["counts"])[1] == 1000, [one["counts"], two["counts"]])
check(values(one["counts"])[0] < 1000 * 10, one["counts"])

# ---- --control ----


class Fifos:
    """Two FIFOs, as paths and as descriptors that the command inherits."""
    def __enter__(self):
        self.dir = tempfile.mkdtemp()
        self.paths = [os.path.join(self.dir, n) for n in ("ctl", "ack")]
        for p in self.paths:
            os.mkfifo(p)
        self.fds = [os.open(p, os.O_RDWR) for p in self.paths]
        return self

    def __exit__(self, *_):
        for fd in self.fds:
            os.close(fd)
        shutil.rmtree(self.dir)


def controlled(how, *args, rounds=1000, pages=0):
    with Fifos() as f:
        ctl, ack = map(str, f.fds)
        spec = "fd:" + ",".join((ctl, ack)) if how == "fd" else "fifo:" + ",".join(f.paths)
        return stat(*args, "-D", "-1", "--control", spec, "--", program, "control", ctl, ack, str(rounds),
                    str(pages), pass_fds=f.fds)


counts = {}
for how in ("fd", "fifo"):
    for rounds in (1000, 3000):
        p, r = controlled(how, "--backend", "soft", "-e", "instructions:u,branches:u", rounds=rounds)
        check(p.returncode == 0 and r["control"] == {"on": 1, "off": 1} and r["counted"] == "parts", [p, r])
        check(r["counts"][0]["provenance"] == "exact", r["counts"])
        counts[how, rounds] = values(r["counts"])
check(counts["fd", 1000] == counts["fifo", 1000] and counts["fd", 3000] == counts["fifo", 3000], counts)
check(counts["fd", 3000][1] - counts["fd", 1000][1] == 2000, counts)
check(1000 < counts["fd", 1000][1] < 1200, counts)

# The kernel's events: as perf counts them.
refused = perf_refused(tare)
if refused:
    skipped("--control with the kernel's events", refused)
else:
    _, none = controlled("fd", "--backend", "hw", "-e", "page-faults:u")
    _, r = controlled("fd", "--backend", "hw", "-e", "page-faults:u", pages=300)
    faults = values(r["counts"])[0]
    check(faults - values(none["counts"])[0] == 300, [none["counts"], r["counts"]])
    perf = shutil.which("perf")
    if not perf or run(perf, "stat", "-e", "page-faults:u", "true").returncode:
        skipped("--control as perf has it", "perf is not installed or does not count")
    else:
        with Fifos() as f:
            ctl, ack = map(str, f.fds)
            p = run(perf, "stat", "-x", ",", "-e", "page-faults:u", "-D", "-1", "--control", f"fd:{ctl},{ack}",
                    "--", program, "control", ctl, ack, "1000", "300", pass_fds=f.fds)
            seen = re.search(r"^(\d+),,page-faults", p.stderr, re.M)
            check(seen and int(seen[1]) == faults, f"perf {p.stderr!r}, tare {faults}")

# Commands that are acked and change nothing, one that is unknown, events by name.
with Fifos() as f:
    os.write(f.fds[0], b"enable instructions:u\nevlist\nstop\nfoo\nenable nothing\n")
    p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u,branches:u", "-D", "-1", "--control",
            f"fd:{f.fds[0]},{f.fds[1]}", "--", "sh", "-c",
            "for i in 1 2 3 4; do read -r line <&%d; done; echo $line" % f.fds[1], pass_fds=f.fds)
    check(p.returncode == 0 and "instructions:u\nbranches:u\n" in p.stdout, p)
    check('2 commands were not understood, the first is "foo"' in p.stderr, p.stderr)
    check(re.search(r"\d+ +instructions:u +exact", p.stderr) and
          re.search(r"<not counted> +branches:u +counting was off", p.stderr), p.stderr)

# What cannot be: each message names the thing.
for args, message in ((("--control", "pipe:3"), 'fd:CTL[,ACK] or fifo:CTL[,ACK], not "pipe:3"'),
                      (("--control", "fd:x"), '"x" is not the number of a descriptor'),
                      (("--control", "fd:987"), "descriptor 987 is not open"),
                      (("--control", "fifo:/nowhere/fifo"), "/nowhere/fifo"),
                      (("--control", f"fifo:{program}"), "Text file busy|is not a FIFO|ermission"),
                      (("-D", "-2"), "-2"),
                      (("-D", "-1", "-p", "1"), "--control"),
                      (("--control", "fd:0", "--per-thread"), "--per-thread"),
                      (("--control", "fd:0", "--mix"), "--mix")):
    p = run(tare, "stat", *args, "true", stdin=subprocess.DEVNULL)
    check(p.returncode != 0 and (message in p.stderr or re.search(message, p.stderr)), [args, p])

finish()
