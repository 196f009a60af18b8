#!/usr/bin/env python3
"""libtare from Python, with ctypes: count the instructions of a function, exactly.

    python3 counter.py [EVENT]              where there are hardware counters
    tare run -- python3 counter.py          everywhere on x86-64: a virtual PMU

The library is libtare.so.0 in the loader's path, or what $LIBTARE names. Structs are declared as
the headers have them; those that the library allocates stay opaque pointers.
"""
import ctypes as c
import os
import sys


class Why(c.Structure):                             # tare/err.h
    _fields_ = [("code", c.c_int), ("sys_errno", c.c_int),
                ("what", c.c_char * 256), ("remedy", c.c_char * 256)]


class Sample(c.Structure):                          # tare/counter.h
    _fields_ = [("value", c.c_uint64), ("raw", c.c_uint64), ("minus", c.c_uint64),
                ("enabled_ns", c.c_uint64), ("running_ns", c.c_uint64), ("scaled", c.c_bool),
                ("percent", c.c_double), ("provenance", c.c_int), ("reserved", c.c_uint64 * 4)]


class Overhead(c.Structure):
    _fields_ = [("typical", c.c_uint64), ("min", c.c_uint64), ("max", c.c_uint64),
                ("samples", c.c_uint), ("agreeing", c.c_uint), ("reserved", c.c_uint64 * 2)]


def load():
    """The library, with the types of the functions that are used here."""
    lib = c.CDLL(os.environ.get("LIBTARE", "libtare.so.0"))
    counter, why = c.c_void_p, c.POINTER(Why)
    for name, result, *arguments in (
            ("tare_version", c.c_char_p),
            ("tare_err_name", c.c_char_p, c.c_int),
            ("tare_err_sentence", c.c_char_p, c.c_int),
            ("tare_why_remedy", c.c_char_p, why),
            ("tare_provenance_name", c.c_char_p, c.c_int),
            ("tare_path_name", c.c_char_p, c.c_int),
            ("tare_counter_open", c.c_int, c.c_char_p, c.POINTER(counter), why),
            ("tare_counter_path", c.c_int, counter, c.POINTER(c.c_char_p)),
            ("tare_counter_read", c.c_int, counter, c.POINTER(c.c_uint64)),
            ("tare_counter_sample", c.c_int, counter, c.POINTER(Sample)),
            ("tare_counter_overhead", c.c_int, counter, c.POINTER(Overhead)),
            ("tare_counter_close", None, counter)):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class Error(Exception):
    pass


class Counter:
    """One event of the calling thread."""

    def __init__(self, lib, event):
        self.lib, self.pointer, why = lib, c.c_void_p(), Why()
        if lib.tare_counter_open(event.encode(), c.byref(self.pointer), c.byref(why)) < 0:
            raise Error(f"{lib.tare_err_name(why.code).decode()}: {why.what.decode()}\n"
                        f"{lib.tare_why_remedy(c.byref(why)).decode()}")

    def check(self, code):
        if code < 0:
            raise Error(self.lib.tare_err_sentence(code).decode())

    def read(self):
        value = c.c_uint64()
        self.check(self.lib.tare_counter_read(self.pointer, c.byref(value)))
        return value.value

    def sample(self):
        s = Sample()
        self.check(self.lib.tare_counter_sample(self.pointer, c.byref(s)))
        return s

    def overhead(self):
        o = Overhead()
        self.check(self.lib.tare_counter_overhead(self.pointer, c.byref(o)))
        return o

    def path(self):
        reason = c.c_char_p()
        path = self.lib.tare_counter_path(self.pointer, c.byref(reason))
        return f"{self.lib.tare_path_name(path).decode()} ({reason.value.decode()})"

    def close(self):
        self.lib.tare_counter_close(self.pointer)
        self.pointer = c.c_void_p()


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main():
    event = sys.argv[1] if len(sys.argv) > 1 else "instructions:u"
    lib = load()
    print(f"libtare {lib.tare_version().decode()}")
    try:
        counter = Counter(lib, event)
    except Error as e:
        print(e, file=sys.stderr)
        return 1
    print(f"read by {counter.path()}")
    fibonacci(10)                   # the interpreter specialises code that it has seen
    for n in (10, 10, 15):
        before = counter.read()
        fibonacci(n)
        after = counter.read()
        print(f"fibonacci({n}): {after - before} {event}")
    sample = counter.sample()
    print(f"all so far: {sample.value} {event}, "
          f"{lib.tare_provenance_name(sample.provenance).decode()}")
    counter.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
