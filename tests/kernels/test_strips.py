"""Property: a product whose rows are then reduced is computed in strips of rows and agrees with the reference. This
covers attention with any mask, grouped heads, one query or many, batches and orders of dimensions, and softmax and
layer norm of a product's rows.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Dict, List

import pytest

from drawn import BATCH, COUNT, ON_CPUS, SEED, agree, fusions, in_parts, in_turn, marked, of_part, plain, written_by
from gen import schedule
from gen.heroes.small_products_cpu import SmallProductsSchedule
from gen.pipeline import target_file
from gen.plan import nests
from gen.plan.strips import Strips
from gen.program import parts
from gen.schedule import DEVICES

LARGER = "larger {\n  a = T[] parameter(0)\n  b = T[] parameter(1)\n  ROOT m = T[] maximum(a, b)\n}\n"
SUM = "sum {\n  a = T[] parameter(0)\n  b = T[] parameter(1)\n  ROOT s = T[] add(a, b)\n}\n"


class Text:
    """A module, built line by line."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.parameters = dtype, 0
        self.lines: List[str] = []

    def add(self, name: str, dims: "List[int]", op: str, dtype: str = "") -> str:
        self.lines.append(f"  {name} = {plain(dtype or self.dtype, dims)} {op}")
        return name

    def parameter(self, name: str, dims: "List[int]") -> str:
        self.parameters += 1
        return self.add(name, dims, f"parameter({self.parameters - 1})")

    def splat(self, name: str, dims: "List[int]", value: str) -> str:
        self.add(f"{name}_0", [], f"constant({value})")
        return self.add(name, dims, f"broadcast({name}_0), dimensions={{}}")

    def softmax(self, x: str, dims: "List[int]", last: str = "divide(exp, sums)") -> str:
        kept = ",".join(str(d) for d in range(len(dims) - 1))
        self.add("least", [], "constant(-inf)")
        self.add("zero", [], "constant(0)")
        self.add("top", dims[:-1], f"reduce({x}, least), dimensions={{{len(dims) - 1}}}, to_apply=larger")
        self.add("tops", dims, f"broadcast(top), dimensions={{{kept}}}")
        self.add("from_top", dims, f"subtract({x}, tops)")
        self.add("exp", dims, "exponential(from_top)")
        self.add("sum_", dims[:-1], f"reduce(exp, zero), dimensions={{{len(dims) - 1}}}, to_apply=sum")
        self.add("sums", dims, f"broadcast(sum_), dimensions={{{kept}}}")
        return self.add("weights", dims, last)

    def module(self, name: str) -> str:
        lines = [*self.lines[:-1], self.lines[-1].replace("  ", "  ROOT ", 1)]
        return "\n".join([f"HloModule {name}\n", LARGER, SUM, "ENTRY e {", *lines, "}\n"]).replace("T[]", f"{self.dtype}[]")


def attention(seed: int) -> str:
    """Return a random attention."""
    r = random.Random(seed)
    text = Text(r.choice(["f32", "f32", "f32", "f64"]))
    batch, heads, groups = r.choice([1, 1, 2]), r.choice([1, 2, 3]), r.choice([1, 1, 2])
    queries, keys = r.choice([1, 2, 8, 13, 16, 24, 32, 48]), r.choice([16, 17, 31, 32, 48, 65, 96, 128])
    size, out = r.choice([8, 16, 20]), r.choice([8, 16, 17, 24])
    late = r.random() < 0.3    # as in jax.nn, the dimension of queries precedes the dimension of heads

    def operand(name: str, length: int, size: int, heads: int) -> str:
        dims = [batch, heads, length, size]
        if not late:
            return text.parameter(name, dims)
        text.parameter(f"{name}_late", [batch, length, heads, size])
        return text.add(name, dims, f"transpose({name}_late), dimensions={{0,2,1,3}}")

    operand("q_all", queries, size, heads * groups)
    q = text.add("q", [batch, heads, groups, queries, size], "reshape(q_all)")
    k, v = operand("k", keys, size, heads), operand("v", keys, out, heads)
    words = "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}"
    dims = [batch, heads, groups, queries, keys]
    last = text.add("scores", dims, f"dot({q}, {k}), {words}, lhs_contracting_dims={{4}}, rhs_contracting_dims={{3}}")
    if r.random() < 0.7:
        text.splat("scale", dims, str(size ** -0.5))
        last = text.add("scaled", dims, f"multiply({last}, scale)")
    mask = r.choice(["", "added", "causal", "causal"])
    if mask == "added":
        text.parameter("mask", [queries, keys])
        text.add("masks", dims, "broadcast(mask), dimensions={3,4}")
        last = text.add("masked", dims, f"add({last}, masks)")
    elif mask:
        text.add("i", dims, "iota(), iota_dimension=3", "s32")
        text.add("j", dims, "iota(), iota_dimension=4", "s32")
        text.add("seen", dims, "compare(i, j), direction=GE", "pred")
        text.splat("low", dims, r.choice(["-inf", "-1e30"]))
        last = text.add("masked", dims, f"select(seen, {last}, low)")
    weights = text.softmax(last, dims)
    values = [batch, heads, groups, queries, out]
    text.add("y", values, f"dot({weights}, {v}), {words}, lhs_contracting_dims={{4}}, rhs_contracting_dims={{2}}")
    if late:
        text.add("joined", [batch, heads * groups, queries, out], "reshape(y)")
        text.add("turned", [batch, queries, heads * groups, out], "transpose(joined), dimensions={0,2,1,3}")
    return text.module(f"a{seed}")


def masked(seed: int) -> str:
    """Return a random attention in which a mask discards whole blocks of scores. Some values and keys are not finite,
    most of them where the mask discards their scores. Indices of 8 bits may wrap around.
    """
    r = random.Random(seed)
    text, index = Text(r.choice(["f32", "f32", "f64"])), r.choice(["s32", "s32", "s32", "s64", "s8", "u8"])
    length = r.choice([64, 96, 128]) if "8" not in index else r.choice([64, 160, 272])
    heads, size = r.choice([1, 2]), r.choice([8, 16, 20])
    dims, words = [heads, length, length], "lhs_batch_dims={0}, rhs_batch_dims={0}"
    text.parameter("q", [heads, length, size])
    for name, kept in (("k", [heads, length, size]), ("v", [heads, length, 16])):
        last = text.parameter(f"{name}0", kept)
        if r.random() < 0.6:
            text.add(f"{name}_at", kept, "iota(), iota_dimension=1", "s32")
            text.splat(f"{name}_bad", kept, r.choice(["inf", "-inf", "nan"]))
            text.lines.append(f"  {name}_place = s32[] constant({r.randrange(length)})")
            text.add(f"{name}_places", kept, f"broadcast({name}_place), dimensions={{}}", "s32")
            text.add(f"{name}_is", kept, f"compare({name}_at, {name}_places), direction=EQ", "pred")
            last = text.add(f"{name}1", kept, f"select({name}_is, {name}_bad, {last})")
        text.add(name, kept, f"copy({last})")
    text.add("scores", dims, f"dot(q, k), {words}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}")
    shared = random.Random(~seed).random() < 0.5    # all heads share the mask; another kernel may compute it
    pairs = dims[1:] if shared else dims    # of queries and keys
    text.add("i", pairs, f"iota(), iota_dimension={len(pairs) - 2}", index)
    text.add("j", pairs, f"iota(), iota_dimension={len(pairs) - 1}", index)
    text.lines.append(f"  distance = {index}[] constant({r.choice([0, 0, 3, 5 if index == 'u8' else -5, 17])})")
    text.add("distances", pairs, "broadcast(distance), dimensions={}", index)
    text.add("later", pairs, "add(i, distances)", index)
    seen = text.add("near", pairs, f"compare(later, j), direction={r.choice(['GE', 'GE', 'GE', 'GT', 'LE', 'LT'])}", "pred")
    if r.random() < 0.3:    # keys with an index below `distance`, which may be negative, are masked
        text.add("late", pairs, "compare(j, distances), direction=GE", "pred")
        seen = text.add("both_late", pairs, f"and({seen}, late)", "pred")
    if r.random() < 0.3:    # a window: keys that are 30 or more positions before the query are masked
        text.splat("width", pairs, "30")
        text.lines[-2:] = [line.replace(f"{text.dtype}[", f"{index}[") for line in text.lines[-2:]]
        text.add("end", pairs, "add(j, width)", index)
        text.add("inside", pairs, "compare(i, end), direction=LT", "pred")
        seen = text.add("both", pairs, f"and({seen}, inside)", "pred")
    if r.random() < 0.3:
        seen = text.add("unseen", pairs, f"not({seen})", "pred")
    if shared:
        seen = text.add(f"{seen}_of_all", dims, f"broadcast({seen}), dimensions={{1,2}}", "pred")
    text.splat("low", dims, r.choice(["-inf", "-1e30"]))
    text.add("masked", dims, f"select({seen}, low, scores)" if seen.startswith("unseen") else f"select({seen}, scores, low)")
    weights = text.softmax("masked", dims)
    text.add("y", [heads, length, 16], f"dot({weights}, v), {words}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}")
    return text.module(f"m{seed}")


def by_keys(queries: int, keys: int, dtype: str = "f32") -> str:
    """Return attention without a mask."""
    text = Text(dtype)
    q, k, v = (text.parameter(name, [length, 64]) for name, length in (("q", queries), ("k", keys), ("v", keys)))
    text.add("scores", [queries, keys], f"dot({q}, {k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}")
    weights = text.softmax("scores", [queries, keys])
    text.add("y", [queries, 64], f"dot({weights}, {v}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
    return text.module("e")


def values_first(layout: str = "{2,1,0}") -> str:
    """Return attention as jax.nn prints it: the values are the first operand of the second product, and its result is
    transposed. layout: the result's layout.
    """
    text = Text("f32")
    q, k, v = (text.parameter(name, [length, 2, 64]) for name, length in (("q", 96), ("k", 128), ("v", 128)))
    dims = [2, 96, 128]
    words = "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}"
    weights = text.softmax(text.add("scores", dims, f"dot({q}, {k}), {words}"), dims)
    words = "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={2}"
    text.add("d", [2, 64, 96], f"dot({v}, {weights}), {words}")
    text.add("y", [96, 2, 64], "transpose(d), dimensions={2,0,1}")
    text.lines[-1] = text.lines[-1].replace("[96,2,64]{2,1,0}", f"[96,2,64]{layout}")
    return text.module("e")


def multi_query() -> str:
    """Return attention in which all heads share the keys and values, as JAX prints it: the scores have the layout of
    the product that computes them, in which heads are contiguous.
    """
    text = Text("f32")
    q, k, v = (text.parameter(name, dims) for name, dims in (("q", [96, 4, 64]), ("k", [128, 64]), ("v", [128, 64])))
    text.add("d", [128, 96, 4], f"dot({k}, {q}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{2}}")
    weights = text.softmax(text.add("scores", [4, 96, 128], "transpose(d), dimensions={2,1,0}"), [4, 96, 128])
    text.add("o", [64, 4, 96], f"dot({v}, {weights}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{2}}")
    text.add("y", [96, 4, 64], "transpose(o), dimensions={2,1,0}")
    return text.module("e").replace("[4,96,128]{2,1,0}", "[4,96,128]{0,1,2}").replace("[96,4,64]{2,1,0} transpose", "[96,4,64]{0,1,2} transpose")


def biased() -> str:
    """Return attention of four heads with a bias whose heads are contiguous, as a table of relative positions has it."""
    text, dims = Text("f32"), [2, 4, 96, 128]
    q, k, v = (text.parameter(name, [2, 4, length, 64]) for name, length in (("q", 96), ("k", 128), ("v", 128)))
    text.parameter("table", [96, 128, 4])
    text.add("of_heads", dims[1:], "transpose(table), dimensions={2,0,1}")
    text.add("bias", dims, "broadcast(of_heads), dimensions={1,2,3}")
    words = "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}"
    text.add("scores", dims, f"dot({q}, {k}), {words}, rhs_contracting_dims={{3}}")
    weights = text.softmax(text.add("moved", dims, "add(scores, bias)"), dims)
    text.add("y", [2, 4, 96, 64], f"dot({weights}, {v}), {words}, rhs_contracting_dims={{2}}")
    return text.module("e")


def projected() -> str:
    """Return attention with a separate softmax, in which the values are computed after the scores."""
    text = Text("f32")
    x, size = text.parameter("x", [64, 64]), 64
    text.softmax(x, [64, 64])
    text.lines = [line.replace("weights", "x0") for line in text.lines]
    for name in "qkv":
        text.parameter(f"w{name}", [size, size])
    product = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    for name in "qk":
        text.add(name, [64, size], f"dot(x0, w{name}), {product}")
    text.add("scores", [64, 64], "dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}")
    kept = len(text.lines)
    text.softmax("scores", [64, 64], "multiply(exp, sums)")
    again = text.lines[kept:]
    for name in ("least", "zero", "tops", "top", "from_top", "exp", "sum_", "sums"):
        again = [re.sub(rf"\b{name}\b", f"{name}2", line) for line in again]
    text.lines = [*text.lines[:kept], *again[:-1]]
    text.add("v", [64, size], f"dot(x0, wv), {product}")
    text.lines.append(again[-1])
    text.add("y", [64, size], f"dot(weights, v), {product}")
    return text.module("e")


def by_rows(kind: str, m: int, n: int, k: int) -> str:
    """Return a product with a bias, followed by reductions of its rows."""
    text = Text("f32")
    text.parameter("x", [m, k])
    text.parameter("w", [k, n])
    text.parameter("b", [n])
    text.add("d", [m, n], "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    text.add("bs", [m, n], "broadcast(b), dimensions={1}")
    text.add("h", [m, n], "add(d, bs)")
    if kind == "softmax":
        text.softmax("h", [m, n])
        return text.module("e")
    text.splat("size", [m], str(float(n)))
    text.add("zero", [], "constant(0)")
    if kind == "sums":
        text.add("y", [m], "reduce(h, zero), dimensions={1}, to_apply=sum")
        return text.module("e")
    if kind == "maximum":       # with an epilogue
        text.add("top", [m], "reduce(h, zero), dimensions={1}, to_apply=larger")
        text.add("y", [m], "divide(top, size)")
        return text.module("e")
    text.add("total", [m], "reduce(h, zero), dimensions={1}, to_apply=sum")
    text.add("mean", [m], "divide(total, size)")
    text.add("means", [m, n], "broadcast(mean), dimensions={0}")
    text.add("c", [m, n], "subtract(h, means)")
    text.add("c2", [m, n], "multiply(c, c)")
    text.add("total2", [m], "reduce(c2, zero), dimensions={1}, to_apply=sum")
    text.add("variance", [m], "divide(total2, size)")
    text.splat("least", [m], "1e-5")
    text.add("more", [m], "add(variance, least)")
    text.add("root", [m], "rsqrt(more)")
    text.add("roots", [m, n], "broadcast(root), dimensions={0}")
    text.add("y", [m, n], "multiply(c, roots)")
    return text.module("e")


def reduced(seed: int) -> str:
    """Return a random product, usually followed by a reduction of its rows. Batches, orders of dimensions, and the ops
    before and after the reduction vary.
    """
    r = random.Random(seed)
    text = Text(r.choice(["f32", "f32", "f64", "bf16"]))
    batch, m, n, k = r.choice([1, 1, 2, 3]), r.choice([1, 4, 7, 16, 24, 50, 96]), r.choice([16, 17, 33, 64, 130, 200]), r.choice([8, 20, 64])
    turned = r.random() < 0.3
    text.parameter("x", [batch, m, k])
    text.parameter("w", [batch, n, k] if turned else [batch, k, n])
    last = text.add("d", [batch, m, n], f"dot(x, w), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{{1 + turned}}}")
    if r.random() < 0.5:
        text.parameter("b", [m, n])
        text.add("bs", [batch, m, n], "broadcast(b), dimensions={1,2}")
        last = text.add("h", [batch, m, n], f"{r.choice(['add', 'multiply', 'maximum'])}({last}, bs)")
    over = r.choice([(2,), (2,), (2,), (1,), (1, 2)])
    dims = [size for d, size in enumerate((batch, m, n)) if d not in over]
    text.add("start", [], "constant(0)")
    text.add("t", dims, f"reduce({last}, start), dimensions={{{','.join(map(str, over))}}}, to_apply={r.choice(['sum', 'larger'])}")
    text.add("y", dims, f"{r.choice(['negate', 'abs', 'exponential'])}(t)")
    return text.module(f"r{seed}")


def by_pixels(lines: int, pixels: int) -> str:
    """Return the softmax over the features of a padded convolution."""
    text, dims = Text("f32"), [2, lines, pixels, 32]
    text.parameter("x", [2, lines, pixels, 8])
    text.parameter("w", [3, 3, 8, 32])
    text.add("c", dims, "convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
    text.softmax("c", dims)
    return text.module("e")


def drawn(first: int, count: int) -> "Dict[str, str]":
    return {f"a{seed}": attention(seed) for seed in range(first, first + count)}


def strips_of(text: str, device: str = "cpu") -> "List[Strips]":
    return [nest for fusion in fusions(text) for nest in nests.planned(fusion, DEVICES[device].plan_class).nests
            if isinstance(nest, Strips)]


ATTENTIONS = in_turn(range(SEED * 1000, SEED * 1000 + COUNT * BATCH, BATCH))


@pytest.mark.parametrize("first, target, device", ATTENTIONS)
def test_drawn(first: int, target: str, device: str, tmp_path: Path) -> None:
    agree(drawn(first, BATCH), target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", ATTENTIONS)
def test_drawn_reductions(first: int, target: str, device: str, tmp_path: Path) -> None:
    agree({f"r{seed}": reduced(seed) for seed in range(first, first + BATCH)}, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", [
    pytest.param(*param.values, marks=param.marks if param.values[1] == "c" else pytest.mark.peer)
    for param in ATTENTIONS if param.values[1:] in ON_CPUS])
def test_short_strips(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices, cut into several strips like large ones, agree with the reference."""
    numbers = DEVICES[device]
    assert numbers.panels
    panels = numbers.panels._replace(least_steps=1, filled_steps=1, strip_rows=8, least_strip_rows=1)
    monkeypatch.setitem(schedule.DEVICES, device, replace(numbers, panels=panels))
    texts = drawn(first + 500, BATCH)
    assert any(strips.count > 1 for text in texts.values() for strips in strips_of(text, device))
    agree(texts, target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.parametrize("first, target, device", [
    pytest.param(*param.values, marks=param.marks if param.values[1] == "c" else pytest.mark.peer)
    for param in ATTENTIONS if param.values[1:] in ON_CPUS])
def test_masked_blocks(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention with a mask agrees with the reference, although kernels skip two things: blocks of scores that the mask
    discards, and chunks of the second sum whose weights are zero. This holds where keys and values are not finite, too.
    """
    numbers = DEVICES[device]
    assert numbers.panels
    panels = numbers.panels._replace(least_steps=1, filled_steps=1, strip_rows=8, least_strip_rows=1)
    product = replace(numbers.contraction_cpu, chunk=16, far_chunk=16)
    monkeypatch.setitem(schedule.DEVICES, device, replace(numbers, panels=panels, contraction_cpu=product))
    texts = {f"m{seed}": masked(seed) for seed in range(first, first + 2 * BATCH)}
    kernels = [part for text in texts.values() for fusion in fusions(text)
               for kernel in target_file(fusion, target, device).kernels for part in kernel.sections]
    long = [text for text in texts.values() if ",64,64]" not in text]      # a row of 64 scores is a single block
    assert sum(bool(getattr(part.text.record, "discarded", [])) for part in kernels) > len(long) // 4
    assert target != "c" or any(getattr(part.text.record, "masked", "") for part in kernels)
    agree(texts, target, device, tmp_path)


@in_parts
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_attention_is_one_kernel(target: str, device: str, part: str) -> None:
    """Most random attentions are one kernel, and no buffer holds the scores."""
    texts = of_part(drawn(0, 40).values(), part)
    files = [target_file(fusion, target, device) for text in texts for fusion in fusions(text)]
    found = [kernel for file in files for kernel in file.kernels if kernel.hero == "strips"]
    assert len(found) > len(texts) // 2
    assert not any(buffer in kernel.nest.between for kernel in found for buffer in kernel.buffers)
    # each matrix is computed in two strips (blocks of rows), and the products in several panels
    assert [strips.count for strips in strips_of(by_keys(96, 128))] == [2] and [
        strips.count for strips in strips_of(by_keys(80, 192))] == [2]
    # if the values have few columns, a separate kernel multiplies them as small matrices
    small = [kernel for file in files if any(isinstance(kernel.loop, SmallProductsSchedule) for kernel in file.kernels)
             for kernel in file.kernels]
    assert all(len(kernel.sections) == (2 if kernel in small else 3) for kernel in found)


def test_the_order_of_the_reader() -> None:
    """The scores are stored in the order in which the second product reads them, so no kernel transposes them or the
    results.
    """
    (fusion,) = fusions(values_first())
    assert written_by(fusion, "c", "cpu") == ["transpose", "strips"]


def test_the_result_is_transposed() -> None:
    """If the result has the layout of the second product, the result is transposed, and not the larger weights."""
    (fusion,) = fusions(values_first("{0,2,1}"))
    assert written_by(fusion, "c", "cpu") == ["transpose", "strips", "transpose"]


def test_rows_of_the_softmax_are_contiguous() -> None:
    """The scores are stored in the order of the softmax's rows, not in the layout that their product has in the text."""
    (fusion,) = fusions(multi_query())
    assert written_by(fusion, "c", "cpu") == ["transpose", "strips", "transpose"]


def test_rows_of_a_bias_are_contiguous() -> None:
    """A bias whose rows are not contiguous is copied once, so that attention remains one kernel."""
    (fusion,) = fusions(biased())
    assert written_by(fusion, "c", "cpu")[-1] == "strips"


def test_a_product_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loop nests are computed together, in strips (blocks of rows), although an unrelated product comes between them in
    the text. The results of a later nest are compared separately.
    """
    monkeypatch.setattr(parts, "MOST_TOGETHER", 1)
    (fusion,) = fusions(projected())
    plan = nests.planned(fusion, DEVICES["cpu"].plan_class)
    assert sum(isinstance(nest, Strips) for nest in plan.nests) == 1
    assert any(part.fusion.name.endswith("x0") for part in parts.parts_of(fusion, plan))


NAMED = {"softmax": by_rows("softmax", 96, 64, 20), "norm": by_rows("norm", 50, 130, 24),
         "sums": by_rows("sums", 96, 64, 20), "maximum": by_rows("maximum", 50, 130, 24), "sums_of_few": by_rows("sums", 7, 130, 24),
         "pixels": by_pixels(5, 14), "in_panels": by_keys(96, 128), "of_bf16": by_keys(96, 128, "bf16"),
         "of_f16": by_keys(96, 128, "f16"), "values_first": values_first(), "projected": projected(),
         "values_first_as_stored": values_first("{0,2,1}"), "multi_query": multi_query(), "biased": biased()}


@pytest.mark.parametrize("name, rows", [("softmax", 96), ("norm", 50), ("sums", 96), ("maximum", 50), ("sums_of_few", 7), ("pixels", 140)])
def test_rows_of_a_product(name: str, rows: int) -> None:
    (strips,) = strips_of(NAMED[name])
    assert len(strips.parts) == 2 and strips.count * strips.rows == rows and (strips.count > 1 or rows < 8)


@in_parts
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_named(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text.replace("HloModule e", f"HloModule {name}") for name, text in NAMED.items()}, target, device,
          tmp_path, part)
