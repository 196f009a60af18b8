#!/usr/bin/env python3
"""tare-callgrind: callgrind's options, files and messages. usage: callgrind.py TARE PAGES"""
import glob, json, os, re, shutil, stat as stat_of, subprocess, sys, tempfile
from cli import check, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)
folder = tempfile.TemporaryDirectory(prefix="tare-")
callgrind = f"{folder.name}/tare-callgrind"
os.symlink(os.path.abspath(tare), callgrind)
here = folder.name


def collected(text):
    return [int(n) for n in re.search(r"Collected :((?: \d+)+)", text)[1].split()]


def totals(path):
    return [int(n) for n in re.search(r"^totals: (.*)$", open(path).read(), re.M)[1].split()]


# A program without any surprises: the count is that of tare stat.
p = run(callgrind, "--tool=callgrind", f"--callgrind-out-file={here}/out.%p", "--dump-instr=yes", "-q", "/bin/true")
check(p.returncode == 0 and not p.stderr, p.stderr)
(path,) = glob.glob(f"{here}/out.*")
text = open(path).read()
check(re.match(r"# callgrind format\nversion: 1\ncreator: tare-callgrind-", text), text[:200])
check("\npositions: instr line\nevents: Ir\n" in text and f"\npid: {path.rsplit('.')[-1]}\n" in text, text[:300])
stat = json.loads(run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "-j", "-o", "-", "/bin/true").stdout)
check(totals(path) == [stat["runs"][0]["counts"][0]["value"]], totals(path), stat["runs"][0]["counts"])
# What lines and instructions counted themselves adds up to the total. (Behind calls= stand inclusive values.)
lines, own, skip = text.splitlines(), 0, False
for line in lines:
    if re.match(r"0x[0-9a-f]+ \d+ \d+", line) and not skip:
        own += int(line.split()[2])
    skip = line.startswith("calls=")
check(own == totals(path)[0], own, totals(path))

# A still world: the same file each time.
files = set()
for i in range(3):
    p = run(callgrind, "--hermetic=5", "--schedule=2", f"--callgrind-out-file={here}/still{i}", "/bin/sh", "-c", "echo $$; date")
    check(p.returncode == 0 and p.stdout.startswith("1000\n"), p.stdout, p.stderr)
    check("world: hermetic, seed 5, schedule 2, machine x86-64-v2" in p.stderr, p.stderr)
    files.add("".join(l for l in open(f"{here}/still{i}") if not l.startswith("pid:")))
check(len(files) == 1, "three files differ")
p = run(callgrind, "--schedule=2", "/bin/true")
check(p.returncode != 0 and "hermetic" in p.stderr, p.stderr)
p = run(callgrind, "--machine=no-such", "/bin/true")
check(p.returncode != 0 and "no-such" in p.stderr, p.stderr)

# Simulated caches, where there is a disassembler.
p = run(callgrind, "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64",
        f"--callgrind-out-file={here}/sim", "/bin/true")
accesses = "needs Zydis" not in p.stderr
if not accesses:
    check(p.returncode == 125, p.returncode)
else:
    check(p.returncode == 0 and collected(p.stderr) == totals(f"{here}/sim"), p.stderr)
    ir, dr, dw, i1mr, d1mr, d1mw, ilmr, dlmr, dlmw = totals(f"{here}/sim")
    check(ir == totals(path)[0], ir, "Ir changes with the simulation")
    check(dr > dw > 0 and dr > d1mr >= dlmr > 0 and dw > d1mw >= dlmw and i1mr >= ilmr > 0, totals(f"{here}/sim"))
    check("\ndesc: LL cache: 1048576 B, 64 B, 16-way associative\n" in open(f"{here}/sim").read(), "desc")
    again = run(callgrind, "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64",
                f"--callgrind-out-file={here}/sim2", "/bin/true")
    check(totals(f"{here}/sim2") == totals(f"{here}/sim"), "another simulation gives other counts")

# Children.
script = "/bin/true; /bin/true"
run(callgrind, f"--callgrind-out-file={here}/alone.%p", "-q", "sh", "-c", script)
check(len(glob.glob(f"{here}/alone.*")) == 1, glob.glob(f"{here}/alone.*"))
run(callgrind, "--trace-children=yes", f"--callgrind-out-file={here}/tree.%p", "-q", "sh", "-c", script)
check(len(glob.glob(f"{here}/tree.*")) == 3, glob.glob(f"{here}/tree.*"))

# The program's own status, its log, its name in the environment.
p = run(callgrind, f"--callgrind-out-file={here}/%q{{NAME}}", f"--log-file={here}/log", "sh", "-c", "exit 7",
        env={**os.environ, "NAME": "named"})
check(p.returncode == 7 and not p.stderr and os.path.exists(f"{here}/named") and "Collected :" in open(f"{here}/log").read(),
      p.returncode, p.stderr)
check(re.match(r"valgrind-\d+\.\d+\.\d+ \(tare-callgrind ", run(callgrind, "--version").stdout), "--version")
check("usage: tare-callgrind" in run(callgrind, "--help").stdout, "--help")

# Requests of the program.
cc = shutil.which("cc")
if cc and os.path.exists("/usr/include/valgrind/callgrind.h"):
    with open(f"{here}/p.c", "w") as f:
        f.write("""
#include <valgrind/callgrind.h>
static __attribute__((noinline)) void work(int n) { for (volatile int i = 0; i < n; i++) {} }
int main(void)
{
	CALLGRIND_DUMP_STATS_AT("start");
	work(1000); CALLGRIND_DUMP_STATS_AT("one");
	work(2000); CALLGRIND_DUMP_STATS_AT("two");
	work(3000); CALLGRIND_DUMP_STATS_AT("three");
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_TOGGLE_COLLECT; work(4000); CALLGRIND_TOGGLE_COLLECT;
	return RUNNING_ON_VALGRIND;
}
""")
    subprocess.run([cc, "-g", "-O1", "-o", f"{here}/p", f"{here}/p.c"], check=True)
    p = run(callgrind, "-q", f"--callgrind-out-file={here}/parts", f"{here}/p")
    check(p.returncode == 1, p.returncode, "RUNNING_ON_VALGRIND")
    one, two, three = (totals(f"{here}/parts.{i}")[0] for i in (2, 3, 4))
    check(three - two == two - one > 1000 and "Client Request: three" in open(f"{here}/parts.4").read(), one, two, three)
    run(callgrind, "-q", "--collect-atstart=no", f"--callgrind-out-file={here}/collected", f"{here}/p")
    four = totals(f"{here}/collected")[0]
    # (the requests around it are of another kind, and a few instructions longer)
    check(abs(four - three - (three - two)) < 32, one, two, three, four)
    run(callgrind, "-q", "--instr-atstart=no", "--collect-atstart=no", f"--callgrind-out-file={here}/both", f"{here}/p")
    check(totals(f"{here}/both")[0] == four, totals(f"{here}/both"), four)

    # Dumps and threads in one file, with names in full: the same parts as in files of their own.
    with open(f"{here}/t.c", "w") as f:
        f.write("""
#include <pthread.h>
#include <valgrind/callgrind.h>
static __attribute__((noinline)) void work(int n) { for (volatile int i = 0; i < n; i++) {} }
static void *thread(void *n) { work(*(int *)n); return 0; }
static pthread_barrier_t both;
static void *beside(void *n)
{
	work(3000);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return n;
}
int main(int argc, char **argv)
{
	pthread_t t[2], third;
	int n[2] = { 100, 200 };
	work(10);
	for (int i = 0; i < 2; i++) {
		pthread_create(&t[i], 0, thread, &n[i]);
		pthread_join(t[i], 0);
	}
	if (argc > 2) {
		pthread_barrier_init(&both, 0, 2);
		pthread_create(&third, 0, beside, 0);
		pthread_barrier_wait(&both);
	}
	if (argc > 1)
		CALLGRIND_ZERO_STATS;
	else
		CALLGRIND_DUMP_STATS_AT("first");
	if (argc > 2) {
		pthread_barrier_wait(&both);
		pthread_join(third, 0);
	}
	work(20);
	return 0;
}
""")
    subprocess.run([cc, "-g", "-O1", "-pthread", "-o", f"{here}/t", f"{here}/t.c"], check=True)

    def parts_of(text):
        """The parts of a file or more: what they say and what counted, without the numbers of names."""
        names, parts, head = {}, [], True
        for line in text.splitlines():
            key, _, value = line.partition("=")
            kind = {"cob": "ob", "cfn": "fn"}.get(key, key if key in ("ob", "fn") else "fl" if key[:2] in ("fl", "fi", "fe", "cf") else "")
            if kind and value.startswith("("):
                number, _, name = value.partition(" ")
                line = f"{key}={names.setdefault((len(parts), kind, number), name)}"
            head = line.startswith("# callgrind format") or (head and not line.startswith("part: "))
            if line.startswith("part: "):
                parts.append([])
            if line and not head:
                parts[-1].append(line)
        return sorted(parts)

    def written(*options, arguments=()):
        for old in glob.glob(f"{here}/one*"):
            os.remove(old)
        p = run(callgrind, "--hermetic", f"--callgrind-out-file={here}/one", *options, f"{here}/t", *arguments)
        check(p.returncode == 0, options, p.stderr)
        return sorted(glob.glob(f"{here}/one*")), collected(p.stderr), p.stderr

    for threads in (), ("--separate-threads=yes",):
        paths, sum_of_all, _ = written(*threads)
        check(len(paths) == (6 if threads else 2) and sum_of_all == [sum(totals(p)[0] for p in paths)], paths, sum_of_all)
        apart = parts_of("".join(open(p).read() for p in paths))
        check([[l for l in p if l.startswith("thread: ")] for p in apart] ==
              [[f"thread: {n}"] if threads else [] for part in (1, 2) for n in (range(1, 4) if threads else [0])], apart)
        (path,), sum_of_one, _ = written(*threads, "--combine-dumps=yes", "--compress-strings=no")
        text = open(path).read()
        check(parts_of(text) == apart and sum_of_one == sum_of_all and "=(" not in text.replace("=(below main)", ""), path)
        check(text.count("# callgrind format") == 1 and text.count("\nevents: Ir\n") == len(apart), text[:300])
        plain, *_ = written(*threads, "--compress-strings=no")
        check(parts_of("".join(open(p).read() for p in plain)) == apart, plain)

    # A zero forgets what all threads have counted, or what its own has.
    paths, sum_of_all, _ = written(arguments=["zero"])
    check(len(paths) == 1 and totals(paths[0]) == sum_of_all and not re.search(r"^c?fn=.* thread$", open(paths[0]).read(), re.M), paths)
    own, sum_of_threads, _ = written("--separate-threads=yes", arguments=["zero"])
    check(len(own) == 3 and totals(own[0]) == sum_of_all and all(totals(p)[0] > 100 for p in own[1:]), own, sum_of_all)
    # The same of simulated counts: no more data is used than instructions ran.
    if accesses:
        sim = "--cache-sim=yes"
        whole = totals(written(sim, arguments=["zero"])[0][0])
        own = [totals(p) for p in written(sim, "--separate-threads=yes", arguments=["zero"])[0]]
        check(own[0] == whole and all(n[0] > n[1] > n[2] > 50 for n in own), own, whole)
        own = [totals(p) for p in written(sim, "--separate-threads=yes", arguments=["zero", "beside"])[0]]
        check(len(own) == 4 and all(n[0] > n[1] > n[2] > 50 for n in own) and own[3][2] > 3000 > own[0][2], own)

# The command lines of harnesses: what they ask for beside the counts is left out, and the log says so.
p = run(callgrind, "-q", "--tool=callgrind", "--trace-children=yes", "--instr-atstart=yes", "--collect-systime=nsec",
        "--compress-strings=no", "--combine-dumps=yes", "--dump-line=no", "--read-inline-info=yes", "--obj-skip=/bin/bash",
        "--trace-children-skip=*esbuild", f"--callgrind-out-file={here}/%p.speed", f"--log-file={here}/speed.log", "/bin/true", "argument")
(path,) = glob.glob(f"{here}/*.speed")
check(p.returncode == 0 and not p.stderr and "=(" not in open(path).read().replace("=(below main)", ""), p.stderr)
log = open(f"{here}/speed.log").read()
check(re.search(r"^==\d+== --collect-systime=nsec: left out: ", log, re.M) and "--obj-skip=/bin/bash: left out" in log and
      len(log.splitlines()) == 2, log)
p = run(callgrind, "--dump-instr=yes", "--collect-systime=yes", "--collect-bus=no", f"--callgrind-out-file={here}/systime", "/bin/true", "a", "b c")
check(p.returncode == 0 and "--collect-systime=yes: left out" in p.stderr and "collect-bus" not in p.stderr, p.stderr)
check("== Command: /bin/true a b c\n" in p.stderr, p.stderr)

# What is not done, or wrong.
for option, words in (("--tool=memcheck", "callgrind only"), ("--branch-sim=yes", "not done here"), ("--no-such=1", "no option"),
                      ("--dump-instr=maybe", "neither yes nor no"), ("--D1=1000,3,64", "not WAYS x LINE"),
                      ("--I1=abc", "SIZE,WAYS,LINE")):
    p = run(callgrind, option, "true")
    check(p.returncode == 125 and words in p.stderr and len(p.stderr.splitlines()) == 1, option, p.stderr)
check(run(callgrind, "--branch-sim=no", "--compress-pos=no", f"--callgrind-out-file={here}/x", "-q", "true").returncode == 0, "no")
p = run(callgrind)
check(p.returncode == 125 and "no command" in p.stderr, p.stderr)
p = run(callgrind, f"--callgrind-out-file={here}/%q{{NO_SUCH_VARIABLE}}", "-q", "true")
check(p.returncode == 125 and "NO_SUCH_VARIABLE" in p.stderr, p.returncode, p.stderr)
p = run(callgrind, f"--callgrind-out-file={here}/no/such/folder", "-q", "true")
check(p.returncode == 125 and "No such file" in p.stderr, p.returncode, p.stderr)
p = run(callgrind, "-q", "/no/such/program")
check(p.returncode == 127, p.returncode, p.stderr)
if os.path.exists("/dev/full"):
    p = run(callgrind, "--callgrind-out-file=/dev/full", "-q", "true")
    check(p.returncode == 125 and p.stderr == "tare: /dev/full: No space left on device\n" and stat_of.S_ISCHR(os.stat("/dev/full").st_mode), p.returncode,
          p.stderr)

# Its own reader.
if shutil.which("callgrind_annotate"):
    p = subprocess.run(["callgrind_annotate", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(p.returncode == 0 and f"{totals(path)[0]:,} (100.0%)  PROGRAM TOTALS" in p.stdout, p.stdout[:500], p.stderr)
finish()
