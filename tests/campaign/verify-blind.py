#!/usr/bin/env python3
"""tare verify against flaws that it cannot look up.

`tare run --flaws random:SEED` draws the flaws of a virtual PMU from the seed; --show-flaws prints them,
outside of the run. For each seed the verdicts must be what was planted: no miss, no false alarm, the
instructions and the register named, the width of the registers found. docs/flaws.md says where there may be no verdict: the
counters are taken away, or events are moved to and from a register that counts wrongly. verify opens no file that
could tell: inotify shows it inside of `tare run`, strace outside.

usage: verify-blind.py TARE [FIRST [LAST [CPU]]]; `make test-all` runs the seeds 1 to 100.
"""
import collections, ctypes, json, os, re, shutil, struct, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from cli import check, checking, finish, skipped  # noqa: E402

HOW = ["--quick", "-r", "5"] + [w for name in ("page-faults", "interrupts", "exceptions", "lazy-fp", "instructions",
                                               "serialisers", "migration", "threads", "contended", "iret")
                                for w in ("--experiment", name)]
HOW += ["--experiment", "registers", "--experiment", "wrap"]
RESULTS = collections.Counter()     # events, for the last line
CPUS = ["zen2", "skylake", "nehalem", "core2", "k10", "haswell", "zen4", "westmere", "icelake", "bobcat"]


def planted(tare, cpu, seed):
    out = subprocess.run([tare, "run", "--cpu", cpu, "--flaws", f"random:{seed}", "--show-flaws"],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)["planted"]


def verified(tare, cpu, seed, *args):
    p = subprocess.run([tare, "run", "--cpu", cpu, "--flaws", f"random:{seed}", "--seed", str(seed), "--",
                        tare, "verify", "-j", *args], capture_output=True, text=True)
    if not p.stdout:
        return p, None
    return p, json.loads(p.stdout)


def excuse(kinds, reason):
    """Why there may be no verdict, or None. The counters are taken away; an event is on the wrong register now
    and then, and nothing tells when; or the event is counted on the wrong register only; or what came before a locked
    instruction was counted again, and hardly ever has the event."""
    if "stolen" in kinds:
        return "stolen"
    if {"moved", "register"} <= kinds:
        return "moved and register"
    if "register" in kinds and "which counts wrongly" in reason:
        return "the only register"
    if "speclockmap" in kinds and "below the detection limit" in reason:
        return "speclockmap"
    return None


def letters_of(mine):
    """What Table 6 would have. An instruction that is drawn twice may come out even."""
    amounts = {}
    for f in mine:
        key = f["letter"] if f["cause"] != "instruction" else f["what"]
        amounts[key] = amounts.get(key, 0) + f["amount"]
    letters = {f["letter"] for f in mine if f["letter"] and f["cause"] != "instruction"}
    letters |= {"D" if amounts[f["what"]] > 0 else "M" for f in mine
                if f["cause"] == "instruction" and amounts[f["what"]]}
    return letters


def names(cause, what):
    """Names of groups end in cc: setcc. movsx has its widths in the name, which are not those of the string's
    movs."""
    if what == "movsx":
        return re.match("movs[bw][wlq] ", cause["instruction"] or "")
    return (what[:-2] if what.endswith("cc") else what.split()[0]) in (cause["instruction"] or "")


def check_event(what, event, flaws):
    name = event["event"].removesuffix(":u")
    kinds = {f["cause"] for f in flaws if not f["event"]}
    mine = [f for f in flaws if f["event"] == name]
    if event["verdict"] in ("not-available", "not-run"):
        return
    if event["verdict"] != "inconclusive":
        RESULTS["verdicts"] += 1
    else:
        why = excuse(kinds, event["reason"])
        RESULTS[f"inconclusive ({why})"] += 1
        check(why, *what, name, "inconclusive:", event["reason"], "planted:", mine)
        return
    if any(f["cause"] == "dead" for f in mine):
        check(event["verdict"] == "never-counts", *what, name, "is dead:", event["verdict"])
        return
    want, got = letters_of(mine), set(event["letters"])
    if "speclockmap" in kinds and "U" not in want:
        # the flaw of the whole PMU: whatever comes before a locked instruction may be counted again
        replayed = [c for c in event["causes"] if c["instruction"] == "locked instructions"]
        check(replayed or event["role"] != "instructions", *what, name, "counts nothing again", event["causes"][:4])
        got -= {"D"} if replayed and sum(c["letter"] == "D" for c in event["causes"]) == len(replayed) else set()
    check(got == want, *what, name, "found", "".join(sorted(got)) or "nothing", "planted",
          "".join(sorted(want)) or "nothing", [(f["cause"], f["what"], f["amount"]) for f in mine],
          [(c["letter"], c["amount"], c["instruction"]) for c in event["causes"]][:4])
    for f in mine:
        total = sum(g["amount"] for g in mine if g["what"] == f["what"])
        if f["cause"] == "instruction" and total:
            check(any(names(c, f["what"]) for c in event["causes"]), *what, name,
                  "does not name", f["what"], [c["instruction"] for c in event["causes"]][:8])


def is_noisy(flaws, name):
    """The same code does not count the same every time, so that a comparison may be inconclusive."""
    return any(f["cause"] in ("stolen", "moved", "register", "speclockmap", "contended") or
               f["event"] == name and f["letter"] in ("h", "U", "p") for f in flaws)


def amount_of(flaws, name, cause):
    """An event may have several codes, each with the same flaws."""
    codes = {f["code"] for f in flaws if f["event"] == name}
    return max((sum(f["amount"] for f in flaws if f["event"] == name and f["cause"] == cause and f["code"] == code)
                for code in codes), default=0)


def check_surroundings(what, finding, flaws):
    """Reads without a serialising instruction, moves to another CPU, more threads than CPUs."""
    cause = {"serialisers": "early-read", "migration": "migration", "threads": "switch"}.get(finding["experiment"])
    name = (finding["event"] or "").removesuffix(":u")
    if not cause or not name:
        return
    amount, numbers, verdict = amount_of(flaws, name, cause), finding["numbers"], finding["verdict"]
    if verdict == "info":
        check("not tried" in finding["text"] or is_noisy(flaws, name), *what, finding)
        return
    # (reads miss 1 to `amount` instructions: what they miss on average may be below the limit that is printed)
    below = cause == "early-read" and verdict == "good" and (1 + amount) / 2 < numbers["limit_events"]
    check((verdict != "good") == (amount != 0) or below, *what, "planted", cause, amount, finding)
    if not amount or verdict == "good":
        return
    if cause == "early-read":
        check(-amount <= numbers["none"] <= -1 and numbers["lfence"] == 0, *what, amount, finding)
    elif not is_noisy(flaws, name):
        got = numbers.get("per_switch") if cause == "switch" else (numbers["with"] - numbers["without"]) / 2
        check(got == amount, *what, amount, finding)


def check_contended(what, finding, flaws, roles):
    """Locked instructions that are counted again while another thread fights for the cache line."""
    if finding["experiment"] != "contended" or not finding["event"]:
        return
    name, verdict = finding["event"].removesuffix(":u"), finding["verdict"]
    kinds = {f["cause"] for f in flaws if not f["event"]}
    RESULTS["contended"] += "contended" in kinds and verdict == "bad"
    if verdict == "info":
        check(is_noisy(flaws, name), *what, finding)
    elif "contended" not in kinds:
        check(verdict == "good" or kinds & {"speclockmap", "stolen", "register"}, *what, finding)
    elif roles[finding["event"]] == "instructions":
        check(verdict == "bad", *what, "planted contended", finding)


def check_iret(what, finding, flaws):
    """Whether int 0x80 is counted when the kernel is entered, or with the iret."""
    rows = {f["event"] for f in flaws if f["role"] == "instructions"}
    name = next((r for r in sorted(rows) if r != "INST_RETIRED.ANY" and "PREC_DIST" not in r), None)
    if finding["experiment"] != "iret" or finding["event"] != "instructions:u" or "not known" in finding["text"]:
        return
    got = finding["numbers"]["entry"], finding["numbers"]["exit"]
    check(got == (amount_of(flaws, name, "entry"), amount_of(flaws, name, "iret")), *what, got, finding)


def check_registers(what, report, flaws):
    """Which register counts wrongly, and how wide they are."""
    planted = {f["cause"]: f for f in flaws if not f["event"]}
    if planted.keys() & {"stolen", "moved"}:
        return
    bad = {f["numbers"]["worst_register"] for f in report["findings"]
           if f["experiment"] == "registers" and f["verdict"] == "bad"}
    check(bad == ({planted["register"]["amount"]} if "register" in planted else set()), *what, "register", bad)
    bits = {f["numbers"].get("measured_width") for f in report["findings"]
            if f["experiment"] == "wrap" and f["verdict"] in ("bad", "caveat")}
    check(bits == ({planted["narrow"]["amount"]} if "narrow" in planted else set()), *what, "width", bits)


def check_seed(tare, cpu, seed, *args):
    """Whether something was planted."""
    flaws = planted(tare, cpu, seed)
    p, report = verified(tare, cpu, seed, *args)
    what = (f"{cpu} seed {seed}:",)
    lost = any(f["cause"] == "stolen" for f in flaws)
    check(report or (lost and "counter" in p.stderr), *what, "no report:", p.returncode, p.stderr)
    if not report:
        return bool(flaws)
    for event in report["events"]:
        check_event(what, event, flaws)
    roles = {e["event"]: e["role"] for e in report["events"]}
    for finding in report["findings"]:
        check_surroundings(what, finding, flaws)
        check_contended(what, finding, flaws, roles)
        check_iret(what, finding, flaws)
    check_registers(what, report, flaws)
    if not flaws:
        check(all(e["word"] in ("DETERMINISTIC", "–", "!") for e in report["events"]), *what, "is flawless")
    return bool(flaws)


# What the files that show a virtual CPU tell is what they tell on a real one.
PLAIN = {"cpuinfo", "modalias", "uevent", "interrupts", "perf_event_paranoid", "nmi_watchdog", "type", "rdpmc",
         "perf_event_mux_interval_ms", "mux_interval", "event", "umask", "edge", "inv", "cmask", "any", "pc",
         "max_precise", "pmu_name", "instructions", "branch-instructions"}


class Opened:
    """Which files in a folder are opened, by inotify: a program inside `tare run` cannot be traced."""

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for at, _, _ in os.walk(folder):
            check(self.libc.inotify_add_watch(self.fd, at.encode(), 0x20) >= 0, "inotify:", at)   # IN_OPEN

    def names(self):
        seen = set()
        while True:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                os.close(self.fd)
                return seen
            while data:
                _, mask, _, size = struct.unpack_from("iIII", data)
                check(not mask & 0x4000, "inotify lost events")                 # IN_Q_OVERFLOW
                if not mask & 0x40000000 and size:                              # IN_ISDIR
                    seen.add(data[16:16 + size].rstrip(b"\0").decode())
                data = data[16 + size:]


def opened_inside(tare, flaws, *command):
    """The virtual files that a command opens inside `tare run`."""
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.Popen([tare, "run", "--cpu", "zen2", "--flaws", flaws, "--", "sh", "-c",
                              'echo ready; read go; exec "$@"', "sh", *command], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "TMPDIR": folder, "XDG_STATE_HOME": folder})
        check(p.stdout.readline() == "ready\n", "tare run did not start")
        runs = [f for f in os.listdir(folder) if f.startswith("tare-run-")]
        check(len(runs) == 1, "the folder of the run", os.listdir(folder))
        opened = Opened(os.path.join(folder, runs[0]))
        out, err = p.communicate("go\n")
        check(p.returncode in (0, 2, 3) and out, command, p.returncode, err)
        return opened.names()


def check_files(tare):
    """What verify opens: inside `tare run` none of the files that tell what is planted, and elsewhere, where it
    runs the same code, nothing of the kind."""
    marker = "tare_simulated"
    told = opened_inside(tare, "random:3", "cat", "/sys/bus/event_source/devices/cpu/" + marker)
    check(told == {marker}, "inotify sees what is opened:", told)
    for flaws in "random:3", "interrupts,overcount", "":
        seen = opened_inside(tare, flaws, tare, "verify", "-j", "--quick", "-r", "1", "--kernel", "nops", "-e",
                             "instructions:u")
        check({"type", "interrupts"} <= seen <= PLAIN, flaws, "verify opens", sorted(seen - PLAIN), sorted(seen))
    if not shutil.which("strace"):
        skipped("the other files that verify opens", "no strace")
        return
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        p = subprocess.run(["strace", "-f", "-qq", "-s", "300", "-e", "trace=open,openat,openat2", "-o", log,
                            tare, "verify", "--backend", "hw", "--quick", "-r", "1", "--kernel", "nops"],
                           capture_output=True, text=True)
        check(p.returncode in (0, 1, 2, 3), "strace:", p.returncode, p.stderr)
        opened = set(re.findall(r'open[^"]*"([^"]*)"', open(log).read()))
    check(any("perf_event_paranoid" in f for f in opened), "strace saw nothing", sorted(opened)[:5])
    told = [f for f in opened if re.search(r"flaw|planted|tare.run|simulated|show", f)]
    check(not told, "verify opens", told)


def main():
    tare = os.path.abspath(sys.argv[1])
    first, last = (int(a) for a in (sys.argv[2:4] + ["1", "100"][len(sys.argv) - 2:])[:2])
    ill, wrong = 0, []
    for seed in range(first, last + 1):
        cpu = sys.argv[4] if len(sys.argv) > 4 else CPUS[seed % len(CPUS)]
        before = checking.bad
        ill += check_seed(tare, cpu, seed, *HOW)
        wrong += [f"{seed} ({cpu})"] if checking.bad > before else []
        print(f"seed {seed} ({cpu}){': wrong' if checking.bad > before else ''}", flush=True)
    check_files(tare)
    print(f"{last - first + 1} seeds, {ill} with flaws. Events:", ", ".join(f"{RESULTS[k]} {k}" for k in sorted(RESULTS)))
    print("wrong seeds:", ", ".join(wrong) or "none")
    finish()


if __name__ == "__main__":
    main()
