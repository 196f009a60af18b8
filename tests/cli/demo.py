#!/usr/bin/env python3
"""make demo shows what it promises. usage: demo.py TARE"""
import os, re, sys
from cli import check, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
need_engine(tare)
p = run(f"{here}/../../tools/demo", tare)
check(p.returncode == 0, p.returncode, p.stdout, p.stderr)
check(re.search(r"[\d,]+ ±0 +instructions +exact", p.stdout), "gzip counts ±0", p.stdout)
check(re.search(r"instructions:u .*\+0\.01\d? %\) +exact +regression", p.stdout), p.stdout)
check("exit status: 1" in p.stdout, p.stdout)
runs = re.findall(r"^instructions:u (\d+) +instructions-minus-irqs:u (\d+)", p.stdout, re.M)
check(len(runs) == 5 and len({r[0] for r in runs}) > 1 and len({r[1] for r in runs}) == 1,
      "noisy and still", p.stdout)
# Counts that differ are explained: the net is that of the same CPU without flaws, and where this
# machine's CPU has another one, the reason is given.
exact = re.search(r"^The same CPU without the flaw counts (\d+)\.$", p.stdout, re.M)
check(exact and {exact[1]} == {r[1] for r in runs}, "the net is exact", p.stdout)
own = re.search(r"^  instructions:u +[\d,]+ ±0 +([\d,]+) ±0", p.stdout, re.M)[1].replace(",", "")
says = ("That is what tare stat counted above" if exact and own == exact[1] else
        f"Above, tare stat counted {own}: on this machine's own CPU")
check(says in p.stdout, says, p.stdout)
check("callgrind: not installed" in p.stdout or "which is not the same: it" in p.stdout, p.stdout)
finish()
