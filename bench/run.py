#!/usr/bin/env python3
"""Measures what counting costs, interleaved with native runs in the same minutes.

usage: run.py [--tare PATH] [--rounds N] [--programs A,B] [--no-peers] [--slow-peers]
              [--scale S] [-o FILE.md] [--json FILE]

User plus system CPU time of the whole tree of processes, minimum of N rounds
(default 5). In each round every program runs natively, under the engine counting
instructions, counting all events, and under each peer. The slow peers (lackey,
callgrind) run once, on inputs a tenth the size, against native runs of the same
inputs. Times of a busy machine are worthless: the load is printed.
"""
import argparse
import json
import math
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generate  # noqa: E402
import suite  # noqa: E402

ALL_EVENTS = ("instructions,branches,cond-branches,taken-branches,loads,stores,calls,"
              "returns,indirect-branches,syscalls,multiplies,divides,x87,fp,simd-int,"
              "locked,far-transfers")
FAST = [("valgrind none", "valgrind --tool=none -q --trace-children=yes")]
SLOW = [("callgrind", "valgrind --tool=callgrind -q --callgrind-out-file=/dev/null"),
        ("lackey", "valgrind --tool=lackey -q --log-file=/dev/null")]


TOOLS = None     # folder of child and scale


class Broken(Exception):
    pass


def run(argv, cwd):
    """(CPU seconds, peak RSS in KiB, wall seconds) of a command and what it waited for."""
    start = time.monotonic()
    used = os.path.join(TOOLS, "used")
    got = subprocess.run([os.path.join(TOOLS, "child"), used, *argv], cwd=cwd, env=suite.ENV,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    wall = time.monotonic() - start
    if got.returncode != 0:
        raise Broken(f"status {got.returncode}: "
                     f"{got.stderr.decode(errors='replace').strip()[-200:]}")
    user, system, rss = map(int, open(used).read().split())
    return (user + system) / 1e6, rss, wall


def build(name):
    """Compiles one of the bench's own programs."""
    subprocess.run(["cc", "-O2", "-pthread", os.path.join(HERE, name + ".c"),
                    "-o", os.path.join(TOOLS, name)], check=True)


def setarch(argv):
    return ["setarch", "-R", *argv] if shutil.which("setarch") else argv


def tools(args):
    """Name -> prefix of a command."""
    def tare(events):
        return [args.tare, "stat", "--backend", "soft", "-e", events, "-j", "-o", "/dev/null", "--"]

    out = {"native": setarch([]), "tare": tare("instructions"), "all events": tare(ALL_EVENTS)}
    return out


def peers(args, which):
    if args.no_peers:
        return {}
    if not shutil.which("valgrind"):
        print("valgrind is not installed: no peers", file=sys.stderr)
        return {}
    return {name: setarch(shlex.split(command)) for name, command in which}


def measure(programs, ways, folder, rounds, note):
    """best[program][way] = (cpu, rss)."""
    best = {}
    for name, command, why in programs:
        if not command:
            print(f"{name}: skipped: {why}", file=sys.stderr)
            continue
        best[name] = {}
        broken = {}
        for _ in range(rounds):
            for way, prefix in ways.items():
                if way in broken:
                    continue
                try:
                    cpu, rss, _ = run(prefix + shlex.split(command), folder)
                except Broken as e:
                    broken[way] = str(e)
                    print(f"{name}: {way}: {e}", file=sys.stderr)
                    continue
                old = best[name].get(way, (math.inf, 0))
                best[name][way] = (min(old[0], cpu), max(old[1], rss))
        if "native" not in best[name]:
            del best[name]
            continue
        if note:
            shown = ", ".join(f"{w} {best[name][w][0] / best[name]['native'][0]:.2f}"
                              for w in ways if w in best[name] and w != "native")
            print(f"{name}: native {best[name]['native'][0]:.2f} s; {shown}", file=sys.stderr)
    return best


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(best, ways, slow, slow_ways):
    """Markdown: one row a program, × native."""
    shown = [w for w in ways if w != "native"] + [w for w in slow_ways if w != "native"]
    out = ["| program | native s | " + " | ".join(f"{w} ×" for w in shown) + " |",
           "|---" * (len(shown) + 2) + "|"]
    ratios = {w: [] for w in shown}
    for name, row in best.items():
        cells = []
        for w in shown:
            source = row if w in ways else slow.get(name, {})
            if w in source and "native" in source and source["native"][0] > 0:
                ratio = source[w][0] / source["native"][0]
                ratios[w].append(ratio)
                cells.append(f"{ratio:.2f}")
            else:
                cells.append("–")
        out.append(f"| {name} | {row['native'][0]:.2f} | " + " | ".join(cells) + " |")
    out.append("| **geometric mean** | | " + " | ".join(
        f"**{geomean(ratios[w]):.2f}**" if ratios[w] else "–" for w in shown) + " |")
    return out, {w: geomean(v) for w, v in ratios.items()}


def startup(args, folder, rounds):
    """/bin/true and gcc hello.c: CPU ms."""
    out = {}
    for name, command in (("/bin/true", "/bin/true"), ("gcc hello.c", "gcc hello.c -o hello")):
        if not shutil.which(command.split()[0], path=suite.ENV["PATH"]):
            print(f"{name}: skipped: not installed", file=sys.stderr)
            continue
        out[name] = {}
        for way, prefix in tools(args).items():
            try:
                out[name][way] = min(run(prefix + shlex.split(command), folder)[0]
                                     for _ in range(max(rounds, 20 if "true" in name else 3)))
            except Broken as e:
                print(f"{name}: {way}: {e}", file=sys.stderr)
    return out


def scaling(args, folder):
    """One busy thread against two: wall seconds each, natively and under the engine."""
    program = os.path.join(TOOLS, "scale")
    if (os.cpu_count() or 1) < 2:
        print("two threads: skipped: one CPU", file=sys.stderr)
        return {}
    out = {}
    for way, prefix in tools(args).items():
        for threads in ("1", "2"):
            try:
                out[f"{way}, {threads}"] = min(run(prefix + [program, threads], folder)[2]
                                               for _ in range(3))
            except Broken as e:
                print(f"two threads: {way}: {e}", file=sys.stderr)
    return out


def memory(best):
    """What the engine's processes needed beyond native, MiB."""
    return {name: (row["tare"][1] - row["native"][1]) / 1024
            for name, row in best.items() if "tare" in row and "native" in row}


def report(args, best, ways, slow, slow_ways, start, scale):
    lines, means = table(best, ways, slow, slow_ways)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    load = os.getloadavg()
    out = ["# What counting costs", "",
           "Made by `make bench` (`bench/run.py`); × native CPU time (user plus system, whole",
           f"tree of processes), minimum of {args.rounds} interleaved rounds. {cpu}, "
           f"{os.cpu_count()} CPUs, Linux {platform.release()};",
           f"load average at the end {load[0]:.1f}.", "", *lines, ""]
    if slow_ways:
        out += ["callgrind and lackey: one run each, on inputs a tenth the size.", ""]
    if start:
        out += ["## Start-up", "", "| | native ms | tare ms | more | × |", "|---|---|---|---|---|"]
        for name, row in start.items():
            if "tare" in row and "native" in row:
                out.append(f"| {name} | {row['native'] * 1e3:.1f} | {row['tare'] * 1e3:.1f} | "
                           f"{(row['tare'] - row['native']) * 1e3:.1f} ms | "
                           f"{row['tare'] / max(row['native'], 1e-9):.1f} |")
        out.append("")
    if scale:
        out += ["## Two busy threads", "",
                "Wall seconds of the same work per thread; 1.0 is perfect.", "",
                "| | one thread s | two threads s | ratio |", "|---|---|---|---|"]
        for way in ("native", "tare", "all events"):
            one, two = scale.get(f"{way}, 1"), scale.get(f"{way}, 2")
            if one and two:
                out.append(f"| {way} | {one:.2f} | {two:.2f} | {two / one:.2f} |")
        out.append("")
    mem = memory(best)
    if mem:
        out += ["## Memory", "", "Peak resident MiB of the largest process, beyond native.", "",
                "| program | MiB |", "|---|---|",
                *(f"| {n} | {m:.0f} |" for n, m in mem.items()), ""]
    return "\n".join(out), means


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--tare", default=os.path.join(HERE, "..", "build", "tare"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--programs", default="")
    p.add_argument("--scale", type=float, default=1.0)
    p.add_argument("--no-peers", action="store_true")
    p.add_argument("--slow-peers", action="store_true")
    p.add_argument("-o", "--output")
    p.add_argument("--json")
    args = p.parse_args()
    args.tare = os.path.abspath(args.tare)
    chosen = set(filter(None, args.programs.split(",")))
    # what other tools of the measured machine may not spoil: no core files
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    global TOOLS
    with tempfile.TemporaryDirectory(prefix="tare-bench") as base:
        TOOLS, folder = base, os.path.join(base, "inputs")
        build("child")
        build("scale")
        generate.generate(folder, args.scale)
        suite.prepare(folder)
        programs = [c for c in suite.commands(args.scale) if not chosen or c[0] in chosen]
        ways = {**tools(args), **peers(args, FAST)}
        best = measure(programs, ways, folder, args.rounds, True)
        slow, slow_ways = {}, peers(args, SLOW) if args.slow_peers else {}
        if slow_ways:
            small = os.path.join(folder, "small")
            generate.generate(small, args.scale / 10)
            suite.prepare(small)
            programs = [c for c in suite.commands(args.scale / 10) if not chosen or c[0] in chosen]
            slow_ways = {"native": setarch([]), **slow_ways}
            slow = measure(programs, slow_ways, small, 1, False)
        start = startup(args, folder, args.rounds) if not chosen else {}
        scale = scaling(args, folder) if not chosen else {}
    text, means = report(args, best, ways, slow, slow_ways, start, scale)
    print(text)
    if args.output:
        with open(args.output, "w") as f:
            f.write(text)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"programs": best, "slow": slow, "means": means, "startup": start,
                       "scaling": scale}, f, indent=1)


if __name__ == "__main__":
    main()
