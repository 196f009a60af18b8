#!/usr/bin/env python3
"""The trace of memory and the simulated caches, against single-stepping: the same accesses in the same
order, and the same misses of every instruction as a simulation written here. usage: cachesim.py ACCESSES
STEPACCESS PROGRAM..."""
import collections, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import counting  # noqa: E402

counting.need_engine()
accesses, stepaccess = sys.argv[1:3]
env = {"LC_ALL": "C"}
DR, DW, I1MR, D1MR, D1MW, ILMR, DLMR, DLMW = range(8)
bad = []


class Cache:
    """Sets of lines, the last used at the end of its list."""
    def __init__(self, text):
        self.size, self.ways, self.line = map(int, text.split(","))
        self.sets = collections.defaultdict(list)
        self.n_sets = self.size // self.ways // self.line

    def misses(self, address, size):
        missed = False
        for line in sorted({address // self.line, (address + size - 1) // self.line}):
            lines = self.sets[line % self.n_sets]
            if line in lines:
                lines.remove(line)
            else:
                missed = True
                del lines[:max(0, len(lines) - self.ways + 1)]
            lines.append(line)
        return missed


def simulate(steps, caches):
    i1, d1, ll = map(Cache, caches)
    most = min(d1.line, ll.line)
    counts = collections.defaultdict(lambda: [0] * 8)
    for line in steps:
        words = line.split()
        c = counts[words[0]]
        if len(words) == 2:
            address, size = int(words[0], 16), int(words[1])
            if i1.misses(address, size):
                c[I1MR] += 1
                c[ILMR] += ll.misses(address, size)
            continue
        write = words[1] == "w"
        address, size = int(words[2], 16), min(int(words[3]), most)
        c[DW if write else DR] += 1
        if d1.misses(address, size):
            c[D1MW if write else D1MR] += 1
            c[DLMW if write else DLMR] += ll.misses(address, size)
    return dict(counts)


for program in sys.argv[3:]:
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        ours, theirs = f"{folder}/ours", f"{folder}/theirs"
        subprocess.run([stepaccess, theirs, program], env=env, stdout=subprocess.DEVNULL)
        steps = open(theirs).read().splitlines()
        for caches in (["512,2,64", "256,1,32", "2048,4,64"], ["32768,8,64"] * 2 + ["262144,8,64"]):
            p = subprocess.run([accesses, "-a", ours, "-c", *caches, program], env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # (the program's own output may be there, too)
            rows = [line.split() for line in p.stdout.splitlines() if len(line.split()) == 9]
            got = collections.defaultdict(lambda: [0] * 8)
            for pc, *numbers in rows:
                got[pc] = [a + int(b) for a, b in zip(got[pc], numbers)]
            wanted = simulate(steps, caches)
            wrong = [f"{name} {caches}: {pc}: simulated here {wanted.get(pc)}, by tare {got.get(pc)}"
                     for pc in sorted(wanted | got) if wanted.get(pc, [0] * 8) != got.get(pc, [0] * 8)]
            bad += wrong[:5]
            total = [sum(c) for c in zip(*wanted.values())]
            if not total[D1MR] or not total[I1MR]:
                bad.append(f"{name} {caches}: no misses: nothing is tested")
        wanted = [line for line in steps if len(line.split()) == 4]
        if open(ours).read().splitlines() != wanted:
            bad.append(f"{name}: other accesses than when single-stepped")
        print(f"{name}: {len(steps) - len(wanted)} instructions, {len(wanted)} accesses, "
              f"misses {total}")
print("\n".join(bad))
sys.exit(bool(bad))
