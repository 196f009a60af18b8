"""Adds up a code profile (tare annotate -o), independently of the library: every part must have the total."""
import json


def read(path):
    with open(path) as f:
        return json.load(f)


def insns(profile):
    """(function, offset, bytes, file, line, runs, counts) of every instruction"""
    for f in profile["functions"]:
        for row in f["insns"]:
            words = row.split()
            yield (f, int(words[0], 16), words[1], int(words[2]), int(words[3]), int(words[4]),
                   [int(w) for w in words[5:]])


def add(rows, n):
    sums = [0] * n
    for row in rows:
        for e in range(n):
            sums[e] += row[e]
    return sums


def trouble(profile, known=True):
    """What is wrong with the sums, as a list of sentences. known: everything that was counted has a place."""
    totals = [e["total"] for e in profile["events"]]
    n = len(totals)
    bad = []
    rows = list(insns(profile))
    if (sums := add((r[6] for r in rows), n)) != totals:
        bad.append(f"instructions have {sums}, the totals are {totals}")
    if (sums := add((t["counts"] for t in profile["tasks"]), n)) != totals:
        bad.append(f"tasks have {sums}, the totals are {totals}")
    if profile["shares"] and (sums := add(([int(w) for w in s.split()[2:]] for s in profile["shares"]), n)) != totals:
        bad.append(f"shares have {sums}, the totals are {totals}")
    if profile["contexts"] and (sums := add(([int(w) for w in c.split()[5:]] for c in profile["contexts"]), n)) != totals:
        bad.append(f"contexts have {sums}, the totals are {totals}")
    names = [e["name"].removesuffix(":u") for e in profile["events"]]
    for f, offset, code, _, _, runs, counts in rows:
        if f["name"] == "[not known]":
            if known:
                bad.append(f"counts without a place: {counts}")
        elif "instructions" in names and counts[names.index("instructions")] != runs:
            bad.append(f"{f['name']}+{offset:x}: {runs} runs, {counts} instructions")
    return bad
