#!/usr/bin/env python3
"""Real programs under the engine: output, files and status identical to native.

usage: run.py [--quick] [--annotate] [--only A,B] [--list] [--natively A]

Every program runs twice in fresh copies of the same folder, natively (ASLR off)
and under the engine; what it printed, what it left behind and how it ended must
be equal, and a count must have been had. --quick runs those that take seconds.
Programs that are not installed are skipped, by name. --natively runs one of them natively only, and
fails as it does. --annotate runs them under `tare annotate` instead, and adds up their profiles.
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import counting  # noqa: E402
import generate  # noqa: E402
import profile_sums  # noqa: E402
import suite  # noqa: E402

PY = suite.python()
GIT = "git -c user.name=t -c user.email=t@t"
STRESS = "stress-ng --quiet --seed 1 --temp-path . --timeout 600"

THREADS_PY = """
import threading, subprocess, queue
q = queue.Queue(); out = []
def work(k):
    out.append((k, sum(i * i for i in range(20000 * (k + 1)))))
ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(out))
print(subprocess.run(['sh', '-c', 'echo child $((6*7))'], capture_output=True).stdout)
print(subprocess.check_output(['/bin/cat'], input=b'piped'))
import os, signal
signal.signal(signal.SIGUSR1, lambda *a: print('signal'))
os.kill(os.getpid(), signal.SIGUSR1)
pid = os.fork()
if pid == 0: os._exit(3)
print(os.waitpid(pid, 0)[1])
"""

BASH = """set -eu
n=0
for i in $(seq 1 200); do n=$((n + i)); done
echo $n
printf 'b\\na\\nc\\n' | sort | tr '\\n' ' '
(exit 3) || echo "status $?"
trap 'echo trapped' USR1; kill -USR1 $$
f() { local x=$1; [ $x -le 1 ] && echo 1 || echo $((x * $(f $((x - 1))))); }
f 8
cat <<X | while read -r l; do echo "line $l"; done
one
two
X
wait; echo done
"""

MAKEFILE = """all: a b c d
	@cat a b c d
a b c d:
	@echo making $@ >$@; sh -c 'echo $$((1+1))' >>$@
"""

RUST = """use std::collections::HashMap;
fn main() { let mut m = HashMap::new(); for i in 0..1000u64 { *m.entry(i % 7).or_insert(0) += i; }
  let mut v: Vec<_> = m.into_iter().collect(); v.sort(); println!("{:?}", v); }
"""

# name, quick, shell command, programs it needs. {n} is the size of the inputs.
PROGRAMS = [
    ("gzip", True, "gzip -9c text.txt >out.gz && gzip -dc out.gz | cmp - text.txt && ls -l out.gz | cut -c1-10", "gzip"),
    ("xz", True, "xz -1kc -T1 text.txt >out.xz && xz -dc out.xz | cmp - text.txt", "xz"),
    ("xz-threads", True, "xz -1kc -T2 --block-size=100KiB text.txt >out.xz && xz -dc out.xz | cmp - text.txt", "xz"),
    ("bzip2", True, "bzip2 -kc text.txt >out.bz2 && bzip2 -dc out.bz2 | cmp - text.txt", "bzip2"),
    ("zstd", True, "zstd -q -T2 -9 -c text.txt >out.zst && zstd -q -dc out.zst | cmp - text.txt", "zstd"),
    ("sort", True, "sort lines.txt && sort --parallel=2 -n lines.txt | tail -5", "sort"),
    ("gcc", True, "gcc -O2 -c big.c -o big.o && gcc hello.c -o hello && ./hello && rm hello big.o", "gcc"),
    ("gcc-large", False, "gcc -O2 big.c -o big && ./big", "gcc"),
    ("python3", True, f"{PY} work.py 100", PY),
    ("python3-threads", True, f"{PY} threads.py", PY),
    ("perl", True, "perl work.pl 200", "perl"),
    ("lua", True, "lua5.4 work.lua 500", "lua5.4"),
    ("sqlite3", True, "sqlite3 -init /dev/null test.db '.read work.sql' && rm test.db", "sqlite3"),
    ("openssl", True, "openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt pass:a -kdfopt salt:b -kdfopt iter:20000 PBKDF2; openssl dgst -sha512 text.txt; openssl enc -aes-128-cbc -K 00 -iv 00 -in text.txt 2>/dev/null | openssl dgst -md5", "openssl"),
    ("git", True, f"{GIT} init -q r && cd r && cp ../file*.txt . && {GIT} add . && GIT_AUTHOR_DATE='1600000000 +0000' GIT_COMMITTER_DATE='1600000000 +0000' {GIT} commit -qm one && {GIT} log --stat --format=%H | tail -3 && {GIT} gc -q && {GIT} fsck 2>&1; cd .. && rm -rf r", "git"),
    ("tar", True, "tar cf - --sort=name --mtime=@0 --owner=0 --group=0 file*.txt | gzip -n | tee out.tgz | gzip -dc | tar tvf - | wc -l && rm out.tgz", "tar"),
    ("bash", True, "bash script.sh", "bash"),
    ("make", True, "make -s -j2", "make"),
    ("gdb-version", True, "gdb --version", "gdb"),
    ("ffmpeg", False, "ffmpeg -nostdin -v error -threads 1 -f rawvideo -s 160x120 -i video.yuv -c:v mpeg4 -threads 1 -bitexact -f avi -y out.avi && ffmpeg -nostdin -v error -threads 1 -i out.avi -f framemd5 -", "ffmpeg"),
    ("node", True, "node work.js 100", "node"),
    ("node-large", False, "node work.js 2000 && node -e 'setTimeout(()=>console.log(1),10);new Promise(r=>r(2)).then(console.log)'", "node"),
    ("java-int", False, "java -Xint -Xshare:off -cp . Work 20", "java"),
    ("java-jit", False, "java -cp . Work 2000", "java"),
    ("javac", False, "javac -d out Work.java && java -cp out Work 50 && rm -r out", "javac"),
    ("rustc", False, "rustc -O hello.rs -o hello_rs 2>&1 && ./hello_rs && rm hello_rs", "rustc"),
    ("link-kinds", True, "gcc -static -O2 hello.c -o hello_s && ./hello_s && gcc -static-pie -O2 hello.c -o hello_sp && ./hello_sp && gcc -no-pie hello.c -o hello_np && ./hello_np && rm hello_s hello_sp hello_np", "gcc"),
    ("coreutils", True, "seq 1 2000 | shuf --random-source=text.txt | head -5; factor 1234567890123; sha256sum text.txt; base64 text.txt | md5sum; od -c hello.c | head -3; wc text.txt; cut -d' ' -f1 lines.txt | uniq | wc -l", "shuf factor"),
    ("awk-sed-grep", True, "awk '{s+=$1} END {printf \"%d\\n\", s}' lines.txt; sed -n 's/count/COUNT/gp' text.txt | head -3; grep -c exact text.txt; grep -oE '[a-z]+[0-9]+' text.txt | sort | uniq -c | sort -rn | head -3", "awk sed grep"),
    ("find-xargs", True, "find . -name 'file*.txt' | sort | xargs -P2 -n5 md5sum | sort", "find xargs"),
] + [
    (f"stress-{name}", False, f"{STRESS} --{name} 1 --{name}-ops {ops}" + (" --mmap-bytes 4m" if name == "mmap" else ""), "stress-ng")
    for name, ops in (("signal", 5000), ("fork", 200), ("clone", 100), ("pthread", 20),
                      ("mmap", 4), ("sigsegv", 500), ("context", 500), ("cpu", 10),
                      ("vfork", 100), ("sigfpe", 200))
]

FILES = {"threads.py": THREADS_PY, "script.sh": BASH, "Makefile": MAKEFILE, "hello.rs": RUST}

# rustc is often a proxy that looks for its toolchain in the home folder
ENV = dict(counting.ENV, RUSTUP_HOME=os.path.expanduser("~/.rustup"), PERL_HASH_SEED="0", GIT_CONFIG_NOSYSTEM="1",
           GIT_CONFIG_GLOBAL="/dev/null", HOME="/proc/nonexistent", TMPDIR=".",
           PATH=counting.ENV["PATH"] + ":" + os.path.expanduser("~/.cargo/bin"))


class Native(Exception):
    """It does not run on this machine at all."""


def missing(needs):
    return [p for p in needs.split() if not shutil.which(p, path=ENV["PATH"])]


def left_behind(folder):
    out = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as f:
                    out[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return out


def once(how, command, template):
    """Runs in a fresh copy at the same path, so that no address depends on it."""
    folder = os.path.join(os.path.dirname(template), "run")
    shutil.copytree(template, folder)
    try:
        start = time.monotonic()
        got = how(["/bin/sh", "-c", command], env=ENV, cwd=folder)
        return got, left_behind(folder), time.monotonic() - start
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(template, quick):
    generate.generate(template, 0.02 if quick else 0.1)
    for file, text in FILES.items():
        with open(os.path.join(template, file), "w") as f:
            f.write(text)
    if shutil.which("javac") and not quick:
        subprocess.run(["javac", "-d", template, os.path.join(template, "Work.java")])


ANNOTATED = "instructions,loads,calls"


def annotate(argv, env, cwd, timeout):
    """As counting.engine(), under tare annotate: `trouble` is what does not add up."""
    tare = os.environ.get("TARE", os.path.join(counting.build_folder(), "tare"))
    with tempfile.NamedTemporaryFile("r", prefix="profile") as f:
        got = subprocess.run([tare, "annotate", "--per-process", "-e", ANNOTATED, "-o", f.name, "--report", "/dev/null",
                              "--", *argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=timeout)
        try:
            profile = profile_sums.read(f.name)
        except ValueError:
            raise counting.Failed(f"no profile: {got.stderr.decode(errors='replace')[-300:]}") from None
    result = counting.Result(got.returncode, got.stdout, got.stderr,
                             {e["name"]: e["total"] for e in profile["events"]})
    # What was counted in a process that was killed has no place.
    result.trouble = profile_sums.trouble(profile, known=profile["complete"])
    return result


def compare(name, command, template, annotated):
    """(trouble found, seconds natively, seconds under the engine)"""
    native, files, t0 = once(counting.native, command, template)
    if native.status != 0:
        raise Native(f"status {native.status} natively: "
                     f"{native.err.decode(errors='replace').strip()[-200:]}")
    limit = 600 + 20 * t0

    def engine(argv, env, cwd):
        if annotated:
            return annotate(argv, env, cwd, limit)
        return counting.engine(argv, ["instructions"], env=env, cwd=cwd, timeout=limit)

    try:
        got, got_files, t1 = once(engine, command, template)
    except counting.Failed as e:
        return [str(e)[-600:]], t0, 0
    bad = []
    if got.status != native.status:
        bad.append(f"status {got.status}, natively {native.status}: "
                   f"{got.err.decode(errors='replace')[-300:]}")
    if got.out != native.out:
        bad.append(f"output differs: {got.out[:200]!r} natively {native.out[:200]!r}")
    changed = sorted(k for k in files.keys() | got_files.keys()
                     if files.get(k) != got_files.get(k))
    if changed:
        bad.append(f"files differ: {' '.join(changed[:5])}")
    if not got.counts.get("instructions"):
        bad.append("nothing was counted")
    if annotated:
        bad += got.trouble[:5]
    return bad, t0, t1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true")
    p.add_argument("--annotate", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--list", action="store_true")
    p.add_argument("--natively", choices=[name for name, *_ in PROGRAMS])
    args = p.parse_args()
    if args.list:
        print("\n".join(name for name, *_ in PROGRAMS))
        return 0
    if not args.natively:
        counting.need_engine()
    only = set(filter(None, args.only.split(",")))
    failed = passed = 0
    skipped = []
    with tempfile.TemporaryDirectory(prefix="tare-programs") as base:
        template = os.path.join(base, "template")
        prepare(template, args.quick)
        if args.natively:
            command, = (command for name, _, command, _ in PROGRAMS if name == args.natively)
            return 1 if once(counting.native, command, template)[0].status else 0
        for name, quick, command, needs in PROGRAMS:
            if (only and name not in only) or (args.quick and not quick and not only):
                continue
            lacks = missing(needs)
            if lacks:
                counting.skipped(name, f"not installed: {' '.join(lacks)}")
                skipped.append(name)
                continue
            try:
                bad, t0, t1 = compare(name, command, template, args.annotate)
            except Native as e:
                counting.skipped(name, str(e).replace("\n", " "))
                skipped.append(name)
                continue
            print(f"{name}: {'FAILED' if bad else 'same'} ({t0:.1f} s, {t1:.1f} s)", flush=True)
            for line in bad:
                print("   ", line)
            failed += bool(bad)
            passed += not bad
    print(f"{passed} programs the same, {failed} different, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
