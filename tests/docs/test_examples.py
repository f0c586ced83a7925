"""Test tests/examples: the commands in each README.md, run in a copy of its folder, print the text below them. If a
requirement is missing, the skipped test names it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import List, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tests" / "examples"


class Run(NamedTuple):
    """A block of commands in a README: what the commands need, and the output of the last command."""
    folder: str
    needs: List[str]
    commands: str
    output: str


def runs(folder: str) -> "List[Run]":
    """Return the blocks of commands in a README. The line `Needs ..` before a block names what its commands require.
    The output of the commands is the next block of text. Several blocks of commands may share one block of output.
    """
    found, needs = [], []
    text = (EXAMPLES / folder / "README.md").read_text()
    for match in re.finditer(r"Needs ([^:]*?)\.$|^```sh\n(.*?)^```$", text, re.M | re.S):
        if match[1]:
            needs = re.findall(r"`([^`]+)`", match[1])
            continue
        output = re.search(r"^```text\n(.*?)^```$", text[match.end():], re.M | re.S)
        assert needs and output, f"{folder}: a block without its needs or its output"
        found.append(Run(folder, needs, match[2], output[1]))
        needs = []
    return found


FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
LONG = ["access_check", "bitcast_view", "build_systems", "cpp17", "from_jax", "from_pytorch", "gpu", "mma_epilogue", "thread_pool", "tile_sizes", "tiled_buffer", "weights"]    # these take long to compile
RUNS = [run for folder in FOLDERS for run in runs(folder)]


def there(name: str) -> bool:
    """Return true if a command, a C header or a Python module is installed."""
    if name.endswith(".h"):
        return subprocess.run(["cc", "-fsyntax-only", "-x", "c", "-"], input=f"#include <{name}>\n", capture_output=True, text=True).returncode == 0
    return bool(shutil.which(name) or importlib.util.find_spec(name))


def copy(folder: str, tmp_path: Path) -> Path:
    """Copy the folder. include and gen are three levels up, as in the repository, and nothing is built."""
    for name in ("include", "gen", "templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    to = tmp_path / "tests" / "examples" / folder
    shutil.copytree(EXAMPLES / folder, to, ignore=shutil.ignore_patterns("build"))
    return to


def shell(commands: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=900, env={**os.environ, "MAKEFLAGS": ""})


def missing(needs: "List[str]") -> None:
    absent = [name for name in needs if not there(name)]
    if absent:
        pytest.skip("no " + ", ".join(absent))


@pytest.mark.parametrize("run", [pytest.param(run, marks=pytest.mark.peer if run.folder in LONG else []) for run in RUNS], ids=lambda run: f"{run.folder}-{run.commands.split()[0]}-{run.commands.split()[-1].split('/')[-1]}")
def test_prints(run: Run, tmp_path: Path) -> None:
    """The commands succeed, and the last one prints the text in the README."""
    missing(run.needs)
    done = shell(run.commands, copy(run.folder, tmp_path))
    if done.returncode == 3 and done.stdout.splitlines()[-1].startswith("SKIP: "):
        pytest.skip(f"{run.folder}: built; {done.stdout.splitlines()[-1][6:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(run.output), done.stdout


@pytest.mark.parametrize("folder", FOLDERS)
def test_form(folder: str) -> None:
    """Each README is short and names the folder's files. There is a build file or a main.py, and no file is unused."""
    text = (EXAMPLES / folder / "README.md").read_text()
    prose = re.sub(r"^```.*?^```\n", "", text, flags=re.M | re.S)
    assert prose.startswith("# ") and 8 <= len(prose.splitlines()) <= 30, len(prose.splitlines())
    names = sorted(path.name for path in (EXAMPLES / folder).iterdir() if path.name not in ("README.md", "build"))
    build = {"build.ninja", "CMakeLists.txt", "meson.build", "Makefile"} & set(names)
    assert build or "main.py" in names
    read = text + "".join((EXAMPLES / folder / name).read_text() for name in names)
    for name in set(names) - {"CMakeLists.txt", "meson.build", "Makefile", "build.ninja"}:
        assert name in read, name
    for name in re.findall(r"`((?:\.\./)?[\w/]+\.(?:c|cc|cu|h|hlo|ninja|py|txt))`", re.sub("^.*Needs .*", "", prose, flags=re.M)):
        sources = [re.sub(r"\.\w+$", suffix, name) for suffix in (".hlo", ".mlir")]    # the file from which a named file is generated
        assert (ROOT / "include" / name).exists() or any((EXAMPLES / folder / of).exists() for of in (name, *sources)), name


def test_threads_have_work() -> None:
    """In the output shown in tiled_buffer's README, each thread has at least 4 pieces to work on."""
    shares = re.findall(r"^(\d+) pieces for (\d+) threads$", (EXAMPLES / "tiled_buffer" / "README.md").read_text(), re.M)
    assert shares and all(int(pieces) >= 4 * int(threads) for pieces, threads in shares)


@pytest.mark.peer
def test_arrays_are_checked(tmp_path: Path) -> None:
    """from_jax/kernel.py refuses arrays with which a kernel would access other memory: a wrong number of arrays, or an
    array of a wrong type, shape, order or start address.
    """
    missing(["cc", "numpy"])
    program = tmp_path / "program.py"
    program.write_text('''
import numpy as np
from kernel import Kernel, _check, empty
kernel = Kernel(".", "softmax_f32")
x, y = empty((5, 37), np.float32), empty((5, 37), np.float32)
x[...] = 1
kernel([np.ones(186, np.float32)[1:].reshape(5, 37)], [y])   # aligned as its elements are, and no more
assert abs(y * 37 - 1).max() < 1e-6
for arrays in (([x, y], []), ([], [x, y]), ([x.astype(np.float64)], [y]), ([x.view(np.int32)], [y]), ([x.reshape(185)], [y]), ([x], [y.T]),
               ([0.5], [y]), ([x], [np.broadcast_to(y[0], (5, 37))]), ([np.zeros(741, np.uint8)[1:].view(np.float32).reshape(5, 37)], [y])):
    try:
        kernel(*arrays)
        print("taken")
    except ValueError as error:
        print(error)
bf16 = {"shape": "bf16[2,3]{1,0}", "dims": [2, 3], "strides": [6, 2], "dtype": "bf16", "bytes": 12}
_check("parameter", [np.zeros((2, 3), np.uint16)], [bf16])
_check("parameter", [np.zeros(3, np.uint8)], [{"shape": "s4[2,3]{1,0}", "dims": [2, 3], "dtype": "s4", "bytes": 3}])
for array in (np.zeros((2, 3), np.float16), np.zeros((2, 3), np.int16), np.zeros((3, 2), np.uint16)):
    try:
        _check("parameter", [array], [bf16])
        print("taken")
    except ValueError as error:
        print(error)
''')
    commands = f"""python3 '{ROOT / 'gen'}' build '{ROOT / 'tests/kernels/softmax_f32.hlo'}' -o . --target c
cc -O1 -shared -fPIC softmax_f32.c -lm -o softmax_f32.so
PYTHONPATH='{EXAMPLES / 'from_jax'}' python3 -B program.py"""
    done = shell(commands, tmp_path)
    x = "expected f32[5,37]{1,0}, found "
    assert done.returncode == 0 and done.stdout.splitlines() == [
        "expected 1 parameter, found 2", "expected 1 parameter, found 0", f"parameter 0: {x}float64[5, 37]", f"parameter 0: {x}int32[5, 37]",
        f"parameter 0: {x}float32[185]", f"result 0: {x}float32[37, 5], not in C order", f"parameter 0: {x}float: make arrays with empty()",
        f"result 0: {x}float32[5, 37], not in C order, read-only",
        "a buffer is not aligned to its elements",
        *(f"parameter 0: expected bf16[2,3]{{1,0}}, found {found}" for found in ("float16[2, 3]", "int16[2, 3]", "uint16[3, 2]"))], done.stdout + done.stderr


def test_fetch_content(tmp_path: Path) -> None:
    """The lines of CMake that fetch the headers work; a folder replaces the network."""
    missing(["cc", "cmake", "ninja"])
    (block,) = re.findall(r"^```cmake\n(.*?)^```$", (EXAMPLES / "cmake_headers" / "README.md").read_text(), re.M | re.S)
    (tmp_path / "CMakeLists.txt").write_text(f'''cmake_minimum_required(VERSION 3.20)
project(where C)
{block}add_executable(where "{EXAMPLES / 'cmake_headers' / 'where.c'}")
target_include_directories(where SYSTEM PRIVATE "${{sett_SOURCE_DIR}}/include")
''')
    done = shell(f"cmake -S . -B build -G Ninja -DFETCHCONTENT_SOURCE_DIR_SETT='{ROOT}' && cmake --build build && build/where", tmp_path)
    assert done.returncode == 0 and done.stdout.endswith(" is at position 17\n"), done.stdout + done.stderr


SYSTEMS = {"make": ("make", "build", "build/program", ["make"]),
           "cmake": ("cmake -S . -B build/cmake -G Ninja && cmake --build build/cmake", "build/cmake", "build/cmake/softmax", ["cmake", "ninja"]),
           "cmake with make": ("cmake -S . -B build/cmake && cmake --build build/cmake", "build/cmake", "build/cmake/softmax", ["cmake", "make"]),
           "meson": ("test -d build/meson || meson setup build/meson; meson compile -C build/meson", "build/meson", "build/meson/softmax", ["meson", "ninja"])}


@pytest.mark.peer
@pytest.mark.parametrize("system", SYSTEMS)
def test_is_made_anew(system: str, tmp_path: Path) -> None:
    """A second build has nothing to do. If the HLO text or a file of the generator changes, or a generated file is
    removed, the kernel is generated again.
    """
    commands, out, program, needs = SYSTEMS[system]
    missing(["cc", *needs])
    folder = copy("build_systems", tmp_path)
    for name in ("include", "gen", "templates"):    # a separate copy of the generator, whose files the test changes
        (tmp_path / name).unlink()
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    if (ROOT / "build" / "libsett.so").exists():
        (tmp_path / "build").mkdir()
        shutil.copy2(ROOT / "build" / "libsett.so", tmp_path / "build")

    def built() -> "List[int]":
        done = shell(commands, folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return [(folder / name).stat().st_mtime_ns for name in (f"{out}/softmax.c", program)]

    first = built()
    assert built() == first
    text = (folder / "softmax.hlo").read_text()
    (folder / "softmax.hlo").write_text(text.replace("f32[64", "f32[48"))
    assert all(a < b for a, b in zip(first, built()))
    assert "192000" in (folder / out / "softmax.h").read_text()
    template = tmp_path / "templates" / "files" / "c.j2"
    template.write_text(template.read_text() + "\n/* newer */\n")
    built()
    assert "/* newer */" in (folder / out / "softmax.c").read_text()
    template.write_text(template.read_text().replace("/* newer */", "/* newest */"))
    (tmp_path / "templates" / "kernels" / "scatter_by_run.j2").unlink()
    built()
    assert "/* newest */" in (folder / out / "softmax.c").read_text()
    last = [(folder / name).stat().st_mtime_ns for name in (f"{out}/softmax.c", program)]
    assert built() == last
