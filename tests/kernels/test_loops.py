"""Property: dot, convolution, reduce-window and select-and-scatter agree with the scalar reference, with any ops fused
before and after them.

Fusions are drawn as in test_fusions.py, but are smaller and consist mostly of these ops. SETT_SEED selects other
fusions, SETT_COUNT their number, SETT_TARGET and SETT_DEVICE the target.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List

import pytest

from drawn import agree, device_or_skip, fusions
from test_fusions import DEVICE, SEED, Draw, checked, smallest
import test_fusions
from gen import hlo, pipeline
from gen.run import proofs

COUNT = int(os.environ.get("SETT_COUNT", "16"))
BATCH = 8


class Loops(Draw):
    def step(self) -> None:
        loops = [self.dot, self.dot, self.scaled_dot, self.convolution, self.reduce_window, self.select_and_scatter]
        others = [self.unary, self.binary, self.select, self.convert, self.broadcast, self.transpose, self.reshape, self.slice, self.pad, self.concatenate,
                  self.reduce, self.map, self.both]
        self.r.choice(loops * 2 + others)()

    def leaf(self, dims=None, dtype=None):  # type: ignore[no-untyped-def]
        return super().leaf(tuple(self.r.choice([1, 2, 3, 4, 17]) for _ in range(self.r.choice([1, 2, 3]))) if dims is None else dims, dtype)


@pytest.mark.drawn
@pytest.mark.parametrize("target", os.environ.get("SETT_TARGET", "c,opencl").split(","))
@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_drawn_loops(target: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random loops agree with the reference. Every second batch allows excess precision."""
    monkeypatch.setattr(test_fusions, "TARGET", target)
    device_or_skip(target)
    excess = first // BATCH % 2 == 1
    drawn = {f"f{k}": Loops(SEED * 9176201 + k).fusion() for k in range(first, min(first + BATCH, COUNT))}
    results = checked({name: one.text() for name, one in drawn.items()}, tmp_path, excess, DEVICE)
    failed = [r for r in results if r.status != "PASS"]
    reports = [f"{r.line()}\n{smallest(drawn[r.fusion.split('_')[0]], tmp_path / 'small', excess, DEVICE)}" for r in failed]
    assert not failed, "\n\n".join(reports)
    assert {r.fusion.split("_")[0] for r in results} == drawn.keys()


COMPUTATIONS = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
sum { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] add(a, b) }
ge { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
plus { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }
best { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3) c = pred[] compare(a, b), direction=GE
  v = f32[] select(c, a, b) k = s32[] select(c, i, j) ROOT r = (f32[], s32[]) tuple(v, k) }
"""
FIXED = {
    "complex": "p = c64[3,5] parameter(0) q = c64[4,5] parameter(1) ROOT d = c64[3,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "complex_window": "p = c64[7] parameter(0) z = c64[] parameter(1) ROOT r = c64[4] reduce-window(p, z), window={size=3 stride=2 pad=1_1}, to_apply=sum",
    "complex_convolution": "p = c128[2,3,6] parameter(0) k = c128[3,4,2] parameter(1)\n"
                           "  ROOT c = c128[2,4,6] convolution(p, k), window={size=2 pad=1_0 rhs_reversal=1}, dim_labels=bf0_io0->bf0",
    "scaled": """p = f8e4m3fn[6,64] parameter(0) q = bf16[33,64] parameter(1) s = f8e8m0fnu[6,2] parameter(2) t = bf16[1,1] parameter(3)
  ROOT d = f32[6,33] scaled-dot(p, q, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}""",
    "scaled_packed": """p = f4e2m1fn[2,6,64] parameter(0) q = f4e2m1fn[64,2,34] parameter(1) s = f8e4m3fn[2,3,4] parameter(2) t = f8e4m3fn[4,1,17] parameter(3)
  ROOT d = bf16[2,6,34] scaled-dot(p, q, s, t), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={0}""",
    "scaled_fused": """p = f16[16,96] parameter(0) q = f32[96,8] parameter(1) s = f32[16] parameter(2) t = bf16[3,8] parameter(3) one = f32[1,1] constant({{1}})
  l = f16[16,96] tanh(p) e = f32[16] exponential(s) r = f32[16,1] reshape(e) u = bf16[3,8] abs(t)
  d = f32[16,8] scaled-dot(l, q, r, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f64[8,16] scaled-dot(q, p, one, one), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  ROOT r2 = (f32[16,8], f64[8,16]) tuple(d, n)""",
    "scaled_integers": """p = s8[5,12] parameter(0) q = u8[12,3] parameter(1) s = s32[5,3] parameter(2) t = s8[2,3] parameter(3)
  ROOT d = s32[5,3] scaled-dot(p, q, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "packed": "p = s4[6,8] parameter(0) q = u4[8,6] parameter(1) ROOT d = s32[6,6] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "packed_result": "p = s4[6,8] parameter(0) q = s4[8,6] parameter(1) ROOT d = s4[6,6] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f8": "p = f8e4m3fn[6,64] parameter(0) q = f8e5m2[64,33] parameter(1) ROOT d = f8e4m3[6,33] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "mixed": "p = bf16[6,64] parameter(0) q = s8[64,32] parameter(1) ROOT d = f64[6,32] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "attention": """q = f32[2,9,16] parameter(0) k = f32[2,17,16] parameter(1) v = f32[2,17,32] parameter(2) z = f32[] constant(0) low = f32[] constant(-inf)
  s = f32[2,9,17] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  m = f32[2,9] reduce(s, low), dimensions={2}, to_apply=max
  n = f32[2,9,17] broadcast(m), dimensions={0,1}
  c = f32[2,9,17] subtract(s, n)
  e = f32[2,9,17] exponential(c)
  t = f32[2,9] reduce(e, z), dimensions={2}, to_apply=add
  u = f32[2,9,17] broadcast(t), dimensions={0,1}
  w = f32[2,9,17] divide(e, u)
  ROOT o = f32[2,9,32] dot(w, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}""",
    "chain": """p = f32[8,8] parameter(0)
  a = f32[8,8] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[8,8] dot(b, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  t = f32[8,8] transpose(c), dimensions={1,0}
  x = f32[8,8] add(c, t)
  ROOT r = (f32[8,8], f32[8,8], f32[8,8]{0,1}) tuple(x, b, c)""",
    "fused": """p = f16[33,48] parameter(0) q = f16[48,64] parameter(1) bias = f32[64] parameter(2)
  l = f16[33,48] tanh(p) h = f16[64,48] transpose(q), dimensions={1,0}
  d = f32[33,64] dot(l, h), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  b = f32[33,64] broadcast(bias), dimensions={1}
  s = f32[33,64] add(d, b) z = f32[] constant(0) zs = f32[33,64] broadcast(z), dimensions={}
  ROOT r = f32[33,64] maximum(s, zs)""",
    "tiled": """p = bf16[40,130]{1,0:T(8,128)(2,1)} parameter(0) q = bf16[130,70]{0,1:T(8,128)(2,1)} parameter(1)
  ROOT d = f32[40,70]{1,0:T(8,128)} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "pooling": """p = bf16[2,9,9,3] parameter(0) g = bf16[2,4,4,3] parameter(1) z = bf16[] constant(0)
  ROOT r = bf16[2,9,9,3]{3,2,1,0:T(8,128)(2,1)} select-and-scatter(p, g, z), window={size=1x3x3x1 stride=1x2x2x1}, select=ge, scatter=plus""",
    "largest": """p = f32[9,9] parameter(0) n = s32[9,9] parameter(1) low = f32[] constant(-inf) z = s32[] constant(-1)
  ROOT r = (f32[5,4], s32[5,4]) reduce-window(p, n, low, z), window={size=3x2 stride=2x2 pad=1_1x0_0 rhs_dilate=1x2}, to_apply=best""",
    "empty": """p = f32[3,0] parameter(0) q = f32[0,4] parameter(1) one = f32[3,4] parameter(2)
  d = f32[3,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[0,3] dot(q, one), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  s = f32[3,4] add(d, one)
  ROOT r = (f32[3,4], f32[0,3]) tuple(s, e)""",
    "outer": "p = f32[17] parameter(0) q = f32[32] parameter(1) ROOT d = f32[17,32] dot(p, q)",
}


@pytest.mark.parametrize("target", ["c", "opencl", "cuda-on-cpu"])
def test_fixed_loops(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed cases agree with the reference: complex, packed and very small types, tiles, several results, chains
    (computed once, through scratch), arrays without elements.
    """
    monkeypatch.setattr(test_fusions, "TARGET", target)
    device_or_skip(target)
    texts = {name: f"{COMPUTATIONS}ENTRY e {{\n  {body}\n}}\n" for name, body in FIXED.items()}
    for name, text in texts.items():
        (fusion,) = hlo.fusions(hlo.parse(text, f"{name}.hlo"))
        assert proofs.check(fusion) is None, name
    failed = [r.line() for r in checked(texts, tmp_path) if r.status != "PASS"]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("op, order", [("xor", ["16", "8"]), ("subtract", ["8", "16"])])
def test_order_of_loops(op: str, order: "List[str]", tmp_path: Path) -> None:
    """A reduction reads elements in memory order if the combiner allows any order, otherwise in the order of their
    indices.
    """
    text = f"""f {{
  a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = u32[] {op}(a, b)
}}
e {{
  p = u32[24,48]{{0,1}} parameter(0)
  z = u32[] constant(5)
  t = u32[3,8,3,16] reshape(p)
  ROOT r = u32[3,3] reduce(t, z), dimensions={{1,3}}, to_apply=f
}}
"""
    (fusion,) = fusions(text)
    loops = re.findall(r"for \(uint32_t s\d+ = 0; s\d+ < (\d+);", pipeline.target_file(fusion, "c").text)
    assert loops[:2] == order
    agree({"order": text}, "c", "cpu", tmp_path)


@pytest.mark.parametrize("target, device", [("opencl", "pocl-cpu"), ("c", "cpu"), ("cuda-on-cpu", "sm_90")])
def test_parts_in_turn(target: str, device: str, tmp_path: Path) -> None:
    """On CPUs, operands of a concatenation that read the same array are computed alternately, so that the array is read
    once. The operands must have equally many blocks. If they have no partial steps, they alternate step by step,
    otherwise block by block. Other operands are computed one after another.
    """

    def rotated(dtype: str, rows: int, half: int, extra: int = 0) -> str:
        whole, part, last = f"{dtype}[{rows},{2 * half + extra}]", f"{dtype}[{rows},{half}]", f"{dtype}[{rows},{half + extra}]"
        return f"e {{\n  x = {whole} parameter(0)\n  c = {last} parameter(1)\n" \
            f"  a = {part} slice(x), slice={{[0:{rows}], [0:{half}]}}\n  b = {last} slice(x), slice={{[0:{rows}], [{half}:{2 * half + extra}]}}\n" \
            f"  d = {last} multiply(b, c)\n  f = {part} negate(a)\n  ROOT r = {whole} concatenate(d, f), dimensions={{1}}\n}}\n"

    texts = {"even": rotated("f32", 96, 64), "narrow": rotated("bf16", 64, 128), "uneven": rotated("f32", 96, 64, 16)}
    texts["cut"] = "e {\n  x = f32[1003] parameter(0)\n  n = f32[1003] negate(x)\n  ROOT r = f32[2006] concatenate(x, n), dimensions={0}\n}\n"
    texts["apart"] = "e {\n  x = f32[96,64] parameter(0)\n  y = f32[96,64] parameter(1)\n  ROOT r = f32[96,128] concatenate(x, y), dimensions={1}\n}\n"
    for name, text in texts.items():
        (kernel,) = pipeline.target_file(fusions(text, name)[0], target.replace("-on-cpu", ""), device).kernels
        assert kernel.text.template == "kernels/concatenate"
        cpu = not target.startswith("cuda")
        assert (" step by step" in kernel.loop.text()) == (cpu and name in ("even", "narrow")), name
        assert (" in turn" in kernel.loop.text()) == (cpu and name == "cut"), name
        assert kernel.blocks == (kernel.sections[0].blocks if kernel.loop.together else sum(part.blocks for part in kernel.sections))
    agree(texts, target, device, tmp_path)
