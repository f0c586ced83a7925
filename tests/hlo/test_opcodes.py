"""Compare the table of ops (gen/hlo/opcodes.py) with the code that uses it: the checker, the command `sett`, the emitter
and the reference know each row, and the kernels return the reference's values.

All ops of a type are one fusion, so a new op is tried on every target without a test of its own. SETT_SWEEP=1 (`ninja
test-peer`) runs every type on every target and device, otherwise a few run.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import List, Optional, Tuple

import pytest

import drawn
from gen import algebra, hlo
from gen.hlo import dtypes
from gen.hlo.checker import Check
from gen.hlo.opcodes import ELEMENTWISE, OPCODES, STRUCTURAL, TABLE, WHOLE, Elementwise, letter

ROOT = Path(__file__).resolve().parents[2]
SWEEP = os.environ.get("SETT_SWEEP", "") != ""
COUNT = 83    # number of elements: whole vectors, and a remainder that fills no vector
OF_KIND = {"p": "pred", "s": "s32", "u": "u32", "f": "f32", "c": "c64"}
VALUES = {"direction": ("EQ", "LT"), "integer": ("5",)}    # values for attributes of each kind; the first value fits every type of operand
CONVERTED = ("pred", "s8", "s64", "u16", "f16", "bf16", "f32", "f64")
FEW = [*(("c", "cpu", t) for t in ("pred", "u32", "f32", "bf16", "c64")), ("opencl", "pocl-cpu", "f32"), ("cuda-on-cpu", "sm_80", "f32")]
ALL = [(target, device, t) for target, device in [*drawn.ON, ("hip-on-cpu", "gfx942")] for t in sorted(dtypes.SUPPORTED)]


def results(row: Elementwise, dtype: str) -> "List[str]":
    """Return the result types to write before an op that does not determine its type; [""] if the op does."""
    same = [t for t in ("u2", "u4", "u8", "u16", "u32", "u64") if dtypes.TABLE[t].bits == dtypes.TABLE[dtype].bits and letter(dtype) != "c"]
    types = {"convert": ("c64", "c128") if letter(dtype) == "c" else CONVERTED, "bitcast-convert": same or [dtype]}.get(row.opcode)
    return [f"{t}[{COUNT}] " for t in types] if types else [""]


def instructions(row: Elementwise, dtype: str) -> "List[str]":
    """Return the texts of an op on operands of a type, one for each value of its first required attribute."""
    operands = ["p", "x", "y"] if row.opcode == "select" else ["x", "y", "z"][:row.arity]
    wanted = [key for key in row.attributes if key not in row.optional]
    variants = range(len(VALUES[row.attributes[wanted[0]]]) if wanted and letter(dtype) != "c" else 1)
    return [f"{to}{row.opcode}({', '.join(operands)})" + "".join(f", {key}={VALUES[row.attributes[key]][k]}" for key in wanted)
            for to in results(row, dtype) for k in variants]


def module(rows: "List[Elementwise]", dtype: str) -> str:
    """Return a module of one fusion with a result for each op."""
    ops = [text for row in rows for text in instructions(row, dtype)]
    lines = [f"  {name} = {t}[{COUNT}] parameter({k})" for k, (name, t) in enumerate((("x", dtype), ("y", dtype), ("z", dtype), ("p", "pred")))]
    lines += [f"  r{k} = {text}" for k, text in enumerate(ops)]
    names = [f"r{k}" for k in range(len(ops))]
    if dtypes.TABLE[dtype].kind in ("sint", "uint") and dtypes.TABLE[dtype].bits < 8:    # memory keeps only the low bits; a conversion to s32 also shows the higher bits of the register
        lines += [f"  w{k} = s32[{COUNT}] convert(r{k})" for k in range(len(ops))]
        names += [f"w{k}" for k in range(len(ops))]
    return "e {\n" + "\n".join(lines) + f"\n  ROOT t = tuple({', '.join(names)})\n}}\n"


def of_type(dtype: str) -> "List[Elementwise]":
    """Return the ops for which kernels support a type, by the table. (reduce-precision needs types above 8 bits, complex
    needs f32 or f64.)
    """
    less = {"reduce-precision": dtypes.TABLE[dtype].bits > 8, "complex": dtype in ("f32", "f64")}
    return [row for row in ELEMENTWISE.values() if letter(dtype) in row.takes and letter(dtype) in row.kernels and less.get(row.opcode, True)]


def refusal(row: Elementwise, dtype: str) -> "Tuple[Optional[str], Optional[str]]":
    """Return the checker's error for an op, or None, and the reason why there is no kernel, or None."""
    try:
        read = hlo.parse(module([row], dtype), "e.hlo")
    except hlo.HloError as error:
        return error.message, None
    why = hlo.unsupported(read)
    return None, why.message if why else None


@pytest.mark.parametrize("kind", OF_KIND)
def test_kinds(kind: str) -> None:
    """The checker accepts exactly the kinds of types in a row's `takes`, and kernels support exactly those in `kernels`.
    """
    for row in ELEMENTWISE.values():
        wrong, without = refusal(row, OF_KIND[kind])
        assert (wrong is None) == (kind in row.takes), (row.opcode, kind, wrong)
        assert wrong is None or wrong.startswith(f"{row.opcode}: expected "), wrong
        assert wrong or (without is None) == (kind in row.kernels), (row.opcode, kind, without)
        assert without is None or without.startswith(f"'{row.opcode}'") or f"expected a {row.opcode} of " in without, without


def test_operands() -> None:
    """The checker expects the number of operands in an op's row. So does the command `sett`, which has a table of its
    own.
    """
    for row in ELEMENTWISE.values():
        kind = row.takes[-1] if row.opcode != "complex" else "f"
        text = module([row], OF_KIND[kind]).replace(f"{row.opcode}(", f"{row.opcode}(x, ")
        with pytest.raises(hlo.HloError, match=f"expected {row.arity} operand"):
            hlo.parse(text, "e.hlo")
        if row.opcode != "bitcast-convert":     # a bitcast-convert may change the width
            assert algebra.call("op", row.opcode, str(row.arity - 1), "out=4", "in=4") == algebra.call("op", "elementwise", "0", "out=4", "in=4")
            with pytest.raises(algebra.AlgebraError, match="the number of an operand that the op has"):
                algebra.call("op", row.opcode, str(row.arity), "out=4", "in=4")


# Functions that Python's math lacks or names differently.
BY_HAND = {"logistic": lambda x: 1 / (1 + math.exp(-x)), "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x), "round-nearest-afz": lambda x: math.floor(x + 0.5),
           "round-nearest-even": round}


def test_monotone() -> None:
    """A row is marked monotone if and only if the function is monotone where it is defined."""
    for row in ELEMENTWISE.values():
        values = []
        for x in range(-200, 201):
            try:
                values.append((BY_HAND.get(row.opcode) or getattr(math, row.function))(x / 64))
            except (AttributeError, TypeError, ValueError):    # not a function of one number, or not defined at x
                pass
        monotone = len(values) > 60 and values in (sorted(values), sorted(values, reverse=True))
        assert monotone == row.monotone, f"{row.opcode}: expected {monotone}, by its values in math or BY_HAND"


def test_every_row_has_kernels() -> None:
    tried = {row.opcode for _, _, dtype in FEW for row in of_type(dtype)}
    assert tried == set(ELEMENTWISE)


def test_structural() -> None:
    """Each structural op has a checker. If its row names a map or an element function, this exists, too."""
    header = (ROOT / "include" / "sett_indexing_analysis.h").read_text()
    emitter = "".join(path.read_text() for path in sorted((ROOT / "gen" / "emit").glob("*.py")))
    for row in STRUCTURAL.values():
        # gen/hlo/custom_calls.py checks the ops that replace custom calls
        assert row.opcode not in OPCODES or callable(getattr(Check, "_" + row.opcode.replace("-", "_"), None)), f"{row.opcode} has no checker"
        assert not row.map or f"SETT_ANALYSIS_{row.map.replace('-', '_').upper()}" in header, f"{row.opcode}: no map of {row.map}"
        assert row.element in ("", WHOLE) or re.search(rf"def _?{row.element}\(", emitter), f"{row.opcode}: no element code {row.element}"
        assert set(row.optional) <= set(row.attributes), row.opcode
    for row in ELEMENTWISE.values():
        assert (row.result == "rule") == hasattr(Check, "_" + row.opcode.replace("-", "_")), row.opcode
        assert set(row.kernels) <= set(row.takes) or row.opcode == "complex", row.opcode
    assert len(TABLE) == len(ELEMENTWISE) + len(STRUCTURAL)


@pytest.mark.parametrize("target, device, dtype", ALL if SWEEP else FEW)
def test_values(target: str, device: str, dtype: str, tmp_path: Path) -> None:
    """The kernels of every op on a type return the reference's values, within the error that the row allows."""
    drawn.agree({"e": module(of_type(dtype), dtype)}, target, device, tmp_path)
