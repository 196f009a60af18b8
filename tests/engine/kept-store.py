#!/usr/bin/env python3
"""Code that runs take over from earlier runs (tare stat --keep-code, launch/x86_64/kept-store.c).

usage: kept-store.py same TARE AGAIN PROGRAM...
       kept-store.py early TARE LIBRARY PROGRAM...
       kept-store.py damaged|folder|writers|full|evicted|readers TARE
       kept-store.py rebuilt TARE PROGRAM1 PROGRAM2 LIBRARY1 LIBRARY2
       kept-store.py replaced TARE LIBRARY1 LIBRARY2

same: second and third runs count what the first counts. early: a first run ends before main(), so that all
that is special in the program first happens in code from the folder. The others: what can happen to a file, or to the
folder; the counts must stay the same.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

what, tare, *files = sys.argv[1:]
counting.need_engine()
folder = os.path.realpath(tempfile.mkdtemp())
KEPT = f"{folder}/kept"
EVENTS = "instructions,branches,cond-branches,taken-branches,loads,stores,calls,returns,indirect-branches,syscalls"
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
TRUE = os.path.realpath("/bin/true")
DAMAGED = b"of kept code had been changed or damaged"
HEAD = 128      # bytes of struct kept_file_head


class Run:
    def __init__(self, p, path):
        if p.returncode:
            sys.exit(f"{p.args}: status {p.returncode}: {p.stderr.decode()}")
        run = json.load(open(path))["runs"][0]
        self.warned = DAMAGED in p.stderr
        self.err = p.stderr
        self.blocks = run["translated"]["blocks"]
        # (Which of two tasks is the first may differ.)
        self.counts = sorted([t["comm"], *[c["value"] for c in t["counts"]]] for t in run["tasks"])
        self.total = [c["value"] for c in run["counts"]]
        if any(t["comm"] in ("sh", "again") for t in run["tasks"]):
            # What a parent runs can depend on process ids, and on when its children end.
            self.counts = [c for c in self.counts if c[0] not in ("sh", "again")]
            self.total = []


def command(path, events, keep, *program):
    return [tare, "stat", "--per-thread", "-e", events, "-j", "-o", path, *([f"--keep-code={keep}"] if keep else []), "--",
            *program]


def stat(*program, events=EVENTS, keep=KEPT, env=None, **options):
    path = f"{folder}/result.json"
    return Run(subprocess.run(command(path, events, keep, *program), env=ENV | (env or {}), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False, **options), path)


def kept_files():
    return sorted(n for n in os.listdir(KEPT) if n.endswith(".kept"))


def the_file():
    names = kept_files()
    check(len(names) == 1, names)
    return f"{KEPT}/{names[0]}"


def settle():
    """Code of a file that was changed just now is not kept."""
    time.sleep(3.1)


def same():
    again, *programs = files
    commands = [[TRUE], ["/bin/ls", "/usr"], ["/usr/bin/env"], ["/usr/bin/sort", "/etc/passwd"], ["/bin/gzip", "--version"],
                ["/bin/sh", "-c", "/bin/true; ls /usr; (/bin/true; exec env); sort /etc/passwd"], [again, "3", TRUE],
                *[[p] for p in programs]]
    for program in commands:
        if not os.path.exists(program[0]):
            continue
        for events in EVENTS, "instructions:u":
            alone = stat(*program, events=events, keep=None)
            runs = [stat(*program, events=events) for _ in range(3)]
            check(all(r.counts == alone.counts and r.total == alone.total for r in runs), program, events, alone.counts,
                  [r.counts for r in runs])
            check(not any(r.err for r in runs), program, [r.err for r in runs])
    alone, first = stat(TRUE, keep=None), stat(TRUE)
    check(first.blocks < alone.blocks / 20, "a run translates what it took from the folder", first.blocks, alone.blocks)
    all_blocks = alone.blocks
    # Another way of counting is another file, and -r N reads what its first run has written.
    def several(*options):
        subprocess.run([tare, "stat", *options, "-j", "-o", f"{folder}/result.json", "-e", "loads", "--", TRUE], env=ENV, check=True)
        runs = json.load(open(f"{folder}/result.json"))["runs"]
        return [r["counts"][0]["value"] for r in runs], [r["translated"]["blocks"] for r in runs]

    values, blocks = several("-r", "4", f"--keep-code={KEPT}")
    check(len(set(values)) == 1 and max(blocks[1:]) < blocks[0] / 2, values, blocks)
    alone = several("--layouts", "3")[0]
    for _ in range(3):
        values, blocks = several("--layouts", "3", f"--keep-code={KEPT}")
        check(values == alone, "layouts", values, alone)
    check(max(blocks) < all_blocks / 10, "each layout has its code", blocks)


def early():
    """Output and status of a program in code from the folder are those of a native run."""
    library, *programs = files
    for program in programs:
        now, first = (["/usr/bin/env", f"LD_PRELOAD={library}", f"TARE_TEST_EARLY={n}", program] for n in (0, 1))
        native = counting.native(now, env=ENV)
        wanted = native.out, native.err, native.status if native.status >= 0 else 128 - native.status
        for events in EVENTS, "instructions:u":
            keep = [tare, "stat", "-e", events, "-o", "/dev/null", f"--keep-code={KEPT}", "--"]
            subprocess.run(keep + first, env=ENV, capture_output=True, check=True)
            check(len(kept_files()) == 1, "kept", program, kept_files())
            for _ in range(2):
                got = subprocess.run(keep + now, env=ENV, input=b"", capture_output=True, check=False)
                check((got.stdout, got.stderr, got.returncode) == wanted, program, events, wanted, got)
            shutil.rmtree(KEPT)


def damaged():
    alone = stat(TRUE, keep=None)
    stat(TRUE)
    good = open(the_file(), "rb").read()

    def try_with(content, *which):
        with open(the_file(), "wb") as f:
            f.write(content)
        got = stat(TRUE)
        check(got.counts == alone.counts, *which, alone.counts, got.counts)
        check(got.warned, "no warning", *which, got.err)
        check(got.blocks == alone.blocks, "changed code was used", *which, got.blocks, alone.blocks)

    for size in [0, 1, HEAD - 1, HEAD, HEAD + 1, HEAD + 16, len(good) - 1, len(good) - 4096,
                 *range(5000, len(good), len(good) // 12)]:
        try_with(good[:size], "cut to", size)
    try_with(good + b"\0", "longer")
    try_with(good + good, "twice")
    try_with(bytes(len(good)), "zeros")
    for at in [*range(0, HEAD, 4), HEAD, HEAD + 9, HEAD + 31, *range(HEAD + 40, len(good), len(good) // 29), len(good) - 1]:
        for bit in 1, 128:
            if at % 3 == 0 or bit == 1:
                content = bytearray(good)
                content[at] ^= bit
                try_with(content, "changed", bit, "of byte", at)
    # Two pages of the code exchanged
    content = bytearray(good)
    a, b = len(good) - 4 * 4096, len(good) - 9 * 4096
    content[a:a + 4096], content[b:b + 4096] = content[b:b + 4096], content[a:a + 4096]
    try_with(content, "pages exchanged")
    os.chmod(the_file(), 0o644)
    got = stat(TRUE)
    check(got.warned and got.counts == alone.counts, "readable by others", got.err)
    got = stat(TRUE)
    check(not got.err and got.blocks < alone.blocks / 2 and got.counts == alone.counts, "good again", got.err, got.blocks)
    # A link is not followed.
    name = the_file()
    os.rename(name, f"{folder}/elsewhere")
    os.symlink(f"{folder}/elsewhere", name)
    got = stat(TRUE)
    check(got.blocks == alone.blocks and got.counts == alone.counts and not os.path.islink(name), "a link", got.blocks)
    os.unlink(name)
    os.mkfifo(name, 0o600)
    check(stat(TRUE).counts == alone.counts, "a FIFO")


def refuses(status, text, *options, env=None):
    p = subprocess.run([tare, "stat", *options, "-e", "instructions:u", "--", TRUE], env=ENV | (env or {}),
                       capture_output=True, check=False)
    check(p.returncode not in (0, 1) if status is None else p.returncode == status, p.args, p.returncode)
    check(text in p.stderr.decode(), p.args, text, p.stderr)


def folder_checks():
    """Whose folder it is, how options and variables name it."""
    for mode in 0o755, 0o777, 0o770, 0o701:
        os.mkdir(KEPT)
        os.chmod(KEPT, mode)
        refuses(None, f"has mode {mode:03o}", f"--keep-code={KEPT}")
        refuses(None, f"chmod 700 '{KEPT}'", env={"TARE_KEEP_CODE": KEPT})
        check(os.listdir(KEPT) == [], os.listdir(KEPT))
        os.rmdir(KEPT)
    other = "/"             # belongs to another user, or is open to others
    os.mkdir(KEPT, 0o700)
    try:
        os.chown(KEPT, 1, 1)
        other = KEPT
    except OSError:         # an ordinary user, or root of a namespace
        os.rmdir(KEPT)
    refuses(None, "belongs to user" if os.stat(other).st_uid != os.geteuid() else "has mode", f"--keep-code={other}")
    if other == KEPT:
        os.rmdir(KEPT)
        stat(TRUE)
        os.chown(the_file(), 1, 1)
        check(stat(TRUE).warned, "a file of another user")
        shutil.rmtree(KEPT)
    open(f"{folder}/file", "w").close()
    refuses(None, f"{folder}/file", f"--keep-code={folder}/file")
    refuses(None, f"{folder}/file/deep", f"--keep-code={folder}/file/deep")
    refuses(None, "TARE_KEEP_CODE is \"yes\"", env={"TARE_KEEP_CODE": "yes"})
    refuses(None, "TARE_KEEP_CODE_SIZE is \"-1\"", f"--keep-code={KEPT}", env={"TARE_KEEP_CODE_SIZE": "-1"})
    refuses(None, "neither XDG_CACHE_HOME nor HOME", "--keep-code")
    for option in ("--aslr", "--hermetic", "--mix", "--functions", "--limit=instructions=1G", "--backend=hw"):
        refuses(None, "--keep-code", f"--keep-code={KEPT}", option)
    check(not os.path.exists(KEPT), "nothing was made")
    cases = [({"XDG_CACHE_HOME": f"{folder}/a/b"}, f"{folder}/a/b/tare/code"), ({"HOME": f"{folder}/c"}, f"{folder}/c/.cache/tare/code"),
             ({"TARE_KEEP_CODE": f"{folder}/d", "HOME": f"{folder}/e"}, f"{folder}/d")]
    for env, path in cases:
        subprocess.run([tare, "stat", *([] if "TARE_KEEP_CODE" in env else ["--keep-code"]), "-o", "/dev/null", "-e", "instructions:u",
                        "--", TRUE], env=ENV | env, check=True)
        check(os.stat(path).st_mode & 0o777 == 0o700 and len(os.listdir(path)) == 1, path)
    for off in "0", "":
        subprocess.run([tare, "stat", "-o", "/dev/null", "-e", "instructions:u", "--", TRUE],
                       env=ENV | {"TARE_KEEP_CODE": off, "HOME": f"{folder}/off"}, check=True)
    check(not os.path.exists(f"{folder}/off"), "off")
    # Without effect, where code cannot be kept; nothing is said.
    for env in {"TARE_KEEP_CODE": f"{folder}/g"}, {"TARE_KEEP_CODE": f"{folder}/file"}, {"TARE_KEEP_CODE": "1"}:
        for option in "--aslr", "--hermetic", "--mix":
            p = subprocess.run([tare, "stat", option, "-o", "/dev/null", "-e", "instructions:u", "--", TRUE],
                               env=ENV | env, stderr=subprocess.PIPE, check=True)
            check(not p.stderr and not os.path.exists(f"{folder}/g"), p.stderr)


def writers():
    commands = [[TRUE], ["/usr/bin/env"], ["/bin/sh", "-c", "/bin/true; /usr/bin/env"]]
    alone = [stat(*c, keep=None) for c in commands]
    for turn in range(6):
        running = []
        for i in range(2):
            for n, c in enumerate(commands):
                path = f"{folder}/result-{i}-{n}.json"
                running.append((alone[n], path, subprocess.Popen(command(path, EVENTS, KEPT, *c), env=ENV,
                                                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)))
        for wanted, path, p in running:
            err = p.communicate()[1]
            got = Run(subprocess.CompletedProcess(p.args, p.returncode, b"", err), path)
            check(got.counts == wanted.counts, "beside others", turn, wanted.counts, got.counts)
            check(not err, turn, err)
        check(not [n for n in os.listdir(KEPT) if n.startswith("new-")], os.listdir(KEPT))
        for c, wanted in zip(commands, alone):
            got = stat(*c)
            check(got.counts == wanted.counts and not got.err and got.blocks < wanted.blocks, c, got.err)
        if turn % 2:
            shutil.rmtree(KEPT)


def full():
    alone = stat(TRUE, keep=None)

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    for _ in range(2):
        got = stat(TRUE, preexec_fn=small)
        check(got.counts == alone.counts and got.err.count(b"\n") == 1 and b"limit on the size of files" in got.err, got.err)
        check(kept_files() == [], kept_files())
    stat(TRUE)
    check(len(kept_files()) == 1, kept_files())
    # A file system without room, where one can be mounted
    shutil.rmtree(KEPT)
    os.mkdir(KEPT, 0o700)
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", KEPT], capture_output=True, check=False).returncode:
        counting.skipped("a full file system", "no mount namespace here")
        return
    script = ('mount -t tmpfs -o size=100k,mode=700 none "$0" && "$@" || exit 1; '
              'for f in "$0"/*; do [ ! -e "$f" ] || exit 2; done')
    path = f"{folder}/result.json"
    p = subprocess.run(["unshare", "-rm", "sh", "-c", script, KEPT, "env", "-i", *[f"{n}={v}" for n, v in ENV.items()],
                        *command(path, EVENTS, KEPT, TRUE)], env=ENV, capture_output=True, check=False)
    got = Run(p, path)
    check(got.counts == alone.counts and b"No space left on device" in got.err and got.err.count(b"\n") == 1, got.err)


def rebuilt():
    program, library = f"{folder}/program", f"{folder}/library.so"

    def put(source, target):
        shutil.copy(source, target + ".new")
        os.rename(target + ".new", target)

    def alone():
        return stat(program, library, keep=None).counts

    put(files[0], program)
    put(files[2], library)
    settle()
    # What a run adds is kept, too: the first one does not load the library.
    stat(program)
    runs = [stat(program, library) for _ in range(3)]
    check(all(r.counts == alone() for r in runs), alone(), [r.counts for r in runs])
    check(runs[2].blocks < runs[0].blocks < stat(program, library, keep=None).blocks, [r.blocks for r in runs])
    changes = [lambda f, t: shutil.copyfile(f, t),                   # in place
               put,                                                  # another file
               lambda f, t: (shutil.copystat(t, folder + "/times") or put(f, t) or shutil.copystat(folder + "/times", t))]
    open(folder + "/times", "w").close()
    wanted = alone()
    for change in changes:
        for target, versions in (program, files[1::-1]), (library, files[3:1:-1]):
            for source in versions:
                for _ in range(2):
                    check(stat(program, library).counts == wanted, "before", target)
                change(source, target)
                before, wanted = wanted, alone()
                check(before != wanted, "another program", target)
                check(stat(program, library).counts == wanted, "just now", target)
                settle()
                for _ in range(2):
                    check(stat(program, library).counts == wanted, "after", target)


def replaced():
    """Code of a library that is not there any more goes in the end."""
    library = f"{folder}/library.so"
    program = ["/usr/bin/env", f"LD_PRELOAD={library}", TRUE]

    def old():
        return [n for n in os.listdir(KEPT) if os.stat(f"{KEPT}/{n}").st_mtime < 100]

    shutil.copy(files[0], library)
    settle()
    for _ in range(3):
        stat(*program)
    check(len(os.listdir(KEPT)) == 1 and not old(), os.listdir(KEPT))
    shutil.copy(files[1], library + ".new")
    os.rename(library + ".new", library)
    settle()
    wanted = stat(*program, keep=None).counts
    after = []
    for _ in range(5):
        check(stat(*program).counts == wanted, "after", library)
        after.append((len(os.listdir(KEPT)), len(old())))
    check(after == [(1, 1), (1, 1), (0, 0), (1, 0), (1, 0)], after)


def evicted():
    commands = [[TRUE], ["/usr/bin/env"], ["/bin/ls", "/usr"], ["/usr/bin/sort", "/etc/passwd"], ["/usr/bin/expr", "1"],
                ["/bin/sh", "-c", ":"], ["/bin/cat", "/etc/passwd"], [TRUE], ["/usr/bin/id"]]
    os.mkdir(KEPT, 0o700)
    with open(KEPT + "/notes.txt", "wb") as f:
        f.write(bytes(5 << 20))
    with open(KEPT + "/new-1-1-0123456789abcdef0123456789abcdef.kept", "wb") as f:
        f.write(bytes(5 << 20))         # of a process that was killed
    os.utime(f.name, (1, 1))
    removed = 0
    for program in commands * 2:
        if not os.path.exists(program[0]):
            continue
        before = {n: os.stat(f"{KEPT}/{n}").st_mtime_ns for n in kept_files()}
        size = {"TARE_KEEP_CODE_SIZE": "3"}
        check(stat(*program, env=size).counts == stat(*program, keep=None, env=size).counts, program)
        after = {n: os.stat(f"{KEPT}/{n}") for n in kept_files()}
        total = sum(s.st_size for s in after.values())
        check(0 < total <= 3 << 20, total)
        gone = [before[n] for n in before if n not in after]
        stayed = [s.st_mtime_ns for s in after.values()]
        check(not gone or max(gone) <= min(stayed), "the oldest go first", gone, stayed)
        removed += len(gone)
    check(removed, "nothing was removed")
    check(os.path.getsize(KEPT + "/notes.txt") == 5 << 20, "a file that is not ours stays")


def readers():
    """The first process of a program in a run reads the file by itself, the others what the launcher has read."""
    several = ["/bin/sh", "-c", f"{TRUE}; {TRUE}; {TRUE}; {TRUE}"]
    alone = stat(*several, keep=None)
    stat(TRUE)
    name = the_file()
    with open(name, "rb") as f:
        good = f.read()
    got = stat(*several)
    check(got.counts == alone.counts and got.blocks < alone.blocks / 2, "four processes", got.counts, alone.counts, got.blocks)
    for at in HEAD - 1, len(good) // 2, len(good) - 1:
        content = bytearray(good)
        content[at] ^= 4
        with open(name, "wb") as f:
            f.write(content)
        got = stat(*several)
        check(got.counts == alone.counts and got.warned, "four processes, byte", at, got.counts, alone.counts, got.err)
        got = stat(*several)
        check(got.counts == alone.counts and not got.warned and got.blocks < alone.blocks / 2, "after byte", at, got.counts, got.blocks)
    # A process that may not look into the folder counts the same, and the file stays as it is.
    other = ["setpriv", "--reuid=65534", "--clear-groups", TRUE]
    if os.getuid() == 0 and shutil.which(other[0]):
        alone = stat(*other, keep=None)
        stat(*other)
        before = os.stat(name).st_ino
        for _ in range(2):
            got = stat(*other)
            check(got.counts == alone.counts and not got.err, "another user", got.counts, alone.counts, got.err)
        check(os.stat(name).st_ino == before, "another user's process does not replace the file")
    # A folder whose name is too long for the shared memory: the launcher reads the file.
    deep = folder + "/" + "/".join(["d" * 200] * 7)
    runs = [stat(TRUE, keep=deep) for _ in range(3)]
    alone = stat(TRUE, keep=None)
    check(all(r.counts == alone.counts for r in runs) and runs[2].blocks < alone.blocks / 2, "a long name", runs[2].blocks)


{"readers": readers, "same": same, "early": early, "damaged": damaged, "folder": folder_checks, "writers": writers, "full": full,
 "rebuilt": rebuilt, "replaced": replaced, "evicted": evicted}[what]()
shutil.rmtree(folder)
checking.finish()
