"""Property: products in tiles of a GPU's shared memory agree with the reference. This covers all dimension numbers and
layouts, batches in any dimension, sizes from 1 to 70, all types that tiles take, ops before and after, and sums that
are cut into parts.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

import test_contraction
from drawn import BATCH, COUNT, SEED, agree, decided, fusions, in_parts, of_part, ptx, written_by
from gen_run import gen
from gen import algebra, run, schedule
from gen.emit.helpers import Helpers
from gen.emit.templates import macro
from gen.heroes import contraction_gpu, contraction_mfma, contraction_mma, contraction_wgmma
from gen.heroes.hero import Context
from gen.pipeline import build_all
from gen.plan.nests import planned
from gen.plan.partition import compose
from gen.plan.tiled_product import TiledProduct
from gen.schedule import DEVICES, GpuTile, SharedTiles
from gen.targets import TARGETS, bits
from test_contraction import BATCHED, ROWS, TURNED, dot

# types of the operands and of the result
TYPES = [*test_contraction.FLOATS, *test_contraction.NUMBERS, ("f16", "f16", "f16"), ("u8", "u8", "u8")]
COLUMNS = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"

ON = [("cuda-on-cpu", "sm_80"), *(pytest.param(*on, marks=pytest.mark.peer) for on in (("hip-on-cpu", "gfx90a"), ("hip-on-cpu", "gfx942"), ("opencl", "opencl-gpu")))]


# types for which there are matrix instructions
MATRIX_TYPES = [("f64", "f64", "f64"), ("s8", "s8", "s32"), ("u8", "u8", "u8"), ("bf16", "bf16", "f32"), ("f16", "f16", "f16")]


def drawn(first: int, count: int, types: "List[tuple[str, str, str]]" = TYPES) -> "Dict[str, str]":
    return {f"g{seed}": test_contraction.Draw(seed, types).text().replace("HloModule e", f"HloModule g{seed}")
            for seed in range(first, first + count)}


def small(monkeypatch: pytest.MonkeyPatch, part_steps: int = 0) -> None:
    """Use schedules that tile every product and cut its sum into parts of `steps` steps."""
    for name, device in schedule.DEVICES.items():
        if device.shared_tiles:
            numbers = replace(device.contraction_gpu, part_steps=part_steps, sum_cost=0) if part_steps else device.contraction_gpu
            monkeypatch.setitem(schedule.DEVICES, name, replace(device, shared_tiles=SharedTiles(1, 1), contraction_gpu=numbers))


@pytest.mark.peer
@pytest.mark.parametrize("first", range(SEED * 3000, SEED * 3000 + COUNT * BATCH, BATCH))
@pytest.mark.parametrize("target, device", ON)
@pytest.mark.parametrize("parts", [0, 16])
def test_drawn(first: int, target: str, device: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, parts)
    agree(drawn(first + parts * 100, BATCH), target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.parametrize("first", range(SEED * 5000, SEED * 5000 + COUNT * BATCH, BATCH))
def test_drawn_for_matrix_instructions(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    agree(drawn(first, BATCH, MATRIX_TYPES), "cuda-on-cpu", "sm_80", tmp_path)


def reversed_dot(dtype: str, steps: int) -> str:
    return (f"HloModule e\n\nENTRY e {{\n  a = {dtype}[40,{steps}]{{1,0}} parameter(0)\n  b = {dtype}[{steps},64]{{1,0}} parameter(1)\n"
            f"  r = {dtype}[40,{steps}]{{1,0}} reverse(a), dimensions={{1}}\n  s = {dtype}[{steps},64]{{1,0}} reverse(b), dimensions={{0,1}}\n"
            f"  ROOT d = f32[40,64]{{1,0}} dot(r, s), {ROWS}\n}}\n")


# For each case: the heroes (kernel emitters) that write the product's kernels, and the HLO text
NAMED: "Dict[str, tuple[List[str], str]]" = {
    "rows": (["contraction"], dot("f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS)),
    "turned": (["contraction"], dot("f32[67,44]{1,0}", "f32[72,44]{1,0}", "f32[67,72]{1,0}", TURNED)),
    "columns": (["contraction"], dot("f32[44,68]{1,0}", "f32[44,72]{1,0}", "f32[68,72]{1,0}", COLUMNS)),
    "result_by_columns": (["contraction"], dot("f32[44,68]{1,0}", "f32[44,71]{1,0}", "f32[68,71]{0,1}", COLUMNS)),
    "larger_than_a_tile": (["contraction"], dot("f32[150,20]{1,0}", "f32[20,270]{1,0}", "f32[150,270]{1,0}", ROWS)),
    "batched": (["contraction"], dot("f64[5,39,12]{2,1,0}", "f64[5,12,46]{2,1,0}", "f64[5,39,46]{2,1,0}", BATCHED)),
    "of_f64_turned": (["contraction"], dot("f64[67,44]{1,0}", "f64[140,44]{1,0}", "f64[67,140]{1,0}", TURNED)),
    "of_f64_columns": (["contraction"], dot("f64[45,68]{1,0}", "f64[45,71]{1,0}", "f64[68,71]{0,1}", COLUMNS)),
    "of_f64_in_parts": (["contraction", "contraction"], dot("f64[8,3000]{1,0}", "f64[3000,256]{1,0}", "f64[8,256]{1,0}", ROWS)),
    "of_bf16": (["contraction"], dot("bf16[40,50]{1,0}", "bf16[50,64]{1,0}", "bf16[40,64]{1,0}", ROWS)),
    "of_s8_columns": (["contraction"], dot("s8[72,144]{1,0}", "s8[72,140]{1,0}", "s32[144,140]{1,0}", COLUMNS)),
    "of_f16": (["contraction"], dot("f16[40,52]{1,0}", "f16[64,52]{1,0}", "f32[40,64]{1,0}", TURNED)),
    "of_s8": (["contraction"], dot("s8[40,72]{1,0}", "s8[72,136]{1,0}", "s32[40,136]{1,0}", ROWS)),
    "of_s8_by_columns": (["contraction"], dot("u8[136,48]{1,0}", "u8[136,80]{1,0}", "s32[48,80]{0,1}", COLUMNS)),
    "of_u8": (["contraction"], dot("u8[40,72]{1,0}", "u8[136,72]{1,0}", "s32[40,136]{1,0}", TURNED)),
    "of_u32": (["contraction"], dot("u32[40,72]{1,0}", "u32[72,136]{1,0}", "u32[40,136]{1,0}", ROWS)),
    "of_bf16_turned": (["contraction"], dot("bf16[140,96]{1,0}", "bf16[150,96]{1,0}", "bf16[140,150]{1,0}", TURNED)),
    "of_bf16_columns": (["contraction"], dot("bf16[96,144]{1,0}", "bf16[96,152]{1,0}", "f32[144,152]{0,1}", COLUMNS)),
    "of_bf16_in_parts": (["contraction", "contraction"], dot("bf16[8,3000]{1,0}", "bf16[3000,256]{1,0}", "bf16[8,256]{1,0}", ROWS)),
    "in_parts": (["contraction", "contraction"], dot("f32[8,3000]{1,0}", "f32[3000,256]{1,0}", "f32[8,256]{1,0}", ROWS)),
    # a tile with fewer words than the block has threads
    "of_few_rows": (["contraction", "contraction"], dot("f32[8,600]{1,0}", "f32[600,2048]{1,0}", "f32[8,2048]{1,0}", ROWS)),
    "by_vector": (["reduction"], dot("f32[400,50]{1,0}", "f32[50]{0}", "f32[400]{0}", ROWS)),
    "chain": (["contraction", "contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[64,48]{1,0} parameter(2)",
        f"  g = f32[40,48]{{1,0}} dot(d, c), {ROWS}")),
    "epilogue": (["contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[64]{0} parameter(2)",
        "  k = f32[40,64]{1,0} broadcast(c), dimensions={1}", "  s = f32[40,64]{1,0} add(d, k)",
        "  t = f32[40,64]{1,0} tanh(s)", "  u = bf16[40,64]{1,0} convert(t)")),
    # each step moves backwards in the reversed operand
    "reversed": (["contraction"], reversed_dot("f32", 50)),
    "reversed_of_bf16": (["contraction"], reversed_dot("bf16", 64)),
    "small": (["loop"], dot("f32[4,4]{1,0}", "f32[4,4]{1,0}", "f32[4,4]{1,0}", ROWS)),
}


@in_parts
@pytest.mark.parametrize("device", ["sm_80", pytest.param("sm_90", marks=pytest.mark.peer)])
def test_who_writes_it(device: str, part: str, tmp_path: Path) -> None:
    check_written(NAMED, device, part, tmp_path)


def check_written(cases: "Dict[str, Tuple[List[str], str]]", device: str, part: str, folder: Path) -> None:
    """Check that the kernels are written by the stated heroes (kernel emitters), and that nvcc compiles the text
    without a warning and without local memory.
    """
    for name, (heroes, text) in of_part(cases.items(), part):
        (fusion,) = fusions(text)
        assert written_by(fusion, "cuda", device) == heroes, name
        (folder / name).mkdir()
        ptx(text, device, folder / name)


@in_parts
@pytest.mark.parametrize("target, device", ON)
def test_named(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text.replace("HloModule e", f"HloModule {name}") for name, (_, text) in NAMED.items()}, target, device,
          tmp_path, part)


def conv(x: str, w: str, result: str, window: str, labels: str, *after: str, more: str = "") -> str:
    lines = [f"  x = {x} parameter(0)", f"  w = {w} parameter(1)",
             f"  c = {result} convolution(x, w), window={{{window}}}, dim_labels={labels}{more}", *after]
    lines[-1] = "  ROOT " + lines[-1].lstrip()
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


NHWC, NCHW, PADDED = "b01f_01io->b01f", "bf01_oi01->bf01", "size=3x3 pad=1_1x1_1"
# For each case: the heroes (kernel emitters) that write the convolution's kernels, and the HLO text
CONVOLUTIONS: "Dict[str, tuple[List[str], str]]" = {
    "padded": (["contraction"], conv("bf16[2,7,9,16]{3,2,1,0}", "bf16[3,3,16,40]{3,2,1,0}", "bf16[2,7,9,40]{3,2,1,0}", PADDED, NHWC)),
    "of_f32": (["contraction"], conv("f32[2,7,9,12]{3,2,1,0}", "f32[3,3,12,20]{3,2,1,0}", "f32[2,7,9,20]{3,2,1,0}", PADDED, NHWC)),
    "by_features": (["contraction"], conv(
        "bf16[2,9,11,13]{3,2,1,0}", "bf16[24,9,3,3]{3,2,1,0}", "f32[2,24,6,7]{3,2,1,0}", "size=3x3 stride=2x2 pad=1_1x1_1", NCHW)),
    "features_apart": (["transpose", "transpose", "contraction"], conv(
        "bf16[2,16,9,10]{3,2,1,0}", "bf16[40,16,3,3]{3,2,1,0}", "bf16[2,40,9,10]{3,2,1,0}", PADDED, NCHW)),
    "of_s8": (["contraction"], conv(
        "s8[1,12,12,16]{3,2,1,0}", "s8[3,3,16,32]{3,2,1,0}", "s32[1,11,11,32]{3,2,1,0}", "size=3x3 pad=-1_2x2_-1", NHWC)),
    "of_u8_by_features": (["contraction"], conv(
        "u8[2,16,6,6]{3,2,1,0}", "u8[20,16,1,1]{3,2,1,0}", "s32[2,20,6,6]{3,2,1,0}", "size=1x1", NCHW)),
    "of_f64": (["contraction"], conv("f64[2,6,7,5]{3,2,1,0}", "f64[2,3,5,18]{3,2,1,0}", "f64[2,6,9,18]{3,2,1,0}", "size=2x3 pad=0_1x2_2", NHWC)),
    "of_f16_reversed": (["contraction"], conv(
        "f16[2,8,9,8]{3,2,1,0}", "f16[3,3,8,16]{3,2,1,0}", "f32[2,3,7,16]{3,2,1,0}", "size=3x3 stride=2x1 pad=1_1x1_1 rhs_dilate=2x2 rhs_reversal=1x0",
        NHWC)),
    "grouped": (["contraction"], conv(
        "f32[2,6,7,24]{3,2,1,0}", "f32[3,3,8,48]{3,2,1,0}", "f32[2,6,7,48]{3,2,1,0}", PADDED, NHWC, more=", feature_group_count=3")),
    "of_batch_groups": (["contraction"], conv(
        "bf16[4,6,7,8]{3,2,1,0}", "bf16[3,3,8,32]{3,2,1,0}", "bf16[2,6,7,32]{3,2,1,0}", PADDED, NHWC, more=", batch_group_count=2")),
    "gradient_of_kernel": (["contraction", "contraction"], conv(
        "bf16[8,10,10,16]{3,2,1,0}", "bf16[8,10,10,24]{3,2,1,0}", "f32[3,3,16,24]{3,2,1,0}", "size=10x10 pad=1_1x1_1", "f01b_i01o->01bf")),
    "one_place_in_memory": (["contraction", "contraction"], conv(
        "f32[6,1,1,32]{3,2,1,0}", "f32[3,3,32,20]{3,2,1,0}", "f32[6,1,1,20]{3,2,1,0}", PADDED, NHWC)),
    "epilogue": (["contraction"], conv(
        "bf16[2,7,9,16]{3,2,1,0}", "bf16[3,3,16,40]{3,2,1,0}", "f32[2,7,9,40]{3,2,1,0}", PADDED, NHWC, "  b = f32[40]{0} parameter(2)",
        "  k = f32[2,7,9,40]{3,2,1,0} broadcast(b), dimensions={3}", "  s = f32[2,7,9,40]{3,2,1,0} add(c, k)",
        "  m = f32[2,7,9,40]{3,2,1,0} maximum(s, k)")),
    "with_holes": (["contraction"] * 4 + ["loop"], conv(
        "bf16[2,7,6,16]{3,2,1,0}", "bf16[3,3,16,24]{3,2,1,0}", "f32[2,14,11,24]{3,2,1,0}", "size=3x3 pad=1_2x1_1 lhs_dilate=2x2", NHWC)),
    "with_holes_between_places": (["contraction", "loop"], conv(
        "f32[2,9,8,8]{3,2,1,0}", "f32[2,3,8,24]{3,2,1,0}", "f32[2,7,12,24]{3,2,1,0}", "size=2x3 pad=0_0x1_0 lhs_dilate=1x2 rhs_reversal=0x1 rhs_dilate=2x2", NHWC)),
    "with_many_holes": (["loop"], conv(
        "f32[2,3,3,8]{3,2,1,0}", "f32[5,5,8,24]{3,2,1,0}", "f32[2,11,11,24]{3,2,1,0}", "size=5x5 pad=2_2x2_2 lhs_dilate=5x5", NHWC)),
    "of_padding_alone": (["loop"], conv(
        "f32[2,0,9,8]{3,2,1,0}", "f32[3,3,8,16]{3,2,1,0}", "f32[2,4,9,16]{3,2,1,0}", "size=3x3 pad=3_3x1_1", NHWC)),
    "of_one_feature": (["loop"], conv(
        "f32[2,7,9,12]{3,2,1,0}", "f32[3,3,12,1]{3,2,1,0}", "f32[2,7,9,1]{3,2,1,0}", PADDED, NHWC)),
    "of_one_feature_each": (["loop"], conv(
        "f32[2,7,9,32]{3,2,1,0}", "f32[3,3,1,32]{3,2,1,0}", "f32[2,7,9,32]{3,2,1,0}", PADDED, NHWC, more=", feature_group_count=32")),
}
# types of the operands and of the result
CONVOLVED = [("f32", "f32"), ("bf16", "bf16"), ("bf16", "f32"), ("f16", "f32"), ("s8", "s32"), ("u8", "s32"), ("f64", "f64"), ("s32", "s32")]


@in_parts
@pytest.mark.parametrize("device", ["sm_80", pytest.param("sm_90", marks=pytest.mark.peer)])
def test_who_writes_a_convolution(device: str, part: str, tmp_path: Path) -> None:
    check_written(CONVOLUTIONS, device, part, tmp_path)


@in_parts
@pytest.mark.parametrize("target, device", ON)
def test_convolutions(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text.replace("HloModule e", f"HloModule {name}") for name, (_, text) in CONVOLUTIONS.items()}, target, device,
          tmp_path, part)


@pytest.mark.peer
@pytest.mark.parametrize("first", range(SEED * 7000, SEED * 7000 + COUNT * BATCH, BATCH))
@pytest.mark.parametrize("target, device", ON)
def test_drawn_convolutions(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    agree({f"c{seed}": test_contraction.convolution(seed, CONVOLVED).replace("HloModule e", f"HloModule c{seed}")
           for seed in range(first, first + BATCH)}, target, device, tmp_path)


SUMS = {"bf16": "f32", "f16": "f32", "s8": "s32", "u8": "s32", "f64": "f64"}


def scheduled(text: str) -> "tuple[TiledProduct, contraction_mma.ContractionMmaSchedule]":
    """Return the loop nest of a product and its schedule with matrix instructions."""
    device, d = DEVICES["sm_90"], TARGETS["cuda"].of_file()
    (fusion,) = fusions(text)
    (nest,) = planned(fusion, device.plan_class._replace(shared_tiles=SharedTiles(1, 1))).nests
    assert isinstance(nest, TiledProduct)
    (chosen,) = contraction_mma.HERO.schedules(nest, Context(d, device, Helpers(d), False, [], lambda nest, context: []))
    assert isinstance(chosen, contraction_mma.ContractionMmaSchedule)
    return nest, chosen


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "s8", "s32"])
@pytest.mark.parametrize("size", [8, 32, 33, 64, 514, 515, 4096])
@pytest.mark.parametrize("a, b, words", [("{0},{1}", "{1},{0}", ROWS), ("{0},{1}", "{0},{1}", TURNED), ("{1},{0}", "{1},{0}", COLUMNS)])
def test_no_banks_conflict(dtype: str, size: int, a: str, b: str, words: str) -> None:
    """No access to shared memory has a bank conflict, for any orientation of the operands, as counted from the index
    maps by gen/algebra.py.
    """
    device, d = DEVICES["sm_90"], TARGETS["cuda"].of_file()
    (fusion,) = fusions(dot(f"{dtype}[{a.format(size, size)}]{{1,0}}", f"{dtype}[{b.format(size, size)}]{{1,0}}",
                            f"{SUMS.get(dtype, dtype)}[{size},{size}]{{1,0}}", words))
    (nest,) = planned(fusion, device.plan_class._replace(shared_tiles=SharedTiles(1, 1))).nests
    assert isinstance(nest, TiledProduct)
    context = Context(d, device, Helpers(d), False, [], lambda nest, context: [])
    (chosen,) = contraction_gpu.HERO.schedules(nest, context)
    accesses = [(access, nest.dot.shape.dtype) for access in contraction_gpu.shared_accesses(nest, chosen, device)]
    if dtype in contraction_mma.INSTRUCTIONS:
        (by_matrices,) = contraction_mma.HERO.schedules(nest, context)
        assert isinstance(by_matrices, contraction_mma.ContractionMmaSchedule)
        of_words = [access for access in contraction_mma.shared_accesses(nest, by_matrices)
                    if access.elements * bits(dtype) >= 32]    # copies of less than a word may have bank conflicts
        assert len(of_words) >= 2
        accesses += [(access, dtype) for access in of_words]
    for access, of in accesses:
        no_banks_conflict(access, of)


def no_banks_conflict(access: contraction_gpu.SharedAccess, of: str) -> None:
    vector = ["--vector", "e"] if access.elements > 1 else []
    answer = algebra.call("banks", *vector, access.map, of)
    assert answer.startswith("yes"), f"{access}: {answer}"


@pytest.mark.parametrize("dtype", ["bf16", "s8", "f64"])
@pytest.mark.parametrize("words, a, b", [(ROWS, "512,1024", "1024,512"), (TURNED, "512,1024", "512,1024"), (COLUMNS, "1024,512", "1024,512")])
def test_no_banks_conflict_in_any_tile(dtype: str, words: str, a: str, b: str) -> None:
    nest, chosen = scheduled(dot(f"{dtype}[{a}]{{1,0}}", f"{dtype}[{b}]{{1,0}}", f"{SUMS[dtype]}[512,512]{{1,0}}", words))
    for tile in DEVICES["sm_90"].contraction_gpu.matrix_tiles[bits(dtype) // 8]:
        for access in contraction_mma.shared_accesses(nest, replace(chosen, threads=tile.threads, block=tile)):
            no_banks_conflict(access, dtype)


@pytest.mark.parametrize("dtype", sorted(contraction_mma.INSTRUCTIONS))
@pytest.mark.parametrize("a, b, words", [("512,1024", "1024,512", ROWS), ("512,1024", "512,1024", TURNED), ("1024,512", "1024,512", COLUMNS)])
def test_copies_are_coalesced(dtype: str, a: str, b: str, words: str) -> None:
    """Copies into shared memory read as few bytes of the operands as possible, as counted from the index maps by
    gen/algebra.py.
    """
    nest, chosen = scheduled(dot(f"{dtype}[{a}]{{1,0}}", f"{dtype}[{b}]{{1,0}}", f"{SUMS[dtype]}[512,512]{{1,0}}", words))
    for k in (0, 1):
        copied = algebra.info(contraction_mma.copy_map(nest, chosen, k))
        line, step = (result.text for result in copied.results)
        box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in copied.variables)
        at = algebra.info(compose(f"(th_x, pass) -> (0, {line}, {step}), domain: {box}", contraction_gpu.element_map(nest, k)))
        vector = ["--vector", "e"] if chosen.loads[k] > 1 else []
        answer = algebra.call("coalescing", *vector, f"(th_x)[pass, e] -> ({at.results[0].text} + e), domain: {box}, "
                              f"e in [0, {chosen.loads[k] - 1}]", dtype)
        assert answer.startswith("yes"), f"{k}: {answer}"


@pytest.mark.parametrize("name", ["padded", "by_features", "of_s8", "of_f64", "gradient_of_kernel"])
def test_convolutions_meet_no_bank_twice(name: str) -> None:
    nest, chosen = scheduled(CONVOLUTIONS[name][1])
    for access in contraction_mma.shared_accesses(nest, chosen):
        no_banks_conflict(access, nest.operands[0].shape.dtype)


@pytest.mark.parametrize("labels, x, w", [("b01f_01io->b01f", "4,16,16,64", "3,3,64,64"), ("bf01_oi01->bf01", "4,64,16,16", "64,64,3,3")])
def test_copies_of_a_window_are_coalesced(labels: str, x: str, w: str) -> None:
    """Copies of the elements under a convolution's window read as few bytes as possible, for any orientation of the
    base, which is contiguous along the features.
    """
    y = "4,16,16,64" if labels == NHWC else "4,64,16,16"
    text = conv(f"bf16[{x}]{{3,2,1,0}}", f"bf16[{w}]{{3,2,1,0}}", f"bf16[{y}]{{3,2,1,0}}", PADDED, labels)
    (fusion,) = fusions(text)
    device, d = DEVICES["sm_90"], TARGETS["cuda"].of_file()
    (nest,) = (nest for nest in planned(fusion, device.plan_class).nests if isinstance(nest, TiledProduct))
    (chosen,) = contraction_mma.HERO.schedules(nest, Context(d, device, Helpers(d), False, [], lambda nest, context: []))
    assert chosen.loads == (8, 8)
    for k in (0, 1):
        copied, count = algebra.info(contraction_mma.copy_map(nest, chosen, k)), nest.counts[("row", "column")[k]]
        line, step = (result.text for result in copied.results)
        box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in copied.variables) + f", {line} in [0, {count - 1}]"
        batch = "0, " * (len(algebra.info(contraction_gpu.sum_map(nest, k)).variables) - 2)
        # the accesses 256 steps later, in the middle of the window, where no element is padding
        at = algebra.info(compose(f"(th_x, pass) -> ({batch}{line}, {step} + 256), domain: {box}", contraction_gpu.sum_map(nest, k)))
        access = algebra.simplify(f"(th_x)[pass, e] -> ({at.results[0].text} + e), domain: {box}, e in [0, 7]")
        answer = algebra.call("coalescing", "--vector", "e", access, "bf16")
        assert answer.startswith("yes"), f"{k}: {answer}"


EXPLAINED = {
    ("padded", "sm_80"): ["product: 126 rows, 40 columns, 144 steps; elements of its operands exist under 2 conditions",
                          "instruction: mma.sync m16n8k16, bf16 added as f32; sums: whole (no split-k)",
                          "tile: 64x64 by 32 steps, 4 stages in shared memory", "bank conflicts: none in 4 kinds of accesses"],
    ("rows", "sm_80"): ["product: 40 rows, 64 columns, 50 steps; elements of its operands all exist"],
    ("of_padding_alone", "sm_80"): ["product c: a loop, one of its operands has no elements"],
    ("of_one_feature", "sm_80"): ["product c: a loop, its result has one feature"],
    ("gradient_of_kernel", "sm_80"): ["sums: 4 parts (split-k)", "adds up the 4 parts of each sum"],
    ("of_f32", "sm_80"): ["instruction: multiply-add of f32 in each thread; sums: whole (no split-k)"],
    ("wide", "sm_90a"): ["instruction: wgmma m64k16 of all columns of the tile, bf16 added as f32; sums: whole (no split-k)"],
}


@pytest.mark.parametrize("name, device", EXPLAINED)
def test_explain_says_how_a_gpu_multiplies(name: str, device: str, tmp_path: Path) -> None:
    wide = conv("bf16[16,32,32,64]{3,2,1,0}", "bf16[3,3,64,128]{3,2,1,0}", "bf16[16,32,32,128]{3,2,1,0}", PADDED, NHWC)
    (tmp_path / "e.hlo").write_text({**{name: text for name, (_, text) in {**NAMED, **CONVOLUTIONS}.items()}, "wide": wide}[name])
    done = gen("explain", tmp_path / "e.hlo", "--target", "cuda", "--device", device, "--stage", "schedule")
    for line in EXPLAINED[name, device]:
        assert line in done.stdout, done.stdout


def test_lanes_hold_what_the_instruction_multiplies() -> None:
    """Lanes pass the addresses of shared-memory rows to ldmatrix. Each lane then gets the fragment that
    sett_mma_layouts.h states, for any orientation of the tile. (ldmatrix gives lane l 4 bytes of row l / 4 of each
    matrix.)
    """
    seen = set()
    for dtype, words in itertools.product([t for t in contraction_mma.INSTRUCTIONS if t != "f64"], (ROWS, TURNED, COLUMNS)):
        size, sizes = bits(dtype) // 8, {ROWS: ("64,128", "128,64"), TURNED: ("64,128", "64,128"), COLUMNS: ("128,64", "128,64")}
        nest, chosen = scheduled(dot(*(f"{dtype}[{of}]{{1,0}}" for of in sizes[words]), f"{SUMS[dtype]}[64,64]{{1,0}}", words))
        for k, side in enumerate(("lhs", "rhs")):
            rows, pack = contraction_mma.row_map(nest, chosen, k), 4 // size
            transposed = not nest.along_steps(k)
            seen.add((size, transposed))
            layout = contraction_mma.INSTRUCTIONS[dtype].layout
            for lane, register, part in itertools.product(range(32), range(4), range(pack)):
                # one ldmatrix loads the matrices of B for two adjacent instructions
                number, instruction = (register, 0) if k == 0 else (register % 2, register // 2)
                held = fragment(layout, side, lane, number * pack + part)
                if k:
                    held = held[1] + 8 * instruction, held[0]
                if transposed and size == 1:
                    # Lines are rows of lhs or columns of rhs. Bytes of adjacent lines are loaded as pairs. The even line of
                    # a pair belongs to rows 0 to 7 (lhs) or to instruction 0 (rhs), the odd line to rows 8 to 15 or to
                    # instruction 1.
                    half, odd = (register // 2, register % 2) if k == 0 else (number, instruction)
                    row = algebra.evaluate(rows, 0, (half * 2 + part // 2) * 8 + lane % 4 * 2 + part % 2, 0, 0)
                    assert row and (held[0] % 8 * 2 + held[0] // 8, held[1]) == (row[0] + lane // 4 * 2 + odd, row[1]), (dtype, words, side)
                elif transposed:
                    row = algebra.evaluate(rows, 0, register * 8 + lane % 4 * 2 + part, 0, 0)
                    assert row and held == (row[0] + lane // 4, row[1]), (dtype, words, side)
                else:
                    row = algebra.evaluate(rows, 0, register * 8 + lane // 4, 0, 0)
                    assert row and held == (row[0], row[1] + lane % 4 * pack + part), (dtype, words, side)
    assert seen == {(2, False), (2, True), (1, False), (1, True)}


@pytest.mark.parametrize("dtype", ["bf16", "s8", "f64"])
def test_few_rows_have_a_low_tile(dtype: str) -> None:
    """A product of few rows, or few columns, has tiles with 16 rows or columns, and is divided into enough blocks for
    the device.
    """
    for rows, columns in ((8, 4096), (4096, 8)):
        _, chosen = scheduled(dot(f"{dtype}[{rows},4096]{{1,0}}", f"{dtype}[4096,{columns}]{{1,0}}", f"{SUMS[dtype]}[{rows},{columns}]{{1,0}}", ROWS))
        assert min(chosen.block.rows, chosen.block.columns) == 16
        assert 64 <= 4096 // 128 * chosen.parts <= 2 * DEVICES["sm_90"].units


def test_two_instructions_of_f64_are_one() -> None:
    """For f64, a fragment of m16n8k4 (an instruction of sm_90) consists of two fragments of m8n8k4 (of sm_80)."""
    of_80, of_90 = "PTX_M8N8K4_F64_F64", contraction_mma.INSTRUCTIONS["f64"].layout
    for lane, half in itertools.product(range(32), range(2)):
        row, k = fragment(of_80, "lhs", lane, 0)
        assert fragment(of_90, "lhs", lane, half) == (row + 8 * half, k)
        assert fragment(of_90, "rhs", lane, 0) == fragment(of_80, "rhs", lane, 0)
        for e in range(2):
            row, column = fragment(of_80, "acc", lane, e)
            assert fragment(of_90, "acc", lane, half * 2 + e) == (row + 8 * half, column)


# Products of at least 64 rows and columns: with any orientation of the operands, whole and partial tiles, misaligned
# rows, and sums in parts.
OF_WARPGROUPS: "Dict[str, str]" = {
    "rows": dot("bf16[136,96]{1,0}", "bf16[96,264]{1,0}", "bf16[136,264]{1,0}", ROWS),
    "turned": dot("f16[64,40]{1,0}", "f16[72,40]{1,0}", "f32[64,72]{1,0}", TURNED),
    "columns": dot("bf16[72,80]{1,0}", "bf16[72,136]{1,0}", "f32[80,136]{0,1}", COLUMNS),
    "odd": dot("bf16[67,131]{1,0}", "bf16[131,69]{1,0}", "bf16[67,69]{1,0}", ROWS),
    "batched": dot("f16[3,64,72]{2,1,0}", "f16[3,72,66]{2,1,0}", "f16[3,64,66]{2,1,0}", BATCHED),
    "epilogue": dot("bf16[64,64]{1,0}", "bf16[64,128]{1,0}", "f32[64,128]{1,0}", ROWS, "  c = f32[128]{0} parameter(2)",
                    "  k = f32[64,128]{1,0} broadcast(c), dimensions={1}", "  s = f32[64,128]{1,0} add(d, k)",
                    "  m = f32[64,128]{1,0} maximum(s, d)"),
    "parts": dot("bf16[64,700]{1,0}", "bf16[64,700]{1,0}", "bf16[64,64]{1,0}", TURNED),
}
WARPGROUP_TILES = DEVICES["sm_90a"].contraction_gpu.warpgroup_tiles


def one_tile(monkeypatch: pytest.MonkeyPatch, tile: GpuTile, most_parts: int = 32) -> None:
    """Use schedules in which `tile` is the only tile for warpgroups, and every product uses it."""
    device = DEVICES["sm_90a"]
    numbers = replace(device.contraction_gpu, warpgroup_tiles=(tile,), most_parts=most_parts)
    monkeypatch.setitem(schedule.DEVICES, "sm_90a", replace(device, shared_tiles=SharedTiles(1, 1), contraction_gpu=numbers))


@in_parts
@pytest.mark.parametrize("tile", [pytest.param(tile, id=f"{tile.rows}x{tile.columns}", marks=[] if tile.columns == 64 else pytest.mark.peer)
                                  for tile in WARPGROUP_TILES])
def test_warpgroups(tile: GpuTile, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_tile(monkeypatch, tile)
    for name, text in of_part(OF_WARPGROUPS.items(), part):
        (fusion,) = fusions(text)
        grids = [grid for _, grid in decided(fusion, "cuda", "sm_90a")]
        assert (len(grids), grids[0].dynamic_bytes) == (1 + (name == "parts"), tile.stages * (tile.rows + tile.columns) * tile.steps * 2), name
        assert "wgmma, " in grids[0].loop.text()
    agree({name: text.replace("HloModule e", f"HloModule {name}") for name, text in OF_WARPGROUPS.items()}, "cuda-on-cpu", "sm_90a",
          tmp_path, part)


def of_warpgroups(seed: int) -> str:
    """Return a random product that warpgroup instructions (wgmma) multiply."""
    r = random.Random(seed)
    m, n, k = r.choice([64, 65, 72, 100, 128, 136]), r.choice([64, 65, 68, 96, 130]), r.choice([1, 7, 16, 40, 64, 65, 200])
    turned, dtype = (r.random() < 0.5, r.random() < 0.5), r.choice(["bf16", "f16"])
    operands = [f"{dtype}[{k},{lines}]" if of else f"{dtype}[{lines},{k}]" for lines, of in zip((m, n), turned)]
    words = ", ".join(f"{side}_contracting_dims={{{0 if of else 1}}}" for side, of in zip(("lhs", "rhs"), turned))
    orders = [r.choice(["{1,0}", "{1,0}", "{0,1}"]) for _ in range(3)]
    return dot(operands[0] + orders[0], operands[1] + orders[1], f"{r.choice(['f32', dtype])}[{m},{n}]{orders[2]}", words)


@pytest.mark.peer
@pytest.mark.parametrize("first", range(SEED * 100, SEED * 100 + COUNT * 2, 8))
@pytest.mark.parametrize("tile", WARPGROUP_TILES, ids=lambda tile: f"{tile.rows}x{tile.columns}")
def test_drawn_for_warpgroups(first: int, tile: GpuTile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_tile(monkeypatch, tile)
    agree({f"w{seed}": of_warpgroups(seed).replace("HloModule e", f"HloModule w{seed}") for seed in range(first, first + 8)},
          "cuda-on-cpu", "sm_90a", tmp_path)


IN_A_LOOP = """HloModule e
body { s = (s32[], f32[64], bf16[64,64]{1,0}, bf16[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0  v = f32[64] get-tuple-element(s), index=1
  x = bf16[64,64]{1,0} get-tuple-element(s), index=2  w = bf16[64,64]{1,0} get-tuple-element(s), index=3
  one = s32[] constant(1)  j = s32[] add(i, one)
  d = f32[64,64]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = f32[1,64]{1,0} slice(d), slice={[1:2], [0:64]}  q = f32[64] reshape(p)  t = f32[64] subtract(q, v)
  ROOT r = (s32[], f32[64], bf16[64,64]{1,0}, bf16[64,64]{1,0}) tuple(j, t, x, w) }
condition { s = (s32[], f32[64], bf16[64,64]{1,0}, bf16[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = bf16[64,64]{1,0} parameter(0)  w = bf16[64,64]{1,0} parameter(1)  v = f32[64] parameter(2)  zero = s32[] constant(0)
  start = (s32[], f32[64], bf16[64,64]{1,0}, bf16[64,64]{1,0}) tuple(zero, v, x, w)
  l = (s32[], f32[64], bf16[64,64]{1,0}, bf16[64,64]{1,0}) while(start), condition=condition, body=body
  ROOT a = f32[64] get-tuple-element(l), index=1 }
"""


def test_a_small_loop_with_a_launch_of_its_own_memory(tmp_path: Path) -> None:
    """A small loop usually runs in one block. If its kernel needs dynamic shared memory, each step is a launch, because
    a launch states the size of this memory.
    """
    (tmp_path / "e.hlo").write_text(IN_A_LOOP)
    done = gen("check", tmp_path / "e.hlo", "--target", "cuda-on-cpu", "--device", "sm_90a")
    assert done.returncode == 0, done.stdout + done.stderr
    done = gen("build", tmp_path / "e.hlo", "-o", tmp_path / "made", "--target", "cuda", "--device", "sm_90a")
    assert done.returncode == 0, done.stdout + done.stderr
    kernels = {kernel["name"]: kernel for kernel in json.loads((tmp_path / "made" / "e.json").read_text())["targets"]["cuda"]["kernels"]}
    assert [kernel["dynamic_bytes"] for kernel in kernels.values() if "wgmma" in kernel["schedule"]] == [65536]


@pytest.mark.peer
@pytest.mark.parametrize("tile", WARPGROUP_TILES, ids=lambda tile: f"{tile.rows}x{tile.columns}")
def test_nvcc_compiles_warpgroups(tile: GpuTile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In kernels with wgmma, ptxas spills no register and serialises no wgmma."""
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    one_tile(monkeypatch, tile)
    for name in ("rows", "turned", "columns"):
        (fusion,) = fusions(OF_WARPGROUPS[name])
        build_all(fusion, str(tmp_path), ["cuda"], "sm_90a")
        done = subprocess.run(["nvcc", "-arch=sm_90a", "-Werror", "all-warnings", "-cubin", "-Xptxas", "-v", "e.cu", "-o", "e.cubin"],
                              cwd=tmp_path, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and "serialized" not in said, said
        assert re.findall(r"(\d+) bytes spill", said) == ["0"] * 4, said


def by_warpgroups(text: str) -> "tuple[TiledProduct, contraction_wgmma.ContractionWgmmaSchedule]":
    device, d = DEVICES["sm_90a"], TARGETS["cuda"].of_file()
    (fusion,) = fusions(text)
    (nest,) = planned(fusion, device.plan_class._replace(shared_tiles=SharedTiles(1, 1))).nests
    assert isinstance(nest, TiledProduct)
    (chosen,) = contraction_wgmma.HERO.schedules(nest, Context(d, device, Helpers(d), False, [], lambda nest, context: []))
    assert isinstance(chosen, contraction_wgmma.ContractionWgmmaSchedule)
    return nest, chosen


@pytest.mark.parametrize("words, a, b", [(ROWS, "512,1024", "1024,512"), (TURNED, "512,1024", "512,1024"), (COLUMNS, "1024,512", "1024,512")])
def test_copies_for_warpgroups_meet_no_bank_twice(words: str, a: str, b: str) -> None:
    nest, chosen = by_warpgroups(dot(f"bf16[{a}]{{1,0}}", f"bf16[{b}]{{1,0}}", "f32[512,512]{1,0}", words))
    for tile in WARPGROUP_TILES:
        for access in contraction_wgmma.shared_accesses(nest, replace(chosen, threads=tile.threads, block=tile)):
            no_banks_conflict(access, "bf16")


@pytest.mark.parametrize("left_out", ["show_to_wgmma()", "wait_for_wgmma<1>()", *(
    pytest.param(of, marks=pytest.mark.peer) for of in ("wgmma_fence()", "wait_for_wgmma<0>()", "wait_for_copies<1>()"))])
def test_what_wgmma_needs_is_asked_for(left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a fence or a wait that wgmma needs is removed from the text, the emulation on the CPU finds it."""
    one_tile(monkeypatch, WARPGROUP_TILES[-1], most_parts=1)
    (fusion,) = fusions(OF_WARPGROUPS["parts"])
    options = run.Options(rounds=1, schedule="sm_90a")
    built = run.build(fusion, tmp_path, "cuda-on-cpu", options)
    kernel = tmp_path / "e.cu"
    text, count = re.subn(f"^ +{re.escape(left_out)};", "", kernel.read_text(), flags=re.M)
    assert count == 1
    kernel.write_text(text)
    (result,) = run.check_built([built], "cuda-on-cpu", options)
    assert result.status == "FAIL", result


def test_a_fence_behind_the_barrier_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread must make its copies visible to wgmma by a fence before the barrier. If the fence comes after the
    barrier, the wgmma of another thread may run before the fence. The emulation finds this fault.
    """
    one_tile(monkeypatch, WARPGROUP_TILES[-1], most_parts=1)
    (fusion,) = fusions(OF_WARPGROUPS["turned"])
    options = run.Options(rounds=1, schedule="sm_90a")
    built = run.build(fusion, tmp_path, "cuda-on-cpu", options)
    kernel = tmp_path / "e.cu"
    text, count = re.subn(r"^( +)(show_to_wgmma\(\);)\n +(__syncthreads\(\);)", r"\1\3\n\1\2", kernel.read_text(), flags=re.M)
    assert count == 1
    kernel.write_text(text)
    (result,) = run.check_built([built], "cuda-on-cpu", options)
    assert result.status == "FAIL" and "a fence" in str(result), result


# Products by wavefronts (MFMA): with any orientation of the operands, whole and partial tiles.
OF_WAVES = {f"{dtype}_{name}": dot(f"{dtype}[{a}]{{1,0}}", f"{dtype}[{b}]{{1,0}}", f"{SUMS.get(dtype, dtype)}[{result}]{{1,0}}", words)
            for dtype in contraction_mfma.INSTRUCTIONS
            for name, a, b, result, words in (("rows", "64,96", "96,128", "64,128", ROWS), ("turned", "67,45", "72,45", "67,72", TURNED),
                                              ("columns", "80,136", "80,144", "136,144", COLUMNS))}


def by_waves(text: str) -> "tuple[TiledProduct, contraction_mfma.ContractionMfmaSchedule]":
    device, d = DEVICES["gfx942"], TARGETS["hip"].of_file()
    (fusion,) = fusions(text)
    (nest,) = planned(fusion, device.plan_class._replace(shared_tiles=SharedTiles(1, 1))).nests
    assert isinstance(nest, TiledProduct)
    context = Context(d, device, Helpers(d), False, [], lambda nest, context: [])
    assert contraction_mfma.HERO.takes(nest, context)
    (chosen,) = contraction_mfma.HERO.schedules(nest, context)
    assert isinstance(chosen, contraction_mfma.ContractionMfmaSchedule)
    return nest, chosen


@pytest.mark.peer
@in_parts
def test_waves(part: str, tmp_path: Path) -> None:
    for device, types in (("gfx90a", ("f32", "f64", "s8")), ("gfx942", tuple(contraction_mfma.INSTRUCTIONS))):
        texts = {name: text.replace("HloModule e", f"HloModule {name}") for name, text in OF_WAVES.items() if name.split("_")[0] in types}
        for name, text in of_part(texts.items(), part):
            (fusion,) = fusions(text, name)
            assert "MFMA" in decided(fusion, "hip", device)[0][1].loop.text(), name
        agree(texts, "hip-on-cpu", device, tmp_path / device, part)


@pytest.mark.parametrize("dtype", contraction_mfma.INSTRUCTIONS)
@pytest.mark.parametrize("a, b, words", [("512,1024", "1024,512", ROWS), ("512,1024", "512,1024", TURNED), ("1024,512", "1024,512", COLUMNS)])
def test_waves_meet_no_bank_twice(dtype: str, a: str, b: str, words: str) -> None:
    nest, chosen = by_waves(dot(f"{dtype}[{a}]{{1,0}}", f"{dtype}[{b}]{{1,0}}", f"{SUMS.get(dtype, dtype)}[512,512]{{1,0}}", words))
    for tile in DEVICES["gfx942"].contraction_gpu.wave_tiles[bits(dtype) // 8]:
        for access in contraction_mfma.shared_accesses(nest, replace(chosen, threads=tile.threads, block=tile)):
            no_banks_conflict(access, dtype)


def test_subnormals_that_an_instruction_flushes() -> None:
    """On gfx90a the MFMA instructions of 16-bit types flush subnormals to zero, so products are computed in plain code.
    """
    for name in ("bf16_rows", "f16_rows"):
        (fusion,) = fusions(OF_WAVES[name])
        assert "MFMA" not in decided(fusion, "hip", "gfx90a")[0][1].loop.text()


@pytest.mark.peer
def test_waves_without_instructions(tmp_path: Path) -> None:
    """The plain code that replaces each MFMA instruction on other devices computes the same values."""
    options, built = run.Options(rounds=1, schedule="gfx942"), []
    for name, text in OF_WAVES.items():
        if name.endswith("_turned"):
            (fusion,) = fusions(text.replace("HloModule e", f"HloModule {name}"), name)
            built.append(run.build(fusion, tmp_path / name, "hip-on-cpu", options))
            kernel = tmp_path / name / f"{name}.hip"
            assert kernel.read_text().count("defined(SETT_MFMA)") == 1
            kernel.write_text(kernel.read_text().replace("defined(SETT_MFMA)", "0"))
    assert [result.status for result in run.check_built(built, "hip-on-cpu", options)] == ["PASS"] * 5


@pytest.mark.parametrize("device, dtype, instruction", [
    ("gfx90a", "f32", "v_mfma_f32_16x16x4f32"), ("gfx90a", "f64", "v_mfma_f64_16x16x4f64"), ("gfx90a", "s8", "v_mfma_i32_16x16x16i8"),
    ("gfx942", "f32", "v_mfma_f32_16x16x4_f32"), ("gfx942", "f64", "v_mfma_f64_16x16x4_f64"), ("gfx942", "bf16", "v_mfma_f32_16x16x16_bf16"),
    ("gfx942", "f16", "v_mfma_f32_16x16x16_f16"), ("gfx942", "s8", "v_mfma_i32_16x16x32_i8")])
def test_clang_compiles_mfma(device: str, dtype: str, instruction: str, tmp_path: Path) -> None:
    """Without hipcc, a clang that knows the device compiles the functions with MFMA instructions."""
    clang = shutil.which("clang-19") or shutil.which("clang")
    arguments = [str(clang), "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={device}", "-O2", "-S", "-o", "-"]
    if not clang or subprocess.run([*arguments, "/dev/null"], capture_output=True).returncode:
        pytest.skip("no clang for the device")
    of, d = contraction_mfma.INSTRUCTIONS[dtype], TARGETS["hip"].of_file()
    kind, element = d.types[of.sums], d.memory(dtype)
    text = macro("parts/mfma.j2", "mfma", d=d, name="multiplied", of=dtype, unit=16 * 8 // bits(dtype), instruction=of, kind=kind, element=element)
    (tmp_path / "e.hip").write_text(
        f"#define __device__ __attribute__((device))\n{text}\n"
        f"__device__ __attribute__((used)) void e({kind} *sum, const {element} *a, const {element} *b) {{ multiplied(sum, a, b); }}\n")
    done = subprocess.run([*arguments, str(tmp_path / "e.hip")], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    each = 8 if instruction.endswith("32_i8") else of.group
    assert done.stdout.count(instruction) == 16 * 8 // bits(dtype) // each, done.stdout


def fragment(layout: str, side: str, lane: int, slot: int) -> "tuple[int, int]":
    """Return (row, column) of the element in a slot of a lane. Slots are in the register order of the PTX manual."""
    of = algebra.call("nested", "ptx", layout, side).split("\t")[0]
    row, column = map(int, algebra.call("nested", "element", of, "0", str(lane), str(slot)).split(","))
    return row, column


@pytest.mark.peer
def test_without_instructions(tmp_path: Path) -> None:
    """The plain code that replaces each mma instruction on older devices computes the same values."""
    texts = {name: NAMED[name][1].replace("HloModule e", f"HloModule {name}") for name in ("of_bf16", "of_f16", "of_s8", "of_u8", "batched")}
    options, built = run.Options(rounds=1, schedule="sm_80"), []
    for name, text in texts.items():
        (fusion,) = fusions(text, name)
        built.append(run.build(fusion, tmp_path / name, "cuda-on-cpu", options))
        kernel = tmp_path / name / f"{name}.cu"
        assert kernel.read_text().count("defined(SETT_PTX)") == (4 if name == "batched" else 5)
        kernel.write_text(kernel.read_text().replace("defined(SETT_PTX)", "0"))
    assert [result.status for result in run.check_built(built, "cuda-on-cpu", options)] == ["PASS"] * len(texts)


def test_a_missing_wait_is_found(tmp_path: Path) -> None:
    """In the emulation an asynchronous copy arrives only when the kernel waits for it, so a missing wait is found."""
    (fusion,) = fusions(NAMED["of_bf16"][1])
    options = run.Options(rounds=1, schedule="sm_80")
    built = run.build(fusion, tmp_path, "cuda-on-cpu", options)
    kernel = tmp_path / "e.cu"
    kernel.write_text(re.sub(r"wait_for_copies<\d>\(\);", "", kernel.read_text()))
    (result,) = run.check_built([built], "cuda-on-cpu", options)
    assert result.status == "FAIL", result
