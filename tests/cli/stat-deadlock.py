#!/usr/bin/env python3
"""tare stat --hermetic: a program that deadlocks stays so, and is told so; nothing is left behind.
usage: stat-deadlock.py TARE PAGES HERMETIC-DEADLOCK"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time
from cli import check, check_schema, finish, run

tare, _, program = map(os.path.abspath, sys.argv[1:4])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)
# a name of its own, to be found among all processes
shutil.copy(program, f"dl{os.getpid()}")
program = os.path.abspath(f"dl{os.getpid()}")


def alive():
    found = []
    for p in os.listdir("/proc"):
        try:
            if p.isdigit() and os.readlink(f"/proc/{p}/exe").startswith(program) and " Z " not in open(f"/proc/{p}/stat").read():
                found.append(p)
        except OSError:
            pass
    return found


def left_behind():
    for _ in range(100):
        if not alive():
            return []
        time.sleep(0.1)
    return alive()


def stat(what, *options, **how):
    p = run(tare, "stat", "--hermetic", "-j", "-o", "r.json", "-e", "instructions:u", *options, "--", program, what,
            stdin=subprocess.DEVNULL, timeout=120, **how)
    r = json.load(open("r.json"))
    check_schema(r, "tare.stat-1")
    return p, r["world"]["hermetic"]["deadlock"]


HEX = "0x[0-9a-f]+"
for what, waits in (("mutexes", {(1000, 1000): "for thread 1001 to end",
                                 (1000, 1001): f"for a mutex at {HEX}, which thread 1002 holds",
                                 (1000, 1002): f"for a mutex at {HEX}, which thread 1001 holds"}),
                    ("condition", {(1000, 1000): "for thread 1001 to end", (1000, 1001): f"to be woken at the futex {HEX}"}),
                    ("pipes", {(1000, 1000): "for input at descriptor 5", (1001, 1001): "for input at descriptor 3"}),
                    ("own-pipe", {(1000, 1000): "for input at descriptor 3"}),
                    ("child", {(1000, 1000): "for a child process to end", (1001, 1001): "for input at descriptor 3"})):
    p, told = stat(what, "--timeout", "4000")
    check(p.returncode == 124, what, p.returncode)
    check({(k["pid"], k["tid"]) for k in told} == set(waits), what, told)
    check(all(re.fullmatch(waits[k["pid"], k["tid"]], k["waits"]) for k in told if (k["pid"], k["tid"]) in waits), what, told)
    check("deadlock: all tasks of the run wait for each other" in p.stderr, what, p.stderr)
    check(p.stderr.count(" waits ") == len(waits), what, p.stderr)
    check(not left_behind(), what, alive())

# What something from outside can end is none.
p, told = stat("signal", "--timeout", "3000")
check(p.returncode == 124 and not told and "deadlock" not in p.stderr, p.returncode, told, p.stderr)

# One that spins until another one has slept goes on; one that spins for ever is ended.
p, told = stat("spins")
check(p.returncode == 0 and p.stdout == "ended\n" and not told, p.returncode, p.stdout, told)
p, told = stat("spins-on", "--timeout", "1000")
check(p.returncode == 124 and not told, p.returncode, told)
p, told = stat("spins-on", "--limit", "instructions:u=50000000")
check(p.returncode == 123 and not told, p.returncode, p.stderr)
check(not left_behind(), alive())

# Ended from outside while it deadlocks, and while it spins: by Ctrl-C, or by SIGKILL of tare itself.
for what in ("pipes", "mutexes", "spins-on", "both-spin"):
    for sig in (signal.SIGINT, signal.SIGKILL):
        p = subprocess.Popen([tare, "stat", "--hermetic", "-e", "instructions:u", "--", program, what], start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if alive():
                break
            time.sleep(0.1)
        time.sleep(0.6)
        p.send_signal(sig)
        p.wait(60)
        check(not left_behind(), what, sig, alive())

shutil.rmtree(folder)
finish()
