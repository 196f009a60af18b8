"""docs/speed.md from the results of bench/run, one file for each CPU that was measured.

usage: speed_page.py RESULTS-FOLDER OUTPUT.md

A new measurement replaces the file of its own CPU and leaves the others: each CPU keeps its columns.
"""
import json
import math
import os
import sys

import suite

# What one run costs: a way to run a program -> the head of its column.
COUNTING = {"tare": "instructions", "kept": "with kept code", "all events": "all events"}
PROFILES = {"profile": "profile", "with names": "with names", "call graph": "call graph"}
PEERS = {"valgrind none": "valgrind none", "qemu counting": "qemu counting", "callgrind": "callgrind",
         "lackey": "lackey"}
SLOW = ("callgrind", "lackey")


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def load(folder):
    """The results, by the name of the CPU."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as f:
                out.append(json.load(f))
    return out


def ratio(result, program, way):
    """× native, or None where it was not measured."""
    row = result["slow" if way in SLOW else "programs"].get(program, {})
    if way not in row or not row.get("native", [0])[0]:
        return None
    return row[way][0] / row["native"][0]


def ratios_table(results, ways):
    """One row a program, one column for each CPU and way that was measured."""
    columns = [(r, w) for r in results for w in ways if any(ratio(r, p, w) for p in r["programs"])]
    if not columns:
        return []
    programs = list(dict.fromkeys(p for r, _ in columns for p in r["programs"]))
    out = ["| program | " + " | ".join(f"{r['label']}: {ways[w]}" for r, w in columns) + " |",
           "|---" * (len(columns) + 1) + "|"]
    for p in programs:
        cells = [ratio(r, p, w) for r, w in columns]
        out.append(f"| {p} | " + " | ".join("–" if c is None else f"{c:.2f}" for c in cells) + " |")
    means = [geomean([v for p in programs if (v := ratio(r, p, w)) is not None]) for r, w in columns]
    out.append("| **geometric mean** | " + " | ".join(f"**{m:.2f}**" for m in means) + " |")
    lacks = [f"that of {r['label']}: {ways[w]} lacks {', '.join(absent)}" for r, w in columns
             if (absent := [name for name, _ in suite.SUITE if ratio(r, name, w) is None])]
    return [*out, "", "; ".join(["The geometric means are over all programs of the bench", *lacks]) + ".", ""]


def machines(results):
    out = ["| | CPU | CPUs | kernel | tare | rounds | load at the end |", "|---|---|---|---|---|---|---|"]
    for r in results:
        out.append(f"| {r['label']} | {r['cpu']} | {r['cpus']} | {r['kernel']} | {r['tare']} | {r['rounds']} | "
                   f"{r['load']:.1f} |")
    return [*out, ""]


def startup(results):
    out = ["| | CPU | native ms | tare ms | more | × | kept ms | more | × |", "|---|---|---|---|---|---|---|---|---|"]
    names = list(dict.fromkeys(n for r in results for n in r["startup"]))
    for n in names:
        for r in results:
            row = r["startup"].get(n, {})
            if "tare" in row and "native" in row:
                cells = [f"{row['native'] * 1e3:.1f}"]
                for way in ("tare", "kept"):
                    cells += ([f"{row[way] * 1e3:.1f}", f"{(row[way] - row['native']) * 1e3:.1f} ms",
                               f"{row[way] / max(row['native'], 1e-9):.1f}"] if way in row else ["–"] * 3)
                out.append(f"| {n} | {r['label']} | " + " | ".join(cells) + " |")
    return [*out, ""] if len(out) > 2 else []


def threads(results):
    out = ["| | CPU | one thread s | two threads s | ratio | two processes s | ratio |",
           "|---|---|---|---|---|---|---|"]
    for r in results:
        for way in ("native", "tare", "all events"):
            one, two, apart = (r["scaling"].get(f"{way}, {n}") for n in ("1", "2", "1 + 1"))
            if one and two and apart:
                out.append(f"| {way} | {r['label']} | {one:.2f} | {two:.2f} | {two / one:.2f} | {apart:.2f} | "
                           f"{apart / one:.2f} |")
    return [*out, ""] if len(out) > 2 else []


def memory(results):
    """MiB beyond native, and of code."""
    def beyond(r, p):
        row = r["programs"].get(p, {})
        if "tare" not in row or row["tare"][1] is None:
            return "–"
        return f"{(row['tare'][1] - row['native'][1]) / 1024:.0f}"

    programs = list(dict.fromkeys(p for r in results for p in r["programs"]))
    out = ["| program | " + " | ".join(f"{r['label']}: MiB | of code" for r in results) + " |",
           "|---" * (2 * len(results) + 1) + "|"]
    for p in programs:
        cells = []
        for r in results:
            made = r["translated"].get(p)
            cells += [beyond(r, p), f"{made['source_bytes'] / 2 ** 20:.2f}" if made else "–"]
        out.append(f"| {p} | " + " | ".join(cells) + " |")
    return [*out, ""]


def translating(results):
    programs = list(dict.fromkeys(p for r in results for p in r["translated"]))
    out = ["| program | " + " | ".join(f"{r['label']}: blocks | ms | µs a block" for r in results) + " |",
           "|---" * (3 * len(results) + 1) + "|"]
    for p in programs:
        cells = []
        for r in results:
            t = r["translated"].get(p)
            cells += ([f"{t['blocks']:,}", f"{t['ns'] / 1e6:.1f}", f"{t['ns'] / t['blocks'] / 1e3:.2f}"]
                      if t and t["blocks"] else ["–"] * 3)
        out.append(f"| {p} | " + " | ".join(cells) + " |")
    return [*out, ""]


def section(title, words, lines):
    return [f"## {title}", "", *words, *([""] if words else []), *lines] if lines else []


def page(results):
    out = ["# What counting costs", "",
           "Made by `make bench` (`bench/run`): × native CPU time (user plus system, whole tree of processes),",
           "minimum of interleaved rounds. Each CPU that was measured has its columns, by the version of tare",
           "that it was measured with; the figures of different CPUs are of different days.", "", *machines(results)]
    out += section("Counting", ["With kept code: instructions, and code that an earlier run has translated is read from a folder",
                                "(`tare stat --keep-code`)."], ratios_table(results, COUNTING))
    out += section("Profiles", ["`tare annotate`: without names, with functions and lines, and with the call graph; the",
                                "time of reading symbols and making the profile is in it."],
                   ratios_table(results, PROFILES))
    out += section("Other tools", [
        "qemu counting: qemu-user with a plugin that adds the length of each block that is entered",
        "(bench/qemu-count.c); a dash is a program that it cannot run. callgrind and lackey: one run each, on",
        "inputs a tenth the size."], ratios_table(results, PEERS))
    out += section("Start-up", ["Of 200 short commands, most run several times in the script: processes take over code from each",
                                "other also without kept code. Kept: a later run of the same commands with `tare stat --keep-code`; if a larger compilation has",
                                "been kept in the same folder, gcc takes longer ([engine.md](engine.md#for-other-runs))."], startup(results))
    out += section("Two busy threads", [
        "Wall seconds of the same work per thread; 1.0 is perfect. Two processes share nothing but the",
        "machine: what they lose against one is the machine's."], threads(results))
    out += section("Memory", ["Peak resident MiB of the largest process, beyond native, and the code that was run."],
                   memory(results))
    out += section("Translating", ["Once for each block of the program."], translating(results))
    return "\n".join(out)


def main():
    folder, to = sys.argv[1:]
    text = page(load(folder))
    with open(to, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
