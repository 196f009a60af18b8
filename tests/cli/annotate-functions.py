#!/usr/bin/env python3
"""tare annotate: a table of functions is made without looking at instructions. It must equal that of the whole profile,
which has every instruction. usage: annotate-functions.py TARE"""
import os, re, shutil, sys, tempfile
from cli import check, finish, need_engine, run, skipped

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-annotate-functions")
os.chdir(folder)
os.environ["LC_ALL"] = "C"

# Straight code that goes on from one function into the next, and a function inside of another one: blocks that belong to
# several functions.
NESTED = r"""
	.text
	.globl outside, within, behind
	.type outside, @function
	.type within, @function
	.type behind, @function
outside:
	xor %eax, %eax
	add $1, %eax
within:
	add $2, %eax
	mov %eax, -8(%rsp)
	add -8(%rsp), %eax
	.size within, . - within
	add $3, %eax
	sub $1, %eax
	.size outside, . - outside
behind:
	imul %eax, %eax
	mov -8(%rsp), %edx
	ret
	.size behind, . - behind
	.section .note.GNU-stack, "", @progbits
"""
MAIN = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int outside(void), within(void), behind(void);
static volatile int sink;
static void on(int s) { sink += s; }
static int depth(int n) { return n ? 1 + depth(n - 1) * sink : 0; }
int main(void)
{
	signal(SIGUSR1, on);
	for (int i = 0; i < 100; i++) {
		sink += outside();
		if (i % 3 == 0)
			sink += behind();
		if (i % 10 == 0)
			raise(SIGUSR1);
	}
	sink = depth(50);
	if (fork())
		wait(NULL);
	return 0;
}
"""
for name, text in ("nested.s", NESTED), ("main.c", MAIN):
    with open(name, "w") as f:
        f.write(text)
for name, options in ("dynamic", ()), ("static", ("-static",)):
    p = run("cc", "-O1", "-g", *options, "main.c", "nested.s", "-o", name)
    if p.returncode:
        check(name == "static", p.stderr)
        skipped("a static program", "libc.a is not installed")
        continue
    shutil.copy(name, name + "-stripped")
    run("strip", name + "-stripped")


def table(path):
    """The lines of the table, without what differs from run to run."""
    with open(path) as f:
        return [re.sub(r"process \d+", "process N", line) for line in f]


def compare(options, command):
    show = [o for o in options if o in ("--calls", "--per-process", "--tree")]
    whole = run(tare, "annotate", *options, "-o", "whole", "--report", "/dev/null", "--", *command)
    some = run(tare, "annotate", *options, "--top", "100000", "--report", "functions", "--", *command)
    again = run(tare, "annotate", *show, "--top", "100000", "--report", "from-whole", "whole")
    check(whole.returncode == 0 == some.returncode == again.returncode, command, options, whole.stderr, some.stderr,
          again.stderr)
    a, b = table("functions"), table("from-whole")
    differ = [(x, y) for x, y in zip(a, b) if x != y]
    check(len(a) > 20 and len(a) == len(b) and not differ, command, options, len(a), len(b), differ[:5])
    return a


EVENTS = ["-e", "instructions,loads,stores,branches,taken-branches,multiplies"]
for program in "dynamic", "static", "dynamic-stripped", "static-stripped":
    if not os.path.exists(program):
        continue
    for options in [], ["--no-names"], EVENTS, ["-e", "loads"], [*EVENTS, "--no-names"], ["--per-process"], ["--calls"], \
            ["--calls", "--no-names"], ["--tree", "--calls"]:
        compare(options, ["./" + program])

# The counts are known: `outside` runs its first two instructions and its last two, 100 times.
if os.path.exists(os.path.join(os.path.dirname(tare), "tare-symbols")):
    rows = "".join(compare([], ["./dynamic"]))
    for name, count in ("outside", 400), ("within", 300), ("behind", 3 * 100 + 3 * 34):
        check(re.search(rf"^ +{count} +[\d.]+ .* {name} \[dynamic\]$", rows, re.M), name, count, rows)

compare([], ["sh", "-c", "true; ls >/dev/null; :"])
compare(["--calls"], ["sh", "-c", "true; ls >/dev/null; :"])

os.chdir("/")
shutil.rmtree(folder)
finish()
