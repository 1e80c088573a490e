"""Compares the memory of the processes of `swarm local --api` before and after many streams.

usage: memory_check.py URL PID STREAMS   PID is the process of `swarm local`

A first round of streams makes what the processes keep for good. Prints lines "NAME VALUE"; the exit
code is 1 when more than 2 % were gained or lost.
"""
import os
import subprocess
import sys
import time

from honest_user import memory_mib

TOLERANCE = 0.02
SETTLE_S = 20  # what is free goes back within 15 s
LOOK_EVERY_S = 0.5


def family(pid):
    """The process and its children."""
    found = [pid]
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(name))
            except OSError:  # it has ended
                pass
    return found


def memory_of(pids):
    return sum(memory_mib(pid) for pid in pids)


def settled(pids):
    """Returns the least that the processes have while nobody asks."""
    end = time.monotonic() + SETTLE_S
    least = memory_of(pids)
    while time.monotonic() < end:
        time.sleep(LOOK_EVERY_S)
        least = min(least, memory_of(pids))
    return least


def stream(url, count):
    script = os.path.join(os.path.dirname(__file__), "many_streams.py")
    command = [sys.executable, "-B", script, url, "streams", count]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def main():
    url, count = sys.argv[1], sys.argv[3]
    pids = family(int(sys.argv[2]))
    print(f"processes {len(pids)}\nmemory_mib_fresh {settled(pids):.1f}")
    stream(url, count)
    before = settled(pids)
    stream(url, count)
    busy = memory_of(pids)
    after = settled(pids)
    print(f"memory_mib_before {before:.1f}\nmemory_mib_busy {busy:.1f}")
    print(f"memory_mib_after {after:.1f}\nafter_by_before {after / before:.4f}")
    return 0 if abs(after / before - 1) <= TOLERANCE else 1


sys.exit(main())
