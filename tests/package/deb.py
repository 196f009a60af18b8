#!/usr/bin/env python3
"""The Debian packages: they build, lintian finds nothing, each file is in the right one.
usage: deb.py SOURCE FOLDER   (FOLDER: where tools/deb builds; tests/package/chroot takes it up)"""
import fnmatch, os, pathlib, re, shutil, subprocess, sys

source, folder = map(pathlib.Path, sys.argv[1:3])
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


for tool in ("dpkg-buildpackage", "dh", "lintian"):
    if not shutil.which(tool):
        print(f"skipped: {tool} is not installed")
        sys.exit(77)
version = re.search(r"^  version: '(.*)',$", (source / "meson.build").read_text(), re.M)[1]
said = run("dpkg-parsechangelog", "-l", source / "debian/changelog", "-S", "Version").strip()
check(said == version, f"debian/changelog has version {said}, meson.build has {version}")
check(f"\n## {version}" in (source / "CHANGELOG.md").read_text(), "CHANGELOG.md has no section", version)

changes = pathlib.Path(run(source / "tools/deb", folder, env=dict(os.environ, DEB_BUILD_OPTIONS="nocheck")).strip())
if bad:
    sys.exit(1)
said = run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
check(not said.strip(), "lintian says", said)
# An override has its reason beside it.
for path in (source / "debian").glob("*lintian-overrides"):
    lines = path.read_text().splitlines()
    check(all(i and (lines[i - 1].startswith("#") or not line.strip())
              for i, line in enumerate(lines) if not line.startswith("#")), path, "no reason")


def contents(package):
    deb, = folder.glob(f"{package}_{version}_*.deb")
    lines = run("dpkg-deb", "-c", deb).splitlines()
    return {line.split()[5].lstrip(".") for line in lines if line[0] != "d"}, run("dpkg-deb", "-f", deb)


def names(pattern, under, ending=""):
    return {f"{under}/{p.name}{ending}" for p in source.glob(pattern)}


multiarch = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
lib = f"/usr/lib/{multiarch}"
wanted = {
    "tare": {"/usr/bin/tare", "/usr/bin/tare-callgrind", "/usr/share/bash-completion/completions/tare",
             "/usr/share/zsh/vendor-completions/_tare", "/usr/share/fish/vendor_completions.d/tare.fish",
             "/usr/share/doc/tare/examples/ci/check-counts.sh", "/usr/share/doc/tare/README.md",
             "/usr/share/doc/tare/SECURITY.md", f"{lib}/tare/tare-symbols"}
            | names("man/*.1", "/usr/share/man/man1", ".gz") | names("man/*.7", "/usr/share/man/man7", ".gz")
            | names("docs/*.md", "/usr/share/doc/tare/docs")
            | names("docs/*.schema.json", "/usr/share/tare/schemas"),
    "libtare0": {f"{lib}/libtare.so.0", f"{lib}/libtare.so.{version}"},
    "libtare-dev": {f"{lib}/libtare.so", f"{lib}/libtare.a", f"{lib}/pkgconfig/tare.pc",
                    "/usr/share/doc/libtare-dev/examples/recorder.c"}
                   | names("include/tare/*", "/usr/include/tare") | names("man/*.3", "/usr/share/man/man3", ".gz"),
}
own = {"tare": ("/usr/bin/*", "/usr/share/*", f"{lib}/tare/tare-*"), "libtare0": (f"{lib}/libtare.so.0*",),
       "libtare-dev": ("/usr/include/tare/*", f"{lib}/*", "/usr/share/man/man3/*")}
everything = []
for package, files in wanted.items():
    has, fields = contents(package)
    check(files <= has, package, "lacks", sorted(files - has))
    own_doc = f"/usr/share/doc/{package}/*"
    other = [f for f in has if not any(fnmatch.fnmatchcase(f, p) for p in own[package] + (own_doc,))]
    check(not other, package, "should not have", other)
    check({f"/usr/share/doc/{package}/copyright", f"/usr/share/doc/{package}/changelog.gz"} <= has, package, "docs")
    depends = (re.search(r"^Depends: (.*)$", fields, re.M) or [""] * 2)[1]
    check("libc6" in depends or package == "libtare-dev", package, "depends on", depends)
    check("zydis" not in depends and "libdw" not in depends, package, "depends on", depends)    # tare runs without
    check(package != "tare" or re.search("^Recommends: .*libdw1", fields, re.M), package, "recommends no libdw1")
    check(f"libtare0 (= {version})" in depends or package != "libtare-dev", depends)
    everything += has
check(len(everything) == len(set(everything)), "a file is in two packages")

# A program linked with the library must not be installed with a library of another minor version.
symbols, = [run("dpkg-deb", "-I", deb, "symbols") for deb in folder.glob("libtare0_*.deb")]
major, minor, _ = map(int, version.split("."))
check(f"libtare0 (<< {major}.{minor + 1}~)" in symbols or major, symbols.splitlines()[:1])
check(len(re.findall(r"^ tare_\w+@TARE_", symbols, re.M)) > 20, "few symbols", symbols)
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
