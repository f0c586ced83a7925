"""Child processes that end when this process ends, for whatever reason.

Each child runs in a session of its own, which also contains the processes that the child starts, and a shell. The shell
waits for the child, and reads from a pipe to which only this process can write. When this process ends, even by
SIGKILL, the pipe ends, and the shell kills the session.
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
MOST_PASSING = 2000000.0    # maximum time in seconds that poll can wait, because it counts milliseconds in 31 bits
_running: "Set[subprocess.Popen[str]]" = set()
_lock = threading.Lock()
_ending = False


@dataclass(frozen=True)
class Limit:
    """The limits of a process.

    processor: the processor time of all its threads, in seconds.
    passing: the wall-clock time in seconds; it also ends a process that only waits.
    """

    processor: float
    passing: float

    @staticmethod
    def of(seconds: float, processors: int = 1) -> "Limit":
        """Return the limits of work that takes `seconds` on each of `processors`. The wall-clock limit is long enough
        for a busy machine, on which the work gets only a quarter of the time.
        """
        return Limit(seconds * processors, min(60 + 4 * seconds, MOST_PASSING))


@dataclass
class Done:
    """The result of a process that has ended.

    status: the exit status, or minus the number of the signal that ended it.
    out, err: what it wrote to standard output and standard error.
    exceeded: the limit that it exceeded, in words; "" if none.
    """

    status: int
    out: str
    err: str
    exceeded: str = ""


def run(command: Sequence[str], limit: Optional[Limit] = None, env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None) -> Done:
    """Run a command until it ends or exceeds a limit. Each process that it starts has the limit of processor time as
    well. Raise FileNotFoundError if there is no such program.
    """
    if not shutil.which(command[0]):
        raise FileNotFoundError(2, "No such file or directory", command[0])
    reading, writing = os.pipe()    # the pipe is not inherited, so that no other process keeps it open
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
    """Run a compiler with a folder for its temporary files, and remove the folder afterwards. A compiler that is killed
    does not remove its temporary files.
    """
    with jobs.temporary_folder("sett_compiler_") as folder:
        return run(command, env={**os.environ, "TMPDIR": folder})


def _kill(process: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    """Kill the processes for which other threads wait. Processes that these threads start later are killed at once."""
    global _ending
    with _lock:
        _ending = True
        for process in _running:
            _kill(process)
