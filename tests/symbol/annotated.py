#!/usr/bin/env python3
"""`tare annotate` names the code of programs that make code, delete or replace their own file, or are stripped.

usage: annotated.py TARE
"""
import json, pathlib, subprocess, sys
from named import check, end, folder, run

TARE = sys.argv[1]
SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n)
{
	long sum = 0;
	for (volatile long i = 0; i < n; i++)
		sum += i;
	return sum;
}
/* mov %rdi, %rax; 1: dec %rax; jnz 1b; ret */
static const unsigned char loop[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };
static int jit(void)
{
	char name[64];
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory + 64, loop, sizeof(loop));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0)
		return 1;
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	puts(name);
	FILE *f = fopen(name, "w");
	fprintf(f, "%lx %x jitted function\n", (long)(memory + 64), (int)sizeof(loop));
	fclose(f);
	((long (*)(long))(memory + 64))(1000);
	return munmap(memory, 4096);
}
int main(int argc, char **argv)
{
	const char *what = argv[1];
	if (!strcmp(what, "jit"))
		return jit();
	if (!strcmp(what, "delete"))
		unlink(argv[0]);
	if (!strcmp(what, "replace"))
		rename(argv[2], argv[0]);
	return work(1000) < 0;
}
"""


def annotate(*command):
    """The JSON, what the command wrote, and {object: why it has no names}."""
    report, profile = tmp / "report", tmp / "profile"
    out = run(TARE, "annotate", "-j", "--top", "1000000", "-o", profile, "--report", report, "--", *command)
    objects = json.loads(profile.read_text())["objects"]
    return json.loads(report.read_text()), out, {o["path"]: o["names"] for o in objects}


def count(result, name):
    return sum(row["counts"]["instructions"] for row in result["rows"] if row["function"] == name)


def same_total(result):
    total = sum(row["counts"]["instructions"] for row in result["rows"])
    check(total == result["events"][0]["total"], "the sum is not the total", total)


with folder() as name:
    tmp = pathlib.Path(name).resolve()
    (tmp / "a.c").write_text(SOURCE)
    program = tmp / "program"
    run("gcc", "-O1", "-g", "-o", program, tmp / "a.c")
    result, said, _ = annotate(program, "jit")
    pathlib.Path(said.strip()).unlink()
    check(count(result, "jitted function") == 2002, "JIT code", count(result, "jitted function"))
    same_total(result)
    plain, _, notes = annotate(program, "run")
    check(count(plain, "work") > 4000, "work", count(plain, "work"))
    check(not notes[str(program)], notes)
    same_total(plain)
    # A stripped program: the bounds of the function are known.
    stripped = tmp / "stripped"
    run("objcopy", "--strip-all", program, stripped)
    result, *_ = annotate(stripped, "run")
    start = next(line.split()[0] for line in run("nm", program).splitlines() if line.endswith(" T work"))
    got, wanted = count(result, f"stripped+{int(start, 16):#x}"), count(plain, "work")
    check(got == wanted, "a stripped program", got, wanted)
    # _init and _fini have no entry in .eh_frame, but sections of their own.
    for special in ("_init", "_fini"):
        start = next(line.split()[0] for line in run("nm", program).splitlines() if line.lower().endswith(f" t {special}"))
        got, wanted = count(result, f"stripped+{int(start, 16):#x}"), count(plain, special)
        check(got == wanted > 0, "a stripped program", special, got, wanted)
    # Lines are read only where they are wanted: what is wrong with them does not matter to a table of functions.
    broken, section = tmp / "broken", tmp / "section"
    section.write_bytes(b"\xff" * 64)
    run("objcopy", "--update-section", f".debug_info={section}", program, broken)
    for how, says in (((), False), (("--by", "object"), False), (("--by", "line"), True), (("-f", "main"), True),
                      (("-o", tmp / "profile", "--format", "collapsed"), False), (("-o", tmp / "profile"), True)):
        p = subprocess.run([TARE, "annotate", *how, "--", broken, "run"], capture_output=True, text=True)
        check(p.returncode == 0 and ("is broken" in p.stderr) == says, "broken DWARF", how, p.stderr)
        check("work" in p.stderr or how, "a function of a file with broken DWARF", p.stderr)
    # Deleted, and replaced by another one, while it runs: no names, and it is said.
    for way, how in (("delete", ()), ("replace", (tmp / "other",))):
        path = tmp / way
        run("cp", program, path)
        run("cp", "/bin/true", tmp / "other")
        result, _, notes = annotate(path, way, *how)
        same_total(result)
        check(count(result, "work") == 0, way, "names of a file that is gone")
        check("no names" in notes[str(path)], way, notes)
    # tare-symbols cannot be loaded: what to install is said, once.
    alone = tmp / "alone"
    alone.mkdir()
    run("cp", TARE, alone / "tare")
    (alone / "tare-symbols").write_text("#!/bin/sh\nexit 127\n")
    (alone / "tare-symbols").chmod(0o755)
    p = subprocess.run([alone / "tare", "annotate", "--", program, "run"], capture_output=True, text=True)
    check(p.returncode == 0 and p.stderr.count("no names of functions") == 1 and "install elfutils" in p.stderr and
          "program+0x" in p.stderr, "without libdw", p.stderr)
end()
