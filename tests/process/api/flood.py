"""Floods one port with connections of which no client of good faith opens so many.

usage: flood.py URL SECONDS   URL says by https that half a handshake of TLS is sent

2,000 connections per second come from 50 addresses of one network. Half of them stall: they send
the beginning of a head, or the first message of a handshake, and wait. The others send a bad
request each, and leave with its answer. Prints lines "NAME VALUE".
"""
import collections
import resource
import select
import socket
import ssl
import struct
import sys
import time
import urllib.parse

import bad_requests

PER_S = 2000
ADDRESSES = [f"127.0.9.{number}" for number in range(1, 51)]
STALL_S = 15  # longer than the server waits
OPEN_MAX = 12_000
IP_BIND_ADDRESS_NO_PORT = 24  # else an address has one connection per port to all servers
RESET = struct.pack("ii", 1, 0)  # the client's system keeps no memory of the connection


def hello():
    """The first message of a handshake."""
    context = ssl._create_unverified_context()
    sent = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()


class Flood:
    def __init__(self, url):
        place = urllib.parse.urlsplit(url)
        self.address = (place.hostname, place.port)
        self.half = hello() if place.scheme == "https" else bad_requests.HALVES[1][1]
        self.small = [request[1] for request in bad_requests.ALL if len(request[1]) < 4096]
        self.open = {}  # by descriptor: socket, and whether it stalls
        self.stalled = collections.deque()  # (time, descriptor, socket), in order
        self.counts = collections.Counter()
        self.epoll = select.epoll()

    def dial(self):
        number = self.counts["offered"]
        self.counts["offered"] += 1
        line = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        line.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        try:
            line.bind((ADDRESSES[number % len(ADDRESSES)], 0))
            line.connect_ex(self.address)
        except OSError:
            self.counts["no_port"] += 1
            return line.close()
        self.open[line.fileno()] = line, number % 2 == 0
        self.stalled.append((time.monotonic(), line.fileno(), line))
        self.epoll.register(line.fileno(), select.EPOLLOUT)

    def leave(self, descriptor, why):
        self.counts[why] += 1
        self.open.pop(descriptor)[0].close()

    def work(self, descriptor, events):
        line, stalls = self.open[descriptor]
        try:
            if events & select.EPOLLOUT and not events & (select.EPOLLERR | select.EPOLLHUP):
                self.counts["connected"] += 1
                number = self.counts["connected"]
                line.send(self.half if stalls else self.small[number % len(self.small)])
                self.epoll.modify(descriptor, select.EPOLLIN)
            elif not line.recv(4096):
                self.leave(descriptor, "closed")
            elif not stalls:
                self.leave(descriptor, "answered")
        except OSError:
            self.leave(descriptor, "reset")

    def forget_old(self):
        old = time.monotonic() - STALL_S
        while self.stalled and (self.stalled[0][0] < old or len(self.open) > OPEN_MAX):
            _, descriptor, line = self.stalled.popleft()
            if self.open.get(descriptor, (None,))[0] is line:
                self.leave(descriptor, "left")

    def run(self, seconds):
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < seconds:
            while self.counts["offered"] < now * PER_S:
                self.dial()
            self.forget_old()
            for descriptor, events in self.epoll.poll(0.001):
                if descriptor in self.open:
                    self.work(descriptor, events)
        for name in ("offered", "connected", "answered", "closed", "reset", "no_port"):
            print(f"{name}_per_s {self.counts[name] / seconds:.0f}")
        self.epoll.close()


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Flood(sys.argv[1]).run(float(sys.argv[2]))


main()
