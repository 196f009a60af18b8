#!/usr/bin/env python3
"""`make` builds and does nothing else: no package is installed, no privilege asked for; what is
missing is named as this distribution names it. usage: make.py SOURCE

The tools that a build calls are stand-ins that write down how they were called."""
import json, os, pathlib, re, shutil, subprocess, sys, tempfile

source = pathlib.Path(sys.argv[1])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


if not shutil.which("make"):
    print("skipped: no make")
    sys.exit(77)
tmp = pathlib.Path(tempfile.mkdtemp(prefix="tare-"))
calls = tmp / "calls"


def folder(name, tools, real=()):
    """A folder for PATH with stand-ins and with links to real programs."""
    place = tmp / name
    place.mkdir()
    for tool in tools:
        (place / tool).write_text(f"""#!/bin/sh
echo {tool} "$*" >>{calls}
case "{tool} $1" in
"meson --version") echo 1.0.0 ;;
"meson setup") echo chatter; [ "$2" = --reconfigure ] || {{ mkdir -p "$2"; touch "$2/build.ninja"; }} ;;
"ninja "*) echo chatter ;;
esac
""")
        (place / tool).chmod(0o755)
    for program in real:
        (place / program).symlink_to(shutil.which(program))
    return str(place)


def make(path, *args, release=None):
    calls.write_text("")
    env = {"PATH": path, "HOME": str(tmp), "LC_ALL": "C"}
    if release:
        (tmp / "release").write_text(release)
        env["TARE_OS_RELEASE"] = str(tmp / "release")
    p = subprocess.run([shutil.which("make"), "--no-print-directory", "-C", source, f"BUILD={tmp}/b", *args],
                       env=env, text=True, capture_output=True)
    return p, calls.read_text()


plain = ("sh", "uname", "dirname", "mkdir", "touch", "cat", "cp", "grep", "sed", "cksum", "rm", "id", "env",
         "realpath", "python3", "tr")
privileged = ("sudo", "apt-get", "apt", "dpkg-query", "doas", "su")
whole = folder("whole", privileged + ("meson", "ninja", "cc", "objcopy", "pkg-config"), plain)
p, log = make(whole)
check(p.returncode == 0 and "built" in p.stdout, p.stdout, p.stderr)
check("meson setup" in log and "ninja -C" in log, log)
for tool in privileged:
    check(not any(line.split()[0] == tool for line in log.splitlines()), "make called", tool, log)
check("chatter" not in p.stdout + p.stderr, "not quiet", p.stdout, p.stderr)
# No other target that builds, installs or packs asks for privileges either; only these do.
for target in ("install", "uninstall", "arm64", "dist", "deb", "clean"):
    p, log = make(whole, target, f"DESTDIR={tmp}/d")
    for tool in privileged:
        check(not any(line.split()[0] == tool for line in log.splitlines()), "make", target, "called", tool, log)
    if target == "deb":
        check(p.returncode and re.search("no dpkg-buildpackage here: apt-get install build-essential .*debhelper .*libdw-dev",
                                         p.stderr), "make deb", p.stderr)
if (source / ".git").exists():
    packing = folder("packing", ("dpkg-buildpackage", "dh"), plain)
    p, log = make(packing, "deb")
    check(p.returncode and "no git here: apt-get install build-essential git" in p.stderr, "make deb without git", p.stderr)
    unmet = folder("unmet", ("dpkg-buildpackage", "dh", "git", "dpkg-checkbuilddeps"), plain)
    with open(f"{unmet}/dpkg-checkbuilddeps", "a") as f:
        f.write("echo dpkg-checkbuilddeps: error: unmet build dependencies: build-essential:native >&2; exit 1\n")
    p, log = make(unmet, "deb")
    check(p.returncode and "tare: unmet build dependencies: build-essential:native: apt-get install build-essential git" in p.stderr,
          "make deb without build-essential", p.stderr)
p, log = make(whole, "packages")
check("apt-get install" in log, "make packages installs nothing", log, p.stderr)
make(whole)
# What is left out is said once; and the build is set up again when that has changed.
lacking = folder("lacking", privileged + ("meson", "ninja", "objcopy", "pkg-config"), plain)
(tmp / "lacking/cc").write_text("#!/bin/sh\n! grep -q cmocka\n")
(tmp / "lacking/cc").chmod(0o755)
shutil.rmtree(tmp / "b")
p, log = make(lacking, release="ID=fedora")
check(p.returncode == 0 and "unit tests are left out: no cmocka (dnf install libcmocka-devel)" in p.stdout, p)
p, log = make(lacking, release="ID=fedora")
check(p.returncode == 0 and "cmocka" not in p.stdout and "meson setup" not in log, "said again", p, log)
p, log = make(whole)
check(p.returncode == 0 and "meson setup --reconfigure" in log, "cmocka was installed since", log)
# Who leaves the tests out does not miss what they need; nor does a later `make install`.
shutil.rmtree(tmp / "b")
p, log = make(lacking, "TESTS=false")
check(p.returncode == 0 and "left out" not in p.stdout, p.stdout)
(tmp / "b/meson-private").mkdir()
(tmp / "b/meson-private/cmd_line.txt").write_text("[options]\ntests = false\n")
p, log = make(lacking, "install", f"DESTDIR={tmp}/d")
check(p.returncode == 0 and "left out" not in p.stdout and "--reconfigure" not in log, p.stdout, log)
shutil.rmtree(tmp / "b")
p, log = make(whole, "TESTS=false", "PREFIX=~/.local")
check("-Dtests=false" in log and f"--prefix={tmp}/.local --libdir=lib " in log, log)
# A folder with what a shell would take for its own.
p, log = make(whole, "install", "TESTS=false", "PREFIX=/of my;own", f"DESTDIR={tmp}/d;d")
check(p.returncode == 0 and "-Dprefix=/of my;own -Dlibdir=lib" in log, p.stdout, p.stderr, log)
check(f"installed to {tmp}/d;d/of my;own" in p.stdout, p.stdout)
shutil.rmtree(tmp / "b")
p, log = make(whole, "TESTS=false", "PREFIX=/of my;own")
check(p.returncode == 0 and "--prefix=/of my;own --libdir=lib " in log, p.stdout, p.stderr, log)
shutil.rmtree(tmp / "b")

# The head of the Makefile names every target, and no other.
text = (source / "Makefile").read_text()
head = text[:text.index("\nPREFIX")]
targets = set(re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split())
named = set(re.findall(r"^#\tmake ([a-z][a-z0-9-]*)", head, re.M))
check(named <= targets, "there is no", named - targets)
steps = re.search(r"^# Steps of these:.*?^#$", head, re.M | re.S)[0]
check(targets == named | set(re.findall(r"[a-z0-9-]+", steps)) & targets | {"all"}, "not in the head of the Makefile:",
      targets - named)

# Something is missing.
empty = folder("empty", privileged, plain)
for release, says in {
        "ID=debian": "apt-get install gcc libc6-dev meson ninja-build",
        "ID=linuxmint\nID_LIKE=\"ubuntu debian\"": "apt-get install gcc",
        "ID=fedora": "dnf install gcc glibc-devel meson ninja-build",
        "ID=arch": "pacman -S gcc glibc meson ninja ",
        "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"": "zypper install gcc glibc-devel meson ninja ",
        "ID=alpine": "apk add build-base musl-dev meson samurai",
        "ID=unheard-of": "Debian's names: gcc libc6-dev meson ninja-build"}.items():
    p, log = make(empty, release=release)
    check(p.returncode != 0 and says in p.stderr, release, p.stdout, p.stderr)
    check(not log and not (tmp / "b").exists(), "something was done", log)
partly = folder("partly", privileged + ("meson", "cc", "objcopy"), plain)
p, log = make(partly, release="ID=debian")
check("not installed here: ninja-build" in p.stderr and "gcc" not in p.stderr, p.stderr)

# Without cmocka there are no unit tests, and that is said; nor with -Dtests=false any.
if shutil.which("meson") and shutil.which("ninja"):
    env = dict(os.environ, PKG_CONFIG_LIBDIR=str(tmp), PKG_CONFIG_PATH="")
    for options, wanted in (((), {"func", "cli", "build"}), (("-Dtests=false",), {"kernel"})):
        shutil.rmtree(tmp / "real", ignore_errors=True)
        p = subprocess.run(["meson", "setup", tmp / "real", source, *options], env=env, text=True,
                           capture_output=True)
        check(p.returncode == 0, options, p.stdout[-2000:], p.stderr)
        said = subprocess.run(["meson", "introspect", "--tests", tmp / "real"], text=True, capture_output=True)
        suites = {s.split(":")[-1] for t in json.loads(said.stdout or "[]") for s in t["suite"]}
        check(wanted <= suites and "unit" not in suites, options, suites)
        check(options or "left out: the unit tests" in p.stdout, p.stdout[-2000:])
        check(not options or suites == wanted, options, suites)
else:
    print("skipped: a build without cmocka: meson or ninja is not installed")

# Every further build of `make test` has a whole list of suites.
said = subprocess.run(["make", "-s", "-n", "-C", source, "test"], text=True, capture_output=True).stdout
builds = re.findall(r"(\S+)=(--\S+)", next((l for l in said.splitlines() if "run-tests" in l), ""))
check([b for b, _ in builds] == ["build-san", "build-tsan", "build-clang", "build-arm64"], builds)
check(all(re.fullmatch(r"--suite,\w+(,--suite,\w+)*", what) for _, what in builds), builds)

# Only below /usr the folder for libraries is the distribution's.
for prefix in ("/usr/local", "/opt/tare", f"{tmp}/.local"):
    said = subprocess.run([source / "tools/libdir", prefix], text=True, capture_output=True).stdout
    check(said == "lib\n", prefix, said)
if os.path.exists("/etc/debian_version") and shutil.which("cc"):
    multiarch = subprocess.run(["cc", "-print-multiarch"], text=True, capture_output=True).stdout
    said = subprocess.run([source / "tools/libdir", "/usr"], text=True, capture_output=True).stdout
    check(said == f"lib/{multiarch}" and len(multiarch) > 3, said)
else:
    print("skipped: the folder of Debian's libraries: this is not Debian, or there is no cc")
shutil.rmtree(tmp)
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
