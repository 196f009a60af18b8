#!/usr/bin/env python3
"""tare stat --hermetic is killed at any time: nothing is left of the run: no process, whatever it does or waits for, and
no file. usage: stat-killed.py TARE PAGES HERMETIC-TASKS [KILLS [SEED]]"""
import ctypes, os, random, shutil, signal, subprocess, sys, tempfile, time
from cli import check, finish
from checking import until

tare, _, tasks = map(os.path.abspath, sys.argv[1:4])
kills, seed = int((sys.argv[4:5] or [40])[0]), int((sys.argv[5:6] or [1])[0])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)
os.mkdir("tmp")
open("chain", "w").write('exec sh "$0"\n')
LOCKS = "import threading as t\na = t.Lock(); a.acquire()\nt.Thread(target=a.acquire).start()\na.acquire()"
FORKS = "for (;;) { my $p = fork; if (!$p) { exec 'sleep', '1000' if rand() < .5; sleep 1; exit } waitpid $p, 0 if rand() < .3 }"
COMMANDS = {
    "execs": ["sh", "chain"],
    "reads a pipe": ["cat"],
    "two that read": ["sh", "-c", "cat | cat"],
    "children that sleep": ["sh", "-c", "while :; do sleep 1000 & sleep 1000 & wait; done"],
    "children that exec": ["perl", "-e", FORKS],
    "pipes": ["sh", "-c", "while :; do cat /bin/ls | gzip | cat > /dev/null; done"],
    "threads": ["sh", "-c", f"while :; do {tasks} queue 8; done"],
    "processes": ["sh", "-c", f"while :; do {tasks} tree; done"],
    "a deadlock": ["python3", "-c", LOCKS],
    "ignores signals": ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1000; done"],
    "spins": ["sh", "-c", "while :; do :; done"],
}
PR_SET_CHILD_SUBREAPER = 36
# (who has lost its parent becomes a child of this process)
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
children = f"/proc/self/task/{os.getpid()}/children"
if not os.path.exists(children):
    print("/proc does not list children (CONFIG_PROC_CHILDREN)")
    sys.exit(77)


def left(besides):
    """Children of this process that have not ended, and where they stand."""
    found = []
    for pid in open(children).read().split():
        if int(pid) == besides:
            continue
        if os.waitpid(int(pid), os.WNOHANG)[0] == 0:
            found.append((pid, open(f"/proc/{pid}/cmdline").read(), open(f"/proc/{pid}/wchan").read()))
    return found


def kill_one(rnd, name, how, whole_group, reaped):
    """`reaped`: tare's zombie is gone before the run has to end without tare."""
    reader, writer = os.pipe()
    schedule = ["--schedule", str(rnd.randrange(1000))] if rnd.random() < 0.3 else []
    p = subprocess.Popen([tare, "stat", "--hermetic", *schedule, "--", *COMMANDS[name]], stdin=reader, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "TMPDIR": f"{folder}/tmp"})
    os.close(reader)
    time.sleep(rnd.choice([rnd.uniform(0, 0.03), rnd.uniform(0, 0.3), rnd.uniform(0, 1)]))
    (os.killpg if whole_group else os.kill)(p.pid, how)
    if reaped:
        p.wait()
    found = []

    def none_left():
        found[:] = left(p.pid)
        return not found
    until(none_left, ("nothing left of", name, how, whole_group, reaped, found), 60)
    for pid, _, _ in found:
        os.kill(int(pid), signal.SIGKILL)
    p.wait()
    os.close(writer)


rnd = random.Random(seed)
for i in range(kills):
    # most of all SIGKILL, of which tare learns nothing
    name = list(COMMANDS)[i % len(COMMANDS)]
    how = signal.SIGKILL if name == "ignores signals" else rnd.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGHUP])
    # (After an orderly end a command's children go on, as natively.)
    kill_one(rnd, name, how, how != signal.SIGKILL or rnd.random() < 0.3, rnd.random() < 0.6)
# (A folder that is being made when tare is killed has no keeper: the next run but for a while removes it.)
folders = [f for f in os.listdir("tmp") if len(os.listdir(f"tmp/{f}")) > 1]
check(not folders, folders)
shutil.rmtree(folder)
finish()
