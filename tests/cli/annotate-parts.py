#!/usr/bin/env python3
"""tare annotate --delay and --control: only what ran while counting was on is in the profile, and its total is that of
tare stat. usage: annotate-parts.py TARE"""
import os, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import profile_sums  # noqa: E402

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-annotate-parts")
os.chdir(folder)

# It tells its commands to descriptors 8 and 9, waits for the answers, and does the same work in each part. A child works
# beside it, and ends while counting is on, or off.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) void outside(unsigned n) { while (n--) sink += n; }
__attribute__((noinline)) void inside(unsigned n) { while (n--) sink ^= n; }
__attribute__((noinline)) void child(unsigned n) { while (n--) sink *= 3; }
static void tell(const char *command)
{
	char ack[5];
	if (write(8, command, strlen(command)) < 0 || read(9, ack, sizeof(ack)) != sizeof(ack))
		abort();
}
static void in_child(void)
{
	if (fork() == 0) {
		child(1000);
		_exit(0);
	}
	wait(NULL);
}
int main(int argc, char **argv)
{
	const int parts = atoi(argv[1]);
	outside(100000);
	in_child();
	for (int i = 0; i < parts; i++) {
		tell("enable\n");
		inside(20000);
		if (argc > 2)
			in_child();
		tell("disable\n");
		outside(500);
	}
	in_child();
	outside(7000);
	return 0;
}
"""
with open("prog.c", "w") as f:
    f.write(PROGRAM)
p = run("cc", "-g", "-O1", "prog.c", "-o", "prog")
check(p.returncode == 0, p.stderr)
for name in "ctl", "ack":
    os.mkfifo(name)
fds = [os.open(name, os.O_RDWR) for name in ("ctl", "ack")]
os.dup2(fds[0], 8)
os.dup2(fds[1], 9)
CONTROL = ["-D", "-1", "--control", "fd:8,9"]


def tare_with(*args):
    return subprocess.run([tare, *args], pass_fds=(8, 9), capture_output=True, text=True)


def total(*args):
    p = tare_with("stat", "--backend", "soft", "-e", "instructions,stores", "-x", ",", *CONTROL, "--", "./prog", *args)
    return [int(line.split(",")[0]) for line in p.stderr.splitlines() if line]


for args in ["1"], ["2"], ["7"], ["2", "child"]:
    p = tare_with("annotate", "-e", "instructions,stores", *CONTROL, "-o", "profile", "--", "./prog", *args)
    check(p.returncode == 0 and f"went on {args[0]}× and off {args[0]}×" in p.stderr, args, p.stderr)
    got = profile_sums.read("profile")
    check(not profile_sums.trouble(got, True), profile_sums.trouble(got, True))
    check([e["total"] for e in got["events"]] == total(*args), args, got["events"], total(*args))
    counts = {}
    for f, _, _, _, _, _, c in profile_sums.insns(got):
        counts[f["name"]] = counts.get(f["name"], 0) + c[1]
    parts = int(args[0])
    if "inside" in counts:		# there are names
        check(counts["inside"] == parts * 20000, args, counts)
        check("outside" not in counts and counts.get("child", 0) == (parts * 1000 if len(args) > 1 else 0), args, counts)
    # A table of functions only.
    p = tare_with("annotate", "--no-names", "-e", "stores", *CONTROL, "--", "./prog", *args)
    check(f"{total(*args)[1]:,} stores, exact" in p.stderr, p.stderr)

# Off at the end, and never on again: what ran later is not in it. On at the start: what ran before is.
p = tare_with("annotate", "--control", "fd:8,9", "-o", "profile", "--", "./prog", "1")
got = profile_sums.read("profile")
check({f["name"] for f, *_ in profile_sums.insns(got)} >= {"inside", "outside"} or not got["objects"], p.stderr)

# --delay: the parts add up, whenever the moment was.
p = run(tare, "annotate", "-D", "30", "-o", "profile", "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
got = profile_sums.read("profile")
check(p.returncode == 0 and "parts of the run" in p.stderr and got["events"][0]["total"] > 0, p.stderr)
check(not profile_sums.trouble(got, True), profile_sums.trouble(got, True)[:3])
check("[not known]" not in p.stderr, p.stderr)

for args, says in ((["-D", "60000", "--", "true"], "the command ended before the time of --delay was over"),
                   (["-D", "-1", "--", "true"], "the program made no request"),
                   (["-D", "-1", "--control", "fd:8,9", "--", "true"], "--control gave no command enable"),
                   (["-D", "1", "--calls", "--", "true"], "--delay and --control switch from outside"),
                   (["--control", "fd:8", "--syscalls", "--", "true"], "--delay and --control switch from outside"),
                   (["-D", "-1", "--in", "main", "--", "true"], "--delay -1 and --in cannot be combined"),
                   (["--control", "fd:987", "--", "true"], "descriptor 987 is not open"),
                   (["--control", "pipe", "--", "true"], "wants fd:CTL[,ACK] or fifo:CTL[,ACK]"),
                   (["-D", "1", "profile"], "says how a command is run")):
    p = tare_with("annotate", *args)
    check(p.returncode and says in p.stderr and p.stderr.count("tare: ") == 1, args, p.returncode, p.stderr)

os.chdir("/")
shutil.rmtree(folder)
finish()
