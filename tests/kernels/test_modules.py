"""Test whole modules through `gen run`, against values computed here: calls, nested fusions, several fusions, and tuples
in tuples. A transformer block is also tested through `gen check`.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence

import pytest

from gen import explain, hlo, pipeline
from gen.run import Options
from gen_run import gen, run

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("opencl", "c", "cuda-on-cpu")

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""

# A module as a frontend prints it: no fusions, but calls inside calls, one of them inside a reducer. The results of
# calls have default layouts, whatever the layouts of the operands.
UNOPTIMISED = """HloModule jit_f, entry_computation_layout={(f32[4,6]{0,1}, f32[6]{0})->(f32[4,6]{1,0}, (f32[4]{0}, f32[24]{0}))}

_plus.1 {
  Arg_0.2 = f32[] parameter(0)
  Arg_1.3 = f32[] parameter(1)
  ROOT add.4 = f32[] add(Arg_0.2, Arg_1.3)
}

region_0.5 {
  Arg_0.6 = f32[] parameter(0)
  Arg_1.7 = f32[] parameter(1)
  ROOT call.8 = f32[] call(Arg_0.6, Arg_1.7), to_apply=_plus.1
}

relu.9 {
  Arg_0.10 = f32[4,6]{1,0} parameter(0)
  constant.11 = f32[] constant(0)
  broadcast.12 = f32[4,6]{1,0} broadcast(constant.11), dimensions={}
  ROOT maximum.13 = f32[4,6]{1,0} maximum(Arg_0.10, broadcast.12)
}

norm.14 {
  Arg_0.15 = f32[4,6]{1,0} parameter(0)
  call.16 = f32[4,6]{1,0} call(Arg_0.15), to_apply=relu.9
  constant.17 = f32[] constant(0)
  reduce.18 = f32[4]{0} reduce(call.16, constant.17), dimensions={1}, to_apply=region_0.5
  bitcast.19 = f32[24]{0} bitcast(call.16)
  tuple.20 = (f32[4]{0}, f32[24]{0}) tuple(reduce.18, bitcast.19)
  ROOT tuple.21 = (f32[4,6]{1,0}, (f32[4]{0}, f32[24]{0})) tuple(call.16, tuple.20)
}

ENTRY main.22 {
  Arg_0.23 = f32[4,6]{0,1} parameter(0)
  Arg_1.24 = f32[6]{0} parameter(1)
  reshape.25 = f32[1,6]{1,0} reshape(Arg_1.24)
  broadcast.26 = f32[1,6]{1,0} broadcast(reshape.25), dimensions={0,1}
  reshape.27 = f32[6]{0} reshape(broadcast.26)
  broadcast.28 = f32[4,6]{0,1} broadcast(reshape.27), dimensions={1}
  add.29 = f32[4,6]{0,1} add(Arg_0.23, broadcast.28)
  ROOT call.30 = (f32[4,6]{1,0}, (f32[4]{0}, f32[24]{0})) call(add.29), to_apply=norm.14
}
"""


def floats(data: bytes) -> List[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def packed(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


@pytest.mark.parametrize("target", TARGETS)
def test_unoptimised(target: str, tmp_path: Path) -> None:
    """An ENTRY without fusions becomes one fusion. The bitcast flattens the callee's rows, although the caller's buffer
    is column-major.
    """
    assert [f.name for f in hlo.fusions(hlo.parse(UNOPTIMISED, "m.hlo"))] == ["m"]
    x = [[(7 * i + 5 * j) % 11 - 5.0 for j in range(6)] for i in range(4)]
    b = [0.5 * j - 1 for j in range(6)]
    y = [max(x[i][j] + b[j], 0.0) for i in range(4) for j in range(6)]
    whole, sums, flat = run(UNOPTIMISED, [packed([x[i][j] for j in range(6) for i in range(4)]), packed(b)], target, tmp_path)
    assert floats(whole) == y and floats(flat) == y
    assert floats(sums) == [sum(y[6 * i:6 * i + 6]) for i in range(4)]


# A called computation with two fusions, one of them used twice; a fusion in a fusion in a fusion; a copy and a reduce
# next to fusions; tuples in tuples as parameter and result; one parameter that is returned unchanged.
SEVERAL = ADD + """inner {
  p = f32[2,3]{1,0} parameter(0)
  q = (f32[3,2]{1,0}, f32[6]{0}) parameter(1)
  a = f32[3,2]{1,0} get-tuple-element(q), index=0
  b = f32[6]{0} get-tuple-element(q), index=1
  t = f32[2,3]{1,0} transpose(a), dimensions={1,0}
  r = f32[2,3]{1,0} reshape(b)
  s = f32[2,3]{1,0} add(p, t)
  m = f32[2,3]{1,0} multiply(s, r)
  pair = (f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(s, m)
  ROOT all = ((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[6]{0}) tuple(pair, b)
}
middle {
  p = f32[2,3]{1,0} parameter(0)
  q = (f32[3,2]{1,0}, f32[6]{0}) parameter(1)
  n = f32[2,3]{1,0} negate(p)
  ROOT f = ((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[6]{0}) fusion(n, q), kind=kLoop, calls=inner
}
outer {
  p = f32[2,3]{1,0} parameter(0)
  q = (f32[3,2]{1,0}, f32[6]{0}) parameter(1)
  f = ((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[6]{0}) fusion(p, q), kind=kLoop, calls=middle
  g = (f32[2,3]{1,0}, f32[2,3]{1,0}) get-tuple-element(f), index=0
  s = f32[2,3]{1,0} get-tuple-element(g), index=0
  e = f32[2,3]{1,0} negate(s)
  ROOT r = ((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0}) tuple(g, e)
}
twice {
  p = f32[2,3]{1,0} parameter(0)
  ROOT d = f32[2,3]{1,0} add(p, p)
}
commands {
  p = f32[2,3]{0,1} parameter(0)
  q = (f32[3,2]{1,0}, f32[6]{0}) parameter(1)
  c = f32[2,3]{1,0} copy(p)
  d = f32[2,3]{1,0} fusion(c), kind=kLoop, calls=twice
  f = ((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0}) fusion(d, q), kind=kLoop, calls=outer
  e = f32[2,3]{1,0} get-tuple-element(f), index=1
  h = f32[2,3]{1,0} fusion(e), kind=kLoop, calls=twice
  ROOT r = (((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0}), f32[2,3]{1,0}) tuple(f, h)
}
ENTRY main {
  x = f32[2,3]{1,0} parameter(0)
  y = (f32[3,2]{1,0}, f32[6]{0}) parameter(1)
  zero = f32[] constant(0)
  c = (((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0}), f32[2,3]{1,0}) call(x, y), to_apply=commands
  h = f32[2,3]{1,0} get-tuple-element(c), index=1
  s = f32[2]{0} reduce(h, zero), dimensions={1}, to_apply=add
  b = f32[6]{0} get-tuple-element(y), index=1
  ROOT r = ((((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0}), f32[2,3]{1,0}), f32[2]{0}, f32[6]{0}) tuple(c, s, b)
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_several(target: str, tmp_path: Path) -> None:
    """Each fusion that is launched has kernels, even if it is in a called computation. Fusions in fusions are inlined.
    If the callee has another layout for `x`, `x` is copied for the call, and the result `c` is copied back after it.
    """
    assert [f.name for f in hlo.fusions(hlo.parse(SEVERAL, "m.hlo"))] == ["m_x_in1", "m_c_in1", "m_twice", "m_outer", "m_s"]
    x, a, b = ([float(k % 5 - 2) for k in range(n, n + 6)] for n in (0, 3, 1))
    doubled = [2 * v for v in x]
    s = [a[2 * j + i] - doubled[3 * i + j] for i in range(2) for j in range(3)]
    want = [s, [v * w for v, w in zip(s, b)], [-v for v in s], [-2 * v for v in s]]
    want += [[sum(want[3][:3]), sum(want[3][3:])], b]
    assert [floats(r) for r in run(SEVERAL, [packed(x), packed(a), packed(b)], target, tmp_path)] == want


# A callee whose layouts all differ from the caller's, in tuples too. Its bitcasts follow its own layouts.
TURNED = """minus {
  p = f32[6]{0} parameter(0)
  ROOT n = f32[6]{0} negate(p)
}
callee {
  t = (f32[2,3]{1,0}, (f32[2,3]{0,1}, s8[2]{0})) parameter(0)
  a = f32[2,3]{1,0} get-tuple-element(t), index=0
  u = (f32[2,3]{0,1}, s8[2]{0}) get-tuple-element(t), index=1
  b = f32[2,3]{0,1} get-tuple-element(u), index=0
  c = f32[6]{0} bitcast(a)
  d = f32[6]{0} bitcast(b)
  n = f32[6]{0} negate(d)
  e = f32[2,3]{0,1} bitcast(n)
  v = (f32[6]{0}, f32[2,3]{0,1}) tuple(c, e)
  ROOT r = ((f32[6]{0}, f32[2,3]{0,1}), (f32[2,3]{0,1}, s8[2]{0})) tuple(v, u)
}
ENTRY main {
  t = (f32[2,3]{0,1}, (f32[2,3]{1,0}, s8[2]{0})) parameter(0)
  ROOT c = ((f32[6]{0}, f32[2,3]{1,0}), (f32[2,3]{0,1}, s8[2]{0})) call(t), to_apply=callee
}
"""


@pytest.mark.parametrize("launched", [False, True])
def test_layouts_of_calls(launched: bool, tmp_path: Path) -> None:
    """A call gives the right results although the callee's layouts differ from the caller's. This holds if the callee
    is inlined into one fusion, and if it contains a fusion itself.
    """
    text = TURNED.replace("negate(d)", "fusion(d), kind=kLoop, calls=minus") if launched else TURNED
    assert (len(hlo.fusions(hlo.parse(text, "m.hlo"))) > 1) == launched
    a, b, few = [float(k) for k in range(1, 7)], [float(k * k) for k in range(1, 7)], bytes([7, 250])

    def turned(rows: "List[float]") -> "List[float]":
        return [rows[3 * i + j] for j in range(3) for i in range(2)]

    flat, minus, kept, last = run(text, [packed(turned(a)), packed(b), few], "c", tmp_path)
    assert floats(flat) == a and floats(minus) == [-v for v in b] and floats(kept) == turned(b) and last == few


def test_entries_without_fusions() -> None:
    """Calls of a computation that contains a fusion are inlined at any depth. If an entry has a fusion, a call of a
    computation without fusions becomes a separate fusion.
    """
    text = ADD + "".join(f"deep{k} {{\n  p = f32[] parameter(0)\n  ROOT c = f32[] {what}\n}}\n" for k, what in enumerate(
        ["fusion(p, p), kind=kLoop, calls=add", "call(p), to_apply=deep0", "call(p), to_apply=deep1"]))
    plain = "plain {\n  p = f32[2]{0} parameter(0)\n  ROOT n = f32[2]{0} negate(p)\n}\n"
    module = hlo.parse(text + "ENTRY e {\n  p = f32[] parameter(0)\n  a = f32[] call(p), to_apply=deep2\n  ROOT b = f32[] call(a), to_apply=deep0\n}\n", "m.hlo")
    assert [f.name for f in hlo.fusions(module)] == ["m"] and len(hlo.steps(module)) == 2
    assert hlo.unsupported(module) is None
    first, second = hlo.steps(module)
    assert first.operands == hlo.module_parameters(module) * 2 and second.operands == first.results * 2 and second.results == hlo.module_results(module)
    module = hlo.parse(text + plain + "ENTRY e {\n  p = f32[] parameter(0)\n  x = f32[2]{0} parameter(1)\n  a = f32[] fusion(p, p), kind=kLoop, calls=add\n"
                       "  b = f32[2]{0} call(x), to_apply=plain\n  ROOT r = (f32[], f32[2]{0}) tuple(a, b)\n}\n", "m.hlo")
    assert [f.name for f in hlo.fusions(module)] == ["m_add", "m_plain"]


@pytest.mark.parametrize("signature, fault", [
    ("(f32[2,3]{1,0}, (f32[4,1]{1,0:S(1)}))->f32[2,3]{1,0}", ""), ("(f32[2,3], (f32[4,1]))->f32[2,3]", ""), ("auto", ""),
    ("(f32[2,3]{0,1}, (f32[4,1]{0,1}))->f32[2,3]{1,0}", "3:3: 'parameter': expected the layout of entry_computation_layout, f32[2,3]{0,1}, found f32[2,3]{1,0}"),
    ("(f32[2,3]{1,0:T(2,128)}, (f32[4,1]{0,1}))->f32[2,3]{1,0}", "3:3: 'parameter': expected the layout"),
    ("(f32[2,3]{1,0}, /*index=1*/(f32[4,1]{0,1}))->f32[2,3]{0,1}", "5:8: 'negate': expected the layout of entry_computation_layout, f32[2,3]{0,1}"),
])
def test_entry_computation_layout(signature: str, fault: str) -> None:
    """Buffers have the layouts of ENTRY, and a module head with other layouts is an error. The position of a dimension
    of size 1 in the layout does not matter.
    """
    text = f"HloModule m, entry_computation_layout={{{signature}}}\nENTRY e {{\n  p = f32[2,3] parameter(0)\n  q = (f32[4,1]) parameter(1)\n" \
        "  ROOT n = f32[2,3] negate(p)\n}\n"
    problem = hlo.unsupported(hlo.parse(text, "m.hlo"))
    assert (str(problem) if problem else "").startswith(f"m.hlo:{fault}" if fault else "") and bool(problem) == bool(fault), problem


@pytest.mark.parametrize("launched", [False, True])
def test_barriers(launched: bool, tmp_path: Path) -> None:
    """opt-barrier returns its operand: inside a fusion, between fusions, and for a tuple."""
    body = "  x = f32[3] parameter(0)\n  n = f32[3] negate(x)\n  t = (f32[3], f32[3]) tuple(x, n)\n  b = (f32[3], f32[3]) opt-barrier(t)\n" \
        "  l = f32[3] get-tuple-element(b), index=1\n  m = f32[3] opt-barrier(l)\n  r = f32[3] add(m, m)\n  ROOT all = (f32[3], (f32[3], f32[3])) tuple(r, b)\n}\n"
    text = "ENTRY e {\n" + body
    if launched:
        text = "minus {\n  x = f32[3] parameter(0)\n  ROOT n = f32[3] negate(x)\n}\n" + text.replace("negate(x)", "fusion(x), kind=kLoop, calls=minus")
    assert len(hlo.fusions(hlo.parse(text, "m.hlo"))) == (2 if launched else 1)
    assert [floats(r) for r in run(text, [packed([1, 2, 3])], "c", tmp_path)] == [[-2, -4, -6], [1, 2, 3], [-1, -2, -3]]


# ---- a transformer block: as fusions by XLA, and as the module before XLA's optimisation ----

BLOCK, UNCUT = ((ROOT / "tests" / "hlo" / f"transformer_block{name}.hlo").read_text() for name in ("", "_unoptimised"))
FUSIONS, DOTS = 22, 6
DIMS = {"x": (16, 32), "b1": (32,), "b2": (32,), "bo": (32,), "bqkv": (96,), "c1": (128,), "c2": (32,), "g1": (32,), "g2": (32,), "w1": (32, 128),
        "w2": (128, 32), "wo": (32, 32), "wqkv": (32, 96)}    # in the order of the parameters


def without_dots(text: str) -> str:
    """Return the block with each dot's result as a parameter, so that only the other fusions remain."""
    numbers = itertools.count(len(DIMS))
    text, count = re.subn(r"fusion\([^)]*\), kind=kCustom, calls=\S+", lambda _: f"parameter({next(numbers)})", text)
    assert count == DOTS
    return re.sub(r"^ENTRY .*$", "ENTRY %main {", text, flags=re.M)


def check(text: str, folder: Path, target: str) -> "subprocess.CompletedProcess[str]":
    (folder / "m.hlo").write_text(text)
    done = gen("check", folder / "m.hlo", "--target", target)
    if done.returncode == 3:
        pytest.skip(f"SKIP: {done.stderr.strip() or done.stdout.strip()}")
    return done


@pytest.mark.parametrize("target", TARGETS)
def test_block_without_dots(target: str, tmp_path: Path) -> None:
    """The fusions without dots are right: layer norms, bias and GELU, softmax, transposes of heads, residual sums."""
    done = check(without_dots(BLOCK), tmp_path, target)
    assert done.returncode == 0 and f" {target} {FUSIONS - DOTS}/{FUSIONS - DOTS} " in done.stdout.splitlines()[-1], done.stdout + done.stderr


def block(given: "Dict[str, List[float]]") -> List[float]:
    """Return the result of the transformer block, computed with Python's floats from its definition."""
    tokens, width, heads = 16, 32, 4
    depth = width // heads
    rows = {name: [data[k:k + DIMS[name][-1]] for k in range(0, len(data), DIMS[name][-1])] for name, data in given.items()}

    def norm(of: "List[List[float]]", gain: str, bias: str) -> "List[List[float]]":
        found = []
        for row in of:
            mean = sum(row) / width
            scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / width + 1e-5)
            found.append([(v - mean) * scale * g + b for v, g, b in zip(row, given[gain], given[bias])])
        return found

    def linear(of: "List[List[float]]", weight: str, bias: str) -> "List[List[float]]":
        return [[sum(v * w[n] for v, w in zip(row, rows[weight])) + b for n, b in enumerate(given[bias])] for row in of]

    qkv = linear(norm(rows["x"], "g1", "b1"), "wqkv", "bqkv")
    mixed = [[0.0] * width for _ in range(tokens)]
    for head, t in itertools.product(range(heads), range(tokens)):
        q, k, v = ([row[part * width + head * depth:][:depth] for row in qkv] for part in range(3))
        scores = [math.exp(sum(a * b for a, b in zip(q[t], k[s])) / math.sqrt(depth)) for s in range(t + 1)]
        for d in range(depth):
            mixed[t][head * depth + d] = sum(score * v[s][d] for s, score in enumerate(scores)) / sum(scores)
    x = [[a + b for a, b in zip(*pair)] for pair in zip(rows["x"], linear(mixed, "wo", "bo"))]
    hidden = [[0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))) for v in row]
              for row in linear(norm(x, "g2", "b2"), "w1", "c1")]
    return [a + b for pair in zip(x, linear(hidden, "w2", "c2")) for a, b in zip(*pair)]


@pytest.mark.parametrize("text", [BLOCK, UNCUT], ids=["cut", "uncut"])
@pytest.mark.parametrize("target", TARGETS)
def test_block(target: str, text: str, tmp_path: Path) -> None:
    """The whole transformer block is right through `gen run`: as XLA's fusions, and as one fusion made of the original
    module.
    """
    assert len(hlo.fusions(hlo.parse(text, "m.hlo"))) == (FUSIONS if text is BLOCK else 1)
    draw = random.Random(8)
    given = {name: floats(packed([draw.gauss(1 if name[0] == "g" else 0, 0.3) for _ in range(math.prod(dims))])) for name, dims in DIMS.items()}
    (result,) = run(text, [packed(data) for data in given.values()], target, tmp_path)
    for got, want in zip(floats(result), block(given)):
        assert abs(got - want) < 2e-5 * max(1, abs(want)), (got, want)


def test_block_is_checked(tmp_path: Path) -> None:
    """The block is checked fusion by fusion, because errors over the whole block have no finite bound."""
    done = check(BLOCK, tmp_path, "c")
    assert done.returncode == 0 and f" c {FUSIONS}/{FUSIONS} " in done.stdout.splitlines()[-1], done.stdout + done.stderr


# ---- one buffer as several parameters ----

TWICE = """HloModule m
f {
  b = f32[3,5] parameter(1)
  n = f32[3,5] negate(b)
  a = f32[3,5] parameter(0)
  c = f32[5,3] parameter(2)
  t = f32[3,5] transpose(c), dimensions={1,0}
  m = f32[3,5] multiply(a, n)
  ROOT r = f32[3,5] add(m, t)
}
ENTRY e {
  p = f32[3,5] parameter(0)
  q = f32[5,3] parameter(1)
  t = (f32[3,5], f32[5,3]) tuple(p, q)
  g = f32[3,5] get-tuple-element(t), index=0
  x = f32[3,5] fusion(p, g, q), kind=kLoop, calls=f
  ROOT y = f32[3,5] fusion(x, SECOND, q), kind=kLoop, calls=f
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_one_buffer_twice(target: str, tmp_path: Path) -> None:
    """If every launch passes one buffer for two parameters, they are one argument of the kernel. Otherwise each
    parameter has an argument.
    """
    p, q = [(7 * k) % 11 - 5.0 for k in range(15)], [(5 * k) % 7 - 3.0 for k in range(15)]
    turned = [q[j * 3 + i] for i in range(3) for j in range(5)]
    x = [t - a * a for a, t in zip(p, turned)]
    for second, wanted, pointers in (("x", [t - a * a for a, t in zip(x, turned)], ["p0", "p2"]),
                                     ("p", [t - a * b for a, b, t in zip(x, p, turned)], ["p0", "p1", "p2"])):
        text = TWICE.replace("SECOND", second)
        (fusion,) = hlo.fusions(hlo.parse(text, "m.hlo"))
        made, about = pipeline.files(fusion, ["cuda", "opencl", "c"])
        for name in ("m.cu", "m.cl", "m.c"):
            assert re.findall(r"\bp\d\b", re.search(r"void sett_m\(([^)]*)\)", made[name]).group(1)) == pointers, name  # type: ignore[union-attr]
        assert [one.get("same_as") for one in about["params"]] == [None, 0 if second == "x" else None, None]
        assert ("parameter 1 (b): f32[3,5]{1,0}, 60 bytes, is parameter 0" in made["m.h"]) == (second == "x")
        explained = explain.stages(hlo.parse(text, "m.hlo"), ["c"], Options())["partition"]
        assert (": parameter 1 is parameter 0, in each launch: that is read" in explained) == (second == "x")
        (tmp_path / second).mkdir()
        assert floats(run(text, [packed(p), packed(q)], target, tmp_path / second)[0]) == wanted


UPDATED = """HloModule m
f {
  p = f32[9,8] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  q = f32[9,8] parameter(4)
  o = f32[2,3] dynamic-slice(q, ROW, COLUMN), dynamic_slice_sizes={2,3}
  n = f32[2,3] add(o, u)
  ROOT w = f32[9,8] dynamic-update-slice(p, n, i, j)
}
ENTRY e {
  p = f32[9,8] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  c = f32[9,8] copy(p)
  ROOT w = f32[9,8] fusion(c, u, i, j, c), kind=kLoop, calls=f
}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row, column", [("i", "j"), ("j", "i")])
def test_updated_and_read(row: str, column: str, target: str, tmp_path: Path) -> None:
    """A buffer that is updated in place may also be passed as another parameter only if each element is read just before
    it is written.
    """
    for said in ("", ", output_to_operand_aliasing={{}: (4, {})}"):
        text = UPDATED.replace("ROW", row).replace("COLUMN", column).replace("calls=f\n", f"calls=f{said}\n")
        fusion = hlo.fusions(hlo.parse(text, "m.hlo"))[-1]
        made, about = pipeline.files(fusion, ["c"])
        assert about["aliases"] == ([{"result": 0, "parameter": 0}] if row == "i" else [])
        assert about["params"][4]["same_as"] == 0
        values, update = [float(k) for k in range(72)], [100.0 * k for k in range(6)]
        wanted, (i, j) = list(values), (5, 2)
        for k in range(6):
            a, b = (i, j) if row == "i" else (j, i)
            wanted[(i + k // 3) * 8 + j + k % 3] = update[k] + values[(a + k // 3) * 8 + b + k % 3]
        data = [packed(values), packed(update), struct.pack("<i", i), struct.pack("<i", j)]
        folder = tmp_path / ("said" if said else "copy")
        folder.mkdir()
        assert floats(run(text, data, target, folder)[0]) == wanted
