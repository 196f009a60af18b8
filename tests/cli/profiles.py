#!/usr/bin/env python3
"""The profile commands against a decoder of its own: this file knows the format and
the definitions, and shares no code with the library. Run on the fixtures, on files
rustc writes here (where it is installed), and on recordings of the example."""
import csv, glob, io, json, os, random, re, resource, shutil, struct, subprocess, sys, tempfile
from array import array
from collections import defaultdict
from xml.dom import minidom

from cli import check, check_schema, finish, run, schema, skipped, violations

TARE, RECORDER, FIXTURES = sys.argv[1], sys.argv[2], sys.argv[3]
GENERATE = sys.argv[4]
ENGINE = "engine" in sys.argv[5:]
REGULAR = 100000003
INSTANT, INTEGER = 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFE


class Profile:
    def __init__(self, path):
        data = open(path, "rb").read()
        self.version = struct.unpack_from("<I", data, 4)[0]
        streams, pos = [b"", b"", b""], 8
        while pos < len(data):
            tag, size = struct.unpack_from("<BI", data, pos)
            streams[tag] += data[pos + 5:pos + 5 + size]
            pos += 5 + size
        self.strings = streams[1]
        self.index = dict(struct.iter_unpack("<QQ", streams[2][8:]))
        self.cache = {}
        self.events = []
        for kind, ident, thread, lo1, lo2, hi in struct.iter_unpack("<QQIIII", streams[0][8:]):
            p1, p2 = lo1 | hi >> 16 << 32, lo2 | (hi & 0xFFFF) << 32
            label, *args = self.text(ident).split("\x1e")
            self.events.append((self.text(kind), label, args, thread, p1, p2))

    def text(self, ident):
        if ident not in self.cache:
            self.cache[ident] = self.decode(ident).decode("utf-8", "replace")
        return self.cache[ident]

    def decode(self, ident):
        addr = ident - REGULAR if ident >= REGULAR else self.index.get(ident)
        if addr is None:
            return b"<unknown>"
        out = b""
        while self.strings[addr] != 0xFF:
            if self.strings[addr] == 0xFE:
                out += self.decode(struct.unpack_from("<Q", self.strings, addr + 1)[0])
                addr += 9
            else:
                out += self.strings[addr:addr + 1]
                addr += 1
        return out

    def walk(self):
        """Intervals last first, each with the stack around it."""
        stacks = defaultdict(list)
        for event in reversed(self.events):
            kind, label, args, thread, start, end = event
            if end >= INTEGER:
                yield event, None
                continue
            stack = stacks[thread]
            while stack and not (stack[-1][4] <= start and end <= stack[-1][5]):
                stack.pop()
            yield event, list(stack)
            stack.append(event)


def summary(p):
    rows = defaultdict(lambda: defaultdict(int))
    artifacts, span, counted = defaultdict(int), {}, set()
    for (kind, label, args, thread, start, end), stack in p.walk():
        if end == INSTANT:
            if kind == "QueryCacheHit":
                rows[label]["cache_hits"] += label not in counted
            continue
        if end == INTEGER:
            if kind == "ArtifactSize":
                artifacts[label] += start
            elif kind == "QueryCacheHitCount":
                rows[label]["cache_hits"] += start
                counted.add(label)
            continue
        d = end - start
        low, high = span.get(thread, (start, end))
        span[thread] = min(low, start), max(high, end)
        if stack:
            rows[stack[-1][1]]["self"] -= d
            extra = {"IncrementalResultHashing": "hashing", "IncrementalLoadResult": "loading"}
            if stack[-1][0] in extra:
                rows[stack[-1][1]][extra[stack[-1][0]]] -= d
        row = rows[label]
        row["self"] += d
        if kind != "IncrementalResultHashing":
            row["total"] += d
        if kind == "QueryBlocked":
            row["blocked"] += d
        elif kind == "IncrementalLoadResult":
            row["loading"] += d
        elif kind == "IncrementalResultHashing":
            row["hashing"] += d
        else:
            row["count"] += 1
    return rows, dict(artifacts), sum(high - low for low, high in span.values())


def stacks(p, root):
    counts, top, span = defaultdict(int), defaultdict(int), {}
    for (kind, label, args, thread, start, end), stack in p.walk():
        if stack is None:
            continue
        path = [root] + [e[1] for e in stack]
        low, last = span.get(thread, (start, end))
        span[thread] = min(low, start), last
        if stack:
            counts[";".join(path)] -= end - start
        else:
            top[thread] += end - start
        counts[";".join(path + [label])] += end - start
    counts[root] = sum(last - low - top[t] for t, (low, last) in span.items())
    return counts


def check_summary(path, p):
    r = run(TARE, "summarize", "-j", path)
    check(r.returncode == 0, path, r.stderr)
    whole = json.loads(r.stdout)
    check_schema(whole, "tare.summary-1")
    ours = whole["profiles"][0]
    rows, artifacts, total = summary(p)
    check(ours["events"] == len(p.events), path, "events")
    check(ours["total"] == total, path, "total", ours["total"], total)
    check({a["name"]: a["size"] for a in ours["artifacts"]} == artifacts, path, "artifacts")
    check(len(ours["rows"]) == len(rows), path, "rows")
    for row in ours["rows"]:
        want = rows[row["name"]]
        for key in ("self", "total", "count", "cache_hits", "blocked", "loading", "hashing"):
            check(row[key] == want[key], path, row["name"], key, row[key], want[key])
    selfs = [row["self"] for row in ours["rows"]]
    check(selfs == sorted(selfs, reverse=True), path, "order")


def check_groups(path, p):
    """By kind and by thread: what is inside an interval of its own row counts once."""
    for by, key in (("kind", lambda e: e[0]), ("thread", lambda e: e[3])):
        self_value, whole = defaultdict(int), defaultdict(int)
        for event, stack in p.walk():
            if stack is None:
                continue
            row, d = key(event), event[5] - event[4]
            self_value[row] += d
            if stack:
                self_value[key(stack[-1])] -= d
            if event[0] != "IncrementalResultHashing" and row not in [key(e) for e in stack]:
                whole[row] += d
        ours = json.loads(run(TARE, "summarize", "-j", "--by", by, path).stdout)["profiles"][0]
        rows = {r["name"]: r for r in ours["rows"]}
        for row, value in self_value.items():
            mine = rows[row if by == "kind" else [n for n in rows if n.split()[1] == str(row)][0]]
            check((mine["self"], mine["total"]) == (value, whole[row]), path, by, mine, whole[row])
        if by == "thread":
            check(sum(r["total"] for r in rows.values()) <= ours["total"], path, "more than all")


def check_stacks(path, p):
    r = run(TARE, "export", "--to", "collapsed", "--compat", "measureme", path)
    ours = dict(line.rsplit(" ", 1) for line in r.stdout.splitlines())
    check({k: int(v) for k, v in ours.items()} == stacks(p, "rustc"), path, "stacks")
    check(r.stdout.splitlines() == sorted(r.stdout.splitlines()), path, "stacks in order")
    with_args = run(TARE, "export", "--to", "collapsed", "-a", "--by-thread", path).stdout
    paths = [line.rsplit(" ", 1)[0].encode() for line in with_args.splitlines()]
    check(len(paths) > 3 and paths == sorted(paths), path, "stacks with arguments in order")


def check_chrome(path, p):
    trace = json.loads(run(TARE, "export", "--to", "chrome", "-i", path).stdout)
    events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
    want = [e for e in p.events if e[5] != INTEGER]
    check(len(events) == len(want), path, "chrome events", len(events), len(want))
    for e, (kind, label, args, thread, start, end) in zip(events, want):
        ph = "i" if end == INSTANT else "X"
        good = (e["name"] == label and e["cat"] == kind and e["tid"] == thread and e["ph"] == ph
                and round(e["ts"] * 1000) == start
                and (ph == "i" and e["s"] == "t" or round(e["dur"] * 1000) == end - start)
                and list(e.get("args", {}).values()) == args)
        check(good, path, "chrome", e)
    crox = json.loads(run(TARE, "export", "--to", "chrome", "--compat", "measureme", path).stdout)
    meta = json.loads(run(TARE, "summarize", "-j", path).stdout)["profiles"][0]
    check(crox[-1]["name"] == "process_sort_index" and crox[-1]["pid"] == meta["process"], "crox")
    intervals = [e for e in want if e[5] != INSTANT]
    check(len([e for e in crox if e["ph"] == "X"]) == len(intervals), path, "crox intervals")
    for e, want_e in zip(crox, intervals):
        check(list(e) == ["name", "cat", "ph", "ts", "dur", "pid", "tid", "args"], "crox keys", e)
        check(e["dur"] == (want_e[5] - want_e[4]) // 1000, "crox duration", e)


# The parts of speedscope's file-format schema that an evented profile uses.
UNITS = {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}


def check_speedscope(path, p):
    scope = json.loads(run(TARE, "export", "--to", "speedscope", path).stdout)
    check(scope["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    frames = scope["shared"]["frames"]
    check(all(isinstance(f["name"], str) for f in frames), "frames")
    check(len(scope["profiles"]) == len({e[3] for e in p.events if e[5] < INTEGER}), "profiles")
    total, found = 0, []
    for profile in scope["profiles"]:
        check(profile["type"] == "evented" and profile["unit"] in UNITS, "profile", profile["name"])
        at, stack = profile["startValue"], []
        for e in profile["events"]:
            check(at <= e["at"] <= profile["endValue"], path, "speedscope time", e)
            at = e["at"]
            if e["type"] == "O":
                stack.append((e["frame"], at))
                total += 1
            else:
                frame, start = stack.pop() if stack else (None, None)
                check(frame == e["frame"], path, "speedscope nesting", e)
                found.append((frames[e["frame"]]["name"], start, at))
            check(0 <= e["frame"] < len(frames), "frame number")
        check(not stack, path, "speedscope: frames left open")
    check(total == len([e for e in p.events if e[5] < INTEGER]), path, "speedscope intervals")
    want = [(e[1], e[4], e[5]) for e in p.events if e[5] < INTEGER]
    check(sorted(found) == sorted(want), path, "speedscope's names and values")


def check_csv(path, p):
    rows = list(csv.DictReader(io.StringIO(run(TARE, "export", "--to", "csv", path).stdout)))
    check(len(rows) == len(p.events), path, "csv rows")
    for row, (kind, label, args, thread, start, end) in zip(rows, p.events):
        check(row["kind"] == kind and row["label"] == label and int(row["thread"]) == thread
              and row["arguments"] == "; ".join(args), path, "csv", row)
        if end == INTEGER:
            check(int(row["value"]) == start and row["start"] == "", path, "csv", row)
        elif end != INSTANT:
            check(int(row["duration"]) == end - start, path, "csv", row)


def check_svg(path, p):
    r = run(TARE, "export", "--to", "flamegraph", path)
    check(r.returncode == 0, path, r.stderr)
    svg = minidom.parseString(r.stdout)
    frames = [g for g in svg.getElementsByTagName("g")]
    check(len(frames) > 3, path, "frames in the flame graph")
    for g in frames:
        rect = g.getElementsByTagName("rect")[0]
        x, w = float(rect.getAttribute("x")), float(rect.getAttribute("width"))
        check(9.9 <= x and x + w <= 1190.1, path, "frame outside", x, w)
        check(g.getElementsByTagName("title")[0].firstChild.data, "title")


def check_view(path, p):
    lines = run(TARE, "view", path).stdout.splitlines()
    check(len(lines) == len(p.events), path, "view lines")
    thread = p.events[0][3]
    some = run(TARE, "view", "-t", str(thread), "-k", "Query", "-s", "1", "-n", "3", path)
    want = [i for i, e in enumerate(p.events) if e[3] == thread and "Query" in e[0]][1:4]
    check([int(line.split()[0]) for line in some.stdout.splitlines()] == want, path, "view filter")
    mmview = run(TARE, "view", "--compat", "measureme", path).stdout
    check(mmview.count("{\n") == len(p.events), path, "mmview blocks")


def check_all(path):
    p = Profile(path)
    for one in (check_summary, check_groups, check_stacks, check_chrome, check_speedscope, check_csv,
                check_svg, check_view):
        one(path, p)
    piped = run(TARE, "summarize", "-", stdin=subprocess.Popen(["cat", path],
                stdout=subprocess.PIPE).stdout)
    check(piped.returncode == 0 and "standard input" in piped.stdout, path, "from a pipe")
    with open(path) as f:
        check(run(TARE, "summarize", "-", stdin=f).stdout == piped.stdout, path, "from a file")


def check_aggregate(paths):
    """The micro lists, from the definitions; one thread."""
    def points(p):
        out, stack = [], []
        for event in reversed([e for e in p.events if e[5] != INTEGER]):
            kind, label, args, thread, start, end = event
            end = start if end == INSTANT else end
            while stack and not (stack[-1][1] <= start and end <= stack[-1][2]):
                key, s, _ = stack.pop()
                out.append(("S",) + key + (s,))
            key = kind, label, tuple(args)
            if event[5] == INSTANT:
                out.append(("I",) + key + (start,))
            else:
                out.append(("E",) + key + (end,))
                stack.append((key, start, end))
        while stack:
            key, s, _ = stack.pop()
            out.append(("S",) + key + (s,))
        return out
    runs = [points(Profile(p)) for p in paths]
    same = all([q[:-1] for q in r] == [q[:-1] for q in runs[0]] for r in runs)
    a = json.loads(run(TARE, "aggregate", "-j", *paths).stdout)
    check_schema(a, "tare.aggregate-1")
    compat = run(TARE, "aggregate", "--compat", "measureme", *paths)
    check((compat.returncode == 0) == same, "compat accepts", paths, compat.stderr)
    check(same or "leave out --compat" in compat.stderr, "the way out", compat.stderr)
    if not same:
        check(a["regions"] > 0, "runs differ, but no region", paths)
        return
    lengths = [[r[i][-1] - r[i + 1][-1] for i in range(len(r) - 1)] for r in runs]
    mins, maxs = [min(c) for c in zip(*lengths)], [max(c) for c in zip(*lengths)]
    ranges = [b - a for a, b in zip(mins, maxs)]
    check(a["intervals"] == len(mins), "intervals", a["intervals"], len(mins))
    for key, values, last in (("smallest_durations", mins, False), ("largest_durations", maxs, True),
                              ("smallest_ranges", ranges, False), ("largest_ranges", ranges, True)):
        distinct = sorted(set(values))
        want = distinct[-10:] if last else distinct[:10]
        got = [(e["value"], e["count"]) for e in a[key]]
        check(got == [(v, values.count(v)) for v in want], key, got)
    head = compat.stdout.splitlines()
    check(head[0] == f"Smallest {min(10, len(set(mins)))} durations:", "compat head", head[0])
    check(sum(h["count"] for h in a["histogram"]) == len(mins), "histogram")


def check_diff(paths):
    same = run(TARE, "diff", paths[0], paths[0], "-T", "0")
    check(same.returncode == 0 and "+0" in same.stdout, "diff of itself", same.stderr)
    r = run(TARE, "diff", "-j", paths[0], paths[1])
    d = json.loads(r.stdout)
    check_schema(d, "tare.diff-1")
    a, b = summary(Profile(paths[0])), summary(Profile(paths[1]))
    check(d["total"]["self"] == b[2] - a[2], "diff total")
    for row in d["rows"]:
        check(row["self"] == b[0][row["name"]]["self"] - a[0][row["name"]]["self"], "diff", row)
    bad = run(TARE, "diff", paths[0])
    plain = dict(os.environ, LC_ALL="C")
    for command in ("aggregate", "diff"):
        signs = [run(TARE, command, *paths[:2]).stdout, run(TARE, command, *paths[:2], env=plain).stdout]
        check(signs[1] == signs[0].replace("±", "+-"), command, "without UTF-8", signs)
    check(bad.returncode == 125 and "name two profiles" in bad.stderr, "diff of one")
    text = run(TARE, "diff", "--compat", "measureme", paths[0], paths[1]).stdout
    check(text.startswith("+-") and "\nTotal cpu time: " in text, "diff compat")


def check_rustc(tmp):
    rustc = shutil.which("rustc")
    if not rustc:
        skipped("new files of rustc", "rustc is not installed")
        return
    with open(f"{tmp}/small.rs", "w") as f:
        f.write("#![no_std]\n#![crate_type = \"lib\"]\npub fn add(a: u32, b: u32) -> u32 { a + b }\n")
    env = dict(os.environ, RUSTC_BOOTSTRAP="1")
    for i in range(3):
        r = run(rustc, "-Z", f"self-profile={tmp}/runs", "--emit=metadata", "small.rs", cwd=tmp, env=env)
        if r.returncode:
            skipped("new files of rustc", "this rustc does not self-profile")
            return
    run(rustc, "-Z", f"self-profile={tmp}/all", "-Z", "self-profile-events=all", "--emit=obj", "small.rs",
        cwd=tmp, env=env)
    files = sorted(glob.glob(f"{tmp}/runs/*"))
    check(len(files) == 3, "rustc wrote", files)
    version = struct.unpack("<I", open(files[0], "rb").read(8)[4:])[0]
    if version != 9:            # an older rustc; the class above reads only the present version
        skipped("comparing new files of rustc", f"this rustc writes version {version}")
        for f in files:
            p = run(TARE, "summarize", f)
            check(p.returncode == 0 and "typeck" in p.stdout, "version", version, p.stdout[:500], p.stderr)
        return
    check_all(files[0])
    check_all(glob.glob(f"{tmp}/all/*")[0])
    check_aggregate(files)
    check_diff(files)


def check_recorded(tmp):
    r = run(TARE, "record", "-r", "3", "-o", f"{tmp}/own", "--", RECORDER)
    check(r.returncode == 0, "record", r.stderr)
    files = sorted(glob.glob(f"{tmp}/own/*.mm_profdata"))
    check(len(files) == 3, "one file per run", files)
    check(all(len(os.path.basename(f)) == len("recorder-1234567.mm_profdata") for f in files), files)
    p = Profile(files[0])
    check(len(p.events) == 118 and {e[3] for e in p.events} == {1, 2, 3}, "what was recorded")
    for f in files:
        check_all(f)
    a = json.loads(run(TARE, "aggregate", "-j", f"{tmp}/own").stdout)
    check(a["threads"] == 3 and a["regions"] == 0 and a["intervals"] == 12 * 8 + 2 * 8 * 8,
          "recorded runs line up", a["threads"], a["regions"], a["intervals"])
    r = run(TARE, "record", "-q", "-o", f"{tmp}/made/for//this/", "--", RECORDER)
    check(r.returncode == 0 and len(os.listdir(f"{tmp}/made/for/this")) == 1, "directories made", r.stderr)
    for where, status in ((files[0], 125), (f"{files[0]}/below", 125), ("", 125), ("/proc/none/such", 125)):
        r = run(TARE, "record", "-o", where, "--", RECORDER)
        check(r.returncode == status and (where or "--output") in r.stderr, "record to", where, r.stderr)
    r = run(TARE, "record", "-o", f"{tmp}/none", "--", "true")
    check(r.returncode == 125 and "wrote no profile" in r.stderr, "record true", r.stderr)
    r = run(TARE, "record", "-o", f"{tmp}/none", "--", "/nonexistent/program")
    check(r.returncode == 127, "record nothing", r.returncode)
    r = run(TARE, "record", "-o", f"{tmp}/none", "-c", "no-such-event", "--", RECORDER)
    check(r.returncode == 125 and "no-such-event" in r.stderr, "record no-such-event", r.stderr)
    # What the engine cannot count is not recommended to be counted by it.
    r = run(TARE, "record", "-o", f"{tmp}/none", "-c", "cycles", "--", RECORDER)
    if "no hardware counters" in r.stderr:
        check(r.returncode == 125 and "tare list" in r.stderr and "tare run" not in r.stderr, "record cycles", r.stderr)


def self_values(tmp, name, *options, runs=3):
    """Of some recordings: item -> (smallest, largest)."""
    r = run(TARE, "record", "-q", "-r", str(runs), "-o", f"{tmp}/{name}", *options, "--", RECORDER)
    check(r.returncode == 0, "record", options, r.stderr)
    a = json.loads(run(TARE, "aggregate", "-j", f"{tmp}/{name}").stdout)
    check_schema(a, "tare.aggregate-1")
    check(a["regions"] == 0, name, "runs line up")
    return ({i["name"]: (i["self_min"], i["self_max"]) for i in a["items"]},
            {p["provenance"] for p in a["profiles"]}, a["profiles"][0], a["histogram"])


def zen(flaws):
    return "--cpu", "zen2", "-f", flaws


def check_recorded_soft(tmp):
    """In the engine. The program does the same in every run, in every thread, whichever of
    them is the first: no sample interval varies."""
    exact, provenance, info, varied = self_values(tmp, "exact", "-b", "soft", "-c", "instructions:u",
                                                  runs=16)
    check([v["range_up_to"] for v in varied] == [0], "intervals vary", varied)
    check(provenance == {"exact"} and info["counter"] == "instructions:u", "soft", provenance)
    check(info["command"] == RECORDER, "command", info["command"])
    noisy, provenance, info, _ = self_values(tmp, "noisy", "-c", "instructions:u", *zen("interrupts=100000"))
    check(provenance == {"simulated"} and "Ryzen" in info["cpu"], "flaws", provenance, info["cpu"])
    check(noisy["fill"][0] > exact["fill"][0], "interrupts are counted", noisy["fill"])
    check(all(exact[name][0] == exact[name][1] for name in exact), "exact", exact)
    # 28 intervals each, and a read of a pair is 9 instructions longer
    want = {name: (exact[name][0] + 28 * 9,) * 2 for name in ("fill", "sort", "check")}
    # An interrupt between the two reads of a pair stays in (tests/cli/vpmu-corrected.py). Where the reads
    # are depends on the compiler; of three sets of times one hits none of them.
    for step in 1, 2, 3:
        at = ":".join(str(40037 * step + i * 70001 * step) for i in range(16))
        noisy, _, _, _ = self_values(tmp, f"noisy{step}", "-c", "instructions:u", *zen("interrupt-at=" + at))
        net, provenance, _, _ = self_values(tmp, f"net{step}", "-c", "instructions-minus-irqs:u",
                                            *zen("interrupt-at=" + at))
        check(provenance == {"simulated"}, "corrected", provenance)
        check(noisy["sort"][0] > exact["sort"][0], "interrupts are counted", noisy["sort"])
        got = {name: net[name] for name in want}
        if got == want:
            break
    check(got == want, "net is exact", got, want)
    r = run(TARE, "record", "-b", "native", "--cpu", "zen2", "-o", f"{tmp}/none", "--", RECORDER)
    check(r.returncode == 125 and "--backend native" in r.stderr, "native and --cpu", r.stderr)
    r = run(TARE, "record", "--cpu", "zen99", "-o", f"{tmp}/none", "--", RECORDER)
    check(r.returncode == 125 and "zen99" in r.stderr, "no such CPU", r.stderr)
    r = run(TARE, "record", "-b", "soft", "-o", f"{tmp}/none", "--", "/nonexistent/program")
    check(r.returncode == 127, "record nothing in the engine", r.returncode)
    # Only the engine counts loads on this CPU, and it has no counter that a program could open.
    r = run(TARE, "record", "--cpu", "zen2", "-c", "loads", "-o", f"{tmp}/loads", "--", RECORDER)
    check(r.returncode and "zen2 has no such event" in r.stderr and "event type" not in r.stderr, r.returncode, r.stderr)


def check_many_stacks(tmp):
    """More stacks than the flame graph keeps: it draws what the whole tree has."""
    path = f"{tmp}/many.mm_profdata"
    subprocess.run([GENERATE, "-n", "1000000", "-j", "1", path], check=True)
    svg = run(TARE, "export", "--to", "flamegraph", path).stdout
    check("were not told apart" in svg, "too few stacks to see anything")
    drawn = re.findall(r"<title>(.*)\n([\d,]+) instructions, [\d.]+%, self (-?[\d,]+), (\d+) times", svg)
    tree = run(TARE, "summarize", "--tree", "-p", str(100 * 0.3 / 1180), path).stdout.splitlines()[1:]
    want = [(w[4], w[1], w[2], w[3].replace(",", "")) for w in (line.split() for line in tree)]
    check(len(drawn) > 10000 and sorted(drawn) == sorted(want), "frames", len(drawn), len(want))


def check_memory(tmp):
    """Very many stacks in less memory than they need: what is allowed is a tenth of the
    file and 64 MiB."""
    path = f"{tmp}/very-many.mm_profdata"
    subprocess.run([GENERATE, "-n", "1200000", "-j", "1", path], check=True)
    size = os.path.getsize(path)
    limit = size + size // 10 + (64 << 20)

    def lines(*argv):
        p = subprocess.Popen([TARE, *argv, path], stdout=subprocess.PIPE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        yield from p.stdout
        check(p.wait() == 0, argv, "in", limit, "bytes")

    n, total, last = 0, 0, b""
    for line in lines("export", "--to", "collapsed"):
        stack, value = line.rsplit(b" ", 1)
        check(stack > last, "order", stack, last)
        n, total, last = n + 1, total + int(value), stack
    whole = json.loads(run(TARE, "summarize", "-j", path).stdout)["profiles"][0]
    check(n > 700000 and total == whole["total"], "stacks", n, total, whole["total"])
    tree = [line.split() for line in lines("summarize", "--tree")][1:]
    check(len(tree) >= n, "tree", len(tree), n)
    check(sum(int(w[2].replace(b",", b"")) for w in tree) == total, "self values of the tree")


def check_noise(tmp):
    """The tables of docs/profiles.md, from two runs each."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/recorder/noise.py")
    r = run(script, "--runs", "2", "-o", tmp, TARE, RECORDER)
    check(r.returncode == 0, "noise.py", r.stderr)
    with open(f"{tmp}/noise.md") as f:
        rows = {cells[1].strip(" `"): cells[2:] for cells in
                (line.split("|") for line in f if line.startswith("| `"))}
    check(set(rows) == {"sort", "fill", "check", "round"}, "rows", rows)
    for name in ("fill", "check", "round"):
        check("±0 " in rows[name][1], "no noise", name, rows[name])
        check(float(re.search(r"±([\d.]+)", rows[name][3])[1]) <= 1, "a read between", name, rows[name])
    for name in ("noise-macro.svg", "noise-micro.svg"):
        minidom.parse(f"{tmp}/{name}")


def check_schemas(tmp):
    """Runs that differ, names on one side only; and that the schemas can refuse."""
    one, two = (f"{FIXTURES}/rustc-{n}.mm_profdata" for n in ("all", "escapes"))
    a = json.loads(run(TARE, "aggregate", "-j", one, two).stdout)
    check(a["differences"], "runs of two programs differ")
    d = json.loads(run(TARE, "diff", "-j", one, two).stdout)
    check(any(r["change"] is None for r in d["rows"]), "a name of one side only")
    s = json.loads(run(TARE, "summarize", "-j", one, two).stdout)
    for value, name in ((a, "tare.aggregate-1"), (d, "tare.diff-1"), (s, "tare.summary-1")):
        check_schema(value, name)
        rules = schema(name)
        check(violations(dict(value, more=1), rules, rules), name, "allows more")
        check(violations(dict(value, schema="tare.stat/1"), rules, rules), name, "allows another")
        few = {k: v for k, v in value.items() if k not in ("rows", "items", "profiles")}
        check(violations(few, rules, rules), name, "allows less")


def write_profile(path, meta, names, events):
    """events: (kind, name, thread, p1, p2), kind and name as numbers in names."""
    strings, at = b"MMSD\x09\0\0\0", []
    for text in [meta] + names:
        at.append(len(strings))
        strings += text + b"\xff"
    index = b"MMSI\x09\0\0\0" + struct.pack("<QQ", 100000001, at[0])
    records = b"".join(struct.pack("<QQIIII", at[k + 1] + REGULAR, at[n + 1] + REGULAR, t, a & 0xFFFFFFFF,
                                   b & 0xFFFFFFFF, a >> 32 << 16 | b >> 32) for k, n, t, a, b in events)
    with open(path, "wb") as f:
        f.write(b"MMPD\x09\0\0\0")
        for tag, stream in enumerate((b"MMES\x09\0\0\0" + records, strings, index)):
            f.write(struct.pack("<BI", tag, len(stream)) + stream)


def check_odd_files(tmp):
    """A thread per request, and names that are orders to a terminal."""
    meta = (b'{"start_time":1,"process_id":2,"cmd":"/bin/a\\u001b[2J b","counter":{"name":"c\\u001b[0m",'
            b'"units":[["n",1]]},"tare":{"cpu":"\\u001bc","threads":[{"id":1,"name":"\\u001bc"}]}}')
    path = f"{tmp}/odd.mm_profdata"
    write_profile(path, meta, [b"Generic\x1b[31mActivity", b"good", b"a\x1b[0mb\xc2\x9b2J"],
                  [(0, 1, 1, 5, 9), (0, 2, 2, 4, 5)])
    for command in (["summarize"], ["summarize", "--by", "kind"], ["summarize", "--by", "thread"],
                    ["summarize", "--tree"], ["view"], ["view", "-i"], ["aggregate"], ["diff", path],
                    ["export", "--to", "collapsed"], ["export", "--to", "csv"],
                    ["export", "--to", "flamegraph"], ["export", "--to", "chrome"]):
        r = run(TARE, *command, path)
        check(r.returncode == 0 and not set("\x1b\x9b") & set(r.stdout + r.stderr), "escapes", command, r.stderr)
    n = 100000
    write_profile(path, b'{"start_time":1,"process_id":2,"cmd":"x"}', [b"Query", b"request"],
                  [(0, 1, i, 0, i % 7) for i in range(n)])
    a = json.loads(run(TARE, "aggregate", "-j", path, path).stdout)
    check(a["threads"] == n and a["intervals"] == n and a["regions"] == 0, "many threads", a["threads"])
    scope = json.loads(run(TARE, "export", "--to", "speedscope", path).stdout)
    check(len(scope["profiles"]) == n, "speedscope's threads", len(scope["profiles"]))
    rows = json.loads(run(TARE, "summarize", "-j", "--by", "thread", path).stdout)["profiles"][0]["rows"]
    check(len(rows) == n and sum(r["self"] for r in rows) == sum(i % 7 for i in range(n)), "rows")


def turns(threads, step):
    """The events of all threads, each in its order, `step` at a time."""
    events, at = [], 0
    while any(at < len(t) for t in threads):
        for t in threads:
            events += t[at:at + step]
        at += step
    return events


def nested(thread, n, seed):
    """Events of one thread: intervals inside each other, and instants."""
    shape, events, stack, clock = random.Random(seed), [], [], 0
    while len(events) < n:
        clock += shape.randrange(1, 90)
        r = shape.randrange(10)
        if r < 2:
            events.append((0, 1 + r, thread, clock, 0xFFFFFFFFFFFF))
        elif r < 6 or not stack:
            stack.append((clock, 1 + shape.randrange(5)))
        else:
            start, name = stack.pop()
            events.append((0, name, thread, start, clock))
    return events


def check_thread_schedules(tmp):
    """When a thread ran, and what ran between, does not matter to a comparison of its runs."""
    names = [b"Query"] + [b"f%d" % i for i in range(6)]
    paths = f"{tmp}/first.mm_profdata", f"{tmp}/second.mm_profdata"
    first = [nested(i, 3000, i) for i in range(5)]
    second = [[e for k, e in enumerate(t) if k % 700 != 99] for t in first]
    results = []
    for step, other_step in ((7, 7), (1, 10**6), (10**6, 13), (300, 10**6)):
        write_profile(paths[0], PLAIN, names, turns(first, step))
        write_profile(paths[1], PLAIN, names, turns(second, other_step))
        results.append(run(TARE, "aggregate", "-j", *paths).stdout)
    a = json.loads(results[0])
    check(all(r == results[0] for r in results) and a["threads"] == 5 and a["regions"] > 0,
          "schedules", a["threads"], a["regions"])
    # A thread that one run does not have is compared with none.
    write_profile(paths[1], PLAIN, names, turns(first, 9) + [(0, 6, 99, 4, 9)])
    a = json.loads(run(TARE, "aggregate", "-j", *paths).stdout)
    check(a["threads"] == 6 and a["regions"] == 1 and len(a["differences"]) == 1, "one more thread", a["threads"])
    check_one_walk(paths[0], names)


def check_one_walk(path, names):
    """A file is read once, however many threads take turns in it."""
    faults = []
    for n in 1, 16:
        threads = [[(0, 1, t, i, i) for i in range(320000 // n)] for t in range(n)]
        write_profile(path, PLAIN, names, turns(threads, 50))
        pid = os.posix_spawn(TARE, [TARE, "aggregate", "-o", "/dev/null", path, path], os.environ)
        _, status, usage = os.wait4(pid, 0)
        check(status == 0, "aggregate", n, status)
        faults.append(usage.ru_minflt)
    check(faults[1] < 2 * faults[0], "page faults with 1 and 16 threads", faults)


def within(mib, *command):
    """Run where no more than so much memory can be had, the mapped file included."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit)


PLAIN = b'{"start_time":1,"process_id":2,"cmd":"x","counter":{"name":"instructions:u","units":[["instructions",1]]}}'
EXACT = PLAIN.replace(b'{"start', b'{"tare":{"provenance":"exact"},"start')


def check_long_names(tmp):
    """A name of 2 MB is read, cut; one of 100 kB does not pad the rows of others."""
    path = f"{tmp}/long.mm_profdata"
    write_profile(path, PLAIN, [b"Query", b"short", b"L" * 2000000], [(0, 1, 1, 0, 5), (0, 2, 1, 6, 9)])
    r = run(TARE, "summarize", path)
    check(r.returncode == 0 and "longer than 1 MiB" in r.stderr, "2 MB", r.stderr)
    check(max(map(len, r.stdout.splitlines())) < 1100000, "cut")
    write_profile(path, PLAIN, [b"Query", b"short", b"L" * 100000], [(0, 1, 1, 0, 5), (0, 2, 1, 6, 9)])
    for command in (["summarize", path], ["aggregate", path, path], ["diff", "-a", path, path]):
        r = run(TARE, *command)
        row = [line for line in r.stdout.splitlines() if line.startswith("short ")]
        check(r.returncode == 0 and row and len(row[0]) < 300, command, row and len(row[0]))


def check_long_command(tmp):
    path = f"{tmp}/command.mm_profdata"
    command = " ".join(str(i) for i in range(3000)).encode()
    write_profile(path, PLAIN.replace(b'"x"', b'"%s"' % command), [b"Query"], [])
    text = run(TARE, "view", "-i", path).stdout
    check(len(text) < 1000 and "... [3000 words]\n" in text, len(text))
    given = json.loads(run(TARE, "summarize", "-j", path).stdout)["profiles"][0]["command"]
    check(given == command.decode(), "JSON has all", len(given))


def check_folder(tmp):
    """A command that shows one profile names one of the folder's."""
    folder = f"{tmp}/a folder"
    os.mkdir(folder)
    r = run(TARE, "view", folder)
    check(r.returncode == 1 and "is a directory without profiles" in r.stderr, r.stderr)
    path = f"{folder}/b.mm_profdata"
    for name in ("b", "c"):
        write_profile(f"{folder}/{name}.mm_profdata", PLAIN, [b"Query", b"work"], [(0, 1, 5, 0, 1)])
    r = run(TARE, "view", folder)
    check(r.returncode == 1 and f"is a directory with 2 profiles; name one of them: {path}" in r.stderr, r.stderr)
    check(run(TARE, "summarize", folder).returncode == 0, "both of them")


def check_line_ends(tmp):
    """Cells that are empty at the end of a row are not blanks there."""
    paths = [f"{tmp}/end-{i}.mm_profdata" for i in range(3)]
    for path, end in zip(paths, (9, 9, 12)):
        write_profile(path, PLAIN, [b"Query", b"same", b"other"], [(0, 1, 1, 0, 5), (0, 2, 1, 6, end)])
    for command in (["aggregate", *paths], ["diff", "-a", paths[0], paths[2]]):
        text = run(TARE, *command).stdout
        check("same" in text and not re.search(r"[ \t]$", text, re.M), command, text)


def check_empty(tmp):
    path = f"{tmp}/none.mm_profdata"
    write_profile(path, PLAIN, [b"Query"], [])
    for command in (["view"], ["view", "--compat", "measureme"]):
        r = run(TARE, *command, path)
        check(r.returncode == 0 and not r.stdout and r.stderr == "No events.\n", command, r.stderr)
    r = run(TARE, "export", "--to", "flamegraph", path)
    check(r.returncode == 0 and "no interval to draw" in r.stderr, "an empty flame graph", r.stderr)
    text = [t.firstChild.data for t in minidom.parseString(r.stdout).getElementsByTagName("text") if t.firstChild]
    check("There is no interval to draw." in text, "what it says", text)
    for format in ("chrome", "speedscope", "collapsed", "csv"):
        r = run(TARE, "export", "--to", format, path)
        check(r.returncode == 0, format, r.stderr)
    # Runs without a sample interval in common.
    other = f"{tmp}/other.mm_profdata"
    write_profile(other, PLAIN, [b"Query", b"work"], [(0, 1, 5, 0, 1)])
    for extra in ([], ["-j"], ["-f", "json"], ["-f", "text"], ["-g"]):
        r = run(TARE, "aggregate", *extra, path, other)
        check(r.returncode == 0 and not re.search(r"\b(nan|inf)\b", r.stdout), extra, r.stdout, r.stderr)
    both = [run(TARE, "aggregate", *extra, path, other).stdout for extra in (["-j"], ["-f", "json"])]
    check(both[0] == both[1] and both[0], "-j and -f json")


def check_crox_args(tmp):
    """crox writes arguments in the order of Rust's HashMap; found with rustc 1.95."""
    path = f"{tmp}/args.mm_profdata"
    for n, order in ((1, [0]), (3, [0, 1, 2]), (4, [1, 3, 0, 2]), (5, [4, 1, 3, 0, 2]),
                     (8, [4, 3, 2, 7, 1, 6, 0, 5]), (15, [14, 7, 10, 6, 5, 4, 12, 3, 2, 9, 13, 1, 8, 11, 0])):
        name = b"\x1e".join([b"f"] + [b"v%d" % i for i in range(n)])
        write_profile(path, PLAIN, [b"Query", name], [(0, 1, 1, 0, 5000)])
        for extra, want in (["--compat", "measureme"], order), ([], list(range(n))):
            event = json.loads(run(TARE, "export", "--to", "chrome", *extra, path).stdout)
            event = next(e for e in (event if extra else event["traceEvents"]) if e.get("ph") == "X")
            check(list(event["args"].items()) == [(f"arg{i}", f"v{i}") for i in want], n, event["args"])


def check_run_groups(tmp):
    """diff and aggregate show a range as the same: its middle, and half of it."""
    def group(name, values, meta=PLAIN):
        os.makedirs(f"{tmp}/{name}")
        for i, v in enumerate(values):
            write_profile(f"{tmp}/{name}/{i}.mm_profdata", meta, [b"Query", b"work", b"rest"],
                          [(0, 1, 1, 0, v), (0, 2, 1, v, v + 1000000)])
        return f"{tmp}/{name}"
    base, change = group("base", [100010, 100020, 161784]), group("change", [161884, 161885, 161886])
    d = run(TARE, "diff", "-a", base, change).stdout
    row = next(line for line in d.splitlines() if line.startswith("work"))
    check("130,897 ±30,887 " in row and "161,885 ±1 " in row and "+30,988" in row, row)
    a = run(TARE, "aggregate", "-s", "variation", "-g", *sorted(glob.glob(f"{base}/*"))).stdout
    lines = a.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("item"))
    check(lines[at + 1].split()[:3] == ["work", "1", "130897"] and "±30887 " in lines[at + 1] and
          lines[at + 1].endswith("run 3"), lines[at + 1])
    check(lines[at + 2].startswith("rest ") and "±0 " in lines[at + 2] and
          not lines[at + 2].endswith("run 3"), lines[at + 2])
    check("bars are logarithmic" in a, "bars")
    named = lines[next(i for i, line in enumerate(lines) if "by the name" in line) + 2]
    check(named.split() == ["work", "1", "±30887", "±30887"], named)
    check(re.search(r"±30887 instructions: .*work.*run 3 differs most", a), "which run")
    j = json.loads(run(TARE, "aggregate", "-j", "-g", *sorted(glob.glob(f"{base}/*"))).stdout)
    check_schema(j, "tare.aggregate-1")
    check(j["by_name"] == [{"name": "work", "intervals": 1, "largest_range": 61774, "sum_of_ranges": 61774}] and
          j["total_outlier_run"] == 3, "JSON", j["by_name"])
    # Three runs and three whose ranges lie apart: that happens once in ten times by chance.
    r = run(TARE, "diff", "-T", "1", base, change)
    row = next(line for line in r.stdout.splitlines() if line.startswith("work"))
    check(r.returncode == 0 and row.endswith("within"), "the runs' own variation", row, r.stderr)
    near, apart = group("near", [100000, 105000, 110000]), group("apart", [150000, 155000, 160000])
    d = run(TARE, "diff", near, apart).stdout
    check(re.search(r"^work .* unclear$", d, re.M) and "(unclear: 3 and 3 runs are too few" in d, d)
    # One value in each run of a group is +-0; of exact counts two runs prove a difference.
    steady, other = group("steady", [100000, 100000], EXACT), group("other", [100001, 100001], EXACT)
    d = run(TARE, "diff", steady, other).stdout
    check(re.search(r"^work +100,000 ±0 +100,001 ±0 +\+1 .* beyond$", d, re.M), d)
    d = run(TARE, "diff", f"{steady}/0.mm_profdata", f"{other}/0.mm_profdata").stdout
    check(re.search(r"^work +100,000 +100,001 +\+1 ", d, re.M), "one run has no spread", d)
    raw = group("raw", [100000, 100000]), group("raw2", [100001, 100001])
    d = json.loads(run(TARE, "diff", "-j", *raw).stdout)
    check_schema(d, "tare.diff-1")
    check({r["name"]: r["verdict"] for r in d["rows"]} == {"work": "too-few-runs", "rest": "same"} and
          not d["rows"][0]["beyond_variation"], "raw counts of two runs", d["rows"])
    base, change = group("low", range(100000, 100005)), group("high", range(131000, 131005))
    check(re.search("^work .* beyond$", run(TARE, "diff", base, change).stdout, re.M), "five and five runs")
    for limit, status in (("31000", 0), ("30999", 1), ("32%", 0), ("30%", 1), ("work=31000", 0),
                          ("work=1%", 1), ("rest=0", 0), ("1", 1)):
        r = run(TARE, "diff", "-T", limit, base, change)
        check(r.returncode == status and ("grew by" in r.stderr) == bool(status), "-T", limit, r.stderr)
    r = run(TARE, "diff", "-T", "0.0001%", base, change)
    check(re.search(r"its threshold of 0\.1$", r.stderr, re.M), "digits that mean nothing", r.stderr)
    r = run(TARE, "diff", "-T", "1", "-T", "work=40000", "-T", "total=40000", base, change)
    check(r.returncode == 0, "the name's own threshold", r.stderr)
    for bad in ("x", "=1", "-1", "work=", "nobody=1"):
        r = run(TARE, "diff", "-T", bad, base, change)
        status = 2 if bad == "nobody=1" else 125        # a name that no profile has is no usage error
        check(r.returncode == status and bad.split("=")[0] in r.stderr, bad, r.returncode, r.stderr)
    r = run(TARE, "diff", "-f", "markdown", base, change)
    check("\n| item | base | change |" in r.stdout and "\n|---|---:|" in r.stdout and
          "| `work` | 100,002 ±2 |" in r.stdout, r.stdout)
    check(json.loads(run(TARE, "diff", "-f", "json", base, change).stdout)["schema"] == "tare.diff/1", "-f json")


def check_many_runs(tmp):
    """Runs that went different ways: columns for what differs, not one for each of the runs."""
    def runs(name, counts):
        os.makedirs(f"{tmp}/{name}")
        for i, n in enumerate(counts):
            write_profile(f"{tmp}/{name}/{i:03}.mm_profdata", PLAIN, [b"Query", b"work", b"end"],
                          [(0, 1, 1, 10 * k, 10 * k + 5) for k in range(n)] + [(0, 2, 1, 10 * n, 10 * n + 5)])
        text = run(TARE, "aggregate", f"{tmp}/{name}").stdout
        check(max(map(len, text.splitlines())) < 200, "the longest line", max(map(len, text.splitlines())))
        table = text[text.index("\nevent there"):].splitlines()[1:]
        full = json.loads(run(TARE, "aggregate", "-j", f"{tmp}/{name}").stdout)
        check(all(len(d["counts"]) == len(counts) for d in full["differences"]), "JSON has every run")
        return [re.split("  +", line.strip()) for line in table]
    t = runs("cut-off", [40] * 56 + [30] + [40] * 121)
    check(t[0] == ["event there", "177 runs", "run 57"] and "work" in t[1][0] and
          int(t[1][1]) - int(t[1][2]) == 10, t)
    t = runs("two", [40] * 4 + [30, 40, 30] + [40] * 5)
    check(t[0] == ["event there", "10 runs", "runs 5, 7"], t)
    t = runs("each-other", range(40, 70))
    check(t[0] == ["event there"] + [f"run {i}" for i in range(1, 9)] and
          t[-1] == ["(22 more runs with other counts: --json has them all)"], t)
    t = runs("few", [40, 41, 40])
    check(t[0] == ["event there", "run 1", "run 2", "run 3"], t)


def check_total_count(tmp):
    """One event more: the row of the total says so, as the event's own row does."""
    paths = [f"{tmp}/events-{n}.mm_profdata" for n in (3, 4)]
    for n, path in zip((3, 4), paths):
        write_profile(path, PLAIN, [b"Query", b"work"], [(0, 1, 1, 10 * k, 10 * k + 5) for k in range(n)])
    rows = [line.split() for line in run(TARE, "diff", *paths).stdout.splitlines()]
    check([r[5] for r in rows if r and r[0] in ("work", "total")] == ["+1", "+1"], rows)
    total = json.loads(run(TARE, "diff", "-j", *paths).stdout)["total"]
    check((total["base"]["count_mean"], total["change"]["count_mean"]) == (3, 4), total)


def check_usage():
    for command in ("record", "summarize", "aggregate", "diff", "export", "view", "compare"):
        for wrong in ([], ["--nonsense"], ["-o"], ["--top=x", "a", "b"]):
            r = run(TARE, command, *wrong)
            check(r.returncode == 125 and r.stderr, command, wrong, r.returncode)


def check_bounds(tmp):
    """Memory is bounded by what is there, not by what a file claims."""
    path = f"{tmp}/zeros.mm_profdata"
    write_profile(path, PLAIN, [b"Query"], [])
    n = 32 * (9 << 20)
    with open(path, "ab") as f:          # a page of zeros
        f.write(struct.pack("<BI", 0, n))
        f.truncate(f.tell() + n)
    for command in (["view", path], ["export", "--to", "csv", path], ["export", "--to", "chrome", path],
                    ["export", "--to", "speedscope", path], ["export", "--to", "collapsed", path],
                    ["summarize", path], ["summarize", "-t", path], ["summarize", "-b", "args", path],
                    ["aggregate", path, path]):
        r = within(3500, TARE, *command)
        check(r.returncode == 1 and "never written" in r.stderr and len(r.stdout) < 1000, command, r.stderr)
    write_profile(path, PLAIN, [b"Query", b"a"], [])
    n = 9 << 20                          # intervals inside each other
    words = array("I", struct.pack("<QQIIII", REGULAR + 8, REGULAR + 8, 1, 0, 0, 0)) * n
    words[5::8], words[6::8] = array("I", range(n, 0, -1)), array("I", range(n, 2 * n))
    with open(path, "ab") as f:
        f.write(struct.pack("<BI", 0, 32 * n) + words.tobytes())
    for command in (["summarize", path], ["summarize", "-t", path], ["aggregate", path, path],
                    ["export", "--to", "speedscope", path]):
        r = within(3500, TARE, *command)
        check(r.returncode == 1 and "inside each other" in r.stderr, command, r.returncode, r.stderr)
    for name in (b"", b"beginning"):     # 1,000 names that begin, and none that ends, in 3 GB of zeros
        strings = b"MMSD\x09\0\0\0Query\xff" + name
        at = [8] + [len(strings) - len(name)] * bool(name) + [20000 + 1000000 * k for k in range(1000)]
        events = b"".join(struct.pack("<QQIIII", REGULAR + 8, REGULAR + a, 1, 10 * k, 10 * k + 5, 0)
                          for k, a in enumerate(at))
        with open(path, "wb") as f:
            f.write(b"MMPD\x09\0\0\0")
            for tag, size, data in ((0, 8 + len(events), b"MMES\x09\0\0\0" + events), (1, 3 << 30, strings),
                                    (2, 8, b"MMSI\x09\0\0\0")):
                f.write(struct.pack("<BI", tag, size) + data)
                f.truncate(f.seek(size - len(data), 1))
        for command in (["summarize"], ["view"], ["export", "--to", "chrome"]):
            r = run(TARE, *command, path)
            check(r.returncode == 1 and "never written" in r.stderr and len(r.stdout) < 1000, command, r.stderr)
    path = f"{tmp}/threads.mm_profdata"
    write_profile(path, PLAIN, [b"Query", b"f"], [(0, 1, i, 0, 7) for i in range(300000)])
    for command in (["summarize", path], ["summarize", "-t", path]):
        r = within(200, TARE, *command)
        check(r.returncode == 0, command, r.stderr)


def check_still_counter(tmp):
    """A counter that stands still for longer than any nesting: none of the intervals is inside another."""
    path = f"{tmp}/still.mm_profdata"
    n = 2200000
    write_profile(path, PLAIN, [b"Query", b"a", b"b"], [(0, 1, 1, 7, 7), (0, 2, 1, 7, 7)] * n + [(0, 1, 1, 7, 9)])
    rows = [line.split() for line in run(TARE, "summarize", path).stdout.splitlines()]
    check(["a", "2", "100.00%", "2", f"{n + 1:,}"] in rows and ["b", "0", "0.00%", "0", f"{n:,}"] in rows, rows)
    for by in ("kind", "thread"):
        r = within(200, TARE, "summarize", "-b", by, path)
        check(f"{2 * n + 1:,}" in r.stdout, by, r.stdout, r.stderr)
    rows = [line.split()[3:] for line in within(200, TARE, "summarize", "-t", path).stdout.splitlines()]
    check(rows[1:] == [["1", "x"], ["1", "a"], [str(n), "a"], [str(n), "b"]], rows)
    r = within(200, TARE, "export", "--to", "collapsed", path)
    check(r.stdout == "x;a 2\n", r.stdout[:1000], r.stderr)
    r = within(400, TARE, "aggregate", path, path)
    check(f"{4 * n + 1:,} sample intervals" in r.stdout, r.stdout[:1000], r.stderr)
    short = f"{tmp}/still-short.mm_profdata"
    write_profile(short, PLAIN, [b"Query", b"a", b"b"], [(0, 1, 1, 7, 7), (0, 2, 1, 7, 7), (0, 2, 1, 7, 9)])
    profile = json.loads(run(TARE, "export", "--to", "speedscope", short).stdout)
    names = [f["name"] for f in profile["shared"]["frames"]]
    check([(e["type"], names[e["frame"]], e["at"]) for e in profile["profiles"][0]["events"]] ==
          [("O", "b", 7), ("O", "a", 7), ("C", "a", 7), ("O", "b", 7), ("C", "b", 7), ("C", "b", 9)], profile)
    r = run(TARE, "export", "--to", "collapsed", "--compat", "measureme", short)
    check(r.stdout == "rustc 0\nrustc;b 2\nrustc;b;b 0\nrustc;b;b;a 0\n", r.stdout)   # as measureme nests them


def check_one_of_each(tmp):
    """One event, one interval: the words around the numbers."""
    for name, extra in (("one", []), ("two", [(0, 1, 1, 3, 4)])):
        write_profile(f"{tmp}/{name}.mm_profdata", b'{"start_time":1,"process_id":2,"cmd":"x"}', [b"Query", b"a"],
                      [(0, 1, 1, 1, 2)] + extra + [(0, 1, 1, k, k + 1) for k in range(10, 50, 2)] * bool(extra))
    text = run(TARE, "summarize", f"{tmp}/one").stdout
    check(" 1 event, 1 thread\n" in text, text)
    write_profile(f"{tmp}/three.mm_profdata", b'{"start_time":1,"process_id":2,"cmd":"x"}', [b"Query", b"a"],
                  [(0, 1, 1, 1, 2)] + [(0, 1, 1, k, k + 1) for k in range(10, 50, 2)])
    text = run(TARE, "aggregate", f"{tmp}/two", f"{tmp}/three").stdout
    check(re.search("at 1 place; (1 interval there was|[02-9] intervals there were) not compared", text), text)


def check_far_apart(tmp):
    """Values whose distances need more than 32 bits, between others that do not."""
    path, events, at = f"{tmp}/far.mm_profdata", [], 0
    for i in range(12000):
        start = at + (1, 0, 9999, 10000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 3 << 32)[i % 9]
        inner = start + (i % 3 << 31)
        at = inner + (0, 1, 1 << 32)[i // 9 % 3]
        events += [(0, 1, i % 2, inner, at), (0, 2, i % 2, start, at)]
    write_profile(path, b'{"start_time":1,"process_id":2,"cmd":"x"}', [b"Query", b"inner", b"outer"], events)
    check_speedscope(path, Profile(path))


def check_bad_input(tmp):
    for name, content, what in (("empty", b"", "empty"), ("text", b"hello, world", "MMPD"),
                                ("seven", b"MMPD\7\0\0\0", "version 7"),
                                ("new", b"MMPD\x0a\0\0\0", "version 10")):
        with open(f"{tmp}/{name}", "wb") as f:
            f.write(content)
        for command in (["summarize"], ["aggregate"], ["view"], ["export", "--to", "csv"]):
            r = run(TARE, *command, f"{tmp}/{name}")
            check(r.returncode == 1 and what in r.stderr and name in r.stderr, command, r.stderr)
    whole = open(f"{FIXTURES}/rustc-all.mm_profdata", "rb").read()
    for cut in (8, 13, 1000, 100000, len(whole) - 1):
        with open(f"{tmp}/cut.mm_profdata", "wb") as f:
            f.write(whole[:cut])
        r = run(TARE, "summarize", f"{tmp}/cut.mm_profdata")
        check(r.returncode == 0 and "warning" in r.stderr, "cut at", cut, r.stderr)
        words = [line.split("cut.mm_profdata ")[1] for line in r.stderr.splitlines()]
        check(len(words) == len(set(words)), "one warning each", words)
    r = run(TARE, "summarize", f"{tmp}/nowhere")
    check(r.returncode == 1 and "nowhere" in r.stderr, "no file", r.stderr)
    r = run(TARE, "export", f"{FIXTURES}/rustc-all.mm_profdata")
    check(r.returncode == 125 and "--to" in r.stderr, "export to nothing", r.stderr)
    with open("/dev/full", "w") as full:
        r = run(TARE, "export", "--to", "csv", f"{FIXTURES}/rustc-all.mm_profdata", stdout=full)
    check(r.returncode == 1 and "space" in r.stderr, "full disk", r.stderr)
    r = run(TARE, "export", "--to", "csv", "-o", "/dev/full", f"{FIXTURES}/rustc-all.mm_profdata")
    check(r.returncode == 1 and os.path.exists("/dev/full"), "full disk by -o", r.stderr)
    r = run(TARE, "summarize", f"{FIXTURES}/rustc-all")
    check(r.returncode == 0, "without the extension", r.stderr)


with tempfile.TemporaryDirectory() as tmp:
    for path in sorted(glob.glob(f"{FIXTURES}/*.mm_profdata")):
        check_all(path)
    escapes = f"{FIXTURES}/rustc-escapes.mm_profdata"
    info = json.loads(run(TARE, "summarize", "-j", escapes).stdout)["profiles"][0]
    check("it's é" in info["command"], "the command behind bad escapes", info["command"])
    check_aggregate([escapes, escapes])
    check_schemas(tmp)
    check_many_stacks(tmp)
    check_recorded(tmp)
    if ENGINE:
        check_memory(tmp)  # a sanitizer needs more
        check_recorded_soft(tmp)
        check_noise(tmp)
    check_odd_files(tmp)
    check_thread_schedules(tmp)
    check_long_names(tmp)
    check_long_command(tmp)
    check_empty(tmp)
    check_folder(tmp)
    check_one_of_each(tmp)
    check_far_apart(tmp)
    check_line_ends(tmp)
    check_crox_args(tmp)
    check_run_groups(tmp)
    check_many_runs(tmp)
    check_total_count(tmp)
    check_usage()
    if ENGINE:
        check_still_counter(tmp)
        check_bounds(tmp)  # a sanitizer needs more
    check_bad_input(tmp)
    check_rustc(tmp)
finish()
