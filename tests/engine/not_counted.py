#!/usr/bin/env python3
"""What the engine cannot enter runs natively, and the result says so.

usage: not_counted.py            set-uid and 32-bit programs
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402


TARE = os.path.join(os.environ.get("TARE_BUILD", "build"), "tare")


def stat(command):
    with tempfile.NamedTemporaryFile("r", prefix="notcounted") as f:
        got = subprocess.run(counting.engine_command(["instructions"], f.name) + command,
                             env=counting.ENV, capture_output=True, text=True)
        text = f.read()
    return got, text


def says(text):
    """Why some task was not counted, or None."""
    if not text:
        return None
    for task in json.loads(text)["runs"][0].get("tasks") or []:
        if task.get("not_counted"):
            return task["not_counted"]
    return None


def check(name, program):
    """A shell, which is counted, runs the program, which is not."""
    got, text = stat(["/bin/sh", "-c", f"{program}; echo after $?"])
    if "after 7" not in got.stdout:
        print(f"{name}: did not run: {got.stdout!r} {got.stderr[-300:]!r}")
        return 1
    why = says(text)
    if not why:
        print(f"{name}: the result does not say that it was not counted")
        return 1
    fields = subprocess.run([TARE, "stat", "-x;", "--backend", "soft", "-e", "instructions:u", program],
                            env=counting.ENV, capture_output=True, text=True).stderr
    if "<not counted>;" not in fields or f"was not counted: {why}" not in fields:
        print(f"{name}: -x does not say why: {fields!r}")
        return 1
    print(f"{name}: {why}")
    return 0


def main():
    counting.need_engine()
    bad = tried = 0
    # not in /tmp, which may be mounted nosuid
    with tempfile.TemporaryDirectory(prefix="tare-not", dir=os.environ.get("TARE_BUILD")) as d:
        source = os.path.join(d, "seven.S")
        with open(source, "w") as f:
            f.write(".globl _start\n_start: movl $1, %eax\n movl $7, %ebx\n int $0x80\n")
        seven32 = os.path.join(d, "seven32")
        if subprocess.run(["cc", "-m32", "-nostdlib", "-static", source, "-o", seven32],
                          capture_output=True).returncode == 0 and \
                subprocess.run([seven32]).returncode == 7:
            tried += 1
            bad += check("32-bit", seven32)
        else:
            counting.skipped("a 32-bit program", "cannot be built or run here")
        if os.geteuid() == 0 and shutil.which("setpriv"):
            suid = os.path.join(d, "seven")
            with open(source, "w") as f:
                f.write(".globl _start\n_start: movl $60, %eax\n movl $7, %edi\n syscall\n")
            subprocess.run(["cc", "-nostdlib", "-static", source, "-o", suid], check=True)
            os.chown(suid, 65534, 65534)
            os.chmod(suid, 0o4755)
            tried += 1
            bad += check("set-uid", suid)
        else:
            counting.skipped("a set-uid program", "only root can make one")
    if not tried:
        counting.skip("neither a 32-bit nor a set-uid program could be made")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
