"""An API under test, as checks see it: PyPI's client `openai`, raw requests, and its state.

Every wait has a deadline. A check that fails raises CheckFailed, or whatever the client raises.
"""

import http.client
import json
import time
import urllib.parse

import openai

REQUEST_S = 90  # of one request: the machine of a test has other work, too
STATE_S = 20


class CheckFailed(Exception):
    pass


def expect(condition, why):
    if not condition:
        raise CheckFailed(why)


def expect_equal(found, wanted, why):
    expect(found == wanted, f"{why}: found {found!r}, wanted {wanted!r}")


def expect_refused(error, call, *, param=None, code=None, says=""):
    """Expects that the client raises this error, with this field, code and message."""
    try:
        call()
    except error as refused:
        if param is not None:
            expect_equal(refused.param, param, "param of the error")
        if code is not None:
            expect_equal(refused.code, code, "code of the error")
        expect(says in refused.message, f"{says!r} is not in {refused.message!r}")
        return refused
    raise CheckFailed(f"was answered, and wanted {error.__name__} for {param or code or says}")


class Bed:
    def __init__(self, url, key, *, scarce_key=None, victim=None, golden=None):
        self.url = url.rstrip("/")
        self.key = key
        self.scarce_key = scarce_key  # has one request per minute
        self.victim = victim  # process id of a peer that may be killed
        self.golden = golden
        self.client = self.client_with(key)
        self.model = self.client.models.list().data[0].id

    def client_with(self, key):
        return openai.OpenAI(
            base_url=self.url + "/v1", api_key=key, timeout=REQUEST_S, max_retries=0
        )

    def chat(self, content="What is the capital of France?", **options):
        """Asks for a chat; `messages` may be given instead of the one user's content."""
        options.setdefault("messages", [{"role": "user", "content": content}])
        options.setdefault("temperature", 0)
        options.setdefault("max_tokens", 12)
        return self.client.chat.completions.create(model=self.model, **options)

    def text(self, prompt="Once upon a time", **options):
        options.setdefault("temperature", 0)
        options.setdefault("max_tokens", 12)
        return self.client.completions.create(model=self.model, prompt=prompt, **options)

    def raw(self, path, body=None, *, method=None, headers=None):
        """Sends bytes or JSON as they are; returns the status, the fields and the bytes."""
        place = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=REQUEST_S)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if headers is None:
            headers = {"Authorization": "Bearer " + self.key}
        method = method or ("GET" if body is None else "POST")
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, path, body=None):
        status, _, text = self.raw(path, body)
        expect_equal(status, 200, f"status of {path} ({text[:200]!r})")
        return json.loads(text)

    def error(self, path, body, status=400):
        """Expects an error in the shape of OpenAI's API, and returns its fields."""
        found, _, text = self.raw(path, body)
        expect_equal(found, status, f"status of {path} for {str(body)[:100]} ({text[:200]!r})")
        error = json.loads(text)["error"]
        expect_equal(sorted(error), ["code", "message", "param", "type"], "fields of an error")
        return error

    def state(self):
        return self.json("/api/state")

    def wait_for_state(self, is_reached, why, deadline_s=STATE_S):
        end = time.monotonic() + deadline_s
        while not is_reached(state := self.state()):
            expect(time.monotonic() < end, f"{why} not within {deadline_s} s: {str(state)[:300]}")
            time.sleep(0.05)
        return state


def joined(stream, choice=0):
    """Returns the text of a stream's choice; works for chats and for texts."""
    text = ""
    for piece in stream:
        for one in piece.choices:
            if one.index == choice:
                delta = getattr(one, "delta", None)
                text += (delta.content or "") if delta is not None else one.text
    return text
