"""Output for a person at a terminal: a progress line that is overwritten, and coloured words. If the output is no
terminal, lines are plain.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from typing import TextIO

PLAIN_SECONDS = 10.0    # minimum number of seconds between two progress lines if standard error is no terminal
COLOURS = {"PASS": "32", "FAIL": "1;31", "SKIP": "33", "error:": "1;31", "note:": "36"}


class Progress:
    """Prints a progress line on standard error. `begin` starts the clock, `step` announces what is done next, and `end`
    removes the line.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.last, self.shown, self.before = time.monotonic(), False, ""

    def begin(self) -> None:
        self.last = time.monotonic()

    def step(self, text: str) -> None:
        """Announce what is done next. In a worker process, print nothing: only the main process prints the line."""
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
        """Print a line that is not overwritten."""
        self.end()
        put(f"note: {text}\n", sys.stderr)


PROGRESS = Progress()


class Unwritable(Exception):
    """Raised if standard output cannot be written, because the disk is full or the stream is closed."""


def opened() -> None:
    """Reopen closed standard streams on /dev/null, so that no other file gets their descriptors. Afterwards, standard
    input is empty, standard output cannot be written, and standard error is discarded. A character that a stream cannot
    print is escaped; it may be in the name of a file.
    """
    for number, (name, flags) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if number == 0 else "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def put(text: str, stream: TextIO) -> None:
    """Write text. On a terminal, the first word of a line is coloured, unless NO_COLOR is set. Raise Unwritable if
    standard output cannot be written.
    """
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
