#!/usr/bin/env python3
"""tare stat --hermetic: a run sees a still world, and its counts and output are the same every time.
usage: stat-hermetic.py TARE PAGES HERMETIC-SHOW HERMETIC-TASKS HERMETIC-TRACES"""
import json, os, py_compile, re, shutil, subprocess, sys, tempfile, time
from cli import check, check_schema, finish, run, skipped

tare, pages, show, tasks, traces = map(os.path.abspath, sys.argv[1:6])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)
os.mkdir("tmp")
os.environ["TMPDIR"] = os.path.abspath("tmp")
EVENTS = "instructions:u,branches:u,loads:u,stores:u"


def stat(*command, seed=None, options=(), provenance="exact", **how):
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("timeout", 200)
    p = run(tare, "stat", "-j", "-o", "r.json", "-e", EVENTS, "--hermetic" + (f"={seed}" if seed is not None else ""),
            *options, "--", *command, **how)
    check(p.returncode == 0 and os.path.exists("r.json"), command, p.returncode, p.stderr)
    r = json.load(open("r.json"))
    check_schema(r, "tare.stat-1")
    counts = [c["value"] for c in r["runs"][0]["counts"]]
    check(all(c["provenance"] == provenance for c in r["runs"][0]["counts"]), command, r["runs"][0]["counts"])
    return counts, p.stdout, r["world"]["hermetic"]["left"], r


def still(n, *command, left=(), **how):
    """n runs are the same, to the byte; the last one."""
    seen = {}
    for i in range(n):
        counts, out, said, r = stat(*command, **how)
        seen.setdefault((tuple(counts), out), []).append(i)
        check(said == list(left), command, said)
    check(len(seen) == 1, *command[:3], f"{len(seen)} results in {n} runs", [c for c, _ in seen], *[o for _, o in seen][:2])
    return counts, out, r


# One program sees all of it.
os.mkdir("work")
for name in "cab":
    open(f"work/{name}", "w").write(name)
counts, out, r = still(4, show, "work")
f = dict(line.split("=", 1) for line in out.splitlines() if "=" in line and not line.startswith((" ", "entry", "env", "child")))
check(f["pid"] == "1000" and f["ppid"] == "999" and f["tid"] == "1000" and f["self"] == "1000", f)
check(f["proc"] == "0" and f["kill"] == "0", f)
check(re.findall("child=(.*)", out) == ["1001 1001 1", "1002 1002 2"], re.findall("child=.*", out))
check(f["time"] == "1577836800" and f["slept"] == "5" and f["goes_on"] == "1", f)
check(f["uname"].startswith("Linux hermetic "), f["uname"])
check(re.findall("entry=(.*) ", out) == [".", "..", "a", "b", "c"], re.findall("entry=.*", out))
check(f["b"].split()[4] == "1577750400.000000000", f["b"])
new = [line.split("=")[1].split() for line in out.splitlines() if line.startswith("new=")]
check(len(new) == 2 and new[0][1] != new[1][1], "two files, two inode numbers", new)
check("1577836800" < new[0][4] < new[1][4], new)
check(re.findall("env=(.*)", out) == ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
                                      "LANG=C.UTF-8", "TZ=UTC", "PYTHONDONTWRITEBYTECODE=1"], re.findall("env=(.*)", out))
w = r["world"]
check(w["hermetic"]["seed"] == 0 and w["machine"]["name"] == "x86-64-v2", w)
check({"time", "random numbers", "process ids", "order of threads", "files", "host"} <= set(w["fixed"]), w)
check(set(w["left"]) == {"contents of files", "users and permissions"}, w)

# Its own environment, its files' times and the order in which they were made are of no concern.
os.environ["NOISE"] = "x" * 3000
for name in "abc":
    os.unlink(f"work/{name}")
for name in "bca":
    open(f"work/{name}", "w").write(name)
    os.utime(f"work/{name}", (time.time() - 1000, time.time() - 5000))
again = stat(show, "work")
check((again[0], again[1]) == (counts, out), "after the files were made again", again[0], counts)
listing = still(2, "ls", "-la", "work")
os.utime("work/a")
check(stat("ls", "-la", "work")[:2] == listing[:2], "ls -la after a file's time changed")

# A compiled module of Python is used if it belongs to its source (these two do not, but say so), and its time is the source's
# only where Python installs modules.
os.makedirs("lib/python3")
for where in ("lib/python3", "work"):
    open(f"{where}/module.py", "w").write("x = 'compiled'\n")
    os.utime(f"{where}/module.py", (1700000000, 1700000000))
    py_compile.compile(f"{where}/module.py")
    open(f"{where}/module.py", "w").write("x = 'source  '\n")
    os.utime(f"{where}/module.py", (1700000000, 1700000000))
MODULE = "import module, os, sys; print(module.x, os.stat(module.__file__).st_mtime); open(sys.argv[1], 'a').close(); " \
         "os.utime(module.__file__); print(os.stat(module.__file__).st_mtime < 1577836801)"
for where, want in (("lib/python3", "compiled 1700000000.0\nTrue\n"), ("work", "source   1577750400.0\nTrue\n")):
    path = os.path.abspath(where)
    _, out_of, _, _ = stat(sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r}); " + MODULE, f"{path}/module.py")
    check(out_of == want, where, out_of)
    os.unlink(f"{where}/module.py")
shutil.rmtree("work/__pycache__")

# Another seed: other random numbers, all else stays.
other = stat(show, "work", seed=7)
check(stat(show, "work", seed="0x7")[:2] == other[:2], "the same seed, written in another way")
differs = {a.split("=")[0] for a, b in zip(out.splitlines(), other[1].splitlines()) if a != b}
check({"random.auxv", "random.getrandom", "random.device", "random.rdrand", "random.rdseed", "mkstemp"} <= differs, differs)
check(not {"pid", "uname", "time", "slept", "entry", "env", "b", "statfs", "limit.3"} & differs, differs)

# --keep
kept = stat(show, "work", options=("--keep", "NOISE"))
check("env=NOISE=" in kept[1], kept[1][:500])

# Threads, also more of them than CPUs; processes; shared memory; timers and signals. With busy neighbours.
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
for command in (("queue", "2"), ("queue", "8"), ("atomics", "2"), ("atomics", "8"), ("tree",), ("shared",), ("race",), ("timers",), ("kill",),
                ("owners",), ("locks",), ("spinners",), ("senders",), ("meet", str(os.getpid())), ("wakes",), ("stops",)):
    # (What a process counted that was killed is not known.)
    counts, out, _ = still(4, tasks, *command, provenance="incomplete" if command in (("kill",), ("owners",)) else "exact")
    if command == ("tree",):
        check(sorted(out.strip()) == sorted("3" + "2" * 3 + "1" * 9 + "0" * 27), out)
    if command == ("shared",):
        check(out.startswith("shared 40 "), out)
    if command == ("timers",):
        for line in ("pause -1 after 7", "poll 0 after 4", "timerfd 8 1 after 3", "timerfd 8 3 after 9", "wait -1 1 after 1",
                     "wait 1001 300 after 60"):
            check(line in out.splitlines(), line, out)
    if command == ("kill",):
        check(out == "killed 1001 9\nkilled 1002 f\n", out)
    if command == ("owners",):
        check(out == "killed: owner died\n" * 3, out)
    if command == ("locks",):
        check(out == "a thread: owner died\na process: owner died\na killed one: owner died\nwhile one waits: owner died\n"
                     "count 800\ntry 1 wait 1 died 1\n", out)
    if command == ("spinners",):        # (They take turns at each pause. A turn that spins has 16 million instructions.)
        check(out == "spun 60\n" and counts[0] < 1000000, counts, out)
    if command == ("senders",):
        check(out == "signal 10 from 1001\nsignal 17 from 1001\nhello from 1001\nagain from 1001\n", out)
    if command[0] == "meet":
        check(out.startswith("FIFO 4\nFIFO 4\n") and sorted(out.split("caller ")[1:]) == [f"{i}\n" for i in range(4)], out)
    if command == ("wakes",):
        check(out == "lockf 0 after 0.1\ninotify 1 after 0.1\nepoll 1 after 0.1\nanswers after 0.0\n", out)
    if command == ("stops",):
        check(out == "status 147f\nstatus ffff\non\nstatus 137f\nstatus ffff\nblocked\nstatus 157f\nstatus ffff\nnot stopped\n"
                     "status 700\nworked\nstatus 800 after 100003\nstatus 147f, then 0\nstatus f\n", out)
# Two children that end at the same time send one signal or two.
still(20, tasks, "children")
still(20, "sh", "-c", "true | cat")
# The end of a child, which sends SIGCHLD, comes while its last answer is awaited.
_, out, _ = still(3, "sh", "-c", """mkfifo p q
(for i in 1 2 3 4 5; do read x < p; echo $x-$x > q; done) &
for i in 1 2 3 4 5; do echo $i > p; read y < q; echo $y; done
wait; rm p q""")
check(out == "1-1\n2-2\n3-3\n4-4\n5-5\n", out)
# A shell's jobs.
_, out, _ = still(3, "bash", "-c", """set -m; sleep 100 & kill -TSTP %1; sleep 1; jobs; bg %1; kill %1; wait %1; echo $?
cat <(sleep 1; echo cat) & kill -STOP %%; sleep 1; jobs; kill -CONT %%; wait %%
(kill -STOP $BASHPID; echo goes on) & sleep 1; kill -CONT %%; wait; exit 0""")
check([line.split()[0] for line in out.splitlines()] == ["[1]+", "[1]+", "143", "[1]+", "cat", "goes"], out)
# What the command leaves behind is counted until the command ends: its counts are not those of the whole, but the same.
still(10, tasks, "left", provenance="incomplete")
for b in busy:
    b.kill()
    b.wait()

# Numbers that the kernel counts for all processes of the host; random bytes that never are in the program's memory.
counts, out, _ = still(3, tasks, "renames")
check(re.fullmatch(r"from 1\nto 1\nfrom 2\nto 2\n[0-9a-f]{32} /proc/1000/fd\n", out), out)
check(stat(tasks, "renames", seed=3)[1] != out, "the same random bytes with another seed")

counts, out, _ = still(2, tasks, "system-v")
check(out == "shm 1000 1001 1577836800 1577836800 1\nmsg 1001 0 1577836800 0\nsem 1001 1577836800\n", out)

# What shows the host, and temporary names that are not free, are named.
_, _, left, _ = stat("cat", "/proc/self/sched")
check(left == ["a file of /proc or /sys showed what the host does"], left)
# So is a lock that a program outside of the run holds; one of the run's own is not.
TRY = """use Fcntl qw(:flock :DEFAULT); open(F, '+>', $ARGV[0]); my $l = pack('s s l! l! l', F_WRLCK, 0, 0, 0, 0);
print flock(F, LOCK_EX | LOCK_NB) ? 'got' : 'held', fcntl(F, F_SETLK, $l) ? ' got' : ' held', "\\n";"""
INSIDE = "open(F, '>', $ARGV[0]); flock(F, 2); system('perl', '-e', $ARGV[1], $ARGV[0]);"
for holds, said in ("flock", "held got\n"), ("lockf", "got held\n"):
    holder = subprocess.Popen([sys.executable, "-c", f"import fcntl; f = open('locked', 'w'); fcntl.{holds}(f, fcntl.LOCK_EX); "
                               "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    _, out, left, _ = stat("perl", "-e", TRY, "locked")
    check(out == said and left == ["a file was locked by a program outside of the run"], holds, out, left)
    holder.communicate(b"\n")
_, out, left, _ = stat("perl", "-e", INSIDE, "locked", TRY)
check(out == "held got\n" and left == [], out, left)
for expected in [], ["the name of a new file was taken by a file that was there"]:
    _, _, left, _ = stat("perl", "-e", "use Fcntl; sysopen(F, 'taken', O_CREAT | O_EXCL | O_WRONLY) for 1 .. 2")
    check(left == expected, left)

# Other orders: a race that the first order does not show is found, and then shown every time.
check(stat(tasks, "seldom")[1] == "race 0\n", "the first order shows the race")
found = None
for schedule in range(1, 101):
    if "seen" in stat(tasks, "seldom", options=("--schedule", str(schedule)))[1]:
        found = schedule
        break
check(found, "no order of 100 shows the race")
if found:
    counts, out, r = still(3, tasks, "seldom", options=("--schedule", str(found)))
    check("seen" in out and r["world"]["hermetic"]["schedule"] == found, out, r["world"])
for command in (("queue", "8"), ("atomics", "8"), ("tree",)):
    still(2, tasks, *command, options=("--schedule", "5"))
check(len({stat(tasks, "queue", "8", options=("--schedule", str(s)))[1] for s in range(4)}) > 1, "all orders are the same")

# A child whose counts are left out is in the same world.
still(2, "sh", "-c", "echo $$; date; sh -c 'echo $$'", options=("--no-inherit",))

# Input from a pipe that comes in pieces.
results = set()
for pieces in (1, 7):
    p = subprocess.Popen([sys.executable, "-c", f"""
import sys, time
for i in range({pieces}):
    sys.stdout.write("a line of text\\n" * (4200 // {pieces})); sys.stdout.flush(); time.sleep(0.02)
"""], stdout=subprocess.PIPE)
    r = stat("sh", "-c", "read a; dd bs=4096 2>&1 | cksum; wc -c", stdin=p.stdout)
    results.add((tuple(r[0]), r[1]))
    p.wait()
check(len(results) == 1, "input in pieces", results)

# Programs that people use, where they are.
PROGRAMS = {
    "python3": ["-c", "import os, time, random, uuid, tempfile; print(hash('a'), {'x', 'y', 'z'}, os.getpid(), time.time(), "
                "random.random(), uuid.uuid4(), tempfile.mktemp()); time.sleep(3); print(time.time())"],
    "perl": ["-e", "my %h = map { $_ => 1 } 1 .. 30; print join(' ', keys %h), ' ', time, ' ', $$, ' ', rand(), \"\\n\""],
    "node": ["-e", "console.log(Math.random(), Date.now(), process.pid)"],
    "bash": ["-c", "echo $RANDOM $$; cat <(echo a) <(echo b); sleep 2; date +%s; (sleep 1; echo late) & echo early; wait; mktemp -u"],
    "xz": ["-T2", "-1", "-k", "-c", "--block-size=64KiB", "input"],
    "sqlite3": [":memory:", "create table a(x); insert into a values(random()), (random()); select * from a"],
}
open("input", "w").write("".join(f"line {i * i}\n" for i in range(40000)))
for name, arguments in PROGRAMS.items():
    if not shutil.which(name):
        skipped(name, "it is not installed")
        continue
    how = {} if name != "xz" else {"stdin": subprocess.DEVNULL}
    if name == "xz":
        _, out, _ = still(3, "sh", "-c", "xz " + " ".join(arguments[:-1]) + " input | cksum")
    else:
        _, out, _ = still(3, name, *arguments)
    if name in ("python3", "perl", "sqlite3", "node"):
        check(stat(name, *arguments, seed=1)[1] != out, name, "prints the same with another seed", out)

if shutil.which("make") and shutil.which("cc"):
    os.mkdir("project")
    names = [f"m{i}" for i in range(5)]
    for name in names:
        open(f"project/{name}.c", "w").write(f"#include <stdio.h>\nint f_{name}(void) {{ return printf(\"{name}\\n\"); }}\n")
    open("project/main.c", "w").write("int f_m0(void); int main(void) { return f_m0() < 0; }\n")
    objects = " ".join(f"{n}.o" for n in names + ["main"])
    open("project/Makefile", "w").write(f"program: {objects}\n\tcc -o $@ {objects}\n%.o: %.c\n\tcc -O1 -c $<\n")
    build = ("sh", "-c", "cd project; rm -f *.o program; make -s -j4 && ./program && cksum *.o program")
    stat(*build)                                # so that all runs find the files of a run before them
    still(3, *build)
else:
    skipped("make -j4", "make or cc is not installed")

if shutil.which("rustc"):
    open("hash.rs", "w").write("""
use std::collections::HashMap;
fn main() {
    let m: HashMap<u32, u32> = (0..100).map(|i| (i, i * i)).collect();
    let t: Vec<_> = (0..4).map(|i| std::thread::spawn(move || i * 2)).collect();
    println!("{:?}", m.iter().take(5).collect::<Vec<_>>());
    println!("{:?}", t.into_iter().map(|t| t.join().unwrap()).collect::<Vec<i32>>());
}
""")
    if run("rustc", "-O", "-o", "hash", "hash.rs").returncode == 0:
        _, out, _ = still(4, "./hash")
        check(stat("./hash", seed=1)[1] != out, "a HashMap with another seed", out)
    else:
        skipped("rustc", "it does not compile")
else:
    skipped("rustc", "it is not installed")

# A file that others may write to is named.
if shutil.which("python3"):
    r = stat("python3", "-c", "import mmap; f = open('input', 'r+'); m = mmap.mmap(f.fileno(), 0); print(m[:4])")
    check(r[2] == ["a file was mapped that others may write to"], r[2])
    p = run(tare, "stat", "--hermetic", "-e", "instructions:u", "--", "python3", "-c",
            "import mmap; f = open('input', 'r+'); m = mmap.mmap(f.fileno(), 0)")
    check("Another run may differ: a file was mapped that others may write to." in p.stderr, p.stderr)
    check("world: hermetic, seed 0, machine x86-64-v2" in p.stderr, p.stderr)

# With a machine of the caller's choice.
r = stat("true", options=("--machine", "x86-64-v2,cpus=3"))[3]
check(r["world"]["machine"]["cpus"] == 3, r["world"])

# What is refused.
for options, words in ((("--hermetic=abc",), ["seed \"abc\" is no number", "write it as 42"]),
                       (("--hermetic=-1",), ["is no number"]),
                       (("--hermetic=18446744073709551616",), ["is no number"]),
                       (("--hermetic", "--backend", "hw"), ["--hermetic wants the software engine", "--backend hw"])):
    p = run(tare, "stat", *options, "--", "true")
    check(p.returncode != 0 and all(w in p.stderr for w in words), options, p.returncode, p.stderr)
p = run(tare, "stat", "--schedule", "1", "--", "true")
check(p.returncode != 0 and "--schedule wants --hermetic" in p.stderr, p.stderr)
p = run(tare, "stat", "--hermetic", "-p", str(os.getpid()))
check(p.returncode != 0 and "a process that runs already" in p.stderr, p.stderr)

for command in ("run", "record", "verify"):
    for option in ("--hermetic", "--hermetic=3", "--schedule=3"):
        p = run(tare, command, option, "--", "true")
        check(p.returncode == 125 and f"{command}: {option.split('=')[0]}: " in p.stderr and "tare stat --hermetic" in p.stderr,
              command, p.returncode, p.stderr)

# compare does not mix worlds.
def result(name, *options):
    run(tare, "stat", "-j", "-o", name, "-e", "instructions:u", *options, "--", "true")


result("zero.json", "--hermetic")
result("zero2.json", "--hermetic=0")
result("seven.json", "--hermetic=7")
result("host.json", "--machine", "x86-64-v2", "--clean-env")
check(run(tare, "compare", "zero.json", "zero2.json").returncode == 0, "the same world")
result("schedule.json", "--hermetic", "--schedule", "1")
for other in ("seven.json", "host.json", "schedule.json"):
    p = run(tare, "compare", "zero.json", other)
    check(p.returncode != 0 and "still world of seed 0" in p.stdout + p.stderr, other, p.returncode, p.stdout, p.stderr)

# Tracers: a task that they stop in the middle of its turn lends it to them.
counts, out, r = still(4, traces)
check(out == "stops=11 signals=1417171 end=300\nstops=1 signals=6 end=6\nattached=5 end=f\nattached=5 end=f\n", out)
counts, out, left, r = stat(traces, "native", provenance="incomplete")
check(out == "makes=2 ends=502\n" and left == ["a process ran without the engine"], out, left)
for name, command, text in (("strace", ("strace", "-f", "-o", "traced", "sh", "-c", "/bin/true; exit 5"), ""),
                            ("strace", ("sh", "-c", "sleep 3 & p=$!; sleep 1; strace -o traced -p $p; wait; exit 5"), None),
                            ("gdb", ("gdb", "-batch", "-ex", "run", "--args", "sh", "-c", "/bin/true; exit 5"), "exited with code 05")):
    if not shutil.which(name):
        skipped(name, "it is not installed")
        continue
    p = run(tare, "stat", "--hermetic", "-o", "traced.txt", "--", *command, stdin=subprocess.DEVNULL, timeout=200)
    if text is None:                    # a counted process that waits
        check(p.returncode == 5 and "Operation not permitted" in p.stderr, command, p.returncode, p.stderr)
        continue
    check(p.returncode == (5 if name == "strace" else 0) and text in p.stdout, command, p.returncode, p.stdout, p.stderr)
    check("a process ran without the engine" in open("traced.txt").read(), command)

# annotate
p = run(tare, "annotate", "--hermetic=3", "-e", "instructions:u", "-o", "p.json", "--", show, "work")
q = run(tare, "annotate", "--hermetic=3", "-e", "instructions:u", "-o", "q.json", "--", show, "work")
check(p.returncode == 0 and p.stdout == q.stdout, p.stderr)

shutil.rmtree(folder)
finish()
