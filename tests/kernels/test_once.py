"""Test computations that are moved so that they run once: into NAME_prepare if they depend only on the weights, and
before a loop if no iteration changes them.
"""

from __future__ import annotations

import array
import ctypes
import random
import subprocess
from pathlib import Path
from typing import Any, List

import pytest

from drawn import device_or_skip
from gen import explain, hlo, pipeline, run
from gen.program import build
from gen.program.steps import Launch, Repeat, Step, all_steps
from reference_calls import call
from test_weights import literal

TARGETS = ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu"))]
STATE = "(s32[], f32[32,64], f32[64,64])"


def loop(name: str, trips: str, body: str, passed: str = "w") -> str:
    """Return the body and condition of a while loop, whose variables are a counter, `x` and `w`. trips: the ops that
    compute `n`, the number of iterations; passed: the next `w`.
    """
    return f"""
{name} {{
  s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[32,64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
{body}
  ROOT o = {STATE} tuple(next, y, {passed})
}}

until_{name} {{
  s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[32,64] get-tuple-element(s), index=1
{trips}
  ROOT p = pred[] compare(i, n), direction=LT
}}
"""


PRODUCT = """  d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  y = f32[32,64] tanh(d)"""
NEGATED = "\n  v = f32[64,64] negate(w)"
INNER = f"""  z = s32[] constant(0)
  b = {STATE} tuple(z, x, w)
  l = {STATE} while(b), condition=until_inner, body=inner
  y = f32[32,64] get-tuple-element(l), index=1
  v = f32[64,64] get-tuple-element(l), index=2"""
SOMETIMES = """  h = s32[] constant(3)
  late = pred[] compare(i, h), direction=GT
  both = (f32[32,64], f32[64,64]) tuple(x, w)
  y = f32[32,64] conditional(late, both, x), true_computation=times, false_computation=same"""
TIMES = """
times {
  s = (f32[32,64], f32[64,64]) parameter(0)
  x = f32[32,64] get-tuple-element(s), index=0
  w = f32[64,64] get-tuple-element(s), index=1
  ROOT d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}

same {
  ROOT x = f32[32,64] parameter(0)
}
"""
MAIN = f"""
ENTRY m {{
  x = f32[32,64] parameter(0)
  w = f32[64,64] parameter(1)
  z = s32[] constant(0)
  b = {STATE} tuple(z, x, w)
  l = {STATE} while(b), condition=until_outer, body=outer
  ROOT y = f32[32,64] get-tuple-element(l), index=1
}}
"""
COUNTED, TWICE, THRICE = (f"  n = s32[] constant({n})" for n in (7, 2, 3))
# the number of iterations depends on x
FOUND = """  corner = f32[1,1] slice(x), slice={[0:1], [0:1]}
  first = f32[] reshape(corner)
  size = f32[] abs(first)
  four = f32[] constant(4)
  most = f32[] multiply(size, four)
  n = s32[] convert(most)"""



def text_of(*loops: str) -> str:
    return "HloModule m\n" + "".join(loops) + MAIN


def program_of(text: str) -> Any:
    parsed = hlo.parse(text, "m.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, refused
    return build.program(parsed)


def file_of(text: str) -> Any:
    return pipeline.target_file(program_of(text), "c")


def writers(steps: "List[Step]", elements: int) -> "List[Launch]":
    """Return the launches that write arrays of `elements` elements and nothing else."""
    return [step for step in steps if isinstance(step, Launch) and {a.shape.elements for a in step.writes} == {elements}]


def places(text: str) -> "List[int]":
    """Return the number of launches that copy `w` into panels, and how many of them are inside loops."""
    steps = file_of(text).dialects[0].steps
    inside = [step for loop in steps if isinstance(loop, Repeat) for step in all_steps([loop])]
    return [len(writers(steps, 64 * 64)), len(writers(inside, 64 * 64))]


def checked(text: str, target: str, folder: Path) -> None:
    device_or_skip(target)
    path = folder / "m.hlo"
    path.write_text(text)
    results = run.check(str(path), target, run.Options(seed=3))
    assert {result.status for result in results} == {"PASS"}, results
    assert sum(result.compared for result in results) > 1000


CASES = {
    "counted": (text_of(loop("outer", COUNTED, PRODUCT)), [1, 0]),
    "found": (text_of(loop("outer", FOUND, PRODUCT)), [1, 0]),
    "twice": (text_of(loop("outer", TWICE, PRODUCT)), [0, 1]),
    "nested": (text_of(loop("inner", COUNTED, PRODUCT), loop("outer", THRICE, INNER, "v")), [1, 0]),
    "nested in two": (text_of(loop("inner", COUNTED, PRODUCT), loop("outer", TWICE, INNER, "v")), [0, 1]),
    "changed": (text_of(loop("outer", COUNTED, PRODUCT + NEGATED, "v")), [1, 2]),    # `w` is also copied into the loop's state
    "in an arm": (text_of(TIMES, loop("outer", COUNTED, SOMETIMES)), [0, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_panels_of_loops(name: str) -> None:
    """An operand that no iteration changes is copied into panels (packed) before the loop. This is not done for loops
    that may run few times or are inside a branch.
    """
    text, wanted = CASES[name]
    assert places(text) == wanted


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if number % 3 == 0 else pytest.mark.peer)
                                  for number, name in enumerate(CASES)])
def test_values(name: str, target: str, tmp_path: Path) -> None:
    """The program that moves calls out of loops returns the reference's values."""
    checked(CASES[name][0], target, tmp_path)


def matrix(rows: int, columns: int, seed: int) -> "List[int]":
    draw = random.Random(seed)
    return [draw.randrange(-4, 5) for _ in range(rows * columns)]


WEIGHTS = matrix(80, 96, 1)
PERCEPTRON = f"""HloModule m

ENTRY m {{
  x = f32[32,96] parameter(0)
  w = f32[80,96] constant({literal(WEIGHTS, [80, 96])})
  ROOT d = f32[32,80] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
}}
"""


@pytest.mark.parametrize("flags", [[], ["-DSETT_SCALAR"]])
def test_replaced_weights(flags: "List[str]", tmp_path: Path) -> None:
    """NAME_prepare copies the weights into panels (packed copies), and again after the weights were replaced. A run is
    refused if NAME_prepare has not filled the state.
    """
    texts, about = pipeline.files(program_of(PERCEPTRON), ["c"])
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert about["targets"]["c"]["state_bytes"] >= 80 * 96 * 4
    command = ["cc", "-std=c11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", *flags, "m.c", "-o", "m.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    scratch = ctypes.create_string_buffer(about["targets"]["c"]["scratch_bytes"] + 64)
    block = array.array("f", texts["m.weights"])
    x = matrix(32, 96, 2)

    def run_with(weights: "array.array[float]") -> "List[bytes]":
        given = [array.array("f", x).tobytes(), weights.tobytes()]
        return call(lambda params, results: library.m_c_run(params, results, scratch), given, [32 * 80 * 4])

    with pytest.raises(AssertionError):    # m_prepare has not run yet
        run_with(block)
    assert library.m_prepare(None, scratch) == 1
    replaced = array.array("f", block)
    replaced[:80 * 96] = array.array("f", matrix(80, 96, 3))
    for weights in (block, replaced):
        held = (ctypes.c_char * len(weights.tobytes())).from_buffer_copy(weights.tobytes())
        assert library.m_prepare((ctypes.c_void_p * 1)(ctypes.addressof(held)), scratch) == 0
        right = [float(sum(x[i * 96 + k] * weights[j * 96 + k] for k in range(96))) for i in range(32) for j in range(80)]
        for _ in range(2):    # a run does not change the state
            assert run_with(weights) == [array.array("f", right).tobytes()]


def test_prepared_once() -> None:
    """If the caller has run NAME_prepare, a run does not copy the weights into panels (packed copies in the order of
    reading). In OpenCL, and for the embedded profile, each run does.
    """
    file = file_of(PERCEPTRON)
    assert "  state, bytes 64 to 30784: m 0" in explain._arena(file)
    assert len(writers(file.dialects[0].first, 80 * 96)) == 1 and not writers(file.dialects[0].steps, 80 * 96)
    assert not pipeline.target_file(program_of(PERCEPTRON), "c", "embedded").dialects[0].first
    assert not pipeline.target_file(program_of(PERCEPTRON), "opencl").dialects[0].first


@pytest.mark.parametrize("target", TARGETS)
def test_values_of_weights(target: str, tmp_path: Path) -> None:
    checked(PERCEPTRON, target, tmp_path)


def test_weights_of_a_loop(tmp_path: Path) -> None:
    """NAME_prepare also copies weights that are constants in a loop's body: once the copy is moved before the loop, it
    depends only on the weights.
    """
    weights = f"  c = f32[64,64] constant({literal(matrix(64, 64, 5), [64, 64])})\n"
    text = text_of(loop("outer", COUNTED, weights + PRODUCT.replace("(x, w)", "(x, c)")))
    file = file_of(text)
    assert len(writers(file.dialects[0].first, 64 * 64)) == 1 and places(text) == [0, 0]
    checked(text, "c", tmp_path)


def few_rows(of: str) -> str:
    """Return the text with `x` of 4 rows and `w` of 512 rows, both with 512 columns."""
    for old, new in (("[32,64]", "[4,512]"), ("[64,64]", "[512,512]")):
        of = of.replace(old, new)
    return of


def lanes(file: Any) -> "List[Launch]":
    """Return the launches that write a separate sum for each vector lane. Kernels that read a matrix in place do this.
    """
    steps = file.dialects[0].steps
    return [step for step in all_steps(steps) if isinstance(step, Launch) and any(a.shape.elements == 4 * 512 * 16 for a in step.writes)]


def test_few_rows_are_packed_where_that_is_done_once() -> None:
    """In a product of few rows, a matrix that is contiguous along the summed dimension is copied into panels only if
    one copy before a loop serves all iterations. Otherwise the matrix is read in place.
    """
    for name, panels in (("counted", True), ("found", True), ("twice", False), ("changed", False), ("in an arm", False)):
        file = file_of(few_rows(CASES[name][0]))
        assert bool(lanes(file)) != panels, name
