#!/usr/bin/env python3
"""Code of a page that was written often does not look for changes for ever: after a rest it is as short as other code.

usage: engine-rests.py TARE PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

tare, program = sys.argv[1:]
counting.need_engine()


def code_bytes(*options):
    with tempfile.NamedTemporaryFile() as f:
        got = subprocess.run([tare, "stat", "--backend", "soft", "-e", "instructions", "-j", "-o", f.name, "--", program, *options],
                             capture_output=True, check=False)
        check(got.stdout == b"right\n" and got.returncode == 0, got)
        return json.load(f)["runs"][0]["translated"]["code_bytes"]


plain, rested = code_bytes(), code_bytes("often")
# (60 short functions more; with checked code of 380 functions it is 79,000 bytes.)
check(rested - plain < 30000, "code after the rest", plain, rested)
checking.finish()
