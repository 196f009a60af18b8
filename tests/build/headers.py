#!/usr/bin/env python3
"""The public headers: each stands alone, every name has the prefix, every function is exported.

usage: headers.py SOURCE LIBTARE.so
 - Each header compiles alone as strict C11 and as strict C++17, with every compiler that is
   here, and without _GNU_SOURCE.
 - Structs, unions, enums, typedefs, enumerators, functions and macros begin with tare_ or TARE_.
 - The functions declared in the headers, those in src/tare.map and the symbols of the library
   are the same.
 - The comments and the man pages name only functions and constants that exist.
"""
import pathlib, re, shutil, subprocess, sys

source, library = map(pathlib.Path, sys.argv[1:3])
folder = source / "include/tare"
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)
    return ok


def run(*args, **how):
    p = subprocess.run([str(a) for a in args], text=True, capture_output=True, **how)
    check(p.returncode == 0, *args, p.stdout, p.stderr)
    return p.stdout


headers = sorted(folder.glob("*.h"))
check(len(headers) >= 12, "too few headers", headers)

# Each alone.
compiled = 0
strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{source / 'include'}"]
for names, language, standard, files in (
        (("gcc", "clang"), "c", "c11", headers),
        (("g++", "clang++"), "c++", "c++17", headers + sorted(folder.glob("*.hpp")))):
    for compiler in filter(shutil.which, names):
        for h in files:
            # Twice: the guard works. A use of every ..._INIT: the macro compiles.
            text = f"#include <tare/{h.name}>\n" * 2
            for i, (macro, struct) in enumerate(re.findall(
                    r"^#define (TARE_\w+_INIT) TARE_(?:OPTIONS_INIT|INIT)\((?:struct tare_)?(\w+)\)",
                    h.read_text(), re.M)):
                struct += "" if struct.endswith("_probes") else "_options"
                text += f"extern struct tare_{struct} o{i};\nstruct tare_{struct} o{i} = {macro};\n"
            run(compiler, f"-std={standard}", "-x", language, *strict, "-", input=text)
            compiled += 1
check(compiled, "no compiler")


def preprocessed(*options):
    """What the lines of our own headers become."""
    text = run("cc", "-E", "-std=c11", *options, f"-I{source / 'include'}", "-xc", "-",
               input="#include <tare/tare.h>\n")
    ours, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = pathlib.Path(marker[1]).parent.name == "tare"
        elif ours:
            lines.append(line)
    return "\n".join(lines)


def file_scope(text):
    """The text with everything in braces taken out, except extern "C"."""
    out, depth = [], 0
    text = re.sub(r'"(\\.|[^"\\])*"', '""', re.sub(r'extern "C" \{', "", text))
    for c in text:
        if c == "{":
            depth += 1
        elif c == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                out.append(";")
        elif depth == 0:
            out.append(c)
    return "".join(out)


code = preprocessed()
outer = file_scope(code)
# A declaration ends in a semicolon; what is in its innermost parentheses are parameters.
functions = set()
for declaration in outer.split(";"):
    flat = re.sub(r"__(attribute|asm)__\s*\(\(.*?\)\)", "", declaration)
    found = re.search(r"\b(\w+)\s*\(", flat)
    if found and not re.match(r"\s*(struct|enum|union)\s+\w+\s*$", flat):
        functions.add((found[1], "static" in declaration))
tags = {name for _, name in re.findall(r"\b(struct|union|enum)\s+(\w+)", code)}
enumerators = {word[0] for body in re.findall(r"\benum\b[^;{(]*\{(.*?)\}", code, re.S)
               for word in (re.findall(r"\w+", e) for e in body.split(",")) if word}
typedefs = set(re.findall(r"\btypedef\b[^;]*?(\w+)\s*;", outer))
macros = set(re.findall(r"^#define (\w+)", preprocessed("-dD"), re.M))
for p in folder.glob("*.h"):        # also what another architecture defines, or undefines again
    macros |= set(re.findall(r"^\s*#\s*define\s+(\w+)", p.read_text(), re.M))
foreign = {"timespec", "rlimit", "cmsghdr", "iovec", "msghdr", "sockaddr", "sockaddr_un"}
for what, names in (("function", {f for f, _ in functions}), ("struct, union or enum", tags - foreign),
                    ("enumerator", enumerators), ("typedef", typedefs), ("macro", macros)):
    check(names or what == "typedef", f"no {what} found")
    for name in sorted(names):
        check(name.startswith(("tare_", "TARE_")), f"a {what} without the prefix:", name)

# The list of symbols. The inline functions are symbols, too; their parts are not.
inline_parts = set()
for p in folder.glob("*.h"):
    inline_parts |= set(re.findall(r"\bTARE_INLINE_PART\b[^(]*?(\w+)\(", p.read_text()))
inline_parts |= {f for f, _ in functions if f.endswith("_")}      # of tare/region.h, which needs no library
declared = {f for f, _ in functions} - inline_parts
listed = set(re.findall(r"^\s*(tare_\w+);", (source / "src/tare.map").read_text(), re.M))
symbols = {line.split()[2].split("@")[0] for line in
           run("nm", "-D", "--defined-only", library).splitlines() if line.split()[1] != "A"}
check(len(declared) > 100, "too few functions in the headers", len(declared))
for one, other, what in ((declared, listed, "declared in a header and not in src/tare.map"),
                         (listed, declared, "in src/tare.map and not declared in a header"),
                         (listed, symbols, "in src/tare.map and not in the library"),
                         (symbols, listed, "in the library and not in src/tare.map")):
    check(not one - other, f"{what}:", *sorted(one - other))

# A function that tests/func/api-effects.c does not call may leave something behind in the process.
called = set(re.findall(r"\b(tare_\w+)\(", (source / "tests/func/api-effects.c").read_text()))
check(not listed - called - {"tare_record_odd_begin", "tare_record_odd_end"},
      "not called by tests/func/api-effects.c:", *sorted(listed - called))

# The C library writes decimals as the locale has them: the library uses clocale_*() or buf_printf().
for p in sorted((source / "src").rglob("*.c")):
    if {"soft", "bare"} & {d.name for d in p.parents} or p.name == "clocale.c":
        continue                    # no C library there
    text = re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.S)
    for call in re.findall(r"\b(?:v?s?n?printf|[fd]printf|asprintf|strto[fd]|strtold|s?scanf|atof)\([^;]*;", text):
        if re.match("strto|atof", call) or re.search(r"%[-+ #0]*[0-9*]*(\.[0-9*]+)?[feg]", call, re.I):
            check(False, f"{p.relative_to(source)}: a decimal as the locale has it: {call}")

# Names in comments and pages.
known = declared | inline_parts | tags | enumerators | macros | typedefs
known |= {"tare_options", "tare_options_init", "TARE_RECORD_HPP"}       # C++
known |= {f"tare_{h.stem}" for h in headers}        # pages of section 3
fields = set(re.findall(r"\b(tare_\w+)\b", code))
for p in sorted(folder.glob("*.h*")) + sorted(source.glob("man/*.3")):
    for word in sorted(set(re.findall(r"\b(?:tare|TARE)_[A-Za-z]\w*", p.read_text()))):
        if word in known or word in fields or word.endswith("_") or word + "_H" in macros:
            continue
        if word in ("TARE_RECORD_COUNTER", "TARE_RECORD_DIR", "TARE_RECORD_KINDS"):
            continue                # variables of the environment
        if re.search("_(NAME|NOUN)(_|$)", word):
            continue                # stands for any name
        check(False, f"{p.name} names {word}, which does not exist")
print(f"{bad} checks failed" if bad else
      f"{len(headers)} headers, {len(declared)} functions: all checks passed")
sys.exit(bad != 0)
