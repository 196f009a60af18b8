#!/usr/bin/env python3
"""tare compare and results that were not measured under the same conditions.
usage: compare-environment.py TARE PAGES"""
import json, os, re, shutil, sys, tempfile
from cli import check, check_schema, finish, run

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


def compare(status, *args):
    p = run(tare, "compare", *args)
    check(p.returncode == status, args, p.returncode, p.stdout, p.stderr)
    return p.stdout + p.stderr


def edited(name, result, change):
    result = json.loads(json.dumps(result))
    change(result)
    json.dump(result, open(name, "w"))
    return name


# However different the callers' environments are, --clean-env makes the results comparable.
for i in (1, 2):
    stat(f"clean{i}.json", "--clean-env", "--", pages, "100", env=dict(env, **{"X" * i: "y" * 99 * i}))
text = compare(0, "clean1.json", "clean2.json")
check("Differs" not in text and "Note" not in text, text)
base = stat("base.json", "--", pages, "100")
stat("more.json", "--", pages, "100", env=dict(env, ONE_MORE="1"))
text = compare(2, "base.json", "more.json")
check("only in the new one: ONE_MORE" in text and "tare stat --clean-env" in text and
      "regression" not in text, text)
check("only in the base: ONE_MORE" in compare(2, "more.json", "base.json"), "the other way")
stat("longer.json", "--", pages, "100", env=dict(env, LANG="C.UTF-8"))
text = compare(2, "base.json", "longer.json")
check("of another length: LANG" in text and "LANG was C and is C.UTF-8" in text, text)
r = json.loads(compare(2, "-j", "base.json", "longer.json"))
check_schema(r, "tare.compare-1")
check(r["verdict"] == "cannot-compare" and len(r["comparisons"][0]["differences"]) == 2, r)
check("**Differs**: the environment had" in compare(2, "-f", "markdown", "base.json", "longer.json"), "markdown")
for status, args in ((0, ("-T", "1000%")), (1, ("-T", "0"))):
    edited("changed.json", json.load(open("more.json")), lambda r: [
        c.update(value=c["value"] + 10 ** 5) for run_ in r["runs"] for c in run_["counts"]])
    if soft or status:
        compare(status, "--ignore-environment", *args, "base.json", "changed.json")


def change(path, value):
    def apply(r):
        for key in path[:-1]:
            r = r[key]
        r[path[-1]] = value
    return apply


# One field after the other: refused with a name, or noted.
features = "fpu sse2 ssse3 sse4_1 avx avx2 bmi2 erms avx512f avx512vl avx512bw sha_ni"
x86 = json.load(open("base.json"))
x86["environment"].update(machine="x86_64", cpu_features=features)
edited("x86.json", x86, lambda r: None)
for path, value, status, says in (
        (("environment", "glibc_tunables"), "x=1", 2, "GLIBC_TUNABLES was none and is x=1"),
        (("environment", "ld_preload"), "libx.so", 2, "LD_PRELOAD was none and is libx.so"),
        (("environment", "environ_bytes"), 12345, 2, "and has 12345"),
        (("environment", "settings"), {"LANG": "C", "TZ": "UTC"}, 2, "TZ was not set and is UTC"),
        (("environment", "cpu_features"), features.replace("avx2 ", ""), 2,
         "only the base has avx2 bmi2; measure both on one kind of CPU"),
        (("environment", "cpu_features"), features + " rtm", 2, "only the new one has rtm"),
        (("environment", "cpu_features"), features + " some_quirk", 0, "only the new one has some_quirk"),
        (("environment", "cpu_features"), features.replace(" sha_ni", ""), 0, "lacks sha_ni"),
        (("environment", "kernel"), "1.2.3", 0, "Note: the kernel differs"),
        (("environment", "cwd"), "/elsewhere", 0, "Note: the working folder differs"),
        (("environment", "cpus_allowed"), 77, 0, "Note: the number of CPUs differs"),
        (("cpu", "brand"), "other", 0, "Note: the CPUs differ"),
        (("cpu", "family"), 250, 0, "family 250 model"),
        (("cpu", "model"), 251, 0, " model 251"),
        (("cpu", "stepping"), 252, 0, " stepping 252"),
        (("cpu", "midr"), 253, 0, " midr 253"),
        (("cpu", "vendor"), "Other", 0, "Note: the CPUs differ"),
        (("program", "libc", "id"), "build-id:00", 2, "another build of libc"),
        (("program", "libc"), None, 0, "uses no shared libc")):
    text = compare(status, "x86.json", edited("other.json", x86, change(path, value)))
    check(says in text and ("Differs" in text) == (status == 2), path, value, text)
newer = json.loads(json.dumps(x86))
newer["program"]["libc"].update(id="build-id:00", version="2.99", build="Other 2.99")
text = compare(2, "x86.json", edited("other.json", newer, lambda r: None))
check(re.search(r"another libc: glibc [0-9.]+ \(.*\), glibc 2\.99 \(Other 2\.99, build-id:00\); measure both on one",
                text), text)
# What GLIBC_TUNABLES hides from libc in both files does not matter to it.
hidden = json.loads(json.dumps(x86))
hidden["environment"]["glibc_tunables"] = "glibc.malloc.check=0:glibc.cpu.hwcaps=-AVX2,-AVX512F,-ERMS"
edited("hidden.json", hidden, lambda r: None)
text = compare(0, "hidden.json", edited("other.json", hidden, change(
    ("environment", "cpu_features"), "fpu sse2 ssse3 sse4_1 avx sha_ni")))
check("Differs" not in text, text)
compare(2, "hidden.json", edited("other.json", hidden, change(
    ("environment", "cpu_features"), "fpu sse2 ssse3 avx sha_ni")))


# Results of version 0.1.0 lack most of this.
def old(r):
    del r["program"], r["options"]["clean_env"]
    for key in ("variables", "settings", "cpu_features"):
        del r["environment"][key]


text = compare(0, edited("old.json", base, old), "base.json")
check("old.json does not say which libc" in text and "old.json does not say which features" in text, text)
check("old.json and the new file do not say which libc" in compare(0, "old.json", "old.json"), "both old")
compare(2, "old.json", "more.json")         # the size of the environment is known

# ---- libraries, for real ----

libc = base["program"]["libc"]
for version in "12":
    os.mkdir(version)
    with open(f"{version}/l.c", "w") as f:
        f.write(f"int number(void) {{ return {version}; }}\n")
    run("cc", "-shared", "-fPIC", "-Wl,-soname,libl.so", "-o", f"{version}/libl.so", f"{version}/l.c", check=True)
    shutil.copy(libc["path"], f"{version}/libc.so.6")
with open("x.c", "w") as f:
    f.write("int number(void);\nint main(void) { return number() > 2; }\n")
run("cc", "-o", "x", "x.c", "1/libl.so", check=True)
for version in "12":
    os.rename(f"{version}/libc.so.6", f"{version}/hidden")
    stat(f"{version}.json", "--", "./x", env=dict(env, LD_LIBRARY_PATH=f"{folder}/{version}"))
text = compare(2, "1.json", "2.json")
check(re.search(r"Note: libl\.so changed \(.*/1/libl\.so: .*/2/libl\.so: ", text) and
      "LD_LIBRARY_PATH was" in text and "libc" not in text, text)
# Another build of libc in the same place: its build ID is another one.
os.mkdir("lib")
for version in "12":
    image = bytearray(open(f"{version}/hidden", "rb").read())
    build_id = bytes.fromhex(libc["id"].removeprefix("build-id:")) if "build-id" in libc["id"] else b""
    if version == "2" and build_id:
        at = image.index(build_id)
        image[at] ^= 1
    with open("lib/libc.so.6", "wb") as f:
        f.write(image)
    stat(f"{version}.json", "--", pages, "100", env=dict(env, LD_LIBRARY_PATH=f"{folder}/lib"))
text = compare(2 if build_id else 0, "1.json", "2.json")
check(not build_id or "another build of libc: glibc" in text, text)

run("rm", "-rf", folder)
finish()
