"""Test `--fill-constants N`: a module whose text leaves out the values of constants is refused, or with the option gets
random values and a note.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import pytest

from gen_run import gen
from gen import hlo
from gen.hlo import dtypes, fill

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = """HloModule dump
f {
  a = f32[16,32] parameter(0)
  w = f32[32,8]{0,1} parameter(1)
  b = f32[8] constant({...})
  d = f32[16,8] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[16,8] broadcast(b), dimensions={1}
  ROOT s = f32[16,8] add(d, bb)
}
ENTRY e {
  a = f32[16,32] parameter(0)
  i = s32[4,1] constant({...})
  w = f32[32,8]{0,1} constant({...})
  y = f32[16,8] fusion(a, w), kind=kLoop, calls=f
  ROOT g = f32[4,8] gather(y, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
}
"""


def test_refused(tmp_path: Path) -> None:
    """Without the option, every verb refuses the file, at the first constant without values."""
    (tmp_path / "dump.hlo").write_text(LEFT_OUT)
    for words in (["build", "-o", tmp_path / "out"], ["check", "--target", "c"], ["run", "--target", "c", "--in", tmp_path, "--out", tmp_path / "out"],
                  ["bench", "--target", "c"]):
        done = gen(words[0], tmp_path / "dump.hlo", *words[1:])
        assert done.returncode == 2 and f"{tmp_path}/dump.hlo:5:3: 'constant': the values are left out of the text ('...'); instead, " in done.stderr, done.stderr
        assert "--fill-constants" in done.stderr and not (tmp_path / "out").exists()


def test_kernels_say_so(tmp_path: Path) -> None:
    """The names and first lines of all written files say that values were drawn. The same seed gives the same bytes,
    another seed other values.
    """
    (tmp_path / "dump.hlo").write_text(LEFT_OUT)
    made = []
    for number, seed in enumerate((5, 5, 6)):
        done = gen("build", tmp_path / "dump.hlo", "-o", tmp_path / str(number), "--fill-constants", seed)
        assert done.returncode == 0, done.stderr
        made.append({path.name: path.read_text() for path in (tmp_path / str(number)).iterdir() if path.suffix != ".d"})
    assert made[0] == made[1] and made[0].keys() == made[2].keys()
    assert made[0]["dump_filled_ref.c"] != made[2]["dump_filled_ref.c"]
    for name, text in made[0].items():
        assert name.startswith("dump_filled")
        if name.endswith((".c", ".cl", ".cu", ".h")) and not name.endswith("_ref.c"):
            assert "3 constants have drawn values" in "".join(text.splitlines()[:2]) and "--fill-constants 5" in text
            assert "sett_dump_filled_" in text or name.endswith(".h")
    assert "--fill-constants 5" in json.loads(made[0]["dump_filled.json"])["filled"]


def test_nothing_left_out(tmp_path: Path) -> None:
    """If no constant is left out, the option changes nothing."""
    text = LEFT_OUT.replace("f32[8] constant({...})", "f32[8] constant({1,2,3,4,5,6,7,8})").replace("s32[4,1] constant({...})", "s32[4,1] constant({{1},{2},{3},{15}})")
    (tmp_path / "dump.hlo").write_text(text.replace("f32[32,8]{0,1} constant({...})", "f32[32,8]{0,1} constant(2)"))
    for number, more in enumerate(([], ["--fill-constants", 5])):
        assert gen("build", tmp_path / "dump.hlo", "-o", tmp_path / str(number), *more).returncode == 0
    made = [{path.name: path.read_text() for path in (tmp_path / str(k)).iterdir() if path.suffix != ".d"} for k in range(2)]
    assert made[0] == made[1] and "dump.c" in made[0]


def test_check_bench_and_run(tmp_path: Path) -> None:
    """Kernels with random constants agree with their reference. A run gives the results of the module in which these
    values are written out.
    """
    (tmp_path / "dump.hlo").write_text(LEFT_OUT)
    done = gen("check", tmp_path / "dump.hlo", "--target", "c", "--fill-constants", 7)
    assert done.returncode == 0 and "  PASS dump_filled_f loop " in done.stdout, done.stdout + done.stderr
    done = gen("bench", tmp_path / "dump.hlo", "--target", "c", "--fill-constants", 7, "--rounds", 1, "--no-check", "--no-libraries")
    assert done.returncode == 0 and "dump_filled" in done.stdout, done.stdout + done.stderr
    module = hlo.parse(LEFT_OUT, "dump.hlo")
    fill.fill_constants(module, 7)
    (tmp_path / "whole.hlo").write_text(hlo.print_module(module))
    assert "..." not in (tmp_path / "whole.hlo").read_text()
    (tmp_path / "p0.bin").write_bytes(struct.pack("<512f", *(math.sin(k) for k in range(512))))
    for name, more in (("dump", ["--fill-constants", 7]), ("whole", []), ("other", ["--fill-constants", 8])):
        (tmp_path / "other.hlo").write_text(LEFT_OUT)
        done = gen("run", tmp_path / f"{name}.hlo", "--target", "c", "--in", tmp_path, "--out", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
    results = [(tmp_path / name / "r0.bin").read_bytes() for name in ("dump", "whole", "other")]
    assert results[0] == results[1] != results[2]


@pytest.mark.parametrize("dtype", [name for name in dtypes.TABLE if dtypes.TABLE[name].kind in ("pred", "sint", "uint", "float", "complex")])
def test_values(dtype: str) -> None:
    """A constant of any type gets as many values as its shape has elements. They are moderate, differ, and need little
    memory.
    """
    module = hlo.parse(f"f {{\n  ROOT c = {dtype}[1000,7] constant({{...}})\n}}\n", "m.hlo")
    fill.fill_constants(module, 3)
    bits = module.entry.root.literal
    assert len(bits) == 7000 and list(bits[:3]) == [bits[0], bits[1], bits[2]] and bits[-1] == list(bits)[6999] and bits[fill.PERIOD] == bits[0]
    values = [dtypes.decode(b, dtype) for b in bits]
    parts = [x for v in values for x in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    low, high = (0.125, 8) if dtypes.TABLE[dtype].style == "scale" else (-1, 1) if dtypes.TABLE[dtype].kind in ("float", "complex") else (0, 63)
    assert all(low <= x <= high for x in parts) and (len(set(parts)) > 1 or dtype == "s1")  # s1 has only the values -1 and 0
    many = fill.Filled(dtype, 1 << 40, "3")
    assert len(many.values) == fill.PERIOD and many[(1 << 40) - 1] in many.values
    with pytest.raises(IndexError):
        many[1 << 40]
