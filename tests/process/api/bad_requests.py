"""Requests that no client of good faith sends, each with the one error that it gets.

A request is (name, bytes, status, code). The server ends the connection behind each error.
"""

HOST = b"Host: localhost\r\n"
POST = b"POST /v1/completions HTTP/1.1\r\n" + HOST
CHUNKS = b"Transfer-Encoding: chunked\r\n"
CHUNKED = POST + CHUNKS
BODY = b'{"prompt":"x","max_tokens":1}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
GIGABYTE = 1 << 30
SMUGGLED = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"  # what a second reading would find
EMPTY = b"\r\n0\r\n\r\n" + SMUGGLED  # behind a head: a body without chunks


def get(target, fields=b""):
    return b"GET " + target + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n"


def bad(name, data):
    return name, data, 400, "bad_request"


TOO_LARGE = [
    ("1 GB, as its length says", POST + b"Content-Length: %d\r\n\r\n" % GIGABYTE, 413,
     "request_too_large"),
    ("1 GB in one chunk", CHUNKED + b"\r\n%x\r\n" % GIGABYTE, 413, "request_too_large"),
    ("1 GB in chunks of 64 KiB", CHUNKED + b"\r\n" + (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 100,
     413, "request_too_large"),
    ("a head without an end", b"GET /" + b"A" * (1 << 20), 431, "head_too_large"),
    ("one large field", get(b"/", b"X: " + b"a" * (1 << 20) + b"\r\n"), 431, "head_too_large"),
    ("many fields", get(b"/", b"X: a\r\n" * 1000), 431, "too_many_fields"),
    bad("a chunk's line without an end", CHUNKED + b"\r\n1;" + b"e" * 100_000),
]

PATHS = [
    bad(f"path {target.decode()}", get(target))
    for target in (
        b"/../../etc/passwd", b"/v1/models/../../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd",
        b"/v1/models/..%2f..%2fetc%2fpasswd", b"/.%2e/etc", b"/%c0%ae%c0%ae/etc/passwd",
        b"http://localhost/../etc/passwd", b"/v1/models/a%00.gguf", b"/%0d%0aX:%20y", b"/%zz",
        b"etc/passwd")
]

LENGTHS = [
    bad("length and chunks", POST + LENGTH + CHUNKS + EMPTY),
    bad("chunks and length", CHUNKED + LENGTH + EMPTY),
    bad("the same length twice", POST + LENGTH + LENGTH + b"\r\n" + BODY + SMUGGLED),
    bad("two lengths", POST + LENGTH + b"Content-Length: 0\r\n\r\n" + SMUGGLED),
    bad("a list of lengths", POST + b"Content-Length: 0, 29\r\n\r\n" + SMUGGLED),
    bad("a negative length", POST + b"Content-Length: -1\r\n\r\n" + SMUGGLED),
    bad("a length beyond 64 bits", POST + b"Content-Length: 18446744073709551617" + EMPTY),
    bad("a length in hex", POST + b"Content-Length: 0x1d\r\n\r\n" + SMUGGLED),
    bad("a space before the colon", POST + CHUNKS.replace(b":", b" :") + EMPTY),
    bad("a folded field", POST + b"X: y\r\n " + CHUNKS + EMPTY),
    bad("chunks twice", CHUNKED + b"Transfer-Encoding: identity\r\n" + EMPTY),
    bad("chunks for HTTP/1.0", CHUNKED.replace(b"/1.1", b"/1.0") + EMPTY),
    bad("a bare CR", POST + b"X: y\rContent-Length: 0\r\n\r\n" + SMUGGLED),
    bad("bare LF", POST.replace(b"\r", b"") + b"\n" + SMUGGLED),
    bad("a chunk beyond 64 bits", CHUNKED + b"\r\n1000000000000000000\r\n" + SMUGGLED),
    bad("a chunk of -1", CHUNKED + b"\r\n-1\r\n" + SMUGGLED),
    ("a coding that nobody knows", POST + b"Transfer-Encoding: xchunked\r\n" + EMPTY, 501,
     "transfer_coding"),
    ("a coding before chunked", POST + b"Transfer-Encoding: gzip, chunked\r\n" + EMPTY, 501,
     "transfer_coding"),
]

GARBAGE = [
    bad("random bytes", bytes(range(128, 256)) * 50 + b"\r\n\r\n"),
    bad("zeros", bytes(1000)),
    bad("a hello of TLS", bytes.fromhex("1603010075010000710303") + bytes(100)),
    bad("a hello of SSH", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    bad("empty lines", b"\r\n" * 100),
    bad("a method alone", b"GET\r\n\r\n"),
    bad("a proxy's request", b"CONNECT localhost:22 HTTP/1.1\r\n" + HOST + b"\r\n"),
    bad("no host", b"GET / HTTP/1.1\r\n\r\n"),
    bad("two hosts", get(b"/", HOST)),
    bad("a zero in a field", get(b"/", b"X: a\0b\r\n")),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version"),
    ("a version to come", b"GET / HTTP/3.0\r\n" + HOST + b"\r\n", 505, "http_version"),
    ("a compressed body", POST + LENGTH + b"Content-Encoding: gzip\r\n\r\n" + BODY, 415,
     "content_coding"),
    ("an expectation", POST + LENGTH + b"Expect: miracles\r\n\r\n" + BODY, 417, "expectation"),
]

ALL = TOO_LARGE + PATHS + LENGTHS + GARBAGE

# These end in the middle: (name, bytes). Whoever waits is told after 10 s, and at once with an end.
HALVES = [
    ("half a line", b"POST /v1/compl"),
    ("half a head", POST + b"Content-Le"),
    ("a head without its body", POST + LENGTH + b"\r\n"),
    ("half a body", POST + LENGTH + b"\r\n" + BODY[:7]),
    ("a large body but its last byte",
     POST + b"Content-Length: %d\r\n\r\n" % (1 << 20) + b"x" * ((1 << 20) - 1)),
    ("half a chunk", CHUNKED + b"\r\n20\r\n" + BODY[:7]),
]
