"""Every position of every result is written exactly once. gen/algebra.py proves this from the index maps, for all HLO
files of tests/kernels, bench and ../shared/peer and for drawn fusions. It also finds wrong maps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest

import drawn
import refused
from gen import algebra, hlo, pipeline
from gen.plan import nests
from gen.heroes import concatenate, scatter
from gen.plan import plan
from gen.run import proofs
from gen.plan.nest import Nest
from gen.plan.whole import whole_of
from gen.program.build import programs
from gen.schedule import LoopSchedule
from test_fusions import Draw

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
OWN = [*sorted((ROOT / "tests" / "kernels").glob("*.hlo")), *sorted((ROOT / "bench").glob("*.hlo"))]


def fusions_of(path: Path) -> "List[hlo.Fusion]":
    """Return the fusions of a file that gen takes."""
    try:
        module = hlo.parse(path.read_text(), str(path))
        hlo.expanded(module)
        wholes = [program.whole for program in programs(module, True)] if hlo.unsupported(module) is None else []
        return [fusion for fusion in wholes if whole_of(fusion.computation) is None]
    except hlo.HloError:
        return []


def wrong(fusion: hlo.Fusion) -> "str | None":
    made = nests.planned(fusion).nests
    return proofs.written_once(made, proofs.places(fusion, made))


def test_own_files() -> None:
    found = {path: fusions_of(path) for path in OWN}
    assert found and all(found.values())
    assert [f"{path.name}: {w}" for path in found for fusion in found[path] for w in [wrong(fusion)] if w] == []


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
def test_files_of_others() -> None:
    found = {path: fusions_of(path) for folder in ("seeds", "hlo", "fusions", "jax/fusions") for path in sorted((PEER / folder).rglob("*.hlo"))}
    assert {path.stem for path in found if not found[path]} == set(refused.among(found))
    assert [f"{path.name}: {w}" for path in found for fusion in found[path] for w in [wrong(fusion)] if w] == []


def test_drawn_fusions() -> None:
    for k in range(60):
        text = Draw(7000003 + k).fusion().text()
        (fusion,) = drawn.fusions(text)
        assert wrong(fusion) is None, f"{wrong(fusion)}\n{text}"


def side_by_side(*sides: str, dimension: int = 1, after: str = "") -> str:
    """Return a concatenation of parameters, followed by an op."""
    shapes = [hlo.shape(side) for side in sides]
    dims = [sum(s.dims[d] for s in shapes) if d == dimension else n for d, n in enumerate(shapes[0].dims)]
    of = drawn.plain(shapes[0].dtype, dims)
    lines = [f"p{k} = {s.text} parameter({k})" for k, s in enumerate(shapes)]
    lines.append(f"c = {of} concatenate({', '.join(f'p{k}' for k in range(len(sides)))}), dimensions={{{dimension}}}")
    lines += [f"r = {of} {after}(c)"] if after else []
    return "e {\n  " + "\n  ".join([*lines[:-1], f"ROOT {lines[-1]}"]) + "\n}\n"


CONCATENATED = side_by_side("f32[40,32]", "f32[40,48]", "f32[40,16]")
REDUCED = """
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
e {
  x = f32[64,640] parameter(0)
  z = f32[] constant(0)
  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add
  n = f32[64,640] negate(x)
  ROOT r = (f32[64], f32[64,640]) tuple(s, n)
}
"""


def shifted(root: str, by: int = 1) -> str:
    """Return a write map whose last index is moved by `by`."""
    return root.replace("), domain", f" + {by}), domain")


def faults(made: "List[Nest]") -> "Dict[str, Callable[[], None]]":
    """Return ways to corrupt the parts of a concatenation."""
    (nest,) = made
    assert isinstance(nest, concatenate.Concatenate)
    roots = [part.partition.roots for part in nest.parts]

    def put(k: int, text: str) -> None:
        roots[k][0] = replace(roots[k][0], map=text)
    first, second = roots[0][0].map, roots[1][0].map
    return {"twice": lambda: put(0, shifted(first)), "beyond": lambda: put(2, shifted(roots[2][0].map)), "missing": lambda: put(1, shifted(second, 16)),
            "dropped": lambda: nest.parts.pop() and None, "halved": lambda: put(0, first.replace("-> (i0", "-> (i0 floordiv 2")),
            "one place": lambda: put(0, first.replace("-> (i0, i1", "-> (i0, 0")), "again": lambda: nest.parts.append(nest.parts[0])}


@pytest.mark.parametrize("fault", ["none", "twice", "beyond", "missing", "dropped", "halved", "one place", "again"])
def test_wrong_maps_are_found(fault: str) -> None:
    (fusion,) = drawn.fusions(CONCATENATED)
    made = nests.planned(fusion).nests
    if fault != "none":
        faults(made)[fault]()
    found = proofs.written_once(made, proofs.places(fusion, made))
    assert (found is None) == (fault == "none"), found


def test_wrong_map_of_a_loop_is_found() -> None:
    """The proof accepts a map that writes each element once, although in reverse order. It finds a map that writes some
    elements twice, and a result that nothing writes.
    """
    (fusion,) = drawn.fusions(REDUCED)
    made = nests.planned(fusion).nests
    where = proofs.places(fusion, made)
    assert proofs.written_once(made, where) is None
    assert "0 of 64" in (proofs.written_once([], where) or "")
    (nest,) = made
    assert isinstance(nest, plan.Reduction) and nest.sides
    side = nest.inputs.roots[-1]
    nest.inputs.roots[-1] = replace(side, map=side.map.replace("(i0, i1),", "(i0, 639 - i1 * 1),"))
    assert proofs.written_once(made, where) is None    # each element is still written once
    nest.inputs.roots[-1] = replace(side, map=side.map.replace("(i0, i1),", "(i0, (i1 * 2) mod 640),"))
    assert proofs.written_once(made, where) is not None


SCATTERED = """
c {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}
e {
  x = f32[60,20] parameter(0)
  i = s32[9,1] parameter(1)
  u = f32[9,20] parameter(2)
  s = f32[60,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=c
  n = f32[60,20] negate(s)
  ROOT r = (f32[60,20], f32[60,20]) tuple(s, n)
}
"""


def test_reads_and_updates_beyond_the_end_are_found() -> None:
    """The proof finds reads beyond the end of a parameter or of scratch memory, and updates beyond the end of the
    updated array.
    """
    (fusion,) = drawn.fusions(SCATTERED)
    made = nests.planned(fusion).nests
    assert proofs.all_inside(made) is None
    copy, update, results = made
    assert isinstance(update, scatter.Scatter)
    for nest, pointer in ((copy, "p0"), (results, "q0")):
        root = nest.partition.roots[0]
        nest.partition.roots[0] = replace(root, map=shifted(root.map))
        assert f"{pointer} of f32[60,20]" in (proofs.all_inside(made) or "")
        nest.partition.roots[0] = root
    update.place = update.place.replace("at0 in [0, 59]", "at0 in [0, 60]")
    assert "q0 of f32[60,20]{1,0} is updated beyond its end" in (proofs.all_inside(made) or "")


def test_parts_of_tiled_results() -> None:
    text = """
e {
  x = f32[1000,1300] parameter(0)
  ROOT r = f32[1000,1300]{1,0:T(8,128)} copy(x)
}
"""
    (fusion,) = drawn.fusions(text)
    made = nests.planned(fusion).nests
    where = proofs.places(fusion, made)
    assert len(made) > 1 and proofs.written_once(made, where) is None
    root = made[0].partition.roots[0]
    made[0].partition.roots[0] = replace(root, shape=replace(root.shape, place=made[1].partition.roots[0].shape.place))
    assert proofs.written_once(made, where) is not None
    assert proofs.written_once(made[:1], where) is not None


# ---- the loop over a result reaches each position once, whatever the schedule ----

@pytest.mark.parametrize("elements, loop", [(n, loop) for n in (1, 31, 640, 4095) for loop in (
    LoopSchedule(), LoopSchedule(threads=4, chunks=3, vec=2, lanes=16, blocked=True), LoopSchedule(threads=32, vec=4), LoopSchedule(threads=2, chunks=2, vec=2, lanes=16, interleaved_pairs=True, blocked=True))] +
    [(35 * 9, LoopSchedule(threads=2, chunks=3, lanes=16, blocked=True, row=35)), (1023 * 8, LoopSchedule(chunks=4, lanes=16, vec=2, blocked=True, row=1023)),
     (33 * 5, LoopSchedule(threads=8, chunks=2, vec=4, row=33))], ids=str)
def test_walks(elements: int, loop: LoopSchedule) -> None:
    """A loop reaches each position once. gen/algebra.py proves it by an inverse of the loop's index map, and the test
    counts the positions for all values of the map's variables.
    """
    found = loop.thread_map(elements)
    back = algebra.call("map", "inverse", algebra.call("map", "dims", found))
    assert not back.startswith("no: ") and f"d0 in [0, {elements - 1}]" in back, back
    points: "List[Tuple[int, ...]]" = [()]
    for low, high in loop.box(elements).values():
        points = [(*p, k) for p in points for k in range(low, high + 1)]
    seen = [at[0] for at in (algebra.evaluate(found, *p) for p in points) if at]
    assert sorted(seen) == list(range(elements))


# ---- the concatenate hero ----

TURNED = """
e {
  a = f32[304,131] parameter(0)
  b = f32[131,80] parameter(1)
  t = f32[131,304] transpose(a), dimensions={1,0}
  c = f32[131,384] concatenate(t, b), dimensions={1}
  ROOT r = f32[131,384] negate(c)
}
"""
NESTED = """
e {
  a = bf16[4,64] parameter(0)
  b = bf16[4,32] parameter(1)
  n = bf16[4,32] negate(b)
  c = bf16[4,96] concatenate(a, n), dimensions={1}
  d = bf16[4,160] concatenate(c, a), dimensions={1}
  f = bf16[4,0] parameter(2)
  g = bf16[4,160] concatenate(d, f), dimensions={1}
  w = s32[640] parameter(3)
  v = f32[640] convert(w)
  h = bf16[640] bitcast(g)
  x = f32[640] convert(h)
  ROOT r = f32[640] multiply(x, v)
}
"""
ROWS = side_by_side("s8[7,1023]", "s8[7,515]", "s8[7,64]", after="abs")
FORMS: "Dict[str, str]" = {"columns": CONCATENATED, "turned": TURNED, "nested": NESTED, "rows": ROWS, "major": side_by_side("s8[3,5]", "s8[1,5]", "s8[70,5]", dimension=0),
         "packed": side_by_side("s4[8,200]", "s4[8,128]"), "flat": side_by_side("u16[4097]", "u16[65]", dimension=0),
         "f64": side_by_side("f64[3,64,2]", "f64[3,8,2]", after="sqrt")}


@pytest.mark.parametrize("target, device", drawn.ON)
def test_concatenations(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if device in ("pocl-cpu", "cpu"):
        drawn.uncached(monkeypatch)
    drawn.agree(FORMS, target, device, tmp_path)


@pytest.mark.parametrize("name, heroes", [(name, {"transpose": 1, "loop": 1} if name == "turned" else {"concatenate": 1}) for name in FORMS])
def test_heroes(name: str, heroes: "Dict[str, int]") -> None:
    """A concatenate is one kernel that never tests which operand an element comes from. A transposed operand has a
    separate kernel.
    """
    (fusion,) = drawn.fusions(FORMS[name])
    for target in ("opencl", "c"):
        program = pipeline.target_file(fusion, target)
        found = [k.hero for k in program.kernels]
        assert {hero: found.count(hero) for hero in found} == heroes
        for nest in (part for k in program.kernels for walk in k.scheduled for part in getattr(walk.nest, "parts", [walk.nest])):
            assert not any(e.regions for e in nest.partition.entry.body.entries)


@pytest.mark.parametrize("text", [
    side_by_side("s4[8,3]", "s4[8,5]"), side_by_side("s4[7,201]", "s4[7,127]"),    # operands that share a byte
    side_by_side(*["f32[2,64]"] * 9),                                               # too many operands
    side_by_side("f32[64,64]", "f32[64,64]").replace("ROOT c =", "c =").replace("\n}\n", "\n  ROOT r = f32[128,64]{0,1} copy(t)\n}\n").replace(
        "  ROOT r", "  t = f32[128,64] transpose(c), dimensions={1,0}\n  ROOT r").replace("{0,1} copy", "{1,0} copy"),  # a transpose moves the operands' elements apart
], ids=["nibbles", "odd nibbles", "many", "turned"])
def test_no_hero(text: str) -> None:
    (fusion,) = drawn.fusions(text)
    assert not any(isinstance(nest, concatenate.Concatenate) for nest in nests.planned(fusion).nests)
