"""What a person at a terminal sees: a line of progress that is written over, and words in colour. Elsewhere all lines
are plain."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from typing import TextIO

PLAIN_SECONDS = 10.0    # where there is no terminal, a line of progress at most this often
COLOURS = {"PASS": "32", "FAIL": "1;31", "SKIP": "33", "error:": "1;31", "note:": "36"}


class Progress:
    """Says on standard error what is under way: `begin` starts the clock of a command, `step` begins a part, `end` takes
    the line away."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.last, self.shown, self.before = time.monotonic(), False, ""

    def begin(self) -> None:
        self.last = time.monotonic()

    def step(self, text: str) -> None:
        """The part that begins now. Processes that work for this one say nothing: the line is its own."""
        if os.getpid() != self.process:
            return
        text = self.before + text
        if sys.stderr.isatty():
            print(f"\r\033[K{text[:shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
            self.shown = True
        elif time.monotonic() - self.last >= PLAIN_SECONDS:
            print(f"note: {text}", file=sys.stderr, flush=True)
            self.last = time.monotonic()

    def end(self) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.shown = False

    def note(self, text: str) -> None:
        """A line that stays."""
        self.end()
        put(f"note: {text}\n", sys.stderr)


PROGRESS = Progress()


class Unwritable(Exception):
    """Standard output takes no more: a full disk, or a stream that is closed."""


def opened() -> None:
    """Gives each standard stream that is closed its descriptor back, so that no other file gets it: one without input,
    one that cannot be written, and for errors one that keeps nothing."""
    for number, (name, flags) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if number == 0 else "w"))


def put(text: str, stream: TextIO) -> None:
    """Writes lines; the word that a line begins with is coloured on a terminal, unless NO_COLOR is set. Unwritable
    where standard output takes them no more."""
    if stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = re.sub(rf"^( *)({'|'.join(COLOURS)})(?=\s)",
                      lambda match: f"{match[1]}\033[{COLOURS[match[2]]}m{match[2]}\033[0m", text, flags=re.M)
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if stream is sys.stdout:
            raise Unwritable(error.strerror) from None
