#!/usr/bin/env python3
"""Completion in a real bash, and the man pages know every option. usage: completion.py TARE"""
import os, re, shutil, subprocess, sys
from cli import check, finish, perf_refused, run

tare = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))


def complete(line):
    """What bash offers for the last word of `line`."""
    words = line.split(" ")
    quoted = " ".join(f"'{w}'" for w in words)
    script = f'''source <("{tare}" completion bash)
COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
_tare 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"'''
    return run("bash", "--norc", "-c", script, cwd=here).stdout.split()


commands = [l.split()[0] for l in run(tare, "--help").stdout.splitlines() if re.match("  [a-z]", l)]
check({"stat", "compare", "completion"} <= set(commands), commands)
check(set(commands) <= set(complete("tare ")), complete("tare "))
check(complete("tare sta") == ["stat"], complete("tare sta"))
check("--repeat" in complete("tare stat --re"), complete("tare stat --re"))
check(complete("tare stat --backend ") == ["auto", "hw", "soft"], complete("tare stat --backend "))
check(complete("tare stat --backend s") == ["soft"], complete("tare stat --backend s"))
check(complete("tare stat -o cli") == ["cli.py"], complete("tare stat -o cli"))
check(complete("tare compare cli") == ["cli.py"], complete("tare compare cli"))
check(complete("tare compare -f m") == ["markdown"], complete("tare compare -f m"))
check(complete("tare stat -e page-f") == ["page-faults"], complete("tare stat -e page-f"))
check(complete("tare stat -e page-faults,task") == ["page-faults,task-clock"],
      complete("tare stat -e page-faults,task"))
check(complete("tare stat -r ") == [], complete("tare stat -r "))
check("true" in complete("tare stat -e page-faults tru"), complete("tare stat -e page-faults tru"))
check("cli.py" in complete("tare stat -- cat cli"), complete("tare stat -- cat cli"))
check(complete("tare stat -- cat --re") == [], "options of the command are not ours")

# Each option is offered, and each is in the man page; each command has one.
every = {o for command in commands for o in re.findall(r"--[a-z][a-z-]+", run(tare, command, "--help").stdout)}
for command in commands:
    text = run(tare, command, "--help").stdout
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))
    check("--help" in options, command, text)
    offered = set(complete(f"tare {command} -"))
    check(options <= offered, command, "offers no", options - offered)
    check(f"See tare-{command}(1)." in text, command, text[-100:])
    page = f"{here}/../../man/tare-{command}.1"
    if not os.path.exists(page):
        check(False, "no man page:", command)
        continue
    source = open(page).read().replace("\\", "")
    for o in options - {"--help"}:
        # mdoc's .Fl stands for a dash.
        check(o in source or re.search(rf"Fl (-|Fl ){o[2:]}\b", source),
              f"tare-{command}.1 lacks {o}")
    if shutil.which("man"):
        p = run("man", "--warnings", "--nh", "-E", "UTF-8", "-l", "-Tutf8", page)
        check(not p.stderr, p.stderr)
        shown = re.sub("\033\\[[\\d;]*m|.\x08", "", p.stdout).replace("\u2010", "-").replace("\u2212", "-")
        described = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", shown))
        check(described <= every, f"tare-{command}.1 describes", described - every)

# Colour and progress are for terminals only.
event = "instructions:u" if perf_refused(tare) else "page-faults"
check("\033" not in run(tare, "stat", "-e", event, "true").stderr, "colour in a pipe")
if shutil.which("script"):
    def on_terminal(**env):
        return run("script", "-qec", f"{tare} stat -e {event} true", "/dev/null",
                   env=dict(os.environ, TERM="xterm", **env)).stdout
    check(f"\033[1m{event}" in on_terminal(NO_COLOR=""), "no colour on a terminal")
    check("\033" not in on_terminal(NO_COLOR="1"), "colour in spite of NO_COLOR")
finish()
