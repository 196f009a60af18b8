#!/usr/bin/env python3
"""Which code ran how often, and the mix of opcodes, against single-stepping: the same number for
every instruction. usage: code-steps.py TARE LIBTARE STEPCOUNT CODE-SUMS PROGRAM [ARG]..."""
import collections, ctypes, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import counting  # noqa: E402

counting.need_engine()
tare, libtare, stepcount, code_sums = sys.argv[1:5]
command = sys.argv[5:]
env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def run(*words):
    return subprocess.run(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


with tempfile.TemporaryDirectory(prefix="tare-") as folder:
    stepped, ranges = f"{folder}/stepped", f"{folder}/ranges"
    run(stepcount, "-t", stepped, "-o", "/dev/null", "--", *command)
    steps = collections.Counter(int(line, 16) for line in open(stepped))
    p = run(code_sums, "-a", ranges, *command)
    if p.returncode:
        sys.exit(f"{command}: code-sums: status {p.returncode}: {p.stderr}")
    engine = collections.Counter()
    for line in open(ranges):
        address, size, runs = line.split()
        engine[int(address, 16)] += int(runs)
    engine = +engine
    mix_file = f"{folder}/mix"
    run(tare, "stat", "--mix", "-j", "-o", mix_file, "-e", "instructions:u", *command)
    mix = json.load(open(mix_file))

bad = [f"{a:#x}: single-stepped {steps[a]}, engine {engine[a]}"
       for a in sorted(steps | engine) if steps[a] != engine[a]]

# The opcodes of the same addresses: bytes by objdump, names by the library.
library = ctypes.CDLL(libtare)
library.tare_code_opcode_name.restype = ctypes.c_char_p
names = {}
for line in subprocess.run(["objdump", "-d", "-w", command[0]], stdout=subprocess.PIPE, text=True).stdout.splitlines():
    if m := re.match(r"\s*([0-9a-f]+):\s+((?:[0-9a-f]{2} )+)", line):
        code, out = bytes.fromhex(m[2]), ctypes.create_string_buffer(32)
        names[int(m[1], 16)] = library.tare_code_opcode_name(code, ctypes.c_size_t(len(code)), out,
                                                             ctypes.c_size_t(32)).decode()
if all(a in names for a in steps):
    wanted = collections.Counter()
    for address, runs in steps.items():
        wanted[names[address]] += runs
    got = {o["opcode"]: o["runs"] for o in mix["mix"]["opcodes"]}
    bad += [f"{n}: single-stepped {wanted[n]}, mix {got.get(n, 0)}"
            for n in sorted(wanted | got) if wanted[n] != got.get(n, 0)]
else:
    print("the opcodes are not compared: it runs code that is not in the program's file")
if mix["mix"]["instructions"] != mix["runs"][0]["counts"][0]["value"] or mix["mix"]["provenance"] != "exact":
    bad.append(f"mix: {mix['mix']['instructions']} of {mix['runs'][0]['counts'][0]}")
print("\n".join(bad[:20]) or f"{sum(steps.values())} instructions at {len(steps)} addresses")
sys.exit(bool(bad))
