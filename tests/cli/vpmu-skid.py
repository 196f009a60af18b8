#!/usr/bin/env python3
"""A virtual CPU's skid: its range, its seed, precise_ip by model, and throttling.

usage: vpmu-skid.py TARE PAGES PROGRAM
"""
import json, os, sys

from cli import check, finish, need_engine, run

tare, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
need_engine(tare)


def skids(model, flaw, low, high, precise, seed="1"):
    p = run(tare, "run", "--cpu", model, "--flaws", flaw, "--seed", seed, "--", program, low, high, precise)
    check(p.returncode == 0, model, flaw, seed, p.stdout[-300:], p.stderr)
    return [int(x) for x in p.stdout.split()]


# a range: all of it is used, and small numbers more often
got = skids("skylake", "skid=5:40", "5", "40", "3")
check(min(got) < 10 and max(got) > 30 and len(set(got)) > 15, got)
check(sum(x < 23 for x in got) > len(got) / 2, "small ones are more frequent", got)
check(skids("skylake", "skid=5:40", "5", "40", "3") == got, "the seed repeats")
check(skids("skylake", "skid=5:40", "5", "40", "3", seed="2") != got, "another seed")
# the default, an end alone, none at all, one longer than the way to a system call
check(len(set(skids("zen2", "skid", "0", "100", "0"))) > 20)
check(set(skids("nehalem", "skid=1", "0", "1", "2")) == {0, 1})
check(set(skids("core2", "skid=0", "0", "0", "2")) == {0})
check(set(skids("skylake", "skid=300:300", "300", "300", "3")) == {300})
for flaw, word in (("skid=", "MAX"), ("skid=5:", "5:"), ("skid=x", "skid=x"), ("skid=7:5", "7:5"),
                   ("skid=9999999", "1000000"), ("skid=-1", "skid=-1"), ("skid,skid", "twice"),
                   ("throttle=0", "1000000"), ("throttle=x", "throttle=x")):
    p = run(tare, "run", "--flaws", flaw, "--", "true")
    check(p.returncode == 125 and word in p.stderr, flaw, p.stderr)

# what the kernel's file says is what opens
for model, flaws, most in ("skylake", "skid", "3"), ("nehalem", "skid", "2"), ("zen2", "skid", "0"), ("zen2", "", "3"):
    p = run(tare, "run", "--cpu", model, "--flaws", flaws, "--", "cat", "/sys/devices/cpu/caps/max_precise")
    check(p.stdout == most + "\n", model, flaws, p.stdout, p.stderr)
planted = json.loads(run(tare, "run", "--cpu", "zen2", "--flaws", "skid=5:40,throttle", "--show-flaws").stdout)["planted"]
check([(x["cause"], x["amount"], x["one_of"]) for x in planted] == [("skid", 40, 5), ("throttle", 400, 0)], planted)

p = run(tare, "run", "--cpu", "zen2", "--flaws", "throttle=50", "--", program, "50")
check(p.returncode == 0, p.stdout, p.stderr)
finish()
