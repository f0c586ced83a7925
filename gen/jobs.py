"""Work on several inputs at the same time, in worker processes. The results are returned in the order of the inputs.

A worker stops when the caller closes `parallel`, and also when the caller is gone. It then raises an exception, as
after Ctrl-C, so that it can clean up. If a worker is killed, only its input fails, and another worker continues with
the next input. (concurrent.futures would give up all inputs.)
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
WAKE = signal.SIGUSR1       # a signal whose only effect is that it ends a wait


PATIENCE = 2.0      # seconds during which further signals do not interrupt the clean-up


class Stopped(KeyboardInterrupt):
    """Raised when a signal asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_stopped: List[Tuple[int, float]] = []      # the signals that have arrived, with their times
_late: List[int] = []                       # signals that arrived in a `held` block, and are raised after it
_holds: List[None] = []


def _stop(number: int, frame: object) -> None:
    # a terminal and ninja may both send a signal for the same Ctrl-C
    if not _stopped or time.monotonic() > _stopped[-1][1] + PATIENCE:
        _stopped.append((number, time.monotonic()))
        _raise(number)


def _raise(number: int) -> None:
    if not _holds:
        raise Stopped(number)
    _late.append(number)


@contextmanager
def held() -> Iterator[None]:
    """Delay Stopped until the block has ended."""
    if threading.current_thread() is not threading.main_thread():   # Stopped is raised only in the main thread
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
    """Create a temporary folder, and remove it after the block, at whatever moment Stopped is raised. (A folder of the
    module tempfile can be left over if Stopped is raised while it is created.)
    """
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
    """Yield the name of a temporary file next to `path`. At the end of the block, the file is renamed to `path`, so
    that no reader sees an incomplete file. If the block raises an exception, the file is removed.
    """
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


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make an OSError of the block name the file `path`, not a temporary file or none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _swallowed(what: Any) -> None:
    """Raise Stopped again after it was raised where Python ignores exceptions: in a destructor, in the callback of a
    weak reference (each import has one), or in a callback of fork.
    """
    if isinstance(what.exc_value, Stopped):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(what)


def _again(number: int, frame: object) -> None:
    _raise(_stopped[-1][0])


def stoppable() -> None:
    """From now on, raise Stopped when a signal asks this process to end. A signal that the parent process has made this
    process ignore is still ignored.
    """
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
    """After each signal, end the wait of the main thread, repeatedly for a second. Without this, a signal that arrives
    just before a wait begins would not end it, and Python would handle the signal only after the wait.
    """
    while True:
        if set(os.read(reading, 64)) - {WAKE}:
            for _ in range(10):
                time.sleep(0.1)
                signal.pthread_kill(main, WAKE)


@dataclass
class Outcome:
    """The result of the work on one input: its exit status and its value, and the output that it wrote if the output
    was collected.
    """

    status: int
    value: Any = None
    out: str = ""
    err: str = ""


Work = Callable[[Any], Tuple[int, Any]]


def parallel(work: Work, items: Sequence[Any], jobs: int,
             announce: Callable[[int, Any], None] = lambda done, item: None) -> Generator[Outcome, None, None]:
    """Yield the outcome of work(item) for each item. At most `jobs` items are in work at the same time. With one job or
    one item, no process is started, and output appears at once.

    announce(number of finished items, item) is called before the work on an item begins.
    """
    if jobs <= 1 or len(items) <= 1:
        for number, item in enumerate(items):
            announce(number, item)
            yield Outcome(*work(item))
        return
    fork, waiting = multiprocessing.get_context("fork"), list(range(len(items)))[::-1]
    gc.freeze()     # so that worker processes do not collect garbage among the objects that exist already
    ready: Any
    started: List[Any] = []
    # for each pipe to a worker, the index of the item in work, and the worker
    workers: Dict[Any, Tuple[int, Any]] = {}
    answers: Dict[int, Outcome] = {}

    def begin(pipe: Any, process: Any) -> None:
        announce(len(answers), items[waiting[-1]])
        workers[pipe] = waiting.pop(), process
        with suppress(OSError):     # the worker was killed; no answer comes
            pipe.send(workers[pipe][0])

    try:
        for number in range(len(items)):
            while number not in answers:
                while waiting and len(workers) < jobs:
                    pipe, end = fork.Pipe()
                    with held():    # a process that has started must get into `started` before Stopped is raised
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
            process.terminate()
        for process in started:
            process.join()


def _work(work: Work, items: Sequence[Any], pipe: Any) -> None:
    """Run a worker process. It receives the indices of items, and None at the end. It sends the outcomes, with the
    output of the work.
    """
    os.setpgid(0, 0)    # Ctrl-C then reaches only the caller, which passes it on once
    stoppable()
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_until_gone, daemon=True).start()
    _holds.clear()      # forget the `held` blocks of the caller: this process is in none
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
    """Return the outcome that a worker sends. If the worker has ended without sending one, return an outcome with its
    exit code.
    """
    try:
        answer: Outcome = pipe.recv()
    except (EOFError, OSError):
        process.join()
        code = process.exitcode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        answer = Outcome(3, None, "", f"error: the process ended by {how}: run fewer at a time, with --jobs 1\n")
    return answer


def overall(statuses: List[int]) -> int:
    """Return the exit status of several runs: 1 (a mismatch) if a run has it, else 2 (bad input), else 3 (a missing
    tool).
    """
    return min((status for status in statuses if status), default=0)
