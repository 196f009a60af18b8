#!/usr/bin/env python3
"""Names of addresses of processes that live: moved, deleted and replaced programs, libraries, the vdso, JIT code, and
other namespaces.

usage: process.py SYMBOL-AT READER
"""
import collections, ctypes, os, pathlib, shutil, signal, subprocess, sys, tempfile
from named import check, end, folder, have, run

SYMBOL_AT, READER = sys.argv[1:3]
Found = collections.namedtuple("Found", "object note at name linkage start size kind declared place inlines")
MAIN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int work(int x) { return x + 1; }
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!library || memory == MAP_FAILED)
		return 1;
	printf("%p %p %p %p %d\\n", (void *)work, dlsym(library, "in_library"), dlsym(RTLD_DEFAULT, "qsort"), memory,
	       (int)getpid());
	fflush(stdout);
	getchar();
	return 0;
}
"""
LIBRARY = "int in_library(int x) { return x * 3; }\n"


def ask(pid, *addresses, options=()):
    out = run(SYMBOL_AT, "-r", READER, *options, "-P", pid, input="\n".join(addresses))
    return [Found(*f[:2], int(f[2], 16), f[3], f[4], int(f[5], 16), int(f[6]), *f[7:]) for f in
            (line.split("\t") for line in out.splitlines())]


def start(*command, **how):
    p = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)
    words = p.stdout.readline().split()
    if len(words) != 5:
        print("failed: the program says", words)
        sys.exit(1)
    return p, words


def stop(p):
    p.communicate("\n")


def build(tmp, *flags):
    (tmp / "p.c").write_text(MAIN)
    (tmp / "l.c").write_text(LIBRARY)
    run("gcc", "-g", "-O1", *flags, "-o", tmp / "program", tmp / "p.c", "-ldl")
    run("gcc", "-g", "-O1", "-shared", "-fPIC", "-o", tmp / "library.so", tmp / "l.c")
    return tmp / "program", tmp / "library.so"


def alive(tmp, *flags):
    program, library = build(tmp, *flags)
    p, (work, inside, sort, memory, _) = start(program, library)
    vdso = next((line.split("-")[0] for line in open(f"/proc/{p.pid}/maps") if line.endswith("[vdso]\n")), None)
    got = ask(p.pid, work, inside, sort, memory, "10", vdso or "10")
    at = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", program).splitlines() if len(line.split()) == 3}
    check(got[0].object == str(program) and got[0].name == "work" and got[0].at == at["work"] and
          got[0].place.startswith(f"{tmp}/p.c:8:"), flags, got[0])
    check(got[1].object == str(library) and got[1].name == "in_library" and got[1].place.startswith(f"{tmp}/l.c:1:"),
          flags, got[1])
    check(got[2].name == "qsort" and "libc" in got[2].object, flags, got[2])
    check(got[3].object == "[anon]" and got[3].kind == "none" and got[3].at == int(memory, 16), flags, got[3])
    check(got[4].object == "?" and got[4].kind == "none", flags, got[4])
    check(not vdso or got[5].object == "[vdso]" and got[5].at == 0, flags, got[5])
    stop(p)


def deleted(tmp):
    """The program is found through /proc/PID/exe; a library through /proc/PID/map_files, by root."""
    program, library = build(tmp)
    p, (work, inside, *_) = start(program, library)
    program.unlink()
    program.write_text("another file")
    library.unlink()
    may = subprocess.run(["sh", "-c", f"cat /proc/{p.pid}/map_files/* | head -c 1"], capture_output=True).stdout != b""
    got = ask(p.pid, work, inside)
    check(got[0].object == str(program) and got[0].name == "work" and got[0].note == "?", "a deleted program", got[0])
    if may:
        check(got[1].name == "in_library", "a deleted library", got[1])
    else:
        check(got[1].kind == "none" and "deleted" in got[1].note, "a deleted library, as a user", got[1])
    stop(p)


def deleted_with_debug_file(tmp):
    """What ran is gone, and its build-id known: the debug file has the names."""
    program, _ = build(tmp)
    notes = run("readelf", "-n", program)
    identity = next(line.split()[-1] for line in notes.splitlines() if "Build ID" in line)
    debug = tmp / "debug" / ".build-id" / identity[:2]
    debug.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program, debug / f"{identity[2:]}.debug")
    address = next(line.split()[0] for line in run("nm", program).splitlines() if line.endswith(" T work"))
    for other in (None, "another file"):
        program.unlink()
        if other:
            program.write_text(other)
        out = run(SYMBOL_AT, "-r", READER, "-d", tmp / "debug", "-b", identity, program, input=address)
        fields = out.splitlines()[0].split("\t")
        check(fields[1] == "work" and fields[7].startswith(f"{tmp}/p.c:8:"), "by the build-id", out)
        out = run(SYMBOL_AT, "-r", READER, "-d", tmp / "none", "-b", identity, program, input=address)
        check("\tnone\t" in out and "no names" in out, "no debug file", out)
        program.write_text("x")


def jit(tmp):
    program, library = build(tmp)
    p, (work, _, _, memory, _) = start(program, library)
    name = pathlib.Path(f"/tmp/perf-{p.pid}.map")
    try:
        name.write_text(f"{int(memory, 16) + 16:x} 10 compiled code of x.js:3\n{int(work, 16):x} 4 not asked for\n")
        got = ask(p.pid, memory, f"{int(memory, 16) + 24:x}", work)
    finally:
        name.unlink()
    check(got[0].object == "[jit]" and got[0].kind == "none", got[0])
    check(got[1].name == "compiled code of x.js:3" and got[1].start == int(memory, 16) + 16 and got[1].size == 16, got[1])
    check(got[2].name == "work", "a file has its own names", got[2])
    stop(p)


def namespaces(tmp):
    """The process has its own /tmp, its own numbers, and a file where there is none outside."""
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return          # not root: there is nothing to see
    program, library = build(tmp)
    inner = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp")) / "inner"      # seen there also if the build is in /tmp
    inner.mkdir()
    # The shell is number 1 there, and the program has written its map in the /tmp of its own.
    script = (f"mount -t tmpfs none {inner} && cp {program} {inner}/moved && cp {library} {inner}/ && "
              f"mount -t tmpfs none /tmp && exec {inner}/moved {inner}/library.so")
    p, (work, inside, _, memory, number) = start("unshare", "--mount", "--pid", "--fork", "sh", "-c", script)
    children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()
    pid = children[0]
    check(number == "1", "its number in the namespace", number)
    pathlib.Path(f"/proc/{pid}/root/tmp/perf-1.map").write_text(f"{int(memory, 16):x} 10 inner code\n")
    got = ask(pid, work, inside, memory)
    check(not (inner / "moved").exists() and got[0].object.endswith("/inner/moved") and got[0].name == "work", got[0])
    check(got[1].name == "in_library", got[1])
    check(got[2].name == "inner code", got[2])
    stop(p)
    shutil.rmtree(inner.parent)


for case in ((alive,), (alive, "-no-pie", "-fno-pie"), (alive, "-Wl,-z,noseparate-code"), (deleted,),
             (deleted_with_debug_file,), (jit,), (namespaces,)):
    with folder() as name:
        case[0](pathlib.Path(name).resolve(), *case[1:])
end()
