#!/usr/bin/env python3
"""tare stat and bad input: one clear error, a failing status, nothing run and nothing lost.
usage: stat-bad-input.py TARE PAGES"""
import json, os, pty, re, resource, shutil, signal, subprocess, sys, tempfile
from cli import check, finish, perf_refused, run, skip, skipped, until_run, until_runs

tare, pages = map(os.path.abspath, sys.argv[1:3])
folder = tempfile.mkdtemp(prefix="tare-")
ran = f"{folder}/ran"


def refused(status, says, *args, **how):
    """Fails with that status and one `tare:` line that says so; the command did not run."""
    p = run(tare, *args, **how)
    check(p.returncode == status, args, "status", p.returncode)
    lines = [l for l in p.stderr.splitlines() if l.startswith("tare: ")]
    check(len(lines) == 1 and re.search(says, lines[0]), args, p.stderr)
    check(not os.path.exists(ran), args, "the command was run")
    return p


touch = ("--", "touch", ran)
# The command line.
refused(125, "sta: no such command; did you mean `tare stat`", "sta")
refused(125, "unknown option --repaet; did you mean --repeat", "stat", "--repaet", "3", *touch)
refused(125, "unknown option -Q", "stat", "-Q", *touch)
refused(125, "no command to run", "stat")
refused(125, "no command to run", "stat", "--")
refused(125, '--repeat wants a whole number from 0 to 1000000, not "x"', "stat", "-r", "x", *touch)
refused(125, '--repeat wants .* not "-1"', "stat", "-r", "-1", *touch)
refused(125, "--backend wants one of auto, hw, soft", "stat", "--backend", "hard", *touch)
refused(125, "--json and --field-separator", "stat", "-j", "-x,", *touch)
refused(125, "--field-separator wants at least one", "stat", "-x", "", *touch)
refused(125, "--interval-print and --repeat", "stat", "-I", "10", "-r", "2", *touch)
refused(125, "--pid and --tid", "stat", "-p", "1", "-t", "1")
refused(125, "--timeout wants a whole number from 10", "stat", "--timeout", "0.5", *touch)
refused(125, '--pid wants a whole number .* not "1,2"', "stat", "-p", "1,2")
# Events.
refused(125, "no-such-event.*no such event", "stat", "-e", "no-such-event", *touch)
p = refused(125, "page-fautls", "stat", "-e", "page-fautls", *touch)
check("page-faults" in p.stderr, "the nearest name", p.stderr)
refused(125, "malformed event list", "stat", "-e", "{page-faults,minor-faults", *touch)
refused(125, "malformed event list", "stat", "-e", "page-faults}", *touch)
refused(125, ".", "stat", "-e", "", *touch)
refused(125, ".", "stat", "-e", ",", *touch)
refused(125, ".", "stat", "-e", "page-faults:Q", *touch)
if perf_refused(tare):
    skip(perf_refused(tare))
# Commands.
refused(127, "no-such-command-here: command not found", "stat", "-e", "page-faults",
        "no-such-command-here")
refused(127, "command not found", "stat", "-e", "page-faults", "./no/such/path")
refused(127, "command not found", "stat", "-e", "page-faults", "")
plain = f"{folder}/plain"
open(plain, "w").write("x")
refused(126, "plain: Permission denied: command is not executable", "stat", "-e", "page-faults",
        plain)
refused(126, "is a directory", "stat", "-e", "page-faults", folder)
script = f"{folder}/script"
open(script, "w").write("#!/no/such/interpreter\n")
os.chmod(script, 0o755)
refused(126, "its interpreter does not exist", "stat", "-e", "page-faults", script)
refused(127, "command not found", "stat", "--per-thread", "-e", "page-faults", "no-such-command-here")
# Each with the remedy that fits.
for path, remedy in ((folder, "name a program, not a directory"), (script, "first line (#!) of the script"),
                     (plain, "chmod +x")):
    p = run(tare, *("stat", "-e", "page-faults"), path)
    check(remedy in p.stderr, path, p.stderr)
os.symlink("/bin/true", f"{folder}/here")
p = run(tare, "stat", "-e", "page-faults", "here", cwd=folder)
check(p.returncode == 127 and "put ./ before the name" in p.stderr, p.stderr)
# The command of ours is missing.
refused(125, "sleep: no such command; to count what it executes: tare stat sleep", "sleep", "1")
refused(125, "here: no such command; to count what it executes: tare stat ./here", "./here", cwd=folder)
refused(125, "options follow the command, as in `tare stat -r`", "-r", "3", *touch)
broken = f"{folder}/broken"
open(broken, "wb").write(b"\x7fELF\x02\x01\x01" + bytes(200))
os.chmod(broken, 0o755)
p = run(tare, "stat", "-e", "page-faults", broken)
check(p.returncode in (126, 127, 2), "a broken ELF file", p.returncode, p.stderr)
# Processes.
gone = subprocess.Popen(["true"])
gone.wait()
refused(125, f"{gone.pid}: no such process$", "stat", "-e", "page-faults", "-p", str(gone.pid))
refused(125, f"{gone.pid}: no such process$", "stat", "-e", "page-faults", "-t", str(gone.pid))
# What neither hardware here nor the engine counts is named.
p = run(tare, "stat", "-e", "cycles", "true")
if p.returncode:
    check(p.returncode == 125 and re.match(
        r"tare: cycles \(and the software engine cannot know it\): .*no hardware counters\n", p.stderr),
          p.stderr)
    p = run(tare, "stat", "--backend", "hw", "-e", "cycles", "true")
    # one line for the cause, one for the cure; the kernel's errno does not pose as a file's
    check(p.returncode == 125 and re.fullmatch(
        r"tare: cycles: the (hypervisor|kernel) .*PMU \(perf_event_open: [^)]*\): "
        r"this machine shows no hardware counters\n +leave this event out, .*\n", p.stderr), p.stderr)
    # The cure is one that this user can take.
    p = run(tare, "stat", "--backend", "hw", "-e", "instructions:u", "true")
    check(p.returncode == 125 and re.search(r"\n +count in software \(--backend soft\), or use", p.stderr), p.stderr)
    p = run(tare, "stat", "-e", "instructions:u", "-p", str(os.getpid()))
    check(p.returncode == 125 and "`tare stat -- PROGRAM`" in p.stderr and
          not re.search("count in software|--backend soft|tare run", p.stderr), p.stderr)
p = run(tare, "stat", "--backend", "soft", "-e", "cycles", *touch)
check(p.returncode == 125 and "tare: cycles: the software engine cannot know" in p.stderr, p.stderr)
p = run(tare, "stat", "--backend", "soft", "-e", "instructions:k", *touch)
check(p.returncode == 125 and "instructions:k: the engine sees user mode only" in p.stderr and
      "count user mode (:u)" in p.stderr, p.stderr)
check(not os.path.exists(ran), "the command was run")

p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "-p", str(os.getpid()))
check(p.returncode == 125 and "cannot join a process that runs already" in p.stderr, p.stderr)

# Output that cannot be written is found out before the command runs.
e = ("stat", "-e", "page-faults")
refused(125, "/no/such/folder/out: cannot be written: No such file", *e, "-o",
        "/no/such/folder/out", *touch)
refused(125, "cannot be written: Is a directory", *e, "-o", folder, *touch)
if os.getuid() != 0:
    refused(125, "Permission denied", *e, "-o", "/proc/version", *touch)
# A file is left alone when nothing could be measured, and not made either.
old = f"{folder}/old"
open(old, "w").write("precious")
run(tare, *e, "-o", old, "no-such-command-here")
check(open(old).read() == "precious", "an old result was lost")
run(tare, *e, "-o", f"{folder}/new", "no-such-command-here")
check(not os.path.exists(f"{folder}/new"), "an empty result was made")
# A longer old file is replaced, not overwritten in part.
open(old, "w").write("x" * 100000)
run(tare, *e, "-j", "-o", old, "true")
check(json.load(open(old))["schema"] == "tare.stat/1", "old content remained")

# A full disk: the error, a failing status, and the result on stderr instead.
p = run(tare, *e, "-o", "/dev/full", pages, "777")
check(p.returncode == 125, p.returncode)
check(p.stderr.startswith("tare: /dev/full: No space left on device; the results follow"), p.stderr)
check(re.search(r"\d+ +page-faults", p.stderr), "the result is lost", p.stderr)
p = run("sh", "-c", f"{tare} stat -e page-faults -j -o - true >/dev/full")
check(p.returncode == 125 and "No space left" in p.stderr, p.stderr)
check(json.loads(p.stderr[p.stderr.index("{"):]), "the result is lost")
# So is a file that may not grow.
p = run(tare, *e, "-o", f"{folder}/limited", pages, "777",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
check(p.returncode == 125 and "File too large; the results follow here" in p.stderr, p)
check(re.search(r"\d+ +page-faults", p.stderr), "the result is lost", p.stderr)
p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "true",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
check(p.returncode == 125 and "ulimit -H -f allows 0" in p.stderr and "raise ulimit" in p.stderr, p)
# Under a soft limit the engine works: its files are memory. The command has the limit.
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
p = run(tare, "stat", "--backend", "soft", "-x,", "-e", "instructions:u", "sh", "-c", "ulimit -S -f; /bin/true",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard)))
check(p.returncode == 0 and p.stdout == "2\n" and p.stderr.endswith(",exact\n"), p)
# The command has that signal as it would without us.
p = run(tare, *e, "sh", "-c", f"ulimit -f 0; echo text >{folder}/limited; true")
check(p.returncode == 128 + signal.SIGXFSZ, "SIGXFSZ in the command", p)
for command in ("--help", "completion bash", "stat --help", "--version"):
    p = run("sh", "-c", f"{tare} {command} >/dev/full")
    check(p.returncode == 1 and "standard output: No space left" in p.stderr, command, p.stderr)

# Too few descriptors: what to raise, or it works; never a crash. For users too, to whom the
# kernel says first that they may not count what it does itself.
def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


if os.geteuid():
    skipped("too few descriptors of another user", "only root can become another user")
os.chmod(folder, 0o755)
anybodys = shutil.copy(tare, f"{folder}/tare")     # the build may be where only root may go
for program, drop in ((tare, None), (anybodys, nobody))[:2 if os.geteuid() == 0 else 1]:
    for n in range(4, 14):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
            if drop:
                drop()
        p = run(program, *e, "true", preexec_fn=limit, cwd="/")
        if drop and p.returncode and "paranoid" in p.stderr:
            skipped("too few descriptors of another user", "users may not count here")
            break
        check(p.returncode == 0 and "page-faults" in p.stderr or
              p.returncode in (125, 127) and re.search("[Tt]oo many open files|Error 24", p.stderr), n, p)
        check(p.returncode != 125 or "raise ulimit -n" in p.stderr, n, p)
# What is in an argument stays in its place: no escape sequences, no lines of its own.
p = run(tare, *e, "true", "\033[31m", "a\nb")
check("Counter stats for 'true ?[31m a?b' (" in p.stderr, p.stderr)

# Closed descriptors: no result lands in a file that happens to get their number.
p = run("sh", "-c", f"{tare} stat -e page-faults -o - true >&-")
check(p.returncode == 125 and "standard output is closed" in p.stderr, p.stderr)
p = run("sh", "-c", f"{tare} stat -e page-faults touch {ran} 2>&-")
check(p.returncode == 125 and not os.path.exists(ran), "closed stderr", p.returncode)
p = run("sh", "-c", f"{tare} stat -e page-faults -o {folder}/closed echo hello >&- 2>&-")
text = open(f"{folder}/closed").read()
check("page-faults" in text and text.count("hello") == 1, "only our heading may say so:", text)
# The command finds them closed too, as without us. (ls itself is the only one open.)
check(run("sh", "-c", f"{tare} stat -e page-faults -o /dev/null ls /proc/self/fd <&-").stdout ==
      run("sh", "-c", "ls /proc/self/fd <&-").stdout, "closed stdin")
p = run("sh", "-c", f"{tare} --version >&-")
check(p.returncode == 1, "closed stdout", p.returncode, p.stderr)
# A reader that goes away.
p = run("bash", "-c", f"set -o pipefail; {tare} stat -e page-faults -o - -r 3 true | true; true")
check(p.returncode == 0, p.stderr)


# SIGINT in the middle of -r 10: what there is, and 130. Sent while the third run waits.
fifo = f"{folder}/fifo"
os.mkfifo(fifo)
waits = ("-r", "10", "cat", fifo)


def interrupted(args, signal_number=signal.SIGINT):
    p = subprocess.Popen([tare, "stat", "-e", "page-faults", *args], stderr=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    if args[-1] == fifo:
        until_run(p.pid, 3, fifo)
    else:
        until_runs(p.pid, "sleep")
    p.send_signal(signal_number)
    out, err = p.communicate(timeout=600)
    return p.returncode, out, err


for extra in ((), ("--per-thread",)):
    status, out, err = interrupted([*extra, "-j", "-o", "-", *waits])
    r = json.loads(out)
    done = [x["complete"] for x in r["runs"]]
    check(status == 130, status, err)
    check(done.count(True) == 2 == r["summary"][0]["n"], done)
status, out, err = interrupted(waits)
check(status == 130 and "Interrupted" in err and re.search(r"\d ±[\d.]+ +page-faults", err), err)
status, out, err = interrupted(["sleep", "9999"])
check(status == 130 and "the counts cover only part of the run" in err, err)
status, out, err = interrupted(["sleep", "9999"], signal.SIGTERM)
check(status == 143 and "page-faults" in err, status, err)
# As from a shell's `&`, where SIGINT starts out ignored.
p = run("sh", "-c", f"{tare} stat -e page-faults -r 10 sh -c 'echo >{folder}/runs; exec sleep 9999' & "
        f"while ! [ -s {folder}/runs ]; do sleep 0.05; done; kill -INT $!; wait $!")
check(p.returncode == 130 and "Interrupted" in p.stderr, p.returncode, p.stderr)


# Ctrl-C on a terminal reaches the command as well, and what it does about it is its own
# affair: one that takes no notice is counted to its end, and no other run follows.
def on_terminal(args, n, release):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(tare, [tare, "stat", "-e", "page-faults", *args])
    until_run(pid, n, fifo)
    os.write(fd, b"\x03")
    text = b""
    while b"^C" not in text:            # the terminal shows it when the signals are sent
        text += os.read(fd, 65536)
    if release:
        open(fifo, "w").close()
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode()


status, text = on_terminal(waits, 3, False)
check(status == 130 and "the run that was cut short is left out" in text, status, text)
status, text = on_terminal(["-r", "10", "sh", "-c", f"trap '' INT; cat {fifo}; echo finished"], 1, True)
check(status == 130 and text.count("finished\r\n") == 1 and
      "Interrupted after 1 of 10 runs" in text, status, text)

run("rm", "-rf", folder)
finish()
