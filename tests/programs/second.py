#!/usr/bin/env python3
"""The engine against second tools, on a workload too large for single-stepping.

usage: second.py PROGRAM

PROGRAM (engine-second, static) runs for 100 and for 300 rounds; what the 200
rounds between them add must be the same number for the engine and the tools,
except where a tool's own definition differs, and then by exactly that:

    exp-bbv   counts as hardware does: equal
    lackey    counts each iteration of rep stosb, and the check that ends it:
              100 more a round

Whole runs are not compared: the tools change auxv, environment and cpuid, so
that start-up takes another path (shown below the line).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402

ROUNDS = (100, 300)


def engine(command):
    return counting.engine(command, ["instructions"]).counts["instructions"]


def bbv(command):
    with tempfile.TemporaryDirectory() as d:
        got = subprocess.run(["valgrind", "--tool=exp-bbv", f"--bb-out-file={d}/bb",
                              f"--pc-out-file={d}/pc", "--interval-size=1000000000", *command],
                             env=counting.ENV, capture_output=True, text=True)
    found = re.search(r"Total instructions: (\d+)", got.stderr)
    return int(found[1])


def lackey(command):
    got = subprocess.run(["valgrind", "--tool=lackey", *command], env=counting.ENV,
                         capture_output=True, text=True)
    found = re.search(r"guest instrs:\s*([\d,]+)", got.stderr)
    return int(found[1].replace(",", ""))


def main(program):
    if not shutil.which("valgrind"):
        counting.skip("valgrind is not installed")
    counting.need_engine()
    rounds = ROUNDS[1] - ROUNDS[0]
    counts = {tool.__name__: [tool([program, str(r)]) for r in ROUNDS]
              for tool in (engine, bbv, lackey)}
    between = {name: c[1] - c[0] for name, c in counts.items()}
    for name, c in counts.items():
        print(f"{name:8} {between[name]:12} between, {c[0]:12} in the first")
    bad = 0
    if between["bbv"] != between["engine"]:
        print(f"exp-bbv differs by {between['bbv'] - between['engine']}")
        bad = 1
    if between["lackey"] - between["engine"] != 100 * rounds:
        print(f"lackey differs by {between['lackey'] - between['engine']}, "
              f"{100 * rounds} explained")
        bad = 1
    return bad


if __name__ == "__main__":
    try:
        sys.exit(main(os.path.abspath(sys.argv[1])))
    except counting.Failed as e:
        sys.exit(str(e))
