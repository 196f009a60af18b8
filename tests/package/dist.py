#!/usr/bin/env python3
"""`make dist` writes a tarball that depends on the files alone and that builds without git.
usage: dist.py SOURCE"""
import hashlib, os, pathlib, re, subprocess, sys, tarfile, tempfile

source = pathlib.Path(sys.argv[1])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def run(*args, **how):
    p = subprocess.run([str(a) for a in args], text=True, capture_output=True, **how)
    check(p.returncode == 0, args, p.stdout[-4000:], p.stderr[-4000:])
    return p.stdout


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
    tmp = pathlib.Path(tmp)
    first = run(source / "tools/dist", tmp / "first").strip()
    os.umask(0o077)
    second = run(source / "tools/dist", tmp / "second", cwd="/",
                 env=dict(os.environ, TZ="Asia/Tokyo", LC_ALL="C.UTF-8")).strip()
    os.umask(0o022)
    if bad:
        sys.exit(1)
    check(digest(first) == digest(second), "two tarballs of the same files differ")

    # The name, and the version in it, are meson's.
    version = re.search(r"^  version: '(.*)',$", (source / "meson.build").read_text(), re.M)[1]
    check(os.path.basename(first) == f"tare-{version}.tar.gz", first)
    with tarfile.open(first) as tar:
        members = tar.getmembers()
        tar.extractall(tmp)
    tree = tmp / f"tare-{version}"
    check(all(m.name.startswith(f"tare-{version}/") for m in members), "files outside of the folder")
    check({(m.uid, m.gid, m.mtime) for m in members} == {(0, 0, members[0].mtime)}, "owners or times differ")
    check({m.mode for m in members} == {0o644, 0o755}, {oct(m.mode) for m in members})
    names = {m.name.split("/", 1)[1] for m in members}
    check({"meson.build", "Makefile", "debian/rules", "tools/dist", "include/tare/tare.h"} <= names, "lacks files")
    check(not [n for n in names if n.startswith((".git/", "build/")) or n.endswith((".o", ".pyc"))], "too much")

    # It builds where there is no git, and what was built is not part of its own tarball.
    (tmp / "bin").mkdir()
    (tmp / "bin/git").write_text("#!/bin/sh\necho 'git was called' >&2\nexit 127\n")
    (tmp / "bin/git").chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp}/bin:{os.environ['PATH']}")
    run("make", "-C", tree, "BUILD=build", "TESTS=false", "ARM64=", f"DESTDIR={tmp}/d", "PREFIX=/usr",
        "install", env=env)
    check(run(tmp / "d/usr/bin/tare", "--version") == f"tare {version}\n", "version")
    (tree / "tests/cli/__pycache__").mkdir()
    (tree / "tests/cli/__pycache__/cli.pyc").write_text("")
    run("make", "-C", tree, "BUILD=build", "dist", env=env)
    again = tree / f"build/dist/tare-{version}.tar.gz"
    check(again.exists() and digest(again) == digest(first), "the tarball of the unpacked tarball differs")
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
