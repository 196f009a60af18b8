#!/usr/bin/env python3
"""tools/kernel-counts: what it writes for a small kernel, and what it refuses.

usage: kernel-counts.py KERNEL-COUNTS SECTION.INC
"""
import os
import shutil
import subprocess
import sys
import tempfile

GOOD = """//@ about two cases
//@ loops 10
//@ need sse2
#include "section.inc"
	KERNEL	k
	BODY
	.irp	op, add, sub
	CASE	\\op\\()q	%rax, (%rsi)	//= load store
	.endr
	CASE
	pushq	%rax			//= store
	popq	%rax			//= load
	jz	1f			//= cond
	ud2				//= x0
1:
	BODY_END
	RETURN
	IMAGE
	KERNEL_END k
"""
WANTED = [
    '{ "addq %rax, (%rsi)", { 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } }',
    '{ "subq %rax, (%rsi)", { 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } }',
    # never reached: not in the text
    '{ "pushq %rax; popq %rax; jz 1f", { 3, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } }',
    # two of the loop's end, whose branch is taken
    '.each = { 7, 2, 2, 1, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }',
    '.loops = 10', '.n_cases = 3', '.needs = "sse2"', '.cells = NULL',
]
# what is replaced, by what, what is said
REFUSED = [
    ("//@ about two cases\n", "", "no //@ about"),
    ("//@ loops 10\n", "", "no //@ loops"),
    ("//@ loops 10\n", "//@ loops many\n", "not a number"),
    ("//= cond\n", "//= sometimes\n", "unknown word 'sometimes'"),
    ("\tBODY\n", "\tBODY\n\tnop\n", "between BODY and the first CASE"),
    ("\tBODY_END\n", "\tCASE\n\tBODY_END\n", "an empty case"),
    ("\tpopq\t", "\tnop; popq\t", "one instruction a line"),
]


def run(tool, folder, text):
    source, output = os.path.join(folder, "k.S"), os.path.join(folder, "out.c")
    with open(source, "w") as f:
        f.write(text)
    done = subprocess.run([tool, output, source], capture_output=True, text=True)
    return done, open(output).read() if done.returncode == 0 else ""


def main(tool, section):
    bad = []
    with tempfile.TemporaryDirectory(prefix="kernel-counts") as folder:
        shutil.copy(section, folder)
        done, table = run(tool, folder, GOOD)
        bad += [f"not written: {w}\n{done.stderr}" for w in WANTED if w not in table]
        for old, new, said in REFUSED:
            assert old in GOOD
            done, _ = run(tool, folder, GOOD.replace(old, new))
            if done.returncode != 1 or said not in done.stderr or "k.S" not in done.stderr:
                bad.append(f"{new!r} for {old!r}: status {done.returncode}: {done.stderr}")
    print(*bad, f"{len(WANTED) + len(REFUSED)} checks, {len(bad)} failed", sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
