#!/usr/bin/env python3
"""A wrong note is found: each note of a kernel is altered in turn, in a copy of the source.

usage: altered.py step KERNEL.S PROGRAM LOOPS=N START.S

The program is counted once, by single-stepping. Then for every line with a note: without the
note's last word, or with one more word, the check must report a difference. The copies that lack
a word must differ in the events of that word, and in no other.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import counting  # noqa: E402
import expect  # noqa: E402


def alterations(lines):
    """(number of the line, the altered line, the events that must differ)."""
    for i, line in enumerate(lines):
        m = re.match(r"(.*//=\s*)(.*\S)\s*$", line)
        if not m or re.search(r"\bx0\b", m[2]):
            continue
        words = m[2].split()
        last = words[-1]
        if last in expect.WORDS and last != "insn":
            yield i, m[1] + " ".join(words[:-1]), set(expect.WORDS[last])
        yield i, m[1] + m[2] + " div", {"divides"}


def differing(path, start, program, defines, got):
    prog = expect.expect_all([path, start], defines)
    lines = check.differences(os.path.basename(program), got, prog.count, expect.EVENTS)
    return {line.split(": ")[1].split(",")[0] for line in lines}


def main(who, source, program, define, start):
    defines = dict([define.split("=")])
    got = check.count(who, [program], expect.EVENTS).counts
    with tempfile.TemporaryDirectory(prefix="altered") as folder:
        here = os.path.dirname(source)
        shutil.copy(os.path.join(here, "section.inc"), folder)
        path = os.path.join(folder, os.path.basename(source))
        shutil.copy(source, path)
        if wrong := differing(path, start, program, defines, got):
            print(f"the unaltered source differs: {wrong}")
            return 1
        lines = open(source).read().split("\n")
        tried = missed = 0
        for i, altered, events in alterations(lines):
            with open(path, "w") as f:
                f.write("\n".join(lines[:i] + [altered] + lines[i + 1:]))
            found = differing(path, start, program, defines, got)
            tried += 1
            if found != events:
                print(f"line {i + 1}: {altered.strip()}: found {sorted(found)}, not {sorted(events)}")
                missed += 1
    print(f"{tried} altered notes, {missed} not found")
    return 1 if missed or not tried else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
