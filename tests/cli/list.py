#!/usr/bin/env python3
"""tare list: what it says opens does open, what it says does not does not.

Every event with an encoding is opened here again, by the bare system call.
usage: list.py TARE
"""
import ctypes, errno, json, os, platform, struct, subprocess, sys, tempfile

from cli import check, check_schema, finish, skipped

tare = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
NR_PERF = {"x86_64": 298, "aarch64": 241}[platform.machine()]
EXCLUDE_KERNEL, EXCLUDE_HV, DISABLED = 1 << 5, 1 << 6, 1 << 0


def listing(*args, before=None):
    p = subprocess.run([tare, "list", *args], capture_output=True, text=True, preexec_fn=before)
    return p.returncode, p.stdout, p.stderr


def events(*args, **how):
    status, out, err = listing("-j", *args, **how)
    check(status == 0 and err == "", args, status, err)
    r = json.loads(out)
    check_schema(r, "tare.list-1")
    return r


def opens(e, flags):
    """By the bare system call: 0 or the errno."""
    attr = struct.pack("<IIQQQQQ", e["type"], 112, e["config"], 0, 0, 0, DISABLED | flags)
    attr += struct.pack("<IIQQ", 0, 0, e["config1"], e["config2"])
    fd = libc.syscall(NR_PERF, attr.ljust(112, b"\0"), 0, -1, -1, 0)
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def opens_somehow(e):
    err = opens(e, 0)
    return err == 0 or (err == errno.EACCES and opens(e, EXCLUDE_KERNEL | EXCLUDE_HV) == 0)


all_events = events()
check(all_events["tried"] is True, "not tried")
names = [e["name"] for e in all_events["events"]]
check(len(set(names)) == len(names), "a name is there twice",
      sorted(n for n in set(names) if names.count(n) > 1))
for e in all_events["events"]:
    check(e["opens"] or e["error"] != "UNKNOWN", e)
    if e["kind"] in ("wall-time", "zero"):
        check(e["opens"] and e["encoding"] is None, e)
    if e["encoding"]:
        truth = opens_somehow(e["encoding"]) and (not e["minus"] or opens_somehow(e["minus"]))
        check(truth == e["opens"], e["name"], "opens:", truth, "listed:", e["opens"])
    if e["kind"] in ("minus", "minus-total"):
        check(e["determinism"] == "corrected" and e["error_bound"], e)
for name in ("instructions", "page-faults", "cond-branches", "loads", "wall-time", "zero"):
    check(name in names, "no", name)
check(any(e["opens"] for e in all_events["events"]), "nothing opens at all")

# What the engine is said to count, it counts; what nothing counts is refused.
exact = [e["name"] for e in all_events["events"] if e["engine"]]
check(bool(exact) == all_events["engine"], "engine", all_events["engine"], exact[:3])
if exact:
    user = [n if n.endswith(":u") else n + ":u" for n in exact]
    p = subprocess.run([tare, "stat", "--backend", "soft", "-j", "-o", "-", "-e", ",".join(user),
                        "--", "/bin/true"], capture_output=True, text=True)
    check(p.returncode == 0, p.stderr)
    counts = json.loads(p.stdout)["runs"][0]["counts"] if p.returncode == 0 else []
    check(len(counts) == len(user), len(counts), len(user))
    for c in counts:
        check(c["state"] == "counted" and c["provenance"] == "exact", c)
nobody = [e["name"] for e in all_events["events"] if not e["opens"] and not e["engine"]]
for name in nobody[:3]:
    p = subprocess.run([tare, "stat", "-e", name, "--", "/bin/true"], capture_output=True, text=True)
    check(p.returncode != 0 and p.stderr.startswith("tare: "), name, p)

# Patterns: a part, any case, a shell pattern for the whole, one of several.
# Or the idea that an event stands for: ASSISTS.PAGE_FAULT of some CPUs is hw-page-faults.
listed = events("PAGE-FAULT")["events"]
part = [e["name"] for e in listed]
check("page-faults" in part and
      all("page-fault" in e["name"].lower() or "page-fault" in (e["role"] or "") for e in listed), part)
check([e["name"] for e in events("page-*")["events"]] == [n for n in part if n.startswith("page-")],
      part)
if all_events["engine"]:
    p = subprocess.run([tare, "run", "--cpu", "sapphirerapids", "--", tare, "list", "-j", "PAGE-FAULT"],
                       capture_output=True, text=True)
    check(any(e["name"] == "ASSISTS.PAGE_FAULT" for e in json.loads(p.stdout)["events"]), p)
    # Intel's CPUs have two PMUs in libpfm4, with names in common.
    p = subprocess.run([tare, "run", "--cpu", "skylake", "--", tare, "list", "-j"], capture_output=True, text=True)
    two = [e["name"] for e in json.loads(p.stdout)["events"]]
    check(len(two) == len(set(two)), "a name is there twice", sorted(n for n in set(two) if two.count(n) > 1))
both = [e["name"] for e in events("zero", "wall-*")["events"]]
check(set(both) >= {"zero", "wall-time"} and "page-faults" not in both, both)

# Text: one row per name, and why some did not open.
status, out, err = listing()
check(status == 0 and err == "", status, err)
rows = {line.split()[0] for line in out.splitlines() if line.startswith("  ") and line[2] != " "}
check(set(names) <= rows, "not shown:", sorted(set(names) - rows)[:5])
failed = {e["reason"] for e in all_events["events"] if not e["opens"]}
for reason in failed:
    n = sum(not e["opens"] and e["reason"] == reason for e in all_events["events"])
    check(f"{n} not opened: {reason}" in out, n, reason)

# Every CPU of the tables can be listed; nothing is tried, nothing of this machine is in it.
cpus = json.loads(listing("-j", "--cpus")[1])
check_schema(cpus, "tare.cpus-1")
check(len(cpus["cpus"]) > 20, "cpus")
text = listing("--cpus")[1]
for c in cpus["cpus"]:
    r = events("--cpu", c["name"])
    check(r["tried"] is False and r["cpu"]["uarch"] == c["name"], c["name"], r["cpu"])
    check(all(e["opens"] is None and e["from"] != "sysfs" for e in r["events"]), c["name"])
    known = {e["table"]["name"] for e in r["events"] if e["table"]}
    check(known and len(known) <= c["events"], c["name"], len(known), c["events"])
    check(c["name"] in text, "not in --cpus:", c["name"])
# Facts that perf has no code for are shown, and do not parse.
for cpu, name, verdict in (("netburst", "INSTR_RETIRED:NBOGUSTAG+UOPS_TYPE:TAGSTORES",
                            "noisy: interrupts, page faults; counts micro-ops"),
                           ("merced", "STORES_RETIRED", "deterministic")):
    found = [e for e in events("--cpu", cpu)["events"] if e["name"] == name]
    check(len(found) == 1 and found[0]["encoding"] is None and found[0]["determinism"] == verdict, found)
    check("the paper" in found[0]["source"], found)
zen2 = [e for e in events("--cpu", "ZEN2", "interrupts")["events"] if e["name"] == "interrupts"]
check(len(zen2) == 1 and zen2[0]["encoding"]["config"] == 0x2c, "zen2's interrupts", zen2)
skylake = [e for e in events("--cpu", "skylake", "interrupts")["events"] if e["name"] == "interrupts"]
check(len(skylake) == 1 and skylake[0]["encoding"]["config"] == 0x1cb, "skylake's", skylake)

# Without privileges the list is still there, and still true (events are narrowed to :u).
if os.geteuid() == 0:
    def drop():
        os.setgid(65534), os.setuid(65534)
    r = events("page-faults", before=drop)
    check(any(e["name"] == "page-faults" for e in r["events"]), "unprivileged")
else:
    skipped("the list of another user", "only root can become another user")

# libpfm4 is loaded, not linked: without it everything else works, and it says so.
check(all_events["libpfm4_missing"] is None, all_events["libpfm4_missing"])
with tempfile.TemporaryDirectory() as d:
    open(f"{d}/libpfm.so.4", "w").close()               # found first, and not a library
    env = dict(os.environ, LD_LIBRARY_PATH=d)
    p = subprocess.run([tare, "list", "-j"], capture_output=True, text=True, env=env)
    r = json.loads(p.stdout)
    check_schema(r, "tare.list-1")
    check("libpfm.so.4" in r["libpfm4_missing"], r["libpfm4_missing"])
    left = [e["name"] for e in r["events"]]
    check(left == [e["name"] for e in all_events["events"] if e["from"] != "libpfm4"], "without libpfm4")
    p = subprocess.run([tare, "list"], capture_output=True, text=True, env=env)
    check(f"libpfm4's names are not shown: {d}/libpfm.so.4" in p.stdout, p.stdout[-200:])
    p = subprocess.run([tare, "stat", "-e", "NO_SUCH:EVENT", "true"], capture_output=True, text=True, env=env)
    check("NO_SUCH:EVENT" in p.stderr and "libpfm4's names are not known here" in p.stderr, p.stderr)
# It may have a name twice, of two PMUs of one CPU: listed once.
TWICE = r"""
#include <perfmon/pfmlib_perf_event.h>
static const char *const names[] = { "ONLY_FIRST", "SHARED", "SHARED", "ONLY_SECOND" };
pfm_err_t pfm_initialize(void) { return PFM_SUCCESS; }
const char *pfm_strerror(int code) { return "fake"; }
pfm_err_t pfm_get_os_event_encoding(const char *name, int dfl, pfm_os_t os, void *args)
{
	pfm_perf_encode_arg_t *const arg = args;
	for (int i = 0; i < 4; i++)
		if (__builtin_strcmp(names[i], name) == 0) {
			arg->attr->type = 4;
			arg->attr->config = 0x1234;
			return PFM_SUCCESS;
		}
	return PFM_ERR_NOTFOUND;
}
pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *out)
{
	if (pmu != 1 && pmu != 2)
		return PFM_ERR_NOTSUPP;
	out->name = pmu == 1 ? "first" : "second";
	out->type = PFM_PMU_TYPE_CORE;
	out->is_present = 1;
	out->first_event = pmu == 1 ? 0 : 2;
	return PFM_SUCCESS;
}
int pfm_get_event_next(int idx) { return idx % 2 ? -1 : idx + 1; }
pfm_err_t pfm_get_event_info(int idx, pfm_os_t os, pfm_event_info_t *out)
{
	out->name = names[idx];
	out->desc = "";
	out->nattrs = 0;
	return PFM_SUCCESS;
}
pfm_err_t pfm_get_event_attr_info(int idx, int attr, pfm_os_t os, pfm_event_attr_info_t *out)
{
	return PFM_ERR_ATTR;
}
"""
if os.path.exists("/usr/include/perfmon/pfmlib_perf_event.h"):
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{d}/libpfm.so.4", "-xc", "-"], input=TWICE,
                       text=True, check=True)
        p = subprocess.run([tare, "list", "-j"], capture_output=True, text=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=d))
        twice = [e["name"] for e in json.loads(p.stdout)["events"] if e["from"] == "libpfm4"]
        check(twice == ["ONLY_FIRST", "SHARED", "ONLY_SECOND"], twice)
else:
    skipped("names that libpfm4 has twice", "perfmon/pfmlib_perf_event.h is not installed")
p = subprocess.run(["ldd", tare], capture_output=True, text=True)
check("pfm" not in p.stdout, p.stdout)

# Bad input, bad output.
for args, status, text in ((["no-such-event-anywhere"], 1, "no-such-event-anywhere"),
                           (["--cpu", "zne2"], 125, "did you mean zen2"),
                           (["--cpu", "qqqqqqqq"], 125, "tare list --cpus"),
                           (["--nonsense"], 125, "--nonsense")):
    got, out, err = listing(*args)
    check(got == status and out == "" and err.startswith("tare: ") and text in err, args, got, err)
p = subprocess.run(f"exec '{tare}' list > /dev/full", shell=True, stderr=subprocess.PIPE, text=True)
check(p.returncode == 1 and p.stderr.startswith("tare: "), p)

finish()
