#!/usr/bin/env python3
"""make demo shows what it promises. usage: demo.py TARE"""
import os, re, sys
from cli import check, finish, run

tare = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "true")
if p.returncode:
    print("skipped:", p.stderr.splitlines()[0])
    sys.exit(77)
p = run(f"{here}/../../tools/demo", tare, timeout=300)
check(p.returncode == 0, p.returncode, p.stdout, p.stderr)
check(re.search(r"[\d,]+ ±0 +instructions +exact", p.stdout), "gzip counts ±0", p.stdout)
check(re.search(r"instructions:u .*\+0\.01\d? %\) +exact +regression", p.stdout), p.stdout)
check("exit status: 1" in p.stdout, p.stdout)
runs = re.findall(r"^instructions:u (\d+) +instructions-minus-irqs:u (\d+)", p.stdout, re.M)
check(len(runs) == 5 and len({r[0] for r in runs}) > 1 and len({r[1] for r in runs}) == 1,
      "noisy and still", p.stdout)
finish()
