#!/usr/bin/env python3
"""tare annotate: sums, tables, files, and what can go wrong. (Sums of real programs: programs/run.py --annotate.)
usage: annotate.py TARE THREADS

THREADS is a program that starts 1,000 threads.
"""
import fcntl, json, os, pty, re, resource, shutil, signal, struct, subprocess, sys, tempfile, termios
from cli import check, check_schema, descendants, finish, need_engine, run, skip, skipped, until_busy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import profile_sums  # noqa: E402

tare, threads = map(os.path.abspath, sys.argv[1:3])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-annotate")
os.chdir(folder)
os.environ.pop("NO_COLOR", None)
os.environ["TERM"] = "xterm"

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static void outer(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) static void inner(unsigned n)
{
	while (n--)
		sink ^= n;
}
int main(int argc, char **argv)
{
	outer(10000);
	inner(argc > 1 ? atoi(argv[1]) : 100);
	return 3;
}
"""


def compile(name, text, *options):
    with open(f"{name}.c", "w") as f:
        f.write(text)
    p = run("cc", *(options or ("-g", "-O1")), f"{name}.c", "-o", name)
    check(p.returncode == 0, p.stderr)


def annotate(*args, status=3, **how):
    p = run(tare, "annotate", *args, **how)
    check(p.returncode == status, args, p.returncode, p.stderr)
    return p


def profile(*args, status=3, known=True, options=()):
    annotate("-o", "profile", "--report", "/dev/null", *options, "--", *args, status=status)
    got = profile_sums.read("profile")
    check_schema(got, "tare.codeprofile-1")
    for line in profile_sums.trouble(got, known):
        check(False, args, line)
    return got


def counts_of(got, what):
    """{name: count of the first event} by function, or (file, line) of the own sources"""
    sums = {}
    for f, _, _, file, line, _, counts in profile_sums.insns(got):
        key = f["name"] if what == "function" else (os.path.basename(got["files"][file]["path"]), line) if file >= 0 \
            else (f["name"], 0)
        sums[key] = sums.get(key, 0) + counts[0]
    return sums


compile("prog", PROGRAM)

# The total is that of the same run, and of tare stat.
got = profile("./prog", options=["-e", "instructions,branches,taken-branches,loads,stores,calls"])
stat = json.loads(run(tare, "stat", "--backend", "soft", "-e", "instructions,branches,taken-branches,loads,stores,calls",
                      "-j", "-o", "-", "./prog").stdout)
check([e["total"] for e in got["events"]] == [c["value"] for c in stat["runs"][0]["counts"]], got["events"])
check(got["complete"] and got["exit_status"] == 3 and [e["provenance"] for e in got["events"]] == ["exact"] * 6, got["events"])
if "main" not in counts_of(got, "function") and not os.path.exists(os.path.join(os.path.dirname(tare), "tare-symbols")):
    skip("elfutils or libiberty is not installed")
check({"main", "outer", "inner"} <= set(counts_of(got, "function")), sorted(counts_of(got, "function"))[:9])

# The same again: the same everywhere.
again = profile("./prog", options=["-e", "instructions,branches,taken-branches,loads,stores,calls"])
check(got["functions"] == again["functions"], "two runs of one program differ")

# A planted regression of about 0.1 % is in its function and line, with zero elsewhere.
base = profile("./prog", "1000")
more = profile("./prog", "1020")
total = base["events"][0]["total"]
difference = more["events"][0]["total"] - total
check(0 < difference < total / 100, difference, total)
for what, key in ("function", "inner"), ("line", None):
    a, b = counts_of(base, what), counts_of(more, what)
    changed = {k: b.get(k, 0) - a.get(k, 0) for k in a.keys() | b.keys() if a.get(k, 0) != b.get(k, 0)}
    check(sum(changed.values()) == difference, what, changed)
    if what == "function":
        check(changed == {"inner": difference}, changed)
    else:
        check(set(changed) <= {("prog.c", 12), ("prog.c", 13)}, changed)

# The table: rows add up, the names stand there, the exit status is the command's.
p = annotate("--top", "5", "--", "./prog")
rows = re.findall(r"^ +([\d,]+) +([\d.]+)  .{16}  (.*)$", p.stderr, re.M)
check(len(rows) == 6 and rows[0][2] == "outer [prog]" and rows[-1][2].endswith(" others"), p.stderr)
said = int(re.search(r"^ ([\d,]+) instructions, exact$", p.stderr, re.M)[1].replace(",", ""))
check(sum(int(n.replace(",", "")) for n, _, _ in rows) == said, rows)
for by in "function", "line", "insn", "object", "file":
    p = annotate("--by", by, "-j", "--report", "-", "--", "./prog")
    r = json.loads(p.stdout)
    check_schema(r, "tare.annotate-1")
    check(sum(row["counts"]["instructions"] for row in r["rows"]) == r["events"][0]["total"], by)
    sizes = [row["counts"]["instructions"] for row in r["rows"]]
    check(sizes == sorted(sizes, reverse=True), by)

# Source and instructions of a function.
p = annotate("-f", "inner", "--", "./prog")
check(re.search(r"^ +[\d,]+ +[\d.]+ +13  +sink \^= n;$", p.stderr, re.M) and " inner [" in p.stderr, p.stderr)
check(re.search(r"^ +100 +[\d.]+ +[0-9a-f]+  \S", p.stderr, re.M), p.stderr)
p = annotate("-f", "out*", "-f", "nothing", "--", "./prog")
check(" outer [" in p.stderr and " inner [" not in p.stderr, p.stderr)
check("No function that ran" in annotate("-f", "nosuch", "--", "./prog").stderr, "no such function")

# Files: read again, added up, damaged.
annotate("-o", "one", "--report", "/dev/null", "--", "./prog")
live = annotate("--top", "9", "-o", "two", "--report", "-", "--", "./prog").stdout
check(annotate("--top", "9", "two", status=0).stdout == live, "the file shows something else")
both = json.loads(annotate("-j", "one", "two", status=0).stdout)
one = json.loads(annotate("-j", "one", status=0).stdout)
check(both["events"][0]["total"] == 2 * one["events"][0]["total"] and both["runs"] == 2, both["events"])
check([r["counts"]["instructions"] for r in both["rows"]] ==
      [2 * r["counts"]["instructions"] for r in one["rows"]], "the sum of two files")
annotate("-o", "again", "--report", "/dev/null", "one", status=0)
check(open("one").read() == open("again").read(), "written again, the file is another")
whole = open("one").read()
doc = json.loads(whole)
doc["functions"][0]["object"] = 999
many = json.loads(whole)
many["functions"][0]["insns"][0] += "0"
for text, says in ((whole[:len(whole) // 2], "not a code profile"), ("{}", "its schema is"),
                   ('{"schema": "tare.stat/1"}', 'its schema is "tare.stat/1"'),
                   (json.dumps(doc), "function 0 is damaged"), (json.dumps(many), "the total is"),
                   (whole.replace('"tasks"', '"task"'), 'the array "tasks" is not there')):
    with open("bad", "w") as f:
        f.write(text)
    p = annotate("bad", status=1)
    check(says in p.stderr and p.stderr.count("tare: ") == 1 and not p.stdout, says, p.stderr)
other = annotate("-e", "loads", "-o", "other", "--report", "/dev/null", "--", "./prog")
check("different events" in annotate("one", "other", status=1).stderr, "other events")

# What a profile in a file does not have is refused, and what would be ignored, too.
annotate("--calls", "--per-process", "-o", "rich", "--report", "/dev/null", "--", "./prog")
# What a function executes itself is part of its inclusive count, also where it was only jumped to and no call is known
# (gcc's start files: frame_dummy jumps to register_tm_clones).
r = json.loads(annotate("-j", "rich", status=0).stdout)
check(r["rows"] and all(x["inclusive"]["instructions"] >= x["counts"]["instructions"] for x in r["rows"]),
      [x for x in r["rows"] if x["inclusive"]["instructions"] < x["counts"]["instructions"]])
for args, says in ((["--tree", "one"], "--tree wants a profile that was made with --calls"),
                   (["--calls", "one"], "--calls wants a profile that was made with --calls"),
                   (["--per-process", "one"], "--per-process wants a profile"),
                   (["--per-thread", "rich"], "--per-thread wants a profile")):
    p = annotate(*args, status=1)
    check(says in p.stderr and not p.stdout, args, p.stderr, p.stdout)
for args, says in ((["-e", "loads", "one"], "-e says how a command is run"),
                   (["--tree", "--per-process", "--", "./prog"], "--tree shows functions of the whole run"),
                   (["--tree", "--by", "line", "--", "./prog"], "--tree shows functions of the whole run")):
    p = annotate(*args, status=125)
    check(says in p.stderr and "Profile of" not in p.stderr, args, p.stderr)
for args in ["--tree"], ["--calls"], ["--per-process"]:
    check("outer" in annotate(*args, "rich", status=0).stdout, args)

# Formats.
lines = annotate("--format", "collapsed", "-o", "-", "--report", "/dev/null", "one", status=0).stdout.splitlines()
check(sum(int(x.rsplit(" ", 1)[1]) for x in lines) == one["events"][0]["total"], "collapsed")
check(any(x.startswith("prog;outer ") for x in lines), lines[:5])
annotate("--format", "flamegraph", "-o", "flame.svg", "--html", "page.html", "--report", "/dev/null", "one", status=0)
svg, page = open("flame.svg").read(), open("page.html").read()
check(svg.startswith("<?xml") and 'data-n="outer"' in svg, svg[:300])
check("sink += i;" in page and 'data-n="outer"' in page and not re.search(r'(src|href)="(https?:)?//', page), "the page")

# Processes and threads.
got = profile("sh", "-c", "./prog; ./prog & wait; true", status=0, options=["--per-process"])
check(sum(t["command"] == "prog" for t in got["tasks"]) == 2 and got["shares"], got["tasks"])
p = annotate("--per-process", "--top", "2", "--", "sh", "-c", "./prog; true", status=0)
check(re.search(r"^ process \d+ \(prog\): [\d,]+ instructions, [\d.]+ %$", p.stderr, re.M), p.stderr)
got = profile(threads, "1000", status=0, options=["--per-thread"])
check(len(got["tasks"]) == 1001, len(got["tasks"]))
p = annotate("--per-thread", "--top", "2", "--", threads, "1000", status=0)
check("981 more, which -j lists" in p.stderr, p.stderr[-300:])

# Without symbols, stripped, deleted while it runs.
shutil.copy("prog", "bare")
run("strip", "bare")
got = profile("./bare")
check(any(f["name"].startswith("bare+0x") for f in got["functions"]), [f["name"] for f in got["functions"]][:9])
got = profile("./prog", options=["--no-names"])
check(all(re.search(r"\+0x[0-9a-f]+$", f["name"]) for f in got["functions"]), "--no-names")
shutil.copy("prog", "gone")
got = profile("sh", "-c", "exec 3<gone; rm gone; exec /proc/self/fd/3", status=3)
check(any(o["deleted"] for o in got["objects"]), got["objects"])

# Killed in the middle; interrupted; out of time.
compile("spin", r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned long n;
__attribute__((noinline)) static void work(unsigned long m) { while (n < m) n++; }
int main(int argc, char **argv) { work(1000000); if (argc > 1) kill(getpid(), atoi(argv[1])); for (;;) work(-1); }
""")
for number in signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV:
    got = profile("./spin", str(int(number)), status=128 + number)
    check(got["complete"] and counts_of(got, "function")["work"] > 3000000, number, got["reasons"])
with subprocess.Popen([tare, "annotate", "-o", "profile", "--top", "3", "--", "./spin"], stderr=subprocess.PIPE, text=True) as p:
    until_busy(p.pid, "spin", 0.2)
    p.send_signal(signal.SIGINT)                # to tare alone: it ends the command
    err = p.communicate()[1]
check(p.returncode == 130 and re.search(r"^ at least [\d,]+ instructions, incomplete$", err, re.M) and
      re.search(r"  work \[spin\]$", err, re.M), p.returncode, err)
got = profile_sums.read("profile")
check(not got["complete"] and got["reasons"] and not profile_sums.trouble(got, known=False), got["reasons"])
# Killed from outside: what ran until tare looked last has its place. Its calls are lost, and that is said.
for options in [], ["--calls"]:
    with subprocess.Popen([tare, "annotate", *options, "-o", "profile", "--top", "3", "--", "./spin"],
                          stderr=subprocess.PIPE, text=True) as p:
        until_busy(p.pid, "spin", 1)
        child, = (pid for pid, (name, _) in descendants(p.pid).items() if name == "spin")
        os.kill(child, signal.SIGKILL)
        err = p.communicate()[1]
    got = profile_sums.read("profile")
    sums = counts_of(got, "function")
    check(p.returncode == 137 and not got["complete"] and "killed before it could report" in err, p.returncode, err)
    check(not profile_sums.trouble(got, known=False) and
          sums["work"] > sums.get("[not known]", 0) and sums["work"] > 1000000, sums.get("work"), sums.get("[not known]"), err)
    check(("calls are not known" in err) == bool(options), options, err)
p = annotate("--timeout", "500", "--", "./spin", status=124)
check("at least" in p.stderr and "ended by its timeout" in p.stderr, p.stderr)

# A full disk: the table is still shown, and no half file stays.
p = annotate("-o", "/dev/full", "--top", "3", "--", "./prog", status=125)
check("/dev/full: No space left" in p.stderr and "outer [prog]" in p.stderr, p.stderr)
p = annotate("-o", "limited", "--", "./prog", status=125,
             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY)))
check("outer [prog]" in p.stderr and not os.path.exists("limited"), p.stderr)
p = annotate("-o", "/no/such/folder/x", "--", "./prog", status=125)
check("cannot be written" in p.stderr and "Profile of" not in p.stderr, p.stderr)

# Calls, with known answers: main calls a (twice) and b; a calls fib; fib calls itself; b ends in a jump to a.
#   contexts: [parent function site entry calls count]
def insn(offset, code, count):
    return f"{offset:x} {code} -1 0 {count} {count}"


made = dict(doc, functions=[], contexts=[], shares=[], reasons=[], files=[], syscalls=[], has_calls=True, complete=True, folded=0)
made["objects"] = [dict(path="/x/made", build_id="", kind="file", deleted=False, names="")]
for i, (name, rows) in enumerate({"main": [("e800000000", 10), ("e800000001", 5)], "a": [("e800000002", 24)],
                                  "b": [("e900000003", 7)], "fib": [("e800000004", 100), ("e800000005", 1)]}.items()):
    made["functions"].append(dict(name=name, linkage=name, object=0, file=-1, line=0, offset=256 * i, size=64, insns=[
        insn(256 * i + 8 * k, code, count) for k, (code, count) in enumerate(rows)]))
made["contexts"] = ["-1 0 -1 root 0 15",        # 0 main
                    "0 1 0 call 2 12",          # 1 main -> a
                    "1 3 2 call 2 20",          # 2 a -> fib
                    "2 3 4 call 6 50",          # 3 fib -> fib
                    "3 3 4 recursion 30 20",    # 4 … by the same instruction
                    "0 2 1 call 1 7",           # 5 main -> b
                    "5 1 3 tail 1 12",          # 6 b => a
                    "6 3 2 call 1 11"]          # 7 a -> fib
total = 147
made["events"] = [dict(name="instructions", unit="", provenance="exact", total=total)]
made["tasks"] = [dict(pid=1, tid=0, command="made", exe="", incomplete=None, counts=[total])]
check_schema(made, "tare.codeprofile-1")
check(not profile_sums.trouble(made), profile_sums.trouble(made))
with open("made", "w") as f:
    json.dump(made, f)
r = json.loads(annotate("-j", "made", status=0).stdout)
got = {x["function"]: (x["counts"]["instructions"], x["inclusive"]["instructions"], x["calls"]) for x in r["rows"]}
check(got == {"main": (15, 147, 0), "a": (24, 125, 3), "fib": (101, 101, 39), "b": (7, 30, 1)}, got)
p = annotate("-f", "a", "made", status=0)
by = re.search(r"called by\n(.*?)\n\n(.*?)\n\n", p.stdout, re.S)
check(re.findall(r"([\d,]+) +[\d.]+ +([\d,]+)  (.*)", by[1]) == [("102", "2", "main"), ("23", "1", "b (tail call)")] and
      re.findall(r"([\d,]+) +[\d.]+ +([\d,]+)  (.*)", by[2]) == [("101", "3", "fib")], p.stdout)
p = annotate("-f", "fib", "--by", "insn", "made", status=0)
check(("70", "36", "fib") in re.findall(r"([\d,]+) +[\d.]+ +([\d,]+)  (\S+)", p.stdout), p.stdout)
for where, want, rows in (("b", 30, {"b": 7, "a": 12, "fib": 11}), ("a", 125, {"a": 24, "fib": 101}),
                          ("[bm]*", 147, {"main": 15, "a": 24, "fib": 101, "b": 7})):
    r = json.loads(annotate("--in", where, "-j", "made", status=0).stdout)
    got = {x["function"]: x["counts"]["instructions"] for x in r["rows"] if x["counts"]["instructions"]}
    check(r["events"][0]["total"] == want and got == rows, where, r["events"], got)
tree = annotate("--tree", "made", status=0).stdout
check(re.findall(r"^ +([\d,]+) +[\d.]+ +[\d,]+ +[\d,]*  ( *\S+)$", tree, re.M) ==
      [("147", "all"), ("147", "  main"), ("102", "    a"), ("90", "      fib"), ("70", "        fib"),
       ("20", "          fib"), ("30", "    b"), ("23", "      a"), ("11", "        fib")], tree)
lines = annotate("--format", "collapsed", "-o", "-", "--report", "/dev/null", "made", status=0).stdout.splitlines()
check("main;b;a;fib 11" in lines and sum(int(x.split()[1]) for x in lines) == total, lines)
check("without calls" in annotate("--in", "a", "one", status=1).stderr or
      "--calls" in annotate("--in", "a", "one", status=1).stderr, "--in without calls")
twice = json.loads(annotate("-j", "made", "made", status=0).stdout)
check({x["function"]: x["inclusive"]["instructions"] for x in twice["rows"]} ==
      {"main": 294, "a": 250, "fib": 202, "b": 60}, twice["rows"])

# What is refused.
for args, says in ((["-e", "page-faults", "--", "true"], "only events of the software engine"),
                   (["-r", "3", "--", "true"], "of one run"), (["-p", "1"], "cannot enter"),
                   (["--per-process", "--by", "line", "--", "true"], "functions or objects"),
                   (["--format", "collapsed", "--", "true"], "-o writes"),
                   (["--keep", "X", "--", "true"], "--clean-env"), ([], "no command to run")):
    p = annotate(*args, status=125)
    check(says in p.stderr and p.stderr.count("tare: ") == 1, args, p.stderr)
check("command not found" in annotate("./nosuchprofile", status=127).stderr, "a command that is not there")


# Terminals: no line is wider; colour only there, and not with NO_COLOR.
def on_terminal(columns, *args, env={}):
    pid, fd = pty.fork()
    if not pid:
        os.environ.update(env)
        # The size must be set before the program starts.
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(tare, [tare, "annotate", *args])
    out = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(fd)
    os.waitpid(pid, 0)
    return out.decode()


def width(line):
    return len(re.sub(r"\x1b\[[0-9;]*[mK]|\r", "", line))


events = "instructions,loads,stores,branches,calls,returns"
long_name = "_".join(["a_long_name"] * 20)
compile("wide", PROGRAM.replace("inner", long_name))
annotate("--calls", "-o", "wide.profile", "--report", "/dev/null", "--", "./wide")
for columns in 40, 60, 80, 200:
    for args in (["one"], ["--by", "line", "one"], ["--by", "insn", "one"], ["-e", events, "--", "./prog"],
                 ["-f", "inner", "--", "./prog"], ["-f", "a_long_name*", "wide.profile"], ["wide.profile"],
                 ["--tree", "wide.profile"], ["--per-thread", "--", "./wide"]):
        text = on_terminal(columns, *args)
        check("\x1b[" in text and "Profile of" in text, columns, args, text)
        wide = [x for x in text.split("\n") if width(x) > columns]
        check(not wide, columns, args, wide[:3])
        whole = re.sub(r"\r|\n *", "", text)
        check(long_name in whole or args[0] != "-f" or args[1] == "inner", columns, "a name that is cut", text)
check("\x1b[1m" not in on_terminal(80, "one", env={"NO_COLOR": "1"}), "NO_COLOR")
check("\x1b" not in annotate("one", status=0).stdout, "colour in a pipe")
check(len(re.findall("loads|stores|branches|calls|returns", on_terminal(200, "-e", events, "--", "./prog"))) >= 10, "columns")

# gcov: execution counts of single-block lines.
if shutil.which("gcov"):
    text = r"""
#include <stdio.h>
static int odd(int n)
{
	int r = n & 1;
	return r;
}
static int work(int n)
{
	int sum = 0;
	int i = 0;
	while (i < n) {
		if (odd(i)) {
			sum += i;
			sum ^= 3;
		} else {
			sum -= 2;
		}
		i++;
	}
	return sum;
}
int main(void)
{
	int a = work(1000);
	int b = work(37);
	printf("%d\n", a + b);
	return 0;
}
"""
    compile("covered", text, "-g", "-O0", "--coverage")
    compile("plain", text, "-g", "-O0")
    run("./covered")
    notes = [n for n in os.listdir(".") if n.endswith(".gcda")]
    p = run("gcov", "-t", *notes)
    wanted = {int(line): int(n) for n, line in re.findall(r"^ +(\d+)\*?: +(\d+):", p.stdout, re.M)}
    check(len(wanted) > 10, p.stdout[:2000], p.stderr)
    got = profile("./plain", status=0)
    lines = {}
    for _, _, _, file, line, runs, _ in profile_sums.insns(got):
        if file >= 0 and got["files"][file]["path"].endswith("plain.c"):
            lines.setdefault(line, set()).add(runs)
    single = {line: runs.pop() for line, runs in lines.items() if len(runs) == 1}
    # A line whose instructions all ran equally often is one block; where gcov has its count, they are equal.
    same = {line: (n, wanted[line]) for line, n in single.items() if line in wanted}
    check(len(same) >= 12 and all(a == b for a, b in same.values()), same, wanted, lines)
else:
    skipped("gcov", "not installed")

os.chdir("/")
shutil.rmtree(folder)
finish()
