"""Test programs with loops and branches whose results may use the buffers of parameters (input_output_alias). The
caller may pass one buffer for a parameter and its result, or two buffers; the results are right in both cases, and no
array is copied without need. For programs without loops and branches, a build names the aliases that it does not use.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict

import pytest

from drawn import device_or_skip
from gen import hlo, pipeline, run
from gen.program import build, proof
from gen.program.steps import Launch
from gen.program.storage import Place
from gen_run import gen

TARGETS = ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu", "hip-on-cpu"))]
N = 2000    # number of elements; such arrays are too large for variables of the generated function

STATE = f"(s32[], s32[{N}]{{0}}, s32[{N}]{{0}}, s32[{N}]{{0}})"
# The loop has the variables `x`, `y` and `v`, and never changes `v`. For each kind of loop: the op that computes the
# next `x`, and the op that computes the next `y`.
NEXT = {"sum": ("add(x, y)", "dynamic-update-slice(y, u, i)"), "reverse": ("reverse(x), dimensions={0}", "subtract(y, x)"), "read": ("add(x, v)", "dynamic-update-slice(y, u, i)"),
        "elements": ("add(x, v)", "multiply(y, v)"),
        "exchange": ("add(y, y)", "negate(x)"), "same": ("add(x, y)", "copy(y)")}


def module(kind: str, begins: str, root: str, aliases: str, entry: str = "", trips: int = 9) -> str:
    """Return a module with a loop. begins: the initial values of x, y and v, from the parameters a, b and c. root: the
    results, from the loop's final values x0, y0, ..
    """
    x, y = NEXT[kind]
    count = root.count(",") + 1
    shape = f"s32[{N}]{{0}}"
    branch = f"  k = {shape} conditional(h, a, b), true_computation=yes, false_computation=no\n" if "k" in root else ""
    return f"""HloModule m, input_output_alias={{ {aliases} }}

body {{
  s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = {shape} get-tuple-element(s), index=1
  y = {shape} get-tuple-element(s), index=2
  v = {shape} get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  u = s32[1]{{0}} slice(x), slice={{[7:8]}}
  nx = {shape} {x}
  ny = {shape} {y}
  ROOT o = {STATE} tuple(next, nx, ny, v)
}}

cond {{
  s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({trips})
  ROOT p = pred[] compare(i, n), direction=LT
}}

yes {{ q = {shape} parameter(0)  ROOT r = {shape} reverse(q), dimensions={{0}} }}

no {{ q = {shape} parameter(0)  ROOT r = {shape} negate(q) }}

ENTRY m {{
  a = {shape} parameter(0)
  b = {shape} parameter(1)
  c = {shape} parameter(2)
  zero = s32[] constant(0)
{entry}
  s = {STATE} tuple(zero, {begins})
  l = {STATE} while(s), condition=cond, body=body
  x0 = {shape} get-tuple-element(l), index=1
  y0 = {shape} get-tuple-element(l), index=2
  m1 = {shape} reverse(x0), dimensions={{0}}
  m2 = {shape} subtract(x0, a)
  m3 = {shape} reverse(b), dimensions={{0}}
  f = s32[1]{{0}} slice(y0), slice={{[0:1]}}
  g = s32[] reshape(f)
  h = pred[] compare(g, zero), direction=LT
{branch}  ROOT t = ({", ".join([shape] * count)}) tuple({root})
}}
"""


def alias(*pairs: "tuple[int, int]") -> str:
    return ", ".join(f"{{{result}}}: ({parameter}, {{}}, may-alias)" for result, parameter in pairs)


BOTH = alias((0, 0), (1, 1))
CASES: Dict[str, str] = {
    "carries": module("sum", "a, b, c", "x0, y0", BOTH),
    "results exchanged": module("sum", "a, b, c", "y0, x0", BOTH),
    "carries exchanged": module("exchange", "a, b, c", "x0, y0", BOTH),
    "a carry moved": module("reverse", "a, b, c", "x0, y0", BOTH),
    "read by the body": module("read", "a, b, a", "x0, y0", BOTH),
    "both read by the body": module("read", "b, a, a", "x0, y0", BOTH),
    "read by elements": module("elements", "a, b, a", "x0, y0", BOTH),    # the whole loop is inside one kernel
    "both read by elements": module("elements", "b, a, a", "x0, y0", BOTH),
    "read after the loop": module("sum", "a, b, c", "x0, m2", BOTH),
    "one parameter twice": module("sum", "a, a, c", "x0, y0", BOTH),
    "parameters exchanged": module("sum", "c, c, c", "b, a, x0", BOTH),
    "three in a circle": module("sum", "c, a, b", "b, c, a", alias((0, 0), (1, 1), (2, 2))),
    "a parameter returned": module("same", "c, c, c", "a, b, x0", BOTH),
    "a parameter as another result": module("sum", "a, b, c", "x0, y0, a", BOTH),
    "a donor as another donor's": module("sum", "a, b, c", "x0, a", BOTH),
    "moved after the loop": module("sum", "a, b, c", "m1, m3", BOTH),
    "a branch": module("sum", "c, c, c", "k, x0", BOTH),
    "a branch on what begins the loop": module("sum", "a, b, c", "x0, k", BOTH),
    "one result twice": module("sum", "a, b, c", "x0, x0", BOTH),
    "no iteration": module("reverse", "a, b, c", "y0, x0", BOTH, trips=0),
    "one iteration": module("reverse", "a, b, c", "x0, y0", BOTH, trips=1),
    "changed before the loop": module("sum", "d, e, c", "x0, y0", BOTH,
                                      f"  d = s32[{N}]{{0}} reverse(a), dimensions={{0}}\n  e = s32[{N}]{{0}} add(a, b)"),
    "one of two": module("reverse", "b, a, a", "x0, y0", alias((1, 0))),
}


def written(folder: Path, text: str) -> str:
    path = folder / "m.hlo"
    path.write_text(text)
    return str(path)


FIRST = ["carries", "carries exchanged", "read by the body", "both read by elements", "three in a circle", "a branch", "changed before the loop", "no iteration"]    # the cases that `ninja test` runs


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FIRST else pytest.mark.peer) for name in CASES])
def test_values(name: str, target: str, tmp_path: Path) -> None:
    """Each call agrees with the call's reference, and the whole program agrees with the module's reference. This holds
    if results have buffers of their own, and if they use the parameters' buffers.
    """
    device_or_skip(target)
    results = run.check(written(tmp_path, CASES[name]), target, run.Options(seed=3, rounds=3))
    assert [result.status for result in results] == ["PASS"] * len(results), results


def program(text: str) -> Any:
    parsed = hlo.parse(text, "m.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, refused
    return build.program(parsed)


@pytest.mark.parametrize("name, idle, copied", [("carries", 2, 0), ("read by the body", 1, 1), ("results exchanged", 0, 2), ("a carry moved", 2, 0)])
def test_copies(name: str, idle: int, copied: int) -> None:
    """If a donated parameter is the initial value of a loop variable, the parameter is copied only if the caller passes
    two buffers: one for the parameter and one for the result.
    """
    texts, about = pipeline.files(program(CASES[name]), ["c"], "cpu-scalar")
    text, header = str(texts["m.c"]), str(texts["m.h"])
    body = text[text.index("static void run("):text.index("size_t m_c_scratch_bytes")]
    assert len(re.findall(r"if \(params\[(\d)\] != results\[\1\]\) \{", body)) == idle
    before = body[:body.index("for (uint64_t trip")]
    assert len(re.findall(r"call_\d+\(", before)) - idle == copied, before
    assert about["aliases"] == [] and about["may_alias"] == [{"result": n, "parameter": n} for n in (0, 1)]
    assert "result 1 may be parameter 1: the caller passes one buffer as both, or two that do not overlap" in header


def test_text_says_nothing() -> None:
    """Without input_output_alias in the text, headers and code mention no aliases, and results have buffers of their
    own.
    """
    texts, about = pipeline.files(program(CASES["carries"].replace(f"input_output_alias={{ {BOTH} }}", "is_scheduled=false")), ["c"])
    assert "may_alias" not in about and "may be" not in str(texts["m.h"]) and "!= results" not in str(texts["m.c"])


def test_proof() -> None:
    """Each build runs a proof. It fails if a result is written before the parameter in the same buffer was read."""
    made = program(CASES["carries"])
    a, b, c = made.params
    places = {array: Place("params", n, 0, array.shape) for n, array in enumerate(made.params)}
    places.update((array, Place("results", n, 0, array.shape)) for n, array in enumerate(made.results))
    kernel: Any = None
    in_order = [Launch(kernel, [], reads=[b], writes=[made.results[0]]), Launch(kernel, [], reads=[c], writes=[made.results[1]])]
    too_early = [Launch(kernel, [], reads=[b], writes=[made.results[0]]), Launch(kernel, [], reads=[a], writes=[made.results[1]])]
    proof.prove(made, in_order, places)
    proof.prove(made, in_order, proof.as_one(made, places))
    proof.prove(made, too_early, places)
    with pytest.raises(proof.Misplaced, match=f"{a.name} is overwritten before it is read"):
        proof.prove(made, too_early, proof.as_one(made, places))


STRAIGHT = {
    "": "  ROOT r = f32[4096]{0} dynamic-update-slice(a, b, i)",
    "no dynamic-update-slice of the parameter gives the result": "  ROOT r = f32[4096]{0} negate(a)",
    "not in place: parameter 0 is read elsewhere than at the element that is updated": "  v = f32[4096]{0} reverse(a), dimensions={0}\n  w = f32[8]{0} slice(v), slice={[0:8]}\n"
                                                        "  x = f32[8]{0} add(w, b)\n  ROOT r = f32[4096]{0} dynamic-update-slice(a, x, i)",
    "the parameter is read by several calls": "  f = f32[4096]{0} fusion(a, b, i), kind=kLoop, calls=update\n"
                                              "  g = f32[4096]{0} fusion(a), kind=kLoop, calls=other\n  ROOT r = (f32[4096]{0}, f32[4096]{0}) tuple(f, g)"}


@pytest.mark.parametrize("why", STRAIGHT)
def test_unused_in_straight_programs(why: str, tmp_path: Path) -> None:
    """For a program without loops and branches, a build says which alias is not used, and why."""
    result = "{0}" if "tuple" in STRAIGHT[why] else "{}"
    (tmp_path / "m.hlo").write_text(f"""HloModule m, input_output_alias={{ {result}: (0, {{}}, may-alias) }}

update {{ a = f32[4096]{{0}} parameter(0)  b = f32[8]{{0}} parameter(1)  i = s32[] parameter(2)  ROOT r = f32[4096]{{0}} dynamic-update-slice(a, b, i) }}
other {{ a = f32[4096]{{0}} parameter(0)  ROOT r = f32[4096]{{0}} reverse(a), dimensions={{0}} }}

ENTRY m {{
  a = f32[4096]{{0}} parameter(0)
  b = f32[8]{{0}} parameter(1)
  i = s32[] parameter(2)
{STRAIGHT[why]}
}}
""")
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "c")
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "m.json").read_text())
    if why:
        said = [line for line in done.stderr.split("\n") if "input_output_alias" in line]
        assert len(said) == 1 and said[0].endswith(why), done.stderr
        assert "m: result 0 needs a buffer of its own, though input_output_alias lets it be parameter 0: " in said[0]
        assert about["aliases"] == []
    else:
        assert "input_output_alias" not in done.stderr
        assert about["aliases"] == [{"result": 0, "parameter": 0}]
