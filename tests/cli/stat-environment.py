#!/usr/bin/env python3
"""What a result says about the command's surroundings, and --clean-env.
usage: stat-environment.py TARE PAGES"""
import hashlib, json, os, re, shutil, sys, tempfile
from cli import check, check_schema, finish, run, skipped

tare, pages = map(os.path.abspath, sys.argv[1:3])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)
env = {"PATH": os.environ["PATH"], "LANG": "C"}
soft = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "true").returncode == 0
event = "instructions:u" if soft else "page-faults"


def stat(name, *args, env=env, status=0, runs="5"):
    p = run(tare, "stat", "-j", "-o", name, "-e", event, "-r", runs, *args, env=env)
    check(p.returncode == status, args, p.returncode, p.stderr)
    r = json.load(open(name))
    check_schema(r, "tare.stat-1")
    return r


# ---- what is stored ----

r = stat("a.json", "--", pages, "100", env=dict(env, SECRET="hunter2", PYTHONHASHSEED="7"))
e, program = r["environment"], r["program"]
check(e["variables"]["SECRET"] == 7 and "hunter2" not in open("a.json").read(), e)
check(e["settings"] == {"LANG": "C", "PYTHONHASHSEED": "7"}, e["settings"])
check(e["environ_bytes"] == sum(len(k) + v + 2 for k, v in e["variables"].items()), e)
check(program["path"] == pages and not program["static"], program)
libc = program["libc"]
banner = re.search(rb"GNU C Library \((.*?)\).*?release version ([0-9.]+)\.", open(libc["path"], "rb").read())
check(libc["kind"] == "glibc" and banner and libc["build"] == banner[1].decode() and
      libc["version"] == banner[2].decode(), libc, banner)
names = [f["name"] for f in program["libraries"]]
check("libc.so.6" in names and any(n.startswith("ld-") for n in names), names)
p = run("readelf", "-n", pages)
found = re.search("Build ID: ([0-9a-f]+)", p.stdout)
check(program["id"] == (f"build-id:{found[1]}" if found else
                        "sha256:" + hashlib.sha256(open(pages, "rb").read()).hexdigest()), program, p.stdout)

# A script is named, and the program behind it; also behind env.
for line in ("#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/bin/env -S LC_ALL=C sh -e"):
    with open("script", "w") as f:
        f.write(line + "\nexit 0\n")
    os.chmod("script", 0o755)
    program = stat("b.json", "--", "./script", runs="1")["program"]
    check(os.path.samefile(program["path"], shutil.which("sh", path=env["PATH"])), program)
    check(program["scripts"] == [dict(name="script", path="./script", id="sha256:" + hashlib.sha256(
        open("script", "rb").read()).hexdigest())], program)
# Libraries that only the linker can tell: a run path, and LD_LIBRARY_PATH.
os.mkdir("own")
with open("own.c", "w") as f:
    f.write("int own(void) { return 0; }\n")
with open("user.c", "w") as f:
    f.write("int own(void);\nint main(void) { return own(); }\n")
check(run("cc", "-shared", "-fPIC", "-Wl,-soname,libown.so.1", "-o", "own/libown.so.1", "own.c").returncode == 0)
for option, more in (("-Wl,-rpath," + folder + "/own", {}), ("-Wl,--as-needed", {"LD_LIBRARY_PATH": folder + "/own"})):
    check(run("cc", option, "-o", "user", "user.c", "own/libown.so.1").returncode == 0)
    libraries = stat("b.json", "--", "./user", env=dict(env, **more), runs="1")["program"]["libraries"]
    told = run("/lib64/ld-linux-x86-64.so.2", "--list", "./user", env=dict(env, **more)).stdout if os.uname().machine == "x86_64" else ""
    check(["libown.so.1", folder + "/own/libown.so.1"] in [[f["name"], f["path"]] for f in libraries], libraries)
    check(all(f["path"] in told for f in libraries) or not told, libraries, told)

# Static programs, and those without a build ID.
with open("x.c", "w") as f:
    f.write("int main(void) { return 0; }\n")
if run("cc", "-static", "-Wl,--build-id=none", "-o", "static", "x.c").returncode == 0:
    program = stat("b.json", "--", "./static", runs="1")["program"]
    check(program["static"] and program["libc"] is None and program["libraries"] == [], program)
    check(program["id"] == "sha256:" + hashlib.sha256(open("static", "rb").read()).hexdigest(), program)
else:
    skipped("static programs", "there is no static libc")
p = run(tare, "stat", "-j", "-o", "-", "-e", "page-faults", "-p", str(os.getpid()), "sleep", "0.1")
if p.returncode == 0:
    check(json.loads(p.stdout)["program"] is None, "attached")
else:
    skipped("attaching", p.stderr.splitlines()[0])

# ---- --clean-env ----

p = run(tare, "stat", "-o", "/dev/null", "-e", event, "--clean-env", "--keep", "B", "--keep", "HOME",
        "--keep", "A", "env", env=dict(env, A="1", B="2", C="3", HOME="/home"))
check(p.stdout.splitlines() == ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                "HOME=/home", "LANG=C.UTF-8", "TZ=UTC", "B=2", "A=1"], p.stdout)
man = open(f"{os.path.dirname(os.path.abspath(__file__))}/../../man/tare-stat.1").read()
for line in ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
             "LANG=C.UTF\\-8", "TZ=UTC"):
    check(line in man, line, "is in the man page")
for args, says in ((("--keep", "A", "true"), "--keep wants --clean-env"),
                   (("--clean-env", "no-such-command"), "looks in PATH=/usr/local/sbin"),
                   (("--clean-env", "-p", "1"), "--clean-env wants a command"),
                   (("--clean-env", "--keep", "NO_SUCH", "true"), "NO_SUCH: the variable is not set")):
    p = run(tare, "stat", "-e", event, *args, env=env)
    check(says in p.stderr, args, p.stderr)
# The count does not depend on the caller's environment any more.
clean = [stat(f"clean{i}.json", "--clean-env", "--", pages, "100", env=dict(env, **{"X" * i: "y" * 99 * i}))
         for i in (1, 2)]
check(clean[0]["options"]["clean_env"], clean[0]["options"])
if soft:
    a, b = ([c["value"] for run_ in r["runs"] for c in run_["counts"]] for r in clean)
    check(a == b and len(set(a)) == 1, a, b)
run("rm", "-rf", folder)
finish()
