"""Work on several inputs at a time, each in a process of its own. The answers come in the order of the inputs,
whichever ends first.

A process of work is told to stop when the caller stops (`each` is closed), and stops by itself when the caller is gone:
it reads a pipe that only the caller can write to. It stops as from Ctrl-C: by an exception, so that what it has begun
is cleaned up.
"""

from __future__ import annotations

import io
import os
import pickle
import selectors
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

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
class Answer:
    """What the work on one input gave: an exit status and a value; what it wrote, where that was kept back until its
    turn."""

    status: int
    value: Any = None
    out: str = ""
    err: str = ""


@dataclass
class _Worker:
    number: int
    process: int
    text: bytearray


Work = Callable[[Any], Tuple[int, Any]]


def each(work: Work, items: Sequence[Any], jobs: int,
         begun: Callable[[int, Any], None] = lambda done, item: None) -> Iterator[Answer]:
    """work(item) for each item, at most `jobs` at a time; begun(done, item) is called where work on an item begins,
    with the number of those done. With one job or item there is no other process, and what the work writes appears at
    once."""
    if jobs <= 1 or len(items) <= 1:
        for number, item in enumerate(items):
            begun(number, item)
            yield Answer(*work(item))
        return
    waiting, leash = list(enumerate(items)), os.pipe()
    workers: Dict[int, _Worker] = {}    # by the end of the pipe that is read
    answers: Dict[int, Answer] = {}
    with selectors.DefaultSelector() as selector:
        try:
            given = 0
            while given < len(items):
                while waiting and len(workers) < jobs:
                    number, item = waiting.pop(0)
                    begun(len(answers), item)
                    reading = _start(work, item, number, leash, workers)
                    selector.register(reading, selectors.EVENT_READ)
                for key, _ in selector.select():
                    part, worker = os.read(key.fd, 1 << 16), workers[key.fd]
                    worker.text += part
                    if not part:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        del workers[key.fd]
                        answers[worker.number] = _answer(worker)
                while given in answers:
                    yield answers[given]
                    given += 1
        finally:
            for worker in workers.values():
                os.kill(worker.process, signal.SIGTERM)
            for worker in workers.values():
                os.waitpid(worker.process, 0)
            for child in [*workers, *leash]:
                os.close(child)


def _start(work: Work, item: Any, number: int, leash: Tuple[int, int], workers: Dict[int, _Worker]) -> int:
    """A process that works on an item; the end of the pipe that its answer comes from."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)   # until it is known who has to be told
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.setpgid(0, 0)    # Ctrl-C reaches the caller alone, which passes it on once
            os.close(leash[1])
            stoppable()
            signal.signal(signal.SIGTERM, _stop)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            threading.Thread(target=_until_gone, args=(leash[0],), daemon=True).start()
            data = pickle.dumps(_kept(work, item))
            with os.fdopen(writing, "wb") as out:
                out.write(data)
            status = 0
        except Stopped:
            pass
        finally:
            os._exit(status)
    os.close(writing)
    workers[reading] = _Worker(number, process, bytearray())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return reading


def _until_gone(leash: int) -> None:
    os.read(leash, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _kept(work: Work, item: Any) -> Answer:
    """The answer, with what the work writes."""
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        status, value = work(item)
    except Exception:
        traceback.print_exc()
        status, value = 1, None
    return Answer(status, value, sys.stdout.getvalue(), sys.stderr.getvalue())


def _answer(worker: _Worker) -> Answer:
    _, status = os.waitpid(worker.process, 0)
    if not worker.text:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
        return Answer(3, None, "", f"error: the process ended by {how}: run fewer at a time, with --jobs 1\n")
    answer: Answer = pickle.loads(bytes(worker.text))
    return answer


def overall(statuses: List[int]) -> int:
    """The exit status of several: a mismatch (1) before bad input (2) before a missing tool (3)."""
    return min((status for status in statuses if status), default=0)
