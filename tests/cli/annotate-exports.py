#!/usr/bin/env python3
"""tare annotate --format pprof and bbv: decoded here, and compared with the profile.
usage: annotate-exports.py TARE
"""
import collections, json, os, re, shutil, sys, tempfile
from cli import check, finish, need_engine, run, skip

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import profile_sums  # noqa: E402

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
folder = tempfile.mkdtemp(prefix="tare-annotate-exports")
os.chdir(folder)


def fields(data):
    """A message of protobuf: {field: [value, …]}; a value is a number, or bytes."""
    at, got = 0, collections.defaultdict(list)

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            got[tag >> 3].append(varint())
        else:
            check(tag & 7 == 2, "wire type", tag)
            n = varint()
            check(at + n <= len(data), "length", n)
            got[tag >> 3].append(data[at:at + n])
            at += n
    return got


def packed(data):
    values, v, shift = [], 0, 0
    for b in data:
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            values.append(v - (v >> 63 << 64))
            v = shift = 0
    return values


def pprof(data):
    """(events, [(stack, values)]): a stack is [(function, file, line), …], the innermost first."""
    top = fields(data)
    strings = [s.decode() for s in top[6]]
    check(strings[0] == "", strings[:3])
    types = [fields(t) for t in top[1]]
    check({strings[t[2][0]] for t in types} == {"count"}, "units")
    functions, locations, mappings = {}, {}, {}
    for data in top[3]:
        m = fields(data)
        mappings[m[1][0]] = strings[m[5][0]]
    check(os.path.basename(next(iter(mappings.values()))) in ("prog", "odd"), "the program comes first", mappings)
    for data in top[5]:
        f = fields(data)
        check(f[1][0] and f[1][0] not in functions, "ids of functions")
        functions[f[1][0]] = strings[f[2][0]], strings[f[4][0]] if f[4] else ""
    for data in top[4]:
        loc = fields(data)
        check(loc[1][0] and loc[1][0] not in locations and loc[2][0] in mappings, "ids of locations")
        line = fields(loc[4][0])
        locations[loc[1][0]] = functions[line[1][0]] + (line[2][0],)
    samples = []
    for data in top[2]:
        s = fields(data)
        samples.append(([locations[i] for i in packed(s[1][0])], packed(s[2][0])))
    check(strings[top[14][0]] == strings[types[0][1][0]], "the default event")
    return [strings[t[1][0]] for t in types], samples


def export(form, profile):
    p = run(tare, "annotate", "--format", form, "-o", form, "--report", "/dev/null", profile)
    check(p.returncode == 0, p.stderr)
    return open(form, "rb").read()


with open("prog.c", "w") as f:
    f.write("""#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static void inner(unsigned n)
{
	while (n--)
		sink ^= n;
}
int main(void)
{
	for (int i = 0; i < 10; i++)
		inner(100);
	return 0;
}
""")
p = run("cc", "-g", "-O1", "prog.c", "-o", "prog")
check(p.returncode == 0, p.stderr)
p = run(tare, "annotate", "-e", "instructions,loads", "-o", "profile", "--report", "/dev/null", "--", "./prog")
check(p.returncode == 0, p.stderr)
doc = profile_sums.read("profile")
totals = [e["total"] for e in doc["events"]]
if not any(f["name"] == "inner" for f in doc["functions"]):
    skip("elfutils or libiberty is not installed")

# pprof: every line of every function, with the counts of all events.
want = collections.Counter()
for f, _, _, file, line, _, counts in profile_sums.insns(doc):
    want[f["name"], doc["files"][file]["path"] if file >= 0 else "", line if file >= 0 else 0] += counts[0]
events, samples = pprof(export("pprof", "profile"))
got = collections.Counter()
for stack, values in samples:
    got[stack[0]] += values[0]
check(events == ["instructions", "loads"], events)
check([sum(v[i] for _, v in samples) for i in range(2)] == totals, totals)
check(got == collections.Counter({k: v for k, v in want.items() if v}), (got - want), (want - got))
check(any(k[0] == "inner" and k[1].endswith("/prog.c") and k[2] == 6 and v > 1000 for k, v in got.items()), got)

# With calls: stacks, with the line of each call.
insns = list(profile_sums.insns(doc))
place = {f["name"]: i for i, f in enumerate(doc["functions"])}
site = next(i for i, (f, _, _, file, line, _, _) in enumerate(insns) if f["name"] == "main" and line == 11)
sums = [[sum(c[e] for f, *_, c in insns if f is g) for e in range(2)] for g in doc["functions"]]
doc["has_calls"] = True
contexts = [(-1, place["main"], -1, "root", 1, *sums[place["main"]]),
            (0, place["inner"], site, "call", 10, *sums[place["inner"]])]
contexts += [(0, i, -1, "call", 1, *sums[i]) for i, f in enumerate(doc["functions"]) if f["name"] not in ("main", "inner")]
doc["contexts"] = [" ".join(map(str, c)) for c in contexts]
with open("calls", "w") as f:
    json.dump(doc, f)
events, samples = pprof(export("pprof", "calls"))
check([sum(v[i] for _, v in samples) for i in range(2)] == totals, totals)
stacks = [(stack, values) for stack, values in samples if stack[0][0] == "inner"]
check(len(stacks) == 1 and [s[0] for s in stacks[0][0]] == ["inner", "main"] and stacks[0][0][1][2] == 11, stacks)
check(stacks[0][1] == sums[place["inner"]], stacks)

# Basic-block vector: instructions of all blocks are those of the run; the loop has one block that runs 1,000 times.
lines = export("bbv", "profile").decode().splitlines()
check(lines[0].startswith("T:") and all(x.startswith("# ") for x in lines[1:]), lines[:2])
vector = {int(k): int(v) for k, v in re.findall(r":(\d+):(\d+) ", lines[0])}
check("T" + "".join(f":{k}:{v} " for k, v in vector.items()) == lines[0], lines[0][:80])
check(sum(vector.values()) == totals[0], sum(vector.values()), totals)
blocks = [(int(n), place, int(size), name) for n, place, size, name in
          (re.match(r"# (\d+) (\S+\+0x[0-9a-f]+) (\d+) (.*)", x).groups() for x in lines[2:])]
check([b[0] for b in blocks] == list(range(1, len(blocks) + 1)) and set(vector) <= {b[0] for b in blocks}, blocks[:3])
check(all(vector.get(n, 0) % size == 0 for n, _, size, _ in blocks), "a block runs as a whole")
check(any(name == "inner" and vector.get(n, 0) == 1000 * size for n, _, size, name in blocks),
      [(b, vector.get(b[0])) for b in blocks if b[3] == "inner"])
check(all(where.startswith("prog+0x") for _, where, _, name in blocks if name in ("inner", "main")), "places")

# Names and source that are no UTF-8: the page, the flame graph and the strings of pprof are UTF-8 nevertheless.
with open("odd.c", "wb") as f:
    f.write(b"""static volatile unsigned sink;
__attribute__((noinline)) void odd(unsigned n)
{
	while (n--)			/* caf\xe9 */
		sink ^= n;
}
int main(void)
{
	odd(100000);
	return 0;
}
""")
p = run("cc", "-g", "-O1", "odd.c", "-o", "odd")
check(p.returncode == 0, p.stderr)
p = run("objcopy", "--redefine-sym", "odd=inn\udce9r<", "odd")		# (the byte e9)
check(p.returncode == 0, p.stderr)
p = run(tare, "annotate", "--calls", "--html", "odd.html", "--format", "flamegraph", "-o", "odd.svg", "--report", "/dev/null",
        "--", "./odd")
check(p.returncode == 0, p.stderr)
for name in ("odd.html", "odd.svg"):
    text = open(name, "rb").read().decode()		# strict
    check("inn\ufffdr&lt;" in text, name, [x for x in text.splitlines() if "inn" in x][:3])
check("caf\ufffd" in open("odd.html").read(), "source")
p = run(tare, "annotate", "-o", "odd.profile", "--report", "/dev/null", "--", "./odd")
check(p.returncode == 0, p.stderr)
check(any(stack[0][0] == "inn\ufffdr<" for stack, _ in pprof(export("pprof", "odd.profile"))[1]), "pprof")

shutil.rmtree(folder)
finish()
