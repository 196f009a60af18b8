#!/usr/bin/env python3
"""tare annotate where a call leads elsewhere: through the PLT, to an ifunc, into a program that is executed. The
functions are assembly, so every count is known.
usage: annotate-links.py TARE
"""
import json, os, shutil, sys, tempfile
from cli import check, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-links")
os.chdir(folder)


def function(name, *body, binding=".globl"):
    return "\n".join([f"\t.text\n\t{binding} {name}\n\t.type {name}, @function\n{name}:\n\t.cfi_startproc",
                      *(f"\t{line}" if not line.endswith(":") else line for line in body),
                      f"\t.cfi_endproc\n\t.size {name}, .-{name}\n"])


def link(name, text, *options):
    """No -fcf-protection: a stub of the PLT is one jump. Bound at the start: each call takes the same way."""
    with open(f"{name}.s", "w") as f:
        f.write(text + '\t.section .note.GNU-stack,"",@progbits\n')
    p = run("cc", "-Wl,-z,now", f"{name}.s", "-o", name, *options)
    check(p.returncode == 0, name, p.stderr)


def annotate(*command, calls):
    """{(function, object): row}, of the report."""
    options = ["--calls"] if calls else []
    p = run(tare, "annotate", *options, "-j", "--top", "1000000", "--report", "report", "--", *command)
    check(p.returncode == 0, command, p.returncode, p.stderr)
    with open("report") as f:
        report = json.load(f)
    sums = sum(row["counts"]["instructions"] for row in report["rows"])
    check(sums == report["events"][0]["total"], command, "the sum is not the total", sums)
    return {(row["function"], os.path.basename(row["object"])): row for row in report["rows"]}


def known(rows, name, where, executed, calls=None, inclusive=None):
    row = rows.get((name, where))
    check(row and row["counts"]["instructions"] == executed, where, name, executed, row)
    if row and "calls" in row:
        check(calls is None or row["calls"] == calls, where, name, "calls", calls, row)
        check(inclusive is None or row["inclusive"]["instructions"] == inclusive, where, name, inclusive, row)


LOOP = ("push %rbx", "mov $1000, %ebx", "1:", "mov %ebx, %edi", "call {}@PLT", "dec %ebx", "jnz 1b", "xor %eax, %eax",
        "pop %rbx", "ret")          # 5 + 4 * 1000


def main(callee):
    return function("main", *(line.format(callee) for line in LOOP))


def plt():
    link("libtwice.so", function("twice", "lea (%rdi,%rdi), %eax", "ret"), "-shared", "-nostdlib")
    link("plt", main("twice"), "./libtwice.so", "-Wl,-rpath,$ORIGIN")
    for calls in (False, True):
        rows = annotate("./plt", calls=calls)
        known(rows, "main", "plt", 4005, calls=1, inclusive=7005)
        known(rows, "twice@plt", "plt", 1000, calls=1000, inclusive=3000)
        known(rows, "twice", "libtwice.so", 2000, calls=1000, inclusive=2000)


def ifunc():
    """The resolver has two names, of which one is that of the ifunc."""
    text = main("pick") + function("implementation", "nop", "nop", "ret") + \
        function("resolver", "lea implementation(%rip), %rax", "ret", binding=".local") + \
        "\t.globl pick\n\t.type pick, @gnu_indirect_function\n\t.set pick, resolver\n"
    # (gcc links static programs without .eh_frame_hdr: the engine makes a table of .eh_frame.)
    for name, options in (("ifunc", ()), ("ifunc-static", ("-static", "-Wl,--eh-frame-hdr")), ("ifunc-frames", ("-static",))):
        link(name, text, *options)
        for calls in (False, True):
            rows = annotate(f"./{name}", calls=calls)
            known(rows, "main", name, 4005, calls=1, inclusive=8005)
            known(rows, "pick@plt", name, 1000, calls=1000, inclusive=4000)
            known(rows, "implementation", name, 3000, calls=1000, inclusive=3000)
            known(rows, "pick", name, 2, calls=1)


def jumped():
    """A longjmp out of a recursion: what runs afterwards is no part of it, also in a static program."""
    text = """#include <setjmp.h>
        static jmp_buf place;
        volatile long sum;
        __attribute__((noinline)) void after(long n) { for (long i = 0; i < n; i++) sum += i; }
        __attribute__((noinline)) void deep(int n) { if (!n) longjmp(place, 1); deep(n - 1); after(1); }
        int main(void) { if (!setjmp(place)) deep(20); after(100000); return 0; }
        """
    with open("jumped.c", "w") as f:
        f.write(text)
    for name, options in (("jumped", ()), ("jumped-static", ("-static",)), ("jumped-pie", ("-static-pie",))):
        p = run("cc", "-O1", "-o", name, "jumped.c", *options)
        check(p.returncode == 0, name, p.stderr)
        rows = annotate(f"./{name}", calls=True)
        deep, after, main = (rows[(f, name)]["inclusive"]["instructions"] for f in ("deep", "after", "main"))
        check(deep < 10000 < 300000 < after < main, name, deep, after, main)
        check(rows[("deep", name)]["calls"] == 21 and rows[("after", name)]["calls"] == 1, name, rows[("deep", name)])


def executed():
    """One process that becomes another program, and then itself again."""
    count = ("mov ${}, %ecx", "1:", "dec %ecx", "jnz 1b", "ret")		# 2 + 2 * n
    become = ("sub $8, %rsp", "mov 8(%rsi), %rax", "mov %rax, path(%rip)", "lea 8(%rsi), %rbx", "call {}",
              "mov path(%rip), %rdi", "test %rdi, %rdi", "jz 2f", "mov %rbx, %rsi", "call execv@PLT",
              "2:", "xor %eax, %eax", "add $8, %rsp", "ret")
    for name, n in (("before", 1000), ("after", 3000)):
        link(f"x-{name}", function("main", *(line.format(name) for line in become)) +
             function(name, *(line.format(n) for line in count)) + "\t.local path\n\t.comm path, 8, 8\n")
    for calls in (False, True):
        rows = annotate("./x-before", "./x-after", calls=calls)
        known(rows, "before", "x-before", 2002, calls=1, inclusive=2002)
        known(rows, "after", "x-after", 6002, calls=1, inclusive=6002)
        known(rows, "main", "x-before", 10, calls=1)
        known(rows, "main", "x-after", 11, calls=1, inclusive=6013)
        rows = annotate("./x-before", "./x-after", "./x-before", "./x-before", calls=calls)
        known(rows, "before", "x-before", 3 * 2002, calls=3, inclusive=3 * 2002)
        known(rows, "after", "x-after", 6002, calls=1)
        known(rows, "main", "x-before", 2 * 10 + 11, calls=3)


plt()
ifunc()
jumped()
executed()
shutil.rmtree(folder)
finish()
