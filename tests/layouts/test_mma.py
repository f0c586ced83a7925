"""Test which lane and register of a matrix instruction has which element: each operand of sett_mma_layouts.h is compared
with formulas from the vendors' documents.

The documents are AMD's guides to its instruction sets (CDNA, RDNA3, RDNA4), AMD's matrix instruction calculator, and
the PTX manual. The formulas were written from memory of them, and then compared with code that the vendors and others
publish:
    mma.sync   every atom of CUTLASS 4.2: equal, except B of m16n8k32 with s4, where CUTLASS's atom leaves elements
               out.
    MFMA       every instruction with one block in FlyDSL 0.5 and Triton 3.9: equal, except what is not verified.
               Instructions with several blocks of f32, f16 and bf16: equal to the description in Composable Kernel
               (in MIOpen 6.4), which was only read.
    WMMA       gfx11, gfx12 and gfx1250 in FlyDSL 0.5 and Triton 3.9: equal, except what is not verified.

Not verified:
- MFMA f64 4x4x4 with 4 blocks. Blocks of i8, which are taken to be those of f16.
- The order of k of 8-bit types in MFMA 16x16x128 and 32x32x64 (FlyDSL: 32 consecutive k per lane; Triton: the caller
  chooses), and which k the scales belong to.
- 16-bit accumulators of WMMA on gfx1250 (FlyDSL: a lane has the rows 0 2 4 6 1 3 5 7; Triton and sett: in order).
- VMFMA and VDMFMA, which no document describes. The formulas are those of the instructions that they become; the
  order of k in VDMFMA is the header's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Callable, Dict, NamedTuple

from indexing_analysis_eval import Index
from test_nested import MMA, answer, held, lists_of, manual_says, matching

BITS = {"f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "f64": 64, "i8": 8, "s8": 8, "s4": 4, "f8|f4": 4}  # bits of an element; other types have 8


class Intrinsic(NamedTuple):
    name: str
    lanes: int
    m: int
    n: int
    k: int
    blocks: int
    a: str  # the type of A; "f8|f4" means f4


class Operand(NamedTuple):
    registers: int    # number of values of a lane; values packed into one register are numbered from the low bits
    at: "Callable[[int, int], Index]"    # (lane, value number) -> the element's index


def intrinsics() -> "list[Intrinsic]":
    rows = []
    for line in answer("mma").split("\n"):
        name, _, lanes, size, a, *_ = line.split("\t")
        m, n, k, blocks = map(int, size.split("x"))
        if not name.startswith("NV_WMMA"):  # no document describes the fragments of NV_WMMA
            rows.append(Intrinsic(name, int(lanes), m, n, k, blocks, a))
    return rows


# ---- the documents ---------------------------------------------------------------------------------------------


def mma_sync(it: Intrinsic) -> "Dict[str, Operand]":
    """mma.sync, from the PTX manual: lane = 4 * group + (number within the group). A 32-bit register packs values along
    k; an f64 takes two registers. Registers alternate between row 0 and row 8, then go along k.
    """
    pack = max(32 // BITS.get(it.a, 8), 1)
    halves = it.m // 8
    return {"a": Operand(it.m * it.k // 32,
                         lambda lane, r: (lane // 4 + 8 * (r // pack % halves), lane % 4 * pack + r % pack + 4 * pack * (r // (pack * halves)))),
            "b": Operand(it.k * it.n // 32, lambda lane, r: (lane % 4 * pack + r % pack + 4 * pack * (r // pack), lane // 4)),
            "c": Operand(it.m * it.n // 32, lambda lane, r: (lane // 4 + 8 * (r // 2), lane % 4 * 2 + r % 2))}


def along_k(run: int, groups: int, group: int, r: int) -> int:
    """Return the index along k of value r of a lane in this group. The groups take turns, and in each turn a group
    takes `run` consecutive k.
    """
    return run * (group + groups * (r // run)) + r % run


def mfma(it: Intrinsic) -> "Dict[str, Operand]":
    """MFMA, from CDNA's guides: lane = row + m * block + m * blocks * group, and each group of lanes has a part of k. In
    the accumulator the groups of lanes take 4 rows in turn (f64: 1 row), and a block's registers follow those of the
    previous block. In 4x4 instructions a lane has one column of one block.
    """
    m, n, k, blocks = it.m, it.n, it.k, it.blocks
    groups = 64 // (m * blocks)
    own = k // groups
    run = 4 if it.name.startswith("VMFMA") and it.a == "f16" else 16 if own == 32 and "SCALE" not in it.name else own
    rows = m * n // 64  # number of registers that a block has
    block = (lambda b: (b,)) if blocks > 1 else (lambda b: ())  # type: Callable[[int], Index]
    split = (lambda x: (x // 32, x % 32)) if "SCALE" in it.name else (lambda x: (x,))  # type: Callable[[int], Index]
    operands = {
        "a": Operand(own, lambda lane, r: (*block(lane // m % blocks), lane % m, *split(along_k(run, groups, lane // (m * blocks), r)))),
        "b": Operand(own, lambda lane, r: (*block(lane // n % blocks), *split(along_k(run, groups, lane // (n * blocks), r)), lane % n)),
        "c": Operand(rows * blocks, lambda lane, r: (*block(r // rows), 4 * (lane // n) + r % 4 + 4 * (64 // n) * (r % rows // 4), lane % n))}
    if it.a == "f64":
        operands["c"] = Operand(m * n * blocks // 64, lambda lane, r: (*block(lane // n % blocks), lane // 16 + 4 * r, lane % n))
    elif m == 4:
        operands["c"] = Operand(4, lambda lane, r: (lane // 4, r, lane % 4))
    if "SCALE" in it.name:
        operands["lhs_scale"] = Operand(1, lambda lane, r: (lane % m, lane // m))
        operands["rhs_scale"] = Operand(1, lambda lane, r: (lane // n, lane % n))
    return operands


def vdmfma(it: Intrinsic) -> "Dict[str, Operand]":
    """A sparse 16x16 instruction that is used for a dense product of 8 rows. Row i of A is stored in rows 2 i and 2 i +
    1, each with half of the values; the result of row i is the sum of these two rows.
    """
    own = it.k // 4
    return {"a": Operand(own, lambda lane, r: (lane % 16 // 2, own * (lane // 16) + r)),
            "b": Operand(own, lambda lane, r: (own * (lane // 16) + r, lane % 16)),
            "c": Operand(2, lambda lane, r: (2 * (lane // 16) + r, lane % 16))}


def wmma_rdna3(it: Intrinsic) -> "Dict[str, Operand]":
    """WMMA of RDNA3: lanes 16 to 31 have copies of A and B. The accumulator's rows alternate between lanes 0 to 15 and
    lanes 16 to 31. A 16-bit result is in the low half of its register.
    """
    return {"a": Operand(it.k, lambda lane, r: (lane % 16, r)), "b": Operand(it.k, lambda lane, r: (r, lane % 16)),
            "c": Operand(8, lambda lane, r: (2 * r + lane // 16, lane % 16))}


def wmma(it: Intrinsic) -> "Dict[str, Operand]":
    """WMMA of RDNA4 and gfx1250: lanes 0 to 15 and lanes 16 to 31 in turn take up to 8 consecutive k. In the accumulator
    each half has 8 consecutive rows.
    """
    own = it.k // 2
    run = min(own, 8)
    return {"a": Operand(own, lambda lane, r: (lane % 16, along_k(run, 2, lane // 16, r))),
            "b": Operand(own, lambda lane, r: (along_k(run, 2, lane // 16, r), lane % 16)),
            "c": Operand(8, lambda lane, r: (8 * (lane // 16) + r, lane % 16))}


DOCUMENTS = {"MFMA": mfma, "VMFMA": mfma, "VDMFMA": vdmfma, "WMMAR3": wmma_rdna3, "WMMAR4": wmma, "WMMA": wmma, "NV": mma_sync, "PTX": mma_sync}


def documented(it: Intrinsic) -> "Dict[str, Operand]":
    return DOCUMENTS[it.name.split("_")[0]](it)


def values(it: Intrinsic, operand: Operand) -> "list[list[Index]]":
    return [[operand.at(lane, r) for r in range(operand.registers)] for lane in range(it.lanes)]


def layout(it: Intrinsic, operand: str, verb: str = "mma") -> "list[list[Index]]":
    lists = lists_of(answer(verb, it.name, operand).split("\t")[0])
    return [held(lists, 0, lane) for lane in range(it.lanes)]


# ---- the comparison --------------------------------------------------------------------------------------------


def k_order(it: Intrinsic, ours: "Dict[str, list[list[Index]]]", theirs: "Dict[str, list[list[Index]]]") -> bool:
    """Return whether A and B differ from the documents only by the order of k, with one permutation for both."""
    permutation: "Dict[Index, Index]" = {}
    for operand in "ab":
        for lane in range(it.lanes):
            if len(ours[operand][lane]) != len(theirs[operand][lane]):
                return False
            for x, y in zip(ours[operand][lane], theirs[operand][lane]):
                (rest, k), (rest_there, k_there) = ((i[:-1], i[-1:]) if operand == "a" else (i[:-2] + i[-1:], i[-2:-1]) for i in (x, y))
                if rest != rest_there or permutation.setdefault(k_there, k) != k:
                    return False
    return len(set(permutation.values())) == len(permutation) == it.k


def test_documents_cover() -> None:
    """In the documents' formulas, the lanes hold all elements of an operand, and hold each of them equally often."""
    for it in intrinsics():
        size = {"a": it.m * it.k, "b": it.k * it.n, "c": it.m * it.n, "lhs_scale": it.m * it.k // 32, "rhs_scale": it.n * it.k // 32}
        for operand, says in documented(it).items():
            times = Counter(index for lane in values(it, says) for index in lane)
            assert len(times) == size[operand] * it.blocks and len(set(times.values())) == 1, (it.name, operand)


def test_documents() -> None:
    """Each lane and slot of each operand has the element that the documents say. The exceptions are exactly those that
    the manual lists.
    """
    k_orders, slots, checked = set(), set(), 0
    for it in intrinsics():
        theirs = {operand: values(it, says) for operand, says in documented(it).items()}
        ours = {operand: layout(it, operand) for operand in theirs}
        checked += sum(len(lane) for operand in ours.values() for lane in operand)
        if any(ours[operand] != theirs[operand] for operand in "ab") and k_order(it, ours, theirs):
            k_orders.add(it.name)
            ours.update((operand, theirs[operand]) for operand in "ab")
        if ours["a"] != theirs["a"] and [set(lane) for lane in ours["a"]] == [set(lane) for lane in theirs["a"]]:
            slots.add(it.name)
            ours["a"] = layout(it, "a", "ptx")
        for operand in theirs:
            assert ours[operand] == theirs[operand], (it.name, operand)
    assert checked > 80000, checked
    assert slots == matching(manual_says("slots of A"))
    formulas = dict(re.findall(r"^      (.* \+ .*?) +([A-Z]\w*_.*)$", manual_says("order of k"), re.M))
    assert k_orders == set().union(*map(matching, formulas.values()))
    for formula, patterns in formulas.items():
        value = compile(formula.replace("div", "//").replace("mod", "%"), "the manual", "eval")
        for it in (it for it in intrinsics() if it.name in matching(patterns)):
            lanes = values(it, documented(it)["a"])
            for lane, row in enumerate(lanes):
                assert [eval(value, {"l": lane, "s": slot}) for slot in range(len(row))] == [k for _, k in row], (formula, it.name, lane)


def test_scales_of_f8() -> None:
    """A lane's scale applies to one block of k. According to the documents, all f4 values of the lane are in this
    block, but only some of the f8 values. In the layouts of `nested mma`, all values of the lane are in this block.
    """
    scaled = [it for it in intrinsics() if "SCALE" in it.name]
    assert {it.name for it in scaled} == matching(manual_says("scales of f8"))
    for it in scaled:
        says, groups = documented(it), 64 // it.m
        for lane in range(64):
            scale = {says["lhs_scale"].at(lane, 0)[1]}
            assert {index[1] for index in layout(it, "a")[lane]} == scale
            assert {along_k(16, groups, lane // it.m, r) // 32 for r in range(32)} != scale


def test_ptx() -> None:
    """`nested ptx` has the order of the PTX manual for every operand, and the same owner of each element as `nested
    mma`.
    """
    for it in intrinsics():
        for operand, says in documented(it).items() if it.name.startswith(("NV_", "PTX_")) else ():
            assert layout(it, operand, "ptx") == values(it, says), (it.name, operand)
            plain, ptx = (answer(verb, it.name, operand).split("\t")[0] for verb in ("mma", "ptx"))
            assert answer(f"{it.name}.{operand}") == answer(plain)
            assert answer("same", plain, ptx) == ("same owners" if it.name in matching(manual_says("slots of A")) and operand == "a" else "same slots")


def test_manual_example() -> None:
    """The manual is right about lane 0 of m16n8k16."""
    it = next(it for it in intrinsics() if it.name == "NV_MMA_SYNC_F32_16x8x16_F16")
    for which, verb in (("IREE:    ", "mma"), ("PTX:     ", "ptx")):
        said = re.search(rf"{which} (.*)", MMA)
        assert said
        assert layout(it, "a", verb)[0] == [(int(r), int(x)) for r, ks in re.findall(r"row (\d+) k ([\d,]+)", said[1]) for x in ks.split(",")]
