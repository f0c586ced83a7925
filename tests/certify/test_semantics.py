"""Test the proofs of semantics. The semantics of correct kernels are proved. Mutants that read another element of the
same buffer are refuted.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest

from gen import pipeline, run
from gen.certify import Verdict, certify, missing
from gen.certify.cases import MACROS
from gen.certify.reader import Reader
from gen.certify.semantics import Meant, Semantics
from gen.certify.smt import Solvers
from gen.certify.text import Preprocessor
from gen.program import build as programs
from tests.gen_run import ROOT

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

TARGETS = ("c", "cuda", "opencl")


@lru_cache(maxsize=None)
def built(file: Path) -> "Tuple[Any, Dict[str, str], Mapping[str, Any]]":
    """Return the graph, the texts and the manifest of a file with one program."""
    (source,) = programs.programs(run.load(str(file), None, {}), False)
    texts, about = pipeline.files(pipeline.program_of(source), list(TARGETS), None, False, None)
    return source.whole.computation, {name: text for name, text in texts.items() if isinstance(text, str)}, about


def verdicts(file: Path, target: str, change: "Optional[Tuple[str, str]]" = None) -> "List[Verdict]":
    """Return the verdicts on a file's kernels. change: characters of the text, and the characters that replace them.
    """
    graph, texts, about = built(file)
    name = about["files"][target]
    if change is not None:
        assert change[0] in texts[name], f"{name} has no {change[0]}"
        texts = {**texts, name: texts[name].replace(*change)}
    return certify(texts, about, [target], None, graph)


PROVED = [
    ("add_f32", TARGETS), ("add_bf16", TARGETS), ("slice_pad_add", TARGETS),
]


@pytest.mark.parametrize("name, target", [(name, target) for name, targets in PROVED for target in targets])
def test_fixtures_are_what_hlo_says(name: str, target: str) -> None:
    for found in verdicts(ROOT / f"tests/kernels/{name}.hlo", target):
        assert found.kind == "PROVED" and found.meant is not None and found.meant.kind == "proved", found.line()


def test_a_store_by_another_call_of_the_same_function(tmp_path: Path) -> None:
    """A row of a small product is stored with an excess lane, which the store of the next row overwrites. Both stores
    are calls of one function.
    """
    file = tmp_path / "m.hlo"
    file.write_text("HloModule m\n\nENTRY e {\n  a = f32[40,3,3]{2,1,0} parameter(0)\n  b = f32[40,3,3]{2,1,0} parameter(1)\n"
                    "  ROOT d = f32[40,3,3]{2,1,0} dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n")
    for found in verdicts(file, "c"):
        assert found.kind == "PROVED" and found.meant is not None and found.meant.kind != "refuted", found.line()


def test_a_shift_by_the_width_of_a_lane() -> None:
    """OpenCL takes the amount of a shift modulo the width. The semantics of such a shift are not followed, so they are
    not refuted.
    """
    change = "w_p0 << (16u - 16u * vec)", "w_p0 << (32u - 16u * vec)"
    for found in verdicts(ROOT / "tests/kernels/add_bf16.hlo", "opencl", change):
        assert found.meant is not None and (found.meant.kind, found.meant.reason[:10]) == ("not proved", "a shift by"), found.line()


SELECT = """HloModule m

ENTRY main {
  p0 = bf16[10,11,12] parameter(0)
  p1 = bf16[1,11,12] parameter(1)
  p2 = bf16[1,11,12] parameter(2)
  k = s32[] parameter(3)
  z = s32[] constant(0)
  zero = pred[] compare(k, z), direction=EQ
  all = pred[1,11,12] broadcast(zero), dimensions={}
  one = bf16[1,11,12] select(all, p1, p2)
  ROOT y = bf16[10,11,12] dynamic-update-slice(p0, one, z, z, z)
}
"""


@pytest.mark.parametrize("change, kind", [
    (None, "not proved"),
    (("value_bf16(p2[bl_x * 32 + vec])", "value_bf16(p2[bl_x * 32 + (vec ^ 1)])"), "refuted"),
    (("ushort16 *)(p2 + bl_x * 32", "ushort16 *)(p2 + bl_x * 31"), "refuted"),
])
def test_a_text_that_reads_one_operand_of_a_select(tmp_path: Path, change: "Optional[Tuple[str, str]]", kind: str) -> None:
    """HLO reads all operands of a select. The text may read only the one that an integer in memory selects."""
    (tmp_path / "m.hlo").write_text(SELECT)
    found = verdicts(tmp_path / "m.hlo", "opencl", change)
    assert [each.meant.kind for each in found if each.meant is not None] == [kind], [each.line() for each in found]


MUTANTS = [
    # reads of another element of the same buffer
    ("slice_pad_add", "cuda", ("th_x * 2 + bl_x * 820 + 48", "th_x * 2 + bl_x * 820 + 47"),
     "but HLO says parameter"),
    ("slice_pad_add", "c", ("const float v_b = p1[i0 * 46 + i1];", "const float v_b = p1[i0 * 46 + 45 - i1];"), "but HLO says"),
    ("slice_pad_add", "c", ("const float v_sum = v_a + v_b;", "const float v_sum = v_a;"), "is computed from parameter 0 at"),
    # one element of the operand is treated as padding
    ("slice_pad_add", "c", ("if (g0 >= 1 && g0 <= 30) {", "if (g0 >= 2 && g0 <= 30) {"), "is computed from nothing, but HLO says"),
    ("slice_pad_add", "cuda", ("bl_x * 128 + th_x <= 2882)", "bl_x * 128 + th_x <= 2881)"), "is computed from nothing, but HLO says"),
    # another lane of a vector
    ("add_bf16", "cuda", ("float v_b = value_bf16(w_p1.at[vec]);", "float v_b = value_bf16(w_p1.at[7 - vec]);"), "but HLO says"),
    ("add_bf16", "cuda", ("float v_b = value_bf16(w_p1.at[vec]);", "float v_b = value_bf16(w_p0.at[vec]);"), "but HLO says"),
]


@pytest.mark.parametrize("name, target, change, said", MUTANTS)
def test_mutants_that_read_another_element_are_refuted(name: str, target: str, change: "Tuple[str, str]", said: str) -> None:
    found = verdicts(ROOT / f"tests/kernels/{name}.hlo", target, change)
    assert any(each.kind == "REFUTED" and said in each.line() for each in found), [each.line() for each in found]


# ---- hand-written modules and kernels ----

def by_hand(folder: Path, hlo: str, body: str, inputs: "List[int]", elements: int, blocks: int = 4,
            threads: int = 16, computations: str = "", target: str = "opencl") -> Verdict:
    """Return the verdict on a hand-written OpenCL kernel, as a kernel of an HLO module.

    hlo: the text of the module's entry computation.
    body: the text of the kernel's body.
    inputs: the number of elements of each parameter.
    elements: the number of elements of the result.
    computations: the text of further computations that the entry calls.
    """
    path = folder / "m.hlo"
    path.write_text(f"HloModule m\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\n{computations}ENTRY main {{\n{hlo}}}\n")
    (source,) = programs.programs(run.load(str(path), None, {}), False)
    names = [f"p{n}" for n in range(len(inputs))]
    arguments = [{"name": name, "buffer": "params", "number": n, "offset": 0, "bytes": 4 * count}
                 for n, (name, count) in enumerate(zip(names, inputs))]
    arguments.append({"name": "r0", "buffer": "results", "number": 0, "offset": 0, "bytes": 4 * elements})
    manifest = {"aliases": [], "results": [{"bytes": 4 * elements}], "files": {target: "k.cl"},
                "targets": {target: {"launches": [{"kernel": "k", "blocks": blocks, "threads": threads, "arguments": arguments}]}}}
    pointers = "".join(f"__global const float *restrict {name}, " for name in names)
    text = f"__kernel void k({pointers}__global float *restrict r0)\n{{\nconst uint g = get_group_id(0), t = get_local_id(0), i = g * 16 + t;\n{body}\n}}\n"
    if target == "cuda":
        for old, new in (("__kernel", 'extern "C" __global__'), ("__global const", "const"), (", __global float", ", float"), ("restrict", "__restrict__"),
                         ("const uint g = get_group_id(0), t = get_local_id(0)", "const unsigned g = blockIdx.x, t = threadIdx.x"), ("uint", "unsigned")):
            text = text.replace(old, new)
    (found,) = certify({"k.cl": text}, manifest, [target], None, source.whole.computation)
    return found


X = "  x = f32[4,16] parameter(0)\n"
SUM = "  x = f32[ROWS,4,16] parameter(0)\n  z = f32[] constant(0)\n  ROOT y = f32[4,16] reduce(x, z), dimensions={0}, to_apply=add\n"


@pytest.mark.parametrize("hlo, body, kind, said", [
    (X + "  ROOT y = f32[4,16] negate(x)\n", "r0[i] = -p0[i];", "proved", ""),
    (X + "  ROOT y = f32[4,16] negate(x)\n", "r0[i] = -p0[i ^ 1];", "refuted",
     "of result 0 is computed from parameter 0 at "),
    (X + "  ROOT y = f32[16,4] transpose(x), dimensions={1,0}\n", "r0[i] = p0[i % 4 * 16 + i / 4];", "proved", ""),
    (X + "  ROOT y = f32[16,4] transpose(x), dimensions={1,0}\n", "r0[i] = p0[i / 4 * 4 + i % 4];", "refuted", "but HLO says"),
    (X + "  ROOT y = f32[4,16] reverse(x), dimensions={1}\n", "r0[i] = p0[g * 16 + 15 - t];", "proved", ""),
    (X + "  ROOT y = f32[4,16] reverse(x), dimensions={0}\n", "r0[i] = p0[g * 16 + 15 - t];", "refuted", "but HLO says"),
    (X + "  ROOT y = f32[8,8] reshape(x)\n", "r0[i] = p0[i];", "proved", ""),
    ("  x = f32[16] parameter(0)\n  ROOT y = f32[4,16] broadcast(x), dimensions={1}\n", "r0[i] = p0[t];", "proved", ""),
    ("  x = f32[16] parameter(0)\n  ROOT y = f32[4,16] broadcast(x), dimensions={1}\n", "r0[i] = p0[g];", "refuted", "but HLO says"),
    ("  x = f32[2,16] parameter(0)\n  y = f32[2,16] negate(x)\n  ROOT z = f32[4,16] concatenate(x, y), dimensions={0}\n",
     "r0[i] = g < 2 ? p0[i] : -p0[i - 32];", "proved", ""),
    ("  x = f32[2,16] parameter(0)\n  y = f32[2,16] negate(x)\n  ROOT z = f32[4,16] concatenate(x, y), dimensions={0}\n",
     "r0[i] = p0[i % 31];", "refuted", "but HLO says"),
    ("  x = f32[8,32] parameter(0)\n  ROOT y = f32[4,16] slice(x), slice={[1:8:2], [0:32:2]}\n",
     "r0[i] = p0[(2 * g + 1) * 32 + 2 * t];", "proved", ""),
    ("  x = f32[8,32] parameter(0)\n  ROOT y = f32[4,16] slice(x), slice={[1:8:2], [0:32:2]}\n",
     "r0[i] = p0[(2 * g + 1) * 32 + 2 * t + 1];", "refuted", "but HLO says"),
    # x is stored in tiles of 2 rows and 4 columns
    ("  x = f32[4,16]{1,0:T(2,4)} parameter(0)\n  ROOT y = f32[4,16] copy(x)\n",
     "r0[i] = p0[g / 2 * 32 + t / 4 * 8 + g % 2 * 4 + t % 4];", "proved", ""),
    ("  x = f32[4,16]{1,0:T(2,4)} parameter(0)\n  ROOT y = f32[4,16] copy(x)\n",
     "r0[i] = p0[g / 2 * 32 + t / 4 * 8 + t % 4 * 2 + g % 2];", "refuted", "but HLO says"),
    # arrays of a work-item; a variable that each step of a loop overwrites; bytes of a value
    (X + "  ROOT y = f32[4,16] copy(x)\n", "float a[16]; for (uint k = 0; k < 16; ++k) a[15 - k] = p0[g * 16 + k]; r0[i] = a[15 - t];",
     "proved", ""),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "float a[16]; for (uint k = 0; k < 16; ++k) a[15 - k] = p0[g * 16 + k]; r0[i] = a[t];",
     "refuted", "but HLO says"),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "float a = 0.0f; for (uint k = 0; k < i + 1; ++k) a = p0[k]; r0[i] = a;",
     "proved", ""),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "float a = 0.0f; for (uint k = 0; k < i; ++k) a = p0[k]; r0[i] = a;", "not proved", "another multiset"),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "r0[i] = as_float((as_uint(p0[i]) & 0xffffu) | (as_uint(p0[i]) >> 16 << 16));", "proved", ""),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "r0[i] = as_float((as_uint(p0[i]) & 0xffffu) | (as_uint(p0[i ^ 2]) >> 16 << 16));", "refuted",
     "but HLO says"),
    # a later store of the same work-item overwrites an element
    (X + "  ROOT y = f32[4,16] copy(x)\n", "r0[i] = 0.0f; r0[i] = p0[i];", "proved", ""),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "r0[i] = 0.0f; if (t) r0[i] = p0[i];", "refuted", "is computed from nothing"),
    (X + "  ROOT y = f32[4,16] copy(x)\n", "r0[i] = p0[i]; r0[i] = 0.0f;", "refuted", "is computed from nothing"),
    # shared memory
    (X + "  ROOT y = f32[4,16] reverse(x), dimensions={1}\n",
     "__local float tile[17]; tile[t] = p0[i]; barrier(CLK_LOCAL_MEM_FENCE); r0[i] = tile[15 - t];", "proved", ""),
    (X + "  ROOT y = f32[4,16] reverse(x), dimensions={1}\n",
     "__local float tile[17]; tile[t] = p0[i]; barrier(CLK_LOCAL_MEM_FENCE); r0[i] = tile[t ^ 14];", "refuted", "but HLO says"),
    (X + "  ROOT y = f32[4,16] reverse(x), dimensions={1}\n",
     "__local float tile[17]; if (t) tile[t] = p0[i]; barrier(CLK_LOCAL_MEM_FENCE); r0[i] = tile[15 - t];", "not proved",
     "tile, which is not proved written before it is read"),
    # sums, by loops with few and with many steps
    (SUM.replace("ROWS", "100"), "float a = 0.0f; for (uint k = 0; k < 100; ++k) a += p0[k * 64 + i]; r0[i] = a;", "proved", ""),
    (SUM.replace("ROWS", "100"), "float a = 0.0f; for (uint k = 0; k < 100; ++k) a += p0[(99 - k) * 64 + i]; r0[i] = a;", "proved", ""),
    # an element is added twice; an element is left out; another element is added
    (SUM.replace("ROWS", "100"), "float a = p0[i]; for (uint k = 0; k < 100; ++k) a += p0[k * 64 + i]; r0[i] = a;", "not proved", "multiset"),
    (SUM.replace("ROWS", "5"), "float a = p0[i]; for (uint k = 0; k < 5; ++k) a += p0[k * 64 + i]; r0[i] = a;", "not proved", "how often"),
    (SUM.replace("ROWS", "100"), "float a = 0.0f; for (uint k = 0; k < 99; ++k) a += p0[k * 64 + i]; r0[i] = a;", "refuted", "but HLO says"),
    (SUM.replace("ROWS", "100"), "float a = 0.0f; for (uint k = 0; k < 100; ++k) a += p0[k * 64 + (i ^ 1)]; r0[i] = a;", "refuted",
     "but HLO says"),
    (SUM.replace("ROWS", "100"), "float a = 0.0f, b = 0.0f; for (uint k = 0; k < 100; ++k) { a += b; b = p0[k * 64 + (i ^ 1)]; } r0[i] = a;",
     "refuted", "but HLO says"),
    (SUM.replace("ROWS", "5"), "float a = 0.0f; for (uint k = 0; k < 5; ++k) a += p0[(4 - k) * 64 + i]; r0[i] = a;", "proved", ""),
    (SUM.replace("ROWS", "5"), "float a = 0.0f; for (uint k = 1; k < 5; ++k) a += p0[k * 64 + i]; r0[i] = a;", "refuted", "but HLO says"),
    ("  x = f32[4,70] parameter(0)\n  y = f32[70,16] parameter(1)\n  ROOT z = f32[4,16] dot(x, y), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}\n", "float a = 0.0f; for (uint k = 0; k < 70; ++k) a += p0[g * 70 + k] * p1[k * 16 + t]; r0[i] = a;", "proved", ""),
    ("  x = f32[4,70] parameter(0)\n  y = f32[70,16] parameter(1)\n  ROOT z = f32[4,16] dot(x, y), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}\n", "float a = 0.0f; for (uint k = 0; k < 70; ++k) a += p0[g * 70 + k] * p1[k * 16 + g]; r0[i] = a;", "refuted",
     "but HLO says"),
    # a condition on the index selects the element
    (X + "  n = s32[4,16] iota(), iota_dimension=1\n  m = s32[4,16] iota(), iota_dimension=0\n  c = pred[4,16] compare(n, m), direction=LT\n"
     "  z = f32[] constant(0)\n  b = f32[4,16] broadcast(z), dimensions={}\n  ROOT y = f32[4,16] select(c, x, b)\n",
     "r0[i] = t < g ? p0[i] : 0.0f;", "proved", ""),
    (X + "  n = s32[4,16] iota(), iota_dimension=1\n  m = s32[4,16] iota(), iota_dimension=0\n  c = pred[4,16] compare(n, m), direction=LT\n"
     "  z = f32[] constant(0)\n  b = f32[4,16] broadcast(z), dimensions={}\n  ROOT y = f32[4,16] select(c, x, b)\n",
     "r0[i] = t <= g ? p0[i] : 0.0f;", "refuted", "but HLO says nothing"),
    # an integer in memory selects the elements (dynamic-slice, gather)
    ("  x = f32[9,16] parameter(0)\n  k = s32[] parameter(1)\n  z = s32[] constant(0)\n"
     "  ROOT y = f32[4,16] dynamic-slice(x, k, z), dynamic_slice_sizes={4,16}\n",
     "const int k = *(__global const int *)p1, n = k < 0 ? 0 : k > 5 ? 5 : k; r0[i] = p0[i + n * 16];", "proved", ""),
    ("  x = f32[9,16] parameter(0)\n  k = s32[] parameter(1)\n  z = s32[] constant(0)\n"
     "  ROOT y = f32[4,16] dynamic-slice(x, k, z), dynamic_slice_sizes={4,16}\n",
     "const int k = *(__global const int *)p1, n = k < 0 ? 0 : k > 4 ? 4 : k; r0[i] = p0[i + n * 16];", "refuted", "but HLO says"),
    # a dynamic slice of the whole dimension starts at 0, whatever its start index is
    ("  x = f32[4,16] parameter(0)\n  k = s32[] parameter(1)\n  ROOT y = f32[4,16] dynamic-slice(x, k, k), dynamic_slice_sizes={4,16}\n",
     "r0[i] = p0[i];", "proved", ""),
    ("  x = f32[9,16] parameter(0)\n  k = s32[4,1] parameter(1)\n  ROOT y = f32[4,16] gather(x, k), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}\n",
     "const int k = ((__global const int *)p1)[g], n = k < 0 ? 0 : k > 8 ? 8 : k; r0[i] = p0[n * 16 + t];", "proved", ""),
    ("  x = f32[9,16] parameter(0)\n  k = s32[4,1] parameter(1)\n  ROOT y = f32[4,16] gather(x, k), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}\n",
     "const int k = ((__global const int *)p1)[3 - g], n = k < 0 ? 0 : k > 8 ? 8 : k; r0[i] = p0[n * 16 + t];", "refuted", "but HLO says"),
])
def test_kernels_by_hand(tmp_path: Path, hlo: str, body: str, kind: str, said: str) -> None:
    inputs = [math.prod(int(n) for n in of.split(",") if n) for of in re.findall(r"[fs]32\[([\d,]*)\]\S* parameter", hlo)]
    found = by_hand(tmp_path, hlo, body, inputs, 64)
    assert found.meant is not None and found.meant.kind == kind, found.line()
    assert said in found.line() and (found.kind == "REFUTED") == (kind == "refuted"), found.line()


@pytest.mark.parametrize("error, said", [(AssertionError, "a check of test_semantics.py fails: raise error"),
                                         (RecursionError, "an expression that is too deep for the walk")])
@pytest.mark.parametrize("where", ["walk.Walk._of_binary", "meaning.Meaning._read following.Following._read",
                                   "semantics.Semantics._compared instances.Instances.value"])
def test_a_failed_check_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: "type[Exception]", said: str, where: str) -> None:
    def fails(*_: object) -> None:
        raise error

    for name in where.split():
        monkeypatch.setattr(f"gen.certify.{name}", fails)
    found = by_hand(tmp_path, X + "  ROOT y = f32[4,16] negate(x)\n", "r0[i] = -p0[i];", [64], 64)
    assert said in found.line() and (found.kind == "UNKNOWN") == where.startswith("walk"), found.line()
    assert found.meant is not None and found.meant.kind == "not proved", found.line()


TILED = "  x = f32[4,16]{1,0:T(2,4)} parameter(0)\n  ROOT y = f32[2,4,2,4] bitcast(x)\n"


@pytest.mark.parametrize("body, kind", [("r0[i] = p0[i];", "proved"), ("r0[i] = p0[i ^ 4];", "refuted")])
def test_a_bitcast_of_a_tiled_layout(tmp_path: Path, body: str, kind: str) -> None:
    found = by_hand(tmp_path, TILED, body, [64], 64)
    assert found.meant is not None and found.meant.kind == kind, found.line()


def test_an_op_without_a_row_is_not_proved(tmp_path: Path) -> None:
    """If ops.py does not have an op, the kernel stays PROVED, and its semantics are `not proved` with the op as the
    reason.
    """
    found = by_hand(tmp_path, X.replace("4,16", "8,8") + "  ROOT y = f32[8,8] cholesky(x), lower=true\n", "r0[i] = p0[i];", [64], 64)
    assert found.kind == "PROVED" and "semantics not proved (cholesky)" in found.line(), found.line()


VARIADIC = """  x = f32[8,64] parameter(0)
  y = f32[8,64] parameter(1)
  z = f32[] constant(0)
  both = (f32[64], f32[64]) reduce(x, y, z, z), dimensions={0}, to_apply=pair
  ROOT r = f32[64] get-tuple-element(both), index=NUMBER
"""
PAIR = """pair {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  e = f32[] add(a, c)
  f = f32[] add(b, d)
  ROOT t = (f32[], f32[]) tuple(e, f)
}
"""


@pytest.mark.parametrize("output, read, kind", [(0, "p0", "proved"), (1, "p1", "proved"), (1, "p0", "refuted")])
def test_a_result_of_a_reduction_depends_only_on_its_operand(tmp_path: Path, output: int, read: str, kind: str) -> None:
    """If a reduction computes two independent sums, each of its results depends on one operand only."""
    body = f"float a = 0.0f; for (uint k = 0; k < 8; ++k) a += {read}[k * 64 + i]; r0[i] = a;"
    found = by_hand(tmp_path, VARIADIC.replace("NUMBER", str(output)), body, [512, 512], 64, computations=PAIR)
    assert found.meant is not None and found.meant.kind == kind, found.line()


IMAGE = "  x = f32[10,18] parameter(0)\n  z = f32[] constant(0)\n"
SUMS = "float a = 0.0f; for (int v = 0; v < 3; ++v) for (int u = 0; u < 3; ++u) { const int y = (int)g * 2 + v - 1, x = (int)t + u - 1; " \
       "if (y >= 0 && y < 10 && x >= 0 && x < 18) a += p0[y * 18 + x]; } r0[i] = a;"
WINDOW = IMAGE + "  ROOT r = f32[4,16] reduce-window(x, z), window={size=3x3 stride=2x1 pad=1_-2x1_-1}, to_apply=add\n"
FILTER = "  x = f32[1,10,18,1] parameter(0)\n  w = f32[3,3,1,1] parameter(1)\n  c = f32[1,4,16,1] convolution(x, w), " \
         "window={size=3x3 stride=2x1 pad=1_-2x1_-1}, dim_labels=b01f_01io->b01f\n  ROOT r = f32[4,16] reshape(c)\n"


@pytest.mark.parametrize("hlo, body, kind", [
    (WINDOW, SUMS, "proved"),
    (WINDOW, SUMS.replace("u - 1", "u"), "refuted"),
    (WINDOW, SUMS.replace("v < 3", "v < 2"), "refuted"),
    (WINDOW, SUMS.replace("x < 18", "x < 17"), "proved"),    # no window reaches the last column
    (WINDOW, SUMS.replace("x < 18", "x < 15"), "refuted"),
    (FILTER, SUMS.replace("x]", "x] * p1[v * 3 + u]"), "proved"),
    (FILTER, SUMS.replace("x]", "x] * p1[u * 3 + v]"), "refuted"),
    (FILTER.replace("stride=2x1 ", "stride=2x1 rhs_reversal=1x1 ").replace(" pad=1_-2x1_-1", "").replace("stride=2x1", "stride=2x1 pad=1_-2x1_-1"),
     SUMS.replace("x]", "x] * p1[8 - v * 3 - u]"), "proved"),
])
def test_windows(tmp_path: Path, hlo: str, body: str, kind: str) -> None:
    found = by_hand(tmp_path, hlo, body, [180, 9] if "w =" in hlo else [180], 64)
    assert found.meant is not None and found.meant.kind == kind, found.line()


ROW = "  x = f32[4,64] parameter(0)\n  z = f32[] constant(0)\n  ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=add\n"
TREE = "__local float part[16]; float a = 0.0f; for (uint k = 0; k < 4; ++k) a += p0[g * 64 + k * 16 + t]; part[t] = a; " \
       "for (uint apart = 8; apart > 0; apart /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (t < apart) part[t] += part[t + apart]; } " \
       "if (t == 0) r0[g] = part[0];"
LANES = "float a = 0.0f; for (unsigned k = 0; k < 2; ++k) a += p0[g * 64 + k * 32 + t]; for (unsigned apart = 16; apart > 0; apart /= 2) " \
        "a += __shfl_down_sync(0xffffffffu, a, apart, 32); if (t == 0) r0[g] = a;"
WARPS = "__shared__ float part[2]; float a = p0[g * 64 + t]; for (unsigned apart = 16; apart > 0; apart /= 2) " \
        "a += __shfl_xor_sync(0xffffffffu, a, apart, 32); if (t % 32 == 0) part[t / 32] = a; __syncthreads(); if (t == 0) r0[g] = part[0] + part[1];"


@pytest.mark.parametrize("target, threads, body, change, kind", [
    ("opencl", 16, TREE, ("", ""), "proved"),
    ("opencl", 16, TREE, ("part[t + apart]", "part[t]"), "not proved"),    # adds some elements twice and others never
    ("opencl", 16, TREE, ("apart > 0", "apart > 1"), "not proved"),    # leaves out elements
    ("opencl", 16, TREE, ("k * 16 + t]; part", "k * 16 + (t ^ 1)]; part"), "proved"),
    ("opencl", 16, TREE, ("k * 16 + t]; part", "k * 16 + (t | 1)]; part"), "not proved"),
    ("opencl", 16, TREE, ("float a = 0.0f", "float a = p0[g * 64 + t]"), "not proved"),
    ("opencl", 16, TREE, ("p0[g * 64", "p0[(3 - g) * 64"), "not proved"),
    ("opencl", 16, TREE, ("barrier(CLK_LOCAL_MEM_FENCE)", ";"), "not proved"),
    ("cuda", 32, LANES, ("", ""), "proved"),
    ("cuda", 32, LANES, ("apart, 32", "apart, 16"), "not proved"),
    ("cuda", 32, LANES, ("apart, 32", "apart, 64"), "not proved"),
    ("cuda", 32, LANES, ("apart > 0", "apart > 1"), "not proved"),
    ("cuda", 32, LANES, ("a += __shfl", "if (t < 8) a += __shfl"), "not proved"),
    ("cuda", 32, LANES, ("k * 32 + t", "k * 32 + (t & 15)"), "not proved"),
    ("cuda", 64, WARPS, ("", ""), "proved"),
    ("cuda", 64, WARPS, ("part[0] + part[1]", "part[0] + part[0]"), "not proved"),
    ("cuda", 64, WARPS, ("part[0] + part[1]", "part[1]"), "not proved"),
    ("cuda", 64, WARPS, ("part[t / 32] = a", "part[1 - t / 32] = a"), "proved"),
    ("cuda", 64, WARPS, ("_xor_sync(0xffffffffu, a, apart", "_xor_sync(0xffffffffu, a, 1"), "not proved"),
])
def test_partial_results_pass_between_work_items(tmp_path: Path, target: str, threads: int, body: str, change: "Tuple[str, str]", kind: str) -> None:
    """Several work-items sum a row together. This is proved if each element is added exactly once."""
    found = by_hand(tmp_path, ROW, body.replace(*change) if change[0] else body, [256], 4, 4, threads, "", target)
    assert found.meant is not None and (found.meant.kind == "proved") == (kind == "proved"), found.line()


MAX = "  x = f32[100,4,16] parameter(0)\n  z = f32[] constant(0)\n  m = f32[4,16] reduce(x, z), dimensions={0}, to_apply=larger\n" \
      "  ROOT y = f32[4,16] reverse(m), dimensions={1}\n"
LARGER = "larger {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n"
PASSED = "__local float part[16]; float a = 0.0f; for (uint k = 0; k < 100; ++k) a = fmax(a, p0[k * 64 + i]); part[t] = a; " \
         "barrier(CLK_LOCAL_MEM_FENCE); r0[i] = part[15 - t];"


@pytest.mark.parametrize("dimension, change, kind", [
    ("1", ("", ""), "proved"),
    ("1", ("15 - t", "t"), "refuted"),
    ("1", ("15 - t", "14 - t % 15"), "refuted"),
    ("1", ("p0[k * 64 + i]", "p0[k * 64 + (i ^ 1)]"), "refuted"),
    ("", ("", ""), "refuted"),    # the kernel reverses, but the HLO text does not
    ("", ("15 - t", "t"), "proved"),
])
def test_a_long_reduction_passes_through_shared_memory(tmp_path: Path, dimension: str, change: "Tuple[str, str]", kind: str) -> None:
    """One work-item stores a maximum to shared memory, and another one reads it. The proof knows that this value is the
    maximum of the elements that the first work-item has read.
    """
    found = by_hand(tmp_path, MAX.replace("={1}\n", f"={{{dimension}}}\n"), PASSED.replace(*change) if change[0] else PASSED, [6400], 64, computations=LARGER)
    assert found.meant is not None and found.meant.kind == kind, found.line()


TWO = """  x = f32[4,16] parameter(0)
  z = f32[] constant(0)
  s = f32[4] reduce(x, z), dimensions={1}, to_apply=add
  b = f32[4,16] broadcast(s), dimensions={0}
  ROOT y = f32[4,16] subtract(x, b)
"""
FIRST = "float a = 0.0f; for (uint k = 0; k < 16; ++k) a += p0[g * 16 + k]; s0[g] = a;"
SECOND = "r0[i] = p0[i] - s0[g];"


def launched(folder: Path, bodies: "List[Tuple[str, int]]", hlo: str = TWO, scratch: int = 16) -> "List[Meant]":
    """Return the verdicts on launches. bodies: for each launch, the body of its kernel and the number of work-items in
    a group. scratch: the size in bytes of s0, the array through which the launches pass values.
    """
    path = folder / "m.hlo"
    path.write_text(f"HloModule m\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\nENTRY main {{\n{hlo}}}\n")
    (source,) = programs.programs(run.load(str(path), None, {}), False)
    arguments = [{"name": name, "buffer": buffer, "number": 0, "offset": 0, "bytes": count}
                 for name, buffer, count in (("p0", "params", 256), ("s0", "scratch", scratch), ("r0", "results", 256))]
    launches = [{"kernel": f"k{number}", "blocks": 4, "threads": threads, "arguments": arguments}
                for number, (_, threads) in enumerate(bodies)]
    text = "".join(f"__kernel void k{number}(__global const float *p0, __global float *s0, __global float *r0)\n{{\n"
                   f"const uint g = get_group_id(0), i = g * {threads} + get_local_id(0);\n{body}\n}}\n"
                   for number, (body, threads) in enumerate(bodies))
    semantics = Semantics(source.whole.computation, Reader(Preprocessor(MACROS["opencl"]).tokens(text), True), "opencl")
    return semantics.program(launches, lambda _: Solvers())


@pytest.mark.parametrize("first, second, kind", [
    (FIRST, SECOND, "proved"),
    (FIRST, SECOND.replace("s0[g]", "s0[3 - g]"), "not proved"),
    (FIRST.replace("s0[g]", "s0[3 - g]"), SECOND.replace("s0[g]", "s0[3 - g]"), "proved"),
    (FIRST.replace("s0[g]", "s0[3 - g]"), SECOND, "not proved"),
    (FIRST.replace("0.0f", "p0[g * 16]"), SECOND, "not proved"),
    (FIRST.replace("k < 16", "k < 15"), SECOND, "not proved"),
    (FIRST.replace("a += p0[g * 16 + k]", "a += p0[g * 16 + (k | 1)]"), SECOND, "not proved"),
])
def test_sums_pass_between_launches(tmp_path: Path, first: str, second: str, kind: str) -> None:
    meant = launched(tmp_path, [(first, 1), (second, 16)])
    assert all(each.kind == "proved" for each in meant) == (kind == "proved"), [each.text() for each in meant]
    assert "refuted" not in {each.kind for each in meant}


@pytest.mark.parametrize("between, kind", [
    ("if (g > 3) s0[g] = p0[g];", "proved"),                        # no work-group writes
    ("if (g > 2) s0[g] = p0[g];", "not proved"),
    ("if (p0[g * 16] > 1.0f) s0[g] = p0[g];", "not proved"),        # data decide which work-groups write
])
def test_a_launch_that_writes_some_sums_again(tmp_path: Path, between: str, kind: str) -> None:
    """The last launch is proved to read the sums of the first launch only if the launch between them is
    proved to write nothing to the array of the sums.
    """
    meant = launched(tmp_path, [(FIRST, 1), (between, 1), (SECOND, 16)])
    assert (meant[-1].kind == "proved") == (kind == "proved"), [each.text() for each in meant]


@pytest.mark.parametrize("first, between, kind", [
    ("-p0[i]", "", "proved"),
    ("-p0[i]", "if (g > 2) s0[i] = -p0[i];", "proved"),
    ("-p0[i ^ 1]", "s0[i] = -p0[i];", "proved"),                    # the second launch writes all elements again
    ("-p0[i ^ 1]", "s0[63 - i] = -p0[63 - i];", "proved"),
    ("-p0[i ^ 1]", "if (g > 2) s0[i] = -p0[i];", "not proved"),
    ("-p0[i ^ 1]", "if (g > 3) s0[i] = -p0[i];", "not proved"),
    ("-p0[i ^ 1]", "if (p0[i] > 1.0f) s0[i] = -p0[i];", "not proved"),
    ("-p0[i ^ 1]", "s0[g * 16] = -p0[g * 16];", "not proved"),
])
def test_a_launch_that_writes_some_elements_again(tmp_path: Path, first: str, between: str, kind: str) -> None:
    """A launch that writes the whole array replaces the values of earlier launches. After a launch that writes only some
    elements, each element may have its value or an earlier one.
    """
    hlo = "  x = f32[4,16] parameter(0)\n  ROOT y = f32[4,16] negate(x)\n"
    bodies = [(f"s0[i] = {first};", 16), *([(between, 16)] if between else []), ("r0[i] = s0[i];", 16)]
    meant = launched(tmp_path, bodies, hlo, 256)
    assert (meant[-1].kind == "proved") == (kind == "proved"), [each.text() for each in meant]
