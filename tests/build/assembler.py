#!/usr/bin/env python3
"""The kernels' sources assemble with binutils 2.44, too. In what a macro takes as the rest of its line, that
version drops the blank before a brace: "vaddps {rn-sae}, …" becomes one word. Such an instruction is on the line
after CASE.
usage: assembler.py SOURCE"""
import pathlib, re, sys

files = sorted(pathlib.Path(sys.argv[1], "src/known").glob("*/kernels/*.S"))
bad = 0
for path in files:
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if re.match(r"\s*CASE\s+(\{|\S+\s+\{)", line.split("//")[0]):
            print(f"{path}:{number}: a brace after a blank in CASE's argument: {line.strip()}")
            bad += 1
if len(files) < 50:
    sys.exit(f"only {len(files)} kernels found")
print(f"{bad} lines are wrong" if bad else f"{len(files)} kernels: all checks passed")
sys.exit(bad != 0)
