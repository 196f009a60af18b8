#!/usr/bin/env python3
"""The manual pages of the library: one for each header, with every public function.

usage: man.py SOURCE BUILD
 - Every header has a page, and libtare(3) names every page.
 - Every function of src/tare.map stands in the NAME, the SYNOPSIS (as the header declares it), the
   text and the ATTRIBUTES of one page.
 - `man FUNCTION` finds that page (one function of each page is tried; the others lead there alike).
 - mandoc and man have nothing to warn of, and references lead to pages that exist.
"""
import os, pathlib, re, shutil, subprocess, sys, tempfile

source, build = map(pathlib.Path, sys.argv[1:3])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)
    return ok


def flat(text):
    """One spelling of white space and of stars."""
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).replace("* *", "**").strip()


def declarations(header):
    """Name to prototype, without comments and bodies."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S).replace('extern "C" {', "")
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    found = {}
    for declaration in text.split(";"):
        declaration = flat(declaration.replace("TARE_INLINE ", ""))
        name = re.search(r"\b(tare_\w+)\(", declaration)
        if name and declaration.endswith(")"):
            found[name[1]] = declaration
    return found


def synopsis(text):
    """The same from .Ft and .Fn."""
    found = {}
    for result, name, rest in re.findall(r'^\.Ft "?(.*?)"?\n\.Fn (\w+)(.*)$', text, re.M):
        words = [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', rest)]
        found[name] = flat(f"{result} {name}({', '.join(words)})")
    return found


def part(text, name):
    found = re.search(rf"^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    return found[1] if found else ""


functions = re.findall(r"^\s*(tare_\w+);", (source / "src/tare.map").read_text(), re.M)
check(len(functions) > 100, "too few functions", len(functions))
pages = {p.stem: p.read_text() for p in source.glob("man/*.3")}
in_page = {}
for header in sorted((source / "include/tare").glob("*.h")):
    stem = f"tare_{header.stem}"
    if header.stem == "tare" or header.stem.endswith(("-x86_64", "-aarch64")):
        continue
    if not check(stem in pages, f"no page for <tare/{header.name}>"):
        continue
    text = pages[stem]
    check(f".In tare/{header.name}" in part(text, "SYNOPSIS"), f"{stem}.3: no {header.name}")
    check(f"Xr {stem} 3" in pages["libtare"], f"libtare.3 does not name {stem}(3)")
    declared, shown = declarations(header), synopsis(part(text, "SYNOPSIS"))
    for name in functions:
        if name not in declared:
            check(name not in shown, f"{stem}.3: {name} is not declared in {header.name}")
            continue
        in_page[name] = stem
        check(re.search(rf"^\.Nm {name}\b", part(text, "NAME"), re.M), f"{stem}.3: {name} not in NAME")
        check(shown.get(name) == declared[name], f"{stem}.3: SYNOPSIS has {shown.get(name)}, "
              f"the header {declared[name]}")
        check(re.search(rf"\bFn {name}\b", part(text, "DESCRIPTION")), f"{stem}.3 does not describe {name}")
        attributes = part(text, "ATTRIBUTES")
        check(re.search(rf"\bFn {name}\b", attributes) or "call these functions" in attributes,
              f"{stem}.3: no attributes of {name}")
for name in functions:
    check(name in in_page, f"{name} has no page")

# As installed: a folder of pages, with the links.
with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
    man3 = pathlib.Path(tmp) / "man3"
    man3.mkdir()
    for p in list(source.glob("man/*.3")) + list((build / "man").glob("tare_*.3")):
        shutil.copy(p, man3)
    env = dict(os.environ, LC_ALL="C.UTF-8", MANPAGER="cat", MANWIDTH="100")
    for name, page in in_page.items():
        leads = man3 / f"{name}.3"
        if check(leads.exists(), f"no page {name}.3 is installed") and name != page:
            check(leads.read_text() == f".so man3/{page}.3\n", f"{name}.3 does not lead to {page}.3")
    tried = shutil.which("man")
    if tried:
        for name in {page: name for name, page in in_page.items()}.values():    # one of each page
            p = subprocess.run(["man", "-M", tmp, "3", name], text=True, capture_output=True, env=env)
            check(p.returncode == 0 and name in p.stdout and "ATTRIBUTES" in p.stdout, f"man {name}:",
                  p.stderr)
        for p in sorted(source.glob("man/*.3")):
            said = subprocess.run(["man", "--warnings", "-l", p], text=True, capture_output=True, env=env)
            check(said.returncode == 0 and not said.stderr, f"man {p.name}:", said.stderr)
    else:
        print("man is not installed: the pages were not shown")
    lint = shutil.which("mandoc")
    if lint:
        for p in sorted(source.glob("man/*.3")):
            said = subprocess.run(["mandoc", "-Tlint", "-Wwarning", p], text=True, capture_output=True)
            check(said.returncode == 0 and not said.stdout, f"mandoc {p.name}:", said.stdout, said.stderr)
    else:
        print("mandoc is not installed: the pages were not checked by it")

# References.
exist = {p.name for p in source.glob("man/*.[1-9]")} | {f"{name}.3" for name in functions}
for stem, text in pages.items():
    for name, section in re.findall(r"\bXr (\S+) (\d)", text):
        if name.startswith(("tare", "libtare")):
            check(f"{name}.{section}" in exist, f"{stem}.3 refers to {name}({section})")
print(f"{bad} checks failed" if bad else f"{len(pages)} pages, {len(functions)} functions")
if not bad and not (tried and lint):
    print("skipped: man or mandoc is not installed")
    sys.exit(77)
sys.exit(bad != 0)
