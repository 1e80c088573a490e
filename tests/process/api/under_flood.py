"""Compares honest users of an API while it is flooded, and while a bare listener is.

usage: under_flood.py URL PID BARE_PORT SECONDS

PID is the process of the API. The bare listener accepts and closes. Prints lines "NAME VALUE"; a
text that was lost or changed ends the program with status 1.
"""
import os
import subprocess
import sys
import time
import urllib.parse

from honest_user import User, memory_mib

USERS = 4
TOKENS = 64
BEGIN_S = 2  # the flood is not at its full height before
SETTLE_S = 26  # then those that stall have gone, and free memory went back


def flood(url, seconds):
    """Returns the values of time.monotonic() between which the flood had its height."""
    begun = time.monotonic()
    script = os.path.join(os.path.dirname(__file__), "flood.py")
    found = subprocess.run(
        [sys.executable, "-B", script, url, str(seconds)],
        capture_output=True, text=True, timeout=seconds + 60, check=True)
    return begun + BEGIN_S, begun + seconds, found.stdout


def percentile(sorted_values, percent):
    return sorted_values[len(sorted_values) * percent // 100]


def times_per_token(users, since, until):
    times = sorted(gap for user in users for gap in user.gaps_s(since, until))
    if not times:
        raise ValueError("no token came")
    return times


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    url, pid, bare_port, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    scheme = urllib.parse.urlsplit(url).scheme
    users = [User(url, number, TOKENS) for number in range(USERS)]
    time.sleep(SETTLE_S / 2)
    before = memory_mib(pid)
    for user in users:
        user.start()
    *while_bare, _ = flood(f"{scheme}://127.0.0.1:{bare_port}", seconds)
    busy = cpu_s(pid)
    *while_ours, told = flood(url, seconds)
    busy = cpu_s(pid) - busy
    for user in users:
        user.stop()
    bare = times_per_token(users, *while_bare)
    ours = times_per_token(users, *while_ours)
    peak = memory_mib(pid, "VmHWM")
    time.sleep(SETTLE_S)
    print(told, end="")
    print(f"cpu_s {busy:.1f}")
    print(f"memory_mib_before {before:.1f}\nmemory_mib_peak {peak:.1f}")
    print(f"memory_mib_after {memory_mib(pid):.1f}")
    for name, times in (("bare", bare), ("ours", ours)):
        print(f"token_median_ms_{name} {percentile(times, 50) * 1000:.1f}")
        print(f"token_p99_ms_{name} {percentile(times, 99) * 1000:.1f}")
    print(f"tokens_bare {len(bare)}\ntokens_ours {len(ours)}")
    print(f"p99_ratio {percentile(ours, 99) / percentile(bare, 99):.2f}")
    problems = [problem for user in users for problem in user.problems]
    print(f"texts {sum(user.texts for user in users)}\nproblems {len(problems)} {problems[:3]}")
    return 1 if problems else 0


sys.exit(main())
