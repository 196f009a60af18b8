#!/usr/bin/env python3
"""What the documents point to is there; the picture of the rooms is of these rooms; the front
page leads everywhere.
usage: docs.py SOURCE"""
import pathlib, re, sys
import xml.etree.ElementTree as xml

source = pathlib.Path(sys.argv[1])
bad = links = 0
pages = [p for p in source.rglob("*.md") if not re.match("build", str(p.relative_to(source)))]
for page in pages:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" in target:
            continue
        links += 1
        if not (page.parent / target).exists():
            bad += 1
            print(f"{page}: {target} is not there")
rooms = {p.name for p in (source / "src").iterdir() if (p / "meson.build").exists()} | {"cmd"}
drawn = {t.text for t in xml.parse(source / "docs/rooms.svg").iter()
         if t.tag.endswith(("text", "tspan")) and t.get("font-weight") == "bold"}
if rooms != drawn:
    bad += 1
    print("docs/rooms.svg: rooms", rooms ^ drawn)
described = set(re.findall(r"^\| `(\w+)` \|", (source / "docs/architecture.md").read_text(), re.M))
if not rooms <= described:
    bad += 1
    print("docs/architecture.md lacks", rooms - described)
inner = {p.name for p in (source / "src/soft").iterdir() if (p / "meson.build").exists()}
shown = " ".join(t.text or "" for t in xml.parse(source / "docs/rooms.svg").iter()).split()
for room in inner:
    if f"\n| `soft/{room}` |" not in (source / "docs/architecture.md").read_text() or \
            room not in shown:
        bad += 1
        print(f"docs/architecture.md or docs/rooms.svg lacks soft/{room}")
# Commands that are named exist.
commands = set(re.findall(r"^COMMAND\((\w+)\)", (source / "cmd/command-list.h").read_text(), re.M))
texts = pages + [p for d in ("src", "cmd", "man", "include") for p in (source / d).rglob("*.*")]
for page in texts:
    text = page.read_text(errors="replace")
    for name in re.findall(r"`tare ([a-z]+)[ `]|Xr tare-([a-z]+) 1|BR tare\\-([a-z]+) \(1\)", text):
        if "".join(name) not in commands:
            bad += 1
            print(f"{page}: there is no `tare {''.join(name)}`")
# The front page leads to every document, and says how far the hardware path is tested.
front = (source / "README.md").read_text()
for page in (source / "docs").glob("*.md"):
    if f"(docs/{page.name})" not in front:
        bad += 1
        print(f"README.md: no link to docs/{page.name}")
untried = "None yet" in (source / "docs/tested-on.md").read_text().split("## Hardware")[1]
if untried != ("emulated PMUs only" in front.split("$ tare doctor")[0]):
    bad += 1
    print("README.md: its head and docs/tested-on.md do not say the same of hardware")

print(f"{links} links of {len(pages)} documents, {bad} wrong")
sys.exit(bad != 0 or links == 0)
