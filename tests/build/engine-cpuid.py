#!/usr/bin/env python3
"""The engine runs cpuid in one place only, which knows that it may fault.

usage: engine-cpuid.py ENGINE

A program can forbid cpuid to itself (CPUID faulting); an engine that runs it elsewhere, with
its lock held, hangs there. Few CPUs and virtual machines have that, so the code is looked at.
"""
import subprocess
import sys


def functions_with_cpuid(engine):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", engine], check=True, text=True,
                          capture_output=True).stdout
    function, found = None, []
    for line in text.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
        elif line.split("\t")[-1].strip() == "cpuid":
            found.append(function)
    return found


def main(engine):
    found = functions_with_cpuid(engine)
    if found != ["cpuid_insn"]:
        print(f"cpuid runs in {found}, not only at cpuid_insn (glue.S)")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
