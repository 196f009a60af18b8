#!/usr/bin/env python3
"""gprofng, a profiler that samples hardware events by overflow signals, on the virtual PMU.

usage: vpmu-gprofng.py TARE HOT
"""
import os, re, shutil, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import check, finish, need_engine, run, skip  # noqa: E402

tare, hot = map(os.path.abspath, sys.argv[1:])
need_engine(tare)
if not shutil.which("gprofng"):
    skip("gprofng is not installed (package binutils)")
folder = tempfile.mkdtemp(prefix="tare-gprofng.")
try:
    experiment = os.path.join(folder, "test.er")
    p = run(tare, "run", "--cpu", "skylake", "--kernel-as-user", "--", "gprofng", "collect", "app", "-p", "off",
            "-h", "insts,100003", "-o", experiment, hot, cwd=folder)
    text = run("gprofng", "display", "text", "-functions", experiment).stdout
    shares = {m[2]: float(m[1]) for m in re.finditer(r"^ *\d+ +([\d.]+) +(\S+)$", text, re.M)}
    check(abs(shares.get("hot", 0) - 75) < 1.5 and abs(shares.get("warm", 0) - 25) < 1.5, text, p.stdout, p.stderr)
finally:
    shutil.rmtree(folder)
finish()
