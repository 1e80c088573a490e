#!/usr/bin/env python3
"""Records a program in a terminal and writes the session as one animated SVG.

    ./swarm.sh build
    python3 tests/bench/record_demo.py                 # writes tests/bench/demo.svg

The program runs in a pseudo-terminal, and every change of the screen is kept with its time. In the
picture each line of the session is one <text> element. CSS animations show and hide the lines at
their (shortened) times and scroll the screen. Without animations, and where a reader asks for
reduced motion, the picture is the last screen. It needs no font, script or file besides itself,
and has its own background, which follows the reader's light or dark scheme.

The recorder understands what swarm writes to a terminal: text, newline, carriage return and "erase
to the end of the line". It ignores other escape sequences. It adds the prompt with the command and
the colour of warnings; everything else is the program's own output.
"""

import argparse
import codecs
import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BYTES_MAX = 200_000
FONT_PX, CELL_PX, LINE_PX, MARGIN_PX = 13, 7.83, 18, 16
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|[^\[])")

STYLE = """
text {
  font: %(font)dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: #d5dde6; white-space: pre }
rect { fill: #10151c; stroke: #3d4753 }
.warning { fill: #e8b04b }
.prompt { fill: #7cc48f }
@media (prefers-color-scheme: light) {
  text { fill: #1c2530 }
  rect { fill: #f8f9fa; stroke: #c3cad2 }
  .warning { fill: #8a5a00 }
  .prompt { fill: #1f7a3a }
}
.gone { visibility: hidden }
@media (prefers-reduced-motion: no-preference) {
  .moves { animation-duration: %(seconds).2fs; animation-timing-function: step-end;
    animation-iteration-count: infinite }
}
"""


class Screen:
    """Rows of text without an upper end. It remembers when each row had which text."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.since = [""], [0.0]
        self.row = self.column = 0
        self.shown = []  # (row, text, from, until); until is None for the last screen
        self.tops = [(0.0, 0)]  # (from, first row on the screen)

    def feed(self, text, now):
        while text:
            escape = ESCAPE.match(text)
            if escape:
                if escape.group(1).endswith("K"):
                    self._set(self.lines[self.row][: self.column], now)
                text = text[escape.end() :]
                continue
            self._put(text[0], now)
            text = text[1:]

    def _put(self, letter, now):
        if letter == "\n":
            self._down(now)
        elif letter == "\r":
            self.column = 0
        elif letter.isprintable():
            if self.column == self.columns:
                self._down(now)
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self._set(line[: self.column] + letter + line[self.column + 1 :], now)
            self.column += 1

    def _down(self, now):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")
            self.since.append(now)
        top = max(0, self.row - self.rows + 1)
        if top > self.tops[-1][1]:
            self.tops.append((now, top))

    def _set(self, line, now):
        if self.lines[self.row].strip() and now > self.since[self.row]:
            self.shown.append((self.row, self.lines[self.row], self.since[self.row], now))
        self.lines[self.row], self.since[self.row] = line, now

    def close(self):
        """Ends the session. Empty lines at its end are not worth a place on the last screen."""
        for row, line in enumerate(self.lines):
            if line.strip():
                self.shown.append((row, line, self.since[row], None))
                top_max = max(0, row - self.rows + 1)
        self.tops = [(since, top) for since, top in self.tops if top <= top_max]


def run(command, screen):
    """Runs the command in a terminal of the screen's size; its exit code and its seconds."""
    process, terminal = pty.fork()
    if process == 0:
        size = struct.pack("HHHH", screen.rows, screen.columns, 0, 0)
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(command[0], command)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begin = time.monotonic()
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # Linux reports the end of the other side as an error
            data = b""
        if not data:
            break
        sys.stderr.buffer.write(data)
        sys.stderr.flush()
        screen.feed(decoder.decode(data), time.monotonic() - begin)
    screen.close()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), time.monotonic() - begin


def shorter(screen, speed, pause_max):
    """Maps each time of the session to a time of the picture; pauses are at most `pause_max`."""
    changes = {at for line in screen.shown for at in line[2:] if at is not None}
    times = sorted(changes | {at for at, _ in screen.tops})
    mapped, at, last = {}, 0.0, 0.0
    for real in times:
        at += min((real - last) / speed, pause_max)
        mapped[real], last = at, real
    return mapped


def svg(screen, title, speed, pause_max, hold):
    at = shorter(screen, speed, pause_max)
    seconds = max(at.values()) + hold
    share = lambda real: f"{100 * at[real] / seconds:.2f}%"
    last_top = screen.tops[-1][1] * LINE_PX
    width = round(screen.columns * CELL_PX + 2 * MARGIN_PX)
    height = screen.rows * LINE_PX + 2 * MARGIN_PX
    moves, body = [], []
    for number, (row, line, begin, end) in enumerate(sorted(screen.shown)):
        classes = [] if end is None else ["gone"]
        classes += ["warning"] if line.startswith("warning:") else []
        classes += ["prompt"] if row == 0 else []
        name = ""
        if begin > 0 or end is not None:
            classes.append("moves")
            name = f' style="animation-name:l{number}"'
            hidden = "0%{visibility:hidden}" if begin > 0 else ""
            shown = f"{share(begin)}{{visibility:visible}}"
            after = f"{share(end)}{{visibility:hidden}}" if end is not None else ""
            moves.append(f"@keyframes l{number}{{{hidden}{shown}{after}}}")
        kind = f' class="{" ".join(classes)}"' if classes else ""
        text = html.escape(line.rstrip(), quote=False)
        body.append(f'<text{kind}{name} y="{row * LINE_PX + FONT_PX}">{text}</text>')
    tops = "".join(
        f"{share(since)}{{transform:translateY({-top * LINE_PX}px)}}" for since, top in screen.tops
    )
    moves.append(f"@keyframes scroll{{{tops}}}")
    style = STYLE % {"font": FONT_PX, "seconds": seconds}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{style}{chr(10).join(moves)}\n</style>",
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<svg x="{MARGIN_PX}" y="{MARGIN_PX}" width="{width - 2 * MARGIN_PX}" '
        f'height="{screen.rows * LINE_PX}">',
        f'<g class="moves" style="animation-name:scroll" transform="translate(0 {-last_top})">',
        *body,
        "</g></svg></svg>",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description="Records a program in a terminal as an animated SVG.",
        epilog="Without a command it records the demo: build/release/swarm local --demo.",
    )

    def option(name, default, text):
        parser.add_argument(name, type=type(default), default=default, help=f"{text} ({default})")

    parser.add_argument("--out", type=Path, default=HERE / "demo.svg", help="the picture to write")
    option("--columns", 100, "columns of the terminal")
    option("--rows", 34, "rows of the terminal")
    option("--speed", 4.0, "how many times faster than the run")
    option("--pause", 1.2, "longest pause in the picture, in seconds")
    option("--hold", 8.0, "seconds for which the last screen stays")
    parser.add_argument("--shown-as", help="the command as the picture shows it")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="program and arguments")
    options = parser.parse_args()
    given = options.command[1:] if options.command[:1] == ["--"] else options.command
    command = given or [str(ROOT / "build/release/swarm"), "local", "--demo"]
    shown_as = options.shown_as or " ".join([Path(command[0]).name, *command[1:]])

    screen = Screen(options.columns, options.rows)
    screen.feed(f"$ {shown_as}\r\n", 0.0)
    code, took = run(command, screen)
    if code != 0:
        return f"{shown_as} ended with {code}: nothing is written"
    title = f"{shown_as}: a run of {took:.0f} seconds, shown {options.speed:g} times faster"
    picture = svg(screen, title, options.speed, options.pause, options.hold).encode()
    if len(picture) > BYTES_MAX:
        return f"the picture would have {len(picture)} bytes, more than {BYTES_MAX}"
    options.out.write_bytes(picture)
    print(f"{options.out}: {len(picture)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
