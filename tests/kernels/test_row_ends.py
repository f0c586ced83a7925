"""Property: fusions agree with the reference if a row ends inside a register and operands vary along the row or are
constant along it. Registers that are entirely in one row are read and computed at once.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from drawn import ON, SEED, agree, fusions, in_parts, marked, plain
from gen import pipeline
from gen.statements import printed
from gen.schedule import DEVICES

COUNT = 6    # number of random fusions for each device
WIDE = [(target, device) for target, device in ON if DEVICES[device].lanes > 1 and DEVICES[device].cpu]
ROWS = [15, 17, 24, 31, 33, 40, 100, 127, 1000]
TYPES = ["f32", "f32", "bf16", "f16", "s8", "u8", "s32", "u16", "s64", "f64"]
ONE_HOT = """HloModule m
ENTRY e {
  c = s32[640]{0} parameter(0)
  a = s32[640,1000]{1,0} broadcast(c), dimensions={0}
  b = s32[640,1000]{1,0} iota(), iota_dimension=1
  p = pred[640,1000]{1,0} compare(a, b), direction=EQ
  ROOT r = f32[640,1000]{1,0} convert(p)
}
"""


def _drawn(random_: random.Random) -> str:
    """Return a random fusion of any rank whose operands vary along some of the dimensions, with an iota and a table of
    constants.
    """
    dims = [random_.choice([1, 2, 5, 8]) for _ in range(random_.randint(1, 2))] + [random_.choice(ROWS)]
    dims[0] = max(dims[0], -(-700 // dims[-1]))
    dtype, last = random_.choice(TYPES), len(dims) - 1
    whole = plain(dtype, dims)
    lines = [f"  x = {whole} parameter(0)"]
    value = "x"
    for number, along in enumerate(([0], [last], sorted(random_.sample(range(len(dims)), 2)))):
        lines += [f"  y{number} = {plain(dtype, [dims[k] for k in along])} parameter({number + 1})",
                  f"  b{number} = {whole} broadcast(y{number}), dimensions={{{','.join(map(str, along))}}}", f"  s{number} = {whole} add({value}, b{number})"]
        value = f"s{number}"
    table = ", ".join(str(random_.randint(0, 99)) for _ in range(dims[-1]))
    kind = random_.choice(["s32", "u32", "s64", "f32"])
    lines += [f"  n = {plain(kind, dims)} iota(), iota_dimension={random_.choice([0, last])}", f"  m = {whole} convert(n)", f"  o = {whole} add({value}, m)",
              f"  t = {plain(dtype, dims[-1:])} constant({{{table}}})", f"  u = {whole} broadcast(t), dimensions={{{last}}}",
              f"  less = {plain('pred', dims)} compare(o, u), direction=LT", f"  ROOT r = {whole} select(less, u, o)"]
    return "HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("target,device", marked(WIDE))
@in_parts
def test_rows_that_end_inside_of_a_register(target: str, device: str, part: str, tmp_path: Path) -> None:
    random_ = random.Random(f"{SEED} rows")
    agree({"one_hot": ONE_HOT, **{f"e{k}": _drawn(random_) for k in range(COUNT)}}, target, device, tmp_path, part)


@pytest.mark.parametrize("device", ["cpu", "pocl-cpu"])
def test_registers_inside_of_a_row_are_computed_at_once(device: str) -> None:
    """The row number and the index in the row are computed for whole registers, lane by lane only at a row's end.
    Comparisons are used as masks, without predicates in bytes.
    """
    (fusion,) = fusions(ONE_HOT)
    (kernel,) = pipeline.target_file(fusion, DEVICES[device].language, device).kernels
    text = "\n".join(printed(kernel.report.code.text))
    assert text.count("% 1000 <= 984)") == 2 and text.count("else {") == 2
    assert "as_float16(" in text and "char16" not in text


def _reversed(dtype: str, dims: "list[int]", some: "list[int]", added: bool = False) -> str:
    """Return a fusion that reverses an operand, with or without adding a row that is not reversed."""
    whole, row = plain(dtype, dims), plain(dtype, dims[-1:])
    more = f"  y = {row} parameter(1)\n  b = {whole} broadcast(y), dimensions={{{len(dims) - 1}}}\n" if added else ""
    last = f"  r = {whole} reverse(x), dimensions={{{','.join(map(str, some))}}}\n  ROOT s = {whole} add(r, {'b' if added else 'r'})\n"
    return f"HloModule m\nENTRY e {{\n  x = {whole} parameter(0)\n{more}{last}}}\n"


REVERSED = {
    "rows": (_reversed("f32", [40, 1024], [1]), 64),
    "rows_and_more": (_reversed("s32", [40, 1024], [1], True), 64),
    "pairs": (_reversed("bf16", [6, 16, 256], [0, 2]), 8),
    "bytes": (_reversed("s8", [33, 640], [1]), 10),
    "whole": (_reversed("f32", [37, 1001], [0, 1]), 2315),    # the first step is partial
    "odd_rows": (_reversed("f32", [41, 1001], [1]), 0),
    "odd_pairs": (_reversed("f16", [41, 333], [1]), 0),
    "other_rows": (_reversed("f32", [40, 1024], [0]), 0),
}


@pytest.mark.parametrize("target,device", marked(WIDE))
@in_parts
def test_reversed_rows(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text for name, (text, _) in REVERSED.items()}, target, device, tmp_path, part)


@pytest.mark.parametrize("device", ["cpu", "pocl-cpu"])
@pytest.mark.parametrize("name", REVERSED)
def test_what_is_read_downwards_is_walked_upwards(name: str, device: str) -> None:
    """If an operand is reversed and each step reads one contiguous part of it, the kernel runs from the last step to
    the first, so that it reads the operand forwards. If rows are shorter than a step, registers are still read as a
    whole.
    """
    text, steps = REVERSED[name]
    (fusion,) = fusions(text)
    (kernel,) = pipeline.target_file(fusion, DEVICES[device].language, device).kernels
    assert kernel.loop.backwards == steps
    assert ("backwards(" in "\n".join(printed(kernel.report.code.text))) == (name != "other_rows")
