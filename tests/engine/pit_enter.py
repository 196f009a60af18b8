#!/usr/bin/env python3
"""What can happen while a program is being entered: it is killed, signals arrive, memory is
short. The command ends as it would without us, and nothing is lost.
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import checking  # noqa: E402
import counting  # noqa: E402
from checking import check  # noqa: E402


# Execs itself once for each character of its argument: it is being entered most of the time.
CHAIN = """
.globl _start
_start:
	mov	16(%rsp), %rax
	cmpb	$0, (%rax)
	je	1f
	inc	%rax
	mov	%rax, 16(%rsp)
	mov	8(%rsp), %rdi
	lea	8(%rsp), %rsi
	xor	%edx, %edx
	mov	$59, %eax
	syscall
1:	mov	$60, %eax
	mov	$7, %edi
	syscall
"""
PER_EXEC, AT_END = 10, 6


# Occupies addresses of the engine.
PLACE = """
.globl _start
_start:
	mov	$60, %eax
	mov	$5, %edi
	syscall
"""

# Several threads exec at the same time; one of them wins.
THREADS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t all;
static char **words;
static void *go(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&all);
	execv(words[2], words + 2);
	exit(98);
}
int main(int argc, char **argv)
{
	const int n = atoi(argv[1]);
	pthread_t t;
	words = argv;
	pthread_barrier_init(&all, NULL, n);
	for (int i = 1; i < n; i++)
		pthread_create(&t, NULL, go, NULL);
	go(NULL);
	return argc;
}
"""

# More children than there are places to ask from are killed while they ask: the launcher is
# stopped meanwhile.
ASKING = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#define N 130
int main(void)
{
	pid_t p[N];
	kill(getppid(), SIGSTOP);
	for (int i = 0; i < N; i++)
		if (!(p[i] = fork())) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
	sleep(1);
	for (int i = 0; i < N; i++)
		kill(p[i], SIGKILL);
	kill(getppid(), SIGCONT);
	for (int i = 0; i < N; i++)
		waitpid(p[i], NULL, 0);
	execl("/bin/echo", "echo", "goes on", NULL);
	return 1;
}
"""

PENDING = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static int numbers[] = { SIGTRAP, SIGSEGV, SIGSYS, SIGUSR1 };
static int taken[65];
static void take(int number) { taken[number]++; }
int main(int argc, char **argv)
{
	sigset_t set;
	sigemptyset(&set);
	for (int i = 0; i < 4; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; argc < 2 && i < 4; i++)
		kill(getpid(), numbers[i]);
	if (argc < 2) {
		execl("/nonexistent", "x", NULL);
		execl(argv[0], argv[0], "again", NULL);
	}
	sigpending(&set);
	for (int i = 0; i < 4; i++)
		signal(numbers[i], take);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < 4; i++)
		printf("%d: %d %d\\n", numbers[i], sigismember(&set, numbers[i]), taken[numbers[i]]);
}
"""


def build(folder, name, source, *options):
    path = f"{folder}/{name}"
    with open(path + (".S" if "_start" in source else ".c"), "w") as f:
        f.write(source)
    subprocess.run(["cc", *options, f.name, "-o", path], check=True)
    return path


def start(result, *command, env=counting.ENV, **how):
    return subprocess.Popen(counting.engine_command(["instructions"], result) + list(command),
                            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **how)


def child_of(p):
    """The command's process, once there is one."""
    while p.poll() is None:
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            children = f.read().split()
        if children:
            return int(children[0])
    return 0


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def killed(chain, result):
    """Whatever it was doing, it died of SIGKILL, and that is what is told."""
    rnd, hit = random.Random(1), 0
    while hit < 80:
        p = start(result, chain, "x" * 2000)
        pid = child_of(p)
        time.sleep(rnd.uniform(0, 0.02))
        send(pid, signal.SIGKILL)
        _, err = p.communicate(timeout=600)
        check(p.returncode in (7, 137), p.returncode, err)
        hit += p.returncode != 7        # it came to its end: too late on a busy machine, once more


def killed_child(chain, result):
    """… also when it is not our own child: its parent hears of it."""
    script = (f"i=0; while [ $i -lt 60 ]; do {chain} {'x' * 2000} & P=$!; sleep 0.0$((i % 3)); "
              "kill -9 $P; wait $P; S=$?; [ $S = 7 ] && continue; [ $S = 137 ] || exit 9; i=$((i + 1)); done; exit 3")
    p = start(result, "sh", "-c", script)
    try:
        _, err = p.communicate(timeout=600)
        check(p.returncode == 3, p.returncode, err)
    except subprocess.TimeoutExpired:
        check(False, "a parent waits for ever")
        p.kill()


def stormed(chain, result):
    """Signals that the program does not take, at each step of each entry."""
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP, signal.SIGUSR1})

    n = 300
    for numbers in ((), (signal.SIGTRAP,), (signal.SIGUSR1,), (signal.SIGSTOP, signal.SIGCONT),
                    (signal.SIGTRAP, signal.SIGSTOP, signal.SIGCONT)):
        p = start(result, chain, "x" * n, preexec_fn=block)
        pid = child_of(p)
        while p.poll() is None:
            for number in numbers:
                send(pid, number)
            time.sleep(0.0002)
        out, err = p.communicate(timeout=600)
        with open(result) as f:
            run = json.load(f)["runs"][0]
        check(p.returncode == 7, numbers, p.returncode, err)
        check(run["counts"][0]["value"] == n * PER_EXEC + AT_END and not run.get("tasks"),
              numbers, run["counts"], run.get("tasks"))


def short_of_memory(static, result):
    """With little address space it runs natively, in all that it would have had; with some
    more it may end with an error that says so. Never by a signal."""
    for kib in (*range(1000, 2700, 60), 5000, 20000, 47000, 49000, 52000, 57000, 100000):
        script = f"ulimit -v {kib}; exec {static}"
        native = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        p = start(result, "sh", "-c", script)
        out, err = p.communicate(timeout=600)
        told = p.returncode == 125 and "ulimit -v" in err
        check(told or (p.returncode, out) == (native.returncode, native.stdout), kib, p.returncode, out, err, native)
        if p.returncode == 0 and kib < 20000:
            with open(result) as f:
                tasks = json.load(f)["runs"][0]["tasks"]
            check([t for t in tasks if "no memory" in (t["not_counted"] or "")], kib, tasks)


def few_files(static, result):
    """With few descriptors a program runs as natively, or one error names the limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    inside = "ulimit -Sn; ulimit -Hn; cat /etc/hostname; exec ls -d /"
    for most in (4, 5, 7, 9, 12, 16, 40):
        for limit in ((most, hard), (most, most)):
            def few():
                resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            native = subprocess.run(["sh", "-c", inside], capture_output=True, text=True,
                                    preexec_fn=few)
            p = start(result, "sh", "-c", inside, preexec_fn=few)
            out, err = p.communicate(timeout=600)
            told = (limit[1] < 16 and p.returncode == 125 and err.count("tare: ") == 1 and
                    f"limit is {most} open files" in err and "ulimit" in err)
            check(told or (p.returncode, out) == (native.returncode, native.stdout), limit,
                  p.returncode, out, err, native)
    # nothing is left for the engine in the program: it takes what the hard limit allows
    for script, answers in (("ulimit -Sn 3", (0,)), ("ulimit -n 3", (0, 125))):
        p = start(result, "sh", "-c", f"{script}; exec {static}")
        out, err = p.communicate(timeout=600)
        check(p.returncode in answers, script, p.returncode, out, err)
        check((out == "here\n") if p.returncode == 0 else
              "ulimit -Hn" in err and "report" not in err, script, out, err)


def ignored(result):
    """What was ignored when we were started is ignored by the command."""
    def ignore():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD,
                       signal.SIGTRAP):
            signal.signal(number, signal.SIG_IGN)

    show = ["sed", "-n", "s/^SigIgn://p", "/proc/self/status"]
    for command in (show, ["env", *show]):
        want = subprocess.run(command, capture_output=True, text=True, preexec_fn=ignore).stdout
        p = start(result, *command, preexec_fn=ignore)
        out, err = p.communicate(timeout=600)
        check(out == want, command, out, want, err)


def ended(p, seconds=600):
    """(status, output) of a command that may hang."""
    try:
        out, err = p.communicate(timeout=seconds)
        return p.returncode, out
    except subprocess.TimeoutExpired:
        send(child_of(p), signal.SIGKILL)
        p.kill()
        p.communicate()
        return "hung", ""


def at_once(threads, chain, result):
    for n in (2, 3, 4, 8) * 4:
        got = ended(start(result, threads, str(n), chain, "xxx"))
        check(got[0] == 7, n, "threads exec:", got)


def crowded(asking, result):
    got = ended(start(result, asking))
    check(got == (0, "goes on\n"), got)


def occupied(folder, result):
    """A program that is where the engine goes runs as natively, and is named."""
    for at in ("440000000000", "440010000000", "441000000000"):
        place = build(folder, f"place{at}", PLACE, "-nostdlib", "-static",
                      f"-Wl,-Ttext-segment=0x{at}")
        got = ended(start(result, "sh", "-c", f"{place}; echo $?"))
        check(got == (0, "5\n"), at, got)
        with open(result) as f:
            tasks = json.load(f)["runs"][0]["tasks"]
        check("0x440000000000" in (tasks[0]["not_counted"] or ""), at, tasks)


def runs(program):
    """Is there a process of it?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if f.read().startswith(program + "\0"):
                    return True
        except OSError:
            pass
    return False


def left_alone(chain, result):
    """The launcher is killed, and nobody has looked at it yet: what asks it goes on."""
    rnd = random.Random(2)
    for _ in range(10):
        seconds = rnd.uniform(0.01, 0.08)
        p = start(result, chain, "x" * 300)
        time.sleep(seconds)
        p.kill()
        checking.until(lambda: not runs(chain), f"the end of an orphan, after {seconds} s")
        p.communicate()


def leaves_nothing(folder, result):
    """tare is killed: the command goes on to its end, and nothing else is left."""
    tmp, go, done = f"{folder}/tmp", f"{folder}/go", f"{folder}/done"
    os.mkdir(tmp)
    os.mkfifo(go)
    shared = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    p = start(result, "sh", "-c", f"echo begun; read a <{go}; ls -d / >{done}.part; mv {done}.part {done}",
              env={**counting.ENV, "TMPDIR": tmp})
    p.stdout.readline()
    p.kill()
    p.wait()
    open(go, "w").write("\n")
    checking.until(lambda: os.path.exists(done), "the command to go on")
    check(open(done).read() == "/\n", "the command did not go on")
    check(not os.listdir(tmp), os.listdir(tmp))
    now = set(os.listdir("/dev/shm")) if shared else set()
    check(not [f for f in now - shared if "tare" in f], now - shared)
    p.communicate()


def waiting(pending, result):
    """Blocked signals that wait are still there after an exec."""
    want = subprocess.run([pending], capture_output=True, text=True).stdout
    p = start(result, pending)
    out, err = p.communicate(timeout=600)
    check(out == want and "5: 1 1" in want, out, want, err)


def main():
    counting.need_engine()
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        counting.skip("/proc does not list children (CONFIG_PROC_CHILDREN)")
    with tempfile.TemporaryDirectory(prefix="pit") as d:
        result = f"{d}/result"
        chain = build(d, "chain", CHAIN, "-nostdlib", "-static")
        static = build(d, "static", '#include <stdio.h>\n#include <stdlib.h>\nint main(void) '
                       '{ return !malloc(100000) + !puts("here"); }\n', "-static")
        killed(chain, result)
        killed_child(chain, result)
        stormed(chain, result)
        short_of_memory(static, result)
        few_files(static, result)
        ignored(result)
        waiting(build(d, "pending", PENDING), result)
        at_once(build(d, "threads", THREADS, "-pthread"), chain, result)
        crowded(build(d, "asking", ASKING), result)
        occupied(d, result)
        left_alone(chain, result)
        leaves_nothing(d, result)
    checking.finish()


if __name__ == "__main__":
    sys.exit(main())
