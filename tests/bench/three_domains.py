#!/usr/bin/env python3
"""Writes the three texts on which `swarm stack judge` was measured for RESULTS.md.

    ./swarm.sh build
    python3 tests/bench/three_domains.py FOLDER      # novels.txt, python.txt, manuals.txt

Each text has 2,400,000 bytes. Novels are the beginning of the demo's corpus. Python is the standard
library of Debian's Python 3.11: files below 60 kB without tests, in the order of their paths.
Manuals are the pages of the package manpages-dev without their markup, in the order of their paths;
the package is downloaded with apt-get. A text whose SHA-256 differs from the published one is
written all the same and reported, because another release of a package has other files.
"""

import argparse
import gzip
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT_BYTES = 2_400_000
FILE_BYTES_MAX = 60 * 1024
PAGES = "manpages-dev=6.03-2"
PYTHON = Path("/usr/lib/python3.11")
BEGINS = {"novels": "73417db2", "python": "505f6220", "manuals": "1a0db754"}
TEXT_MACROS = {"SH", "SS", "B", "I", "R", "BI", "BR", "IB", "IR", "RB", "RI", "SM"}
ESCAPES = re.compile(r"\\f[A-Z]|\\f\(..|\\[&|^]")


def novels():
    cache = os.environ.get("SWARM_DEPS", str(Path.home() / ".cache" / "swarm"))
    return Path(cache, "corpus", "austen.txt").read_bytes()


def python():
    def is_taken(path):
        inner = str(path.relative_to(PYTHON))
        small = -(-path.lstat().st_size // 1024) < FILE_BYTES_MAX // 1024
        return small and "/test" not in "/" + inner and "test" not in path.name

    files = [path for path in PYTHON.rglob("*.py") if path.is_file() and is_taken(path)]
    return b"".join(path.read_bytes() for path in sorted(files, key=lambda path: str(path).encode()))


def plain(page):
    """The text of a page from its first section on, without macros and fonts."""
    lines = []
    for line in page[page.index(".SH") :].split("\n"):
        if line.startswith(("'", '.\\"')):
            continue
        if line.startswith("."):
            macro, _, rest = line[1:].partition(" ")
            line = rest if macro in TEXT_MACROS else ""
        line = ESCAPES.sub("", line).replace("\\-", "-").replace("\\ ", " ")
        if line:
            lines.append(line + "\n")
    return "".join(lines)


def manuals():
    with tempfile.TemporaryDirectory() as folder:
        get = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", PAGES]
        subprocess.run(get, cwd=folder, check=True)
        package = next(Path(folder).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        pages = [path for path in Path(folder).rglob("*.gz") if not path.is_symlink()]
        texts = [gzip.decompress(path.read_bytes()).decode() for path in sorted(pages)]
    return "".join(plain(text) for text in texts if ".SH" in text).encode()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, read in (("novels", novels), ("python", python), ("manuals", manuals)):
        text = read()[:TEXT_BYTES]
        if len(text) < TEXT_BYTES:
            sys.exit(f"{name} has only {len(text):,} of {TEXT_BYTES:,} bytes")
        (folder / f"{name}.txt").write_bytes(text)
        digest = hashlib.sha256(text).hexdigest()
        same = digest.startswith(BEGINS[name])
        print(f"{name}.txt  {digest}{'' if same else '  (not the published text)'}")


if __name__ == "__main__":
    main()
