#!/usr/bin/env python3
"""tare-callgrind --collect-jumps=yes: jumps of assembly whose counts are known, and those of callgrind.
usage: callgrind-jumps.py TARE PAGES"""
import collections, os, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run

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
SOURCE = """	.globl	_start
	.type	work, @function
work:	.cfi_startproc
	mov	$10, %ecx
again:	test	$1, %cl
odd:	jnz	skip
even:	jmp	next
	ud2
skip:	nop
next:	dec	%ecx
back:	jnz	again
never:	jz	over
	ud2
over:	cmp	$5, %ecx
not:	je	again
	mov	$3, %ecx
itself:	loop	itself
tail:	jmp	leaf
	.cfi_endproc
	.size	work, . - work
	.type	leaf, @function
leaf:	.cfi_startproc
	ret
	.cfi_endproc
	.size	leaf, . - leaf
	.type	_start, @function
_start:	.cfi_startproc
	call	work
	call	work
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.cfi_endproc
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
"""
with open(f"{here}/jumps.S", "w") as f:
    f.write(SOURCE)
program = f"{here}/jumps"
subprocess.run([cc, "-g", "-nostdlib", "-static", "-Wl,--eh-frame-hdr", "-o", program, f"{here}/jumps.S"], check=True)
labels = {name: int(address, 16) for address, _, name in
          map(str.split, subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines())}
line_of = {m[1]: number for number, m in ((n, re.match(r"(\w+):", text)) for n, text in
                                          enumerate(SOURCE.splitlines(), 1)) if m}
# what jumps, where to, how often, of how many; in two calls of work
JUMPS = [("odd", "skip", 10, 20), ("even", "next", 10, None), ("back", "again", 18, 20), ("never", "over", 2, 2),
         ("itself", "itself", 4, 6)]


def jumps(path):
    """[(from, to, jumps, of)], positions as they stand in the file without --compress-pos."""
    text, got = open(path).read().splitlines(), []
    for i, line in enumerate(text):
        m = re.match(r"(?:jcnd=(\d+)/(\d+)|jump=(\d+)) (.*)$", line)
        if m:
            got.append((text[i + 1].strip(), m[4].strip(), int(m[1] or m[3]), int(m[2]) if m[2] else None))
    return got


def totals(path):
    return re.search(r"^totals: (.*)$", open(path).read(), re.M)[1]


for option in "--dump-instr=yes", "--dump-instr=no":
    p = run(callgrind, "-q", option, f"--callgrind-out-file={here}/without", program)
    p = run(callgrind, option, "--collect-jumps=yes", f"--callgrind-out-file={here}/with", program)
    check(p.returncode == 0 and "left out" not in p.stderr and f"Collected : {totals(f'{here}/without')}\n" in p.stderr, p.stderr)
    place = ((lambda name: f"0x{labels[name]:x} {line_of[name]}") if option.endswith("yes") else lambda name: str(line_of[name]))
    wanted = [(place(a), place(b), n, of) for a, b, n, of in JUMPS]
    check(jumps(f"{here}/with") == wanted, option, jumps(f"{here}/with"), wanted)
    # everything else is as without jumps
    rest = re.sub(r"^(jcnd|jump)=.*\n.*\n", "", open(f"{here}/with").read(), flags=re.M)
    check(re.sub("pid: .*", "", rest) == re.sub("pid: .*", "", open(f"{here}/without").read()), option, rest)
    if shutil.which("callgrind_annotate"):
        p = subprocess.run(["callgrind_annotate", f"{here}/with"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(p.returncode == 0 and not p.stderr and f"{totals(f'{here}/with')} (100.0%)" in p.stdout.replace(",", ""),
              p.stdout, p.stderr)
p = run(callgrind, "-q", "--collect-jumps=yes", "--cache-sim=yes", f"--callgrind-out-file={here}/sim", program)
if "needs Zydis" not in p.stderr:
    check(p.returncode == 0 and len(jumps(f"{here}/sim")) == len(JUMPS), p.stderr)
    check("\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n" in open(f"{here}/sim").read() and
          totals(f"{here}/sim").split()[0] == totals(f"{here}/without"), totals(f"{here}/sim"))
if shutil.which("valgrind"):
    def sums(command):
        """What callgrind splits (its blocks may begin anywhere) is added up."""
        run(*command, "-q", "--dump-instr=yes", "--collect-jumps=yes", "--compress-pos=no", f"--callgrind-out-file={here}/out",
            program)
        got = collections.Counter()
        for a, b, n, _ in jumps(f"{here}/out"):
            got[a.split()[0], b.split()[0]] += n
        return got
    theirs, ours = sums(["valgrind", "--tool=callgrind"]), sums([callgrind])
    check(theirs == ours, theirs, ours)
finish()
