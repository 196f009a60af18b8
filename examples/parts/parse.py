#!/usr/bin/env python3
"""Counts what parsing costs, without the start of Python and the making of the text:

    tare stat --delay -1 -e instructions:u python3 parse.py

The functions of tare/region.h are in libtare.so, too; without the library nothing is switched."""
import ctypes, json, sys


class Region:
    """with Region("name"): … is counted, and a dump of its own."""
    try:
        lib = ctypes.CDLL("libtare.so.0")
    except OSError:
        lib = None

    def __init__(self, name):
        self.name = name.encode()

    def __enter__(self):
        if self.lib:
            self.lib.tare_region_start()

    def __exit__(self, *_):
        if self.lib:
            self.lib.tare_region_stop()
            self.lib.tare_region_dump(self.name)


rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
text = json.dumps([{"id": i, "name": f"row {i}", "squares": [i * i] * 5} for i in range(rows)])
with Region("parse"):
    parsed = json.loads(text)
assert len(parsed) == rows
