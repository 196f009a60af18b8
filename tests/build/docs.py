#!/usr/bin/env python3
"""What the documents point to is there; the picture of the rooms is of these rooms.
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
# Commands that are named exist.
commands = set(re.findall(r"^COMMAND\((\w+)\)", (source / "cmd/command-list.h").read_text(), re.M))
texts = pages + [p for d in ("src", "cmd", "man", "include") for p in (source / d).rglob("*.*")]
for page in texts:
    text = page.read_text(errors="replace")
    for name in re.findall(r"`tare ([a-z]+)[ `]|Xr tare-([a-z]+) 1|BR tare\\-([a-z]+) \(1\)", text):
        if "".join(name) not in commands:
            bad += 1
            print(f"{page}: there is no `tare {''.join(name)}`")
print(f"{links} links of {len(pages)} documents, {bad} wrong")
sys.exit(bad != 0 or links == 0)
