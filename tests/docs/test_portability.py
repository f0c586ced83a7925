"""Test compilers, standards and targets: each combination passes, or is skipped with the reason.

The headers compile without a warning with the newest installed gcc and clang, in every standard from C11 and C++17
on, for Windows and WebAssembly, and after headers that define many macros. Their tests run on 32-bit targets and on
targets with the other byte order, where a misaligned access, an undefined shift or an index out of bounds traps.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRICT = re.search(r"^strict = (.*)$", (ROOT / "build.ninja").read_text(), re.M)[1].split()
HEADERS = {"sett_tile.h": [], "sett_relayout.h": ["sett_tile.h"], "sett_indexing_map.h": [], "sett_indexing_analysis.h": ["sett_indexing_map.h"], "sett_nested_layout.h": [],
           "sett_mma_layouts.h": ["sett_nested_layout.h"], "sett_notation.h": ["sett_indexing_map.h"], "sett_move.h": ["sett_indexing_map.h"], "sett.h": []}
# Older compilers have other names for the same standards.
STANDARDS = {"c11": ["c11"], "c17": ["c17", "c18"], "c23": ["c23", "c2x"], "c++17": ["c++17"], "c++20": ["c++20", "c++2a"], "c++23": ["c++23", "c++2b"],
             "c++26": ["c++26", "c++2c"]}
# Every function is compiled, not only parsed.
ALL_CODE = "-DSETT_INLINE=static inline __attribute__((__used__))"
RUN_ON = {"i686": ("i686-linux-gnu-gcc", "qemu-i386", "4 bytes, low first"), "armhf": ("arm-linux-gnueabihf-gcc", "qemu-arm", "4 bytes, low first"),
          "s390x": ("s390x-linux-gnu-gcc", "qemu-s390x", "8 bytes, high first")}
COMPILE_FOR = {"windows-64": ("x86_64-w64-mingw32-gcc", []), "windows-32": ("i686-w64-mingw32-gcc", []),
               "wasm32": ("clang", ["--target=wasm32", "-ffreestanding"]), "wasm64": ("clang", ["--target=wasm64", "-ffreestanding"])}
TESTS = {"answers_test": "", "indexing_map_test": "200 3", "indexing_map_rules_test": "include/sett_indexing_map.h 101", "indexing_map_ops_test": "40 1", "indexing_map_property_test": "1 300", "tile_test": "50 1",
         "nested_test": "300 1", "relayout_test": "30 2 1", "indexing_analysis_graph_test": "30", "physical_test": "60", "indexing_map_fuzz": "1 300", "tile_fuzz": "1 7",
         "tile_round_trip_fuzz": "1 7", "nested_fuzz": "1 7", "notation_fuzz": "1 7", "indexing_fuzz": "1 7", "move_test": "100"}
# System headers that define many macros, unless the language is strict.
POSIX = ["complex.h", "tgmath.h", "math.h", "termios.h", "sys/param.h", "sys/sysmacros.h", "sys/types.h", "sys/ioctl.h", "netinet/in.h", "curses.h", "term.h", "X11/Xlib.h"]
WINDOWS = ["winsock2.h", "windows.h", "windowsx.h", "commctrl.h", "dlgs.h", "objbase.h", "complex.h", "tgmath.h"]


def version(compiler: str) -> "tuple[int, ...]":
    said = subprocess.run([compiler, "-dumpfullversion" if "clang" not in compiler else "-dumpversion"], capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said))


def newest(family: str) -> str:
    found = [name for name in [family, *(f"{family}-{n}" for n in range(10, 31))] if shutil.which(name)]
    if not found:
        pytest.skip(f"no {family}")
    return max(found, key=version)


def compiled(command: "list[str]", source: str) -> "tuple[bool, str]":
    done = subprocess.run([*command, "-I", str(ROOT / "include"), "-"], input=source, capture_output=True, text=True, cwd=ROOT, timeout=900)
    return done.returncode == 0, " ".join(command) + "\n" + done.stderr[:4000]


def includes(names: "list[str]") -> str:
    return "".join(f"#include <{name}>\n" for name in names)


def language(standard: str) -> "list[str]":
    return ["-x", "c++"] if "+" in standard else ["-x", "c", "-Wstrict-prototypes"]


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("family", ["gcc", "clang"])
def test_standard(family: str, standard: str) -> None:
    """Each header compiles alone without a warning, in every standard."""
    compiler = newest(family.replace("gcc", "g++").replace("clang", "clang++") if "+" in standard else family)
    for name in STANDARDS[standard]:
        command = [compiler, f"-std={name}", *language(standard), "-O1", "-c", "-o", "/dev/null"]
        if compiled(command, "int x;\n")[0]:
            break
    else:
        pytest.skip(f"{compiler} {'.'.join(map(str, version(compiler)))} does not know {standard}")
    for header, first in HEADERS.items():
        ok, said = compiled([*command, *STRICT], includes([*first, header]))
        assert ok, said


@pytest.mark.parametrize("standard", ["c11", "c++17"])
@pytest.mark.parametrize("family", ["gcc", "clang"])
def test_all_code(family: str, standard: str) -> None:
    """All functions compile without a warning. Only gcc with C11 optimises: this gives more warnings, but takes ten
    times as long.
    """
    level = "-O1" if (family, standard) == ("gcc", "c11") else "-O0"
    compiler = newest(family.replace("gcc", "g++").replace("clang", "clang++") if "+" in standard else family)
    ok, said = compiled([compiler, f"-std={standard}", *language(standard), level, *STRICT, ALL_CODE, "-c", "-o", "/dev/null"], includes(["sett.h"]))
    assert ok, said


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_under_a_sanitizer(compiler: str) -> None:
    """Code that is instrumented for a sanitizer, without optimisation, has no warning either."""
    ok, said = compiled([newest(compiler), "-std=c11", *language("c11"), "-O0", "-fsanitize=undefined", *STRICT, ALL_CODE, "-c", "-o", "/dev/null"],
                        includes(["sett_tile.h", "sett_relayout.h"]))
    assert ok, said


@pytest.mark.parametrize("target", COMPILE_FOR)
def test_compiles_for(target: str) -> None:
    compiler, flags = COMPILE_FOR[target]
    compiler = newest(compiler)
    ok, said = compiled([compiler, *flags, "-x", "c", "-c", "-o", "/dev/null"], "#include <stdint.h>\nint x = INT32_MAX;\n")
    if not ok:
        pytest.skip(f"{compiler} has no {target}: {said.splitlines()[-1]}")
    ok, said = compiled([compiler, *flags, "-std=c11", *language("c11"), "-O0", *STRICT, ALL_CODE, "-c", "-o", "/dev/null"], includes(["sett.h"]))
    assert ok, said


@pytest.mark.parametrize("family, standard, system", [
    ("gcc", "gnu11", POSIX), ("clang", "gnu11", POSIX), ("g++", "gnu++17", POSIX), ("clang++", "gnu++17", POSIX), ("x86_64-w64-mingw32-gcc", "gnu11", WINDOWS)],
    ids=["gcc", "clang", "g++", "clang++", "windows"])
def test_after_other_headers(family: str, standard: str, system: "list[str]") -> None:
    compiler, there = newest(family), []
    for name in system:
        command = [compiler, f"-std={standard}", *language(standard), "-c", "-o", "/dev/null"]
        if compiled(command, includes([*there, name]))[0]:
            there.append(name)
    if not {"termios.h", "windows.h"} & set(there):
        pytest.skip(f"{compiler} has no {system[1]}")
    print("after", *there)
    ok, said = compiled([*command, *STRICT], includes([*there, *HEADERS]))
    assert ok, said


@pytest.fixture(scope="module")
def machine(request: "pytest.FixtureRequest", tmp_path_factory: "pytest.TempPathFactory") -> "tuple[list[str], list[str]]":
    """Return a compiler for a target, and the emulator that runs compiled programs (none if this processor runs them).
    Check that programs run and have the target's pointer width and byte order.
    """
    compiler, emulator, expected = RUN_ON[request.param]
    if not shutil.which(compiler):
        pytest.skip(f"{request.param}: no {compiler}")
    probe = tmp_path_factory.mktemp("probe") / "probe"
    ok, said = compiled([compiler, "-static", "-o", str(probe), "-x", "c"], '''#include <stdio.h>
int main(void) { union { short all; char low; } x = {1}; return printf("%d bytes, %s first\\n", (int)sizeof(char *), x.low ? "low" : "high") < 0; }\n''')
    if not ok:
        pytest.skip(f"{request.param}: {compiler} makes no programs: {said.splitlines()[-1]}")
    flags = ["-static", "-fsanitize=alignment,shift,bounds", "-fsanitize-undefined-trap-on-error"]
    with contextlib.suppress(OSError):
        if subprocess.run([str(probe)], capture_output=True, text=True).stdout == expected + "\n":
            return [compiler, *flags], []
    if not shutil.which(emulator):
        pytest.skip(f"{request.param}: no {emulator}")
    ran = subprocess.run([emulator, str(probe)], capture_output=True, text=True)
    assert ran.stdout == expected + "\n", ran
    return [compiler, *flags], [emulator]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("machine", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in RUN_ON], indirect=True)
def test_runs_on(machine: "tuple[list[str], list[str]]", test: str, tmp_path: Path) -> None:
    compile_with, emulator = machine
    (source,) = ROOT.glob(f"tests/*/{test}.c")
    done = subprocess.run([*compile_with, "-std=c11", *language("c11"), "-O0", *STRICT, str(source),
                           "-o", str(tmp_path / test)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    ran = subprocess.run([*emulator, str(tmp_path / test), *TESTS[test].split()], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
