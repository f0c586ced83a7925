"""Work on several inputs at a time, in a few processes. The answers come in the order of the inputs, whichever ends
first.

A process of work is told to stop when the caller stops (`parallel` is closed), and stops by itself when the caller is
gone. It stops as from Ctrl-C: by an exception, so that what it has begun is cleaned up.
(concurrent.futures gives up all inputs where one process is killed; here that input alone fails, and another process
goes on with the next.)
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
WAKE = signal.SIGUSR1       # does nothing but end a wait


PATIENCE = 2.0      # seconds to clean up in, before another signal interrupts that


class Stopped(KeyboardInterrupt):
    """A signal asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_stopped: List[Tuple[int, float]] = []      # the signal, and when it came
_late: List[int] = []                       # signals that wait for the end of what holds them
_holds: List[None] = []


def _stop(number: int, frame: object) -> None:
    if not _stopped or time.monotonic() > _stopped[-1][1] + PATIENCE:      # a terminal and ninja may send one each
        _stopped.append((number, time.monotonic()))
        _raise(number)


def _raise(number: int) -> None:
    if not _holds:
        raise Stopped(number)
    _late.append(number)


@contextmanager
def held() -> Iterator[None]:
    """Stopped is raised after the block, not within."""
    if threading.current_thread() is not threading.main_thread():   # where it is never raised
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
    """A folder that goes with the block, whenever Stopped is raised. (tempfile's own stays where that is just then.)"""
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
    """The name of a file beside a path, which it becomes at the end of the block: no reader sees half of it. After an
    exception it is gone."""
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
    """Python goes on after an exception in a destructor, in the callback of a weak reference (each import has one) or
    of a fork: Stopped is raised once more."""
    if isinstance(what.exc_value, Stopped):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(what)


def _again(number: int, frame: object) -> None:
    _raise(_stopped[-1][0])


def stoppable() -> None:
    """From here on signals that end a process raise Stopped, but for those that its parent has it ignore."""
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
    """Ends the main thread's wait after each signal, some times for a second. A signal that comes just before a wait
    begins does not end it, and Python hears of the signal only then."""
    while True:
        if set(os.read(reading, 64)) - {WAKE}:
            for _ in range(10):
                time.sleep(0.1)
                signal.pthread_kill(main, WAKE)


@dataclass
class Outcome:
    """The answer of the work on one input: an exit status and a value; what it wrote, where that was kept back until
    its turn."""

    status: int
    value: Any = None
    out: str = ""
    err: str = ""


Work = Callable[[Any], Tuple[int, Any]]


def parallel(work: Work, items: Sequence[Any], jobs: int,
             announce: Callable[[int, Any], None] = lambda done, item: None) -> Generator[Outcome, None, None]:
    """The answers of work(item) for each item, at most `jobs` at a time. Before work on an item begins,
    announce(number of items done, item) is called. With one job or item there is no other process, and what the work
    writes appears at once."""
    if jobs <= 1 or len(items) <= 1:
        for number, item in enumerate(items):
            announce(number, item)
            yield Outcome(*work(item))
        return
    fork, waiting = multiprocessing.get_context("fork"), list(range(len(items)))[::-1]
    gc.freeze()     # no process looks for garbage among what was there before it
    ready: Any
    started: List[Any] = []
    workers: Dict[Any, Tuple[int, Any]] = {}    # the number of the item and the process, by the pipe to the process
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
                    with held():    # until it is known who has to be told
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
            process.terminate()     # those that go on
        for process in started:
            process.join()


def _work(work: Work, items: Sequence[Any], pipe: Any) -> None:
    """The life of a process of work: it is sent numbers of items, None at the end, and sends the answers, with what the
    work writes."""
    os.setpgid(0, 0)    # Ctrl-C reaches the caller alone, which passes it on once
    stoppable()
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_until_gone, daemon=True).start()
    _holds.clear()      # the caller's
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
    """The answer of a process. Where it has ended instead, its exit code is known afterwards."""
    try:
        answer: Outcome = pipe.recv()
    except (EOFError, OSError):
        process.join()
        code = process.exitcode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        answer = Outcome(3, None, "", f"error: the process ended by {how}: run fewer at a time, with --jobs 1\n")
    return answer


def overall(statuses: List[int]) -> int:
    """The exit status of several: a mismatch (1) before bad input (2) before a missing tool (3)."""
    return min((status for status in statuses if status), default=0)
