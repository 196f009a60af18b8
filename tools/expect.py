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
its load; `icall` and `ijmp` through memory add `load`. On arm64, where neither uses the
stack: bl blr bret, and svc. `insns=N` for a mnemonic
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

In the kernels of src/known (docs/kernels.md), where one pass of a loop is divided into cases,
by macros of theirs:

    //@ about WORDS         what the section is
    //@ loops N             how often its loop runs to make it large
    //@ case                the lines from here on are the next case
    //@ cases-end           … and here the last one ends

and the words `page` (touches a page for the first time) and `exception` (raises an x87 or SSE
exception other than "inexact").

.macro, .rept, .irp and #include are followed, their arguments replaced; other directives
count nothing.
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
    # arm64: a call does not use the stack, a system call is no branch
    "bl": ["branches", "taken-branches", "calls"],
    "blr": ["branches", "taken-branches", "calls", "indirect-branches"],
    "bret": ["branches", "taken-branches", "returns"],
    "svc": ["syscalls"],
    "insn": [],
    "page": ["fresh-pages"], "exception": ["exceptions"],
}


# Not events, but facts about a kernel: what one pass makes the system do.
FACTS = ["fresh-pages", "exceptions"]


class Case:
    """An instruction, or a few that belong together, between two CASE lines."""

    def __init__(self, where):
        self.where = where
        self.text = []
        self.count = dict.fromkeys(EVENTS + FACTS, 0)


class Program:
    def __init__(self, defines):
        self.defines = dict(defines)
        self.macros = {}
        self.count = dict.fromkeys(EVENTS + FACTS, 0)
        self.need = []
        self.native = None
        self.kernel = None
        self.exit = 0
        self.facts = {}         # //@ about, //@ loops
        self.cases = []
        self.case = None        # the one that is open
        # Where the walk is: executions of a line and passes of its block, and those around it.
        self.times = self.passes = 1
        self.blocks = []

    def number(self, text, where):
        for name in sorted(self.defines, key=len, reverse=True):
            text = re.sub(rf"\b{name}\b", str(self.defines[name]), text)
        if not re.fullmatch(r"[\d\s()*+-]+", text):
            sys.exit(f"{where}: not a number: {text}")
        return eval(text)  # digits and operators only, see above

    def bump(self, event, n):
        self.count[event] += n
        if self.case:
            self.case.count[event] += n

    def add(self, code, note, where):
        """One source line."""
        times, passes = self.times, self.passes
        words = note.split() if note is not None else []
        insns = 1
        for w in list(words):
            if m := re.fullmatch(r"insns=(\d+)", w):
                insns = int(m[1])
                words.remove(w)
            elif w != "x87" and (m := re.fullmatch(r"x(\d+)", w)):
                times *= int(m[1])
                words.remove(w)
        if self.case and code and times:
            self.case.text.append(" ".join(code.split()))
        self.bump("instructions", insns * times)
        for w in words:
            if w == "loop":
                self.bump("taken-branches", times - passes)
                continue
            if m := re.fullmatch(r"(\w+)=(\d+)", w):
                w, n = m[1], int(m[2])
            else:
                n = 1
            if w not in WORDS:
                sys.exit(f"{where}: unknown word {w!r}")
            for e in WORDS[w]:
                self.bump(e, n * times)


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


def substitute(lines, values):
    """The body of a macro or of .irp, with \\name replaced."""
    if not values:
        return lines
    names = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    return [(where, re.sub(rf"\\({names})\b(?:\\\(\))?|\\\(\)",
                           lambda m: values[m[1]] if m[1] else m[0], text))
            for where, text in lines]


def words_of(text):
    """Arguments: between commas, or blanks where there is no comma."""
    return [a for a in re.split(r"\s*,\s*|\s+", text.strip()) if a]


def define_macro(prog, code, body):
    name, _, rest = code.split(None, 1)[1].replace(",", " ", 1).strip().partition(" ")
    params = []
    for p in words_of(rest):
        p, _, default = p.partition("=")
        p, _, kind = p.partition(":")
        params.append((p, default, kind))
    prog.macros[name] = (params, body)


def call_macro(prog, word, code):
    params, body = prog.macros[word]
    rest = code[len(word):].strip()
    values = {p: default for p, default, _ in params}
    if params and params[-1][2] == "vararg":
        args = [a.strip() for a in rest.split(",", len(params) - 1)] if rest else []
    else:
        args = words_of(rest)
    free = [p for p, _, _ in params]
    for a in args:
        name, eq, value = a.partition("=")
        if eq and name in values:
            values[name] = value
        else:
            values[free.pop(0)] = a
    return substitute(body, values)


def directive(prog, word, rest, where):
    """A line of //@."""
    if word == "loop":
        prog.blocks.append((prog.times, prog.passes))
        prog.passes, prog.times = prog.times, prog.times * prog.number(rest, where)
    elif word == "end":
        if not prog.blocks:
            sys.exit(f"{where}: end without loop")
        prog.times, prog.passes = prog.blocks.pop()
    elif word == "need":
        prog.need += rest.split()
    elif word == "kernel":
        prog.kernel = rest
    elif word == "native":
        prog.native = rest
    elif word == "exit":
        prog.exit = int(rest)
    elif word in ("about", "loops"):
        prog.facts[word] = rest
    elif word == "case":
        prog.case = Case(where)
        prog.cases.append(prog.case)
    elif word == "cases-end":
        prog.case = None
    else:
        sys.exit(f"{where}: unknown block {word}")


def walk(prog, lines, folder):
    i = 0
    while i < len(lines):
        where, raw = lines[i]
        i += 1
        if m := re.match(r"\s*//@\s*([\w-]+)\s*(.*)", raw):
            directive(prog, m[1], m[2].strip(), where)
            continue
        if m := re.match(r"\s*//\+(.*)", raw):
            prog.add(None, m[1], where)
            continue
        code, _, note = raw.partition("//=")
        note = note.strip() if note else None
        code = code.split("//")[0].strip()
        if m := re.match(r'#\s*include\s+"(.*)"', code):
            walk(prog, read_lines(os.path.join(folder, m[1])), folder)
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
            body, i = collect(lines, i, [".macro"], [".endm"])
            define_macro(prog, code, body)
        elif word == ".rept":
            body, i = collect(lines, i, [".rept", ".irp"], [".endr"])
            for _ in range(prog.number(code.split(None, 1)[1], where)):
                walk(prog, body, folder)
        elif word == ".irp":
            body, i = collect(lines, i, [".rept", ".irp"], [".endr"])
            name, _, values = code.split(None, 1)[1].partition(",")
            for value in words_of(values):
                walk(prog, substitute(body, {name.strip(): value}), folder)
        elif word in prog.macros:
            body = [(where, text) for _, text in call_macro(prog, word, code)]
            if note is not None:        # of the instruction that is the macro's argument
                body = body[:-1] + [(where, f"{body[-1][1]} //= {note}")]
            walk(prog, body, folder)
        elif word.startswith(".") and note is None:
            continue
        else:
            if ";" in code:
                sys.exit(f"{where}: one instruction a line")
            prog.add(code, note, where)


def expect(path, defines=()):
    prog = Program(defines)
    walk(prog, read_lines(path), os.path.dirname(path))
    if prog.blocks:
        sys.exit(f"{path}: unclosed loop")
    return prog


def expect_all(paths, defines=()):
    """Of a program with several sources: the first one's facts, the counts of all."""
    first, *rest = [expect(path, defines) for path in paths]
    for prog in rest:
        first.need += prog.need
        for event, n in prog.count.items():
            first.count[event] += n
    return first


def main(argv):
    defines = {}
    while len(argv) > 1 and argv[0] == "-D":
        name, _, value = argv[1].partition("=")
        defines[name] = value
        argv = argv[2:]
    if len(argv) != 1:
        sys.exit(__doc__)
    count = expect(argv[0], defines).count
    for event in EVENTS:
        print(event, count[event])


if __name__ == "__main__":
    main(sys.argv[1:])
