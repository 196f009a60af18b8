#!/usr/bin/env python3
"""The hosted workflow names what there is: its YAML is valid, each shell step parses, and every make
target, program and test suite in it exists. usage: workflow.py SOURCE BUILD"""
import json, os, pathlib, re, shutil, subprocess, sys

try:
    import yaml
except ImportError:             # Debian's module is for Debian's python3
    if os.path.exists("/usr/bin/python3") and os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["python3", *sys.argv])
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

source, build = map(pathlib.Path, sys.argv[1:3])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


class Strict(yaml.SafeLoader):
    """A key given twice is an error; `on` is a key, not a boolean."""

    def construct_mapping(self, node, deep=False):
        keys = [k.value for k, _ in node.value]
        check(len(keys) == len(set(keys)), "a key is given twice:", keys, node.start_mark)
        return {k.value: self.construct_object(v, deep=True) for k, v in node.value}


Strict.add_constructor("tag:yaml.org,2002:map", Strict.construct_mapping)
JOB = {"strategy", "runs-on", "timeout-minutes", "container", "steps"}
STEP = {"name", "uses", "run", "if", "with", "env"}
suites = {s.split(":")[-1] for t in json.loads(subprocess.run(
    ["meson", "introspect", "--tests", build], check=True, capture_output=True, text=True).stdout) for s in t["suite"]}


def check_shell(name, text):
    """What one step runs."""
    text = re.sub(r"\$\{\{.*?\}\}", "word", text)
    for shell in ("sh", "bash"):        # bash where there is no container
        p = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True)
        check(p.returncode == 0, name, p.stderr)
    if shutil.which("shellcheck"):
        p = subprocess.run(["shellcheck", "-s", "sh", "-"], input=text, text=True, capture_output=True)
        check(p.returncode == 0, name, p.stdout)
    for target in re.findall(r"^\s*make ([a-z][a-z0-9-]*)", text, re.M):
        p = subprocess.run(["make", "-n", "-C", source, target], text=True, capture_output=True)
        check(p.returncode == 0, name, "make", target, p.stderr)
    for suite in re.findall(r"--suite (\S+)", text):
        check(suite in suites, name, "there is no suite", suite)
    for command in re.findall(r"\bbuild/tare ([a-z]+)((?: --[a-z-]+)*)", text):
        said = subprocess.run([build / "tare", command[0], "--help"], text=True, capture_output=True)
        check(said.returncode == 0, name, "tare", command[0])
        for option in command[1].split():
            check(option in said.stdout, name, "tare", command[0], "has no", option)
    for path in re.findall(r"(?<![\w/])(\.ci/\w+|tools/[\w-]+|tests/\S+)", text):
        check(os.access(source / path, os.X_OK), name, path, "cannot be run")


def check_job(name, job):
    check(not set(job) - JOB, name, "unknown keys", set(job) - JOB)
    check(isinstance(job.get("timeout-minutes"), int), name, "no time limit")
    artifacts = []
    for step in job["steps"]:
        check(not set(step) - STEP, name, "unknown keys", set(step) - STEP)
        check(("run" in step) != ("uses" in step), name, "a step runs or uses", step)
        check("name" in step or step["uses"].startswith("actions/checkout@"), name, "a step has no name", step)
        if "run" in step:
            check_shell(f"{name}: {step['name']}", step["run"])
        elif step["uses"].startswith("actions/upload-artifact@"):
            artifacts.append(step["with"]["name"])
    check(len(artifacts) == len(set(artifacts)), name, "two artifacts of one name", artifacts)
    return " ".join(step.get("run", "") for step in job["steps"])


path = source / ".github/workflows/ci.yml"
workflow = yaml.load(path.read_text(), Strict)
check({"name", "on", "jobs"} <= set(workflow), "keys", set(workflow))
runs = {name: check_job(name, job) for name, job in workflow["jobs"].items()}
jobs = workflow["jobs"]
machines = {job["runs-on"]: name for name, job in jobs.items()}
check({"ubuntu-24.04", "ubuntu-24.04-arm"} <= set(machines), "runners", machines)
check(set(jobs["debian"]["strategy"]["matrix"]["suite"]) == {"bookworm", "trixie"}, "Debian 12 and 13")
arm = runs[machines["ubuntu-24.04-arm"]]
check("build/tare doctor" in arm and "--suite func" in arm, "arm64 runs doctor and the counter tests")
if shutil.which("yamllint"):
    p = subprocess.run(["yamllint", "-s", "-d", "{extends: default, rules: {line-length: {max: 120}, truthy: "
                        "{check-keys: false}, document-start: disable}}", path], text=True, capture_output=True)
    check(p.returncode == 0, p.stdout, p.stderr)
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
