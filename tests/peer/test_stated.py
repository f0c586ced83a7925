"""Test stated.py: if a fusion crashes, or leaves an element unwritten, this is reported for that fusion only, and the
others still run.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import stated
from drawn import device_or_skip, fusions
from gen import run

GIVEN = [1.0, 2.5, -3.0]


@pytest.mark.parametrize("target", ["c", "cuda-on-cpu"])
def test_planted(target: str, tmp_path: Path) -> None:
    device_or_skip(target)
    built = []
    for name in ("first", "aborts", "skips", "last"):
        (fusion,) = fusions("f {\n  p = f32[3] parameter(0)\n  ROOT r = f32[3] negate(p)\n}", name)
        built.append(stated.built(fusion, tmp_path, target))
        (tmp_path / f"{built[-1].name}.in").write_bytes(struct.pack("<3f", *GIVEN))
        source = tmp_path / run.runner_of(target).kernels(built[-1].name)
        text = source.read_text()
        kernel = text.index("{\n", text.index(f"sett_{built[-1].name}("))
        planted = {"aborts": "__builtin_abort();\n", "skips": "return;\n"}.get(name, "")
        source.write_text(f"{text[:kernel + 2]}{planted}{text[kernel + 2:]}")
    names = [each.name for each in built]
    wrong = stated.ran(stated.compiled(built, tmp_path, target), names, target, tmp_path, tmp_path, run.Options())
    assert wrong == {names[1]: "abort (in kernel)", names[2]: "result 0, element 0 is not written"}
    for name in (names[0], names[3]):
        assert struct.unpack("<3f", (tmp_path / f"{name}.out").read_bytes()) == tuple(-x for x in GIVEN)
