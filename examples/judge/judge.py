#!/usr/bin/env python3
"""A judge of programming contests that limits instructions instead of seconds.

usage: judge.py [--limit N] [--tare TARE] FOLDER -- PROGRAM [ARG]...

FOLDER has the tests: NAME.in is given to the program, and NAME.out is what it must print. The limit is
on the instructions of the program and of everything that it starts, together. The verdicts do not
depend on the machine's speed or load: the same program gets the same verdict, and the same number of
instructions, each time.

Prints a line for each test: NAME, the verdict, the instructions. Exit status 0: all tests passed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

LIMIT_EXCEEDED = 123        # tare stat's exit status
TARE_FAILED = 125


def run(tare, limit, program, given):
    """(verdict or None, what the program printed, instructions)"""
    with tempfile.NamedTemporaryFile() as result:
        done = subprocess.run([tare, "stat", "--clean-env", "--limit", f"instructions={limit}", "-e",
                               "instructions", "-j", "-o", result.name, "--", *program],
                              stdin=given, stdout=subprocess.PIPE, check=False)
        if done.returncode == TARE_FAILED:
            sys.exit(TARE_FAILED)
        count = json.load(result)["runs"][0]["counts"][0]["value"]
    if done.returncode == LIMIT_EXCEEDED:
        return "LIMIT EXCEEDED", done.stdout, count
    return "RUNTIME ERROR" if done.returncode else None, done.stdout, count


def main():
    parser = argparse.ArgumentParser(description="judges a program by instructions")
    parser.add_argument("--limit", type=int, default=1_000_000_000)
    parser.add_argument("--tare", default="tare")
    parser.add_argument("folder")
    parser.add_argument("program", nargs="+")
    o = parser.parse_args()
    passed = True
    for name in sorted(f[:-3] for f in os.listdir(o.folder) if f.endswith(".in")):
        with open(os.path.join(o.folder, name + ".in"), "rb") as given:
            verdict, printed, count = run(o.tare, o.limit, o.program, given)
        with open(os.path.join(o.folder, name + ".out"), "rb") as wanted:
            right = printed.split() == wanted.read().split()
        verdict = verdict or ("OK" if right else "WRONG ANSWER")
        passed &= verdict == "OK"
        print(f"{name}  {verdict}  {count:,} instructions")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
