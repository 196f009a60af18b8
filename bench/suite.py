"""The programs of the bench: name, command, what it needs.

A command is run in a folder made by generate.py; N is the folder's scale times
a thousand.
"""
import os
import re
import shutil
import subprocess

SUITE = [
    ("gzip", "gzip -9c text.txt"),
    ("xz", "xz -2c --threads=1 text.txt"),
    ("bzip2", "bzip2 -c text.txt"),
    ("zstd", "zstd -q -12 --single-thread -c text.txt"),
    ("sort", "sort lines.txt"),
    ("cc1", "{cc1} -quiet -O2 -fpreprocessed big.i -o /dev/null"),
    ("python3", "{python} work.py {9n}"),
    ("perl", "perl work.pl {5n}"),
    ("lua", "lua5.4 work.lua {20n}"),
    ("sqlite3", "sqlite3 -init /dev/null :memory: '.read work.sql'"),
    ("openssl", "openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt pass:tare "
                "-kdfopt salt:salt -kdfopt iter:{2000n} PBKDF2"),
    ("git", "git -C repo pack-objects --all --stdout --no-reuse-delta --window=20 "
            "--threads=1 -q"),
    ("ffmpeg", "ffmpeg -nostdin -v error -threads 1 -stream_loop 4 -f rawvideo -s 160x120 -i video.yuv "
               "-vf scale=320x240 -c:v mpeg4 -threads 1 -f null -"),
    ("node", "node work.js {5n}"),
    ("java", "java -cp classes Work {5n}"),
    ("erlang", "erl +S 1:1 -noshell -s work main {5n} -s init stop"),
    ("deep", "./deep {1n}"),
    ("shell", "sh commands.sh"),
]

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent",
       "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_CONFIG_GLOBAL": "/dev/null"}


def cc1():
    got = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
    return got.stdout.strip()


def python():
    """The system's, not a shim that is a shell script."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"


def prepare(folder):
    """What generate.py cannot make: preprocessed C, a git repository with history."""
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-E", "big.c", "-o", "big.i"], cwd=folder, check=True)
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", "classes", "Work.java"], cwd=folder, check=True)
    if shutil.which("erlc"):
        subprocess.run(["erlc", "work.erl"], cwd=folder, check=True)
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-O1", "-o", "deep", "deep.c"], cwd=folder, check=True)
    repo = os.path.join(folder, "repo")
    if not shutil.which("git") or os.path.exists(repo):
        return
    env = dict(ENV, GIT_AUTHOR_DATE="1600000000 +0000", GIT_COMMITTER_DATE="1600000000 +0000",
               GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t", GIT_COMMITTER_NAME="t",
               GIT_COMMITTER_EMAIL="t")

    def git(*args):
        subprocess.run(["git", "-C", repo, *args], check=True, env=env,
                       stdout=subprocess.DEVNULL)

    os.makedirs(repo)
    git("init", "-q")
    names = sorted(f for f in os.listdir(folder) if f.startswith("file"))
    for step in range(6):
        for name in names:
            text = open(os.path.join(folder, name)).read()
            cut = len(text) * (step + 1) // 6
            with open(os.path.join(repo, name), "w") as f:
                f.write(text[cut // 3:cut] + text[:cut // 4])
        git("add", "-A")
        git("commit", "-qm", f"step {step}")


def commands(scale):
    """(name, shell command or None, why not) of every program."""
    n = max(1, int(1000 * scale))
    for name, template in SUITE:
        text = template.replace("{cc1}", cc1()).replace("{python}", python())
        text = re.sub(r"\{(\d+)n\}", lambda m: str(int(m.group(1)) * n), text)
        program = text.split()[0]
        # (./deep is made by prepare(), later)
        program = "gcc" if program == "./deep" else program
        ok = shutil.which(program, path=ENV["PATH"]) or os.path.exists(program)
        yield name, text if ok else None, None if ok else f"{program} is not installed"
