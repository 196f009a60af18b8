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
PROCESSES = """
import asyncio, multiprocessing, os, random, threading, time
def square(x):
    time.sleep(random.random() / 100)
    return os.getpid(), x * x
async def wait(i):
    await asyncio.sleep(random.random())
    p = await asyncio.create_subprocess_exec('date', '+%N', stdout=-1)
    print(i, (await p.communicate())[0], time.monotonic())
async def several():
    await asyncio.gather(*[wait(i) for i in range(3)])
with multiprocessing.Pool(3) as pool:
    print(pool.map(square, range(12)))
asyncio.run(several())
"""
SERVER = r"""
use IO::Socket::UNIX; use POSIX ':sys_wait_h';
$| = 1;
$SIG{CHLD} = sub { while ((my $p = waitpid(-1, WNOHANG)) > 0) { print "reaped $p\n" } };
my $s = IO::Socket::UNIX->new(Local => 'here', Listen => 1) or die;
for my $i (1 .. 4) {
    next if fork;
    my $c = IO::Socket::UNIX->new(Peer => 'here') or die;
    print $c "caller $i ", rand, "\n";
    print <$c>;
    exit;
}
for (my $n = 0; $n < 4;) {
    my $c = $s->accept or next;
    $n++;
    unless (fork) { my $l = <$c>; print $c "answer to $l"; exit }
}
select undef, undef, undef, 0.5 for 1 .. 9;
"""
PIPES = """
seq 3000 | sort -R | sort -n | md5sum
true | cat
(sleep 0.2; echo second) & (sleep 0.1; echo first) & wait
mkfifo p; (echo through a FIFO > p) & cat p; rm p
tar cf - f | gzip -9 > f.tgz
seq 60 | xargs -P 4 -n 9 sh -c 'echo $$ $#'
trap 'echo signal' USR1; kill -USR1 $$
"""
GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q . 2>/dev/null
for i in 1 2 3; do seq $i$i$i > f$i; git add f$i; git commit -qm $i; done
git repack -adfq; git fsck; git log --oneline; git diff HEAD~2 | md5sum
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
    """Java's first run makes a folder of the user's in /tmp, and further ones read it: a run before, so that all find it."""
    subprocess.run(["java", "-version"], capture_output=True, check=True)


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
    "locks": ([], None, [tasks, "locks"], False),
    "senders": ([], None, [tasks, "senders"], False),
    "meet": ([], None, [tasks, "meet", str(os.getpid())], False),
    "children": ([], None, [tasks, "children"], False),
    "left-behind": ([], None, [tasks, "left"], False),
    "pipes": (["sh", "seq", "tar", "gzip"], lambda: put("f", "a file\n" * 5000), ["sh", "-c", PIPES], False),
    "git": (["git"], None, ["sh", "-c", GIT], False),
    "python-processes": (["python3"], lambda: put("m.py", PROCESSES), ["python3", "m.py"], True),
    "perl-server": (["perl"], None, ["perl", "-e", SERVER], False),
    "xz": (["xz"], lambda: put("input", "".join(f"line {i * i}\n" for i in range(40000))),
           ["xz", "-T2", "-1", "-k", "-f", "--block-size=64KiB", "input"], False),
    "make": (["make", "cc"], lambda: project(5), ["make", "-s", "-j4"], True),
    "sqlite": (["python3"], lambda: put("two.py", SQLITE), ["python3", "two.py"], False),
    "rustc": (["rustc"], lambda: put("hash.rs", HASH_RS), ["rustc", "-C", "codegen-units=4", "-O", "-o", "out", "hash.rs"], True),
    "java": (["java"], java, ["java", "-Xint", "-version"], True),
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
            regular = os.path.isfile(f"{at}/{f}") # not a socket or FIFO
            h.update(f"{at}/{f}".encode() + b"\0" + (open(f"{at}/{f}", "rb").read() if regular else b""))
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
