#!/usr/bin/env python3
"""Trees of processes that do not end as they should, and programs that the engine must
not or cannot enter: what was counted survives, and the result says what was not.

usage: pit_tree.py RSEQ THREADS     two programs of tests/func
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import checking  # noqa: E402
import counting  # noqa: E402
from checking import check, given_time, until  # noqa: E402


def stat(*command, options=(), **how):
    """(process, run) of a counted command; run is None where there is no result."""
    with tempfile.NamedTemporaryFile("r", prefix="pit") as f:
        os.chmod(f.name, 0o666)
        cmd = counting.engine_command(["instructions"], f.name)
        cmd[2:2] = options
        p = subprocess.run(cmd + list(command), env=counting.ENV, text=True, timeout=600,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, **how)
        text = f.read()
    return p, json.loads(text)["runs"][0] if text.startswith("{") else None


def count(run):
    return run["counts"][0]["value"]


def cut_off(run):
    return [(t["comm"], t["cut_off"]) for t in run.get("tasks", []) if t.get("cut_off")]


def counted_or_told(run):
    """More than /bin/true alone, or it says what is missing: never neither."""
    return count(run) > 100000 or any("not in the totals" in why for _, why in cut_off(run))


def not_counted(run):
    return [t["not_counted"] for t in run.get("tasks", []) if t.get("not_counted")]


def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def killed(factor):
    # a child is killed: the shell's and the other child's counts are there
    p, run = stat("sh", "-c", f"sleep 9999 & P=$!; /bin/true; sleep {0.3 * factor}; kill -9 $P; wait $P; exit 4")
    check(p.returncode == 4 and count(run) > 100000, p)
    check([c[0] for c in cut_off(run)] == ["sleep"] and "killed" in cut_off(run)[0][1], run.get("tasks"))
    check(run["counts"][0]["lower_bound"], run["counts"])
    # the command itself is
    p, run = stat("sh", "-c", "/bin/true; sh -c 'kill -9 $PPID'; sleep 9")
    check(p.returncode == 137 and counted_or_told(run), p, run)
    check(any("killed" in why for _, why in cut_off(run)), run.get("tasks"))


def orphans():
    # still running when the command ends, and going to exec after that
    with tempfile.TemporaryDirectory() as d:
        for name in ("begun", "go"):
            os.mkfifo(f"{d}/{name}")
        p, run = stat("sh", "-c", f"(echo >{d}/begun; read a <{d}/go; /bin/echo late > {d}/late) > /dev/null 2>&1 & "
                      f"read a <{d}/begun; exit 2")
        check(p.returncode == 2, p)
        check(any("still running" in why for _, why in cut_off(run)), run)
        open(f"{d}/go", "w").write("\n")
        until(lambda: os.path.exists(f"{d}/late") and open(f"{d}/late").read() == "late\n",
              "an orphan to go on after tare had ended")


def newborns():
    # alive when the command ends, but not for long enough to have said so itself: on one
    # CPU the parent often exits before its child has run at all
    cpu = {min(os.sched_getaffinity(0))}
    for _ in range(20):
        p, run = stat("sh", "-c", "(exec sleep 9999) > /dev/null 2>&1 & echo $!; exit 2",
                      preexec_fn=lambda: os.sched_setaffinity(0, cpu))
        os.kill(int(p.stdout), signal.SIGKILL)
        told = [why for _, why in cut_off(run)] + not_counted(run)
        check(p.returncode == 2 and len(told) == 1, p, run)
        check("still running" in told[0] or "had ended" in told[0], told)


def traced():
    if not shutil.which("strace"):
        counting.skipped("a program traced by strace", "strace is not installed")
    else:
        p, run = stat("strace", "-o", "/dev/null", "sh", "-c", "exit 5")
        check(p.returncode == 5 and any("traced" in why for why in not_counted(run)), p, run)
    if not shutil.which("gdb"):
        counting.skipped("a program traced by gdb", "gdb is not installed")
    else:
        p, run = stat("gdb", "-q", "-nx", "-batch", "-ex", "set startup-with-shell off",
                      "-ex", "run", "/bin/true")
        check("exited normally" in p.stdout, p)
        check(any("traced" in why for why in not_counted(run)), run.get("tasks"))


def privileged():
    if os.geteuid():
        counting.skipped("set-uid and execute-only programs", "only root can make them")
        return
    if "NoNewPrivs:\t1" in open("/proc/self/status").read():
        counting.skipped("set-uid and execute-only programs", "no_new_privs is set")
        return
    d = tempfile.mkdtemp(prefix="tare-pit", dir="/var/tmp")
    os.chmod(d, 0o755)
    try:
        source, program = f"{d}/ids.c", f"{d}/ids"
        with open(source, "w") as f:
            f.write("#include <stdio.h>\n#include <unistd.h>\n"
                    "int main(void) { printf(\"%d\\n\", geteuid()); return 0; }\n")
        subprocess.run(["cc", source, "-o", program], check=True)
        tare = shutil.copy(counting.engine_command([], "-")[0], f"{d}/tare")
        os.chmod(tare, 0o755)
        os.environ["TARE"] = tare
        os.chmod(program, 0o4755)
        script = f"{d}/script"
        with open(script, "w") as f:
            f.write(f"#!{program}\n")
        os.chmod(script, 0o755)
        for command in ([program], [script], ["sh", "-c", program], ["sh", "-c", script]):
            p, run = stat(*command, preexec_fn=nobody)
            check(p.stdout == "0\n", "its privileges are kept", command, p)
            check(any("set-uid" in why for why in not_counted(run)), command, run)
        p, run = stat(program, options=["--refuse-uncounted"], preexec_fn=nobody)
        check(p.returncode == 125 and not p.stdout and "set-uid" in p.stderr, p)
        os.chmod(program, 0o711)
        for command in ([program], ["sh", "-c", f"{program}; exit 0"]):
            p, run = stat(*command, preexec_fn=nobody)
            check(p.stdout == "65534\n" and len(not_counted(run)) == 1, command, p, run)
    finally:
        os.environ.pop("TARE", None)
        shutil.rmtree(d)


def namespaces():
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-Urpf", "true"], stderr=subprocess.DEVNULL).returncode:
        counting.skipped("a process with other numbers", "unshare cannot make namespaces here")
        return
    p, run = stat(unshare, "-Urpf", "sh", "-c", "echo $$; ls -d /; exit 6")
    check(p.stdout == "1\n/\n" and p.returncode == 6, p)
    check(not run["counts"][0].get("lower_bound") and not not_counted(run), run)


def limits():
    """Layouts of memory and numbers of descriptors that leave little room: == still."""
    want = count(stat("ls", "-d", "/")[1])
    for what, value in ((resource.RLIMIT_STACK, resource.RLIM_INFINITY),
                        (resource.RLIMIT_STACK, 1 << 30), (resource.RLIMIT_AS, 300 << 20),
                        (resource.RLIMIT_NOFILE, 64)):
        most = resource.getrlimit(what)[1]
        if most != resource.RLIM_INFINITY and (value == resource.RLIM_INFINITY or value > most):
            counting.skipped(f"a limit of {value} for resource {what}", f"the hard limit is {most}")
            continue
        p, run = stat("ls", "-d", "/", preexec_fn=lambda: resource.setrlimit(what, (value, most)))
        check(p.stdout == "/\n" and count(run) == want, what, value, p, run["counts"], want)


def refused(rseq):
    """What cannot be run is an error that says so, never a number."""
    p, run = stat(rseq)
    check(p.returncode == 125 and run is None and "restartable sequences" in p.stderr, p)
    check(p.stderr.count("tare: ") == 1 and "pit-rseq" in p.stderr, p.stderr)
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/far.S", "w") as f:
            # a far jump to 32-bit code: an internal error that names place and bytes
            f.write(".globl _start\n_start: push $0x23\n lea 1f(%rip), %rax\n push %rax\n"
                    "1: rex.W lret\n")
        subprocess.run(["cc", "-nostdlib", "-static", f"{d}/far.S", "-o", f"{d}/far"], check=True)
        p, run = stat(f"{d}/far")
    check(p.returncode == 125 and run is None, p)
    check("pc 0x" in p.stderr and "48 cb" in p.stderr and "report" in p.stderr, p.stderr)
    check(p.stderr.count("tare: ") == 1, p.stderr)
    # too little address space for the launcher, for the engine, and in a child of the command
    for most in (30 << 20, 60 << 20):
        p, run = stat("true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        check(p.returncode == 125 and run is None and p.stderr.count("tare: ") == 1, most, p)
        check("ulimit -v" in p.stderr and "report" not in p.stderr, p.stderr)
    # (with less it runs natively, and the result says so; with more it is counted)
    outcomes = set()
    for limit in range(50000, 200000, 5000):
        p, run = stat("sh", "-c", f"ulimit -v {limit}; exec true")
        if p.returncode == 125:
            check("process" in p.stderr and "ulimit -v" in p.stderr, limit, p)
            outcomes.add("refused")
        else:
            check(p.returncode == 0 and run is not None, limit, p)
            outcomes.add(run["counts"][0]["provenance"])
    check(outcomes == {"refused", "exact", "incomplete"}, outcomes)


def many(threads):
    """Thousands of tasks: each of them is in the sum, to the last instruction."""
    one, two, three = (count(stat(threads, str(n))[1]) for n in (1000, 2000, 3000))
    check(three - two == two - one > 0, one, two, three)


def main(rseq, threads):
    counting.need_engine()
    given_time(killed)
    for test in (orphans, newborns, traced, privileged, namespaces, limits):
        test()
    refused(rseq)
    many(threads)
    checking.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
