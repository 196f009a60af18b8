#!/usr/bin/env python3
"""The files of callgrind and cachegrind that tare annotate writes, read by their own programs: the same totals, and the
same count of every function as in tare's table. usage: annotate-valgrind.py TARE PAGES"""
import collections, json, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine

tare = sys.argv[1]
need_engine(tare)
cc = shutil.which("cc") or shutil.which("gcc")
if not shutil.which("callgrind_annotate") or not shutil.which("cg_annotate") or not cc:
    print("valgrind or a compiler is not installed")
    sys.exit(77)
SOURCE = """
#include <stdio.h>
static __attribute__((noinline)) unsigned collatz(unsigned n) { unsigned k = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } return k; }
int main(void) { unsigned s = 0; for (unsigned i = 1; i < 100; i++) s += collatz(i); printf("%u\\n", s); return 0; }
"""

def number(text):
    return int(text.replace(",", ""))


def functions_of(text):
    """Counts by function: lines `N (share) … file:function`. cg_annotate of valgrind 3.21 and later has a block for each
    file: `< N (share) … file:function`, or `< N (share) … file:` and a line for each function."""
    read = collections.Counter()
    by_file = re.search(r"^-- File:function summary$(.*?)^-- ", text, re.M | re.S)
    name = r"(?:\S+:)?([^\s:]+)" if by_file else r"\S+?:(\S+)(?: \[.*\])?"
    for m in re.finditer(r"^(?:<)? *([\d,]+) +\([^)]*\) .*?  " + name + "$", by_file[1] if by_file else text, re.M):
        read[m[2]] += number(m[1])
    return read


with tempfile.TemporaryDirectory(prefix="tare-") as folder:
    with open(f"{folder}/p.c", "w") as f:
        f.write(SOURCE)
    subprocess.run([cc, "-g", "-O1", "-o", f"{folder}/p", f"{folder}/p.c"], check=True)
    kept = f"{folder}/kept"
    subprocess.run([tare, "annotate", "-e", "instructions,loads,cond-branches", "-o", kept, "--report", "/dev/null", "--",
                    f"{folder}/p"], check=True, stdout=subprocess.DEVNULL)
    table = json.loads(subprocess.run([tare, "annotate", "-j", "--top", "100000", kept], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout)
    total = table["events"][0]["total"]
    functions = collections.Counter()
    for row in table["rows"]:
        functions[row["function"]] += row["counts"]["instructions"]
    for form, program in (("callgrind", ["callgrind_annotate", "--threshold=100"]), ("cachegrind", ["cg_annotate", "--threshold=0"])):
        out = f"{folder}/{form}"
        subprocess.run([tare, "annotate", "--format", form, "-o", out, "--report", "/dev/null", kept], check=True)
        p = subprocess.run(program + [out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(p.returncode == 0 and not p.stderr.strip(), f"{form}: {p.stderr}")
        got = re.search(r"^\s*([\d,]+).*PROGRAM TOTALS", p.stdout, re.M)
        check(got and number(got[1]) == total, f"{form}: total {got and got[1]}, in the profile {total}")
        read = functions_of(p.stdout)
        for name in ("collatz", "main"):
            check(read[name] == functions[name] > 0, f"{form}: {name}: {read[name]}, in the table {functions[name]}")
print(f"{total} instructions, both files are read as they should be")
finish()
