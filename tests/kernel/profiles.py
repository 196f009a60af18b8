#!/usr/bin/env python3
"""Five profiles recorded in the guest on its PMU agree to the instruction.

usage: tests/kernel/profiles.py TARE ARM64-BUILD

Boots the guest's suite "record" (record-check.c), takes the files it sends and
gives them to this machine's `tare aggregate`.
"""
import json, os, pathlib, subprocess, sys, tempfile

tare, build = sys.argv[1:]
here = pathlib.Path(__file__).parent
bad = 0


def check(got, want, what):
    global bad
    if got != want:
        print(f"{what}: got {got}, want {want}")
        bad += 1


with tempfile.TemporaryDirectory() as files:
    boot = subprocess.run([here / "boot", build, "bookworm", "cortex-a72", "record"],
                          env={**os.environ, "TARE_GUEST_FILES": files},
                          capture_output=True, text=True)
    if boot.stdout.startswith("1..0 # SKIP"):
        print(boot.stdout.removeprefix("1..0 # SKIP").strip())
        sys.exit(77)
    print(boot.stdout)
    if boot.returncode or "\nnot ok" in boot.stdout:
        sys.exit("the guest's tests failed")
    profiles = sorted(str(p) for p in pathlib.Path(files).iterdir())
    run = subprocess.run([tare, "aggregate", "-j", *profiles], capture_output=True, text=True)
    print(run.stderr, end="")
    check(run.returncode, 0, "exit status of tare aggregate")
    result = json.loads(run.stdout)

check([(p["counter"], p["provenance"], p["events"], p["complete"]) for p in result["profiles"]],
      [("instructions:u", "raw", 40, True)] * 5, "the profiles")
check(result["intervals"], 79, "sample intervals")
check(result["largest_ranges"], [{"value": 0, "count": 79}], "spread over five runs")
check(result["total_max"] - result["total_min"], 0, "spread of the total")
# The outer intervals run 1,000 rounds of eight instructions more each time.
durations = [d["value"] for d in result["largest_durations"]]
check([b - a for a, b in zip(durations, durations[1:])], [8000] * 9, "steps between intervals")
print(f"{len(profiles)} profiles, {bad} checks failed")
sys.exit(bad != 0)
