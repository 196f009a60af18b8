#!/usr/bin/env python3
"""Every line of docs/engine-pitfalls.md names tests that exist; P0 and P1 have one.

usage: pitfalls.py PAGE RUN.PY NAME...     RUN.PY lists the real programs
"""
import subprocess
import sys


def main(page, programs, *names):
    known = set(names)
    known |= set(subprocess.run([sys.executable, programs, "--list"], check=True, text=True,
                                capture_output=True).stdout.split())
    bad = rows = 0
    for n, line in enumerate(open(page), 1):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) != 4 or cells[0] not in ("P0", "P1", "P2"):
            continue
        rows += 1
        tests = [t.strip() for t in cells[3].split(",") if t.strip()]
        if not tests and cells[0] != "P2":
            print(f"{page}:{n}: {cells[1]}: no test")
            bad += 1
        for t in tests:
            if t not in known:
                print(f"{page}:{n}: no test is called {t}")
                bad += 1
    print(f"{rows} items")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
