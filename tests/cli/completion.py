#!/usr/bin/env python3
"""Completion in a real bash, and the man pages know every option. usage: completion.py TARE"""
import os, pty, re, select, shlex, shutil, subprocess, sys, tempfile, time
from cli import check, finish, perf_refused, run, skipped

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
check(complete("tare run --cpu skyl") == ["skylake"], complete("tare run --cpu skyl"))
check(complete("tare run --flaws interrupts,undoc") == ["interrupts,undocumented"],
      complete("tare run --flaws interrupts,undoc"))
check(complete("tare stat --machine x86-64-v2") == ["x86-64-v2"], complete("tare stat --machine x86-64-v2"))
check(complete("tare list --cpu zen5") == ["zen5"], complete("tare list --cpu zen5"))
check(complete("tare stat -M taken") == ["taken-ratio"], complete("tare stat -M taken"))
check("true" in complete("tare stat -e page-faults tru"), complete("tare stat -e page-faults tru"))
check("cli.py" in complete("tare stat -- cat cli"), complete("tare stat -- cat cli"))
check(complete("tare stat -- cat --re") == [], "options of the command are not ours")



# fish and zsh, made from the same tables, asked themselves.
def fish(line):
    script = f'"{tare}" completion fish | source; complete -C {shlex.quote(line)}'
    p = run("fish", "--no-config", "-c", script, cwd=here)
    check(not p.stderr, "fish", line, p.stderr)
    return [l.split("\t")[0] for l in p.stdout.splitlines() if l]


class Zsh:
    """An interactive zsh; complete(line) is the line after Tab."""
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tare-")
        open(f"{self.folder}/_tare", "w").write(run(tare, "completion", "zsh").stdout)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(here)
            os.environ.update(TERM="xterm", ZDOTDIR=self.folder, HOME=self.folder)
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.n = 0
        os.write(self.fd, (f"PS1=; stty -echo; fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -u -D; "
                           "setopt no_list_beep no_always_last_prompt; LISTMAX=0; "
                           "show() {{ print -r -- $'\\n'\"[$BUFFER]\" }}; zle -N show; "
                           "bindkey '^X' show; print READ''Y\n").replace("{{", "{").replace("}}", "}").encode())
        self.until("READY")

    def until(self, pattern):
        text = ""
        end = time.monotonic() + 600
        while not re.search(pattern, text):
            if time.monotonic() > end or not select.select([self.fd], [], [], 600)[0]:
                check(False, "zsh does not answer", text)
                return ""
            text += os.read(self.fd, 65536).decode(errors="replace")
        return re.search(pattern, text)

    def complete(self, line):
        os.write(self.fd, b"\x15" + line.encode() + b"\t\x18")
        found = self.until(r"\n\[(.*)\]\r?\n")
        return found and re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", found[1])

    def close(self):
        os.write(self.fd, b"\x15exit\n")
        os.close(self.fd)
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder)


if shutil.which("fish"):
    check(set(commands) <= set(fish("tare ")), fish("tare "))
    check(fish("tare sta") == ["stat"], fish("tare sta"))
    check(fish("tare stat --backend ") == ["auto", "hw", "soft"], fish("tare stat --backend "))
    check(fish("tare stat -e page-faults,task") == ["page-faults,task-clock"], "fish: events")
    check(fish("tare stat -M taken") == ["taken-ratio"], fish("tare stat -M taken"))
    check(fish("tare run --flaws interrupts,undoc") == ["interrupts,undocumented"], "fish: flaws")
    check(fish("tare stat --machine x86-64-v2") == ["x86-64-v2"], "fish: machines")
    check(fish("tare stat -o cli") == ["cli.py"], fish("tare stat -o cli"))
    check(fish("tare compare cli") == ["cli.py"], fish("tare compare cli"))
    check("true" in fish("tare stat -e page-faults tru"), fish("tare stat -e page-faults tru"))
    check("cli.py" in fish("tare stat -- cat cli"), fish("tare stat -- cat cli"))
    check(fish("tare completion z") == ["zsh"], fish("tare completion z"))
    check("--all-cpus" not in fish("tare stat --all-c"), "fish offers what is refused")
else:
    skipped("completion in fish", "fish is not installed")
if shutil.which("zsh"):
    z = Zsh()
    for line, wanted in {"tare sta": "tare stat ", "tare stat --backend s": "tare stat --backend soft ",
                         "tare stat --backend=s": "tare stat --backend=soft ", "tare stat --repe": "tare stat --repeat=",
                         "tare stat -M taken": "tare stat -M taken-ratio", "tare stat -M ipc,taken": "tare stat -M ipc,taken-ratio",
                         "tare stat -e page-f": "tare stat -e page-faults",
                         "tare stat -o cli": "tare stat -o cli.py ", "tare compare cli": "tare compare cli.py ",
                         "tare stat -- cat cli": "tare stat -- cat cli.py ", "tare stat -r 3 cat cli": "tare stat -r 3 cat cli.py ",
                         "tare completion z": "tare completion zsh ", "tare stat --all-c": "tare stat --all-c"}.items():
        got = z.complete(line)
        check(got is not None and got.rstrip(" ,") == wanted.rstrip(), "zsh", line, got)
    z.close()
else:
    skipped("completion in zsh", "zsh is not installed")

# Each option is offered, and each is in the man page; each command has one.
every = {o for command in commands for o in re.findall(r"--[a-z][a-z-]+", run(tare, command, "--help").stdout)}
for command in commands:
    text = run(tare, command, "--help").stdout
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))
    check("--help" in options, command, text)
    offered = set(complete(f"tare {command} -"))
    check(options <= offered, command, "offers no", options - offered)
    if shutil.which("fish"):
        offered = set(fish(f"tare {command} --"))
        check(options <= offered, "fish:", command, "offers no", options - offered)
    zsh = run(tare, "completion", "zsh").stdout
    check(all(f"*{o}" in zsh or o == "--help" for o in options), "zsh:", command)
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

if not shutil.which("man"):
    skipped("the man pages as shown", "man is not installed (package man-db)")

# Colour and progress are for terminals only.
event = "instructions:u" if perf_refused(tare) else "page-faults"
check("\033" not in run(tare, "stat", "-e", event, "true").stderr, "colour in a pipe")
if shutil.which("script"):
    def on_terminal(**env):
        return run("script", "-qec", f"{tare} stat -e {event} true", "/dev/null",
                   env=dict(os.environ, TERM="xterm", **env)).stdout
    check(f"\033[1m{event}" in on_terminal(NO_COLOR=""), "no colour on a terminal")
    check("\033" not in on_terminal(NO_COLOR="1"), "colour in spite of NO_COLOR")
else:
    skipped("colour on a terminal", "script is not installed (package bsdutils)")
finish()
