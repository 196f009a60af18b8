#!/usr/bin/env python3
"""tare stat --in FUNCTION: counts while the function is on the stack, against assembly whose counts are known, and against
annotate --calls. usage: stat-in.py TARE PAGES"""
import json, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)
cc = shutil.which("cc")
if not cc:
    print("cc is not installed")
    sys.exit(77)
folder = tempfile.TemporaryDirectory(prefix="tare-")
# outer: 3 + 10 × (1 + inner + 2) + 2 instructions; inner: 4; leaf: 2, called by inner (+ 0) and by _start.
SOURCE = """
	.globl	_start
	.type	leaf, @function
leaf:	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size	leaf, . - leaf
	.type	inner, @function
inner:	.cfi_startproc
	nop
	call	leaf
	nop
	ret
	.cfi_endproc
	.size	inner, . - inner
	.type	outer, @function
outer:	.cfi_startproc
	mov	$10, %ecx
1:	call	inner
	dec	%ecx
	jnz	1b
	ret
	.cfi_endproc
	.size	outer, . - outer
	.type	_start, @function
_start:	.cfi_startproc
	call	outer
	call	leaf
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.cfi_endproc
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
"""
with open(f"{folder.name}/p.S", "w") as f:
    f.write(SOURCE)
program = f"{folder.name}/p"
subprocess.run([cc, "-nostdlib", "-static", "-Wl,--eh-frame-hdr", "-o", program, f"{folder.name}/p.S"], check=True)
leaf, inner = 2, 4 + 2
outer = 1 + 10 * (1 + inner + 2) + 1
whole = 5 + outer + leaf


def counted(*names):
    words = [w for n in names for w in ("--in", n)]
    p = run(tare, "stat", *words, "-e", "instructions:u", "-j", "-o", "-", program)
    check(p.returncode == 0, names, p.stderr)
    return json.loads(p.stdout)["runs"][0]["counts"][0]["value"] if p.returncode == 0 else None


for names, wanted in ((["leaf"], 11 * leaf), (["inner"], 10 * inner), (["outer"], outer), (["outer", "leaf"], outer + leaf),
                      (["inner", "outer"], outer), (["*e*"], outer + leaf), (["_start"], whole)):
    check(counted(*names) == wanted, names, counted(*names), wanted)
p = run(tare, "annotate", "--calls", "-j", "--report", "-", "--", program)
inclusive = {r["function"]: r["inclusive"]["instructions"] for r in json.loads(p.stdout)["rows"]}
check(inclusive == {"leaf": 11 * leaf, "inner": 10 * inner, "outer": outer, "_start": whole}, inclusive)

p = run(tare, "stat", "--in", "nowhere", "-e", "instructions:u", program)
check(p.returncode == 125 and "--in nowhere: no function that ran has this name. " in p.stderr and "instructions:u  " not in p.stderr,
      p.returncode, p.stderr)
p = run(tare, "stat", "--in", "outer", "--in", "outre", "-e", "instructions:u", "-j", "-o", "-", program)
check(p.returncode == 125 and "--in outre: no function" in p.stderr and "nearest names: outer" in p.stderr and not p.stdout,
      p.returncode, p.stderr, p.stdout)
for more in ([], ["--by", "line"]):
    p = run(tare, "annotate", *more, "--in", "iner", "--", program)
    check(p.returncode == 125 and "nearest names: inner" in p.stderr, more, p.returncode, p.stderr)


def rows(*options):
    p = run(tare, "annotate", *options, "-j", "--report", "-", "--", program)
    check(p.returncode == 0, options, p.stderr)
    return json.loads(p.stdout)


# annotate --in: lines, instructions and files of the part, which add up to it; by function the same by both ways.
for name, wanted in (("leaf", 11 * leaf), ("inner", 10 * inner), ("outer", outer), ("*e*", outer + leaf), ("_start", whole)):
    for by in ("function", "line", "insn", "file", "object"):
        got = rows("--in", name, "--by", by)
        check(sum(r["counts"]["instructions"] for r in got["rows"]) == wanted, name, by, got)
    p = run(tare, "annotate", "--in", name, "--report", "-", "--", program)
    check(p.returncode == 0 and f" {wanted} " in p.stdout.replace(",", ""), name, wanted, p.stdout)
got = [r["counts"]["instructions"] for r in rows("--in", "inner", "--by", "insn")["rows"] if r["function"] == "leaf"]
check(got == [10, 10], got)
profile = f"{folder.name}/part.json"
p = run(tare, "annotate", "--in", "outer", "-o", profile, "--", program)
p = run(tare, "annotate", "--by", "insn", "-j", "--report", "-", profile)
check(p.returncode == 0 and sum(r["counts"]["instructions"] for r in json.loads(p.stdout)["rows"]) == outer, p.stderr, p.stdout)
p = run(tare, "annotate", "--in", "nowhere", profile)
check(p.returncode == 1 and "--in nowhere: no function" in p.stderr, p.returncode, p.stderr)
# A * of a parameter's type is no wildcard: f(char*) is not f(char**).
FUNCTION = "\t.type\t{0}, @function\n{0}:\t.cfi_startproc\n{1}\tret\n\t.cfi_endproc\n\t.size\t{0}, . - {0}\n"
with open(f"{folder.name}/overloads.S", "w") as f:
    f.write(FUNCTION.format("_Z1fPc", "\tnop\n") + FUNCTION.format("_Z1fPPc", "\tnop\n\tnop\n") +
            FUNCTION.format("_Z1fPcPi", "\tnop\n\tnop\n\tnop\n") +
            ".globl _start\n_start:\n\tcall _Z1fPc\n\tcall _Z1fPPc\n\tcall _Z1fPcPi\n"
            "\tmov $60, %eax\n\txor %edi, %edi\n\tsyscall\n\t.section .note.GNU-stack, \"\", @progbits\n")
program = f"{folder.name}/overloads"
subprocess.run([cc, "-nostdlib", "-static", "-Wl,--eh-frame-hdr", "-o", program, f"{folder.name}/overloads.S"], check=True)
for name, wanted in (("f(char*)", 2), ("f(char**)", 3), ("f(char*, int*)", 4), ("f", 9), ("f(*)", 9), ("f(char*, *)", 4),
                     ("f(*, int*)", 4), ("?(char*)", 2), ("f(ch*", 9), ("f(c*r*, i*t*)", 4), ("*", 15)):
    check(counted(name) == wanted, name, counted(name), wanted)
    check(sum(r["counts"]["instructions"] for r in rows("--in", name)["rows"]) == wanted, name)

p = run(tare, "stat", "--in", "leaf", "-e", "task-clock", program)
check(p.returncode == 125 and "only events of the software engine" in p.stderr, p.returncode, p.stderr)
p = run(tare, "stat", "--in", "leaf", "--backend", "hw", "-e", "instructions:u", program)
check(p.returncode == 125 and "--in" in p.stderr, p.returncode, p.stderr)
finish()
