#!/usr/bin/env python3
"""tare stat --machine on five kinds of CPU: each program has the same counts on all of them.

usage: emulated-machines.py TARE

Boots Debian's kernel in QEMU machines with other CPUs, old and new, Intel and AMD, one and two of them, without
hardware virtualisation. In each a static program, a dynamic one, python3 and a user of OpenBLAS are counted natively
(`tare stat`), with `--machine x86-64-v2` and with `--hermetic`. The native counts have to differ between the machines, the
others have to be the same in all of them, with ==, and so has what `ld.so --list-diagnostics` says. A CPU that lacks
the machine's features is refused, with their names.

Prints a line for each program. Exit 77 with the reason where QEMU, the kernel or OpenBLAS is missing.
"""
import glob, json, os, shutil, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
EVENTS = "instructions:u,branches:u,loads:u,stores:u"
CPUS = {"Nehalem": 1, "Haswell": 2, "Skylake-Client": 1, "EPYC-Rome": 2, "max": 1}     # models of QEMU: how many
TOO_OLD, LACKS = "Penryn", ("sse4_2", "popcnt")
MACHINE = ["--machine", "x86-64-v2"]
PYTHON = "print(sorted({c: ('abc' * 99).find(c) for c in 'xyzc'}), len(repr({'k%d' % i: 'v' * i for i in range(400)})))"
PROGRAMS = {
    "static": ["/test/strings-static"],
    "dynamic": ["/test/strings"],
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "openblas": ["/test/dgemm"],
}
WAYS = {"native": [], "machine": MACHINE, "hermetic": ["--hermetic"]}
LOADER = ["/lib64/ld-linux-x86-64.so.2", "--list-diagnostics"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def kernel():
    p = subprocess.run([f"{here}/../../tools/fetch-debian", "kernel", "amd64"], text=True, capture_output=True)
    if p.returncode:
        skip(f"no kernel: {p.stderr.strip()}")
    return p.stdout.strip()


def put(root, path):
    """The file of that name, with what links lead to it."""
    to = root + path
    if os.path.lexists(to):
        return
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), to)
        put(root, os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path))))
    else:
        shutil.copy2(path, to)


def put_libraries(root, program):
    p = subprocess.run(["ldd", program], text=True, capture_output=True)
    for word in p.stdout.split():
        if word.startswith("/"):
            put(root, word)


def put_python(root):
    lib = "/usr/lib/" + os.path.basename(os.path.realpath("/usr/bin/python3"))
    shutil.copytree(lib, root + lib, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(
        "test", "idlelib", "lib2to3", "ensurepip", "config-*", "sitecustomize.py"))
    for module in glob.glob(f"{lib}/lib-dynload/*.so"):
        put_libraries(root, module)


def compile_programs(root):
    for source, name, options in (("cpu-strings.c", "strings", []), ("cpu-strings.c", "strings-static", ["-static"]),
                                  ("cpu-dgemm.c", "dgemm", ["-lopenblas"])):
        to = f"{root}/test/{name}"
        p = subprocess.run(["cc", "-O2", "-o", to, f"{here}/{source}", *options], text=True, capture_output=True)
        if p.returncode:
            skip(f"no libopenblas-dev: {p.stderr.strip().splitlines()[0]}" if name == "dgemm" else p.stderr.strip())
        put_libraries(root, to)


def job():
    """What each machine runs: a name and a command. The counts come out of the standard error."""
    stat = ["/test/tare", "stat", "--clean-env", "--keep", "PYTHONHASHSEED"]
    commands = {f"{way} {name}": [*stat, "-j", "-o", "/proc/self/fd/2", "-e", EVENTS, *options, "--", *command]
                for way, options in WAYS.items() for name, command in PROGRAMS.items()}
    commands["loader"] = [*stat, "-o", "/dev/null", *MACHINE, "--", *LOADER]
    return commands


def make_root(root, tare):
    os.makedirs(f"{root}/usr/bin")
    os.makedirs(f"{root}/test")
    for folder in ("bin", "lib", "lib64"):
        os.makedirs(f"{root}/usr/{folder}", exist_ok=True)
        os.symlink(f"usr/{folder}", f"{root}/{folder}")
    for program in ("/usr/bin/python3", "/usr/bin/mount"):
        put(root, program)
        put_libraries(root, program)
    put_libraries(root, tare)
    shutil.copy2(tare, f"{root}/test/tare")
    put_python(root)
    compile_programs(root)
    shutil.copy2(f"{here}/emulated-guest.py", f"{root}/guest.py")
    with open(f"{root}/init", "w") as f:
        f.write("#!/usr/bin/python3 /guest.py\n")
    os.chmod(f"{root}/init", 0o755)
    with open(f"{root}/job.json", "w") as f:
        json.dump(job(), f)


def boot(cpu, cpus, vmlinuz, initrd):
    """What the commands of the job gave: {name: [status, output, errors]}."""
    p = subprocess.run(["qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu", cpu, "-smp", str(cpus), "-m", "1024",
                        "-nographic", "-nodefaults", "-serial", "stdio", "-monitor", "none", "-net", "none", "-no-reboot",
                        "-kernel", vmlinuz, "-initrd", initrd,
                        "-append", "console=ttyS0 rdinit=/init panic=-1 quiet no_timer_check PYTHONHASHSEED=0"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=3600)
    for line in p.stdout.splitlines():
        if line.startswith("@@"):
            return json.loads(line[2:])
    sys.exit(f"{cpu}: the machine ended without results: {p.stdout[-2000:]} {p.stderr[-500:]}")


def counts(cpu, name, result):
    status, output, errors = result
    if status:
        sys.exit(f"{cpu}: {name}: status {status}: {errors[-1000:]}")
    r = json.loads(errors)
    got = r["runs"][0]["counts"]
    if {c["provenance"] for c in got} != {"exact"}:
        sys.exit(f"{cpu}: {name}: not exact: {got}")
    return tuple(c["value"] for c in got), output


def compare(results):
    """Prints a line for each program; how many are not as they should be."""
    bad = 0
    for name in PROGRAMS:
        for way in WAYS:
            seen = {cpu: counts(cpu, f"{way} {name}", r[f"{way} {name}"]) for cpu, r in results.items()}
            different = len(set(seen.values()))
            good = different > 2 if way == "native" else different == 1
            bad += not good
            values = sorted({format(v[0][0], ",") for v in seen.values()})
            print(f"{name}, {way}: {'' if good else 'WRONG: '}{different} different: {' '.join(values)} instructions", flush=True)
            if not good:
                print(*[f"  {cpu}: {v}" for cpu, v in seen.items()], sep="\n")
    told = {r["loader"][1] for r in results.values()}
    good = len(told) == 1 and "x86.cpu_features" in told.pop()
    print(f"ld.so --list-diagnostics: {'the same' if good else 'WRONG: different'} on {len(results)} machines")
    return bad + (not good)


def refused(result):
    status, _, errors = result
    good = status == 125 and all(name in errors for name in LACKS)
    print(f"{TOO_OLD}: {'refused' if good else 'WRONG: not refused'}: {errors.strip().splitlines()[0]}")
    return good


def main():
    if not shutil.which("qemu-system-x86_64") or not shutil.which("cpio"):
        skip("no qemu-system-x86_64 (package qemu-system-x86) or no cpio")
    boots = kernel()
    with tempfile.TemporaryDirectory(prefix="tare-") as top:
        make_root(f"{top}/root", os.path.abspath(sys.argv[1]))
        with open(f"{top}/initrd", "wb") as f:
            files = subprocess.run(["find", "."], cwd=f"{top}/root", capture_output=True, check=True).stdout
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=f"{top}/root", input=files, stdout=f, check=True)
        results = {cpu: boot(cpu, n, f"{boots}/vmlinuz", f"{top}/initrd") for cpu, n in {**CPUS, TOO_OLD: 1}.items()}
    too_old = refused(results.pop(TOO_OLD)["machine static"])
    return 1 if compare(results) or not too_old else 0


sys.exit(main())
