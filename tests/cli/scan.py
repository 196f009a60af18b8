#!/usr/bin/env python3
"""tare scan: finds the codes that count interrupts and page faults on virtual PMUs, goes on after a
kill, and refuses what cannot work.

usage: scan.py TARE
"""
import json, os, pty, re, shutil, signal, subprocess, sys, tempfile, time

from cli import check, check_schema, finish, need_engine, run, until

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="scan-test")
state = os.path.join(folder, "xdg", "tare", "scan.json")
env = {**os.environ, "XDG_STATE_HOME": os.path.join(folder, "xdg")}


def command(cpu, *args, flaws="interrupts=100000,faults"):
    return [tare, "run", "--cpu", cpu, "--flaws", flaws, "--", tare, "scan", *args]


def scan(cpu, *args, flaws="interrupts=100000,faults", status=0):
    p = run(*command(cpu, "-q", "-j", *args, flaws=flaws), env=env)
    check(p.returncode == status, cpu, args, p.returncode, p.stderr)
    if not p.stdout:
        return {"found": [], "plan": {}}
    doc = json.loads(p.stdout)
    check_schema(doc, "tare.scan-1")
    return doc


def events(doc):
    return {f["event"]: f for f in doc["found"]}


def zen():
    """As the report found it: 0x0420 counts interrupts and page faults, 0x002c interrupts."""
    some = "--codes", "0x00-0x3f"
    doc = scan("zen2", *some)
    found = events(doc)
    check("r0420:u" in found and "r002c:u" not in found and doc["found"][0]["event"] == "r0420:u", found.keys())
    check(doc["silent"] > 0 and doc["tried"] > 0x80, "no code is silent", doc["silent"], doc["tried"])
    f = found.get("r0420:u", {"counts": [], "exact": False, "is_excess": False, "trials": []})
    check(f["counts"] == ["page-faults", "interrupts"] and f["exact"] and f["is_excess"], f)
    check(all(t["count"] == t["excess"] for t in f["trials"]) and len(f["trials"]) == 6, f)
    found = events(scan("zen2", "--like", "interrupts", *some))
    proved = [e for e in found if found[e]["is_excess"]]	# there are codes that only come near
    check(proved == ["r0420:u", "r002c:u"] and len(found) > len(proved), found.keys())
    if "r002c:u" in found:
        check(found["r002c:u"]["counts"] == ["interrupts"] and found["r002c:u"]["is_excess"], found)
        check(found["r002c:u"]["name"] == "INTERRUPT_TAKEN", found)


def others():
    found = events(scan("skylake", "--like", "interrupts", "--codes", "0xc8-0xcf"))
    check([e for e in found if found[e]["is_excess"]] == ["r01cb:u"], found.keys())
    # another event, which is counted in user mode as the codes are, and a number; nothing of the kind
    for name in "instructions:u", "instructions", "cpu/event=0xc0/":
        found = events(scan("skylake", "--like", name, "--codes", "0xc0-0xc4", "--masks", "0", flaws=""))
        check("r00c0:u" in found and "r00c4:u" not in found, name, found.keys())
    found = events(scan("skylake", "--like", "400000", "--rounds", "100000", "--codes", "0xc0-0xc4", "--masks",
                        "0", flaws=""))
    check(found and "r00c0:u" in found, found)
    found = events(scan("skylake", "--like", "123456789", "--codes", "0xc0-0xc4", "--masks", "0", flaws="",
                        status=2))
    check(not found, found)


def plan():
    """What will be done is said first: codes, batches, time."""
    for cpu, bits, counters in ("zen2", 12, 6), ("k10", 12, 4), ("skylake", 8, 4):
        p = run(*command(cpu, "--dry-run", flaws=""), env=env)
        codes = 2 << bits	# the mask 0 and all bits
        check(p.returncode == 0 and not p.stdout, p.stderr)
        words = f"{codes:,} codes", f"0x0-{codes // 2 - 1:#x}", f"{-(-codes // counters):,} batches", f"{counters} at a"
        check(all(w in p.stderr for w in words), cpu, words, p.stderr)
    check(not os.path.exists(state), "a plan leaves no state")


def terminal():
    """Progress is shown on a terminal only."""
    args = command("zen2", "--codes", "0x10-0x3f")
    check("\r" not in run(*args, env=env).stderr)
    main, end = pty.openpty()
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=end, stdin=end, env=env)
    os.close(end)
    seen = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    p.communicate()
    os.close(main)
    check(p.returncode == 0 and re.search(rb"sweep: \d+ of 96 codes", seen), seen[-500:])


def slow():
    """A scan that does not end by itself before it has written its state."""
    return command("zen2", "--codes", "0-0xfff", "--masks", "0-0xff", "--rounds", "3000")


def resume():
    """Killed in the middle, a scan goes on where it was and finds the same."""
    whole = scan("zen2", "--codes", "0x00-0x3f")
    p = subprocess.Popen(slow(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                         start_new_session=True)
    until(lambda: os.path.exists(state) and json.load(open(state))["next"] > 0, "the state of a scan")
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate()
    saved = json.load(open(state))
    check(saved["schema"] == "tare.scan-state/1" and saved["tried"] == saved["next"] > 0, saved)
    # the same file as that of a short scan, half-way: it tries only the rest
    saved |= {"codes": [0x00, 0x3f], "masks": None, "rounds": 0, "next": 2 * 0x18, "tried": 2 * 0x18,
              "refused": 0, "silent": 0, "hits": []}
    with open(state, "w") as f:
        json.dump(saved, f)
    rest = scan("zen2", "--resume")
    check(events(rest).keys() == events(whole).keys() and "r0420:u" in events(rest), rest["found"])
    check(0x80 < rest["tried"] <= whole["tried"] and rest["silent"] < whole["silent"], rest["silent"], whole["silent"])
    check(not os.path.exists(state), "a scan that has ended leaves no state")
    # a signal ends it with its state, and says how to go on
    p = subprocess.Popen(slow(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
    until(lambda: os.path.exists(state), "the state of a scan")
    inner = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_scan(pid)]
    for pid in inner:
        os.kill(pid, signal.SIGINT)
    out, err = p.communicate(timeout=600)
    check(p.returncode == 130 and "--resume" in err and os.path.exists(state), p.returncode, err)
    # begun anew, it says that the former one is replaced
    p = run(*command("zen2", "--codes", "0x20", "--masks", "4"), env=env)
    check(p.returncode == 0 and "--resume" in p.stderr, p.stderr)


def is_scan(pid):
    """A process of this test's scan: not `tare run`, which has the same words."""
    try:
        # those of strangers are in any encoding
        words = open(f"/proc/{pid}/cmdline", errors="replace").read().split("\0")
        own = open(f"/proc/{pid}/environ", errors="replace").read()
    except OSError:
        return False
    return words[1:2] == ["scan"] and f"XDG_STATE_HOME={folder}/xdg" in own


def bad_input():
    p = run(tare, "scan", env=env)
    if p.returncode == 1:	# one clear error, and the way out
        check(len(p.stderr.splitlines()) == 2, p.stderr)
        check("PMU" not in p.stderr or "tare run -- tare scan" in p.stderr, p.stderr)
    for args, words in (["--codes", "0-0x1000"], ["0x1000", "12 bits"]), (["--masks", "0x100"], ["0x100", "8 bits"]), \
            (["--codes", "9-3"], ["0x9-0x3"]), (["--like", "none-such"], ["none-such"]), \
            (["--like", "12x"], ["12x"]), (["--like", "instructions,branches"], ["2 events"]), \
            (["--like", "instructions:k"], ["instructions:k leaves out user mode"]), \
            (["--like", "wall-time"], ["wall-time is no"]):
        p = run(*command("zen2", *args, flaws=""), env=env)
        check(p.returncode == 125 and all(w in p.stderr for w in words) and not p.stdout, args, p.returncode, p.stderr)
    for args, word in (["--codes", "x"], "'x'"), (["--masks", "1-"], "'1-'"), (["operand"], "operand"), \
            (["--rounds", "0"], '"0"'), (["--rounds", "18446744073709551615"], "18446744073709551615"), \
            (["--pages", "18446744073709551615"], "18446744073709551615"):
        p = run(tare, "scan", *args, env=env)
        check(p.returncode == 125 and word in p.stderr, args, p.stderr)
    # an event that cannot be counted here, or not beside a code: not that the kernel refused all codes
    for event, flaws in ("cycles", ""), ("instructions", "held=5"):
        p = run(*command("zen2", "--codes", "0xc0", "--like", event, flaws=flaws), env=env)
        check(p.returncode == 1 and event in p.stderr and not p.stdout, event, flaws, p.returncode, p.stderr)
    # all counters held by others
    p = run(*command("zen2", "--codes", "0x20", flaws="held"), env=env)
    check(p.returncode == 1 and "counter" in p.stderr, p.stderr)
    # the state file: none, damaged, of another CPU, of another scan
    p = run(*command("zen2", "--resume", "--state", folder + "/none"), env=env)
    check(p.returncode == 1 and "no scan to go on with" in p.stderr, p.stderr)
    good = {"schema": "tare.scan-state/1", "cpu": "x", "like": "page-faults", "codes": None, "masks": None,
            "rounds": 0, "pages": 0, "stage": 0, "next": 0, "tried": 0, "refused": 0, "silent": 0, "hits": []}
    file = folder + "/state"
    for text, word in ("", "state of a scan"), ("{", "damaged"), ("[]", "damaged"), \
            (json.dumps(good | {"stage": 9}), "damaged"), (json.dumps(good | {"hits": [[0, 1]]}), "damaged"), \
            (json.dumps(good), "another CPU"):
        with open(file, "w") as f:
            f.write(text)
        p = run(*command("zen2", "--resume", "--state", file), env=env)
        check(p.returncode == 1 and word in p.stderr, text, p.stderr)
    p = run(*command("zen2", "--codes", "0x20", "--masks", "4", "--state", "/nonexistent/state", "-o", "/nonexistent/x"), env=env)
    check(p.returncode == 125 and "/nonexistent/x" in p.stderr and "Looking" not in p.stderr, "before the scan", p.stderr)
    p = run(*command("zen2", "--codes", "0xc0", "--masks", "0", flaws=""), env=env)
    check("  1 code: " in p.stderr and " 1 batch of " in p.stderr and "1 code tried" in p.stdout, p.stdout, p.stderr)
    # counters that are taken away while a batch counts; where that is between two batches, none is missed
    taken = 0
    for ms in range(1, 7):
        p = run(*command("zen2", "-q", "--codes", "0x00-0x2f", flaws=f"interrupts=100000,faults,stolen={ms}"), env=env)
        if p.returncode == 1:
            taken += 1
            check("taken away" in p.stderr and not p.stdout, ms, p.stdout, p.stderr)
        else:
            check(p.returncode == 0 and "r0420:u  counts page faults and interrupts" in p.stdout, ms, p.stdout, p.stderr)
    check(taken, "no scan lost its counters")


try:
    zen()
    others()
    plan()
    terminal()
    resume()
    bad_input()
finally:
    shutil.rmtree(folder)
finish()
