"""The first process of an emulated machine: runs what /job.json says, prints the results as JSON, and ends.

Run by emulated-machines.py, in an initial file system with this machine's programs.
"""
import json, os, signal, subprocess, termios

job = json.load(open("/job.json"))
os.environ["PATH"] = "/usr/bin:/bin"
for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")):
    os.makedirs(where, exist_ok=True)
    subprocess.run(["/usr/bin/mount", "-t", kind, kind, where], check=True)
os.getrandom(1)  # waits until the kernel has random numbers: a program that comes first would wait and read
results = {}
for name, command in job.items():
    p = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, errors="replace")
    results[name] = [p.returncode, p.stdout, p.stderr]
print("\n@@" + json.dumps(results), flush=True)
termios.tcdrain(1)
with open("/proc/sysrq-trigger", "w") as f:
    f.write("o")  # power off
while True:
    signal.pause()
