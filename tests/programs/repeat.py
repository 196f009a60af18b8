#!/usr/bin/env python3
"""The same count on every run: N runs of each program, alone and with neighbours.

usage: repeat.py [--runs N] [--neighbours] EXCEPTIONS WORKERS

EXCEPTIONS and WORKERS are the C++ program and the two-thread program of the
tests. The half of the runs with --neighbours has 4 busy processes a CPU, at most 64,
beside it. Every event is compared, with ==; of WORKERS each worker thread's.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
import counting  # noqa: E402
import expect  # noqa: E402
import generate  # noqa: E402
import suite  # noqa: E402


class Neighbours:
    def __enter__(self):
        n = min(4 * len(os.sched_getaffinity(0)), 64)
        self.busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                     for _ in range(n)]
        print(f"with {n} busy neighbours")
        return self

    def __exit__(self, *_):
        for p in self.busy:
            p.kill()
            p.wait()


def commands(args):
    return [("/bin/true", ["/bin/true"]),
            ("gzip", ["/bin/gzip", "-c", "text.txt"]),
            ("python3", [suite.python(), "work.py", "20"]),
            ("sqlite3", ["/usr/bin/sqlite3", "-init", "/dev/null", ":memory:", ".read work.sql"]),
            ("exceptions", [os.path.abspath(args.exceptions), "300", "alone"])]


def spread(name, values):
    """Prints and tells whether all are equal."""
    different = {e for v in values for e in v if v[e] != values[0][e]}
    for e in sorted(different):
        seen = sorted({v[e] for v in values if e in v})
        print(f"{name}: {e}: {len(seen)} values in {len(values)} runs: {seen[0]} … {seen[-1]}")
    if not different:
        print(f"{name}: ±0 in {len(values)} runs, {values[0]['instructions']} instructions")
    return not different


def counted(command, folder, events):
    """(all counts, those outside the vDSO) of one run. Python reads the clock for every lock
    it takes, and the vDSO's code for that goes round again while the kernel updates the clock,
    and takes steps that depend on the nanoseconds: that part may differ, natively too."""
    got = counting.engine(command, events, cwd=folder)
    inside = {c["event"].removesuffix(":u"): c.get("vdso", 0) for c in got.raw["runs"][0]["counts"]}
    return got.counts, {e: n - inside[e] for e, n in got.counts.items()}


def show_clock(name, all_counts):
    values = [v["instructions"] for v in all_counts]
    least = min(values)
    more = [v - least for v in values if v != least]
    if more:
        print(f"{name}: {len(more)} of {len(values)} runs spent up to {max(more)} instructions more "
              "in the vDSO, reading clocks")


def workers(program, runs):
    """Counts of the worker threads, in order of size, run by run."""
    out = []
    for i in range(runs):
        with tempfile.NamedTemporaryFile("r", prefix="workers") as f:
            tare = os.environ.get("TARE") or os.path.join(counting.build_folder(), "tare")
            subprocess.run([tare, "stat", "--backend", "soft", "--per-thread", "-j", "-o", f.name,
                            "-e", ",".join(expect.SETS[i % 2]), "--", program], env=counting.ENV,
                           check=True, stdout=subprocess.DEVNULL)
            tasks = counting.json.load(f)["runs"][0]["tasks"]
        out.append(sorted(({c["event"]: c["value"] for c in t["counts"]}
                           for t in tasks if t["is_thread"]),
                          key=lambda c: c["instructions"]))
    return out


def campaign(args, folder):
    good = True
    for name, command in commands(args):
        if not os.path.exists(command[0]):
            counting.skipped(name, f"{command[0]} is not installed")
            continue
        # with taken branches and without: nothing else may differ
        got = [counted(command, folder, expect.SETS[i % 2]) for i in range(args.runs)]
        show_clock(name, [g[0] for g in got])
        good &= spread(name, [g[1] for g in got])
    threads = workers(os.path.abspath(args.workers), args.runs)
    for i in range(2):
        good &= spread(f"worker {i + 1}", [t[i] for t in threads])
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--runs", type=int, default=100)
    p.add_argument("--neighbours", action="store_true")
    p.add_argument("exceptions")
    p.add_argument("workers")
    args = p.parse_args()
    counting.need_engine()
    with tempfile.TemporaryDirectory(prefix="tare-repeat") as base:
        # descriptors, paths and sizes are the same in every run
        folder = os.path.join(base, "in")
        generate.generate(folder, 0.01)
        good = campaign(args, folder)
        if args.neighbours:
            with Neighbours():
                good &= campaign(args, folder)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except counting.Failed as e:
        sys.exit(str(e))
