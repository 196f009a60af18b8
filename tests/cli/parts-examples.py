#!/usr/bin/env python3
"""examples/parts: each counts only its own work. usage: parts-examples.py TARE LIBTARE SOURCE"""
import json, os, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run, skipped

tare, library, source = map(os.path.abspath, sys.argv[1:4])
need_engine(tare)
here = os.path.join(source, "examples/parts")
tmp = tempfile.mkdtemp()


def count(*command, delay="-1", **how):
    out = os.path.join(tmp, "out")
    p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "-D", delay, "-j", "-o", out, "--",
            *command, **how)
    check(p.returncode == 0, p)
    r = json.load(open(out))["runs"][0]
    return r["counts"][0]["value"], r


def built(compiler, name, *flags):
    exe = os.path.join(tmp, name.split(".")[0])
    p = run(compiler, "-O2", "-I", os.path.join(source, "include"), os.path.join(here, name), "-o", exe, *flags)
    return exe if p.returncode == 0 else None, p.stderr


cc = shutil.which("cc") or shutil.which("gcc")
exe, said = built(cc, "sort.c")
check(exe, said)
part, r = count(exe)
whole, _ = count(exe, delay="0")
check(r["parts"]["on"] == r["parts"]["off"] == 1, r["parts"])
check(100000 < part < whole, f"sort: {part} of {whole}")
check(count(exe)[0] == part, "sort: the same every time")

cxx = shutil.which("c++")
exe, said = built(cxx, "benchmark.cc", "-lbenchmark", "-lpthread") if cxx else (None, "no C++ compiler")
if not exe and "benchmark/benchmark.h" in said or not cxx:
    skipped("google-benchmark", "libbenchmark-dev is not installed")
else:
    check(exe, said)
    part, r = count(exe)
    check(r["parts"]["on"] >= 20 and any(d["name"] == "sort" for d in r["parts"]["dumps"]), r["parts"])
    check(count(exe)[0] == part > 20 * 1000, f"benchmark: {part}")

# The requests as valgrind's own header makes them.
with open(os.path.join(tmp, "requests.c"), "w") as f:
    f.write("""#include <valgrind/callgrind.h>
        static volatile int x;
        static void rounds(int n) { for (int i = 0; i < n; i++) x++; }
        int main(int c, char **v) {
            rounds(1000); CALLGRIND_START_INSTRUMENTATION; rounds(1000); CALLGRIND_STOP_INSTRUMENTATION; rounds(77);
            CALLGRIND_START_INSTRUMENTATION; CALLGRIND_TOGGLE_COLLECT; rounds(500); CALLGRIND_TOGGLE_COLLECT;
            CALLGRIND_DUMP_STATS_AT("here"); CALLGRIND_ZERO_STATS; CALLGRIND_DUMP_STATS;
            return RUNNING_ON_VALGRIND; }""")
exe, said = built(cc, os.path.join(tmp, "requests.c"))
if not exe and "valgrind/callgrind.h" in said:
    skipped("valgrind's header", "valgrind is not installed")
else:
    check(exe, said)
    part, r = count(exe)
    check([d["name"] for d in r["parts"]["dumps"]] == ["here", ""] and r["parts"]["zeroed"] == 1, r["parts"])
    dump = r["parts"]["dumps"][0]["counts"][0]["value"]
    check(4000 <= dump < 10000 and r["parts"]["on"] == r["parts"]["off"] + 1 == 3, r["parts"])

libs = os.path.join(tmp, "libs")
os.mkdir(libs)
os.symlink(library, os.path.join(libs, "libtare.so.0"))
env = dict(os.environ, LD_LIBRARY_PATH=libs, PYTHONHASHSEED="0")
python = [sys.executable, os.path.join(here, "parse.py")]
check(subprocess.run(python, env=env).returncode == 0, "natively")
part, r = count(*python, env=env)
whole, _ = count(*python, env=env, delay="0")
check(r["parts"]["dumps"][0]["name"] == "parse" and part < whole / 4, f"parse.py: {part} of {whole}")
more, _ = count(*python, "2000", env=env)
check(1.5 * part < more < 2.5 * part, f"parse.py: {part}, twice as many rows {more}")

shutil.rmtree(tmp)
finish()
