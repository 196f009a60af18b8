#!/usr/bin/env python3
"""tare diverge: the place and the cause of planted differences. usage: diverge.py TARE PROGRAM..."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cli import check, check_schema, finish, run

tare = os.path.abspath(sys.argv[1])
programs = {os.path.basename(p).removeprefix("diverge-"): os.path.abspath(p) for p in sys.argv[2:]}
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)


def diverge(*args, status=1):
    p = run(tare, "diverge", "-j", "-o", "r.json", *args)
    check(p.returncode == status, args, p.returncode, p.stdout, p.stderr)
    if p.returncode not in (0, 1):
        return None
    r = json.load(open("r.json"))
    check_schema(r, "tare.diverge-1")
    return r


def names_of(place):
    return place["place"].split(" ")[0].split("+")[0]


def check_case(name, kind, *options, function="main", text="", tries=3):
    """The parting is in the function, and the cause is found, each time that two runs part. What comes at random (a signal, a
    thread) may part elsewhere, or not at all within the runs that were made: asked again then."""
    for left in reversed(range(tries)):
        p = run(tare, "diverge", "-j", "-o", "r.json", *options, "--", programs[name])
        r = json.load(open("r.json"))
        check_schema(r, "tare.diverge-1")
        check(r["found"] != "point" or r["cause"]["kind"] == kind, name, options, json.dumps(r, indent=1)[:6000])
        good = (p.returncode == 1 and r["found"] == "point" and r["cause"]["kind"] == kind and
                text in r["cause"]["text"] and
                (not function or function in (names_of(r["parting"]["last"]),
                                              *(names_of(s["at"]) for s in r["parting"]["sides"] if "at" in s))))
        if good or left == 0:
            check(good, name, options, p.returncode, json.dumps(r, indent=1)[:6000], p.stderr)
            return r
    return None


# Values that are followed through registers, flags, memory and calls of libc.
r = check_case("random", "random bytes", text="getrandom() gave other bytes")
check(r["parting"]["instructions"] > 600000, r["parting"])
check(names_of(r["parting"]["last"]) == "main", r["parting"])
check(any(f["name"] == "main" for f in r["functions"]), r["functions"])
check(sum(f["instructions"][1] - f["instructions"][0] for f in r["functions"]) == r["totals"][-1] - r["totals"][-2],
      r["functions"], r["totals"])
check_case("seeded", "random bytes", text="getrandom() gave other bytes")
check_case("stale", "random bytes", function="find", text="getrandom()")
r = check_case("pid", "process number", text="getpid() returned")
check(len(r["cause"]["steps"]) > 10, r["cause"])
check_case("clock", "time", text="vDSO")
check_case("tsc", "time", text="rdtsc")
check_case("decay", "time", function="", text="vDSO")
check_case("environment", "environment", "--vs-env", "TARE_ODD=" + "x" * 40, function="", text="TARE_ODD differs")
check_case("cpuid", "CPU", "--machine", "x86-64-v2", "--vs-machine", "x86-64-v3", function="")
check_case("address", "address", "--aslr", function="")
check_case("signal", "signal", function="", text="SIGALRM")
check_case("race", "another thread or process", text="another thread")
cpus = os.sched_getaffinity(0)
os.sched_setaffinity(0, [min(cpus)])  # the other thread seldom writes before this one reads
check_case("race", "another thread or process", text="another thread")
os.sched_setaffinity(0, cpus)
check_case("pipe", "short read", text="read of pipe:")

# A folder that changes all the time.
changing = os.path.join(folder, "changing")
os.mkdir(changing)
changer = subprocess.Popen([sys.executable, "-c", """
import os, random, sys
while True:
    for name in os.listdir('.'):
        os.unlink(name)
    for _ in range(random.randrange(3, 20)):
        open(''.join(random.choice('abcxyz') for _ in range(random.randrange(1, 12))), 'w').close()
"""], cwd=changing)
try:
    r = None
    for _ in range(5):
        p = run(tare, "diverge", "-j", "-o", "r.json", "--", programs["directory"], changing)
        r = json.load(open("r.json"))
        if p.returncode == 1 and r["found"] == "point" and r["cause"]["kind"] == "directory":
            break
    check(r["found"] == "point" and r["cause"]["kind"] == "directory", json.dumps(r, indent=1)[:6000])
finally:
    changer.kill()
    changer.wait()

# Commands of several processes: only the process that parts is stopped at each instruction, and it is the same one in
# both runs, whichever of them began first.
r = check_case("children", "outside", function="main", text="read of pipe:")
check(r["parting"]["is_thread"] is False and r["searched"] <= 3 * 100, r["searched"], r["parting"])
os.mkdir("grows")
# (SIGCHLD comes to the shell at another instruction, too. That is no cause: the way of the child is.)
for attempt in range(3):
    r = diverge("--", "sh", "-c", "touch grows/$$; ls -U grows | wc -c")
    check(r["found"] == "point" and r["cause"]["kind"] == "directory" and "getdents64" in r["cause"]["text"], json.dumps(r, indent=1)[:6000])
r = diverge("--", "sh", "-c", "ls | cat | wc -c & touch grows/$$; ls grows | wc -c & wait")
check(r["found"] == "point", json.dumps(r, indent=1)[:6000])
shutil.rmtree("grows")

# The same way in each run; where the arguments differ; only the place.
r = diverge("-r", "3", "--", programs["steady"], status=0)
check(r["found"] == "same" and len(set(r["totals"])) == 1 and r["runs"] == 3, r)
p = run(tare, "diverge", "-r", "2", "--", programs["steady"])
check(p.returncode == 0 and "2 runs, no two of which differ." in p.stdout, p.stdout, p.stderr)
r = diverge("--no-cause", "--", programs["random"])
check(r["found"] == "point" and r["cause"]["kind"] == "unknown" and not r["cause"]["steps"], r)
p = run(tare, "diverge", "--", programs["random"])
check(p.returncode == 1 and "They part after" in p.stdout and "random.c:1" in p.stdout and
      "Cause: random bytes: getrandom() gave other bytes" in p.stdout and "1 more" not in p.stderr, p.stdout, p.stderr)

# A long stack: its beginning is shown, and how much is left out.
r = check_case("recursion", "random bytes", function="below", text="getrandom()")
frames = min(len(side["stack"]) for side in r["parting"]["sides"])
check(frames > 30, frames)
p = run(tare, "diverge", "--", programs["recursion"])
lines = p.stdout.splitlines()
check(sum("called from" in line for line in lines) == 16 and sum("more callers (-j shows all)" in line for line in lines) == 2,
      p.stdout, p.stderr)

# What the command prints is thrown away, and its status is not tare's.
p = run(tare, "diverge", "-r", "2", "--", "sh", "-c", "echo $0-out; echo $0-err >&2; exit 7", "its")
check(p.returncode == 0 and "its-out" not in p.stdout + p.stderr and "its-err" not in p.stdout + p.stderr, p.returncode, p.stdout, p.stderr)

# Bad input.
for args, status, text in (
        ((), 125, "no command"),
        (("-r", "1", "--", "true"), 125, "-r"),
        (("--", "/nonexistent/program"), 127, "/nonexistent/program"),
        (("--machine", "pdp-11", "--", "true"), 125, "pdp-11"),
        (("--vs-machine", "pdp-11", "--", "true"), 125, "pdp-11"),
        (("--keep", "HOME", "--", "true"), 125, "--keep"),
        (("--vs", "a 'b", "--", "true"), 125, "--vs"),
        (("-o", "/nonexistent/r", "--", "true"), 125, "/nonexistent/r")):
    p = run(tare, "diverge", *args)
    check(p.returncode == status and text in p.stderr, args, p.returncode, p.stderr)
if os.path.exists("/dev/full"):
    p = run(tare, "diverge", "-o", "/dev/full", "-r", "2", "--", programs["steady"])
    check(p.returncode == 125 and "no two of which differ" in p.stderr, p.returncode, p.stderr)

# Ended from outside: nothing is left behind.
p = subprocess.Popen([tare, "diverge", "-r", "1000", "--", programs["signal"]], stdout=subprocess.DEVNULL)
time.sleep(0.5)
p.send_signal(signal.SIGTERM)
check(p.wait(60) == 143, p.returncode)
check(subprocess.run(["pgrep", "-f", programs["signal"]], stdout=subprocess.DEVNULL).returncode == 1, "left behind")
shutil.rmtree(folder)
finish()
