"""Users of an API who do nothing wrong: their texts must stay what they are without an attack."""

import http.client
import json
import ssl
import threading
import time
import urllib.parse

REQUEST_S = 60  # of one read: the machine of a test has other work, too


def connection_to(url):
    """Certificates are not checked: the server makes its own at each start."""
    place = urllib.parse.urlsplit(url)
    if place.scheme == "https":
        return http.client.HTTPSConnection(
            place.hostname, place.port, timeout=REQUEST_S,
            context=ssl._create_unverified_context())
    return http.client.HTTPConnection(place.hostname, place.port, timeout=REQUEST_S)


def get(url, path):
    connection = connection_to(url)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


class User(threading.Thread):
    """Asks for the same greedy text until stop(), reads each as a stream, and compares them."""

    def __init__(self, url, number, tokens):
        super().__init__(daemon=True)
        self.problems = []
        self.texts = 0
        self._url = url
        self._body = {
            "prompt": f"Chapter {number + 1}. The old lighthouse",
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
        }
        self._stopped = threading.Event()
        self._times = []  # of each token: when it came, and how long after the one before
        self.text = self._read()[0]

    def run(self):
        while not self._stopped.is_set():
            try:
                text, times = self._read()
            except (OSError, ValueError, KeyError, http.client.HTTPException) as problem:
                self.problems.append(repr(problem))
                continue
            self.texts += 1
            self._times += times
            if text != self.text:
                self.problems.append(f"{text!r} was {self.text!r} without an attack")

    def stop(self):
        """Waits for the text under way."""
        self._stopped.set()
        self.join(REQUEST_S)
        if self.is_alive():
            self.problems.append("the last text did not end")

    def gaps_s(self, since, until):
        """Times per token of those that came between two values of time.monotonic()."""
        return [gap for at, gap in self._times if since <= at <= until]

    def _read(self):
        connection = connection_to(self._url)
        try:
            connection.request("POST", "/v1/completions", json.dumps(self._body))
            answer = connection.getresponse()
            if answer.status != 200:
                raise ValueError(f"status {answer.status}: {answer.read()!r}")
            return self._read_events(answer)
        finally:
            connection.close()

    @staticmethod
    def _read_events(answer):
        text, times, last = "", [], None
        for line in iter(answer.readline, b""):
            if line.strip() == b"data: [DONE]":
                return text, times
            if line.startswith(b"data: "):
                now = time.monotonic()
                text += json.loads(line[6:])["choices"][0]["text"]
                if last is not None:
                    times.append((now, now - last))
                last = now
        raise ValueError(f"the stream broke off after {text!r}")


def memory_mib(pid, field="VmRSS"):
    """Resident memory of a process now; with VmHWM the most that it was."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} tells no {field}")
