"""The headers use no name that another header is likely to define as a macro. Each header is preprocessed after those
names were defined as empty macros, and the result must be unchanged. Private names begin with their module.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = ["sett_tile.h", "sett_relayout.h", "sett_indexing_map.h", "sett_indexing_analysis.h", "sett_nested_layout.h", "sett_mma_layouts.h",
           "sett_notation.h", "sett_move.h", "sett.h"]
# Macros without arguments that other headers define, by header.
OBJECTS = """
windows.h (minwindef.h, winnt.h, wingdi.h, winerror.h, rpcndr.h, combaseapi.h, dlgs.h):
  far near FAR NEAR huge pascal cdecl small hyper interface min max IN OUT OPTIONAL CONST VOID ERROR TRUE FALSE STRICT DELETE IGNORE OPAQUE TRANSPARENT
  RELATIVE ABSOLUTE ALTERNATE WINDING DIFFERENCE PASSTHROUGH NO_ERROR INFINITE UNICODE DUPLICATE environ uuid grp1 rad1 chx1 edt1 lst1 cmb1 stc1
Qt: slots signals emit foreach forever Q_OBJECT
X11: None Bool Status Success True False Always Above Below Opposite Unsorted Convex Complex Nonconvex
termios.h: B0 B50 B75 B110 B134 B150 B200 B300 B600 B1200 B1800 B2400 B4800 B9600 B19200 B38400 B57600 ECHO NL0 NL1 CR0 CR1 CR2 CR3 TAB0 TAB1 TAB2
  TAB3 BS0 BS1 VT0 VT1 FF0 FF1 CS5 CS6 CS7 CS8 PARENB
sys/param.h, sys/sysmacros.h, sys/types.h: major minor makedev MIN MAX NBBY howmany roundup isset isclr setbit clrbit powerof2 HZ NODEV PAGE_SIZE
complex.h, math.h: I complex imaginary DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS HUGE NAN INFINITY M_PI
term.h: lines columns tab bell newline init_tabs
the compiler, in GNU modes: unix linux i386 arm mips sparc sun vax
altivec.h: vector pixel
Arduino.h: F PI HALF_PI TWO_PI B00 B01 B1 B10 B11 B100 HIGH LOW INPUT OUTPUT CHANGE RISING DISPLAY DEFAULT EXTERNAL INTERNAL
zutil.h: local OF
AssertMacros.h, Objective-C: check verify require nil Nil YES NO
VxWorks, curses.h: OK ERR ERROR NONE LOCAL IMPORT
many: unused always_inline may_alias vector_size noinline fallthrough likely unlikely ARRAY_SIZE DEBUG INFO FAIL TEST CHECK REQUIRE SECTION
"""
# Macros with arguments change a name only if a parenthesis follows.
FUNCTIONS = """
curses.h: move box clear erase refresh timeout border insch delch scroll setscrreg
tgmath.h: round floor ceil fma log exp pow sqrt real imag
Arduino.h: bit word sq abs constrain radians degrees lowByte highByte interrupts
sys/queue.h and kernels: swap offset_of container_of
libintl.h: _
"""


def names(text: str) -> "list[str]":
    return [name for line in re.sub(r"^[^\s].*?:(?=\s)", "", text, flags=re.M).splitlines() for name in line.split()]


def shouted() -> "list[str]":
    """Return the words in capitals in the headers' code that have no prefix of ours, because such words look like
    macros.
    """
    code = "".join(re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", (INCLUDE / name).read_text(), flags=re.S) for name in HEADERS)
    own = set(re.findall(r"\b(?!SETTP?_|U?INT(?:32|64)_)[A-Z][A-Z0-9_]+\b", code))
    return sorted(own - {"NULL", "SIZE_MAX"})


def preprocessed(compiler: str, lines: "list[str]") -> str:
    """Return the headers, preprocessed after the given lines and the standard headers."""
    source = "\n".join(["#include <stddef.h>", "#include <stdint.h>", *lines, *(f'#include "{name}"' for name in HEADERS)])
    done = subprocess.run([compiler, "-E", "-P", "-I", str(INCLUDE), "-x", "c++" if "+" in compiler else "c", "-"], input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The modules whose private names a header may use; sett.h joins several headers.
PRIVATE = {"sett_tile.h": ["tile"], "sett_relayout.h": ["relayout"], "sett_indexing_map.h": ["map"], "sett_indexing_analysis.h": ["analysis", "map"], "sett_nested_layout.h": ["nested"],
           "sett_mma_layouts.h": ["mma", "nested"], "sett_notation.h": ["notation", "map"], "sett_move.h": ["move", "map"],
           "sett.h": ["layout", "nested", "notation", "move", "map"]}


@pytest.mark.parametrize("header", HEADERS)
def test_private_names(header: str) -> None:
    """Private names are settp_<module>_.. and SETTP_<MODULE>_... So two headers in one file never define the same name,
    and a name shows where it is defined. SETTP_LINK_.. are macros for linkage, which all headers share.
    """
    found = set(re.findall(r"\b(?:settp|SETTP)_\w+", (INCLUDE / header).read_text()))
    assert found and not [name for name in found if name.split("_")[1].lower() not in [*PRIVATE[header], "link"]]


def test_lists_are_read() -> None:
    assert {"far", "small", "slots", "grp1", "PARENB", "I", "B0", "pixel"} <= set(names(OBJECTS)) and not [n for n in names(OBJECTS) if not n.isidentifier()]
    assert "_" in names(FUNCTIONS) and "OVERFLOW" in shouted() and not {"NULL", "SETT_H", "INT64_MAX"} & set(shouted())


@pytest.mark.parametrize("compiler", ["cc", "c++", "clang", "clang++"])
def test_macros_of_others(compiler: str) -> None:
    """The preprocessed headers do not change if the names that other headers define, and all words in capitals, are
    macros.
    """
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    text = preprocessed(compiler, []).splitlines()
    defined = [*(f"#undef {name}\n#define {name}" for name in names(OBJECTS) + shouted()), *(f"#undef {name}\n#define {name}(...)" for name in names(FUNCTIONS))]
    other = preprocessed(compiler, defined).splitlines()
    assert len(text) > 10000 and "sett_map_is_bijective" in "\n".join(text)
    assert not [f"expected: {a}\nfound:    {b}" for a, b in zip(text, other) if a != b] and len(text) == len(other)
