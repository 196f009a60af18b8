#!/usr/bin/env python3
"""A compiler's self-profiler on the virtual PMU: the report's tables, on any machine.

rustc profiles itself with hardware counters, twice, with ASLR off; its intervals are
lined up by `tare aggregate`. At least 99.9 % of them must be the same to the last
instruction, and the ten largest labels too. The rest is printed. What made pairs differ
was traced: rustc starts a thread that waits for ctrl-c, and a helper of its jobserver;
each maps a heap of its own, at the same time as its creator does, and hash tables are
keyed by addresses. Under `tare run` a thread takes its first steps before its creator
goes on (src/soft/vpmu/vpmu-order.c). And a first compilation creates the files that a second
one replaces, so one is done before.

usage: run-rustc.py TARE PAGES
"""
import csv
import io
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402
from cli import check, run  # noqa: E402

TARE = os.path.abspath(sys.argv[1])
PROGRAM = """
use std::collections::HashMap;
fn main() {
    let mut m = HashMap::new();
    for i in 0..1000u64 {
        m.insert(i, i * i);
    }
    println!("{}", m.values().sum::<u64>());
}
"""


def compiler():
    """The compiler itself, not rustup's proxy."""
    rustc = shutil.which("rustc")
    if not rustc:
        print("no rustc here (Debian: rustc)")
        sys.exit(77)
    root = run(rustc, "--print", "sysroot").stdout.strip()
    path = os.path.join(root, "bin/rustc")
    # With the C library's allocator, what a thread frees depends on when others allocate:
    # the intervals that run beside worker threads differ, and not for a reason of tare's.
    with open(path, "rb") as f:
        if b"jemalloc" not in f.read():
            print(f"{path} has no allocator of its own, as rustup's rustc has")
            sys.exit(77)
    return path


def profile(rustc, counter, i, flaws, seed):
    out = os.path.join(folder, f"{counter}-{flaws}-{i}")
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "RUSTC_BOOTSTRAP": "1",
           "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
    # its counters belong to the thread that opens them, so no code is generated
    got = run(TARE, "run", "--cpu", "zen2", "--flaws", flaws, "--seed", str(seed), "--", rustc,
              "--emit=metadata", "-Z", f"self-profile={out}", "-Z",
              f"self-profile-counter={counter}", "p.rs", cwd=folder, env=env)
    check(got.returncode == 0, counter, got.stderr)
    check("failed to create profiler" not in got.stderr, counter, got.stderr)
    files = [os.path.join(out, f) for f in os.listdir(out)]
    check(len(files) == 1, files)
    kept = out + ".mm_profdata"
    shutil.move(files[0], kept)
    shutil.rmtree(out)
    return kept


def aggregate(rustc, counter, flaws=""):
    files = [profile(rustc, counter, i, flaws, i) for i in range(2)]
    got = run(TARE, "aggregate", "-j", *files)
    check(got.returncode == 0, got.stderr)
    return json.loads(got.stdout)


def steady(doc):
    return sum(h["count"] for h in doc["histogram"] if h["range_up_to"] == 0)


def show_rest(counter, doc):
    print(f"{counter}: {steady(doc)} of {doc['intervals']} intervals are ±0")
    for r in doc["largest_ranges"]:
        if r["value"]:
            print(f"  differ by {r['value']}: {r['count']} × {r.get('where', '')}")


def largest(doc):
    """The ten largest labels that vary."""
    items = sorted(doc["items"], key=lambda x: -x["self_max"])[:10]
    return [item for item in items if item["self_min"] != item["self_max"]]


def points(file):
    """Where intervals begin and end, in order."""
    rows = csv.DictReader(io.StringIO(run(TARE, "export", "--to", "csv", file).stdout))
    got = []
    for r in rows:
        if r["type"] == "interval":
            got += [(int(r["start"]), "begin of " + r["label"]), (int(r["end"]), "end of " + r["label"])]
    return sorted(got)


def affected(a, b):
    """What lies between two points that follow each other, where the runs differ."""
    check(len(a) == len(b) > 1000, len(a), len(b))
    gaps = [((b[i][0] - b[i - 1][0]) - (a[i][0] - a[i - 1][0]), f"from {a[i - 1][1]} to {a[i][1]}")
            for i in range(1, min(len(a), len(b)))]
    return [g for g in gaps if g[0]]


def exact(rustc, counter):
    doc = aggregate(rustc, counter)
    show_rest(counter, doc)
    check(doc["intervals"] > 1000 and doc["total_min"] > 10**6, counter, doc["intervals"])
    check(steady(doc) >= 0.999 * doc["intervals"], counter, "too many intervals differ")
    check(not largest(doc), counter, largest(doc))


def corrected(rustc):
    """With interrupts: the plain counter varies, the corrected one hardly; where one fell
    between the two reads of a pair, by as many, as the report saw."""
    noisy = aggregate(rustc, "instructions:u", "interrupts=5000")
    net = aggregate(rustc, "instructions-minus-irqs:u", "interrupts=5000")
    show_rest("instructions:u, interrupts", noisy)
    show_rest("instructions-minus-irqs:u, interrupts", net)
    check(steady(noisy) < 0.999 * noisy["intervals"], "interrupts leave no trace")
    check(steady(net) >= 0.999 * net["intervals"], "the correction leaves too much")
    check(all(r["value"] <= 2 for r in net["largest_ranges"]), net["largest_ranges"])
    # so many that some fall between the two reads of a pair
    files = [profile(rustc, "instructions-minus-irqs:u", i, "interrupts=1000000", i) for i in range(2)]
    off = affected(*(points(f) for f in files))
    for d, where in off:
        print(f"  an interrupt between two reads: {d:+} {where}")
    check(0 < len(off) < 200, off)
    # reading a clock takes a longer way through the vDSO now and then, natively too
    check(len([d for d, _ in off if abs(d) > 2]) <= 1, off)


folder = tempfile.mkdtemp(prefix="rustc-test")
try:
    rustc = compiler()
    with open(os.path.join(folder, "p.rs"), "w") as f:
        f.write(PROGRAM)
    run(rustc, "--emit=metadata", "p.rs", cwd=folder)
    exact(rustc, "instructions:u")
    exact(rustc, "instructions-minus-irqs:u")
    corrected(rustc)
finally:
    shutil.rmtree(folder)
cli.finish()
