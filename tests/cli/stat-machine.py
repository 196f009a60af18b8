#!/usr/bin/env python3
"""tare stat --machine: the program sees that CPU, and nothing of the host's.
usage: stat-machine.py TARE PAGES MACHINE-SHOW"""
import json, os, re, shutil, subprocess, sys, tempfile
from cli import check, check_schema, finish, run, until

tare, pages, show = map(os.path.abspath, sys.argv[1:4])
folder = tempfile.mkdtemp(prefix="tare-")
os.chdir(folder)
os.mkdir("tmp")
os.environ["TMPDIR"] = os.path.abspath("tmp")
LOADER = "/lib64/ld-linux-x86-64.so.2"


def stat(machine, *command, status=0, options=()):
    p = run(tare, "stat", "-j", "-o", "r.json", "-e", "instructions", "--machine", machine, *options, "--", *command)
    check(p.returncode == status, machine, command, p.returncode, p.stderr)
    r = json.load(open("r.json"))
    check_schema(r, "tare.stat-1")
    return r, p.stdout


def facts(machine):
    r, text = stat(machine, show)
    return r, dict(line.split("=", 1) for line in text.splitlines())


# The features of the levels, as the psABI lists them; by word of cpuid: (leaf, sub, register, bit).
LEVEL2 = {"cx16": (1, 0, 2, 13), "lahf": (0x80000001, 0, 2, 0), "popcnt": (1, 0, 2, 23), "sse3": (1, 0, 2, 0),
          "sse4_1": (1, 0, 2, 19), "sse4_2": (1, 0, 2, 20), "ssse3": (1, 0, 2, 9)}
LEVEL3 = LEVEL2 | {"avx": (1, 0, 2, 28), "avx2": (7, 0, 1, 5), "bmi1": (7, 0, 1, 3), "bmi2": (7, 0, 1, 8),
                   "f16c": (1, 0, 2, 29), "fma": (1, 0, 2, 12), "lzcnt": (0x80000001, 0, 2, 5),
                   "movbe": (1, 0, 2, 22), "xsave": (1, 0, 2, 26), "osxsave": (1, 0, 2, 27)}
LEVEL4 = LEVEL3 | {"avx512f": (7, 0, 1, 16), "avx512dq": (7, 0, 1, 17), "avx512cd": (7, 0, 1, 28),
                   "avx512bw": (7, 0, 1, 30), "avx512vl": (7, 0, 1, 31)}
LEVELS = {"x86-64-v2": (LEVEL2, 0, 0), "x86-64-v3": (LEVEL3, 7, 832),
          "x86-64-v4": (LEVEL4, 0xe7, 2688)}


def words(f, leaf, sub=0):
    return [int(w, 16) for w in f[f"cpuid.{leaf:x}.{sub:x}"].split()]


def check_level(name, r, f):
    level, xcr0, area = LEVELS[name]
    for leaf, register in ((1, 2), (7, 1), (0x80000001, 2)):
        want = sum(1 << bit for at, _, reg, bit in level.values() if at == leaf and reg == register)
        check(words(f, leaf)[register] == want, name, hex(leaf), hex(want), words(f, leaf))
    check(words(f, 1)[3] == 0x078bfbff and words(f, 7)[2:] == [0, 0], name, words(f, 1))
    vendor = b"".join(words(f, 0)[i].to_bytes(4, "little") for i in (1, 3, 2))
    check(vendor == b"GenuineIntel", name, vendor)
    brand = b"".join(w.to_bytes(4, "little") for i in (2, 3, 4) for w in words(f, 0x80000000 + i))
    check(brand.rstrip(b"\0").decode() == f"tare {name}", brand)
    # leaf 4: the first level of 32 KiB, the third one of one CPU
    a, b, c, _ = words(f, 4, 0)
    check(a & 0x1f == 1 and ((b >> 22) + 1) * (c + 1) * 64 == 32768, name, words(f, 4))
    check(words(f, 4, 3)[0] >> 14 == 0 and words(f, 4, 4) == [0, 0, 0, 0], name, words(f, 4, 3))
    check(words(f, 0xb, 1)[:2] == [0, 1], name, words(f, 0xb, 1))
    for leaf in (6, 0xa, 0x14, 0x1f):
        check(words(f, leaf)[:2] == [0, 0], name, leaf, words(f, leaf))
    check(f["getcpu"] == "0 0" and f["sched_getcpu"] == "0" and f["rdtscp"] == "0" and f["lsl"] == "0", name, f)
    check(f["affinity"] == "8 1" and f["set 63"] == "-1 22" and f["set 0"] == "0" and f["short"] == "-1", name, f)
    check(f["hwcap"] == "78bfbff 0" and f["minsigstksz"] == "4096" and f["signal"] == "fits" and f["vdso"] == "0", name, f)
    check(f["platform"] in ("x86_64", "haswell"), name, f["platform"])
    check(f["get_auxv"].split() == "51 16 6 17 3 4 5 7 8 9 11 12 13 14 23 25 26 31 15 0".split(), f["get_auxv"])
    check(f["xcomp"] == f"{xcr0:x}" and f["amx"] == "95", name, f["xcomp"], f["amx"])
    if xcr0:
        check(f["xgetbv"] == f"{xcr0:x}" and words(f, 0xd)[:3] == [xcr0, area, area], name, words(f, 0xd))
        check(f["xsave"] == "kept, beyond xcr0: 0", name, f["xsave"])
    else:
        check(words(f, 0xd) == [0, 0, 0, 0], name, words(f, 0xd))
    m = r["world"]["machine"]
    check(m["name"] == name and m["cpus"] == 1 and re.fullmatch("[0-9a-f]{16}", m["hash"]), m)
    check("CPU" in r["world"]["fixed"] and "time" in r["world"]["left"], r["world"])


def check_loader(name):
    """What glibc makes of it."""
    _, text = stat(name, LOADER, "--help")
    usable = set(re.findall(r"(x86-64-v\d) \(supported", text))
    check(usable == {f"x86-64-v{i}" for i in range(2, int(name[-1]) + 1)}, name, usable)
    _, text = stat(name, LOADER, "--list-diagnostics")
    d = dict(re.findall(r"^([\w.\[\]]+)=(.*)$", text, re.M))
    check(d["x86.cpu_features.basic.kind"] == "0x1" and d["x86.cpu_features.basic.max_cpuid"] ==
          ("0xb" if name == "x86-64-v2" else "0xd"), name, d["x86.cpu_features.basic.max_cpuid"])
    check(d["x86.cpu_features.data_cache_size"] == "0x8000", name, d["x86.cpu_features.data_cache_size"])


hashes = set()
lacking = []
for name in LEVELS:
    p = run(tare, "stat", "--machine", name, "-e", "instructions", "true")
    if p.returncode == 125 and "this host lacks" in p.stderr:
        missing = re.search(r"this host lacks (.*?):", p.stderr)[1].split()
        flags = re.search(r"^flags\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)[1].split()
        # each feature that the message names is one that the host really lacks
        check(missing and not set(missing) & set(flags), name, p.stderr)
        lacking.append(name)
        continue
    r, f = facts(name)
    hashes.add(r["world"]["machine"]["hash"])
    check_level(name, r, f)
    check_loader(name)
check(len(hashes) == 3 - len(lacking) and "x86-64-v2" not in lacking, hashes, lacking)

# ---- more CPUs, and processes that the program starts ----
r, f = facts("x86-64-v2,cpus=4")
check(f["affinity"] == "8 f" and words(f, 0xb, 1)[:2] == [2, 4] and
      words(f, 1)[3] >> 28 & 1 and words(f, 1)[1] >> 16 & 255 == 4, f)
check(r["world"]["machine"]["cpus"] == 4 and r["world"]["machine"]["hash"] not in hashes, r["world"])
_, text = stat("x86-64-v2,cpus=3", "sh", "-c", "nproc; nproc")
check(text == "3\n3\n", text)

# ---- files ----
SCRIPT = """
cat /proc/cpuinfo; echo; echo =; grep ^cpu /proc/stat; echo =; cd /sys/devices/system; cat cpu/online
cat /sys/devices/system/cpu/../cpu/cpu1/cache/index3/shared_cpu_list; ls -d cpu/cpu[0-9]*; ls -d node/node[0-9]*
pwd; test -e cpu/cpu2 && echo more; nproc --all; echo =; grep Cpus_allowed /proc/self/status; cut -d" " -f39 /proc/self/stat
echo =; od -An -v -tu8 -w16 /proc/self/auxv"""
_, text = stat("x86-64-v2,cpus=2", "sh", "-c", SCRIPT)
info, cpus, sysfs, task, auxv = (part.strip() for part in text.split("\n=\n"))
FLAGS = ("fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx lm "
         "constant_tsc nopl nonstop_tsc cpuid pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm")
check(re.findall(r"^flags\t\t: (.*)$", info, re.M) == [FLAGS] * 2, info)
check(re.findall(r"^(?:vendor_id|model name|cpu cores)\t: (.*)$", info, re.M) ==
      ["GenuineIntel", "tare x86-64-v2", "2"] * 2, info)
check([line.split()[0] for line in cpus.splitlines()] == ["cpu", "cpu0", "cpu1"], cpus)
check(sysfs.split() == "0-1 0-1 cpu/cpu0 cpu/cpu1 node/node0 /sys/devices/system 2".split(), sysfs)
check(task.split() == "Cpus_allowed: 3 Cpus_allowed_list: 0-1 0".split(), task)
check([line.split()[0] for line in auxv.splitlines()] == f["get_auxv"].split(), auxv, f["get_auxv"])
check(auxv.splitlines()[1].split() == ["16", str(0x178bfbff)], auxv)
check(not os.listdir("tmp"), "a folder is left", os.listdir("tmp"))

# ---- instructions beyond the machine run, and are reported ----
host = re.search(r"^flags\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)[1].split()
SETS = [s for s in ("avx2", "bmi2", "movbe", "fma", "aes", "avx512f", "sse4_2") if s in host]
r, _ = stat("x86-64-v2", show, *SETS)
beyond = {x["extension"]: x["address"] for x in r["world"]["machine"]["beyond"]}
check(set(SETS) - {"sse4_2"} <= set(beyond) and "sse4_2" not in beyond and all(beyond.values()), SETS, beyond)
if "x86-64-v3" not in lacking:
    r, _ = stat("x86-64-v3", show, *SETS)
    names = {x["extension"] for x in r["world"]["machine"]["beyond"]}
    check(names == set(SETS) & {"aes", "avx512f"}, SETS, names)
r, _ = stat("x86-64-v2", show)
check("rdtscp" in {x["extension"] for x in r["world"]["machine"]["beyond"]}, r["world"])
p = run(tare, "stat", "--machine", "x86-64-v2", "-e", "instructions", "--", show)
check(re.search(r"Code beyond x86-64-v2 was translated.*rdtscp \(first at 0x[0-9a-f]+\)", p.stderr), p.stderr)
r, _ = stat("x86-64-v2", pages, "10")
check(r["world"]["machine"]["beyond"] == [], r["world"])

# ---- other commands ----
p = run(tare, "run", "--cpu", "zen2", "--machine", "x86-64-v2", "--", "sh", "-c", SCRIPT)
check(p.returncode == 0 and "AuthenticAMD" in p.stdout and "ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm" in p.stdout and
      "avx" not in p.stdout, p.stdout, p.stderr)
p = run(tare, "run", "--cpu", "zen2", "--machine", "x86-64-v2", "--", tare, "stat", "--backend", "hw", "-e", "instructions:u", "true")
check(p.returncode == 0 and "exact" in p.stderr, p.stderr)
p = run(tare, "annotate", "--machine", "x86-64-v2", "--", show)
check(p.returncode == 0 and "cpuid.1.0=000106a5" in p.stdout, p.stdout[-300:], p.stderr)
for command in ("annotate", "run", "record"):
    p = run(tare, command, "--machine", "pdp-11", "--", "true")
    check(p.returncode == 125 and "no machine" in p.stderr, command, p.returncode, p.stderr)

# ---- compare ----
def result(name, machine=None, change=None):
    r = json.loads(run(tare, "stat", "-j", "--backend", "soft", "-e", "instructions", "-r", "2",
                       *(("--machine", machine) if machine else ()), "--", pages, "10").stderr)
    if change:
        change(r)
    json.dump(r, open(name, "w"))
    return name


def other_host(r):
    r["environment"]["cpu_features"] = "fpu sse sse2 pni"
    r["environment"]["cpus_allowed"] = 77
    r["cpu"].update(brand="Another CPU", family=6, model=1)


a, b = result("a.json", "x86-64-v2"), result("b.json", "x86-64-v2", other_host)
p = run(tare, "compare", a, b)
check(p.returncode == 0 and "differ" not in p.stdout, p.returncode, p.stdout, p.stderr)
c, d = result("c.json"), result("d.json", None, other_host)
p = run(tare, "compare", c, d)
check(p.returncode != 0 and "CPU features" in p.stdout + p.stderr, p.returncode, p.stdout, p.stderr)
for base, new, words_of in ((a, c, "the base was measured on machine x86-64-v2, the new one on its host's CPU; measure both "
                             "with --machine x86-64-v2"),
                            (c, a, "on its host's CPU, the new one on machine x86-64-v2"),
                            (a, result("e.json", "x86-64-v2,cpus=2"), "the new one on machine x86-64-v2,cpus=2"),
                            ("e.json", c, "measure both with --machine x86-64-v2,cpus=2")):
    p = run(tare, "compare", base, new)
    check(p.returncode != 0 and words_of in p.stdout + p.stderr, p.returncode, p.stdout, p.stderr)


# ---- the counts are the machine's: two runs, and without it another number ----
counts = set()
for _ in range(2):
    r, _ = stat("x86-64-v2", pages, "10")
    counts.add(r["runs"][0]["counts"][0]["value"])
check(len(counts) == 1, counts)
p = run(tare, "stat", "--machine", "x86-64-v2", "-e", "instructions", "true")
check("machine x86-64-v2 (1 CPU)" in p.stderr, p.stderr)
r = run(tare, "stat", "-j", "--backend", "soft", "-e", "instructions", "true")
world = json.loads(r.stderr)["world"]
check(world["machine"] is None and "CPU" in world["left"] and "addresses" in world["fixed"], world)

# ---- what is refused ----
for machine, words_of in (("pdp-11", "no machine \"pdp-11\""), ("", "no machine"), ("x86-64-v2,cpus=0", "from 1 to 64"),
                          ("x86-64-v2,cpus=65", "from 1 to 64"), ("x86-64-v2,cpus=2x", "from 1 to 64"),
                          ("x86-64-v2,", "cpus=N"), ("x86-64-v2,cores=2", "cpus=N")):
    p = run(tare, "stat", "--machine", machine, "true")
    check(p.returncode == 125 and words_of in p.stderr, machine, p.returncode, p.stderr)
# A host that lacks features: the machine of another tare.
p = run(tare, "stat", "-o", "/dev/null", "--machine", "x86-64-v2", "--", tare, "stat", "--machine", "x86-64-v3", "true")
check(p.returncode == 125 and
      "x86-64-v3: this host lacks fma movbe xsave osxsave avx f16c abm bmi1 avx2 bmi2:" in p.stderr, p.stderr)
for options in (("--backend", "hw"), ("-p", str(os.getpid()))):
    p = run(tare, "stat", "--machine", "x86-64-v2", *options, "true")
    check(p.returncode == 125 and "--machine wants" in p.stderr, options, p.stderr)

# Its folder and files are made when a program wants one: most want none.
_, out = stat("x86-64-v2", "sh", "-c", "ls tmp; echo then; cat /proc/cpuinfo >/dev/null; ls tmp/tare-run-*")
before, then = out.split("then\n")
check(before == "" and {"cpu", "cpuinfo", "lock", "node"} <= set(then.split()), out)
check(not os.listdir("tmp"), os.listdir("tmp"))
# tare is killed when they are there: they go with the command, which goes on.
p = subprocess.Popen([tare, "stat", "--machine", "x86-64-v2", "--", "sh", "-c", "cat /proc/cpuinfo >/dev/null; echo; read a"],
                     env={**os.environ, "TMPDIR": f"{folder}/tmp"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
p.stdout.readline()
check(len(os.listdir("tmp")) == 1, os.listdir("tmp"))
p.kill()
p.wait()
check(len(os.listdir("tmp")) == 1, "gone too early")
p.stdin.close()
until(lambda: not os.listdir("tmp"), "the folder to be removed")
# A folder that cannot be made.
p = run(tare, "stat", "--machine", "x86-64-v2", "--", "cat", "/proc/cpuinfo", env={**os.environ, "TMPDIR": "/proc/none"})
check(p.returncode == 125 and "files of the machine" in p.stderr, p.returncode, p.stderr)

shutil.rmtree(folder)
finish()
