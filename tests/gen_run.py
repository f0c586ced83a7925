"""The common part of tests that run the generator: run its command without starting a new interpreter, or run one module
on given buffers.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import List, NoReturn, Sequence

import pytest

import gen.__main__ as command
from gen import terminal
from gen.run.process import found_device
from gen.targets import RunError, native

ROOT = Path(__file__).resolve().parent.parent


def gen(*words: object, cwd: Path = ROOT, text: str = "", seconds: float = 600,
        **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command `gen` with these arguments and `text` as standard input, and return its outcome. The command runs
    in a fork of this process, which has imported the generator already. tests/tools runs `python3 gen` itself.
    """
    streams = [tempfile.TemporaryFile("w+b") for _ in range(3)]
    streams[0].write(text.encode())
    streams[0].seek(0)
    arguments = ["gen", *map(str, words)]
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(RunError):
        native()    # cached here, so that the forks do not compute it again
    process = os.fork()
    if not process:
        _become(arguments, [stream.fileno() for stream in streams], cwd, environment)
    stop = threading.Timer(seconds, os.kill, (process, signal.SIGKILL))
    stop.start()
    try:
        status = os.waitpid(process, 0)[1]
    finally:
        stop.cancel()
    written = []
    for stream in streams[1:]:
        stream.seek(0)
        written.append(stream.read().decode())
        stream.close()
    return subprocess.CompletedProcess(arguments, os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), *written)


def _become(words: List[str], streams: List[int], cwd: Path, environment: "dict[str, str]") -> NoReturn:
    """Run the command in the forked process, then exit."""
    status: object = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        os.environ.update(environment)
        tempfile.tempdir = None    # tempfile has cached the parent's folder; the environment may name another
        if environment:
            found_device.cache_clear()
        os.chdir(cwd)
        sys.argv = words
        command.PROGRESS.process = os.getpid()
        terminal.PLAIN_SECONDS = math.inf  # no progress, which only a slow machine would print
        try:
            status = command.stoppable()
        except SystemExit as ended:
            status = ended.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status if isinstance(status, int) else 1)


def run(text: str, params: Sequence[bytes], target: str, folder: Path) -> List[bytes]:
    """Run the one fusion of a module with `gen run` and return the bytes of its results."""
    (folder / "in").mkdir()
    (folder / "m.hlo").write_text(text)
    for k, data in enumerate(params):
        (folder / "in" / f"p{k}.bin").write_bytes(data)
    done = gen("run", folder / "m.hlo", "--target", target, "--in", folder / "in", "--out", folder / "out")
    if done.returncode == 3:
        pytest.skip(f"SKIP: {done.stderr.strip() or done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    return [(folder / "out" / f"r{k}.bin").read_bytes() for k in range(len(list((folder / "out").iterdir())))]
