#!/usr/bin/env python3
"""Broken files: no crash, no hang, names as far as they go, and one note.

usage: broken.py SYMBOL-AT READER [MUTATIONS [SEED]]

First the hand-made cases. Then programs whose bytes were changed at random places, in the headers and in
each section that is read; the same ones in every run with the same SEED. symbol-at must end well each time,
and tell when tare-symbols did not.
"""
import os, pathlib, random, struct, subprocess, sys
from named import Asker, check, code_addresses, end, folder, run

SYMBOL_AT, READER = sys.argv[1:3]
MUTATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
ask = Asker(SYMBOL_AT, READER)
C = """
#include <stdlib.h>
#include <string.h>
static inline int twice(volatile int *x) { return *x * 2; }
int work(volatile int *x) { return twice(x) + (int)strlen("x") + abs(*x); }
int main(int argc, char **argv) { volatile int x = argc; return work(&x) == 3; }
"""


def answer(path, addresses, *options):
    """(lines, note); None: symbol-at failed."""
    p = subprocess.run([SYMBOL_AT, "-r", READER, "-c", "20", *options, path], capture_output=True, text=True,
                       errors="replace", input="\n".join(f"{a:x}" for a in addresses))
    lines = [line.split("\t") for line in p.stdout.splitlines()]
    check(p.returncode == 0 and len(lines) == len(addresses) + 1 and lines[-1][0] == "kind" and
          all(len(line) == 9 for line in lines[:-1]), "symbol-at", path, p.returncode, p.stdout[-500:], p.stderr[-500:])
    return (lines[:-1], lines[-1][3]) if p.returncode == 0 else None


def sections(data):
    """{name: (offset, size)} of an ELF file."""
    shoff, = struct.unpack_from("<Q", data, 40)
    size, n, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size) for i in range(n)]
    at = headers[names][4]
    return {bytes(data[at + h[0]:data.index(0, at + h[0])]).decode(): (h[4], h[5]) for h in headers if h[1] != 8}


def hand_made(tmp, program):
    data = program.read_bytes()
    addresses = code_addresses(program)[0]
    path = tmp / "case"
    cases = {"empty": b"", "one byte": b"\x7f", "text": b"#!/bin/sh\n" * 100, "the magic only": data[:4],
             "the header only": data[:64], "half": data[:len(data) // 2], "zeros": bytes(100000)}
    for what, content in cases.items():
        path.write_bytes(content)
        lines, note = answer(path, addresses)
        check(note != "?" and "case" in note and (all(f[5] == "none" for f in lines) or what == "half"), what, note)
    # Sparse: 2 GiB that no disk has.
    with open(path, "wb") as f:
        f.truncate(1 << 31)
    lines, note = answer(path, addresses)
    check(note != "?" and all(f[5] == "none" for f in lines), "sparse", note)
    with open(path, "r+b") as f:
        f.write(data)
    lines, note = answer(path, addresses)
    check(any(f[1] == "work" for f in lines), "a program at the start of 2 GiB", note)
    path.unlink()
    # Not a file that can be read.
    os.mkfifo(path)
    lines, note = answer(path, addresses)
    check(note != "?" and all(f[5] == "none" for f in lines), "a fifo", note)
    path.unlink()
    for other in (tmp, tmp / "nothing", "/dev/null", "/proc/self/mem"):
        lines, note = answer(other, [1, 2])
        check(note != "?" and all(f[5] == "none" for f in lines), other, note)


def cyclic(tmp):
    """A function that is its own abstract origin, two that are each other's, and siblings that point back."""
    source = tmp / "cycle.s"
    source.write_text("""
	.text
	.globl	work
	.type	work, @function
work:	nop
	ret
	.size	work, .-work
	.section	.debug_abbrev,"",@progbits
	.uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7; .byte 0, 0
	.uleb128 2; .uleb128 0x2e; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7
	.uleb128 0x31; .uleb128 0x13; .uleb128 1; .uleb128 0x13; .byte 0, 0
	.uleb128 3; .uleb128 0x1d; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7
	.uleb128 0x31; .uleb128 0x13; .uleb128 0x47; .uleb128 0x13; .byte 0, 0
	.byte 0
	.section	.debug_info,"",@progbits
.Lunit:	.long .Lend - .Lversion
.Lversion: .value 4
	.long .debug_abbrev
	.byte 8
	.uleb128 1
	.quad work, 2
.La:	.uleb128 2
	.quad work, 2
	.long .La - .Lunit
	.long .La - .Lunit
.Lb:	.uleb128 3
	.quad work, 2
	.long .Lc - .Lunit, .Lc - .Lunit
.Lc:	.uleb128 3
	.quad work, 2
	.long .Lb - .Lunit, .Lb - .Lunit
	.byte 0, 0, 0, 0
.Lend:
""")
    path = tmp / "cycle.so"
    run("gcc", "-shared", "-nostdlib", "-o", path, source)
    addresses = code_addresses(path)[0]
    lines, note = answer(path, addresses)
    check(len(addresses) == 2 and all(f[1] == "work" for f in lines), "cycles", lines, note)


def changed_while_read(tmp, program):
    """A reader that dies with the first question answers the second one with less."""
    script = tmp / "dies"
    script.write_text(f"""#!/bin/sh
n=$(cat {tmp}/count 2>/dev/null || echo 0)
echo $((n + 1)) >{tmp}/count
[ "$n" != 0 ] || exec {sys.executable} -c '
import os, signal, socket, struct
s = socket.socket(fileno=0)
s.send(struct.pack("<II", 0x74617265, {wire_version()}))
s.recv(1)
os.kill(os.getpid(), signal.SIGBUS)'
exec {os.path.abspath(READER)}
""")
    script.chmod(0o755)
    addresses = code_addresses(program)[0]
    got, (_, _, note, set_note) = Asker(SYMBOL_AT, script)(program, addresses)
    check("names of functions only" in note and set_note == "?", "a reader that died once", note)
    check(any(w.name == "work" for w in got.values()) and all(w.place == "?:0:0" for w in got.values()),
          "functions after the death")


LIAR = """
import random, socket, struct, sys
s, r = socket.socket(fileno=0), random.Random(%d)
number = lambda: r.choice((0, 1, 2, 3, 1000, 0x7fffffff, 0xffffffff))
s.send(struct.pack("<II", 0x74617265, %s))
answer = b""
for _ in range(r.randrange(30)):
    kind = r.randrange(6)
    answer += struct.pack("<I", kind)
    if kind == 1:
        answer += struct.pack("<I", r.choice((0, 3, 3, 3, 2000000000))) + b"abc"
    elif kind == 2:
        answer += struct.pack("<QQIIIIII", r.randrange(99), r.randrange(3), *(number() for _ in range(6)))
    elif kind == 3:
        answer += struct.pack("<IIIIII", *(number() for _ in range(6)))
    else:
        answer += bytes(r.randrange(9))
while s.recv(1 << 16):
    size = r.choice((len(answer), len(answer), len(answer), 0, 1 << 62))
    s.send(struct.pack("<IIQ", r.choice((3, 3, 3, 9)), 0, size) + answer)
    if size > len(answer):
        break
"""


def liar(tmp, program):
    """What a reader answers whose memory a broken file has overwritten."""
    addresses = code_addresses(program)[0][:2]
    script, source = tmp / "liar", tmp / "liar.py"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -ISE {source}\n")
    script.chmod(0o755)
    for seed in range(20):
        source.write_text(LIAR % (SEED * 1000 + seed, wire_version()))
        p = subprocess.run([SYMBOL_AT, "-r", script, program], capture_output=True, text=True,
                           input="\n".join(f"{a:x}" for a in addresses))
        check(p.returncode == 0 and len(p.stdout.splitlines()) == 3, "a liar", seed, p)


def wire_version():
    header = pathlib.Path(__file__).parents[2] / "src/symbol/symbol-wire.h"
    return next(line.split()[2].rstrip("u") for line in header.read_text().splitlines() if "define WIRE_VERSION" in line)


def mutate(random, data, parts):
    """Changes one to eight places; each is a byte, a number, or a run of bytes."""
    out = bytearray(data)
    names = sorted(parts)
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        offset, size = parts[random.choice(names)]
        if not size:
            continue
        at = offset + random.randrange(size)
        kind = random.randrange(4)
        if kind == 0:
            out[at] = random.randrange(256)
        elif kind == 1:
            out[at] ^= 1 << random.randrange(8)
        elif kind == 2:
            value = random.choice((0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0xffffffff, 0xfffffff0, 1 << 31, 1 << 63,
                                   (1 << 64) - 1, len(data), len(data) - 1))
            width = random.choice((1, 2, 4, 8))
            out[at:at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        else:
            n = random.randrange(1, 64)
            start = random.randrange(len(data) - n)
            out[at:at + n] = data[start:start + n]
    del out[len(data):]
    if random.randrange(10) == 0:
        del out[random.randrange(len(out)):]
    return bytes(out)


def mutations(tmp):
    (tmp / "m.c").write_text(C)
    seeds = []
    for way in (["-g"], ["-gdwarf-4"], ["-gdwarf-2"], ["-g", "-gz"], ["-g", "-no-pie"], ["-g0"]):
        path = tmp / "seed"
        run("gcc", "-O2", *way, "-o", path, tmp / "m.c")
        data = path.read_bytes()
        parts = {n: p for n, p in sections(data).items()
                 if n.startswith((".debug", ".sym", ".str", ".shstr", ".dyn", ".rela", ".plt", ".eh_frame", ".note", ".gnu_debug"))}
        shoff, = struct.unpack_from("<Q", data, 40)
        parts["header"] = (0, 64)
        parts["segments"] = (64, struct.unpack_from("<H", data, 56)[0] * 56)
        parts["sections"] = (shoff, len(data) - shoff)
        seeds.append((data, parts, code_addresses(path)[0]))
    path = tmp / "mutant"
    deaths = named = 0
    for i in range(MUTATIONS):
        r = random.Random(SEED * 1000003 + i)
        data, parts, addresses = r.choice(seeds)
        path.write_bytes(mutate(r, data, parts))
        got = answer(path, addresses + [0, 1, 1 << 40, (1 << 64) - 1])
        if not got:
            kept = pathlib.Path(f"{tmp}-mutant-{SEED}-{i}")
            kept.write_bytes(path.read_bytes())
            print("kept:", kept)
            continue
        deaths += "tare-symbols" in got[1]
        named += any(f[1] in ("work", "main") for f in got[0])
    print(f"{MUTATIONS} mutations: functions named in {named}; tare-symbols died in {deaths}")
    check(named > MUTATIONS / 3, "few mutants have names", named)


with folder() as name:
    tmp = pathlib.Path(name).resolve()
    (tmp / "a.c").write_text(C)
    program = tmp / "program"
    run("gcc", "-O1", "-g", "-fno-inline", "-o", program, tmp / "a.c")
    hand_made(tmp, program)
    cyclic(tmp)
    changed_while_read(tmp, program)
    liar(tmp, program)
    mutations(tmp)
end()
