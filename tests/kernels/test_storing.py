"""Test values that several places read. The plan stores some of them and computes others again at each place; results
are right either way.

Random graphs have rolls, shifts, reversals, transposes, gathers, broadcasts and reductions of values with several
readers. NumPy computes their results bit by bit: integers wrap, and floats are rounded after each op. `ninja
test-storing` runs 2,000 graphs on each target. SETT_TARGET names targets. SETT_SEED selects other graphs, SETT_COUNT
their number.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Set, Tuple

import pytest

import stated
from drawn import device_or_skip, fusions
from gen import hlo, lower, pipeline, run, schedule
from gen.plan import element_loops, nests, plan, storing
from gen.plan.whole import whole_of
from gen.program.build import programs
from gen_run import gen

try:
    import numpy as np
except ImportError:
    np = None
with_numpy = pytest.mark.skipif(np is None, reason="SKIP: no numpy, which draws the values and computes what is right")

ROOT = Path(__file__).resolve().parent.parent.parent
PEER = ROOT.parent / "shared" / "peer"
SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "6"))
TARGETS = os.environ.get("SETT_TARGET", "c,opencl,cuda-on-cpu").split(",")
LIBRARY = 200    # graphs per library
SIZES = (1, 2, 3, 4, 5, 8, 12, 16, 17, 33, 64)


@dataclass
class Graph:
    """A random graph: its text, and the values of its nodes by NumPy."""

    random: random.Random
    dtype: str
    lines: List[str] = field(default_factory=list)
    values: "List[Tuple[str, Any]]" = field(default_factory=list)
    params: "List[Any]" = field(default_factory=list)
    called: str = ""

    def shape(self, dims: Sequence[int], dtype: str = "") -> str:
        return f"{dtype or self.dtype}[{','.join(map(str, dims))}]{{{','.join(map(str, reversed(range(len(dims)))))}}}"

    def add(self, text: str, array: Any, dtype: str = "", value: bool = True) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {self.shape(array.shape, dtype)} {text}")
        if value:
            self.values.append((name, array))
        return name

    def parameter(self, array: Any, dtype: str = "", value: bool = True) -> str:
        self.params.append(array)
        return self.add(f"parameter({len(self.params) - 1})", array, dtype, value)

    def pick(self, recent: int = 4) -> "Tuple[str, Any]":
        """Return a value, usually a recent one."""
        return self.random.choice(self.values[-recent:] if self.random.random() < 0.8 else self.values)

    # ---- moves ----

    def rolled(self, name: str, x: Any) -> "Tuple[str, Any]":
        axis = self.random.randrange(x.ndim)
        k = self.random.randrange(x.shape[axis])
        if not k:
            return name, x
        cut = [[(0, n) for n in x.shape] for _ in range(2)]
        cut[0][axis], cut[1][axis] = (k, x.shape[axis]), (0, k)
        parts = [self.add(f"slice({name}), slice={{{', '.join(f'[{a}:{b}]' for a, b in part)}}}",
                          x[tuple(slice(*s) for s in part)], value=False) for part in cut]
        y = np.roll(x, -k, axis)
        return self.add(f"concatenate({', '.join(parts)}), dimensions={{{axis}}}", y, value=False), y

    def shifted(self, name: str, x: Any) -> "Tuple[str, Any]":
        axis = self.random.randrange(x.ndim)
        k = self.random.randint(-x.shape[axis], x.shape[axis])
        zero = self.add("constant(0)", np.zeros((), x.dtype), value=False)
        low = [0] * x.ndim
        low[axis] = k
        y = np.zeros_like(x)
        n = x.shape[axis]
        into, out = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        into[axis], out[axis] = slice(max(k, 0), n + min(k, 0)), slice(max(-k, 0), n - max(k, 0))
        y[tuple(into)] = x[tuple(out)]
        return self.add(f"pad({name}, {zero}), padding={'x'.join(f'{n}_{-n}' for n in low)}", y, value=False), y

    def reversed(self, name: str, x: Any) -> "Tuple[str, Any]":
        axis = self.random.randrange(x.ndim)
        y = np.flip(x, axis)
        return self.add(f"reverse({name}), dimensions={{{axis}}}", y, value=False), y

    def transposed(self, name: str, x: Any) -> "Tuple[str, Any]":
        y = x.T.reshape(x.shape)
        turned = self.add(f"transpose({name}), dimensions={{{','.join(map(str, reversed(range(x.ndim))))}}}", x.T, value=False)
        return self.add(f"reshape({turned})", y, value=False), y

    def gathered(self, name: str, x: Any) -> "Tuple[str, Any]":
        n = x.shape[0]
        index = np.array([self.random.randrange(n) for _ in range(n)], np.int32)
        indices = self.parameter(index, "s32", False)
        rest = ",".join(map(str, range(1, x.ndim)))
        sizes = ",".join(map(str, (1, *x.shape[1:])))
        y = x[index]
        return self.add(f"gather({name}, {indices}), offset_dims={{{rest}}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                        f"index_vector_dim=1, slice_sizes={{{sizes}}}", y, value=False), y

    def halves(self, name: str, x: Any) -> "Tuple[str, Any]":
        """Return the even elements, then the odd elements, by strided slices."""
        n = x.shape[0]
        if n < 2:
            return name, x
        rest = "".join(f", [0:{m}]" for m in x.shape[1:])
        parts = [self.add(f"slice({name}), slice={{[{k}:{n}:2]{rest}}}", x[k::2], value=False) for k in (0, 1)]
        y = np.concatenate([x[0::2], x[1::2]])
        return self.add(f"concatenate({', '.join(parts)}), dimensions={{0}}", y, value=False), y

    def broadcast(self, name: str, x: Any) -> "Tuple[str, Any]":
        """Return one row repeated for all rows, so that each of its few elements is read often."""
        if x.ndim < 2:
            return name, x
        row = self.add(f"slice({name}), slice={{[0:1]{''.join(f', [0:{m}]' for m in x.shape[1:])}}}", x[:1], value=False)
        row = self.add(f"reshape({row})", x[0], value=False)
        for _ in range(self.random.randint(0, 3)):
            row, few = self.apply("add", (row, x[0]), (row, x[0]), False) if self.random.random() < 0.3 else (row, x[0])
            x = np.broadcast_to(few, x.shape)
        y = np.broadcast_to(x[0], x.shape)
        return self.add(f"broadcast({row}), dimensions={{{','.join(map(str, range(1, x.ndim)))}}}", y, value=False), y

    def summed(self, name: str, x: Any) -> "Tuple[str, Any]":
        """Return the sums along a dimension, repeated along it. Only for integers, whose sums do not depend on the
        order.
        """
        if self.dtype != "u32":
            return name, x
        axis = self.random.randrange(x.ndim)
        self.called = "sum {\n  a = u32[] parameter(0)\n  b = u32[] parameter(1)\n  ROOT c = u32[] add(a, b)\n}\n\n"
        zero = self.add("constant(0)", np.zeros((), x.dtype), value=False)
        total = x.sum(axis, dtype=x.dtype)
        name = self.add(f"reduce({name}, {zero}), dimensions={{{axis}}}, to_apply=sum", total, value=False)
        y = np.ascontiguousarray(np.broadcast_to(np.expand_dims(total, axis), x.shape))
        rest = ",".join(str(k) for k in range(x.ndim) if k != axis)
        return self.add(f"broadcast({name}), dimensions={{{rest}}}", y, value=False), y

    # ---- ops ----

    def apply(self, opcode: str, a: "Tuple[str, Any]", b: "Tuple[str, Any]", value: bool = True) -> "Tuple[str, Any]":
        of: "Dict[str, Callable[[Any, Any], Any]]" = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply,
                                                      "maximum": np.maximum, "minimum": np.minimum}
        with np.errstate(all="ignore"):
            y = of[opcode](a[1], b[1])
        return self.add(f"{opcode}({a[0]}, {b[0]})", y, value=value), y

    def step(self) -> None:
        moves = [self.rolled, self.rolled, self.shifted, self.reversed, self.transposed, self.gathered, self.halves, self.broadcast,
                 self.summed]
        name, x = self.pick()
        parts = [(name, x)] + [self.random.choice(moves)(name, x) for _ in range(self.random.randint(1, 3))]
        while len(parts) > 1:
            opcode = self.random.choice(("add", "add", "subtract", "maximum", "minimum", "multiply"))
            if opcode == "multiply" and self.dtype != "u32":
                opcode = "add"
            parts = [self.apply(opcode, parts[0], parts[1], len(parts) == 2), *parts[2:]]
        if self.dtype == "f32":    # factors of 1/4 keep the numbers from growing
            quarter = self.add("constant(0.25)", np.float32(0.25), value=False)
            spread = np.full(x.shape, 0.25, np.float32)
            of = self.add(f"broadcast({quarter}), dimensions={{}}", spread, value=False)
            self.values.pop()
            self.apply("multiply", parts[0], (of, spread))

    def text(self) -> "Tuple[str, List[Any]]":
        """Return the module's text and the values of its results, which are the last value and sometimes two others."""
        chosen = [self.values[-1]]
        if self.random.random() < 0.4:
            chosen += self.random.sample(self.values, min(len(self.values), 2))
        lines = [*self.lines, f"ROOT out = ({', '.join(self.shape(a.shape) for _, a in chosen)}) "
                              f"tuple({', '.join(name for name, _ in chosen)})"]
        return "HloModule drawn\n\n" + self.called + "ENTRY e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n", [a for _, a in chosen]


def drawn(number: int) -> "Tuple[str, List[Any], List[Any]]":
    """Return the text of a random graph, its parameters and its results."""
    r = random.Random(SEED * 1000003 + number)
    graph = Graph(r, r.choice(("u32", "u32", "f32")))
    dims = tuple(r.choice(SIZES) for _ in range(r.choice((1, 1, 2, 2, 3))))
    values = np.random.default_rng(number)
    for _ in range(r.randint(1, 2)):
        if graph.dtype == "u32":
            graph.parameter(values.integers(0, 2**32, dims, np.uint32))
        else:
            graph.parameter(values.standard_normal(dims).astype(np.float32))
    for _ in range(r.randint(2, 24)):
        graph.step()
    text, results = graph.text()
    return text, graph.params, results


@with_numpy
@pytest.mark.drawn
@pytest.mark.parametrize("target", [pytest.param(t, marks=() if t == "c" else pytest.mark.peer) for t in TARGETS])
def test_drawn_graphs(target: str, tmp_path: Path) -> None:
    options = run.Options()
    device_or_skip(target, options)
    for first in range(0, COUNT, LIBRARY):
        folder = tmp_path / str(first)
        folder.mkdir()
        built, wanted, texts = [], {}, {}
        for number in range(first, min(COUNT, first + LIBRARY)):
            text, params, results = drawn(number)
            (fusion,) = fusions(text, f"graph{number}")
            built.append(stated.built(fusion, folder, target))
            (folder / f"{fusion.name}.in").write_bytes(b"".join(np.ascontiguousarray(p).tobytes() for p in params))
            wanted[fusion.name] = b"".join(np.ascontiguousarray(r).tobytes() for r in results)
            texts[fusion.name] = text
        outcomes = folder / "results"
        outcomes.mkdir()
        wrong = stated.ran(stated.compiled(built, folder, target), list(wanted), target, folder, outcomes, options)
        for name, data in wanted.items():
            if name not in wrong and (outcomes / f"{name}.out").read_bytes() != data:
                wrong[name] = "other results than NumPy's"
        assert not wrong, "\n\n".join(f"{name}: {reason}\n{texts[name]}" for name, reason in wrong.items())


# ---- the choice between storing and computing ----


def steps(dtype: str, count: int) -> str:
    """Return a chain of u = roll(u, 1) + u, in which each step reads the previous one at two places."""
    lines = [f"u0 = {dtype}[64] parameter(0)"]
    for k in range(count):
        lines += [f"a{k} = {dtype}[63] slice(u{k}), slice={{[1:64]}}", f"b{k} = {dtype}[1] slice(u{k}), slice={{[0:1]}}",
                  f"c{k} = {dtype}[64] concatenate(a{k}, b{k}), dimensions={{0}}", f"u{k + 1} = {dtype}[64] add(c{k}, u{k})"]
    lines[-1] = "ROOT " + lines[-1]
    return "e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def test_what_is_said(tmp_path: Path) -> None:
    """4-bit elements cannot be stored. If their values are therefore computed much more often than in the graph, `gen
    build` says so. `gen explain` prints for each value whether it is stored, and the time that storing saves or costs.
    """
    said = {}
    for dtype in ("s4", "s32"):
        (tmp_path / f"{dtype}.hlo").write_text(steps(dtype, 9))
        done = gen("build", tmp_path / f"{dtype}.hlo", "-o", tmp_path / dtype, "--target", "c")
        assert done.returncode == 0, done.stderr
        said[dtype] = done.stderr
    assert re.search(r"s4: [\d.]+ times the operations of the graph are computed", said["s4"]), said
    assert "times the operations" not in said["s32"], said
    done = gen("explain", tmp_path / "s32.hlo", "--target", "c", "--stage", "partition")
    assert re.search(r"^s32: [\d.e+]+ operations, [1-9](\.\d+)? times the graph's$", done.stdout, re.M), done.stdout
    assert re.search(r"^  u\d: read \d+ times an element, stored: storing it saves [\d.e+]+ us, by estimate$", done.stdout, re.M), done.stdout
    assert re.search(r"^  u\d: read \d+ times an element, computed \d+ times an element: storing it would cost", done.stdout, re.M), done.stdout


def test_one_nest_writes_a_result_and_what_others_read(tmp_path: Path) -> None:
    """A value that is stored for others and is also a result is computed once, into the result's buffer."""
    text = steps("f32", 1).replace("u0 = f32[64] parameter(0)", "x = f32[64] parameter(0)\n  u0 = f32[64] power(x, x)").replace(
        "ROOT u1 =", "u1 =").replace("add(c0, u0)\n", "add(c0, u0)\n  ROOT t = (f32[64], f32[64]) tuple(u0, u1)\n").replace("[64]", "[65536]").replace(
        "[63]", "[65535]").replace("[1:64]", "[1:65536]")
    (fusion,) = fusions(text)
    first, second = nests.planned(fusion).nests
    assert [root.buffer.pointer for root in first.partition.roots] == ["q0", "r0"]
    assert [root.buffer.pointer for root in second.partition.roots] == ["r1"]


def scatters(lines: str, updates: str = "x", places: "Sequence[str]" = ("i",)) -> str:
    """Return a module that adds f32 updates at each of `places`. lines: the lines that compute further values from x
    and y, which are f32[20000,16], and from i and j, which are s32[20000,1].
    """
    form = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"
    of = [f"r{k} = f32[2000,16] scatter(zeros, {place}, {updates}), {form}" for k, place in enumerate(places)]
    return "\n  ".join([
        "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\ne {",
        "x = f32[20000,16] parameter(0)", "y = f32[20000,16] parameter(1)", "i = s32[20000,1] parameter(2)", "j = s32[20000,1] parameter(3)",
        "zero = f32[] constant(0)", "zeros = f32[2000,16] broadcast(zero), dimensions={}", *lines.split("; "), *of,
        f"ROOT t = ({', '.join(['f32[2000,16]'] * len(of))}) tuple({', '.join(f'r{k}' for k in range(len(of)))})"]) + "\n}\n"


DEEP = "h = f32[20000,16] tanh(x); a = f32[20000,16] multiply(h, y)"
PLACES = "f = f32[20000,1] convert(i); l = f32[20000,1] log(f); at = s32[20000,1] convert(l)"
CHEAP = "m = f32[20000,16] multiply(x, y); a = f32[20000,16] subtract(m, x)"


@pytest.mark.parametrize("text, of_cpu, of_gpu", (
    (scatters("a = f32[20000,16] tanh(x)", "a"), {"a"}, set()),
    (scatters("a = f32[20000,16] exponential(x)", "a", ("i", "j")), {"a"}, set()),
    (scatters(DEEP, "a"), {"a"}, set()),
    (scatters(PLACES, places=("at",)), {"at"}, set()),
    (scatters(CHEAP, "a"), set(), set()),
    (scatters(CHEAP, "a", ("i", "j")), set(), set()),
    (scatters("a = f32[20000,16] divide(x, y)", "a"), set(), set()),
    (scatters("k = s32[20000,1] power(i, j)", places=("k",)), set(), set())),
    ids=("tanh", "two scatters", "product of a tanh", "places", "cheap", "cheap, two scatters", "quotient", "integers"))
def test_values_that_scatters_read(text: str, of_cpu: "Set[str]", of_gpu: "Set[str]") -> None:
    """On CPUs, the kernel of a scatter has loops over single elements, which call a function of math.h for each one.
    So a kernel with vectors stores the values that need such a function, once for all scatters. Cheap values are
    computed in the kernel of the scatter.
    """
    (fusion,) = fusions(text)
    for cpu, names in ((True, of_cpu), (False, of_gpu)):
        storage = nests.planned(fusion, schedule.PlanClass(cpu)).storage
        assert storage is not None and {value.name for value in storage.stored} == names, cpu


def reduces(lines: str, dims: str) -> str:
    """Return a module that adds up the values s = f32[256,256], which the lines compute from x, along dimensions."""
    left = ",".join("256" for d in "01" if d not in dims)
    return "\n  ".join(["sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\ne {",
                         "x = f32[256,256] parameter(0)", "zero = f32[] constant(0)", *lines.split("; "),
                         f"ROOT r = f32[{left}] reduce(s, zero), dimensions={{{dims}}}, to_apply=sum"]) + "\n}\n"


STENCIL = "p = f32[258,258] pad(x, zero), padding=1_1x1_1; l = f32[256,256] slice(p), slice={[0:256],[1:257]}; " \
    "m = f32[256,256] slice(p), slice={[1:257],[2:258]}; k = f32[256,256] subtract(l, m); s = f32[256,256] multiply(k, x)"
ROLLED = "l = f32[256,255] slice(x), slice={[0:256],[1:256]}; m = f32[256,1] slice(x), slice={[0:256],[0:1]}; " \
    "k = f32[256,256] concatenate(l, m), dimensions={1}; s = f32[256,256] multiply(k, x)"
ROLLED_ROWS = "l = f32[255,256] slice(x), slice={[1:256],[0:256]}; m = f32[1,256] slice(x), slice={[0:1],[0:256]}; " \
    "k = f32[256,256] concatenate(l, m), dimensions={0}; s = f32[256,256] multiply(k, x)"


@pytest.mark.parametrize("dims", ("0,1", "0", "1"))
@pytest.mark.parametrize("lines, of_cpu", ((STENCIL, {"p"}), (ROLLED, {"s"}), (ROLLED_ROWS, set())),
                         ids=("stencil", "rolled", "rolled rows"))
def test_sides_that_reduces_read(lines: str, of_cpu: "Set[str]", dims: str) -> None:
    """On CPUs, a reduce has loops over single elements if neighbours in memory may come from different sides of a pad or
    a concatenate. So another kernel stores these values, and the reduce has vectors.
    """
    (fusion,) = fusions(reduces(lines, dims))
    for cpu, names in ((True, of_cpu), (False, set())):
        storage = nests.planned(fusion, schedule.PlanClass(cpu)).storage
        assert storage is not None and {value.name for value in storage.stored} == names, cpu
    heroes = [choice.hero.name for _, choices, _ in pipeline.choices(fusion, "c", "cpu") for choice in choices]
    assert "reduction" in heroes


@pytest.mark.parametrize("target", ("c", "opencl", "cuda"))
def test_totals_that_scatters_read(target: str) -> None:
    """A kernel of rows stores the totals that only a later scatter reads. The proof of the program fails otherwise."""
    totals = "; ".join(("first = f32[20000] reduce(x, zero), dimensions={1}, to_apply=sum", "wide = f32[20000,16] broadcast(first), dimensions={0}",
                        "d = f32[20000,16] subtract(x, wide)", "total = f32[20000] reduce(d, zero), dimensions={1}, to_apply=sum",
                        "all = f32[20000,16] broadcast(total), dimensions={0}", "a = f32[20000,16] multiply(d, all)"))
    (fusion,) = fusions(scatters(totals, "a"))
    file = pipeline.target_file(fusion, target)
    assert file.storage.bytes >= 4 * 20000


def test_buffers_are_shared() -> None:
    """A chain of steps needs only two buffers: a step reads one and writes the other, and the next step overwrites the
    first one. One of the two is the result's own buffer, except in OpenCL.
    """
    (fusion,) = fusions(steps("f32", 12).replace("[64]", "[65536]").replace("[63]", "[65535]").replace("[1:64]", "[1:65536]"))
    assert len(nests.planned(fusion).nests) > 6
    for target, count in (("c", 1), ("opencl", 2)):
        assert pipeline.target_file(fusion, target).storage.bytes == count * 4 * 65536


def files() -> "Iterator[Tuple[str, hlo.Fusion]]":
    """Yield (file name, fusion) for the files of other projects that the generator accepts."""
    for path in sorted(PEER.glob("**/*.hlo")) if PEER.exists() else []:
        try:
            module = run.load(str(path), 1)
        except (hlo.HloError, run.RunError):
            continue
        for program in programs(module, True):    # ops on whole arrays have no plan, and calls in loops have other costs: these are left out
            if not program.whole.small and whole_of(program.whole.computation) is None:
                yield str(path.relative_to(PEER)), program.whole


def within(name: str, fusion: hlo.Fusion) -> int:
    """Check that, by the estimated time, the chosen plan is not slower than a plan that stores no value or all values.
    Return the number of values that may be stored.
    """
    computation, leaves = lower.lowered(replace(fusion, computation=element_loops.lowered(fusion.computation)))
    evaluations = storing.Evaluations(computation, leaves, {i for i in computation.instructions if plan.stops(i)})
    for cpu, costs in ((True, schedule.CPU_COSTS), (False, schedule.GPU_COSTS)):
        chosen = evaluations.chosen(costs)
        time = evaluations.nanoseconds(chosen, costs)
        assert time <= evaluations.nanoseconds(frozenset(), costs), f"{name}: storing nothing takes less"
        assert time <= evaluations.nanoseconds(frozenset(evaluations.candidates), costs), f"{name}: storing all takes less"
        storage = nests.planned(fusion, schedule.PlanClass(cpu)).storage
        if storage:
            assert {value.name for value in storage.stored} == {f.root.name for f in chosen if f.root}, name
    return len(evaluations.candidates)


@with_numpy
@pytest.mark.drawn
def test_bounds_of_drawn_graphs() -> None:
    """By the estimated time, the chosen plan is never slower than a plan that stores every value with several readers,
    and never slower than a plan that stores none.
    """
    counts = [within(f"graph{n}", *fusions(drawn(n)[0], f"graph{n}")) for n in range(COUNT)]
    assert sum(counts) > 2 * COUNT, "the graphs have too few values to choose from"


@pytest.mark.peer
@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
def test_bounds_of_files() -> None:
    assert sum(within(name, fusion) for name, fusion in files()) > 100
