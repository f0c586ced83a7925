"""Test dynamic-slice, dynamic-update-slice and gather: start indices of every integer type are clamped, and updates are
done in the operand's own buffer. The expected values come from plain loops over Python lists. test_fusions.py draws
these ops too.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest

from drawn import ON_CPUS, agree, fusions, in_parts, marked, of_part, ptx
from gen_run import gen, run

from gen import pipeline, run as runner, schedule
from gen.run import proofs
from gen.plan import nests

CODES = {"s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i", "u32": "I", "s64": "q", "u64": "Q"}


def limits(dtype: str) -> Tuple[int, int]:
    bits = int(dtype[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)


def module(body: str, head: str = "") -> str:
    return f"HloModule m{head}\nENTRY e {{\n{body}\n}}\n"


def odd_starts(dtype: str) -> List[int]:
    """Return start indices in range, just out of range, and so large that a narrower type would wrap them into the
    range.
    """
    low, high = limits(dtype)
    wanted = [0, 1, 3, 4, 5, 6, 8, 9, 10, 126, -1, -2, low, low + 1, high, high - 1,
              1 << 31, (1 << 32) + 2, -(1 << 32) + 3, -(1 << 31), 1 << 63, (1 << 40) + 1]
    return [v for v in wanted if low <= v <= high]


def clamp(start: int, last: int) -> int:
    return min(max(start, 0), last)


def flat(dims: Sequence[int], index: Sequence[int]) -> int:
    at = 0
    for size, i in zip(dims, index):
        at = at * size + i
    return at


@pytest.mark.parametrize("target", ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu"))])
def test_clamped_starts(target: str, tmp_path: Path) -> None:
    rng = random.Random(target)
    dims, part = (6, 13), (2, 4)
    values = [rng.randrange(1 << 31) for _ in range(math.prod(dims))]
    update = [rng.randrange(1 << 31) for _ in range(math.prod(part))]

    def box(i: int, j: int) -> List[int]:
        i, j = clamp(i, 4), clamp(j, 9)
        return [values[flat(dims, (i + a, j + b))] for a in range(2) for b in range(4)]

    def updated(i: int, j: int) -> List[int]:
        made = list(values)
        for k, (a, b) in enumerate(itertools.product(range(2), range(4))):
            made[flat(dims, (clamp(i, 4) + a, clamp(j, 9) + b))] = update[k]
        return made
    lines = ["  p = s32[6,13] parameter(0)", "  u = s32[2,4] parameter(1)"]
    data = [struct.pack(f"<{len(values)}i", *values), struct.pack(f"<{len(update)}i", *update)]
    results: List[Tuple[str, str, List[int]]] = []    # name, shape, expected values
    for dtype in ("s32", "u32", "s64", "u64", "s8", "u8"):
        starts = odd_starts(dtype)
        pairs = [(rng.choice(starts), rng.choice(starts)) for _ in range(4)]
        n, at = len(starts), dtype
        lines += [f"  all_{at} = {dtype}[{n},1] parameter({len(data)})", f"  pairs_{at} = {dtype}[4,2] parameter({len(data) + 1})"]
        data += [struct.pack(f"<{n}{CODES[dtype]}", *starts), struct.pack(f"<8{CODES[dtype]}", *itertools.chain(*pairs))]
        lines += [f"  g_{at} = s32[{n},13] gather(p, all_{at}), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, "
                  "slice_sizes={1,13}",
                  f"  h_{at} = s32[4,2,4] gather(p, pairs_{at}), offset_dims={{1,2}}, collapsed_slice_dims={{}}, start_index_map={{0,1}}, index_vector_dim=1, "
                  "slice_sizes={2,4}"]
        results += [(f"g_{at}", f"s32[{n},13]", [values[flat(dims, (clamp(i, 5), b))] for i in starts for b in range(13)]),
                    (f"h_{at}", "s32[4,2,4]", [x for i, j in pairs for x in box(i, j)])]
        for k, (i, j) in enumerate(pairs):
            lines += [f"  row_{at}{k} = {dtype}[1,2] slice(pairs_{at}), slice={{[{k}:{k + 1}], [0:2]}}",
                      f"  start_{at}{k} = {dtype}[2] reshape(row_{at}{k})"]
            for d in "01":
                lines += [f"  one_{at}{k}_{d} = {dtype}[1] slice(start_{at}{k}), slice={{[{d}:{int(d) + 1}]}}",
                          f"  i_{at}{k}_{d} = {dtype}[] reshape(one_{at}{k}_{d})"]
            words = f"i_{at}{k}_0, i_{at}{k}_1" if k % 2 else f"start_{at}{k}"    # start indices as several scalars, or as one array
            lines += [f"  d_{at}{k} = s32[2,4] dynamic-slice(p, {words}), dynamic_slice_sizes={{2,4}}",
                      f"  w_{at}{k} = s32[6,13] dynamic-update-slice(p, u, {words})"]
            results += [(f"d_{at}{k}", "s32[2,4]", box(i, j)), (f"w_{at}{k}", "s32[6,13]", updated(i, j))]
    text = module("\n".join(lines) + f"\n  ROOT r = ({', '.join(shape for _, shape, _ in results)}) tuple({', '.join(name for name, _, _ in results)})")
    for (name, _, wanted), one in zip(results, run(text, data, target, tmp_path)):
        assert list(struct.unpack(f"<{len(one) // 4}i", one)) == wanted, name


READS = {    # arrays large enough for kernels with vectors and tiles
    "turned": "  p = f32[160,200] parameter(0)\n  i = s32[] parameter(1)\n  j = u32[] parameter(2)\n"
              "  c = s32[] convert(j)\n  d = f32[128,144] dynamic-slice(p, i, c), dynamic_slice_sizes={128,144}\n"
              "  t = f32[144,128] transpose(d), dimensions={1,0}\n  ROOT n = f32[144,128] negate(t)",
    "rows": "  p = bf16[300,96] parameter(0)\n  i = s64[80,1] parameter(1)\n  ROOT g = bf16[80,96] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,96}",
    "elements": "  p = f32[5000] parameter(0)\n  i = s16[40,100,1] parameter(1)\n  g = f32[40,100] gather(p, i), offset_dims={}, collapsed_slice_dims={0}, "
                "start_index_map={0}, index_vector_dim=2, slice_sizes={1}\n  z = f32[] constant(0)\n  ROOT r = f32[40] reduce(g, z), dimensions={1}, to_apply=s",
    "rows of rows": "  p = f16[90,48] parameter(0)\n  i = u8[64] parameter(1)\n  j = s32[128,1] parameter(2)\n  t = u8[128] gather(i, j), offset_dims={}, "
                    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n  g = f16[128,32] gather(p, t), offset_dims={1}, "
                    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,32}\n  ROOT n = f16[128,32] add(g, g)",
    "nan": "  p = f16[40,40] parameter(0)\n  i = s32[] parameter(1)\n  c = f16[] constant(nan)\n  u = f16[9,40] broadcast(c), dimensions={}\n"
           "  w = f16[40,40] dynamic-update-slice(p, u, i, i)\n  ROOT t = f16[40,40] transpose(w), dimensions={1,0}"}


@pytest.mark.parametrize("target, device", marked([("c", "cpu"), ("opencl", "pocl-cpu"), ("opencl", "opencl-gpu"), ("cuda-on-cpu", "sm_80")]))
@in_parts
def test_reads_agree(target: str, device: str, part: str, tmp_path: Path) -> None:
    add = "s {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"
    agree({f"e{k}": module(READS[name], "\n" + add)
           for k, name in enumerate(sorted(READS))}, target, device, tmp_path, part)


FOUND = {    # gathers, with words that the kernel's text must contain
    "  p = f32[900,64] parameter(0)\n  i = s32[1024,1] parameter(1)\n  ROOT g = f32[1024,64] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}": ("vec 4", "prefetch rows that indices select 128 steps ahead", "later0 + vec * 16"),
    "  p = bf16[90,7,96] parameter(0)\n  i = u16[800,2] parameter(1)\n  q = bf16[800,96] parameter(2)\n  g = bf16[800,96] gather(p, i), offset_dims={1}, "
    "collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={1,1,96}\n  ROOT a = bf16[800,96] add(g, q)":
        ("vec 2", "prefetch rows that indices select 512 steps ahead"),
    "  p = f32[90,256]{1,0:T(8,128)} parameter(0)\n  i = s32[512,1] parameter(1)\n  ROOT g = f32[512,256] gather(p, i), offset_dims={1}, "
    "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,256}": ("* 128 + 1136", "prefetch rows that indices select 32 steps ahead"),
    "  p = f32[900,16] parameter(0)\n  i = s64[1024,1] parameter(1)\n  ROOT g = f32[1024,10] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1,10}": ("vec 1", "streamed")}


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_found_by_indices(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If indices select contiguous rows, a step reads whole vectors and later rows are prefetched. If neighbouring
    elements have different indices, nothing is prefetched.
    """
    monkeypatch.setitem(schedule.DEVICES, device, replace(schedule.DEVICES[device], cache=1 << 12))
    agree({f"e{k}": module(text) for k, text in enumerate(FOUND)}, target, device, tmp_path, part)
    for k, words in of_part(enumerate(FOUND.values()), part):
        text = next((tmp_path / f"e{k}").glob(f"e{k}.c" if target == "c" else f"e{k}.cl")).read_text()
        assert all(word in text for word in words), text
        assert ("prefetch rows" in text) == ("prefetch" in words[1])


# ---- in place ----

ALIAS = ", input_output_alias={ {}: (0, {}, may-alias) }"
ADD = "\ns {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}"
SCATTER = ("  k = s32[3,1] parameter(4)\n  v = f32[3,%s] parameter(5)\n  n = f32[%s] scatter(%s, k, v), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s\n")
ARGUMENTS = """  p = f32[40,64] parameter(0)
  u = f32[8,16] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
"""
WRITE = "  ROOT w = f32[40,64] dynamic-update-slice(p, {0}, i, j)"
BODIES: Dict[str, Tuple[str, str, str]] = {    # by case: the ops after the arguments; an attribute in the module's head; a part of the output of `explain`
    "plain": (WRITE.format("u"), ALIAS, "result 0 is parameter 0, updated in place"),
    "not said": (WRITE.format("u"), "", "not in place: the module does not let result 0 take the buffer of parameter 0"),
    "same element": ("  o = f32[8,16] dynamic-slice(p, i, j), dynamic_slice_sizes={8,16}\n  n = f32[8,16] add(o, u)\n" + WRITE.format("n"), ALIAS,
                     "updated in place"),
    "elsewhere": ("  o = f32[8,16] dynamic-slice(p, j, i), dynamic_slice_sizes={8,16}\n  n = f32[8,16] add(o, u)\n" + WRITE.format("n"), ALIAS,
                  "not in place: parameter 0 is read elsewhere than at the element that is updated"),
    "turned": ("  o = f32[8,16] dynamic-slice(p, i, j), dynamic_slice_sizes={8,16}\n  t = f32[8,16] reverse(o), dimensions={1}\n" + WRITE.format("t"), ALIAS,
               "is read elsewhere"),
    "fixed": ("  o = f32[8,16] slice(p), slice={[0:8], [0:16]}\n" + WRITE.format("o"), ALIAS, "is read elsewhere"),
    "computed operand": ("  n = f32[40,64] negate(p)\n  ROOT w = f32[40,64] dynamic-update-slice(n, u, i, j)", ALIAS, "the operand of w is no parameter"),
    "bitcast": ("  w = f32[40,64] dynamic-update-slice(p, u, i, j)\n  ROOT b = f32[2560] bitcast(w)", ALIAS, "updated in place"),
    "out of tiles": ("  q = f32[40,128]{1,0:T(8,128)} parameter(4)\n  w = f32[40,128]{1,0:T(8,128)} dynamic-update-slice(q, u, i, j)\n"
                     "  ROOT b = f32[5,8,128]{2,1,0} bitcast(w)", ", input_output_alias={ {}: (4, {}, may-alias) }", ""),
    "turned operand": ("  q = f32[64,40]{1,0} parameter(4)\n  t = f32[40,64]{1,0} transpose(q), dimensions={1,0}\n  ROOT w = f32[40,64] dynamic-update-slice(t, u, i, j)",
                       ", input_output_alias={ {}: (4, {}, may-alias) }", "parameter 4 is not at the positions of result 0"),
    "two roots": ("  q = f32[40,64] parameter(4)\n  a = f32[40,64] dynamic-update-slice(p, u, i, j)\n  b = f32[40,64] dynamic-update-slice(q, u, j, i)\n"
                  "  ROOT r = (f32[40,64], f32[40,64]) tuple(a, b)",
                  ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (4, {}, must-alias) }", "result 1 is parameter 4, updated in place"),
    "another's element": ("  q = f32[40,64] parameter(4)\n  o = f32[8,16] dynamic-slice(p, i, j), dynamic_slice_sizes={8,16}\n"
                          "  a = f32[40,64] dynamic-update-slice(p, u, i, j)\n  b = f32[40,64] dynamic-update-slice(q, o, j, i)\n"
                          "  ROOT r = (f32[40,64], f32[40,64]) tuple(a, b)",
                          ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (4, {}, may-alias) }", "result 0 is parameter 0, updated in place, result 1"),
    "same twice": ("  a = f32[40,64] dynamic-update-slice(p, u, i, j)\n  b = f32[40,64] dynamic-update-slice(p, u, j, i)\n"
                   "  ROOT r = (f32[40,64], f32[40,64]) tuple(a, b)",
                   ", input_output_alias={ {0}: (0, {}, may-alias), {1}: (0, {}, may-alias) }", "parameter 0 is updated twice"),
    "tiles": ("  q = f32[40,64]{1,0:T(8,128)} parameter(4)\n  ROOT w = f32[40,64]{1,0:T(8,128)} dynamic-update-slice(q, u, i, j)",
              ", input_output_alias={ {}: (4, {}, may-alias) }", "no kernel for the update alone: results are written in tiles"),
    "not all": ("  w = f32[40,64] dynamic-update-slice(p, u, i, j)\n  n = f32[40,64] negate(w)\n  ROOT r = (f32[40,64], f32[40,64]) tuple(w, n)",
                ", input_output_alias={ {0}: (0, {}, may-alias) }", "alone: result 1 is no dynamic-update-slice"),
    "another layout": ("  w = f32[40,64]{1,0} dynamic-update-slice(p, u, i, j)\n  ROOT r = (f32[40,64]{0,1}) tuple(w)",
                       ", input_output_alias={ {0}: (0, {}, may-alias) }", "alone: result 0 has another layout than the value that it is"),
    "scattered update": (SCATTER % ("16", "8,16", "u") + WRITE.format("n"), ALIAS + ADD, "alone: a reduction or a scatter has kernels of its own"),
    "scattered operand": (SCATTER % ("64", "40,64", "p") + "  ROOT w = f32[40,64] dynamic-update-slice(n, u, i, j)", ADD,
                          "alone: a reduction or a scatter has kernels of its own"),
    "known starts": ("  c = s32[] constant(99)\n  ROOT w = f32[40,64] dynamic-update-slice(p, u, c, j)", ALIAS, "updated in place"),
    "starts of its own": ("  q = s32[40] parameter(4)\n  v = s32[3] parameter(5)\n  h = s32[1] slice(q), slice={[7:8]}\n  s = s32[] reshape(h)\n"
                          "  ROOT w = s32[40] dynamic-update-slice(q, v, s)", ", input_output_alias={ {}: (4, {}, may-alias) }", "is read elsewhere"),
    "most of it": ("  v = f32[39,60] parameter(4)\n  ROOT w = f32[40,64] dynamic-update-slice(p, v, i, j)", "", "the update is more than half of the result"),
}


@pytest.mark.parametrize("name", sorted(BODIES))
def test_ways_of_updates(name: str) -> None:
    body, head, wanted = BODIES[name]
    (fusion,) = fusions(module(ARGUMENTS + body, head))
    assert wanted in nests.planned(fusion).updated
    made, about = pipeline.files(fusion, ["c", "opencl", "cuda"])
    in_place = wanted.startswith("result") or wanted == "updated in place"
    assert bool(about["aliases"]) == in_place
    assert ("updated in place: the caller passes one buffer as both" in made["e.h"]) == in_place
    assert proofs.check(fusion) is None
    for alias in about["aliases"]:    # neither pointer of an alias may be declared restrict
        arguments = re.findall(r"[^(,]*\b[pr]\d+(?=[,)])", made["e.cu"].split("__global__")[1].split("\n")[0])
        assert not [a for a in arguments if re.search(rf"\b(p{alias['parameter']}|r{alias['result']})$", a) and "restrict" in a]


@pytest.mark.parametrize("target, device", marked([("c", "cpu"), ("opencl", "pocl-cpu"), ("opencl", "opencl-gpu"), ("cuda-on-cpu", "sm_80")]))
@in_parts
def test_updates_agree(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({f"e{k}": module(ARGUMENTS + BODIES[name][0], BODIES[name][1]) for k, name in enumerate(sorted(BODIES))}, target, device, tmp_path, part)


def launched(operand: str, more: str = "", result: str = "ROOT w") -> str:
    return f"""HloModule m
f {{
{ARGUMENTS}  ROOT w = f32[40,64] dynamic-update-slice(p, u, i, j)
}}
ENTRY e {{
{ARGUMENTS}  c = f32[40,64] copy(p)
  {result} = f32[40,64] fusion({operand}, u, i, j), kind=kLoop, calls=f{more}
}}
"""


def test_buffers_that_an_entry_gives(tmp_path: Path) -> None:
    """An update is done in place if the operand is a copy that only the fusion reads, or if the fusion's own attribute
    allows it. It is not done in place if the operand is a parameter of the entry, or a copy that is read elsewhere.
    """
    of = {name: [f for f in fusions(text) if f.kind][0] for name, text in {
        "copy": launched("c"), "parameter": launched("p"), "said": launched("p", ", output_to_operand_aliasing={{}: (0, {})}"),
        "read": launched("c", result="w").replace("calls=f\n", "calls=f\n  ROOT r = f32[40,64] add(w, c)\n")}.items()}
    assert {name: "in place" in nests.planned(f).updated and "not in" not in nests.planned(f).updated for name, f in of.items()} == {
        "copy": True, "parameter": False, "said": True, "read": False}
    values, update = [float(k) for k in range(40 * 64)], [float(-k) for k in range(8 * 16)]
    data = [struct.pack("<2560f", *values), struct.pack("<128f", *update), struct.pack("<i", 30), struct.pack("<i", -4)]
    (found,) = run(launched("c"), data, "c", tmp_path)
    for k in range(128):
        values[(30 + k // 16) * 64 + k % 16] = update[k]
    assert list(struct.unpack("<2560f", found)) == values


@pytest.mark.parametrize("text, message", [
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {}: (9, {}, may-alias) }"), "expected arrays of the result and of an operand"),
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {2}: (0, {}, may-alias) }"), "expected arrays of the result and of an operand"),
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {}: 0 }"), "expected { {RESULT}: (OPERAND, {INDEX}), .. }"),
    (launched("p", ", output_to_operand_aliasing={{}: (7, {})}"), "expected arrays of the result and of an operand"),
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {0,,1}: (0, {}) }"), "expected { {RESULT}: (OPERAND, {INDEX}), .. }"),
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {}: (" + "9" * 5000 + ", {}) }"), "expected { {RESULT}: (OPERAND, {INDEX}), .. }"),
    (module(ARGUMENTS + WRITE.format("u"), ", input_output_alias={ {}: (0, {}), {}: (1, {}) }"), "expected each result once, found {} again"),
    (launched("p", ", output_to_operand_aliasing={{}: (0, {}), }"), "expected { {RESULT}: (OPERAND, {INDEX}), .. }")])
def test_bad_aliases(text: str, message: str, tmp_path: Path) -> None:
    """The error for a wrong alias is at the attribute's value."""
    (tmp_path / "m.hlo").write_text(text)
    done = gen("check", tmp_path / "m.hlo", "--target", "c")
    at = re.search(r"(?:alias|aliasing)=", text).end()     # type: ignore[union-attr]
    place = f"{text[:at].count(chr(10)) + 1}:{at - text.rfind(chr(10), 0, at)}"
    assert done.returncode == 2 and re.match(rf"error: \S+m\.hlo:{place}: ", done.stderr) and message in done.stderr, done.stderr


def test_the_harness_sees_other_writes(tmp_path: Path) -> None:
    """The harness finds an update that is shifted by one element, and an update that is written outside the buffer."""
    (fusion,) = fusions(module(ARGUMENTS + WRITE.format("u"), ALIAS))
    for name, shift, wanted in (("off", "+ 1", "are wrong"), ("past", "+ 600", "wrote past the end of result 0|segmentation fault")):
        built = runner.build(fusion, tmp_path / name, "c", runner.Options(schedule="cpu-scalar"))
        path = tmp_path / name / "e.c"
        text = path.read_text()
        changed = re.sub(r"(\br0\[)([^\]]+)(\] = )", rf"\1\2 {shift}\3", text)
        assert changed != text
        path.write_text(changed)
        (result,) = runner.check_built([built], "c", runner.Options())
        assert result.status == "FAIL" and re.search(wanted, result.reason), result.reason


def test_an_alias_must_be_one(tmp_path: Path) -> None:
    """A result and the parameter that it aliases must be one buffer: the C function refuses two buffers. With one buffer
    it writes only the updated elements.
    """
    (fusion,) = fusions(module(ARGUMENTS + WRITE.format("u"), ALIAS))
    pipeline.build_all(fusion, str(tmp_path), ["c"])
    (tmp_path / "main.c").write_text(r"""
#include "e.h"
#include <stdio.h>
static _Alignas(64) float p[2560], q[2560], u[128];
int main(void)
{
  static int i = 31, j = 70;
  const void *params[] = {p, u, &i, &j};
  void *other[] = {q}, *same[] = {p};
  int wrong = 0;
  for (int k = 0; k < 2560; ++k) p[k] = (float)k;
  for (int k = 0; k < 128; ++k) u[k] = -1;
  if (e_c_run(params, other, NULL) != 1) return 2;
  for (int k = 0; k < 2560; ++k) wrong += p[k] != (float)k || q[k] != 0;
  if (e_c_run(params, same, NULL) != 0) return 3;
  for (int k = 0; k < 2560; ++k) wrong += p[k] != (k / 64 >= 31 && k / 64 < 39 && k % 64 >= 48 ? -1 : (float)k);
  return wrong != 0;
}
""")
    subprocess.run([runner.c_compiler(), "-std=c11", "-O2", "-o", "main", "main.c", "e.c", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


# ---- size of the generated code; CUDA ----

def test_chains_stay_linear() -> None:
    """Each value of a chain reads the value before it twice. Each value is computed once, so the length of the code is
    linear in the length of the chain, not exponential.
    """
    sizes = []
    for levels in (12, 24):
        lines = ["  p = f32[32,32] parameter(0)", "  i = s32[] parameter(1)", "  x0 = f32[32,32] negate(p)"]
        for k in range(levels):
            lines += [f"  s{k} = f32[8,8] dynamic-slice(x{k}, i, i), dynamic_slice_sizes={{8,8}}", f"  x{k + 1} = f32[32,32] dynamic-update-slice(x{k}, s{k}, i, i)"]
        text = module("\n".join([*lines, f"  ROOT r = f32[32,32] negate(x{levels})"]))
        made, _ = pipeline.files(fusions(text)[0], ["c"], "cpu-scalar")
        sizes.append(len(made["e.c"]))
    assert sizes[1] < 2.5 * sizes[0], sizes


@pytest.mark.peer
def test_cuda_compiles(tmp_path: Path) -> None:
    for k, name in enumerate(("same element", "elsewhere")):
        (tmp_path / str(k)).mkdir()
        ptx(module(ARGUMENTS + BODIES[name][0], BODIES[name][1]), "sm_80", tmp_path / str(k))
    (tmp_path / "gather").mkdir()
    ptx(module("  p = f16[5000,96] parameter(0)\n  i = s64[64,1] parameter(1)\n  ROOT g = f16[64,96] gather(p, i), offset_dims={1}, "
               "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,96}"), "sm_80", tmp_path / "gather")
