#!/usr/bin/env python3
"""How often is `tare compare` wrong about real programs that vary by themselves?

usage: noise.py TARE [PAIRS [PROGRAM]]

Python and Perl seed their hashes by chance, so no two runs execute the same. Groups of ten
runs are counted, one after the other, and each is compared with the one before (PAIRS times,
200 unless told): `tare compare` should say "same". Every fourth one is also compared with
a group that has more work to do, worth twice the range of ten runs: it should say "regression".
The first 3, the first 5 and all 10 runs of the groups are compared by themselves. Prints
rows of the table in docs/comparing.md. This takes an hour on a busy machine and is not
part of `make test`; tests/unit/cmd-compare.c simulates the same in seconds.

Fails if there are more wrong verdicts than chance explains (wrong_beyond_chance()).
"""
import collections, json, os, shutil, subprocess, sys, tempfile

tare = os.path.abspath(sys.argv[1])
pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
RUNS = (3, 5, 10)
VERDICTS = ("regression", "improved", "cannot-compare", "same")
PROGRAMS = {
    "python3": ["/usr/bin/python3", "-S", "-E", "-c", """
import sys
d = {'k%d' % i: i for i in range(400)}
n = sum(d[k] for k in set(d))
for i in range(int(sys.argv[1])): n += i
"""],
    "perl": ["/usr/bin/perl", "-e", """
my %h; $h{"k$_"} = $_ for 1..400;
my $n = 0; $n += $h{$_} for keys %h;
$n += $_ for 1..$ARGV[0];
"""],
}


def count(path, command, work, runs):
    subprocess.run([tare, "stat", "--backend", "soft", "-e", "instructions:u", "-j", "-o", path, "-r",
                    str(runs), "--clean-env", "--", *command, f"{work:08d}"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(path) as f:
        return json.load(f)


def values(result):
    return [c["value"] for run in result["runs"] for c in run["counts"]]


def first(path, result, n):
    with open(path, "w") as f:
        json.dump(dict(result, runs=result["runs"][:n]), f)
    return path


def verdict(a, b, n):
    got = subprocess.run([tare, "compare", "-j", first("a", a, n), first("b", b, n)],
                         stdout=subprocess.PIPE)
    return json.loads(got.stdout)["verdict"]


def work_for(command, instructions):
    """How much work is worth that many instructions, on average."""
    few, many = (sum(values(count("x", command, w, 5))) / 5 for w in (1, 20001))
    return max(2, round(20000 * instructions / (many - few)))


def wrong_beyond_chance(name, n, same, changed):
    """Sentences about N and N runs. docs/comparing.md has seen 2 wrong verdicts in 1,200 unchanged
    pairs, and of changed ones with five runs or more 1 missed in 200. Permitted are four times
    the first share at its worst (1 in 200 of a row) and ten times the second, and two more, since
    a short campaign may have one by chance."""
    wrong = same[n, "regression"] + same[n, "improved"]
    missed = changed[n, "same"] + changed[n, "improved"] + changed[n, "cannot-compare"]
    if wrong > 2 + pairs // 50:
        yield f"{name}, {n} and {n} runs: {wrong} of {pairs} unchanged pairs judged as changed"
    if n >= 5 and missed > 2 + sum(changed[n, v] for v in VERDICTS) // 20:
        yield f"{name}, {n} and {n} runs: {missed} changed pairs not judged as a regression"


def campaign(name, command):
    """The wrong verdicts that chance does not explain."""
    spread = values(count("x", command, 1, 50))
    ranges = [max(spread[i:i + 10]) - min(spread[i:i + 10]) for i in range(0, 50, 10)]
    usual = sum(ranges) / len(ranges)
    more = work_for(command, 2 * usual)
    same, changed = collections.Counter(), collections.Counter()
    before = count("x", command, 1, 10)
    for i in range(pairs):
        now = count("x", command, 1, 10)
        # the amount of work is an argument, of the same length
        slower = count("x", command, more, 10) if i % 4 == 0 else None
        for n in RUNS:
            same[n, verdict(before, now, n)] += 1
            if slower:
                changed[n, verdict(now, slower, n)] += 1
        before = now
    share = 100 * usual / (sum(spread) / len(spread))
    for n in RUNS:
        cells = [f"{t[n, v]}" for t, v in ((same, "regression"), (same, "improved"),
                                           (same, "cannot-compare"), (changed, "regression"),
                                           (changed, "cannot-compare"), (changed, "same"))]
        print(f"| {name} | {share:.2f} % | {n} and {n} | " + " | ".join(cells) + " |", flush=True)
    return [line for n in RUNS for line in wrong_beyond_chance(name, n, same, changed)]


os.chdir(tempfile.mkdtemp(prefix="tare-"))
print(f"{pairs} unchanged pairs, {(pairs + 3) // 4} changed ones.\n")
print("| program | range of ten runs | runs | unchanged: regression | improved | cannot "
      "| changed: regression | cannot | same |\n|---|---|---|---|---|---|---|---|---|")
bad = []
ran = 0
for name, command in PROGRAMS.items():
    if len(sys.argv) > 3 and name != sys.argv[3]:
        continue
    if os.path.exists(command[0]):
        bad += campaign(name, command)
        ran += 1
    else:
        print(f"skipped: {name}: {command[0]} is not installed")
shutil.rmtree(os.getcwd())
print("\n".join(bad))
sys.exit(1 if bad else 0 if ran else 77)
