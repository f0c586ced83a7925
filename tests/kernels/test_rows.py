"""Property: stages (loop nests) over the same rows, such as those of a softmax, agree with the reference, in one kernel
or several, on each class of device. Other tests check which stages share a kernel.
"""

from __future__ import annotations

import math
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import List, Sequence, Tuple

import pytest

from drawn import BATCH, COUNT, ON_CPUS, SEED, agree, decided, fusions, in_parts, in_turn, marked, of_part, plain, uncached, written_by
from gen_run import run
from gen.pipeline import build_all, choices, target_file
from gen.run import proofs
from gen.schedule import DEVICES

FLOATS = ["f32", "f32", "bf16", "f16", "f64"]
ROWS = [1, 3, 16, 17, 31, 64, 100, 128, 300, 515, 1023, 4097, 20011, 40001]
OUTER = [1, 2, 3, 5, 16, 17, 40]
MOST = 60000
COMBINE = """{op}_{t} {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT r = {t}[] {op}(a, b)
}}
"""
START = {"add": "0", "maximum": "-inf", "minimum": "inf"}

Value = Tuple[str, Sequence[int]]    # name, dims


class Text:
    """A module of one type, built line by line. stored: the type of its parameters and results, if different."""

    def __init__(self, dtype: str, dims: "Sequence[int]", gone: "Sequence[int]") -> None:
        self.dtype, self.dims, self.gone = dtype, list(dims), sorted(gone)
        self.kept = [k for k in range(len(dims)) if k not in gone]
        self.lines: "List[str]" = []
        self.parameters, self.stored = 0, dtype

    def emit(self, dims: "Sequence[int]", text: str, dtype: str = "") -> Value:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {plain(dtype or self.dtype, dims)} {text}")
        return name, list(dims)

    def parameter(self, dims: "Sequence[int]") -> Value:
        self.parameters += 1
        value = self.emit(dims, f"parameter({self.parameters - 1})", self.stored)
        return value if self.stored == self.dtype else self.op("convert", value)

    def op(self, opcode: str, *operands: Value) -> Value:
        return self.emit(operands[0][1], f"{opcode}({', '.join(name for name, _ in operands)})")

    def constant(self, value: str, dims: "Sequence[int]") -> Value:
        return self.emit(dims, f"broadcast({self.emit([], f'constant({value})')[0]}), dimensions={{}}")

    def reduce(self, of: Value, op: str) -> Value:
        start = self.emit([], f"constant({START[op]})")
        return self.emit([self.dims[k] for k in self.kept], f"reduce({of[0]}, {start[0]}), dimensions={{{','.join(map(str, self.gone))}}}, to_apply={op}_{self.dtype}")

    def down(self, of: Value, op: str) -> Value:
        """Reduce each column."""
        start = self.emit([], f"constant({START[op]})")
        return self.emit([self.dims[k] for k in self.gone], f"reduce({of[0]}, {start[0]}), dimensions={{{','.join(map(str, self.kept))}}}, to_apply={op}_{self.dtype}")

    def spread(self, of: Value, over: "Sequence[int] | None" = None) -> Value:
        """Broadcast a value to the dims of the module. over: the dimensions that the value has; by default it has one
        element per row.
        """
        return self.emit(self.dims, f"broadcast({of[0]}), dimensions={{{','.join(map(str, self.kept if over is None else over))}}}")

    def module(self, *results: Value) -> str:
        if self.stored != self.dtype:
            results = tuple(self.emit(dims, f"convert({name})", self.stored) for name, dims in results)
        types = ", ".join(plain(self.stored, dims) for _, dims in results)
        combiners = "".join(COMBINE.format(op=op, t=self.dtype) for op in START)
        return "HloModule rows\n\n" + combiners + "ENTRY e {\n" + "\n".join(self.lines) + f"\n  ROOT all = ({types}) tuple({', '.join(name for name, _ in results)})\n}}\n"


def softmax(dtype: str, dims: "Sequence[int]", gone: "Sequence[int]", log: bool = False) -> str:
    t = Text(dtype, dims, gone)
    x = t.parameter(dims)
    less = t.op("subtract", x, t.spread(t.reduce(x, "maximum")))
    e = t.op("exponential", less)
    total = t.reduce(e, "add")
    return t.module(t.op("subtract", less, t.spread(t.op("log", total))) if log else t.op("divide", e, t.spread(total)))


def norm(dtype: str, dims: "Sequence[int]", gone: "Sequence[int]", sides: bool = False) -> str:
    """Return a layer norm with weights. sides: also return its mean and variance."""
    t = Text(dtype, dims, gone)
    x, weights, bias = t.parameter(dims), t.parameter([dims[k] for k in gone]), t.parameter([dims[k] for k in gone])
    count = t.constant(str(math.prod(dims[k] for k in gone)), [dims[k] for k in t.kept])
    mean = t.op("divide", t.reduce(x, "add"), count)
    less = t.op("subtract", x, t.spread(mean))
    variance = t.op("divide", t.reduce(t.op("multiply", less, less), "add"), count)
    scale = t.op("rsqrt", t.op("add", variance, t.constant("1e-3", variance[1])))
    out = t.op("add", t.op("multiply", t.op("multiply", less, t.spread(scale)), t.spread(weights, gone)), t.spread(bias, gone))
    return t.module(*([out, mean, variance] if sides else [out]))


def rms(narrow: str, dims: "Sequence[int]") -> str:
    """Return an RMS norm of rows of a narrow type, computed in f32, as JAX models do."""
    rows, size = dims
    wide, small, row, one = plain("f32", dims), plain(narrow, dims), plain("f32", [rows]), plain(narrow, [size])
    return COMBINE.format(op="add", t="f32") + f"""ENTRY e {{
  x = {small} parameter(0)
  g = {one} parameter(1)
  w = {wide} convert(x)
  s = {wide} multiply(w, w)
  z = f32[] constant(0)
  t = {row} reduce(s, z), dimensions={{1}}, to_apply=add_f32
  k = f32[] constant({1 / size})
  n = {row} broadcast(k), dimensions={{}}
  m = {row} multiply(t, n)
  r = {row} rsqrt(m)
  b = {wide} broadcast(r), dimensions={{0}}
  y = {wide} multiply(w, b)
  c = {small} convert(y)
  h = {small} broadcast(g), dimensions={{1}}
  ROOT o = {small} multiply(c, h)
}}
"""


class Draw(Text):
    """A random chain of stages (loop nests) over the same rows, sometimes followed by ops on other rows."""

    def __init__(self, seed: int) -> None:
        self.r = r = random.Random(seed)
        while True:
            inner = r.choice([1, 1, 1, 2])
            dims = [r.choice(OUTER) for _ in range(r.choice([0, 1, 1, 1, 2, 2, 3]))] + [r.choice([2, 3, 8]) for _ in range(inner - 1)] + [r.choice(ROWS)]
            if math.prod(dims) <= MOST:
                break
        super().__init__(r.choice(FLOATS), dims, range(len(dims) - inner, len(dims)))
        if self.dtype in ("f32", "f64") and r.random() < 0.3:
            self.stored = r.choice(["bf16", "f16", "f32"])

    def of_row(self, value: Value) -> Value:
        r = self.r
        for _ in range(r.choice([0, 1, 2])):
            opcode = r.choice(["negate", "abs", "rsqrt", "log", "tanh", "add", "multiply"])
            value = self.op(opcode, value, self.constant(r.choice(["0.5", "-1.5", "3"]), value[1])) if opcode in ("add", "multiply") else self.op(opcode, value)
        if value[1] and r.random() < 0.1:     # each element now comes from another row or position
            value = self.emit(value[1], f"reverse({value[0]}), dimensions={{{r.randrange(len(value[1]))}}}")
        return value

    def fusion(self) -> str:
        r = self.r
        wide, rows = [self.parameter(self.dims)], []     # type: List[Value], List[Value]
        if r.random() < 0.4:
            wide.append(self.parameter(self.dims))
        if r.random() < 0.4:
            wide.append(self.spread(self.parameter([self.dims[k] for k in self.gone]), self.gone))
        for _ in range(r.choice([2, 2, 3, 4])):
            for _ in range(r.choice([0, 1, 2])):
                a = r.choice(wide)
                if rows and r.random() < 0.6:
                    a = self.op(r.choice(["subtract", "multiply", "add"]), a, self.spread(r.choice(rows)))
                wide.append(self.op(r.choice(["exponential", "tanh", "abs", "logistic"]), a) if r.random() < 0.5 else self.op(r.choice(["multiply", "add", "maximum"]), a, r.choice(wide)))
            rows.append(self.of_row(self.reduce(r.choice(wide[-3:]), r.choice(["add", "add", "maximum", "minimum"]))))
        results = [self.op(r.choice(["multiply", "subtract", "divide"]), r.choice(wide), self.spread(r.choice(rows))) for _ in range(r.choice([0, 1, 1, 2]))]
        results += r.sample(rows, r.choice([0, 1])) if results else rows[-2:]
        if self.kept:
            results += [self.down(value, r.choice(["add", "add", "maximum"])) for value in r.sample(wide, min(len(wide), r.choice([0, 0, 1, 2])))]
        return self.module(*results)


@pytest.mark.drawn
@pytest.mark.parametrize("first, target, device", in_turn(range(0, COUNT, BATCH)))
def test_drawn(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random chains agree with the reference. Every second batch has streaming stores and many rows per work-item."""
    if first // BATCH % 2:
        uncached(monkeypatch)
        if DEVICES[device].cpu:
            monkeypatch.setitem(DEVICES, device, replace(DEVICES[device], unit_items=1))
    agree({f"f{k}": Draw(SEED * 1000003 + k).fusion() for k in range(first, min(first + BATCH, COUNT))}, target, device, tmp_path)


# ---- the loop nests that share a kernel ----


TAKEN = {
    "long rows": (softmax("f32", [5, 4097], [1]), "a row at a time"),
    "short rows": (softmax("f32", [40, 128], [1]), "16 rows together"),
    "an odd number of short rows": (softmax("f32", [37, 100], [1], log=True), "16 rows together"),
    "few short rows": (norm("f32", [5, 33], [1]), "a row at a time"),
    "rows of two dimensions": (norm("f32", [3, 17, 4, 64], [2, 3], sides=True), "16 rows together"),
    "rows between others": (softmax("f32", [3, 5, 40, 48], [1, 3]), "16 rows together"),
    "pairs": (norm("bf16", [40, 1000], [1]), "pairs interleaved"),
    "bf16 in f32": (rms("bf16", [40, 1000]), "pairs interleaved"),
    "f16 in f32": (rms("f16", [37, 520]), "16 rows together"),
    "half": (softmax("f16", [20, 300], [1]), "16 rows together"),
    "double": (norm("f64", [18, 515], [1], sides=True), "a row at a time"),
}


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_taken(target: str, device: str, part: str, tmp_path: Path) -> None:
    for name, (text, how) in TAKEN.items():
        (fusion,) = fusions(text)
        found = target_file(fusion, target, device)
        assert [kernel.hero for kernel in found.kernels] == ["rows"] and how in found.kernels[0].loop.text(), f"{name}: {[(k.hero, k.loop.text()) for k in found.kernels]}"
        assert not found.storage.bytes, name
    agree({f"f{k}": text for k, (text, _) in enumerate(TAKEN.values())}, target, device, tmp_path, part)


def gradient(dtype: str, dims: "Sequence[int]", gone: "Sequence[int]", epilogue: bool = False) -> str:
    """Return the gradients of a layer norm. The gradient of the input needs totals of each row. The gradients of the
    weights and of the bias are sums over the rows.
    """
    t = Text(dtype, dims, gone)
    x, dy = t.parameter(dims), t.parameter(dims)
    weights = t.parameter([dims[k] for k in gone])
    g = t.op("multiply", dy, t.spread(weights, gone))
    less = t.op("subtract", x, t.spread(t.op("multiply", t.reduce(x, "add"), t.constant("0.001", [dims[k] for k in t.kept]))))
    scale = t.op("rsqrt", t.op("add", t.reduce(t.op("multiply", less, less), "add"), t.constant("1", [dims[k] for k in t.kept])))
    normal = t.op("multiply", less, t.spread(scale))
    along = t.op("multiply", t.reduce(t.op("multiply", g, normal), "add"), t.constant("0.001", scale[1]))
    dx = t.op("multiply", t.spread(scale), t.op("subtract", g, t.op("multiply", normal, t.spread(along))))
    down = [t.down(t.op("multiply", dy, normal), "add"), t.down(dy, "add")]
    return t.module(dx, *([t.op("negate", of) for of in down] if epilogue else down))


def stopped() -> str:
    """Return a fusion that needs a second pass: rows are scaled by their totals, the scaled columns are summed, and
    these sums scale the elements of the rows.
    """
    t = Text("f32", [64, 100], [1])
    x = t.parameter(t.dims)
    y = t.op("multiply", x, t.spread(t.reduce(x, "maximum")))
    return t.module(t.op("add", y, t.spread(t.down(y, "add"), [1])), t.op("subtract", y, t.spread(t.reduce(y, "add"))))


def regression(rows: int, length: int) -> str:
    """Return the gradient of a logistic regression: a function of each row's total scales the row, and rows are added."""
    t = Text("f32", [rows, length], [1])
    x, w = t.parameter(t.dims), t.parameter([length])
    weight = t.op("logistic", t.reduce(t.op("multiply", x, t.spread(w, [1])), "add"))
    return t.module(t.down(t.op("multiply", x, t.spread(weight)), "add"))


COLUMNS = {
    "long rows": (gradient("f32", [70, 1000], [1]), "a row at a time, 16 times"),
    "short rows": (gradient("f32", [96, 48], [1], epilogue=True), "16 rows together"),
    "an odd number of short rows": (gradient("f32", [37, 100], [1]), "a row at a time"),
    "one part": (gradient("f32", [15, 100], [1]), "a row at a time, 15 times"),
    "rows of two dimensions": (gradient("f32", [3, 16, 4, 40], [2, 3]), "16 rows together"),
    "pairs": (gradient("bf16", [48, 1000], [1], epilogue=True), "pairs interleaved"),
    "half": (gradient("f16", [33, 300], [1]), "a row at a time"),
    "double": (gradient("f64", [40, 515], [1]), "a row at a time"),
}


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_columns_in_the_pass_of_the_rows(target: str, device: str, part: str, tmp_path: Path) -> None:
    """The gradient of a norm is one pass over the rows, and a small kernel that adds the partial sums of the columns.
    """
    for name, (text, how) in of_part(COLUMNS.items(), part):
        (fusion,) = fusions(text)
        found = target_file(fusion, target, device)
        assert [kernel.hero for kernel in found.kernels] == ["rows", "reduction"] and how in found.kernels[0].loop.text(), f"{name}: {[(k.hero, k.loop.text()) for k in found.kernels]}"
        assert proofs.check(fusion) is None, name
    agree({f"f{k}": text for k, (text, _) in enumerate(COLUMNS.values())}, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_costly_totals_of_short_rows(target: str, device: str, tmp_path: Path) -> None:
    """Rows pass through the stages one at a time if their number is no multiple of 16. A function of a row's total is
    then not computed in vectors, which costs more than a second pass if the rows are short.
    """
    texts = {f"f{length}": regression(200, length) for length in (30, 510)}
    heroes = [written_by(fusion, target, device)[0] for text in texts.values() for fusion in fusions(text)]
    assert heroes == ["reduction", "rows"]
    agree(texts, target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_columns_apart(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If other kernels compute the sums of columns, the rows are still one kernel."""
    (fusion,) = fusions(stopped())
    assert written_by(fusion, target, device).count("rows") == 1
    monkeypatch.setitem(DEVICES, device, replace(DEVICES[device], rows_cpu=replace(DEVICES[device].rows_cpu, kept_bytes=4 << 10)))
    (fusion,) = fusions(COLUMNS["long rows"][0])
    found = target_file(fusion, target, device)
    assert [kernel.hero for kernel in found.kernels] == ["rows", "reduction"] and found.kernels[1].loop.kind == "columns"
    assert "bytes that stages keep" in found.kernels[0].report.refusals[0]
    agree({"stopped": stopped(), "apart": COLUMNS["long rows"][0]}, target, device, tmp_path)


LATE = {
    "long rows": (softmax("f32", [67, 1000], [1]), True),
    "an odd rest": (softmax("f32", [130, 1003], [1]), True),
    "short rows": (softmax("f32", [1072, 48], [1]), True),
    "an odd number of short rows": (softmax("f32", [1075, 48], [1]), False),
    "rows of two dimensions": (softmax("f32", [70, 3, 400], [1, 2]), True),
    "rows between others": (softmax("f32", [2, 5, 70, 320], [1, 3]), True),
    "half": (softmax("f16", [70, 600], [1]), True),
    "double": (softmax("f64", [70, 515], [1]), True),
    "pairs": (softmax("bf16", [70, 1000], [1]), True),
    "pairs of whole lines": (softmax("bf16", [70, 1024], [1]), False),
    "what is read again": (norm("f32", [70, 1000], [1]), False),
    "a row for each": (softmax("f32", [40, 1000], [1]), False),
}


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_last_stage_of_the_row_before(target: str, device: str, part: str, tmp_path: Path) -> None:
    """The last stage (loop over a row) can run together with the second to last stage of the next row, which overwrites
    the values of the row. Each result is computed just before the values that it reads are overwritten. If a result
    needs other values of its row too, the last stage runs separately.
    """
    for name, (text, late) in of_part(LATE.items(), part):
        (fusion,) = fusions(text)
        assert ("and the last stage of the row before" in target_file(fusion, target, device).text) == late, name
    agree({f"f{k}": text for k, (text, _) in enumerate(LATE.values())}, target, device, tmp_path, part)


def shifted(far: str) -> str:
    """Return elements of a row minus the maximum of another row."""
    t = Text("f32", [40, 64], [1])
    x = t.parameter(t.dims)
    e = t.op("exponential", t.op("subtract", x, t.spread(t.emit([40], far.format(t.reduce(x, "maximum")[0])))))
    return t.module(t.op("divide", e, t.spread(t.reduce(e, "add"))))


def both_ways() -> str:
    """Return a fusion that alternates between rows and columns. Sums of rows scale the elements, sums of the scaled
    columns scale the elements again, and then the rows are summed again.
    """
    t = Text("f32", [64, 64], [1])
    x = t.parameter(t.dims)
    scaled = t.op("multiply", x, t.spread(t.reduce(x, "add")))
    start = t.emit([], "constant(0)")
    down = t.emit([64], f"reduce({scaled[0]}, {start[0]}), dimensions={{0}}, to_apply=add_f32")
    again = t.op("multiply", scaled, t.spread(down, [1]))
    return t.module(t.op("subtract", again, t.spread(t.reduce(again, "add"))))


APART = {
    "of the row before": (shifted("reverse({}), dimensions={{0}}"), 2),
    "of the whole": (softmax("f32", [64, 64], [0, 1]), 3),
    "rows below a vector": (softmax("f32", [600, 15], [1]), 3),
    "columns between": (both_ways(), 3),
}


@pytest.mark.peer
def test_apart(tmp_path: Path) -> None:
    """A loop nest that needs totals of other rows, or results that another kernel computes for the row, has a separate
    kernel.
    """
    for name, (text, count) in APART.items():
        (fusion,) = fusions(text)
        made = written_by(fusion, "c")
        assert len(made) >= count, f"{name}: {made}"
    agree({f"f{k}": text for k, (text, _) in enumerate(APART.values())}, "c", "cpu", tmp_path)


def test_rows_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rows that do not fit in L2 are computed by several kernels."""
    text = softmax("f32", [8, 3000], [1])
    (fusion,) = fusions(text)
    assert len(decided(fusion, "c")) == 1
    monkeypatch.setitem(DEVICES, "cpu", replace(DEVICES["cpu"], rows_cpu=replace(DEVICES["cpu"].rows_cpu, held_bytes=16 << 10)))
    found = target_file(fusion, "c")
    assert [kernel.hero for kernel in found.kernels] == ["reduction", "reduction", "loop"]
    agree({"long": text}, "c", "cpu", tmp_path)


def test_kept_values_are_computed_once() -> None:
    """The exponentials of a softmax are kept for the next stage (loop over the row). The differences of a layer norm
    are cheap, so they are computed again.
    """
    (soft,), (layer,) = fusions(softmax("f32", [40, 4096], [1])), fusions(norm("f32", [40, 1024], [1]))
    kernel = target_file(soft, "opencl").kernels[0]
    assert [i.opcode for stage in kernel.nest.stages for i in stage.kept] == ["exponential"]
    assert target_file(soft, "opencl").text.count("= exp_floats(") == 1
    assert not any(stage.kept for stage in target_file(layer, "opencl").kernels[0].nest.stages)
    assert [i.opcode for stage in target_file(layer, "opencl").kernels[0].nest.stages for i in stage.row_values] == ["divide", "rsqrt"]


GPU_TAKEN = {
    "a warp holds several rows": (softmax("f32", [40, 128], [1]), "16 rows x 16 to fold"),
    "a block for a row": (softmax("f32", [40, 4096], [1]), "1 rows x 512 to fold"),
    "all threads for a row": (softmax("f32", [40, 8192], [1]), "1 rows x 1024 to fold, vec 4, 2 steps"),
    "an odd row": (softmax("f32", [40, 1000], [1], log=True), "to fold"),
    "not whole steps": (norm("f32", [33, 1023], [1], sides=True), "vec 1"),
    "bf16": (norm("bf16", [40, 1000], [1]), "vec 8"),
    "bf16 in f32": (rms("bf16", [40, 1000]), "vec 8"),
    "f16 in f32": (rms("f16", [37, 523]), "vec 1"),
    "half": (softmax("f16", [20, 300], [1]), "vec 4"),
    "double": (norm("f64", [18, 515], [1], sides=True), "to fold"),
    "rows of three": (softmax("f32", [7, 3], [1]), "to fold"),
}


@pytest.mark.parametrize("target, device", marked([("cuda-on-cpu", "sm_80"), ("opencl", "opencl-gpu")]))
def test_taken_on_a_gpu(target: str, device: str, tmp_path: Path) -> None:
    language = "cuda" if target == "cuda-on-cpu" else target
    for name, (text, how) in GPU_TAKEN.items():
        (fusion,) = fusions(text)
        loops = [grid.loop.text() for _, grid in decided(fusion, language, device)]
        assert written_by(fusion, language, device) == ["rows"] and how in loops[0], f"{name}: {loops}"
    agree({f"f{k}": text for k, (text, _) in enumerate(GPU_TAKEN.values())}, target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("nvcc"), reason="SKIP: no nvcc")
@pytest.mark.parametrize("name", sorted(GPU_TAKEN))
def test_compiled_rows_stay_in_registers(name: str, tmp_path: Path) -> None:
    """In kernels compiled by nvcc nothing is spilled and there is no local memory."""
    (fusion,) = fusions(GPU_TAKEN[name][0])
    build_all(fusion, str(tmp_path), ["cuda"], "sm_90")
    done = subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", "e.cubin", "e.cu"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", done.stderr)) == {("0", "0")}, done.stderr


def test_explained() -> None:
    """`explain` states the bytes of memory traffic per element, the number of registers that hold a row, and the bytes
    of shared memory.
    """
    (fusion,) = fusions(softmax("f32", [40, 4096], [1]))
    ((_, (choice,), context),) = choices(fusion, "cuda", "sm_80")
    lines = [choice.grids[0].loop.text(), *choice.hero.describe(choice, choice.grids[0], context)]
    assert "16 registers hold a row" in lines[0] and "memory: 8 bytes an element of the rows" in lines and "shared: 136 bytes of a block" in lines, lines


def test_writes_are_proved() -> None:
    """The proof that each element is written once passes for a kernel of several stages (loop nests). It fails if a
    write of one stage is removed.
    """
    (fusion,) = fusions(norm("f32", [40, 64], [1], sides=True))
    assert proofs.check(fusion) is None
    from gen.plan.nests import planned
    (nest,) = planned(fusion).nests
    del nest.stages[-1].writes[0]
    places = proofs.places(fusion, [nest])
    assert "result r0: 0 of" in (proofs.written_once([nest], places) or "")


@pytest.mark.parametrize("kind, outer, size", [pytest.param("long", 2, 1000000, marks=pytest.mark.peer), pytest.param("mixed", 64, 4096, marks=pytest.mark.peer)])
def test_as_accurate_as_xla(kind: str, outer: int, size: int, tmp_path: Path) -> None:
    """Softmax and norms are about as accurate as XLA's, for long rows and for rows of small or large magnitudes. Both
    errors depend on chance, so ours may be a quarter larger.
    """
    try:
        import jax
        import jax.numpy as jnp
        import numpy as np
    except ImportError:
        pytest.skip("SKIP: no jax")

    def functions(x, of, rsqrt):    # type: ignore[no-untyped-def]
        e, below = of.exp(x - of.max(x, -1, keepdims=True)), x - of.mean(x, -1, keepdims=True)
        return (e / of.sum(e, -1, keepdims=True), below * rsqrt(of.mean(below * below, -1, keepdims=True) + 1e-5),
                x * rsqrt(of.mean(x * x, -1, keepdims=True) + 1e-6))

    draw = np.random.default_rng(1)
    x = draw.normal(0, 2, (outer, size))
    x = (x if kind == "long" else x * np.exp(draw.uniform(-15, 3, x.shape))).astype(np.float32)
    compute = jax.jit(lambda x: functions(x, jnp, jax.lax.rsqrt))
    wanted = functions(x.astype(np.float64), np, lambda v: 1 / np.sqrt(v))
    ours = run(compute.lower(x).compiler_ir("hlo").as_hlo_text(), [x.tobytes()], "c", tmp_path)
    for name, want, found, xla in zip(("softmax", "layer norm", "RMS norm"), wanted, ours, compute(x)):
        def error(y: np.ndarray) -> float:
            return float(np.sqrt(np.mean(np.square((y - want) / np.abs(want).max(-1, keepdims=True)))))
        errors = error(np.frombuffer(found, np.float32).reshape(x.shape)), error(np.asarray(xla))
        print(name, *errors)
        assert errors[0] <= 1.25 * errors[1], (name, errors)
