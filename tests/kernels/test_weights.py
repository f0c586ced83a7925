"""Test large constants in the file NAME.weights: its contents, the code that reads it, and the constants that stay in
the text.
"""

from __future__ import annotations

import array
import ctypes
import json
import random
import struct
import subprocess
from pathlib import Path
from typing import Any, Callable, List

import pytest

from drawn import device_or_skip
from gen import hlo, pipeline, run
from gen.program import build
from reference_calls import call

TARGETS = ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu", "hip-on-cpu"))]


def literal(values: "List[Any]", dims: "List[int]") -> str:
    """Return the text of an array's values, row-major."""
    if not dims:
        return str(values[0])
    each = len(values) // dims[0]
    return "{" + ", ".join(literal(values[k * each:k * each + each], dims[1:]) for k in range(dims[0])) + "}"


def drawn(count: int, one: "Callable[[random.Random], Any]", seed: int = 1) -> "List[Any]":
    draw = random.Random(seed)
    return [one(draw) for _ in range(count)]


FLOATS = drawn(50 * 40, lambda draw: draw.randrange(-99, 99) / 8)
NIBBLES = drawn(128 * 70, lambda draw: draw.randrange(-8, 8))
BITS = drawn(64 * 70, lambda draw: draw.random() < 0.5)
WORDS = drawn(600, lambda draw: draw.randrange(1 << 64))
COMPLEX = drawn(20 * 30, lambda draw: (draw.randrange(9) / 2, -draw.randrange(9) / 2))
# the file's contents, in memory order of the layouts in RETURNED
CONTENTS = [
    array.array("f", [FLOATS[row * 40 + column] for column in range(40) for row in range(50)]).tobytes(),
    bytes((NIBBLES[k] & 15) | (NIBBLES[k + 1] & 15) << 4 for k in range(0, len(NIBBLES), 2)),
    bytes(map(int, BITS)),
    struct.pack("<600Q", *WORDS),
    struct.pack("<1200f", *(part for number in COMPLEX for part in number)),
]
RETURNED = f"""HloModule m

ENTRY m {{
  a = f32[50,40]{{0,1}} constant({literal(FLOATS, [50, 40])})
  b = s4[128,70]{{1,0}} constant({literal(NIBBLES, [128, 70])})
  c = pred[64,70]{{1,0}} constant({literal([str(bit).lower() for bit in BITS], [64, 70])})
  d = u64[600]{{0}} constant({literal(WORDS, [600])})
  e = c64[20,30]{{1,0}} constant({literal(COMPLEX, [20, 30])})
  ROOT r = (f32[50,40]{{0,1}}, s4[128,70]{{1,0}}, pred[64,70]{{1,0}}, u64[600]{{0}}, c64[20,30]{{1,0}}) tuple(a, b, c, d, e)
}}
"""

# The loop's body reads a table of indices, and a matrix whose layout is not row-major. `twice` is called with different
# constants.
TABLE = drawn(16 * 130, lambda draw: draw.randrange(-3, 70))
LOOP = f"""HloModule m

body {{
  s = (s32[], s32[64]{{0}}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[64]{{0}} get-tuple-element(s), index=1
  w = s32[64,64]{{0,1}} constant({literal(drawn(4096, lambda draw: draw.randrange(-9, 9), 2), [64, 64])})
  t = s32[16,130]{{1,0}} constant({literal(TABLE, [16, 130])})
  one = s32[] constant(1)
  zero = s32[] constant(0)
  row = s32[1,64]{{1,0}} dynamic-slice(t, i, zero), dynamic_slice_sizes={{1,64}}
  at = s32[64,1]{{1,0}} reshape(row)
  picked = s32[64]{{0}} gather(x, at), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  d = s32[64]{{0}} dot(w, picked), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  next = s32[] add(i, one)
  ROOT o = (s32[], s32[64]{{0}}) tuple(next, d)
}}

cond {{
  s = (s32[], s32[64]{{0}}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT p = pred[] compare(i, n), direction=LT
}}

ENTRY m {{
  x = s32[64]{{0}} parameter(0)
  zero = s32[] constant(0)
  s = (s32[], s32[64]{{0}}) tuple(zero, x)
  l = (s32[], s32[64]{{0}}) while(s), condition=cond, body=body
  ROOT y = s32[64]{{0}} get-tuple-element(l), index=1
}}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "m.hlo"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("target", TARGETS)
def test_values(target: str, tmp_path: Path) -> None:
    """Constants of all types, and a constant with another layout, have the values of the text when they are read from
    the file.
    """
    device_or_skip(target)
    made = run.run(written(tmp_path, RETURNED), target, str(tmp_path), str(tmp_path / "out"))
    assert [path.read_bytes() for path in made] == CONTENTS


@pytest.mark.parametrize("target", TARGETS)
def test_loop(target: str, tmp_path: Path) -> None:
    """Programs with constants in a loop's body agree with the reference, call by call and as a whole."""
    device_or_skip(target)
    results = run.check(written(tmp_path, LOOP), target, run.Options(seed=5))
    assert [result.status for result in results] == ["PASS"] * len(results), results
    assert sum(result.compared for result in results) > 1000


def test_loop_values(tmp_path: Path) -> None:
    """The values of the loop are compared with plain Python, because the reference reads the same file as the kernels.
    """
    x = drawn(64, lambda draw: draw.randrange(-100, 100), 3)
    (tmp_path / "p0.bin").write_bytes(array.array("i", x).tobytes())
    w = drawn(4096, lambda draw: draw.randrange(-9, 9), 2)
    for step in range(9):
        picked = [x[min(max(index, 0), 63)] for index in TABLE[step * 130:step * 130 + 64]]
        x = [sum(w[r * 64 + c] * picked[c] for c in range(64)) for r in range(64)]
    (made,) = run.run(written(tmp_path, LOOP), "c", str(tmp_path), str(tmp_path / "out"))
    assert list(array.array("i", made.read_bytes())) == [(n + (1 << 31)) % (1 << 32) - (1 << 31) for n in x]


# The body of a while loop reads a table whose layout is not row-major. The body contains a conditional: each of its two
# branches reads a table of its own, and the second branch also gets a scalar from the body. The loop's state is a tuple
# in a tuple and contains a complex array.
NESTED = f"""HloModule m

even {{
  x = f32[1100]{{0}} parameter(0)
  e = f32[1100]{{0}} constant({literal(drawn(1100, lambda draw: draw.randrange(-9, 9), 4), [1100])})
  ROOT r = f32[1100]{{0}} add(x, e)
}}

odd {{
  s = (f32[1100]{{0}}, f32[]) parameter(0)
  x = f32[1100]{{0}} get-tuple-element(s), index=0
  by = f32[] get-tuple-element(s), index=1
  o = f32[1100]{{0}} constant({literal(drawn(1100, lambda draw: draw.randrange(-9, 9), 5), [1100])})
  t = f32[1100]{{0}} multiply(x, o)
  b = f32[1100]{{0}} broadcast(by), dimensions={{}}
  ROOT r = f32[1100]{{0}} subtract(t, b)
}}

body {{
  s = (s32[], (f32[1100]{{0}}, c64[3]{{0}})) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  u = (f32[1100]{{0}}, c64[3]{{0}}) get-tuple-element(s), index=1
  x = f32[1100]{{0}} get-tuple-element(u), index=0
  c = c64[3]{{0}} get-tuple-element(u), index=1
  w = f32[44,50]{{0,1}} constant({literal(drawn(2200, lambda draw: draw.randrange(-9, 9) / 8, 6), [44, 50])})
  zero = s32[] constant(0)
  one = s32[] constant(1)
  two = s32[] constant(2)
  by = f32[] constant(0.5)
  half = f32[22,50]{{1,0}} slice(w), slice={{[0:44:2], [0:50]}}
  flat = f32[1100]{{0}} reshape(half)
  y = f32[1100]{{0}} multiply(x, flat)
  rest = s32[] remainder(i, two)
  k = s32[] clamp(zero, rest, one)
  given = (f32[1100]{{0}}, f32[]) tuple(y, by)
  z = f32[1100]{{0}} conditional(k, y, given), branch_computations={{even, odd}}
  d = c64[3]{{0}} add(c, c)
  next = s32[] add(i, one)
  v = (f32[1100]{{0}}, c64[3]{{0}}) tuple(z, d)
  ROOT q = (s32[], (f32[1100]{{0}}, c64[3]{{0}})) tuple(next, v)
}}

cond {{
  s = (s32[], (f32[1100]{{0}}, c64[3]{{0}})) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT p = pred[] compare(i, n), direction=LT
}}

ENTRY m {{
  x = f32[1100]{{0}} parameter(0)
  c = c64[3]{{0}} parameter(1)
  zero = s32[] constant(0)
  u = (f32[1100]{{0}}, c64[3]{{0}}) tuple(x, c)
  s = (s32[], (f32[1100]{{0}}, c64[3]{{0}})) tuple(zero, u)
  ROOT l = (s32[], (f32[1100]{{0}}, c64[3]{{0}})) while(s), condition=cond, body=body
}}
"""


def test_replaced_inside_loops_and_branches(tmp_path: Path) -> None:
    """Kernels and reference use the weights that the caller passes, also for constants inside loops and branches."""
    texts, about = pipeline.files(program(NESTED), ["c"])
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    built = tmp_path / "m.so"
    command = ["cc", "-std=c11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "m.c", "m_ref.c", "-o", str(built), "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(built))
    scratch = ctypes.create_string_buffer(about["targets"]["c"]["scratch_bytes"] + 64)
    x = array.array("f", [k % 5 - 2 for k in range(1100)])
    c = array.array("f", [1, 2, 3, 4, 5, 6])
    tables = {at["name"]: (at["offset"] // 4, at["bytes"] // 4) for at in about["weights"]["arrays"]}
    block = array.array("f", texts["m.weights"])
    assert sorted(tables) == ["e", "o", "w"]
    replaced = array.array("f", block)
    for name, (begin, count) in tables.items():
        replaced[begin:begin + count] = array.array("f", drawn(count, lambda draw: draw.randrange(1, 5), len(name) + begin))
    for given in (block, replaced):
        inputs = [x.tobytes(), c.tobytes(), given.tobytes()]
        e, o, w = (given[begin:begin + count] for begin, count in (tables[name] for name in "eow"))
        y = [float(v) for v in x]
        for i in range(4):
            y = [v * w[k // 50 * 2 * 50 + k % 50] for k, v in enumerate(y)]
            y = [v * o[k] - 0.5 if i % 2 else v + e[k] for k, v in enumerate(y)]
        right = [array.array("i", [4]).tobytes(), array.array("f", y).tobytes(), array.array("f", [16 * v for v in c]).tobytes()]
        sizes = [len(data) for data in right]
        assert call(library.m_ref, inputs, sizes) == right
        assert call(lambda params, results: library.m_c_run(params, results, scratch), inputs, sizes) == right


def program(text: str) -> Any:
    parsed = hlo.parse(text, "m.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, refused
    return build.program(parsed)


def test_file() -> None:
    """The file, the header's table and the manifest agree. No source file contains a large constant."""
    texts, about = pipeline.files(program(RETURNED), ["c", "opencl", "cuda"])
    block, header = texts["m.weights"], texts["m.h"]
    assert isinstance(block, bytes) and isinstance(header, str)
    assert about["weights"]["bytes"] == len(block) and about["weights"]["pointer"] == 0
    assert f"#define m_weights_BYTES {len(block)}\n" in header and "m_PARAMS = 1" in header
    assert about["files"]["weights"] == "m.weights" and about["params"] == []
    row_major = [array.array("f", FLOATS).tobytes(), *CONTENTS[1:]]
    assert [block[at["offset"]:at["offset"] + at["bytes"]] for at in about["weights"]["arrays"]] == row_major
    for at in about["weights"]["arrays"]:
        assert at["offset"] % 512 == 0
        assert f"#define m_{at['name']}_OFFSET {at['offset']} " in header and f"{at['name']}, {at['shape']}" in header
    assert all(len(text) < 40_000 for text in texts.values()), {name: len(text) for name, text in texts.items()}
    json.dumps(about)


def entry(lines: str) -> str:
    return f"HloModule m\n\nENTRY m {{\n  x = f32[1024] parameter(0)\n{lines}\n}}\n"


@pytest.mark.parametrize("count, where", [(1024, "text"), (1025, "file")])
def test_limit(count: int, where: str) -> None:
    """A constant of 4 KiB is in the text; a constant with one more element is in the file."""
    values = literal([float(k) for k in range(count)], [count])
    texts, about = pipeline.files(program(entry(
        f"  c = f32[{count}] constant({values})\n  s = f32[1000] slice(c), slice={{[0:1000]}}\n"
        "  y = f32[1000] slice(x), slice={[0:1000]}\n  ROOT r = f32[1000] add(s, y)")), ["c"])
    assert ("m.weights" in texts) == ("weights" in about) == (where == "file")
    assert ("static const float c_c[]" in str(texts["m.c"])) == (where == "text")


def test_one_value() -> None:
    """A constant whose elements are all equal is written as that value, whatever its size."""
    values = literal([2.5] * 4096, [4096])
    texts, _ = pipeline.files(program(entry(f"  c = f32[4096] constant({values})\n  ROOT r = f32[4096] negate(c)")), ["c"])
    assert sorted(texts) == ["m.c", "m.h", "m.json", "m_ref.c"]


def test_equal() -> None:
    """Equal constants are in the file once. Fusions that differ only in their constants share a kernel."""
    one, two = (literal(drawn(2048, lambda draw: draw.randrange(99), seed), [2048]) for seed in (1, 2))
    parts = "".join(f"part{n} {{ a = s32[2048] parameter(0)  c = s32[2048] constant({text})  ROOT r = s32[2048] multiply(a, c) }}\n"
                    for n, text in enumerate([one, two, one]))
    made = program(f"""HloModule m

{parts}
ENTRY m {{
  x = s32[2048] parameter(0)
  a = s32[2048] fusion(x), kind=kLoop, calls=part0
  b = s32[2048] fusion(a), kind=kLoop, calls=part1
  ROOT c = s32[2048] fusion(b), kind=kLoop, calls=part2
}}
""")
    assert [weight.offset for weight in made.weights.values()] == [0, 8192]
    assert len(made.fusions) == 1 and len(made.calls) == 3
    assert [call.operands[1].name for call in made.calls] == ["c", "c", "c"]
    assert made.calls[0].operands[1] is made.calls[2].operands[1] is not made.calls[1].operands[1]


def test_update(tmp_path: Path) -> None:
    """An update of a constant does not change the caller's weights."""
    text = entry(f"  i = s32[] parameter(1)\n  c = f32[2048] constant({literal(drawn(2048, lambda draw: draw.randrange(99)), [2048])})\n"
                 "  ROOT r = f32[2048] dynamic-update-slice(c, x, i)")
    (result,) = run.check(written(tmp_path, text), "c", run.Options())
    assert result.status == "PASS", result
    assert pipeline.files(program(text), ["c"])[1]["aliases"] == []


def test_written_whole(tmp_path: Path) -> None:
    """The file is replaced in one step, and only if its contents change."""
    path = tmp_path / "m.weights"
    pipeline.write(path, b"\x00\xff\r\n")
    before = path.stat()
    pipeline.write(path, b"\x00\xff\r\n")
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.read_bytes() == b"\x00\xff\r\n"
    pipeline.write(path, b"\x00\xff\r\r")
    assert path.read_bytes() == b"\x00\xff\r\r" and [of.name for of in tmp_path.iterdir()] == ["m.weights"]
