"""Processes that gen starts (compilers, and the harness with a running kernel) end when gen ends, however it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List

import pytest

from gen import child, hlo, run
from gen.__main__ import MOST_SECONDS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="SKIP: no /proc to find processes in")

LONG = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  p0 = f32[2000000]{0} parameter(0)
  zero = f32[] constant(0)
  ROOT w = f32[2000000]{0} reduce-window(p0, zero), window={size=2000000 pad=1000000_999999}, to_apply=add
}
"""


def marked(mark: str) -> "List[int]":
    """Return the processes that have a given word in their environment, without zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes() and b"State:\tZ" not in (folder / "status").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def until(what: "Callable[[], bool]", seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return what()


def starts(mark: str, program: str) -> bool:
    names = []
    for number in marked(mark):
        try:
            names.append(Path(f"/proc/{number}/comm").read_text().strip())
        except OSError:
            continue
    return program in names


@pytest.mark.parametrize("number", [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.peer) for number in (signal.SIGKILL, signal.SIGINT))])
@pytest.mark.parametrize("program", ["harness_c", "slow_cc"])
def test_children_end_with_gen(program: str, number: int, tmp_path: Path) -> None:
    """Child processes end with gen: the harness, in which a kernel would run for minutes, and a compiler that sleeps as
    if it compiled a long text.
    """
    mark = f"SETT_MARK={os.getpid()}_{program}_{number}"
    environment = {**os.environ, **dict([mark.split("=")])}
    (tmp_path / "m.hlo").write_text(LONG)
    (tmp_path / "p0.bin").write_bytes(bytes(4 * 2000000))
    run.harness("c")    # the harness must be compiled before the compiler is replaced
    if program == "slow_cc":
        (tmp_path / "slow_cc").write_text(f"#!/bin/sh\ncase \"$*\" in *fsyntax-only*) exec {run.c_compiler()} \"$@\";; esac\nsleep 1000\n")
        (tmp_path / "slow_cc").chmod(0o755)
        environment["CC"] = str(tmp_path / "slow_cc")
    gen = subprocess.Popen([sys.executable, str(ROOT / "gen"), "run", str(tmp_path / "m.hlo"), "--target", "c", "--in", str(tmp_path), "--out", str(tmp_path / "out")],
                           env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: starts(mark, program) or gen.poll() is not None, 300) and gen.poll() is None, "it was not started"
        gen.send_signal(number)
        gen.wait(900)
        assert until(lambda: not marked(mark), 300), "left running"
    finally:
        gen.kill()
        gen.wait()
        for left in marked(mark):
            os.kill(left, signal.SIGKILL)


def test_run(tmp_path: Path) -> None:
    """A child's result has its exit status or signal and its output. After the time limit, the processes that the child
    has started are ended too.
    """
    done = child.run(["sh", "-c", "echo out; echo err >&2; exit 70"])
    assert (done.status, done.out, done.err, done.exceeded) == (70, "out\n", "err\n", "")
    assert child.run(["sh", "-c", "kill -SEGV $$"]).status == -signal.SIGSEGV
    assert child.run(["cat"]).out == ""    # the child's standard input is empty; another pipe tells the child that gen has ended
    begun = time.monotonic()
    done = child.run(["sh", "-c", "sleep 100 & sleep 100"], child.Limit(100, 0.2))
    assert done.exceeded == "0.2 s" and time.monotonic() - begun < 90
    with pytest.raises(FileNotFoundError):
        child.run(["no_such_program_here"])
    assert shutil.which("sh")


def test_limit_is_processor_time() -> None:
    """A process that computes is ended after its limit of processor time. A process that waits is ended after the limit
    of elapsed time.
    """
    done = child.run(["sh", "-c", "while :; do :; done"], child.Limit(1, 600))
    assert (done.status, done.exceeded) == (-signal.SIGXCPU, "1 s of processor time")
    done = child.run(["sleep", "2"], child.Limit(1, 600))
    assert (done.status, done.exceeded) == (0, "")
    assert child.Limit.of(30) == child.Limit(30, 180) and child.Limit.of(30, 4) == child.Limit(120, 180)


def test_largest_limit() -> None:
    """A child process can run with the largest limit that an option accepts."""
    assert child.run(["true"], child.Limit.of(MOST_SECONDS, 4)).status == 0


@pytest.mark.peer
def test_limits_are_said(tmp_path: Path) -> None:
    """A kernel that takes minutes is ended, and the message names the limit: that of a launch (with the estimated cost
    and the option that raises it), that of the process, or that of elapsed time.
    """
    (tmp_path / "m.hlo").write_text(LONG)
    (tmp_path / "p0.bin").write_bytes(bytes(4 * 2000000))
    words = [sys.executable, str(ROOT / "gen"), "run", "m.hlo", "--target", "c", "--in", ".", "--out", "out", "--limit", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1, "error: m: the kernel did not end within 1 s of processor time; the graph has 4.0e+12 steps of windows and sums, about 67 min for a launch that does each once; "
        "--limit SECONDS sets what a launch may take")
    (fusion,) = hlo.fusions(run.load(str(tmp_path / "m.hlo")))
    built = run.build(fusion, tmp_path, "c", run.Options())
    files = [run.compile_fusion(built, "c"), tmp_path / "p0.bin", tmp_path / "r0.bin"]
    long, process = child.Limit(900, 900), child.Limit(1, 900)
    answer = run.call_harness("c", ["run", "", 900, 900, *files], process)
    assert run.ending(answer, process, long, "cost") == (
        "the kernel did not end within 1 s of processor time, the limit of the whole process; cost; --limit SECONDS sets what a launch may take")
    passing = child.Limit(900, 1)
    answer = run.call_harness("c", ["run", "", 900, 1, *files], long)
    assert re.fullmatch(r"the kernel did not end within 1 s, in which it had \d s of processor time: it waits for ever, or the machine is busy; "
                        "--limit SECONDS sets what a launch may take", run.ending(answer, long, passing))
    answer = run.call_harness("c", ["run", "", 900, 900, *files], passing)
    assert run.ending(answer, passing, long) == "no answer within 1 s; --limit SECONDS sets what a launch may take"
