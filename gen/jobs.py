"""Work on several inputs at a time, in a few processes. The answers come in the order of the inputs.

A worker process is told to stop when the caller stops (`parallel` is closed), and stops by itself when the caller is
gone. It stops as after Ctrl-C, by an exception, so that it cleans up. (concurrent.futures gives up all inputs if one
process is killed; here only that input fails, and another process continues with the next.)
"""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any, Callable, Dict, Generator, Iterator, List, Sequence, Tuple

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WAKE = signal.SIGUSR1       # its only effect is to end a wait


PATIENCE = 2.0      # seconds for clean-up, before another signal interrupts it


class Stopped(KeyboardInterrupt):
    """A signal that asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_stopped: List[Tuple[int, float]] = []      # the signal, and the time of its arrival
_late: List[int] = []                       # signals that wait for the end of a `held` block
_holds: List[None] = []


def _stop(number: int, frame: object) -> None:
    if not _stopped or time.monotonic() > _stopped[-1][1] + PATIENCE:      # a terminal and ninja may each send one
        _stopped.append((number, time.monotonic()))
        _raise(number)


def _raise(number: int) -> None:
    if not _holds:
        raise Stopped(number)
    _late.append(number)


@contextmanager
def held() -> Iterator[None]:
    """Delay Stopped to the end of the block."""
    if threading.current_thread() is not threading.main_thread():   # Stopped is never raised there
        yield
        return
    _holds.append(None)
    try:
        yield
    finally:
        _holds.pop()
        if _late and not _holds:
            raise Stopped(_late.pop())


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Make a temporary folder that is removed with the block, whenever Stopped is raised. (tempfile's own stays if
    Stopped is raised at the wrong moment.)"""
    folder = None
    try:
        with held():
            folder = tempfile.TemporaryDirectory(prefix=prefix)
        yield folder.name
    finally:
        with held():
            if folder:
                folder.cleanup()


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[str]:
    """Yield the name of a temporary file beside a path; it replaces the path at the end of the block, so that no reader
    sees half a file. After an exception it is removed."""
    name = None
    try:
        with held():
            handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
            os.close(handle)
        yield name
        os.chmod(name, mode)
        os.replace(name, path)
    finally:
        with held():
            if name:
                Path(name).unlink(missing_ok=True)


def _swallowed(what: Any) -> None:
    """Raise Stopped once more if it was raised where Python ignores exceptions: in a destructor, in the callback of a
    weak reference (each import has one), or of a fork."""
    if isinstance(what.exc_value, Stopped):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(what)


def _again(number: int, frame: object) -> None:
    _raise(_stopped[-1][0])


def stoppable() -> None:
    """Let signals that end a process raise Stopped from now on, except those that its parent has made it ignore."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    signal.signal(signal.SIGALRM, _again)
    signal.signal(WAKE, lambda number, frame: None)
    sys.unraisablehook = _swallowed
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wake, args=(reading, threading.get_ident()), daemon=True).start()


def _wake(reading: int, main: int) -> None:
    """End the main thread's wait after each signal, repeatedly for a second: a signal that arrives just before a wait
    begins does not end the wait, and Python handles the signal only afterwards."""
    while True:
        if set(os.read(reading, 64)) - {WAKE}:
            for _ in range(10):
                time.sleep(0.1)
                signal.pthread_kill(main, WAKE)


@dataclass
class Outcome:
    """The outcome of the work on one input: an exit status and a value; its output, if that was held back until its
    turn."""

    status: int
    value: Any = None
    out: str = ""
    err: str = ""


Work = Callable[[Any], Tuple[int, Any]]


def parallel(work: Work, items: Sequence[Any], jobs: int,
             announce: Callable[[int, Any], None] = lambda done, item: None) -> Generator[Outcome, None, None]:
    """Yield the outcome of work(item) for each item, with at most `jobs` at a time. announce(number of finished items,
    item) is called before work on an item begins. With one job or one item, no process is started and output appears at
    once."""
    if jobs <= 1 or len(items) <= 1:
        for number, item in enumerate(items):
            announce(number, item)
            yield Outcome(*work(item))
        return
    fork, waiting = multiprocessing.get_context("fork"), list(range(len(items)))[::-1]
    gc.freeze()     # worker processes do not search older objects for garbage
    ready: Any
    started: List[Any] = []
    workers: Dict[Any, Tuple[int, Any]] = {}    # the number of the item and the worker, by the pipe to the worker
    answers: Dict[int, Outcome] = {}

    def begin(pipe: Any, process: Any) -> None:
        announce(len(answers), items[waiting[-1]])
        workers[pipe] = waiting.pop(), process
        with suppress(OSError):     # of a process that was killed; no answer comes
            pipe.send(workers[pipe][0])

    try:
        for number in range(len(items)):
            while number not in answers:
                while waiting and len(workers) < jobs:
                    pipe, end = fork.Pipe()
                    with held():    # until the processes to stop are known
                        process = fork.Process(target=_work, args=(work, items, end))
                        process.start()
                        started.append(process)
                    end.close()
                    begin(pipe, process)
                for ready in connection.wait(workers):
                    answered, process = workers[ready]
                    answers[answered] = _outcome(ready, process)
                    del workers[ready]
                    if process.exitcode is None and waiting:
                        begin(ready, process)
                    elif process.exitcode is None:
                        with suppress(OSError):
                            ready.send(None)
                        process.join()
            yield answers[number]
    finally:
        gc.unfreeze()
        for process in started:
            process.terminate()     # the other workers
        for process in started:
            process.join()


def _work(work: Work, items: Sequence[Any], pipe: Any) -> None:
    """Run a worker process: it receives numbers of items, and None at the end; it sends the outcomes, with the output
    of the work."""
    os.setpgid(0, 0)    # Ctrl-C reaches the caller only, which passes it on once
    stoppable()
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_until_gone, daemon=True).start()
    _holds.clear()      # those of the caller
    while not _late:
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        number = pipe.recv()
        if number is None:
            return
        try:
            status, value = work(items[number])
        except Exception:
            traceback.print_exc()
            status, value = 1, None
        pipe.send(Outcome(status, value, sys.stdout.getvalue(), sys.stderr.getvalue()))


def _until_gone() -> None:
    caller = multiprocessing.parent_process()
    connection.wait([caller.sentinel] if caller else [])
    os.kill(os.getpid(), signal.SIGTERM)


def _outcome(pipe: Any, process: Any) -> Outcome:
    """Return the outcome of a worker; if the worker has ended instead, its exit code is known."""
    try:
        answer: Outcome = pipe.recv()
    except (EOFError, OSError):
        process.join()
        code = process.exitcode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        answer = Outcome(3, None, "", f"error: the process ended by {how}: run fewer at a time, with --jobs 1\n")
    return answer


def overall(statuses: List[int]) -> int:
    """Return the exit status of several runs: a mismatch (1) before bad input (2) before a missing tool (3)."""
    return min((status for status in statuses if status), default=0)
