"""Attacks an API from another machine's address while an honest user reads streams.

usage: attacks.py URL PID   PID is the process of the API

Each bad request gets one error of its kind, the honest texts stay what they were, and the memory of
the process stays within its bound. Prints a line per check; the exit code is 1 when one failed.
"""
import concurrent.futures
import json
import re
import resource
import socket
import ssl
import sys
import time
import urllib.parse

import bad_requests
from honest_user import User, get, memory_mib

ATTACKER = "127.0.9.1"  # not of the network 127.0.0.0/24, which has the honest users
ANSWER_S = 30  # the server waits for 10 s where something is missing
BODY_MAX = 4 << 20
CROWD = 1100  # the server takes 1024
GROWTH_MIB_MAX = 256  # 64 MiB of bodies, and 1024 connections with TLS


class Failed(Exception):
    pass


def expect(condition, why):
    if not condition:
        raise Failed(why)


class Api:
    def __init__(self, url, pid):
        self.url = url
        self.pid = pid
        place = urllib.parse.urlsplit(url)
        self.address = (place.hostname, place.port)
        self.is_tls = place.scheme == "https"

    def dial_plain(self):
        return socket.create_connection(self.address, ANSWER_S, source_address=(ATTACKER, 0))

    def dial(self):
        plain = self.dial_plain()
        if not self.is_tls:
            return plain
        return ssl._create_unverified_context().wrap_socket(plain, server_hostname="localhost")


def say(line, data):
    """Sends what the server takes."""
    try:
        line.sendall(data)
    except OSError:
        pass


def hear(line):
    """Returns all that comes until the server ends the connection."""
    heard = b""
    try:
        while more := line.recv(65536):
            heard += more
    except TimeoutError as problem:
        raise Failed(f"the connection stays open after {heard[:200]!r}") from problem
    except OSError:  # a reset, because the server did not read all
        pass
    return heard


def expect_error(heard, status, code, name):
    head, _, body = heard.partition(b"\r\n\r\n")
    expect(head.startswith(b"HTTP/1.1 %d " % status), f"{name}: {heard[:200]!r}, wanted {status}")
    expect(len(re.findall(rb"HTTP/1\.1 \d", heard)) == 1, f"{name}: two answers {heard!r}")
    error = json.loads(body)["error"]
    expect(sorted(error) == ["code", "message", "param", "type"], f"{name}: {error}")
    expect(error["code"] == code, f"{name}: {error['code']}, wanted {code}")


def each_bad_request_gets_one_error(api):
    for name, data, status, code in bad_requests.ALL:
        with api.dial() as line:
            say(line, data)
            expect_error(hear(line), status, code, name)


def a_gigabyte_is_not_read(api):
    with api.dial() as line:
        say(line, bad_requests.TOO_LARGE[0][1])
        heard = line.recv(65536)
        expect_error(heard, 413, "request_too_large", "a gigabyte")
        said, block, begun = 0, bytes(1 << 20), time.monotonic()
        try:
            while said < bad_requests.GIGABYTE:
                line.sendall(block)
                said += len(block)
        except OSError:
            pass
        expect(said < 64 << 20, f"{said >> 20} MiB were taken")
        expect(time.monotonic() - begun < 5, "the connection ended late")


def half_requests_are_ended(api):
    """All of them wait at the same time."""
    def wait(half):
        name, data = half
        with api.dial() as line:
            say(line, data)
            expect_error(hear(line), 408, "request_timeout", name)

    def wait_in_handshake(data):
        with api.dial_plain() as line:
            say(line, data)
            expect(b"HTTP/" not in hear(line), "an answer to nothing")

    hello = bad_requests.GARBAGE[2][1] if api.is_tls else b""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        jobs = [pool.submit(wait, half) for half in bad_requests.HALVES]
        jobs += [pool.submit(wait_in_handshake, data) for data in (b"", hello[:3], hello[:60])
                 if api.is_tls or not data]
        for job in jobs:
            job.result()


def requests_that_end_early_are_told(api):
    if api.is_tls:
        return  # Python's TLS ends both directions
    for name, data in bad_requests.HALVES:
        with api.dial() as line:
            say(line, data)
            line.shutdown(socket.SHUT_WR)
            expect_error(hear(line), 400, "bad_request", name)


def bodies_of_one_machine_leave_room(api):
    """Seventeen bodies of 4 MiB, each without its last byte, are more than the server stores."""
    head = bad_requests.POST + b"Content-Length: %d\r\n\r\n" % BODY_MAX
    lines = []
    for _ in range(17):
        line = api.dial()
        say(line, head + bytes(BODY_MAX - 1))
        lines.append(line)
    user = User(api.url, 0, 2)  # asks and reads
    expect(user.text, "no text beside the bodies")
    told = [hear(line) for line in lines]  # those that are not full yet wait for 10 s
    for line in lines:
        line.close()
    full = sum(b'"code":"full"' in one for one in told)
    late = sum(b'"code":"request_timeout"' in one for one in told)
    expect(full >= 1 and full + late == 17, f"{full} were told full, {late} late: {told[0]!r}")


def a_crowd_of_slow_readers_and_silent_ones_leaves_room(api):
    lines = []
    for i in range(CROWD):
        try:
            line = api.dial_plain()
        except OSError:
            continue  # the server refuses a machine's many handshakes
        lines.append(line)
        if i % 8 == 0 and not api.is_tls:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            say(line, bad_requests.get(b"/openapi.json") * 100)
    for path in ("/health", "/v1/models"):
        status, text = get(api.url, path)
        expect(status == 200, f"{path} in the crowd: {status} {text!r}")
    heard = b""
    if not api.is_tls:  # silent ones that made room were told so
        heard = hear(lines[1])
        expect_error(heard, 503, "full", "one of the crowd")
    for line in lines:
        line.close()


CHECKS = [
    each_bad_request_gets_one_error,
    a_gigabyte_is_not_read,
    half_requests_are_ended,
    requests_that_end_early_are_told,
    bodies_of_one_machine_leave_room,
    a_crowd_of_slow_readers_and_silent_ones_leaves_room,
]


def passes(check, api):
    name = check.__name__.replace("_", " ")
    begun = time.monotonic()
    try:
        check(api)
    except (Failed, OSError, ValueError, KeyError) as problem:
        print(f"FAILED {name}: {problem!r}", flush=True)
        return False
    print(f"ok {name} ({time.monotonic() - begun:.1f} s)", flush=True)
    return True


def main():
    api = Api(sys.argv[1], int(sys.argv[2]))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = memory_mib(api.pid)
    user = User(api.url, 1, 32)
    user.start()
    passed = [passes(check, api) for check in CHECKS]
    user.stop()
    peak = memory_mib(api.pid, "VmHWM")
    print(f"memory_mib before {before:.0f}, peak {peak:.0f}, after {memory_mib(api.pid):.0f}")
    print(f"honest texts {user.texts}, problems {user.problems[:3]}")
    good = all(passed) and not user.problems and user.texts > 1
    return 0 if good and peak - before < GROWTH_MIB_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
