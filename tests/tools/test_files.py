"""Test several files in one call of gen, a folder, standard input, --jobs, the line of progress, and Ctrl-C, which must
leave nothing behind.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from gen_run import gen
from drawn import device_or_skip
from gen import jobs
from gen.suggest import did_you_mean
from test_children import marked, until

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "kernels"
GEN = [sys.executable, str(ROOT / "gen")]
WRONG = "HloModule m\nENTRY e {\n  a = f32[4,8] parameter(0)\n  ROOT b = f32[4,8] sum(a, a)\n}\n"
SIMPLE = "HloModule {0}\nENTRY e {{\n  a = s32[{1}] parameter(0)\n  ROOT b = s32[{1}] add(a, a)\n}}\n"


def contents(folder: Path) -> "Dict[str, str]":
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.suffix != ".d"}


@pytest.fixture
def three(tmp_path: Path) -> "List[Path]":
    """Return a folder of three files, the second of which has an error."""
    (tmp_path / "in").mkdir()
    files = [tmp_path / "in" / f"{name}.hlo" for name in "abc"]
    for file in files:
        file.write_text(SIMPLE.format(f"module_{file.stem}", 40))
    files[1].write_text(WRONG)
    return files


@pytest.mark.parametrize("count", [1, 3])
def test_build_of_several(count: int, three: "List[Path]", tmp_path: Path) -> None:
    """A build of several files writes the same files as separate calls. If one file has an error, the error is printed,
    and the other files are built.
    """
    done = gen("build", *three, "-o", tmp_path / "all", "--target", "c", "--jobs", count)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr == f"error: {three[1]}:4:21: expected an opcode of HLO, found 'sum'\n"
    for file in (three[0], three[2]):
        assert gen("build", file, "-o", tmp_path / "apart", "--target", "c").returncode == 0
    assert contents(tmp_path / "all") == contents(tmp_path / "apart") and len(contents(tmp_path / "all")) == 8
    folder = gen("build", tmp_path / "in", "-o", tmp_path / "folder", "--target", "c", "--jobs", count)
    assert (folder.returncode, folder.stderr) == (2, done.stderr) and contents(tmp_path / "folder") == contents(tmp_path / "all")


@pytest.mark.parametrize("count", [1, 2])
def test_check_of_several(count: int, three: "List[Path]") -> None:
    """A check of several files prints their lines in the order of the arguments, then a line of counts. The exit status
    is the worst one.
    """
    device_or_skip("c")
    done = gen("check", three[2], three[0], "--target", "c", "--jobs", count)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 5 and lines[4] == "2 files: 2 PASS", done.stdout + done.stderr
    assert [re.match(r"PASS (\S+) c 1/1 loop 0 ", line)[1] for line in lines[1:4:2]] == [str(three[2]), str(three[0])]
    assert [line.split()[:2] for line in lines[:4:2]] == [["PASS", "c"], ["PASS", "a"]]
    done = gen("check", three[0].parent, "--target", "c", "--jobs", count)
    assert done.returncode == 2 and done.stdout.splitlines()[-1] == "3 files: 2 PASS, 1 not read"
    assert done.stderr == f"error: {three[1]}:4:21: expected an opcode of HLO, found 'sum'\n"


def test_explain_of_several(three: "List[Path]") -> None:
    """`explain` prints each file's name above its text, in the order of the arguments, whichever is ready first."""
    files = [three[2], three[0]]
    alone = [gen("explain", file, "--stage", "partition").stdout for file in files]
    for count in (1, 2):
        done = gen("explain", *files, "--stage", "partition", "--jobs", count)
        assert done.returncode == 0 and done.stdout == "".join(f"#### {file} ####\n{text}" for file, text in zip(files, alone)), done.stderr


@pytest.mark.peer
def test_first_command(three: "List[Path]", tmp_path: Path) -> None:
    """The first command in a fresh copy says that it compiles the library. It says so once, even if it starts several
    processes. The next command says nothing.
    """
    home, there = tmp_path / "sett", ROOT / "build" / "libsett.so"
    for name in ("include", "gen", "templates"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    compiler = tmp_path / "cc"    # a compiler that copies the existing library, to save time
    compiler.write_text(f'#!/bin/sh\nfor last; do :; done\ncp "{there}" "$last"\n')
    compiler.chmod(0o755)
    command = [sys.executable, str(home / "gen"), "build", str(three[0]), str(three[2]), "-o", str(tmp_path / "out"), "--target", "c", "--jobs", "2"]
    said = [subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CC": str(compiler)}).stderr for _ in range(2)]
    said = [re.sub(r"^note: build \d.*\n", "", text, flags=re.M) for text in said]    # only a slow machine prints this progress
    assert said == ["note: compiling build/libsett.so, once, ..\n", ""]


def test_standard_input(tmp_path: Path) -> None:
    """`-` means standard input. Kernels are named after the module, and errors name the file <stdin>."""
    done = gen("build", "-", "-o", tmp_path / "out", "--target", "c", text=SIMPLE.format("some.module", 5))
    assert done.returncode == 0 and sorted(p.name for p in (tmp_path / "out").iterdir()) == [f"some_module{end}" for end in (".c", ".d", ".h", ".json", "_ref.c")]
    assert "some_module.c" in (tmp_path / "out" / "some_module.d").read_text() and "<stdin>" not in (tmp_path / "out" / "some_module.d").read_text()
    done = gen("build", "-", "-o", tmp_path / "out", text=WRONG)
    assert (done.returncode, done.stderr) == (2, "error: <stdin>:4:21: expected an opcode of HLO, found 'sum'\n")
    done = gen("explain", "-", "-", text=WRONG)
    assert (done.returncode, done.stderr) == (2, "error: -: expected standard input once\n")


def test_pipe(tmp_path: Path) -> None:
    """A file that can be read only once, such as `<(command)` of a shell."""
    os.mkfifo(tmp_path / "m.hlo")
    writer = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])", tmp_path / "m.hlo",
                               SIMPLE.format("m", 5)])
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path / "out", "--target", "c", seconds=60)
    assert (writer.wait(), done.returncode, done.stderr) == (0, 0, "") and (tmp_path / "out" / "m.c").exists()


def test_any_bytes_in_a_name(tmp_path: Path) -> None:
    """The name of a file need not be UTF-8."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.hlo"))
    path.write_text(SIMPLE.format("m", 5))
    done = gen("build", path, "-o", tmp_path / "out", "--target", "c")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert b"/m\xff.hlo" in (tmp_path / "out" / "m_.d").read_bytes()
    done = gen("check", path, "--target", "c")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_names_in_a_file(tmp_path: Path) -> None:
    """Two modules of one name in a file are one error. Sizes for dimensions that HLO text does not have are an error."""
    file = tmp_path / "two.hlo"
    file.write_text(SIMPLE.format("m", 5) * 2)
    done = gen("check", file, "--target", "c")
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", f"error: {file}:6:11: expected modules of different names in one file, found 'm', the module of line 1\n")
    file.write_text(SIMPLE.format("m", 5))
    done = gen("check", file, "--target", "c", "--dims", "b=8")
    assert (done.returncode, done.stderr) == (
        2, f"error: {file}:1:1: expected no --dims, because HLO text has no open dimensions, found b\n")


def test_names_that_clash(tmp_path: Path) -> None:
    """Two files with one name would overwrite each other's kernels. The second is refused, and the first is built."""
    for folder in "xy":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.hlo").write_text(SIMPLE.format("m", 5 if folder == "x" else 6))
    done = gen("build", tmp_path / "x" / "m.hlo", tmp_path / "y" / "m.hlo", "-o", tmp_path / "out", "--target", "c")
    assert done.returncode == 2 and done.stderr == \
        f"error: {tmp_path}/y/m.hlo: writes m.c, as {tmp_path}/x/m.hlo does: build them into separate folders\n"
    assert "5" in (tmp_path / "out" / "m.json").read_text() and '"s32[6]' not in (tmp_path / "out" / "m.json").read_text()


def test_folder_without_files(tmp_path: Path) -> None:
    done = gen("check", tmp_path)
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}: expected .hlo or .mlir files in this folder, found none: name the files\n")


# ---- unknown words ----


@pytest.mark.parametrize("words, said", [
    (["chekc", "x"], "unknown verb 'chekc', did you mean 'check'? expected one of build, check, run, explain, certify, bench"),
    (["check", "x", "--sed", "1"], "unknown option --sed, did you mean '--seed'?"),
    (["check", "x", "--see", "1"], "unknown option --see, did you mean '--seed'?"),
    (["build", "x", "-o", "y", "--targets=c"], "unknown option --targets, did you mean '--target'?"),
    (["build", "x", "-o", "y", "--target", "c,opncl"], "argument --target: unknown target 'opncl', did you mean 'opencl'? expected one of cuda, hip, opencl, c"),
    (["check", "x", "--target", "CUDA"], "argument --target: unknown target 'CUDA', did you mean 'cuda'? expected one of cuda, cuda-on-cpu, "),
    (["check", "x", "--device", "sm90"], "argument --device: unknown device 'sm90', did you mean 'sm_90'? expected one of pocl-cpu, "),
    (["explain", "x", "--stage", "vectorise"], "argument --stage: unknown stage 'vectorise', did you mean 'vectorize'? expected one of parse, "),
    (["explain", "x", "--stage", "qqq"], "argument --stage: unknown stage 'qqq', expected one of parse, "),
    (["run", "a", "b", "--in", "x", "--out", "y"], "expected no further argument, found 'b'"),
    (["bench", "a", "--rounds", "0"], "argument --rounds: expected a whole number, 1 or more, found '0'"),
    (["check", "a", "--limit", "1.5"], "argument --limit: expected a whole number of seconds, 1 to 1000000, found '1.5'"),
    (["check", "a", "--limit", "99999999999"], "argument --limit: expected a whole number of seconds, 1 to 1000000, found '99999999999'"),
    (["check", "a", "--seed", "-1"], "argument --seed: expected"),
    ([], "expected a verb, one of build, check, run, explain, certify, bench"),
], ids=lambda words: " ".join(words) if isinstance(words, list) else "")
def test_unknown_words(words: "List[str]", said: str) -> None:
    done = gen(*words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(f"error: {said}"), done.stderr


def test_help_and_version() -> None:
    """`gen help VERB` equals `gen VERB --help`. The version is that of the headers."""
    assert gen("help").stdout == gen("--help").stdout != "" and gen("help", "check").stdout == gen("check", "--help").stdout != ""
    first = (ROOT / "include" / "sett.h").read_text().splitlines()[0]
    number = gen("--version").stdout.split()[-1]
    assert f" - v{number[:-2]} - " in first


@pytest.mark.peer
def test_what_cannot_be_written(tmp_path: Path) -> None:
    """An output folder that is a file, standard output on a full disk, and closed streams each give a one-line error
    with status 2.
    """
    (tmp_path / "m.hlo").write_text(SIMPLE.format("m", 5))
    (tmp_path / "file").write_text("")
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path / "file", "--target", "c")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/file: expected a folder, found a file of this name\n")
    done = gen("build", tmp_path / "m.hlo", "-o", "/proc/none", "--target", "c")
    assert (done.returncode, done.stderr) == (2, "error: /proc/none: expected a folder that can be written: No such file or directory\n")
    (tmp_path / "p0.bin").write_bytes(bytes(20))
    done = gen("run", tmp_path / "m.hlo", "--in", tmp_path, "--out", tmp_path / "file", "--target", "c")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/file: expected a folder, found a file of this name\n")
    (tmp_path / "out" / "m.c").mkdir(parents=True)
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path / "out", "--target", "c")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/out/m.c: Is a directory\n")
    (tmp_path / "r" / "r0.bin").mkdir(parents=True)
    done = gen("run", tmp_path / "m.hlo", "--in", tmp_path, "--out", tmp_path / "r", "--target", "c")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/r/r0.bin: Is a directory\n")
    assert not list((tmp_path / "out").glob(".*")) and not list((tmp_path / "r").glob(".*"))
    if os.path.exists("/dev/full"):
        (tmp_path / "out" / "m.h").symlink_to("/dev/full")
        (tmp_path / "out" / "m.c").rmdir()
        done = gen("build", tmp_path / "m.hlo", "-o", tmp_path / "out", "--target", "c")
        assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/out/m.h: No space left on device\n")
    command = f"{sys.executable} {ROOT / 'gen'} explain {tmp_path / 'm.hlo'} --target c"
    for closed, said in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        if closed == ">&-" or os.path.exists("/dev/full"):
            done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (2, f"error: standard output cannot be written: {said}\n")
    done = subprocess.run(["sh", "-c", f"{sys.executable} {ROOT / 'gen'} explain - <&-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: <stdin>:1:1: expected a computation: NAME { instructions }, found the end of the file\n")
    assert subprocess.run(["sh", "-c", f"{command} 2>&-"], capture_output=True).returncode == 0


def test_did_you_mean() -> None:
    names = ["build", "check", "--seed"]
    assert did_you_mean("biuld", names) == ", did you mean 'build'?" and did_you_mean("zzz", names) == did_you_mean("", names) == ""


# ---- a terminal ----


def on_terminal(*words: object, **more: str) -> "Tuple[int, str]":
    """Run gen on a pseudo-terminal. Return its exit status and output."""
    ours, its = pty.openpty()
    done = subprocess.Popen([*GEN, *map(str, words)], stdin=its, stdout=its, stderr=its, env={**os.environ, "TERM": "xterm", **more})
    os.close(its)
    text = b""
    while select.select([ours], [], [], 900)[0]:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:     # gen has closed the terminal
            break
        if not part:
            break
        text += part
    os.close(ours)
    return done.wait(900), text.decode().replace("\r\n", "\n")


def seen(text: str) -> str:
    """Return the text that remains on the screen after lines were overwritten."""
    return "\n".join(line.split("\r\033[K")[-1] for line in text.split("\n"))


@pytest.mark.peer
def test_progress(three: "List[Path]") -> None:
    """On a terminal a line names the current file and disappears at the end, and PASS is green unless NO_COLOR is set.
    Without a terminal there is no such line, and no colour.
    """
    device_or_skip("c")
    words = ("check", three[0], three[2], "--target", "c")
    plain = gen(*words)
    assert plain.stderr == "" and "\033" not in plain.stdout
    status, text = on_terminal(*words, NO_COLOR="1")
    assert status == 0 and "\r\033[Kcheck 2/2: " in text and seen(text) == plain.stdout
    status, text = on_terminal(*words, NO_COLOR="")
    assert status == 0 and seen(text) == re.sub(r"^( *)PASS", "\\1\033[32mPASS\033[0m", plain.stdout, flags=re.M)
    status, text = on_terminal(*words, "--jobs", 2, NO_COLOR="1")
    assert status == 0 and "\r\033[Kcheck 0/2 done: " in text and seen(text) == plain.stdout


# ---- Ctrl-C ----

SLOW = SIMPLE.format("slow", 77)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="SKIP: no /proc to find processes in")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.peer)])
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.peer), 2])
@pytest.mark.parametrize("after", ["compiler", *(pytest.param(seconds, marks=pytest.mark.peer) for seconds in (0.1, 0.25, 0.6))])
def test_stop(after: object, count: int, number: int, tmp_path: Path) -> None:
    """If a check of four files is interrupted, at any moment, the exit status is 130, and no process and no temporary
    folder remains. (SIGKILL leaves temporary folders, but its child processes end.)
    """
    device_or_skip("c")
    mark = f"SETT_MARK={os.getpid()}_{after}_{count}_{number}"
    work, compiler = tmp_path / "tmp", tmp_path / "slow_cc"
    work.mkdir()
    compiler.write_text(f"#!/bin/sh\ncase \"$*\" in *fsyntax-only*) exec cc \"$@\";; esac\necho > {tmp_path}/at_work\necho > $TMPDIR/cc.s\nsleep 1000\n")
    compiler.chmod(0o755)
    files = [tmp_path / f"m{k}.hlo" for k in range(4)]
    for file in files:
        file.write_text(SLOW)
    environment = {**os.environ, **dict([mark.split("=")]), "TMPDIR": str(work), "CC": str(compiler)}
    done = subprocess.Popen([*GEN, "check", *map(str, files), "--target", "c", "--jobs", str(count)], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    try:
        assert until((tmp_path / "at_work").exists if after == "compiler" else lambda: any(work.iterdir()) or done.poll() is not None, 300)
        time.sleep(after if isinstance(after, float) else 0)
        assert done.poll() is None
        done.send_signal(number)
        out, err = done.communicate(timeout=900)
        assert done.returncode == (128 + number if number != signal.SIGKILL else -number) and "Traceback" not in err, err
        assert until(lambda: not marked(mark), 300), "left running"
        if number != signal.SIGKILL or count > 1:
            assert until(lambda: not list(work.iterdir()), 300), "left behind"
    finally:
        done.kill()
        done.wait()
        for left in marked(mark):
            os.kill(left, signal.SIGKILL)


@pytest.mark.peer
@pytest.mark.parametrize("count", [1, 2])
def test_stop_of_build(count: int, tmp_path: Path) -> None:
    """If a build of many files is interrupted, the files that exist are complete, and none has a temporary name."""
    for k in range(60):
        (tmp_path / f"m{k}.hlo").write_text(SIMPLE.format("m", 60 + k))
    out = tmp_path / "out"
    done = subprocess.Popen([*GEN, "build", *map(str, sorted(tmp_path.glob("*.hlo"))), "-o", str(out), "--target", "c", "--jobs", str(count)], stderr=subprocess.PIPE)
    assert until(lambda: out.exists() and len(list(out.iterdir())) > 12, 300)
    done.send_signal(signal.SIGINT)
    done.communicate(timeout=900)
    assert done.returncode == 130
    names = {path.name for path in out.iterdir()}
    assert 12 < len(names) < 300 and all(re.fullmatch(r"m\d+(\.(c|h|json|d)|_ref\.c)", name) for name in names)
    first = gen("build", tmp_path / "m0.hlo", "-o", tmp_path / "again", "--target", "c")
    assert first.returncode == 0 and all((out / name).read_text() == text for name, text in contents(tmp_path / "again").items())


STOPS = """
import os, signal, sys
from pathlib import Path
from gen import jobs

seen = number = 0

def step(frame, event, argument):
    global seen
    seen += event == "line"     # an exception at another event would skip `finally`
    if event == "line" and seen == number:
        os.kill(os.getpid(), signal.SIGINT)
    return step

jobs.stoppable()
out = Path(sys.argv[1])
while seen >= number:
    seen, number = 0, number + 1
    jobs._stopped.clear()
    try:
        sys.settrace(step)
        with jobs.replacing(out / "file.c") as name:
            Path(name).write_text("whole")
    except jobs.Stopped:
        pass
    sys.settrace(None)
    assert {path.name for path in out.iterdir()} <= {"file.c"}, (number, list(out.iterdir()))
print(number)
"""


def test_stop_while_a_file_is_written(tmp_path: Path) -> None:
    """No file with a temporary name remains, at whichever line of Python a signal arrives."""
    done = subprocess.run([sys.executable, "-c", STOPS, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and int(done.stdout) > 100, done.stderr
    assert (tmp_path / "file.c").read_text() == "whole"


# ---- jobs.parallel ----


def square(number: int) -> "Tuple[int, int]":
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        raise ValueError("four")
    print(f"square of {number}")
    time.sleep(0.02 * (7 - number))
    return 0, number * number


def test_parallel() -> None:
    """Results come in the order of the items. A worker that is killed or raises an exception does not affect the other
    results.
    """
    answers = list(jobs.parallel(square, range(7), 3))
    assert [a.value for a in answers] == [0, 1, 4, None, None, 25, 36] and [a.status for a in answers] == [0, 0, 0, 3, 1, 0, 0]
    assert answers[1].out == "square of 1\n" and "signal 9" in answers[3].err and "ValueError: four" in answers[4].err
    large = list(jobs.parallel(lambda number: (0, b"x" * number), [10 ** 6, 3, 10 ** 7], 3))
    assert [len(a.value) for a in large] == [10 ** 6, 3, 10 ** 7]
