"""Child processes that end with this process, however it ends.

Each child runs in a session of its own, under a shell that waits for two events: the end of the child, and the end of a
pipe that only this process can write to. When this process is gone, killed or not, the pipe ends, and the shell kills
the session: the child and all that it started.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Mapping, Optional, Sequence, Set

from gen import jobs

LEASH = """exec 3<&0 < /dev/null
"$@" 3<&- & child=$!
(read -r line <&3; kill -KILL 0) > /dev/null 2>&1 & watch=$!
exec 3<&-
wait $child 2> /dev/null
status=$?
kill -KILL $watch
wait $watch 2> /dev/null
exit $status
"""
MOST_PASSING = 2000000.0    # longest wait of poll in seconds: milliseconds in 31 bits
_running: "Set[subprocess.Popen[str]]" = set()
_lock = threading.Lock()
_ending = False


@dataclass(frozen=True)
class Limit:
    """The limits of a process. processor: seconds of processor time, of all threads. passing: seconds of wall-clock
    time, against a process that waits for ever."""

    processor: float
    passing: float

    @staticmethod
    def of(seconds: float, processors: int = 1) -> "Limit":
        """Return the limit for work of `seconds` on each of `processors`. On a busy machine, such work may get a
        quarter of the time."""
        return Limit(seconds * processors, min(60 + 4 * seconds, MOST_PASSING))


@dataclass
class Done:
    """The end of a process: its exit status, or minus the signal that ended it; its output; the limit that ended it, or
    ""."""

    status: int
    out: str
    err: str
    exceeded: str = ""


def run(command: Sequence[str], limit: Optional[Limit] = None, env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None) -> Done:
    """Run a command to its end, or to a limit; each process that it starts has the same limit of processor time.
    FileNotFoundError if there is no such program."""
    if not shutil.which(command[0]):
        raise FileNotFoundError(2, "No such file or directory", command[0])
    reading, writing = os.pipe()    # not inherited: no other process holds it open
    try:
        with _lock:
            script = f"ulimit -S -t {math.ceil(limit.processor)}\n{LEASH}" if limit else LEASH
            process = subprocess.Popen(["/bin/sh", "-c", script, "sh", *command], stdin=reading, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                       env=env, cwd=cwd)
            _running.add(process)
            if _ending:
                _kill(process)
        exceeded = ""
        try:
            out, err = process.communicate(timeout=limit.passing if limit else None)
        except BaseException as stopped:
            _kill(process)
            out, err = process.communicate()
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            exceeded = f"{limit.passing:g} s" if limit else ""
        finally:
            with _lock:
                _running.discard(process)
    finally:
        os.close(reading)
        os.close(writing)
    status = process.returncode
    if limit and status == 128 + signal.SIGXCPU:
        exceeded = f"{math.ceil(limit.processor)} s of processor time"
    return Done(128 - status if status > 128 else status, out, err, exceeded)


def compiler(command: Sequence[str]) -> Done:
    """Run as `run` does, with a folder for temporary files that is removed afterwards, because a killed compiler leaves
    its temporary files behind.
    """
    with jobs.temporary_folder("sett_compiler_") as folder:
        return run(command, env={**os.environ, "TMPDIR": folder})


def _kill(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    """End the processes that other threads wait for, and those that they start from now on."""
    global _ending
    with _lock:
        _ending = True
        for process in _running:
            _kill(process)
