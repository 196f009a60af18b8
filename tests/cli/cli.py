"""Shared by the tests of the program: run it, check, and a small JSON Schema validator."""
import ctypes, errno, json, os, platform, re, struct, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking  # noqa: E402
from checking import check, finish, given_time, until, when_still  # noqa: E402, F401

CALLS = {"x86_64": dict(perf_event_open=298, ptrace=101, personality=135),
         "aarch64": dict(perf_event_open=241, ptrace=117, personality=92)}[platform.machine()]


# What is compared is written for people with UTF-8, wherever the tests are run.
os.environ["LC_ALL"] = "C.UTF-8"


def run(*args, **how):
    how.setdefault("timeout", 600)                      # only for what hangs
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(args, text=True, **how)


def perf_refused(tare):
    """Why the kernel's own events cannot be counted here (one line), or None: Debian's
    perf_event_paranoid of 3 refuses users, a container's seccomp profile everybody."""
    p = run(tare, "stat", "--backend", "hw", "-e", "page-faults:u", "true")
    return p.stderr.splitlines()[0].removeprefix("tare: ") if p.returncode else None


def skip(why):
    """What was checked so far must be right; the rest cannot be tried here."""
    if checking.bad:
        finish()
    print(why)
    sys.exit(77)


def skipped(what, why):
    """A part of the test cannot be run; the rest goes on. tools/report-tests counts the line."""
    print(f"skipped: {what}: {why}")


def need_engine(tare):
    """Fails the test where the engine does not run; only other architectures have none."""
    if platform.machine() != "x86_64":
        skip(f"the engine does not know {platform.machine()}")
    p = run(tare, "stat", "--backend", "soft", "-e", "instructions:u", "true")
    if p.returncode:
        sys.exit(f"the engine does not run: tare stat --backend soft true: status {p.returncode}: {p.stderr}")


def descendants(pid):
    """{pid: (comm, CPU seconds)} of a process's children and theirs."""
    tasks = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            comm, rest = open(f"/proc/{name}/stat").read().split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError):
            continue
        rest = rest.split()
        tasks[int(name)] = (int(rest[1]), comm, (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK"))
    mine = {pid}
    while True:
        more = {p for p, (parent, _, _) in tasks.items() if parent in mine} - mine
        if not more:
            return {p: tasks[p][1:] for p in mine - {pid} if p in tasks}
        mine |= more


def until_runs(pid, comm):
    """Until there is a process of that name below `pid`."""
    until(lambda: any(name == comm for name, _ in descendants(pid).values()), f"{comm} to run")


def until_run(pid, n, fifo):
    """For -r N cat FIFO, which ends when FIFO was opened and closed: until the n-th run waits, after
    n - 1 whole ones."""
    seen = set()
    for k in range(n):
        if k:
            open(fifo, "w").close()
        until(lambda: any(name == "cat" and p not in seen for p, (name, _) in descendants(pid).items()), f"run {k + 1}")
        seen |= {p for p, (name, _) in descendants(pid).items() if name == "cat"}


def until_busy(pid, comm, seconds):
    """Until a process of that name below `pid` has used that much of a CPU."""
    until(lambda: any(name == comm and used >= seconds
                      for name, used in descendants(pid).values()), f"{comm} to be busy")


def refuse(*names, error=errno.EPERM):
    """For preexec_fn: from now on these system calls fail with the error (a seccomp filter)."""
    def install():
        def op(code, jt, jf, k):
            return struct.pack("<HBBI", code, jt, jf, k)
        libc = ctypes.CDLL(None, use_errno=True)
        prog = op(0x20, 0, 0, 0)                        # load the call's number
        for i, name in enumerate(names):
            prog += op(0x15, len(names) - i, 0, CALLS[name])    # equal: to the refusal
        prog += op(0x06, 0, 0, 0x7fff0000) + op(0x06, 0, 0, 0x00050000 | error)
        code = ctypes.create_string_buffer(prog)
        fprog = struct.pack("<HxxxxxxQ", len(prog) // 8, ctypes.addressof(code))
        libc.prctl(38, 1, 0, 0, 0)                      # no new privileges
        if libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0):
            os._exit(99)
    return install


def can_refuse():
    return subprocess.run(["true"], preexec_fn=refuse("personality")).returncode == 0


TYPES = {"object": dict, "array": list, "string": str, "null": type(None), "boolean": bool}
KNOWN = {"$schema", "$ref", "title", "definitions", "type", "required", "properties",
         "additionalProperties", "items", "enum", "const", "minimum", "maximum", "minLength",
         "minItems", "pattern"}


def is_type(value, name):
    if name in ("integer", "number"):
        number = int if name == "integer" else (int, float)
        return isinstance(value, number) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def violations(value, schema, root, path="$"):
    """What `value` gets wrong; the keywords our schemas use, and no others."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        return violations(value, root["definitions"][name], root, path)
    found = []
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        return [f"{path}: {value!r} is not {types}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not one of {schema['enum']}")
    if is_type(value, "number"):
        if "minimum" in schema and value < schema["minimum"]:
            found.append(f"{path}: {value} is too small")
        if "maximum" in schema and value > schema["maximum"]:
            found.append(f"{path}: {value} is too large")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            found.append(f"{path}: too short")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{path}: {value!r} does not match")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{path}: too few items")
        for i, item in enumerate(value):
            found += violations(item, schema.get("items", {}), root, f"{path}[{i}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{path}: lacks {k}" for k in schema.get("required", []) if k not in value]
        for k, v in value.items():
            if k in properties:
                found += violations(v, properties[k], root, f"{path}.{k}")
            elif schema.get("additionalProperties", True) is False:
                found.append(f"{path}: unknown member {k}")
    return found


def schema(name):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(f"{here}/../../docs/{name}.schema.json") as f:
        return json.load(f)


def check_schema(value, name):
    s = schema(name)
    for v in violations(value, s, s):
        check(False, v)
