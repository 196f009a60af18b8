#!/usr/bin/env python3
"""The counts an assembly program must give, from the comments beside its instructions.

usage: expect.py [-D NAME=VALUE]... FILE.S      prints lines `event value`

Every source line with an instruction counts as one instruction. What else it
counts as stands behind it:

    addq  %rax, (%rsi)      //= load store
    jnz   1b                //= cond loop

Words: load store mul div x87 fp int lock; cond (jcc, loop, jrcxz: add `taken`,
`loop` for all but the last time of the block's passes, or nothing when it falls
through); jmp ijmp call icall ret syscall far. `call` includes its store, `ret`
its load; `icall` and `ijmp` through memory add `load`. `insns=N` for a mnemonic
that assembles to N instructions (fstcw = fwait + fnstcw), `insn` for an
instruction written in .byte, `xN` for a line that executes N times per pass of
its block (`x0`: never reached, or faults).

An instruction that runs here but is written by the program itself stands as

    //+ ret

Blocks, on lines of their own, nest:

    //@ loop N              the lines up to //@ end run N times
    //@ need FLAG...        CPU flags as in /proc/cpuinfo, without which: skip
    //@ kernel WHAT         optional in kernels: where it dies of a signal, skip
    //@ native WHY          not checked by single-stepping, and why
    //@ exit N              the exit status (default 0)

.macro, .rept, .irp and #include are followed; other directives count nothing.
"""
import os
import re
import sys

EVENTS = ["instructions", "branches", "cond-branches", "taken-branches", "loads",
          "stores", "calls", "returns", "indirect-branches", "syscalls",
          "multiplies", "divides", "x87", "fp", "simd-int", "locked",
          "far-transfers"]
# Taken branches change how the engine counts everything else: it is asked for with them
# and without.
SETS = [EVENTS, [e for e in EVENTS if e != "taken-branches"]]

WORDS = {
    "load": ["loads"], "store": ["stores"], "mul": ["multiplies"],
    "div": ["divides"], "x87": ["x87"], "fp": ["fp"], "int": ["simd-int"],
    "lock": ["locked"],
    "cond": ["branches", "cond-branches"],
    "taken": ["taken-branches"],
    "jmp": ["branches", "taken-branches"],
    "ijmp": ["branches", "taken-branches", "indirect-branches"],
    "call": ["branches", "taken-branches", "calls", "stores"],
    "icall": ["branches", "taken-branches", "calls", "indirect-branches", "stores"],
    "ret": ["branches", "taken-branches", "returns", "loads"],
    "syscall": ["branches", "taken-branches", "syscalls", "far-transfers"],
    "far": ["branches", "taken-branches", "far-transfers"],
    "insn": [],
}


class Program:
    def __init__(self, defines):
        self.defines = dict(defines)
        self.macros = {}
        self.count = dict.fromkeys(EVENTS, 0)
        self.need = []
        self.native = None
        self.kernel = None
        self.exit = 0

    def number(self, text, where):
        for name in sorted(self.defines, key=len, reverse=True):
            text = re.sub(rf"\b{name}\b", str(self.defines[name]), text)
        if not re.fullmatch(r"[\d\s()*+-]+", text):
            sys.exit(f"{where}: not a number: {text}")
        return eval(text)  # digits and operators only, see above

    def add(self, note, times, passes, where):
        """One source line: `times` executions in `passes` passes of its block."""
        words = note.split() if note is not None else []
        insns = 1
        for w in list(words):
            if m := re.fullmatch(r"insns=(\d+)", w):
                insns = int(m[1])
                words.remove(w)
            elif w != "x87" and (m := re.fullmatch(r"x(\d+)", w)):
                times *= int(m[1])
                words.remove(w)
        self.count["instructions"] += insns * times
        for w in words:
            if w == "loop":
                self.count["taken-branches"] += times - passes
                continue
            if m := re.fullmatch(r"(\w+)=(\d+)", w):
                w, n = m[1], int(m[2])
            else:
                n = 1
            if w not in WORDS:
                sys.exit(f"{where}: unknown word {w!r}")
            for e in WORDS[w]:
                self.count[e] += n * times


def collect(lines, i, opens, closes):
    """The lines from i up to the matching end; the index after it."""
    depth, body = 1, []
    while i < len(lines):
        word = lines[i][1].split("//")[0].split()
        if word and word[0] in opens:
            depth += 1
        elif word and word[0] in closes:
            depth -= 1
            if depth == 0:
                return body, i + 1
        body.append(lines[i])
        i += 1
    sys.exit(f"{lines[-1][0]}: unclosed {'/'.join(opens)}")


def read_lines(path):
    text = open(path).read()
    # block comments go, newlines stay
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return [(f"{os.path.basename(path)}:{n}", s)
            for n, s in enumerate(text.split("\n"), 1)]


def walk(prog, lines, folder, times, passes):
    i = 0
    blocks = []
    while i < len(lines):
        where, raw = lines[i]
        i += 1
        if m := re.match(r"\s*//@\s*(\w+)\s*(.*)", raw):
            word, rest = m[1], m[2].strip()
            if word == "loop":
                blocks.append((times, passes))
                passes, times = times, times * prog.number(rest, where)
            elif word == "end":
                if not blocks:
                    sys.exit(f"{where}: end without loop")
                times, passes = blocks.pop()
            elif word == "need":
                prog.need += rest.split()
            elif word == "kernel":
                prog.kernel = rest
            elif word == "native":
                prog.native = rest
            elif word == "exit":
                prog.exit = int(rest)
            else:
                sys.exit(f"{where}: unknown block {word}")
            continue
        if m := re.match(r"\s*//\+(.*)", raw):
            prog.add(m[1], times, passes, where)
            continue
        code, _, note = raw.partition("//=")
        note = note.strip() if note else None
        code = code.split("//")[0].strip()
        if m := re.match(r'#\s*include\s+"(.*)"', code):
            walk(prog, read_lines(os.path.join(folder, m[1])), folder, times, passes)
            continue
        if m := re.match(r"#\s*define\s+(\w+)\s+(\S.*)", code):
            prog.defines.setdefault(m[1], m[2].strip())
            continue
        if code.startswith("#"):
            continue
        code = re.sub(r"^(?:[\w.$\\]+:\s*)+", "", code)     # labels
        if not code:
            if note is not None:
                sys.exit(f"{where}: a note without an instruction")
            continue
        word = code.split()[0]
        if word == ".macro":
            name = code.split()[1].rstrip(",")
            prog.macros[name], i = collect(lines, i, [".macro"], [".endm"])
        elif word == ".rept":
            body, i = collect(lines, i, [".rept", ".irp"], [".endr"])
            n = prog.number(code.split(None, 1)[1], where)
            walk(prog, body, folder, times * n, passes * n)
        elif word == ".irp":
            body, i = collect(lines, i, [".rept", ".irp"], [".endr"])
            n = len([a for a in re.split(r"[\s,]+", code.split(None, 2)[2]) if a])
            walk(prog, body, folder, times * n, passes * n)
        elif word in prog.macros:
            walk(prog, prog.macros[word], folder, times, passes)
        elif word.startswith(".") and note is None:
            continue
        else:
            if ";" in code:
                sys.exit(f"{where}: one instruction a line")
            prog.add(note, times, passes, where)
    if blocks:
        sys.exit(f"{lines[-1][0]}: unclosed loop")


def expect(path, defines=()):
    prog = Program(defines)
    walk(prog, read_lines(path), os.path.dirname(path), 1, 1)
    return prog


def main(argv):
    defines = {}
    while len(argv) > 1 and argv[0] == "-D":
        name, _, value = argv[1].partition("=")
        defines[name] = value
        argv = argv[2:]
    if len(argv) != 1:
        sys.exit(__doc__)
    for event, value in expect(argv[0], defines).count.items():
        print(event, value)


if __name__ == "__main__":
    main(sys.argv[1:])
