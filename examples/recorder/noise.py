#!/usr/bin/env python3
"""The noise tables of the report, made by one command.

usage: noise.py [--runs N] [-o DIR] TARE RECORDER
       noise.py [--runs N] [-o DIR] --rustc RUSTC TARE

Records the example, or rustc compiling a small program (its self-profiler; the compiler
itself, not rustup's proxy), N times (10) with each counter, and writes to DIR (.) noise.md, the
"macro" noise (self value of each item, middle ± half range over the runs) and the "micro"
noise (the same for every single sample interval), with a plot of each, noise-macro.svg and
noise-micro.svg. Counters:

  wall-time                   natively
  instructions:u              in the software engine, which counts exactly
  instructions:u              on a simulated Zen 2 with interrupts: each counts as one
  instructions-minus-irqs:u   there, too: the correction of the report

rustc's instructions:u of the engine are those of a simulated Zen 2 without flaws.
"""
import argparse, glob, json, math, os, subprocess, tempfile
from decimal import Decimal

ZEN = ["--cpu", "zen2", "--flaws", "interrupts"]
COUNTERS = [
    ("wall-time", "", ["-b", "native", "-c", "wall-time"]),
    ("instructions:u", "engine", ["-b", "soft", "-c", "instructions:u"]),
    ("instructions:u", "Zen 2 with interrupts", ["-c", "instructions:u"] + ZEN),
    ("instructions-minus-irqs:u", "Zen 2 with interrupts",
     ["-c", "instructions-minus-irqs:u"] + ZEN),
]
# largest range of a class (twice the half range), its name and colour
CLASSES = [(0, "±0", "#2e7d32"), (2, "up to ±1", "#9ccc65"), (32, "±16", "#fdd835"),
           (2048, "±1024", "#fb8c00"), (131072, "±65536", "#e53935"), (None, "more", "#7b1fa2")]


def title(name, where):
    return f"{name} ({where})" if where else name


def record(tare, recorder, runs, options):
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([tare, "record", "-q", "-r", str(runs), "-o", d, *options, "--", recorder],
                       check=True, stdout=subprocess.DEVNULL)
        out = subprocess.run([tare, "aggregate", "-j", d], check=True, capture_output=True)
        return json.loads(out.stdout)


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


def compile_once(tare, rustc, folder, counter, flaws, seed):
    """One compilation, its profile in folder. Its counters belong to the thread that opens
    them, so no code is generated."""
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "RUSTC_BOOTSTRAP": "1",
           "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
    before = [] if counter == "wall-time" else [tare, "run", "--cpu", "zen2", "--flaws", flaws,
                                               "--seed", str(seed), "--"]
    subprocess.run([*before, rustc, "--emit=metadata", "-Z", f"self-profile={folder}/{seed:03}",
                    "-Z", f"self-profile-counter={counter}", "p.rs"], check=True, cwd=folder, env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record_rustc(tare, rustc, runs, counter, flaws):
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/p.rs", "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        for i in range(runs + 1):
            compile_once(tare, rustc, d, counter, flaws, i)
        # the first one creates the files that the others replace
        files = sorted(f for i in range(1, runs + 1) for f in glob.glob(f"{d}/{i:03}/*.mm_profdata"))
        if len(files) != runs:
            raise SystemExit(f"{rustc}: {len(files)} profiles of {runs} runs")
        out = subprocess.run([tare, "aggregate", "-j", *files], check=True, capture_output=True)
        result = json.loads(out.stdout)
        for p in result["profiles"]:
            p["provenance"] = "raw" if counter == "wall-time" else "simulated" if flaws else "exact"
        return result


def ten_largest(results):
    """The ten items with the most instructions, in every result."""
    names = [i["name"] for i in results[1]["items"][:10]]
    for r in results:
        r["items"] = [i for n in names for i in r["items"] if i["name"] == n]


def half(n):
    """n / 2, without a zero behind the point."""
    return str(n // 2) if n % 2 == 0 else f"{n // 2}.5"


def relative(low, high):
    return (high - low) / (high + low) if high + low else 0.0


def macro_cell(item):
    low, high = item["self_min"], item["self_max"]
    r = f"{Decimal(f'{100 * relative(low, high):.2g}'):f}"
    return f"{half(low + high)} ±{half(high - low)} (±~{r.rstrip('0').rstrip('.') if '.' in r else r}%)"


def macro(results):
    lines = ["| item | " + " | ".join(title(n, w) for n, w, _ in COUNTERS) + " |",
             "|---" * (len(COUNTERS) + 1) + "|"]
    cells = [{i["name"]: macro_cell(i) for i in a["items"]} for a in results]
    for name in [i["name"] for i in results[1]["items"]]:
        lines.append(f"| `{name}` | " + " | ".join(c.get(name, "") for c in cells) + " |")
    return lines


def micro_line(entry, unit, intervals):
    where = entry.get("where")
    thread = f" (thread {entry['thread']})" if where else ""
    text = (f"{where}{thread}" if where
            else f"{entry['count']} occurrences, or {100 * entry['count'] / intervals:.2f}%")
    return f"±{half(entry['value'])} {unit}: {text}"


def micro(results):
    lines = []
    for (name, where, _), a in zip(COUNTERS, results):
        unit = a["profiles"][0]["unit"]
        entries = {e["value"]: e for e in a["smallest_ranges"][:5] + a["largest_ranges"][-5:]}
        lines += ["", f"{title(name, where)}, {a['profiles'][0]['provenance']}:", ""]
        lines += ["    " + micro_line(e, unit, a["intervals"]) for e in entries.values()]
    return lines


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def text(x, y, s, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{s}</text>'


def macro_svg(results):
    """Half range in percent of the value, on a logarithmic axis; no noise has its own place."""
    left, right, decades = 300, 860, range(-8, 3)
    x = lambda e: left + 60 + (e - decades[0]) * (right - left - 60) / (decades[-1] - decades[0])
    parts, y = [text(20, 24, "Macro noise: half range of the self values, % of the value",
                     'font-size="15" font-weight="bold"')], 60
    block = 16 + 15 * max(len(a["items"]) for a in results)
    bottom = y + block * len(COUNTERS) - 10
    for e in decades:
        label = "1%" if e == 0 else f"{10.0 ** e:g}%" if e > -4 else f"1e{e}%"
        parts += [f'<line x1="{x(e):.1f}" y1="{y - 14}" x2="{x(e):.1f}" y2="{bottom}" stroke="#ddd"/>',
                  text(x(e), bottom + 18, label, 'text-anchor="middle" fill="#555"')]
    parts += [text(left, bottom + 18, "±0", 'text-anchor="middle" fill="#555"'),
              f'<line x1="{left}" y1="{y - 14}" x2="{left}" y2="{bottom}" stroke="#888"/>']
    for (name, where, _), a in zip(COUNTERS, results):
        parts += [text(20, y + 14, name, 'font-weight="bold"'), text(20, y + 30, where, 'fill="#555"')]
        for i, item in enumerate(sorted(a["items"], key=lambda i: i["name"])):
            r = 100 * relative(item["self_min"], item["self_max"])
            at, row = (x(max(math.log10(r), decades[0])) if r else left), y + 15 * i
            parts += [text(left - 14, row + 4, item["name"], 'text-anchor="end" fill="#555"'),
                      f'<circle cx="{at:.1f}" cy="{row}" r="5" fill="{"#2e7d32" if not r else "#e53935"}"/>']
        y += block
    return svg(900, bottom + 36, parts)


def class_of(bar):
    for i, (limit, _, _) in enumerate(CLASSES):
        if limit is None or bar["range_up_to"] <= limit:
            return i


def micro_svg(results):
    """Shares of the sample intervals by how much each varies."""
    left, width = 300, 560
    parts, y = [text(20, 24, "Micro noise: sample intervals by their half range",
                     'font-size="15" font-weight="bold"')], 78
    for i, (_, name, colour) in enumerate(CLASSES):
        parts += [f'<rect x="{left + 92 * i}" y="42" width="12" height="12" fill="{colour}"/>',
                  text(left + 92 * i + 17, 53, name)]
    for (name, where, _), a in zip(COUNTERS, results):
        shares = [0] * len(CLASSES)
        for bar in a["histogram"]:
            shares[class_of(bar)] += bar["count"]
        parts += [text(20, y + 14, name, 'font-weight="bold"'), text(20, y + 30, where, 'fill="#555"')]
        at = left
        for count, (_, label, colour) in zip(shares, CLASSES):
            w = width * count / a["intervals"]
            percent = f"{100 * count / a['intervals']:.1f}%"
            parts.append(f'<rect x="{at:.1f}" y="{y}" width="{w:.1f}" height="32" fill="{colour}">'
                         f"<title>{label}: {count} of {a['intervals']}</title></rect>")
            if w > 42:
                parts.append(text(at + w / 2, y + 20, percent, 'text-anchor="middle" fill="#000"'))
            at += w
        y += 52
    return svg(900, y + 4, parts)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("-o", "--output", default=".")
    p.add_argument("--rustc", help="the compiler to record instead of the example")
    p.add_argument("tare")
    p.add_argument("recorder", nargs="?")
    o = p.parse_args()
    if bool(o.rustc) == bool(o.recorder):
        p.error("either RECORDER or --rustc is wanted")
    if o.rustc:
        tare = os.path.abspath(o.tare)
        results = [record_rustc(tare, o.rustc, o.runs, name, "interrupts" if "Zen" in where else "")
                   for name, where, _ in COUNTERS]
        ten_largest(results)
    else:
        results = [record(o.tare, o.recorder, o.runs, options) for _, _, options in COUNTERS]
    lines = macro(results) + micro(results)
    print("\n".join(lines))
    for name, content in (("noise.md", "\n".join(lines) + "\n"), ("noise-macro.svg", macro_svg(results)),
                          ("noise-micro.svg", micro_svg(results))):
        with open(f"{o.output}/{name}", "w", encoding="utf-8") as f:
            f.write(content)


if __name__ == "__main__":
    main()
