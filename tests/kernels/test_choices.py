"""A schedule chooses the form of each loop nest before any statement of the kernel's text exists, and the written
kernel has the chosen properties.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, List, Tuple

import jinja2
import pytest

from drawn import ON_CPUS, agree, fusions, shape
from gen import explain, hlo, pipeline, run
from gen.emit import state
from gen.emit.helpers import Helpers
from gen.statements import Code
from gen.heroes.hero import Choice
from gen.plan.nests import planned
from gen.program import build as programs
from gen.schedule import DEVICES, device_for
from gen.targets import TARGETS

ROOT = Path(__file__).resolve().parent.parent.parent


class Nothing:
    """A substitute for the helper functions: requesting any of them fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is asked for before a choice is complete")


def chosen(fusion: hlo.Fusion, name: str) -> "List[Choice]":
    device = DEVICES[name]
    helpers: Any = Nothing()
    choices, _ = pipeline.choose(planned(fusion, device.plan_class), TARGETS[device.language].of_file(), device_for(device.language, name), helpers, False)
    return choices


@pytest.mark.parametrize("name", ["cpu", *(
    pytest.param(name, marks=pytest.mark.peer) for name in ("sm_80", "cpu-scalar", "pocl-cpu", "opencl-gpu", "gfx942"))])
def test_no_statement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing schedules builds no statement of a kernel's C text and requests no helper function."""
    def refuse(*given: Any) -> None:
        raise AssertionError("a body is made before a choice is complete")
    monkeypatch.setattr(state.State, "__init__", refuse)
    heroes, files = set(), sorted([*(ROOT / "tests/kernels").glob("*.hlo"), *(ROOT / "bench").glob("*.hlo")])
    assert files
    for file in files:
        for fusion in hlo.fusions(run.load(str(file))):
            for choice in chosen(fusion, name):
                parts = [choice, *choice.parts]
                assert all(part.index in ("uint", "int", "long") or part.parts for part in parts), (file, choice)
                heroes |= {part.hero.name for part in parts}
    assert {"loop", "scan"} <= heroes, heroes


@pytest.mark.parametrize("target", ["c", "opencl", "cuda"])
def test_explained_without_a_statement(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`explain --stage schedule` names each kernel that is written, but builds no statement of its text and renders no
    template.
    """
    modules = [run.load(str(file)) for file in sorted((ROOT / "tests/kernels").glob("*.hlo"))]
    kernels = [[part.name for kernel in pipeline.target_file(programs.program(module), target).kernels for part in kernel.scheduled]
               for module in modules]

    def refuse(*given: Any) -> None:
        raise AssertionError("something is emitted")
    for owner, method in ((state.State, "__init__"), (Code, "add"), (jinja2.Template, "render"), (Helpers, "need")):
        monkeypatch.setattr(owner, method, refuse)
    assert modules
    for module, names in zip(modules, kernels):
        text = explain.stages(module, [target], run.Options(), ["schedule"])["schedule"]
        assert re.findall(r"^(\w+) for [^:\n]*: ", text, re.M) == names, text


@pytest.mark.parametrize("name", ["cpu", "pocl-cpu", "opencl-gpu", "sm_80"])
def test_what_is_chosen_is_accessed(name: str) -> None:
    """The accesses that a loop or transpose schedule announces for a kernel are exactly those in the kernel's text."""
    device, seen = DEVICES[name], 0
    for file in sorted((ROOT / "tests/kernels").glob("*.hlo")):
        for fusion, choices, context in pipeline.choices(programs.program(run.load(str(file))), device.language, name):
            for choice in choices:
                chosen_ = {(access.verb, access.buffer) for access in choice.accesses}
                if choice.hero.name in ("loop", "transpose") and len(choice.grids) == 1 and choice.accesses:
                    (kernel,) = choice.kernels(context)
                    written = {(access.verb.replace("load", "read").replace("store", "write"), access.buffer)
                               for access in kernel.report.touched}
                    # a schedule does not list the reads of functions that the kernels call
                    assert chosen_ == written, (file, choice)
                    seen += 1
    assert seen > 10


def padded(dims: "Tuple[int, int]", low: int) -> hlo.Fusion:
    wide = (dims[0], dims[1] + low)
    (fusion,) = fusions(f"""HloModule m
ENTRY e {{
  x = {shape('f32', dims, (1, 0))} parameter(0)
  z = f32[] constant(1)
  p = {shape('f32', wide, (1, 0))} pad(x, z), padding=0_0x{low}_0
  y = {shape('f32', wide, (1, 0))} parameter(1)
  n = {shape('f32', wide, (1, 0))} exponential(p)
  ROOT r = {shape('f32', wide, (1, 0))} add(n, y)
}}
""")
    return fusion


def test_vectors() -> None:
    """The first schedule has vectors. Its kernel can use them if a condition on the index changes at most once along a
    row of several registers. If the condition changes within each register, the kernel cannot use them.
    """
    from gen.heroes import loop

    for dims, low, wide in (((64, 1000), 24, True), ((4096, 15), 3, False)):
        fusion, device = padded(dims, low), device_for("c", "cpu")
        helpers: Any = Nothing()
        _, context = pipeline.choose(planned(fusion, device.plan_class), TARGETS["c"].of_file(), device, helpers, False)
        (nest,) = pipeline.planned(fusion).nests
        first = next(iter(loop.HERO.schedules(nest, context)))
        assert first.lanes > 1
        assert all(form.vectors() for form in loop.HERO.forms(nest, first, context)) == wide, dims


@pytest.mark.parametrize("elements, index", [(1 << 20, "uint"), (3 << 30, "uint"), (5 << 30, "long")])
def test_index_type(elements: int, index: str) -> None:
    """The index type is the narrowest in which the maps' values fit."""
    (fusion,) = fusions(f"""HloModule m
ENTRY e {{
  x = u8[{elements}]{{0}} parameter(0)
  ROOT r = u8[{elements}]{{0}} not(x)
}}
""")
    for name in ("cpu", "sm_80"):
        assert [choice.index for choice in chosen(fusion, name)] == [index], name


def test_signed_where_a_map_subtracts() -> None:
    """A 32-bit index type suffices for a map with a term that may be negative before it is divided."""
    (fusion,) = fusions("""HloModule m
ENTRY e {
  x = f32[7,30]{1,0} parameter(0)
  t = f32[30,7]{1,0} transpose(x), dimensions={1,0}
  s = f32[14,15]{1,0} reshape(t)
  ROOT r = f32[14,15]{1,0} reverse(s), dimensions={0}
}
""")
    assert {choice.index for choice in chosen(fusion, "cpu")} <= {"uint", "int"}


def test_an_index_of_many_operations() -> None:
    """An index that is doubled 120 times is analysed in linear time: to decide whether the index is equal in all lanes,
    the generator visits each value once.
    """
    lines = ["  i0 = s32[640,1]{1,0} parameter(1)"] + [f"  i{k + 1} = s32[640,1]{{1,0}} add(i{k}, i{k})" for k in range(120)]
    (fusion,) = fusions("HloModule m\nENTRY e {\n  x = f32[100]{0} parameter(0)\n" + "\n".join(lines) + """
  ROOT r = f32[640]{0} gather(x, i120), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
}
""")
    assert {choice.hero.name for choice in chosen(fusion, "cpu")} == {"loop"}


@pytest.mark.peer
@pytest.mark.parametrize("target, device", ON_CPUS)
def test_a_table_of_one_value(target: str, device: str, tmp_path: Path) -> None:
    """A function that also depends on another kernel's result is not tabulated, however expensive it is."""
    text = """HloModule m
max {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] maximum(a, b)
}
ENTRY e {
  x = bf16[2048,1024]{1,0} parameter(0)
  z = bf16[] constant(-inf)
  m = bf16[] reduce(x, z), dimensions={0,1}, to_apply=max
  b = bf16[2048,1024]{1,0} broadcast(m), dimensions={}
  t = bf16[2048,1024]{1,0} tanh(x)
  u = bf16[2048,1024]{1,0} exponential(t)
  v = bf16[2048,1024]{1,0} sine(u)
  w = bf16[2048,1024]{1,0} cosine(v)
  ROOT r = bf16[2048,1024]{1,0} ROOT_OF(w, b)
}
"""
    for opcode, tables in (("add(w, b)", 0), ("negate(w)", 1)):
        (fusion,) = fusions(text.replace("ROOT_OF(w, b)", opcode))
        assert sum(kernel.table is not None for kernel in pipeline.target_file(fusion, target, device).kernels) == tables
        agree({"e": text.replace("ROOT_OF(w, b)", opcode)}, target, device, tmp_path / opcode[:3])
