#!/usr/bin/env python3
"""examples/python/counter.py: the library from Python, with ctypes.

usage: python-example.py TARE LIBTARE.so SOURCE [engine]
The structs that the example declares have the layout of the headers; under `tare run` it counts,
twice the same; an error has its name, its text and its remedy.
"""
import ctypes
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402
from cli import check, run  # noqa: E402

TARE, LIBRARY, SOURCE = map(os.path.abspath, sys.argv[1:4])
EXAMPLE = os.path.join(SOURCE, "examples/python/counter.py")
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "LIBTARE": LIBRARY, "PYTHONHASHSEED": "0",
       "PYTHONDONTWRITEBYTECODE": "1"}


def layouts():
    spec = importlib.util.spec_from_file_location("counter", EXAMPLE)
    sys.dont_write_bytecode = True
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    text, expected = "#include <tare/tare.h>\n#include <stdio.h>\nint main(void) {\n", ""
    for struct, c in (("tare_why", example.Why), ("tare_sample", example.Sample),
                      ("tare_overhead", example.Overhead)):
        text += f'printf("{struct} %zu\\n", sizeof(struct {struct}));\n'
        expected += f"{struct} {ctypes.sizeof(c)}\n"
        for field in c._fields_:
            text += f'printf("{field[0]} %zu\\n", offsetof(struct {struct}, {field[0]}));\n'
            expected += f"{field[0]} {getattr(c, field[0]).offset}\n"
    with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
        subprocess.run(["cc", "-xc", "-", "-w", "-c", "-I", f"{SOURCE}/include", "-o", f"{tmp}/a.o"],
                       input=text + "return 0; }\n", text=True, check=True)
        subprocess.run(["cc", f"{tmp}/a.o", "-o", f"{tmp}/a", "-Wl,--unresolved-symbols=ignore-all"],
                       check=True)
        said = run(f"{tmp}/a")
    check(said.stdout == expected, "layouts:", said.stdout, expected)


def counting():
    command = (TARE, "run", "--", sys.executable, EXAMPLE)
    p = run(*command, env=ENV)
    check(p.returncode == 0, "tare run:", p.stdout, p.stderr)
    counts = re.findall(r"^fibonacci\((\d+)\): (\d+) instructions:u$", p.stdout, re.M)
    check([n for n, _ in counts] == ["10", "10", "15"], p.stdout)
    check(len(counts) == 3 and 0 < int(counts[0][1]) < int(counts[2][1]), p.stdout)
    check("read by rdpmc" in p.stdout and p.stdout.endswith(" instructions:u, exact\n"), p.stdout)
    again = run(*command, env=ENV)
    check(again.stdout == p.stdout, "two runs differ:", p.stdout, again.stdout)


layouts()
p = run(sys.executable, EXAMPLE, "wall-time", env=ENV)
check(p.returncode == 0 and "read by clock" in p.stdout, "wall-time:", p.stdout, p.stderr)
p = run(sys.executable, EXAMPLE, "no-such-event", env=ENV)
check(p.returncode == 1 and re.match("EVENT_UNKNOWN: .*no-such-event", p.stderr) and "tare list" in p.stderr,
      "an error:", p.stdout, p.stderr)
if "engine" in sys.argv:
    counting()
cli.finish()
