#!/usr/bin/env python3
"""tare-callgrind --toggle-collect, --dump-before, --dump-after, --zero-before: functions of assembly whose counts are known,
and functions of C and C++, whose counts are those of tare stat --in (a sum over call contexts, another way).
usage: callgrind-functions.py TARE PAGES"""
import glob, json, os, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run, skipped

tare = sys.argv[1]
need_engine(tare)
cc = shutil.which("cc")
if not cc:
    print("cc is not installed")
    sys.exit(77)
folder = tempfile.TemporaryDirectory(prefix="tare-")
here = folder.name
callgrind = f"{here}/tare-callgrind"
os.symlink(os.path.abspath(tare), callgrind)


def build(name, source, *options, compiler=cc):
    with open(f"{here}/{name}", "w") as f:
        f.write(source)
    out = f"{here}/{name.rsplit('.')[0]}"
    subprocess.run([compiler, "-O1", "-g", "-fno-inline", "-o", out, f"{here}/{name}", *options], check=True)
    return out


# leaf: 3 instructions. inner: 2 + leaf, twice. rec(n): 4 + leaf, and 2 more for each deeper call; then 1. jump: a tail call.
KNOWN = build("known.S", """
	.macro	function name
	.globl	\\name
	.type	\\name, @function
\\name:	.cfi_startproc
	.endm
	.macro	end name
	.cfi_endproc
	.size	\\name, . - \\name
	.endm
	function leaf
	nop
	nop
	ret
	end leaf
	function inner
	call	leaf
	call	leaf
	ret
	end inner
	function rec
	call	leaf
	dec	%ebx
	jz	1f
	call	rec
1:	ret
	end rec
	function jump
	nop
	jmp	inner
	end jump
	function _start
	.rept	5
	call	inner
	.endr
	mov	$4, %ebx
	call	rec
	call	jump
	lea	inner(%rip), %rax
	call	*%rax
	call	leaf
	mov	$60, %eax
	mov	$7, %edi
	syscall
	end _start
	.data					# valgrind reads symbols of what has data only
	.quad	1
	.section .note.GNU-stack, "", @progbits
""", "-nostdlib", "-static", "-Wl,--eh-frame-hdr")
leaf = 3
inner = 3 + 2 * leaf
jump = 2 + inner
rec = sum((4 + leaf) + (n > 1) for n in range(1, 5))
own = 5 + 1 + 1 + 1 + 2 + 1 + 3				# of _start
whole = own + 5 * inner + rec + jump + inner + leaf


def files(*options, program=KNOWN, status=7):
    """{name: text} of the files that a run writes."""
    for path in glob.glob(f"{here}/out*"):
        os.unlink(path)
    p = run(callgrind, "-q", f"--callgrind-out-file={here}/out", *options, program)
    check(p.returncode == status, options, p.returncode, p.stderr)
    files.stderr = p.stderr
    return {os.path.basename(path): open(path).read() for path in sorted(glob.glob(f"{here}/out*"))}


def total(text):
    return int(re.search(r"^totals: (\d+)", text, re.M)[1])


def toggled(*names, program=KNOWN, status=7, more=()):
    out = files(*[f"--toggle-collect={n}" for n in names], *more, program=program, status=status)
    check(not files.stderr, names, files.stderr)
    check(list(out) == ["out"], names, list(out))
    return total(out["out"])


# A function that is toggled in a toggled one switches off; recursion does not; a pattern is for the whole name.
for names, wanted in ((["leaf"], leaf * (2 * 5 + 4 + 2 + 2 + 1)), (["inner"], 7 * inner), (["rec"], rec), (["jump"], jump),
                      (["i?ner"], 7 * inner), (["*n*r"], 7 * inner), (["jump", "rec"], jump + rec),
                      (["jump", "inner"], 2 + 6 * inner),
                      (["inner", "leaf"], 7 * (inner - 2 * leaf) + (4 + 1) * leaf), (["*"], None), (["inner", "rec"], 7 * inner + rec)):
    got = toggled(*names)
    check(wanted is None or got == wanted, names, got, wanted)
check(toggled("inner", more=["--collect-atstart=yes"]) == whole - 7 * inner, "--collect-atstart=yes")
# Lines and instructions of the file add up to the part, and are those of the functions that ran in it.
text = files("--toggle-collect=rec", "--dump-instr=yes")["out"]
names = set(re.findall(r"^fn=\(\d+\) (\S+)", text, re.M))
check({"rec", "leaf"} <= names and "inner" not in names, names)
check(re.search(r"^cfn=\(\d+\).*\ncalls=4 ", text, re.M), text)
seen, skip = 0, False
for line in text.splitlines():
    if re.match(r"0x[0-9a-f]+ \d+ \d+", line) and not skip:
        seen += int(line.split()[2])
    skip = line.startswith("calls=")
check(seen == rec, seen, rec)

# callgrind_annotate takes the cost of 0 calls for the caller's own: functions that only called have none.
text = files("--toggle-collect=leaf")["out"]
check("\ncalls=0 " not in text, text)
if shutil.which("callgrind_annotate"):
    p = run("callgrind_annotate", f"{here}/out", env=dict(os.environ, LC_ALL="C"))
    check(p.returncode == 0 and re.search(r":leaf\b", p.stdout) and not re.search(r"^.*%\)  \S*:(_start|inner|rec)\b", p.stdout, re.M), p.stdout, p.stderr)

# Dumps and zero.
out = files("--dump-before=rec", "--dump-after=jump")
check([(n, total(t)) for n, t in out.items()] ==
      [("out", whole - own + own - 5 - 1 - 1 - 5 * inner - rec - 1 - jump), ("out.1", 5 + 5 * inner + 2),
       ("out.2", rec + 1 + jump)], {n: total(t) for n, t in out.items()})
check("\ndesc: Trigger: --dump-before=rec\n" in out["out.1"] and "\ndesc: Trigger: --dump-after=jump\n" in out["out.2"], out)
out = files("--dump-before=inner")
check(len(out) == 8 and total(out["out.1"]) == 1 and total(out["out.2"]) == inner + 1, {n: total(t) for n, t in out.items()})
# The calls of a dump are those that were made in it, and so are their inclusive counts.
check(all("[not known]" not in t for t in out.values()), out)
got = re.findall(r"^cfn=\(\d+\)[^\n]*\ncalls=(\d+) \d+\n\d+ (\d+)$", out["out.2"], re.M)
check(sorted(got) == sorted([("1", str(leaf))] * 2 + [("1", "0"), ("0", str(inner))]), got, out["out.2"])
out = files("--zero-before=jump")
check(total(out["out"]) == jump + 2 + inner + 1 + leaf + 3, total(out["out"]), whole)
out = files("--toggle-collect=inner", "--dump-after=inner")
check(sorted(total(t) for t in out.values()) == [0] + 7 * [inner], {n: total(t) for n, t in out.items()})

# Simulated events of a part: a call writes and a return reads; inclusive counts of calls have them, too.
def events(text, key="totals"):
    numbers = [int(n) for n in re.search(rf"^{key}: (.*)$", text, re.M)[1].split()]
    return numbers + [0] * (9 - len(numbers))


SIM = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"]
p = run(callgrind, *SIM, "-q", f"--callgrind-out-file={here}/out", KNOWN)
if "needs Zydis" in p.stderr:
    skipped("simulated caches", "tare was built without Zydis")
else:
    everything = events(open(f"{here}/out").read())
    for name, wanted in (("inner", [7 * inner, 7 * 3, 7 * 2]), ("rec", [rec, 8, 7]), ("jump", [jump, 3, 2])):
        out = files(f"--toggle-collect={name}", *SIM)
        check(events(out["out"])[:3] == wanted, name, events(out["out"]), wanted)
    out = files("--toggle-collect=rec", *SIM)
    got = re.search(r"^fn=\(\d+\) _start\n(?:.*\n)*?calls=1 .*\n\d+ ([\d ]+)$", out["out"], re.M)
    check(got and got[1].split()[:3] == [str(rec), "8", "7"], got and got[1], out["out"])
    out = files("--dump-before=rec", "--dump-after=jump", *SIM)
    check([sum(n) for n in zip(*map(events, out.values()))] == everything, {n: events(t) for n, t in out.items()}, everything)
    check(events(out["out.2"])[:3] == [rec + 1 + jump, 8 + 3, 7 + 2 + 1], events(out["out.2"]))
    out = files("--zero-before=jump", *SIM)
    check(events(out["out"])[:3] == [jump + 2 + inner + 1 + leaf + 3, 3 + 3 + 1, 2 + 2 + 1 + 1], events(out["out"]))

# A name that nothing has: said, with what is near; the status is the command's, as with callgrind.
out = files("--toggle-collect=inne")
check(total(out["out"]) == 0 and "--toggle-collect=inne: no function" in files.stderr and "inner" in files.stderr, files.stderr)
p = run(callgrind, "--toggle-collect=", KNOWN)
check(p.returncode == 125 and "no function is named" in p.stderr, p.returncode, p.stderr)

# ---- C: threads, longjmp, a shared library, a signal handler ----
library = build("libpart.so.c", """
volatile int part_sink;
void in_library(int n) { while (n--) part_sink++; }
""", "-shared", "-fPIC")
os.rename(library, f"{here}/libpart.so")
C = build("program.c", r"""
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>
volatile int sink;
static jmp_buf back;
void in_library(int n);
void work(int n) { while (n--) sink++; }
static void hidden(int n) { work(n); }
void leaves(int n) { work(n); longjmp(back, 1); }
void catches(void) { if (!setjmp(back)) leaves(30); work(4); }
void signalled(int s) { (void)s; hidden(9); }
void during(void) { work(8); raise(SIGUSR1); work(8); }
void *in_thread(void *arg) { hidden(11); work(3); return arg; }
int even(int n);
int odd(int n) { work(1); return n ? even(n - 1) : 0; }
int even(int n) { work(2); return n ? odd(n - 1) : 1; }
void forks(void) { work(5); if (!fork()) { work(6); _exit(0); } wait(0); }
int main(void)
{
	pthread_t t;
	signal(SIGUSR1, signalled);
	for (int i = 0; i < 3; i++)
		catches();
	hidden(20);
	during();
	even(6);
	odd(6);
	in_library(40);
	pthread_create(&t, 0, in_thread, 0);
	pthread_join(t, 0);
	forks();
	return 0;
}
""", "-pthread", f"-L{here}", "-lpart", f"-Wl,-rpath,{here}", "-Wl,-z,now", "-fno-plt")


def in_functions(program, name):
    p = run(tare, "stat", "--in", name, "-e", "instructions:u", "-i", "-j", "-o", "-", program)
    check(p.returncode == 0, name, p.stderr)
    return json.loads(p.stdout)["runs"][0]["counts"][0]["value"]


for name in ("work", "hidden", "leaves", "catches", "in_thread", "even", "odd", "in_library", "signalled", "longjmp", "forks"):
    got, wanted = toggled(name, program=C, status=0), in_functions(C, name)
    check(got == wanted > 0, name, got, wanted)
# The handler is no part of what it interrupts.
check(0 < toggled("during", program=C, status=0) < toggled("during", "signalled", program=C, status=0), "during")
out = files("--toggle-collect=hidden", "--separate-threads=yes", program=C, status=0)
check(sum(total(t) for t in out.values()) == in_functions(C, "hidden") and all(total(out[f"out-0{i}"]) for i in (1, 2)),
      {n: total(t) for n, t in out.items()})
out = files("--toggle-collect=work", "--trace-children=yes", f"--callgrind-out-file={here}/out.%p", program=C, status=0)
check(len(out) == 2 and all(total(t) for t in out.values()), {n: total(t) for n, t in out.items()})

# ---- C++: exceptions, names with spaces, colons and brackets ----
cxx = shutil.which("c++")
if cxx:
    program = build("names.cc", r"""
#include <string>
volatile int sink;
namespace part {
template <class T> struct Box {
	T value;
	T get(int n, const std::string &s) { while (n--) sink += (int)s.size(); return value; }
	int operator[](int i) { sink += i; return i; }
};
void throws(int n) { sink += n; if (n > 1) throw n; }
void passes(int n) { struct D { ~D() { sink += 5; } } d; throws(n); sink++; }
}
int main()
{
	part::Box<unsigned long> box{ 3 };
	const std::string s = "ab";
	for (int i = 0; i < 4; i++)
		try { box.get(9, s); box[2]; part::passes(i); } catch (int) { sink--; }
	return 0;
}
""", compiler=cxx)
    for name in ("part::Box<unsigned long>::operator[](int)", "part::Box<unsigned long>::get(int, std::*", "*::get(*",
                 "part::throws(int)", "part::passes(?nt)"):
        got, wanted = toggled(name, program=program, status=0), in_functions(program, name.replace("[", "\\["))
        check(got == wanted > 0, name, got, wanted)
else:
    skipped("exceptions", "c++ is not installed")

# Callgrind counts the same, where it is installed, in code that it does not choose otherwise.
if shutil.which("valgrind"):
    for names in (["leaf"], ["inner"], ["rec"], ["jump", "inner"], ["inner", "leaf"], ["*"], ["i?ner"]):
        options = [f"--toggle-collect={n}" for n in names]
        p = run("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={here}/theirs", *options, KNOWN)
        check(p.returncode == 7, p.stderr)
        theirs = total(open(f"{here}/theirs").read())
        check(toggled(*names) == theirs, names, toggled(*names), theirs)
else:
    skipped("callgrind's counts", "valgrind is not installed")
finish()
