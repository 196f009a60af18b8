#!/usr/bin/env python3
"""tare stat --hermetic: every run of a program is the same: counts, output and the files that it makes.

usage: hermetic.py TARE HERMETIC-TASKS [RUNS [PROGRAM...]]

Each program runs RUNS times (100 unless told; slow ones a tenth of that), half of them alone and half with eight busy
neighbours. The counts of four events, the standard output and the hash of the folder that the program works in
have to be the same in all runs. For `ls -l` the folder is made anew before each run, in another order and with other
times. Prints a line for each program. Fails if one differs; a program that is not installed is skipped by name.
"""
import hashlib, json, os, random, shutil, subprocess, sys, tempfile

tare, tasks = map(os.path.abspath, sys.argv[1:3])
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 100
chosen = sys.argv[4:]
EVENTS = "instructions:u,branches:u,loads:u,stores:u"

top = tempfile.mkdtemp(prefix="tare-")
HASH_RS = """
use std::collections::HashMap;
fn main() {
    let m: HashMap<u32, u32> = (0..2000).map(|i| (i, i * i)).collect();
    println!("{:?}", m.iter().take(20).collect::<Vec<_>>());
}
"""
SQLITE = """
import sqlite3, threading
a = sqlite3.connect('db', timeout=20, check_same_thread=False)
a.execute('pragma journal_mode=wal')
a.execute('create table t(w, x)')
a.commit()
def work(who):
    c = sqlite3.connect('db', timeout=20)
    for i in range(20):
        c.execute('insert into t values(?, random())', (who,))
        c.commit()
    c.close()
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
print(a.execute('select w, x from t').fetchall())
"""


def put(name, text):
    open(name, "w").write(text)


def project(n):
    names = [f"m{i}" for i in range(n)]
    for name in names:
        put(f"{name}.c", f"#include <stdio.h>\nint f_{name}(void) {{ return printf(\"{name}\\n\"); }}\n")
    put("main.c", "int f_m0(void); int main(void) { return f_m0() < 0; }\n")
    objects = " ".join(f"{n}.o" for n in names + ["main"])
    put("Makefile", f"program: {objects}\n\tcc -o $@ {objects}\n%.o: %.c\n\tcc -O1 -c $<\n")


def changing_folder():
    names = [f"file{i}" for i in range(30)]
    random.shuffle(names)
    for name in names:
        put(name, name)
        os.utime(name, (random.randrange(2**31), random.randrange(2**31)))


def java():
    put("H.java", "public class H { public static void main(String[] a) { System.out.println(new Object().hashCode()); } }\n")


# name: what it needs, how its folder is made, the command, is it slow
PROGRAMS = {
    "python3": (["python3"], None, ["python3", "-c", "import os, time, random; print({str(i) for i in range(50)}, time.time(), "
                                    "random.random(), os.urandom(4), os.getpid())"], False),
    "perl": (["perl"], None, ["perl", "-e", "my %h = map { $_ => 1 } 1 .. 99; print join(' ', keys %h), ' ', rand(), \"\\n\""], False),
    "rust-hashmap": (["rustc"], lambda: put("hash.rs", HASH_RS), ["./hash"], False),
    "node": (["node"], None, ["node", "-e", "console.log(Math.random(), Date.now(), process.pid)"], False),
    "ls": (["ls"], changing_folder, ["ls", "-l"], False),
    "two-threads-queue": ([], None, [tasks, "queue", "2"], False),
    "eight-threads-queue": ([], None, [tasks, "queue", "8"], False),
    "two-threads-atomics": ([], None, [tasks, "atomics", "2"], False),
    "eight-threads-atomics": ([], None, [tasks, "atomics", "8"], False),
    "fork-tree": ([], None, [tasks, "tree"], False),
    "shared-memory": ([], None, [tasks, "shared"], False),
    "timers": ([], None, [tasks, "timers"], False),
    "xz": (["xz"], lambda: put("input", "".join(f"line {i * i}\n" for i in range(40000))),
           ["xz", "-T2", "-1", "-k", "-f", "--block-size=64KiB", "input"], False),
    "make": (["make", "cc"], lambda: project(5), ["make", "-s", "-j4"], True),
    "sqlite": (["python3"], lambda: put("two.py", SQLITE), ["python3", "two.py"], False),
    "rustc": (["rustc"], lambda: put("hash.rs", HASH_RS), ["rustc", "-C", "codegen-units=4", "-O", "-o", "out", "hash.rs"], True),
    "java": (["java"], None, ["java", "-Xint", "-version"], True),
}


def tool(name):
    """Where it is; rustc itself, not the program that chooses one of several."""
    if name == "rustc" and shutil.which("rustc"):
        p = subprocess.run(["rustc", "--print", "sysroot"], text=True, capture_output=True)
        if p.returncode == 0 and os.path.exists(f"{p.stdout.strip()}/bin/rustc"):
            return f"{p.stdout.strip()}/bin/rustc"
    return shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") if name != "rustc" else None


def folder_hash():
    h = hashlib.sha256()
    for at, folders, files in os.walk("."):
        folders.sort()
        for f in sorted(files):
            h.update(f"{at}/{f}".encode() + b"\0" + open(f"{at}/{f}", "rb").read())
    return h.hexdigest()[:16]


def one_run(name, make, command):
    work = f"{top}/work"
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    os.chdir(work)
    if make:
        make()
    if name == "rust-hashmap":
        shutil.copy(f"{top}/hash", "hash")
    p = subprocess.run([tare, "stat", "--hermetic", "-j", "-o", f"{top}/r.json", "-e", EVENTS, "--", *command], text=True,
                       capture_output=True, stdin=subprocess.DEVNULL, errors="replace", timeout=1200)
    if p.returncode:
        return f"status {p.returncode}: {p.stderr[-300:]}"
    r = json.load(open(f"{top}/r.json"))
    return (tuple(c["value"] for c in r["runs"][0]["counts"]), {c["provenance"] for c in r["runs"][0]["counts"]} == {"exact"},
            tuple(r["world"]["hermetic"]["left"]), hashlib.sha256((p.stdout + p.stderr).encode()).hexdigest()[:16]
            if name == "java" else p.stdout, folder_hash())


def main():
    bad = ran = 0
    os.chdir(top)
    for name, (needs, make, command, slow) in PROGRAMS.items():
        if chosen and name not in chosen:
            continue
        lacks = [n for n in needs if not tool(n)]
        if lacks:
            print(f"skipped: {name}: {', '.join(lacks)} is not installed")
            continue
        if "rustc" in command:
            command = [tool("rustc")] + command[1:]
        if name == "rust-hashmap":
            put(f"{top}/hash.rs", HASH_RS)
            subprocess.run([tool("rustc"), "-O", "-o", f"{top}/hash", f"{top}/hash.rs"], check=True)
        n = max(runs // 10 if slow else runs, 2)
        seen, busy = {}, []
        for i in range(n):
            if i == n // 2:
                busy = [subprocess.Popen(["nice", sys.executable, "-c", "while True: pass"]) for _ in range(8)]
            try:
                seen.setdefault(one_run(name, make, command), []).append(i)
            except subprocess.TimeoutExpired:
                seen.setdefault("did not end", []).append(i)
        for b in busy:
            b.kill()
            b.wait()
        ran += 1
        first = next(iter(seen))
        good = len(seen) == 1 and isinstance(first, tuple)
        bad += not good
        print(f"{name}: {n} runs, {n - n // 2} of them with 8 neighbours: "
              f"{'all the same' if good else 'DIFFER'}{', ' + format(first[0][0], ',') + ' instructions' if good else ''}"
              f"{'; ' + '; '.join(first[2]) if good and first[2] else ''}", flush=True)
        if not good:
            for result, which in seen.items():
                print(f"  runs {which[:10]}: {result}", flush=True)
    os.chdir("/")
    shutil.rmtree(top)
    print(f"{ran} programs, {bad} differ")
    return 1 if bad or not ran else 0


sys.exit(main())
