"""Test leading dimensions that are given at run time: parameters and results of a program may be parts of larger
matrices, whose other elements stay unchanged. The harness fills these elements with NaNs, which no kernel may read,
and checks them after each run.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from gen import hlo, pipeline, run
from gen.plan import leads, nests
from gen.plan.nest import BuildError
from gen.program import build as programs
from gen.program.ir import Program
from gen.render import named
from gen.schedule import device_for
from tests.drawn import COUNT, ON, SEED, device_or_skip, marked, plain

ROOT = Path(__file__).resolve().parent.parent.parent


def program_of(text: str, name: str) -> Program:
    module = hlo.parse(text, f"{name}.hlo")
    hlo.expanded(module)
    assert not hlo.unsupported(module), text
    return programs.program(module)


def led(text: str, name: str, names: "Sequence[str]" = ()) -> Program:
    """Return a program in which the arrays `names` have leading dimensions that are given at run time. If `names` is
    empty, these are all arrays with at least two dimensions.
    """
    program = program_of(text, name)
    return pipeline.with_leads(program, names or [of.name for of in named(program) if of.array.shape.rank > 1])


def agree(texts: "Dict[str, str]", target: str, device: str, folder: Path) -> "List[Any]":
    """Check that each program agrees with the reference if its arrays are parts of larger matrices. Return the programs.
    """
    options = run.Options(rounds=2, schedule=device)
    device_or_skip(target, options)
    built = [run.build(led(text, name), folder / name, target, options) for name, text in texts.items()]
    failed = [r for r in run.check_built(built, target, options) if r.status != "PASS"]
    assert not failed, "\n\n".join(f"{r.line()}\n{texts.get(r.fusion, '')}" for r in failed)
    return built


def entry(name: str, *lines: str) -> str:
    return f"HloModule {name}\n\n" + "\n".join([f"ENTRY {name} {{", *(f"  {line}" for line in lines), "}"]) + "\n"


def dot(name: str, dtype: str, m: int, n: int, k: int, a: str = "mk", b: str = "kn", result: str = "", more: "Sequence[str]" = ()) -> str:
    """Return a product of matrices. a, b: the order of the operands' dimensions; more: the ops after `c`."""
    sizes = {"m": m, "n": n, "k": k}
    x, y = (plain(dtype, [sizes[letter] for letter in of]) for of in (a, b))
    result = result or dtype
    return entry(name, f"a = {x} parameter(0)", f"b = {y} parameter(1)",
                 f"{'' if more else 'ROOT '}c = {plain(result, (m, n))} dot(a, b), lhs_contracting_dims={{{a.index('k')}}}, "
                 f"rhs_contracting_dims={{{b.index('k')}}}", *more)


ADD = "add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\n"
MAX = "max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }\n"


def with_regions(text: str, *regions: str) -> str:
    head, _, rest = text.partition("\n\n")
    return head + "\n\n" + "".join(regions) + rest


SOFTMAX = ("z = f32[] constant(0)", "low = f32[] constant(-inf)", "top = f32[40] reduce(x, low), dimensions={1}, to_apply=max",
           "tops = f32[40,50] broadcast(top), dimensions={0}", "d = f32[40,50] subtract(x, tops)", "e = f32[40,50] exponential(d)",
           "sum = f32[40] reduce(e, z), dimensions={1}, to_apply=add", "sums = f32[40,50] broadcast(sum), dimensions={0}")
WALKS = {
    "add_rows": entry("add_rows", "x = f32[33,48] parameter(0)", "y = f32[33,48] parameter(1)", "ROOT z = f32[33,48] add(x, y)"),
    "odd_rows": entry("odd_rows", "x = bf16[9,7]{1,0} parameter(0)", "ROOT z = bf16[9,7]{1,0} multiply(x, x)"),
    "columns": entry("columns", "x = f32[40,19]{0,1} parameter(0)", "ROOT z = f32[40,19]{1,0} negate(x)"),
    "cube": entry("cube", "x = f64[3,5,16] parameter(0)", "y = f64[5,16,3] transpose(x), dimensions={1,2,0}", "ROOT z = f64[5,16,3] abs(y)"),
    "turned": entry("turned", "x = f32[64,80] parameter(0)", "ROOT z = f32[80,64] transpose(x), dimensions={1,0}"),
    "compared": entry("compared", "x = s8[20,64] parameter(0)", "y = s8[20,64] parameter(1)", "ROOT z = pred[20,64] compare(x, y), direction=LT"),
    "padded": entry("padded", "x = f32[20,30] parameter(0)", "z = f32[] constant(2)", "ROOT y = f32[24,37] pad(x, z), padding=1_3x5_2"),
    "joined": entry("joined", "x = f32[20,30] parameter(0)", "y = f32[20,50] parameter(1)", "ROOT z = f32[20,80] concatenate(x, y), dimensions={1}"),
    "one_row": entry("one_row", "x = f32[1,70] parameter(0)", "ROOT y = f32[1,70] exponential(x)"),
    "row_sums": with_regions(entry("row_sums", "x = f32[40,50] parameter(0)", "z = f32[] constant(0)",
                                   "ROOT s = f32[40] reduce(x, z), dimensions={1}, to_apply=add"), ADD),
    "column_sums": with_regions(entry("column_sums", "x = f32[40,64] parameter(0)", "z = f32[] constant(0)",
                                      "ROOT s = f32[64] reduce(x, z), dimensions={0}, to_apply=add"), ADD),
    "softmax": with_regions(entry("softmax", "x = f32[40,50] parameter(0)", *SOFTMAX, "ROOT y = f32[40,50] divide(e, sums)"), ADD, MAX),
    "both": entry("both", "x = f32[12,40] parameter(0)", "y = f32[12,40] sine(x)", "z = f32[12,40] add(x, y)",
                  "ROOT r = (f32[12,40], f32[12,40]) tuple(y, z)"),
}
SWAPPED = """HloModule swapped

minus {
  p = f32[20,30] parameter(0)
  q = f32[20,30] parameter(1)
  ROOT d = f32[20,30] subtract(p, q)
}

ENTRY swapped {
  x = f32[20,30] parameter(0)
  y = f32[20,30] parameter(1)
  a = f32[20,30] fusion(x, y), kind=kLoop, calls=minus
  b = f32[20,30] fusion(y, x), kind=kLoop, calls=minus
  ROOT r = (f32[20,30], f32[20,30]) tuple(a, b)
}
"""
# Ops whose kernels take only dense operands, so the program first copies the matrices.
COPIED = {
    "sorted": "HloModule sorted\n\nless { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = pred[] compare(p, q), direction=LT }\n"
              "ENTRY sorted {\n  x = f32[20,30] parameter(0)\n  ROOT y = f32[20,30] sort(x), dimensions={1}, to_apply=less\n}\n",
    "picked": entry("picked", "x = f32[40,16] parameter(0)", "i = s32[5,1] parameter(1)",
                    "ROOT y = f32[5,16] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                    "slice_sizes={1,16}"),
    "updated": entry("updated", "x = f32[20,30] parameter(0)", "u = f32[3,30] parameter(1)", "i = s32[] parameter(2)", "z = s32[] constant(0)",
                     "ROOT y = f32[20,30] dynamic-update-slice(x, u, i, z)"),
    "looped": """HloModule looped

body {
  s = (s32[], f32[9,20]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[9,20] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[9,20] add(x, x)
  ROOT t = (s32[], f32[9,20]) tuple(j, y)
}

more {
  s = (s32[], f32[9,20]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}

ENTRY looped {
  x = f32[9,20] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[9,20]) tuple(z, x)
  w = (s32[], f32[9,20]) while(s), condition=more, body=body
  ROOT y = f32[9,20] get-tuple-element(w), index=1
}
""",
}
PRODUCTS = {
    "plain": dot("plain", "f32", 37, 53, 41),
    "rows_of_b": dot("rows_of_b", "f32", 37, 64, 48, b="nk"),
    "columns_of_a": dot("columns_of_a", "f32", 37, 64, 48, a="km"),
    "both_turned": dot("both_turned", "f64", 24, 40, 32, a="km", b="nk"),
    "few_rows": dot("few_rows", "f32", 3, 96, 200),
    "few_rows_of_b": dot("few_rows_of_b", "f32", 3, 96, 256, b="nk"),
    "vector": dot("vector", "f32", 1, 96, 200),
    "pairs": dot("pairs", "bf16", 33, 64, 66, result="f32"),
    "fours": dot("fours", "s8", 33, 64, 68, result="s32"),
    "relu": dot("relu", "f32", 33, 48, 64, more=("v = f32[48] parameter(2)", "w = f32[33,48] broadcast(v), dimensions={1}",
                                                  "s = f32[33,48] add(c, w)", "z = f32[] constant(0)",
                                                  "zs = f32[33,48] broadcast(z), dimensions={}", "ROOT r = f32[33,48] maximum(s, zs)")),
    "batch": entry("batch", "a = f32[6,20,24] parameter(0)", "b = f32[6,24,32] parameter(1)",
                   "ROOT c = f32[6,20,32] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
    "small": entry("small", "a = f32[200,4,4] parameter(0)", "b = f32[200,4,4] parameter(1)",
                   "ROOT c = f32[200,4,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
    "convolved": entry("convolved", "x = f32[2,10,10,8] parameter(0)", "k = f32[3,3,8,32] parameter(1)",
                       "ROOT y = f32[2,10,10,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"),
    "beside_holes": entry("beside_holes", "x = f32[2,7,3,8] parameter(0)", "k = f32[1,1,8,32] parameter(1)",
                          "ROOT y = f32[2,7,7,32] convolution(x, k), window={size=1x1 pad=0_0x2_0 lhs_dilate=1x2}, dim_labels=b01f_01io->b01f"),
    "strips": with_regions(entry("strips", "q = f32[64,32] parameter(0)", "k = f32[64,32] parameter(1)", "v = f32[64,32] parameter(2)",
                                 "x = f32[64,64] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
                                 *(line.replace("40", "64").replace("50", "64") for line in SOFTMAX), "p = f32[64,64] divide(e, sums)",
                                 "ROOT y = f32[64,32] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}"), ADD, MAX),
}


@pytest.mark.parametrize("target, device", marked(ON))
def test_walks(target: str, device: str, tmp_path: Path) -> None:
    built = agree({**WALKS, **COPIED}, target, device, tmp_path)
    heroes = {of.name: of.hero for of in built}
    assert heroes["row_sums"] == heroes["column_sums"] == ("reduction" if device != "cpu-scalar" else "loop"), heroes
    if device in ("cpu", "pocl-cpu"):  # a softmax of rows of a larger matrix is one kernel, as for dense rows
        assert heroes["softmax"] == "rows"


@pytest.mark.parametrize("name", ["x", "y", "a", "b"])
def test_one_fusion_of_larger_and_dense_arrays(name: str, tmp_path: Path) -> None:
    """One fusion is called twice, with an array that is a part of a larger matrix in one call and dense in the other.
    """
    options = run.Options(rounds=1)
    built = run.build(led(SWAPPED, "swapped", [name]), tmp_path, "c", options)
    assert [r.status for r in run.check_built([built], "c", options)] == ["PASS", "PASS"]


def test_what_ops_give_is_dense() -> None:
    """Only parameters have a leading dimension. The results of ops are dense, although ops get their shapes from their
    operands.
    """
    program = led(PRODUCTS["fours"], "fours")
    for nest in nests.planned(program.calls[0].fusion, device_for("c", "cpu").plan_class).nests:
        values = nest.partition.computation.instructions
        assert not [value for value in values if value.shape.lead and value.opcode != "parameter"]


def test_distances() -> None:
    """A single integer stands for a distance in memory, which is a multiple of the leading dimension plus a rest. The
    multiplier and the rest are recovered from this integer, also if they are negative.
    """
    for times, rest in ((0, 0), (0, -5), (1, 0), (3, 7), (-2, 4), (1, -9), (1 << 20, leads.BASE // 2 - 1)):
        assert leads.digits(times * leads.BASE + rest) == (times, rest)
    texts = [leads.text(n * leads.BASE + k, "lead0") for n, k in ((0, 4), (1, 0), (2, 0), (1, 3), (-1, -2))]
    assert texts == ["4", "lead0", "(lead0 * 2)", "(lead0 + 3)", "(lead0 * -1 + -2)"] and leads.text(leads.BASE, "") == str(leads.BASE)


@pytest.mark.parametrize("target, device", marked(ON))
def test_products(target: str, device: str, tmp_path: Path) -> None:
    built = agree(PRODUCTS, target, device, tmp_path)
    if device in ("cpu", "pocl-cpu"):  # products in register tiles read the larger matrices in place
        heroes = {of.name: of.hero.split() for of in built}
        assert heroes["plain"] == ["contraction"] and heroes["few_rows"] == ["contraction"] and heroes["relu"] == ["contraction"]
        assert "strips" in heroes["strips"]


@pytest.mark.peer
@pytest.mark.parametrize("target, device", ON)
def test_drawn_products(target: str, device: str, tmp_path: Path) -> None:
    draw = random.Random(f"leads {SEED}")
    texts = {}
    for number in range(COUNT):
        name, (m, n, k) = f"drawn{number}", (draw.randint(1, 70) for _ in range(3))
        texts[name] = dot(name, draw.choice(("f32", "f32", "f64", "bf16")), m, n, k, draw.choice(("mk", "km")), draw.choice(("kn", "nk")))
    agree(texts, target, device, tmp_path)


DRIVER = """
#include "plain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An array of exactly the rows of a larger one: what is beyond its last row is not the program's. */
static float *larger(size_t rows, size_t row, size_t lead)
{
  float *made = malloc(((rows - 1) * lead + row) * sizeof *made);
  for (size_t k = 0; k < (rows - 1) * lead + row; ++k) made[k] = (float)(k %% 7) - 3;
  return made;
}

int main(void)
{
  enum { M = 37, N = 53, K = 41 };
  const size_t leads[3] = {K + %d, N + %d, N + %d};
  float *a = larger(M, K, leads[0]), *b = larger(K, N, leads[1]), *c = larger(M, N, leads[2]);
  void *scratch = malloc(plain_c_SCRATCH_BYTES + 64);
  int wrong = 0;
  if (plain(a, leads[0], b, leads[1], c, leads[2], scratch)) return 2;
  for (size_t i = 0; i < M; ++i)
    for (size_t j = 0; j < N; ++j) {
      float sum = 0;
      for (size_t k = 0; k < K; ++k) sum += a[i * leads[0] + k] * b[k * leads[1] + j];
      wrong += c[i * leads[2] + j] != sum;
    }
  for (size_t i = 0; i + 1 < M; ++i)
    for (size_t j = N; j < leads[2]; ++j) wrong += c[i * leads[2] + j] != (float)((i * leads[2] + j) %% 7) - 3;
  if (plain(a, K - 1, b, leads[1], c, leads[2], scratch) != 1 || plain(a, leads[0], b, leads[1], c, (size_t)-1, scratch) != 1) return 3;
  free(a), free(b), free(c), free(scratch);
  return wrong ? 4 : 0;
}
"""


@pytest.mark.parametrize("march", [pytest.param("x86-64", marks=pytest.mark.peer), "native"])
@pytest.mark.parametrize("more", [pytest.param((0, 0, 0), marks=pytest.mark.peer), (3, 5, 1),
                                  pytest.param((16, 32, 64), marks=pytest.mark.peer)])
def test_under_sanitizers(more: "Sequence[int]", march: str, tmp_path: Path) -> None:
    """The generated function reads and writes nothing outside the rows, and refuses leading dimensions that are too
    small or too large.
    """
    pipeline.build_all(led(PRODUCTS["plain"], "plain"), str(tmp_path), ["c"])
    (tmp_path / "main.c").write_text(DRIVER % tuple(more))
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", f"-march={march}", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", "main.c", "plain.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


EXACT = """
#include "{name}.h"
#include <stdlib.h>

/* Every array ends where its last row ends. */
int main(void)
{{
  const void *params[] = {{{params}}};
  void *results[] = {{{results}}};
  const size_t leads[] = {{{leads}}};
  void *scratch = aligned_alloc(64, ({name}_c_SCRATCH_BYTES + 63) / 64 * 64 + 64);
  const int error = {name}_prepare(NULL, scratch) || {name}_c_run(params, results, leads, scratch);
  for (size_t i = 0; i < sizeof params / sizeof *params; ++i) free((void *)params[i]);
  for (size_t i = 0; i < sizeof results / sizeof *results; ++i) free(results[i]);
  free(scratch);
  return error;
}}
"""
MORE = 3    # number of elements between the end of a row and the next row


def exact_bytes(of: "Dict[str, Any]") -> int:
    """Return the bytes from the first to the last element of an array that is a part of a larger one."""
    if "lead" not in of:
        return int(of["bytes"])
    rows = of["elements"] // of["lead"]["least"]
    return int(((rows - 1) * (of["lead"]["least"] + MORE) + of["lead"]["least"]) * of["bytes"] // of["elements"])


@pytest.mark.parametrize("march", [pytest.param("x86-64", marks=pytest.mark.peer), pytest.param("native", marks=pytest.mark.peer)])
@pytest.mark.parametrize("name", [*WALKS, *COPIED, *PRODUCTS])
def test_nothing_beyond_the_last_row(name: str, march: str, tmp_path: Path) -> None:
    pipeline.build_all(led({**WALKS, **COPIED, **PRODUCTS}[name], name), str(tmp_path), ["c"])
    about = json.loads((tmp_path / f"{name}.json").read_text())
    arrays = {side: ", ".join(f"calloc(1, {exact_bytes(of)})" for of in about[side]) for side in ("params", "results")}
    given = sorted((of["lead"]["number"], of["lead"]["least"] + MORE) for side in arrays for of in about[side] if "lead" in of)
    (tmp_path / "main.c").write_text(EXACT.format(name=name, leads=", ".join(str(lead) for _, lead in given), **arrays))
    subprocess.run(["gcc", "-std=gnu11", "-w", "-O1", f"-march={march}", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "main.c",
                    f"{name}.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_manifest_and_header(tmp_path: Path) -> None:
    pipeline.build_all(led(PRODUCTS["plain"], "plain", ["b", "result"]), str(tmp_path), ["c", "opencl", "cuda"])
    about = json.loads((tmp_path / "plain.json").read_text())
    assert [of.get("lead", {}).get("number") for of in (*about["params"], *about["results"])] == [None, 0, 1]
    assert about["results"][0]["lead"]["least"] == 53
    header = (tmp_path / "plain.h").read_text()
    assert "size_t b_lead, float *c, size_t c_lead" in header
    assert "leads[0] (b_lead): the leading dimension of parameter b, " in header and "up to the end of the last row" in header


def test_unread_rows_give_no_warning(tmp_path: Path) -> None:
    """A kernel that reads a single row has no parameter for the leading dimension, so the compiler gives no warning."""
    text = entry("first", "x = f32[8,64] parameter(0)", "ROOT y = f32[1,64] slice(x), slice={[0:1], [0:64]}")
    pipeline.build_all(led(text, "first", ["x"]), str(tmp_path), ["c"])
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c", "first.c", "-o", "first.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("text, name, why", [
    (WALKS["add_rows"], "w", "has no array of this name"),
    (WALKS["row_sums"], "s", "is no matrix"),
    (entry("bits", "x = s4[8,64] parameter(0)", "ROOT y = s4[8,64] negate(x)"), "x", "its elements are s4"),
    (entry("complex", "x = c64[8,64] parameter(0)", "ROOT y = c64[8,64] negate(x)"), "x", "its elements are c64"),
    (entry("tiles", "x = f32[8,64]{1,0:T(8,128)} parameter(0)", "ROOT y = f32[8,64] negate(x)"), "x", "its layout has tiles"),
    (COPIED["updated"].replace("HloModule updated", "HloModule updated, input_output_alias={ {}: (0, {}, may-alias) }"), "x", "a result's too"),
])
def test_refused(text: str, name: str, why: str) -> None:
    with pytest.raises(BuildError, match=why):
        led(text, "e", [name])


@pytest.mark.peer
def test_command(tmp_path: Path) -> None:
    (tmp_path / "plain.hlo").write_text(PRODUCTS["plain"])

    def gen(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-m", "gen", *words], cwd=ROOT, capture_output=True, text=True)

    built = gen("build", str(tmp_path / "plain.hlo"), "-o", str(tmp_path / "out"), "--target", "c", "--lead", "a,b", "--lead", "result")
    assert built.returncode == 0, built.stderr
    assert "const size_t *leads" in (tmp_path / "out" / "plain.h").read_text()
    for name, said in (("d", "error: --lead d: "), (",", "error: --lead : ")):
        wrong = gen("build", str(tmp_path / "plain.hlo"), "-o", str(tmp_path / "out"), "--target", "c", "--lead", name)
        assert wrong.returncode == 2 and wrong.stderr.startswith(said), wrong.stderr
    wrong = gen("build", str(tmp_path / "plain.hlo"), "-o", str(tmp_path / "out"), "--target", "c", "--lead", "a", "--wrap", "jax")
    assert wrong.returncode == 2 and "expected no --lead beside --wrap jax" in wrong.stderr, wrong.stderr
