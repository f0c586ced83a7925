"""Test the form of the headers: each manual has the same sections in the same order, its programs print the text below
them, versions agree, and error messages and arguments follow one convention.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {path.name: path.read_text() for path in sorted((ROOT / "include").glob("*.h"))}
# For each header, the headers that must be included before it. Its #error lines name them.
NEEDS = {name: re.findall(rf'#error "include (\w+\.h) before {re.escape(name)}"', text) for name, text in TEXTS.items()}
SECTIONS = ["WHAT", "INCLUDE", "OPTIONS", "A FIRST LOOK", "THE MODEL", "FUNCTIONS", "LAWS", "ANSWERS", "ARGUMENTS", "ERRORS", "LIMITS", "HISTORY"]
WARNINGS = re.search(r"^strict = (.*)$", (ROOT / "build.ninja").read_text(), re.M)[1].split()
# The MODULE in each header's names sett_MODULE_.. and SETT_MODULE_..
MODULES = {"sett_tile.h": "tile", "sett_relayout.h": "relayout", "sett_indexing_map.h": "map", "sett_indexing_analysis.h": "analysis", "sett_nested_layout.h": "nested",
           "sett_mma_layouts.h": "mma", "sett_notation.h": "notation", "sett_move.h": "move", "sett.h": ""}
# The types that are passed by value, as section ARGUMENTS says; the last two are plans for device code.
BY_VALUE = {"sett_expr", "sett_map", "sett_analysis_list", "sett_nested_counts", "sett_map_mark", "sett_tile_device_plan", "sett_nested_plan"}
EACH = pytest.mark.parametrize("header", sorted(TEXTS))


def manual(header: str) -> str:
    """Return the manual: the comment before the code."""
    return TEXTS[header].split("\n*/\n")[0] + "\n"


@EACH
def test_sections(header: str) -> None:
    """Each manual has the sections in SECTIONS, in this order. Other sections may be between them."""
    found = re.findall(r"^([A-Z][A-Z ]*?)(?: \(.*)?$", manual(header), re.M)
    assert [name for name in found if name in SECTIONS] == SECTIONS


PROGRAMS = {f"{header}: {found[1]}": (header, *found.groups()[1:]) for header, text in TEXTS.items()
            for found in re.finditer(r"\n([A-Z][A-Z ]*)\n(?:  \S.*\n)*((?:(?:    .*)?\n)+)  prints\n((?:    .*\n)+)", text.split("\n*/\n")[0] + "\n")}


SHORT = ("sett_tile.h: A FIRST LOOK", "sett_indexing_map.h: A FIRST LOOK", "sett_nested_layout.h: A FIRST LOOK")    # the programs that `ninja test` runs


@pytest.mark.parametrize("place", [pytest.param(place, marks=[] if place in SHORT else pytest.mark.peer) for place in sorted(PROGRAMS)])
@pytest.mark.parametrize("compiler", [pytest.param(["cc", "-std=c11"], id="c"),
                                      pytest.param(["c++", "-std=c++17", "-x", "c++"], id="c++", marks=pytest.mark.peer)])
def test_programs(place: str, compiler: "list[str]", tmp_path: Path) -> None:
    """The programs in a manual compile without a warning and print the text below them."""
    assert {f"{header}: A FIRST LOOK" for header in TEXTS} < set(PROGRAMS) and len(PROGRAMS) == sum(text.count("\n  prints\n") for text in TEXTS.values())
    _, program, expected = PROGRAMS[place]
    (tmp_path / "look.c").write_text("".join(line[4:] + "\n" for line in program.split("\n")))
    subprocess.run([*compiler, *WARNINGS, f"-I{ROOT / 'include'}", "look.c", "-o", "look"], cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "look")], check=True, capture_output=True, text=True).stdout
    assert said.rstrip("\n") == "".join(line[4:] + "\n" for line in expected.split("\n")).rstrip("\n")


@EACH
def test_says_what_it_needs(header: str, tmp_path: Path) -> None:
    """If a header is included without the header that it needs, the error names the missing one. The manual shows both
    #include lines. Only sett.h includes other headers of ours itself.
    """
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


def code(header: str) -> str:
    """Return everything after the manual, without comments."""
    return re.sub(r"/\*.*?\*/", " ", TEXTS[header].split("\n*/\n", 1)[1], flags=re.S)


def name_of(header: str, rest: str) -> str:
    return "_".join(word for word in ["sett", MODULES[header], rest] if word)


@EACH
def test_version(header: str) -> None:
    """The first line, SETT_MODULE_VERSION and the newest entry in HISTORY state the same version. The second line is the
    licence.
    """
    first, second = TEXTS[header].splitlines()[:2]
    major, minor = map(int, re.match(rf"/\* {re.escape(header)} - v(\d+)\.(\d+) - ", first).groups())
    assert second == "   SPDX-License-Identifier: Apache-2.0" and "Apache License" in (ROOT / "LICENSE").read_text()
    assert re.findall(r"^#define (SETT_\w*VERSION) (\d+)", TEXTS[header], re.M) == [(name_of(header, "version").upper(), str(10000 * major + 100 * minor))]
    history = [tuple(map(int, pair)) for pair in re.findall(r"^  (\d+)\.(\d+)  \S", manual(header).split("\nHISTORY\n")[1], re.M)]
    assert history[0] == (major, minor) and history == sorted(set(history), reverse=True)


@EACH
def test_errors_are_of_one_type(header: str) -> None:
    """Errors have the type int in all records, results and arguments."""
    assert not re.findall(r"\b(?:u?int\d+_t|unsigned|size_t|settp?_\w+32) error\b[^;{]*", code(header))


def test_messages(tmp_path: Path) -> None:
    """A header that defines errors has sett_MODULE_message(int). All headers give the same text for 0, and for a number
    that is no error.
    """
    declared = re.findall(r"^SETT_PUBLIC const char \*(sett_\w*message|sett_\w*error_\w+)\((.*)\);", "".join(TEXTS.values()), re.M)
    own = {name_of(header, "message") for header, text in TEXTS.items() if re.search(r"^#define SETT_\w+_ERRORS\(X\)", text, re.M)}
    assert len(own) == 7 and sorted(declared) == sorted((name, "int error") for name in own | {"sett_message"})
    lines = "".join(f'  printf("%s|%s|%s\\n", {name}(0), {name}(-1), {name}(123456789));\n' for name, _ in declared)
    (tmp_path / "say.c").write_text(f'#include <stdio.h>\n#include "sett.h"\nint main(void) {{\n{lines}  return 0;\n}}\n')
    subprocess.run(["cc", "-std=c11", *WARNINGS, f"-I{ROOT / 'include'}", "say.c", "-o", "say"], cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "say")], check=True, capture_output=True, text=True).stdout
    assert set(said.splitlines()) == {"no error|unknown error|unknown error"}


def test_sizes(tmp_path: Path) -> None:
    """The sizes of records that LIMITS and THE MODEL state are right."""
    said = re.search(r"a shape is (\d+) bytes, a plan (\d+), an iterator (\d+), a device plan (\d+) and a device iterator (\d+)\.", re.sub(r"\s+", " ", manual("sett_tile.h")))
    types = ["sett_tile_shape", "sett_tile_plan", "sett_tile_iterator", "sett_tile_device_plan", "sett_tile_device_iterator"]
    checks = [f"sizeof({name}) == {size}" for name, size in zip(types, said.groups())]
    kilobytes = re.search(r"The plan is (\d+) KB of caller-owned memory", manual("sett_relayout.h"))[1]
    checks.append(f"(sizeof(sett_relayout_plan) + 500) / 1000 == {kilobytes}")
    (tmp_path / "size.c").write_text('#include "sett.h"\n' + "".join(f'_Static_assert(sizeof(void *) != 8 || {check}, "{check}");\n' for check in checks))
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{ROOT / 'include'}", "size.c"], cwd=tmp_path, check=True)


def test_arguments() -> None:
    """Every manual says in the same words which arguments are passed by value and which by pointer, and every public
    function follows this.
    """
    rules = {re.search(r"^ARGUMENTS \(in all sett headers\)\n(?:  .*\n)+", manual(header), re.M)[0] for header in TEXTS}
    assert len(rules) == 1
    taken = {}
    for header in TEXTS:
        for name, arguments in re.findall(r"^SETT\w*_(?:INLINE|PUBLIC|DEVICE)\b[^;{(]*?\b(sett_\w+)\(([^;{]*?)\)\s*[;{]", code(header), re.M):
            for kind in re.findall(r"(?:^|,)\s*(?:const )?(sett_\w+) \w+(?=,|$)", arguments):
                taken.setdefault(kind, set()).add(name)
    assert {kind: names for kind, names in taken.items() if kind not in BY_VALUE} == {} and set(taken) == BY_VALUE
