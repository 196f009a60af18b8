#!/usr/bin/env python3
"""The ABI of the library is the stored one, tests/abi/libtare-ARCH.abi, or a compatible one.

usage: abi.py SOURCE LIBTARE.so           compare
       abi.py SOURCE --renew ARCH         write the stored ABI anew (`make abi`)

The stored ABI comes from the headers alone: a library whose public functions have empty bodies
is compiled and given to abidw. So it has nothing of the library's inside, and does not depend on
how the library was compiled. It is compared (abidiff) with
 - the same for the headers as they are now: every change of a function, struct or enum that would
   break a compiled program is reported;
 - the library, where that has debugging information: its functions are what the headers say.
New functions, and new fields at the end of structs that only the library allocates, need the
stored ABI to be renewed; so does every other intended change before version 1.0.
"""
import os, pathlib, re, shutil, subprocess, sys, tempfile

source = pathlib.Path(sys.argv[1])
include = source / "include"


def run(*args):
    p = subprocess.run([str(a) for a in args], text=True, capture_output=True)
    if p.returncode:
        print("failed:", *args, p.stdout, p.stderr)
        sys.exit(1)
    return p.stdout


def symbols():
    return re.findall(r"^\s*(tare_\w+);", (source / "src/tare.map").read_text(), re.M)


def empty_library(tmp):
    """A shared library with the public functions and types, and nothing in them."""
    c, aux, so = tmp / "public.c", tmp / "prototypes", tmp / "libtare.so"
    flags = ["-std=gnu11", f"-I{include}", "-DTARE_INLINE="]
    c.write_text("#include <tare/tare.h>\n")
    run("gcc", *flags, "-fsyntax-only", "-aux-info", aux, c)
    prototypes, inline = {}, set()
    for line in aux.read_text().splitlines():
        # /* FILE:LINE:NC */ extern TYPE NAME (PARAMETERS);   NF: defined, an inline function
        found = re.match(r"/\* .*?:\d+:N(.) \*/ extern (.*?\b(tare_\w+) \(.*\));", line)
        if found and found[1] == "F":
            inline.add(found[3])
        elif found:
            prototypes[found[3]] = found[2]
    missing = set(symbols()) - set(prototypes) - inline
    if missing:
        print("in src/tare.map and not in the headers:", *sorted(missing))
        sys.exit(1)
    text = "".join(f"{p} {{ __builtin_trap(); }}\n" for name, p in prototypes.items()
                   if name not in inline)
    c.write_text(c.read_text() + text)
    run("gcc", *flags, "-w", "-g", "-O0", "-fPIC", "-shared", f"-Wl,-soname,{soname()}",
        f"-Wl,--version-script={source / 'src/tare.map'}", "-Wl,-z,undefs", c, "-o", so)
    return so


def soname():
    return "libtare.so." + re.search(r"soversion: '(\d+)'", (source / "src/meson.build").read_text())[1]


def machine():
    return os.uname().machine


def renew(arch):
    if arch != machine():
        sys.exit(f"this is {machine()}, not {arch}")
    stored = source / f"tests/abi/libtare-{arch}.abi"
    with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
        so = empty_library(pathlib.Path(tmp))
        text = run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                   "--no-elf-needed", "--exported-interfaces-only", "--type-id-style", "hash", so)
    # The name of the compiled file is of no interest.
    stored.write_text(re.sub(r" path='[^']*'", "", text))
    print(f"{stored}: {len(text.splitlines())} lines")


def differences(old, new):
    """abidiff's report, or "" where a program compiled with the old one runs with the new one."""
    p = subprocess.run(["abidiff", "--no-added-syms", str(old), str(new)], text=True,
                       capture_output=True)
    if p.returncode & 3:
        return "abidiff failed: " + p.stderr
    return p.stdout if p.returncode else ""


if sys.argv[2] == "--renew":
    if not shutil.which("abidw"):
        sys.exit("abidw is not installed (Debian: abigail-tools)")
    renew(sys.argv[3] if len(sys.argv) > 3 else machine())
    sys.exit(0)
if not shutil.which("abidiff"):
    print("skipped: abidiff is not installed (Debian: abigail-tools)")
    sys.exit(77)
library = pathlib.Path(sys.argv[2])
stored = source / f"tests/abi/libtare-{machine()}.abi"
if not stored.exists():
    print(f"skipped: no ABI is stored for {machine()}")
    sys.exit(77)
bad = 0
with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
    tmp = pathlib.Path(tmp)
    now = empty_library(tmp)
    compared = [("the headers", now)]
    if ".debug_info" in run("readelf", "-SW", library):
        compared.append(("the library", library))
    else:
        print("the library has no debugging information: only the headers are compared")
    for what, new in compared:
        report = differences(stored, new)
        if report:
            bad += 1
            print(f"{what} changed the ABI; if that is intended: make abi\n{report}")
    # The comparison sees what it must see: a field that moves, a symbol that goes.
    headers = tmp / "include"
    shutil.copytree(include, headers)
    err = headers / "tare/err.h"
    for what, old, new in (("a moved field", "\tint sys_errno;\n\tchar what[256];\n",
                            "\tchar what[256];\n\tint sys_errno;\n"),
                           ("another parameter", "tare_err_name(int code)", "tare_err_name(long code)")):
        text = err.read_text()
        assert old in text, old
        err.write_text(text.replace(old, new))
        include = headers
        if not differences(stored, empty_library(tmp)):
            bad += 1
            print(f"abidiff does not see {what}")
        err.write_text(text)
print("failed" if bad else f"the ABI is compatible with {stored.name}")
sys.exit(bad != 0)
