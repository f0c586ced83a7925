"""Output for a person at a terminal: a progress line that is overwritten, and words in colour. Without a terminal, all
lines are plain."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from typing import TextIO

PLAIN_SECONDS = 10.0    # without a terminal, progress lines are at least this many seconds apart
COLOURS = {"PASS": "32", "FAIL": "1;31", "SKIP": "33", "error:": "1;31", "note:": "36"}


class Progress:
    """Prints progress on standard error: `begin` starts the clock of a command, `step` begins a part, `end` removes the
    line."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.last, self.shown, self.before = time.monotonic(), False, ""

    def begin(self) -> None:
        self.last = time.monotonic()

    def step(self, text: str) -> None:
        """Announce the part that begins. Worker processes print nothing: the line belongs to the main process."""
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
        """Print a line that stays."""
        self.end()
        put(f"note: {text}\n", sys.stderr)


PROGRESS = Progress()


class Unwritable(Exception):
    """Standard output cannot be written: a full disk, or a closed stream."""


def opened() -> None:
    """Reopen closed standard streams on /dev/null, so that no other file gets their descriptors. Standard input is then
    empty, standard output cannot be written, and standard error discards all."""
    for number, (name, flags) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if number == 0 else "w"))


def put(text: str, stream: TextIO) -> None:
    """Write lines. On a terminal, the first word of a line is coloured, unless NO_COLOR is set. Raise Unwritable if
    standard output cannot be written."""
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
