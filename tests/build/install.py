#!/usr/bin/env python3
"""What `make install` puts in place can be used from outside.

Installs into a temporary folder, builds a C program against it with pkg-config, shared
and static, and looks at what the libraries export. usage: install.py SOURCE BUILD
"""
import glob, os, pathlib, re, shutil, subprocess, sys, tempfile

source, build = map(pathlib.Path, sys.argv[1:3])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def run(*args, **how):
    p = subprocess.run([str(a) for a in args], text=True, capture_output=True, **how)
    check(p.returncode == 0, args, p.stdout, p.stderr)
    return p.stdout


def symbols(*args):
    return {line.split()[-1].split("@")[0] for line in run("nm", *args).splitlines()
            if len(line.split()) == 3}


if not shutil.which("pkg-config"):
    print("skipped: no pkg-config")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
    tmp = pathlib.Path(tmp)
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", tmp)
    found = glob.glob(f"{tmp}/**/pkgconfig/tare.pc", recursive=True)
    check(len(found) == 1, "tare.pc", found)
    pc = pathlib.Path(found[0])
    libdir = pc.parent.parent
    prefix = re.search("^prefix=(.*)$", pc.read_text(), re.M)[1]
    root = pathlib.Path(f"{tmp}{prefix}")
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), LD_LIBRARY_PATH=str(libdir))

    def flags(*options):
        return run("pkg-config", f"--define-variable=prefix={root}", *options, "tare",
                   env=env).split()

    # A stranger's program: shared, and all of it static.
    outside = source / "tests/build/outside.c"
    strict = ("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GNU_SOURCE")
    run(*strict, outside, "-o", tmp / "shared", *flags("--cflags", "--libs"))
    run(*strict, "-static", outside, "-o", tmp / "static", *flags("--cflags", "--libs", "--static"))
    # Page faults, or what the engine counts where the kernel refuses its own events. The
    # least of some runs: a page that is not in the page cache yet is one fault more.
    can = subprocess.run([root / "bin/tare", "stat", "--backend", "hw", "-e", "page-faults:u", "true"],
                         capture_output=True).returncode == 0
    event, provenance = ("page-faults", "raw") if can else ("instructions:u", "exact")
    said = [min((run(tmp / kind, event, env=env) for _ in range(8)),
                key=lambda t: int("0" + re.sub(r"\D", "", t))) for kind in ("shared", "static")]
    check(re.fullmatch(rf"{event} [1-9]\d* {provenance} 1\n", said[0]), said)
    check(said[0] == said[1], "shared and static differ", said)
    check("libtare.so.0" in run("readelf", "-d", tmp / "shared"), "not linked with libtare.so.0")

    # Every header by itself, in C and in C++.
    headers = sorted((root / "include/tare").glob("*.h"))
    check(len(headers) == len(list((source / "include/tare").glob("*.h"))), "headers", headers)
    for h in headers:
        if h.stem.endswith(("-x86_64", "-aarch64")):
            continue            # parts of another one, chosen by it
        text = f"#include <tare/{h.name}>\nint main(void) {{ return 0; }}\n"
        run(*strict, "-fsyntax-only", "-xc", "-", *flags("--cflags"), input=text)
        if shutil.which("c++"):
            run("c++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-xc++", "-",
                *flags("--cflags"), input=text)

    if not shutil.which("c++"):
        print("skipped: the headers in C++: c++ is not installed (package g++)")

    # What is exported is public, and what is public is exported.
    shared = symbols("-D", "--defined-only", libdir / "libtare.so")
    static = symbols("-g", "--defined-only", libdir / "libtare.a")
    for name, what in ((shared, "libtare.so"), (static, "libtare.a")):
        private = sorted(s for s in name if not s.startswith("tare_") and not s.startswith("TARE_"))
        check(not private, what, "shows private symbols:", private[:10])

    declared = set()
    for h in headers:
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?(?<!\\)$", "", h.read_text(), flags=re.S | re.M)
        text = re.sub(r"(static|TARE_INLINE)[^;{]*\{", "", text)
        declared |= set(re.findall(r"^[a-z][\w\s\*]*?\b(tare_\w+)\([^;{]*\)[^;{]*;", text, re.M))
    check(len(declared) > 20, "too few functions found in the headers", len(declared))
    for name, what in ((shared, "libtare.so"), (static, "libtare.a")):
        missing = sorted(declared - name)
        check(not missing, what, "lacks", missing)

    # The program, its pages and its completion.
    version = run("pkg-config", "--modversion", "tare", env=env).strip()
    check(run(root / "bin/tare", "--version") == f"tare {version}\n", "version")
    pages = {p.name for p in root.glob("share/man/man*/*")}
    wanted = {p.name for p in source.glob("man/*.[1-9]")}
    wanted |= {f"{name}.3" for name in shared if name.startswith("tare_")}
    check(pages == wanted, "man pages", pages ^ wanted)
    script = root / "share/bash-completion/completions/tare"
    check(script.exists() and script.read_text() == run(root / "bin/tare", "completion", "bash"),
          "completion")
    run("bash", "-n", script)
    for shell, place in (("zsh", "share/zsh/site-functions/_tare"),
                         ("fish", "share/fish/vendor_completions.d/tare.fish")):
        script = root / place
        check(script.exists() and script.read_text() == run(root / "bin/tare", "completion", shell), shell)
    # The documents, and the schemas that JSON output names.
    for kind, place in (("docs/*.md", "share/doc/tare/docs"), ("docs/*.svg", "share/doc/tare/docs"),
                        ("docs/*.schema.json", "share/tare/schemas"), ("README.md", "share/doc/tare")):
        wanted = {p.name for p in source.glob(kind)}
        check(wanted and wanted <= {p.name for p in (root / place).glob("*")}, kind, "not in", place)

    # A prefix of one's own: the lines that are printed make the README's line work. (pkg-config
    # quotes a folder with spaces for a shell that reads its output again.)
    for name, quoted, command in (("own", "{}", ""), ("it's my own, ü", "'{}'", "eval ")):
        own = tmp / name
        shutil.copytree(root, own, symlinks=True)
        its_pc = own / pc.relative_to(root)
        prefix_line = "prefix=" + re.sub(r"([^\w./-])", r"\\\1", str(own))
        its_pc.write_text(its_pc.read_text().replace(f"prefix={prefix}", prefix_line))
        clean = {k: v for k, v in os.environ.items() if k not in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH")}
        lines = run(source / "tools/after-install", own, libdir.relative_to(root), env=clean)
        for variable, folder in (("PATH", own / "bin"), ("PKG_CONFIG_PATH", its_pc.parent),
                                 ("LD_LIBRARY_PATH", own / libdir.relative_to(root))):
            text = quoted.format(str(folder).replace("'", "'\\''"))
            check(f"  export {variable}={text}" in lines, variable, lines)
        exports = "\n".join(l for l in lines.splitlines() if l.startswith("  export "))
        run("sh", "-euc", f"{exports}\n{command}cc -D_GNU_SOURCE {outside} -o outside "
            f"$(pkg-config --cflags --libs tare)\n./outside {event}\ntare --version", env=clean, cwd=own)
        check(run("sh", "-euc", f'{exports}\n{source}/tools/after-install "$1" "$2"', "sh", own,
                  libdir.relative_to(root), env=clean) == "", "nothing to say where everything is found")
        shutil.rmtree(own)

    # What was installed goes, and nothing else.
    stranger = root / "share/man/man1/stranger.1"
    stranger.write_text("")
    run(source / "tools/uninstall", build, tmp)
    left = [p for p in root.rglob("*") if not p.is_dir()]
    check(left == [stranger], "left behind", left)
    check(not [p for p in root.rglob("tare*")], "folders left behind", list(root.rglob("tare*")))
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
