"""README holds: its examples run and print what it says, its table is the headers' first lines, its commands are the two."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wcast-qual", "-Wstrict-prototypes", "-Werror"]


def of(language: str) -> "list[str]":
    return [text for word, text in BLOCKS if word == language]


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_two_commands() -> None:
    """The first block is two lines: each installs, then runs; continuous integration runs the second."""
    lines = BLOCKS[0][1].splitlines()
    assert len(lines) == 2 and lines[0].endswith("&& ninja demo") and lines[1].endswith("&& ninja test")
    packages = [set(re.findall(r" (?!-)([a-z][a-z0-9+.-]+)", line.split("install")[-1].split("&&")[0])) for line in lines]
    assert packages[0] < packages[1] and "ninja-build" in packages[0]
    extracted = shell("sed -n '/^```/,/^```$/p' README.md | sed -n 3p")
    assert extracted.stdout == lines[1] + "\n"
    assert "sed -n '/^```/,/^```$/p' README.md | sed -n 3p" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("command", ["ninja demo", "ninja test"])
def test_targets_exist(command: str) -> None:
    if not shutil.which("ninja"):
        pytest.skip("no ninja")
    done = shell(f"ninja -t query {command.split()[1]}")
    assert done.returncode == 0 and "input: phony" in done.stdout, done.stdout + done.stderr


def test_first_program(tmp_path: Path) -> None:
    """Ten lines or so, and the printed line."""
    program = of("c")[0]
    assert len(program.splitlines()) <= 10
    (tmp_path / "first.c").write_text(program)
    for header in re.findall(r'#include "(.+)"', program):
        shutil.copy(ROOT / "include" / header, tmp_path)
    subprocess.run(["cc", *WARNINGS, "first.c", "-o", "first"], cwd=tmp_path, check=True)
    printed = subprocess.run([str(tmp_path / "first")], check=True, capture_output=True, text=True).stdout
    said = re.search(r"It prints `([^`]+)`", TEXT)
    assert said and printed == said[1] + "\n"


def test_picture() -> None:
    """Every number in the picture of a tiled array is the position of its element."""
    shape = re.search(r"^    (\w+\[3,5\]\S+)", TEXT, re.M)
    assert shape
    rows = [line for line in TEXT.splitlines() if re.match(r"^ +[\d.]+ +[\d.]+ \|", line)]
    cells = [re.findall(r"\d+|\.", row[:30]) for row in rows]
    assert [len(row) for row in cells] == [6] * 4
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if i < 3 and j < 5:
                assert run_sett("shape", "index", shape[1], f"{i},{j}") == cell, (i, j)
            else:
                assert cell == "."


def run_sett(*words: str) -> str:
    if not (ROOT / "build" / "sett").exists():
        pytest.skip("build/sett is not built")
    return subprocess.run([str(ROOT / "build" / "sett"), *words], check=True, capture_output=True, text=True).stdout.strip()


def test_table_of_headers() -> None:
    """A row for each header; its text is the header's first line."""
    rows = dict(re.findall(r"^\| \[(sett\w*\.h)\]\(include/\1\) \| (.*) \|$", TEXT, re.M))
    assert sorted(rows) == sorted(path.name for path in ROOT.glob("include/*.h"))
    for name, what in rows.items():
        first = (ROOT / "include" / name).read_text().splitlines()[0]
        said = re.fullmatch(r"/\* (\S+) - v\d+\.\d+ - (.*?)(?: \*/)?", first)
        assert said and said[1] == name and said[2] == what, first


def sessions() -> "list[tuple[str, str]]":
    """Each command of the console blocks with what it prints."""
    return [(command, output) for block in of("console") for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


@pytest.mark.parametrize("command, output", sessions(), ids=[re.sub(r"\W+", "-", command)[:40] for command, _ in sessions()])
def test_session(command: str, output: str) -> None:
    if command.startswith("build/sett") and not (ROOT / "build" / "sett").exists():
        pytest.skip("build/sett is not built")
    if " build/readme" in command:
        shutil.rmtree(ROOT / "build" / "readme", ignore_errors=True)
    done = shell(command)
    if done.stdout.startswith("SKIP"):
        pytest.skip(done.stdout.strip())
    assert done.stdout == output, done.stderr


def test_ninja_block() -> None:
    """The two lines stand in build.ninja."""
    (block,) = of("ninja")
    assert len(block.splitlines()) == 2 and block in (ROOT / "build.ninja").read_text()


def test_kernel_program(tmp_path: Path) -> None:
    """The program that uses a generated header compiles without a warning."""
    program = of("c")[1]
    done = subprocess.run([sys.executable, str(ROOT / "gen"), "build", str(ROOT / "tests" / "kernels" / "gelu_bf16.hlo"), "-o", str(tmp_path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    declaration = "int gelu(cl_context context, cl_device_id device, cl_command_queue queue, cl_mem x, cl_mem y)"
    assert declaration in program
    (tmp_path / "gelu.c").write_text(program)
    done = subprocess.run(["cc", *WARNINGS, "-c", "gelu.c", "-o", os.devnull], cwd=tmp_path, capture_output=True, text=True)
    if "CL/cl.h" in done.stderr and "No such file" in done.stderr:
        pytest.skip("no OpenCL headers")
    assert done.returncode == 0, done.stderr


def test_c_program(tmp_path: Path) -> None:
    """The program that calls a kernel in C compiles without a warning, and sums rows."""
    kernel = str(ROOT / "tests" / "kernels" / "row_sum_f32.hlo")
    done = subprocess.run([sys.executable, str(ROOT / "gen"), "build", kernel, "-o", str(tmp_path), "--target", "c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "rows.c").write_text(of("c")[2] + """
#include <stdlib.h>
int main(void) {
  float *x = aligned_alloc(64, row_sum_f32_param_bytes[0]), *y = aligned_alloc(64, row_sum_f32_result_bytes[0]);
  size_t rows = row_sum_f32_result_bytes[0] / 4, columns = row_sum_f32_param_bytes[0] / 4 / rows, bad = 0;
  for (size_t i = 0; i < rows * columns; ++i) x[i] = (float)(i / columns % 7);
  if (row_sum(x, y)) return 1;
  for (size_t i = 0; i < rows; ++i) bad += y[i] != (float)(i % 7 * columns);
  return bad != 0;
}
""")
    subprocess.run(["cc", *WARNINGS, "-O2", "rows.c", "row_sum_f32.c", "-o", "rows", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "rows")], check=True)


def test_verbs() -> None:
    """The table of commands names every verb, and no other."""
    done = subprocess.run([sys.executable, str(ROOT / "gen"), "--help"], capture_output=True, text=True)
    verbs = re.search(r"build\|[a-z|]+", done.stdout)
    assert verbs and re.findall(r"^\| `gen (\w+) ", TEXT, re.M) == verbs[0].split("|")


def test_links() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert "://" in target or (ROOT / target).exists(), target
