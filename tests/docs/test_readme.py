"""README.md and gen/manual.md are true: the examples run and print the text below them, and every command, option, file
and number exists.
"""

from __future__ import annotations

import math
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gen.__main__ import arguments
from gen.schedule import DEVICES
from gen.targets import RUNNERS
from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
MANUAL = (ROOT / "gen" / "manual.md").read_text()
GUIDE = (ROOT / "gen" / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wcast-qual", "-Wstrict-prototypes", "-Werror"]


VERBS = ["build", "check", "run", "explain", "certify", "bench"]


def of(language: str) -> "list[str]":
    return [text for word, text in BLOCKS if word == language]


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=900)


def test_length() -> None:
    """README has at most 350 lines; details belong in the manuals."""
    assert TEXT.count("\n") <= 350


def test_two_commands() -> None:
    """The first block has two lines. Each installs packages, then runs ninja. Continuous integration runs the second.
    """
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
    """The first program has about ten lines and prints the line that the text states."""
    program = of("c")[0]
    assert len(program.splitlines()) <= 10
    (tmp_path / "first.c").write_text(program)
    for header in re.findall(r'#include "(.+)"', program):
        shutil.copy(ROOT / "include" / header, tmp_path)
    subprocess.run(["cc", *WARNINGS, "first.c", "-o", "first"], cwd=tmp_path, check=True)
    printed = subprocess.run([str(tmp_path / "first")], check=True, capture_output=True, text=True).stdout
    said = re.search(r"It prints `([^`]+)`", TEXT)
    assert said and printed == said[1] + "\n"


SWING = r"""
#include <stdio.h>
#include "swing.h"
int main(void)
{
  const float angle = 0.5f, speed = 0;
  float after[2];
  if (swing(&angle, &speed, &after[0], &after[1], NULL)) return 1;
  printf("%.9g %.9g\n", (double)after[0], (double)after[1]);
  return 0;
}
"""


@pytest.mark.peer
def test_swing(tmp_path: Path) -> None:
    """The command on README's first screen builds the JAX function swing. The C function has the stated parameters, and
    the generated program that tests it prints PASS.
    """
    pytest.importorskip("jax")
    said = re.search(r"`(python3 -m gen build swing.py:swing .*?)` writes `swing.c`, `swing.h` and `main.c`. The function is\n`(swing\(.*?\))`", TEXT)
    own = re.search(r"`cd out && (cc .*?)` prints PASS", TEXT)
    assert said and own
    (tmp_path / "swing.py").write_text(of("python")[0])
    done = shell(said[1].replace("swing.py:swing -o out", f"{tmp_path}/swing.py:swing -o {tmp_path}"))
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["sh", "-c", own[1]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("PASS swing: "), done.stdout
    signature = re.escape(said[2]).replace(re.escape(".."), r"\w+")
    assert re.search(signature, (tmp_path / "swing.h").read_text()), said[2]
    (tmp_path / "main.c").write_text(SWING)
    subprocess.run(["cc", "-std=c11", "-O2", "main.c", "swing.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    angle, speed = map(float, subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True).stdout.split())
    wanted = (0.5, 0.0)
    for _ in range(1000):
        wanted = wanted[0] + 0.01 * wanted[1], wanted[1] - 0.01 * math.sin(wanted[0])
    assert abs(angle - wanted[0]) + abs(speed - wanted[1]) < 1e-3


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


def test_manifest(tmp_path: Path) -> None:
    """The keys that the text explains are those of a manifest."""
    import json

    said = re.search(r"^\* The manifest has (.*?)\n\n", MANUAL, re.M | re.S)
    assert said
    assert shell(f"python3 -m gen build tests/kernels/layouts_f32.hlo tests/goldens/pool_gradient_f32.hlo -o {tmp_path} --target opencl,cuda").returncode == 0
    manifest, chained = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("layouts_f32", "pool_gradient_f32"))
    known = {*manifest, *manifest["params"][0], *manifest["results"][0], *manifest["targets"]["opencl"], *chained["targets"]["opencl"]["kernels"][0],
             *manifest["targets"]["cuda"], *manifest["targets"]["cuda"]["kernels"][0]}
    assert set(re.findall(r"`(\w+)`", said[1])) <= known and len(known) > 15


def run_sett(*words: str) -> str:
    if not (ROOT / "build" / "sett").exists():
        pytest.skip("build/sett is not built")
    return subprocess.run([str(ROOT / "build" / "sett"), *words], check=True, capture_output=True, text=True).stdout.strip()


def test_table_of_headers() -> None:
    """The table of headers has a row for each header, with the text of its first line."""
    rows = dict(re.findall(r"^\| \[(sett\w*\.h)\]\(include/\1\) \| (.*) \|$", TEXT, re.M))
    assert sorted(rows) == sorted(path.name for path in ROOT.glob("include/*.h"))
    for name, what in rows.items():
        first = (ROOT / "include" / name).read_text().splitlines()[0]
        said = re.fullmatch(r"/\* (\S+) - v\d+\.\d+ - (.*?)(?: \*/)?", first)
        assert said and said[1] == name and said[2] == what, first


def sections() -> "dict[str, str]":
    """Return the text below each heading."""
    parts = re.split(r"^## (.*)\n", TEXT, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def saved(section: str) -> "dict[str, str]":
    """Return the C programs that the reader has to save, by file name. The text right before a program is the file name
    in code type.
    """
    return dict(re.findall(r"`(\w+\.c)`:\n\n```c\n(.*?)^```$", section, re.M | re.S))


def sessions(section: str) -> "list[tuple[str, str]]":
    """Return each command in the console blocks with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", section, re.M | re.S)
    return [(command, output) for block in blocks for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def as_said(output: str, printed: str) -> bool:
    """Return whether the output shown equals the output printed. ` ..` stands for the rest of a line. The
    error of a result in floats depends on the compiler, so the number before "of the allowed error" may differ, but is
    at most 1.
    """
    share = r"(\d[\d.e-]*)( of the allowed error)"
    if any(float(number) > 1 for number, _ in re.findall(share, printed)):
        return False
    lines, found = (re.sub(share, r"N\2", text).splitlines() for text in (output, printed))
    return len(lines) == len(found) and all(f.startswith(line[:-2]) if line.endswith(" ..") else f == line for line, f in zip(lines, found))


def room(tmp_path: Path, section: str) -> Path:
    """Return a folder with what a reader of the section has: the repository, the section's files, and build/sett as the
    only built file.
    """
    for name in ("include", "gen", "templates", "tests", "bench"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "sett").symlink_to(ROOT / "build" / "sett")
    for name, program in saved(section).items():
        (tmp_path / name).write_text(program)
    return tmp_path


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.peer if "-O3" in section else []) for name, section in sections().items()
                                  if sessions(section)])
def test_sessions(name: str, tmp_path: Path) -> None:
    """The commands of a section, run in order, print the text that is shown. Its programs compile without a warning."""
    if not (ROOT / "build" / "sett").exists():
        pytest.skip("build/sett is not built")
    section = sections()[name]
    folder = room(tmp_path, section)
    programs = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    without = [] if find_spec("jax") else re.findall(r'open\("([^"]+)"', "".join(programs))    # without JAX, the files that JAX would have written are missing
    for program in [] if without else programs:
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    for command, output in sessions(section):
        if any(re.search(rf"\b{re.escape(file)}\b", command) for file in without):
            continue
        if command.startswith("cc "):
            command = command.replace("cc ", f"cc {' '.join(WARNINGS)} ", 1)
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=900)
        assert as_said(output, done.stdout), f"{command}\n{done.stdout}{done.stderr}"
    assert all(name in " ".join(command for command, _ in sessions(section)) for name in saved(section))


@pytest.mark.peer
def test_rows_says_what_is_wrong(tmp_path: Path) -> None:
    """For a wrong shape, the program in section "A tiled buffer" prints a caret below the error. For a buffer of the
    wrong size it prints both sizes.
    """
    program = saved(sections()["A buffer in a tiled layout"])["rows.c"]
    (layout,) = re.findall(r'const char \*layout = "(.*)";', program)
    wrong = layout.replace("T(8,128)(", "T(8,128(")
    for name, text in (("rows", program), ("wrong", program.replace(layout, wrong))):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(["cc", *WARNINGS, f"-I{ROOT / 'include'}", f"{name}.c", "-o", name], cwd=tmp_path, check=True)

    def printed(name: str, data: bytes) -> str:
        done = subprocess.run([str(tmp_path / name)], input=data, capture_output=True)
        assert done.returncode == 1
        return done.stdout.decode()

    column = wrong.index("128(") + 4
    assert printed("wrong", b"") == f"{wrong}\n{' ' * (column - 1)}^ column {column}\nerror: expected ',' or ')' after a tile dimension\n"
    assert printed("rows", bytes(100)) == "error: expected 79872 bytes, found 100\n"
    assert printed("rows", bytes(79874)) == "error: expected 79872 bytes, found 79873 or more\n"


def test_what_is_compared() -> None:
    assert as_said("a\nb (..\n", "a\nb (..\n") and as_said("b (1; ..\n", "b (1; rest\n") and not as_said("b (1; ..\n", "b (2; rest\n")
    assert as_said("x 0.1 of the allowed error\n", "x 0.25 of the allowed error\n") and not as_said("x 0.1 of the allowed error\n", "x 1.5 of the allowed error\n")
    assert not as_said("a\nb\n", "a\n") and not as_said("a\n", "a\nb\n") and not as_said("", "error\n")


def test_shell_blocks() -> None:
    """Some commands take too long to run here. The test checks that gen accepts their arguments."""
    commands = [line for block in of("sh")[1:] for line in block.splitlines()]
    assert commands and all(line.startswith("python3 -m gen ") for line in commands)
    for command in commands:
        assert arguments().parse_args(shlex.split(command)[3:])


@pytest.mark.parametrize("text", [TEXT, MANUAL], ids=["README.md", "manual.md"])
def test_named_commands(text: str) -> None:
    """Every verb, option, ninja target and group of build/sett that the prose names exists."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    words = re.findall(r"`([^`]+)`", prose)
    built = " ".join(re.findall(r"^build ([^:]+):", (ROOT / "build.ninja").read_text(), re.M)).split()
    helps = {verb: gen(verb, "--help").stdout for verb in VERBS}
    groups = re.findall(r"^  (\w+) ", run_sett("help"), re.M)
    for word in words:
        parts = word.replace("python3 -m gen", "gen").split()
        if parts[0] == "ninja":
            assert set(parts[1:]) <= set(built), word
        elif parts[0] in ("sett", "build/sett") and len(parts) > 1:
            assert parts[1] == "help" or parts[1] in groups, word
            assert len(parts) < 3 or parts[1] == "help" or parts[1] == "draw" or parts[2] in groups or f"sett {parts[1]} {parts[2]} " in run_sett("help", parts[1]), word
        elif parts[0] == "gen" and len(parts) > 1:
            assert parts[1] in VERBS or parts[1].startswith("-"), word
            for option in re.findall(r"--[a-z-]+", word):
                assert option in helps.get(parts[1], "--help"), word
        elif parts[0].startswith("--"):
            assert any(parts[0] in text for text in helps.values()) or parts[0] in ("--lane", "--svg", "--vector"), word


def test_named_functions() -> None:
    """Every function of the headers that the text names exists."""
    headers = "".join(path.read_text() for path in ROOT.glob("include/*.h"))
    names = set(re.findall(r"\b(sett_\w+)\b(?!\.h|=)", TEXT)) - {path.stem for path in ROOT.glob("include/*.h")} - {"sett_distribute"}
    assert names and not [name for name in sorted(names) if not re.search(rf"\b{name}\(|}} {name};|\b{name}\b;", headers)]


def test_devices_and_targets() -> None:
    """The table of targets has every target of `gen check`, and the GPUs that it lists for CUDA are the existing
    devices.
    """
    table = MANUAL[MANUAL.index("| `--target` |"):]
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \|", table[:table.index("\n\n")], re.M)[1:]
    assert sorted(name for names, _ in rows for name in re.findall(r"`([\w-]+)`", names)) == sorted(RUNNERS)
    (gpus,) = [what for names, what in rows if "`cuda`" in names]
    assert re.findall(r"`((?:sm_|gfx)\w+)`", gpus) == [name for name in DEVICES if re.match("sm_|gfx", name)]


def columns(line: str) -> "list[str]":
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_numbers() -> None:
    """The table repeats figures of bench/README.md: the kernel's throughput, and the throughput of the fastest library,
    computed from its relative speed.
    """
    bench = (ROOT / "bench" / "README.md").read_text()
    head = next(line for line in bench.splitlines() if line.startswith("| kernel | GB/s |"))
    libraries = columns(head)[5:]
    measured = {columns(line)[0].strip("`"): columns(line) for line in bench[bench.index(head):].split("\n\n")[0].splitlines()[2:]}
    rows = [columns(line) for line in sections()["Numbers"].splitlines() if re.match(r"\| `\w+` \|", line)]
    assert len(rows) > 10
    for name, _, share, rival, its in rows:
        row = measured[name.strip("`")]
        assert share == row[2].replace(" r", " read"), name
        speeds = {library: float(speed) for library, speed in zip(libraries, row[5:]) if speed != "-"}
        if speeds:
            best = max(speeds, key=lambda library: speeds[library])
            assert (rival, float(its)) == (best, round(speeds[best] / float(row[1]) * float(row[2].split()[0]), 2)), name
        else:
            assert (rival, its) == ("-", "-"), name
    (commit,) = re.findall(r"at commit (\w+)", sections()["Numbers"])
    assert commit in bench[:bench.index(head)].split("\n## ")[-1]


def test_ninja_block() -> None:
    """The two lines in the guide that add a kernel to the catalogue are in build.ninja."""
    (block,) = re.findall(r"^```ninja\n(.*?)^```$", GUIDE, re.M | re.S)
    assert len(block.splitlines()) == 2 and block in (ROOT / "build.ninja").read_text()


def test_verbs() -> None:
    """The table of commands has every verb of gen and no other."""
    verbs = re.search(r"build\|[a-z|]+", shell("python3 -m gen --help").stdout)
    assert verbs and re.findall(r"^\| `gen (\w+) ", TEXT, re.M) == verbs[0].split("|") == VERBS


@pytest.mark.parametrize("page", ["README.md", "gen/manual.md", "bench/README.md"])
def test_links(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (ROOT / page).parent.joinpath(target).exists(), target
    headings = [re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in re.findall(r"^#+ (.*)$", text, re.M)]
    assert len(headings) == len(set(headings))
    for target in re.findall(r"\]\(#([^)]+)\)", text):
        assert target in headings, target


def test_bench_page() -> None:
    """The kernels in the table of bench/README.md are files in bench/, and the commands on the page exist."""
    text = (ROOT / "bench" / "README.md").read_text()
    table = text[text.index("| kernel | GB/s |"):].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        assert (ROOT / "bench" / f"{columns(line)[0]}.hlo").exists(), line
    built = " ".join(re.findall(r"^build ([^:]+):", (ROOT / "build.ninja").read_text(), re.M)).split()
    assert set(re.findall(r"`ninja ([\w-]+)`", text)) <= set(built)


def test_examples_are_named() -> None:
    """README links to each folder of tests/examples."""
    linked = set(re.findall(r"\]\(tests/examples/(\w+)\)", TEXT))
    assert linked == {path.name for path in (ROOT / "tests" / "examples").iterdir() if path.is_dir()}


def test_changes() -> None:
    """The page of changes names the version of each header. Its days are in order, the newest first."""
    changes = (ROOT / "gen" / "changes.md").read_text()
    days = re.findall(r"^## (\S+)$", changes, re.M)
    assert days == sorted(days, reverse=True) and "(gen/changes.md)" in TEXT
    for path in ROOT.glob("include/*.h"):
        version = path.read_text().split(" - ")[1]
        assert f"{path.name} {version}" in " ".join(changes.split()), path.name
