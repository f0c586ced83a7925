"""The form of the headers: the same sections in the same order, and a first program that prints what the manual says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {path.name: path.read_text() for path in sorted((ROOT / "include").glob("*.h"))}
# What a header needs in front of it, by its own #error.
NEEDS = {name: re.findall(rf'#error "include (\w+\.h) before {re.escape(name)}"', text) for name, text in TEXTS.items()}
SECTIONS = ["WHAT", "INCLUDE", "OPTIONS", "A FIRST LOOK", "THE MODEL", "FUNCTIONS", "LAWS", "ANSWERS", "ERRORS", "LIMITS", "HISTORY"]
WARNINGS = re.search(r"^strict = (.*)$", (ROOT / "build.ninja").read_text(), re.M)[1].split()
EACH = pytest.mark.parametrize("header", sorted(TEXTS))


def manual(header: str) -> str:
    """The prose in front of the code."""
    return TEXTS[header].split("\n*/\n")[0] + "\n"


@EACH
def test_sections(header: str) -> None:
    """Each manual has these sections in this order; others may stand between them."""
    found = re.findall(r"^([A-Z][A-Z ]*?)(?: \(.*)?$", manual(header), re.M)
    assert [name for name in found if name in SECTIONS] == SECTIONS


@EACH
@pytest.mark.parametrize("compiler", [["cc", "-std=c11"], ["c++", "-std=c++17", "-x", "c++"]], ids=["c", "c++"])
def test_first_look(header: str, compiler: "list[str]", tmp_path: Path) -> None:
    """The first program in the manual compiles without a warning and prints what the manual says."""
    found = re.search(r"\nA FIRST LOOK\n(.*?)\n  prints\n(.*?)\n\n", manual(header), re.S)
    assert found
    program, expected = ("\n".join(line[4:] for line in part.split("\n")) for part in found.groups())
    (tmp_path / "look.c").write_text(program + "\n")
    subprocess.run([*compiler, *WARNINGS, f"-I{ROOT / 'include'}", "look.c", "-o", "look"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "look")], check=True, capture_output=True, text=True).stdout.rstrip("\n") == expected


@EACH
def test_says_what_it_needs(header: str, tmp_path: Path) -> None:
    """A header that builds on another says so where that one is missing, shows the two lines in its manual, and includes nothing of ours itself."""
    if header == "sett.h":
        joined = re.findall(r'^#include "(\w+\.h)"$', TEXTS[header], re.M)
        assert sorted([*joined, header]) == sorted(TEXTS)
        return
    assert '#include "' not in TEXTS[header].split("\n*/\n")[1]
    done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-x", "c", str(ROOT / "include" / header)], capture_output=True, text=True)
    assert (done.returncode == 0) == (not NEEDS[header]), done.stderr
    for name in NEEDS[header]:
        assert f'include {name} before {header}' in done.stderr
        assert f'\nINCLUDE\n    #include "{name}"\n    #include "{header}"\n' in manual(header)
