"""How the tests count a command: natively (stepcount) and under the engine.

Both runs get the same pinned environment, because totals depend on the size of
the environment and of the auxiliary vector.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

# expect.py, the counts that assembly programs must give, is also used by the build.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/proc/nonexistent",
       "PYTHONHASHSEED": "0"}

SKIP = 77


class Failed(Exception):
    pass


def skip(why):
    """The whole test cannot be run on this machine; tests/may-skip.txt says when that may be."""
    print(f"skipped: {why}")
    sys.exit(SKIP)


def skipped(what, why):
    """A part of the test cannot be run; the rest goes on. tools/report-tests counts the line."""
    print(f"skipped: {what}: {why}")


def build_folder():
    return os.path.abspath(os.environ.get("TARE_BUILD", "build"))


def stepcount_path():
    return os.environ.get("TARE_STEPCOUNT", os.path.join(build_folder(), "tests/tool/stepcount"))


def engine_command(events, out, follow=True):
    """The counting command up to `--`; its result goes to the file `out`."""
    override = os.environ.get("TARE_COUNT")
    if override:
        return override.split() + ["-e", ",".join(events), "-o", out, "--"]
    tare = os.environ.get("TARE", os.path.join(build_folder(), "tare"))
    inherit = [] if follow else ["--no-inherit"]
    return [tare, "stat", "--backend", "soft", *inherit, "-e", ",".join(events),
            "-j", "-o", out, "--"]


def need_engine():
    """Fails the test where the engine does not run: a broken engine must not look like a
    machine that cannot run it."""
    if os.environ.get("TARE_COUNT"):
        return
    tare = os.environ.get("TARE", os.path.join(build_folder(), "tare"))
    if not os.path.exists(tare):
        sys.exit(f"{tare} is not built")
    got = subprocess.run([tare, "stat", "--backend", "soft", "-e", "instructions", "-j",
                          "--", "/bin/true"], env=ENV, capture_output=True, text=True)
    if got.returncode != 0:
        sys.exit(f"the engine does not run: tare stat --backend soft -- /bin/true: status {got.returncode}: "
                 f"{got.stderr.strip()}")


class Result:
    def __init__(self, status, out, err, counts, tasks=None, raw=None):
        self.status, self.out, self.err = status, out, err
        self.counts, self.tasks, self.raw = counts, tasks or [], raw


def _lines(text):
    counts, tasks = {}, {}
    for line in text.splitlines():
        words = line.split()
        if words[0] == "task":
            tasks.setdefault(int(words[1]), {})[words[2]] = int(words[3])
        else:
            counts[words[0]] = int(words[1])
    return counts, [tasks[k] for k in sorted(tasks)]


def _json(text):
    doc = json.loads(text)
    run = doc["runs"][0]
    for c in run["counts"]:
        # What kills its own processes has a count that is exact but lacks theirs.
        if c["provenance"] != ("incomplete" if c["lower_bound"] else "exact"):
            raise Failed(f"{c['event']}: provenance {c['provenance']}, not exact")
    return {c["event"].removesuffix(":u"): c["value"] for c in run["counts"]}, doc


class _Done:
    def __init__(self, returncode, stdout, stderr):
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr


def _run(cmd, env, stdin, cwd, timeout):
    """Like subprocess.run; what is late is killed with all it started."""
    child = subprocess.Popen(cmd, env=ENV if env is None else env, cwd=cwd,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = child.communicate(stdin or b"", timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failed(f"{' '.join(cmd)}: not done after {timeout} s") from None
    return _Done(child.returncode, out, err)


def step(command, events, follow=False, share=False, env=None, stdin=None, cwd=None, timeout=600):
    with tempfile.NamedTemporaryFile("r", prefix="stepcount") as f:
        cmd = [stepcount_path(), "-o", f.name, "-p", "-e", ",".join(events)]
        if follow:
            cmd.append("-f")
        if share:
            cmd.append("-c")
        got = _run(cmd + ["--"] + command, env, stdin, cwd, timeout)
        text = f.read()
    if not text:
        raise Failed(f"stepcount of {command}: status {got.returncode}: "
                     f"{got.stderr.decode(errors='replace')}")
    counts, tasks = _lines(text)
    return Result(got.returncode, got.stdout, got.stderr, counts, tasks, text)


def engine(command, events, follow=True, env=None, stdin=None, cwd=None, timeout=600,
           before=()):
    with tempfile.NamedTemporaryFile("r", prefix="engine") as f:
        cmd = [*before, *engine_command(events, f.name, follow)]
        got = _run(cmd + command, env, stdin, cwd, timeout)
        text = f.read()
    if not text:
        raise Failed(f"{' '.join(cmd + command)}: status {got.returncode}: "
                     f"{got.stderr.decode(errors='replace')}")
    if text.lstrip().startswith("{"):
        counts, raw = _json(text)
        return Result(got.returncode, got.stdout, got.stderr, counts, raw=raw)
    counts, tasks = _lines(text)
    return Result(got.returncode, got.stdout, got.stderr, counts, tasks, text)


def native(command, env=None, stdin=None, cwd=None, timeout=600):
    """Uncounted, ASLR off."""
    setarch = shutil.which("setarch")
    cmd = [setarch, "-R"] + command if setarch else command
    got = _run(cmd, env, stdin, cwd, timeout)
    return Result(got.returncode, got.stdout, got.stderr, {})
