"""Test what happens to a module before it becomes kernels: ops without effect on one device are removed, random bits and
batch norms are expanded, and one file may contain several modules.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, List, Sequence

import pytest

from gen import hlo, run
from gen.__main__ import inputs, main

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
NEGATE = "negated { a = f32[8] parameter(0) ROOT b = f32[8] negate(a) }\n"


def expanded(lines: str, header: str = "HloModule m\n", before: str = "") -> hlo.Module:
    module = hlo.parse(f"{header}{before}ENTRY e {{\n p = f32[8] parameter(0)\n{lines}\n}}\n", "m.hlo")
    hlo.expanded(module)
    return module


def ops(module: hlo.Module) -> List[str]:
    """Return the opcodes of the entry, without its parameters."""
    assert module.entry is not None
    return [i.opcode for i in module.entry.instructions if i.opcode != "parameter"]


NOTHING = [
    "d = f32[8] optimization-barrier(p)", 'd = f32[8] domain(p), domain={kind="sharding", entry={}, exit={}}',
    "t = token[] after-all() d = f32[8] add-dependency(p, t)", 'd = f32[8] custom-call(p), custom_call_target="Sharding"',
    'd = f32[8] custom-call(p), custom_call_target="SPMDFullToShardShape"', 'd = f32[8] custom-call(p), custom_call_target="MoveToHost"',
    "d = f32[8] all-reduce(p), replica_groups={}, to_apply=add", "d = f32[8] all-gather(p), replica_groups={{0}}, dimensions={0}",
    "d = f32[8] reduce-scatter(p), replica_groups=[1,1]<=[1], dimensions={0}, to_apply=add", "d = f32[8] collective-permute(p), source_target_pairs={{0,0}}",
    "d = f32[8] all-to-all(p), replica_groups={{0}}, dimensions={0}",
    "s = (f32[8], f32[8]) all-gather-start(p), replica_groups={}, dimensions={0} d = f32[8] all-gather-done(s)",
    "s = f32[8] all-reduce-start(p), replica_groups={}, to_apply=add d = f32[8] all-reduce-done(s)",
    "x = (f32[8]) tuple(p) y = (f32[8]) copy(x) d = f32[8] get-tuple-element(y), index=0",
    "x = token[] after-all() y = (f32[8], token[]) tuple(p, x) d = f32[8] get-tuple-element(y), index=0",
]  # fmt: skip


@pytest.mark.parametrize("lines", NOTHING)
def test_what_computes_nothing(lines: str) -> None:
    module = expanded(f" {lines}\n ROOT r = f32[8] negate(d)", before=ADD)
    assert set(ops(module)) <= {"negate", "tuple", "get-tuple-element"}
    assert hlo.unsupported(module) is None


@pytest.mark.parametrize("dtype, direction, opcode", [("u32", "LT", "broadcast"), ("u8", "GE", "broadcast"), ("u32", "GT", "compare"), ("s32", "LT", "compare")])
def test_signs_of_unsigned_numbers(dtype: str, direction: str, opcode: str) -> None:
    """An unsigned number is never below zero. C compilers warn of such a test, which JAX writes for remainders."""
    module = expanded(f" n = {dtype}[8] convert(p)\n zero = {dtype}[] constant(0)\n z = {dtype}[8] broadcast(zero), dimensions={{}}\n"
                      f" ROOT r = pred[8] compare(n, z), direction={direction}")
    assert module.entry is not None and module.entry.root is not None and module.entry.root.opcode == opcode


def test_started_ops() -> None:
    for lines, wanted in (
        ("s = ((f32[8]), f32[4], u32[]) slice-start(p), slice={[0:4]} d = f32[4] slice-done(s) ROOT r = f32[4] negate(d)", ["slice", "negate"]),
        ("s = (f32[8], f32[8], u32[]) copy-start(p), cross_program_prefetch_index=0 d = f32[8] copy-done(s) ROOT r = f32[8] negate(d)", ["copy", "negate"]),
        ("s = ((f32[8]), f32[8], u32[]) async-start(p), calls=negated u = ((f32[8]), f32[8], u32[]) async-update(s) d = f32[8] async-done(u) ROOT r = f32[8] negate(d)",
         ["call", "negate"])):  # fmt: skip
        module = expanded(" " + lines, before=NEGATE)
        assert ops(module) == wanted and hlo.unsupported(module) is None
    with pytest.raises(hlo.HloError, match="expected f32.4..0., the result of 'slice'"):
        expanded(" s = ((f32[8]), f32[5], u32[]) slice-start(p), slice={[0:4]}\n ROOT d = f32[5] slice-done(s)")


REFUSED = [
    ("HloModule m, num_partitions=2", "d = f32[8] all-reduce(p), replica_groups={}, to_apply=add"), ("HloModule m, replica_count=2", "d = f32[8] all-reduce(p), replica_groups={{0,1}}, to_apply=add"),
    ("HloModule m, num_partitions=2", "d = f32[8] all-reduce(p), channel_id=1, replica_groups={{0}}, to_apply=add"), ("HloModule m", "d = f32[16] all-gather(p), replica_groups={}, dimensions={0}"),
    ("HloModule m, num_partitions=2", "d = f32[8] collective-permute(p), source_target_pairs={{0,1},{1,0}}"), ("HloModule m", "s = (f32[8], f32[8], u32[]) copy-start(p) d = f32[8] get-tuple-element(s), index=0"),
    ("HloModule m, num_partitions=2", "n = u32[] partition-id() f = f32[] convert(n) d = f32[8] broadcast(f), dimensions={}"),
    ("HloModule m", 'd = f32[4] custom-call(p), custom_call_target="SPMDFullToShardShape"'),
]  # fmt: skip


@pytest.mark.parametrize("header, lines", REFUSED)
def test_what_stays_refused(header: str, lines: str) -> None:
    module = expanded(f" {lines}\n ROOT r = f32[8] copy(p)" if "f32[16]" in lines or "f32[4]" in lines else f" {lines}\n ROOT r = f32[8] negate(d)", header + "\n", ADD)
    assert hlo.unsupported(module) is not None


def test_single_members_of_several_devices() -> None:
    for groups in ("{{0},{1}}", "[2,1]<=[2]"):
        module = expanded(f" d = f32[8] all-reduce(p), replica_groups={groups}, to_apply=add\n ROOT r = f32[8] negate(d)", "HloModule m, replica_count=2\n", ADD)
        assert ops(module) == ["negate"]


def test_tokens_of_calls_and_loops() -> None:
    before = ("f { t = token[] parameter(0) a = f32[8] parameter(1) b = f32[8] negate(a) ROOT r = (token[], f32[8]) tuple(t, b) }\n"
              "c { s = (token[], s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=1 n = s32[] constant(3) ROOT r = pred[] compare(i, n), direction=LT }\n"
              "w { s = (token[], s32[], f32[8]) parameter(0) t = token[] get-tuple-element(s), index=0 i = s32[] get-tuple-element(s), index=1 "
              "x = f32[8] get-tuple-element(s), index=2 k = s32[] constant(1) j = s32[] add(i, k) y = f32[8] negate(x) ROOT r = (token[], s32[], f32[8]) tuple(t, j, y) }\n")  # fmt: skip
    module = expanded(" t = token[] after-all()\n q = (token[], f32[8]) call(t, p), to_apply=f\n u = token[] get-tuple-element(q), index=0\n"
                      " x = f32[8] get-tuple-element(q), index=1\n z = s32[] constant(0)\n s = (token[], s32[], f32[8]) tuple(u, z, x)\n"
                      " l = (token[], s32[], f32[8]) while(s), condition=c, body=w\n ROOT r = f32[8] get-tuple-element(l), index=2", before=before)  # fmt: skip
    assert "token" not in hlo.print_module(module)
    assert not hlo.difference(module, hlo.parse(hlo.print_module(module), "m.hlo"))
    assert module.entry is not None and module.entry.root is not None and module.entry.root.attributes["index"] == 1


def test_tokens_of_the_entry_stay() -> None:
    module = hlo.parse("ENTRY e {\n t = token[] parameter(0)\n p = f32[8] parameter(1)\n ROOT d = f32[8] add-dependency(p, t)\n}\n", "m.hlo")
    hlo.expanded(module)
    assert "expected arrays, found the type 'token'" in str(hlo.unsupported(module))


# ---- random bits, computed by the definition with Python's integers ----


def threefry(key: int, counter: int) -> List[int]:
    """Return the two words of a block, as in the paper on Threefry."""
    keys = [key & 0xFFFFFFFF, key >> 32]
    keys.append(keys[0] ^ keys[1] ^ 0x1BD11BDA)
    a, b = ((counter >> shift) + keys[k] & 0xFFFFFFFF for k, shift in enumerate((0, 32)))
    for turn in range(20):
        a = a + b & 0xFFFFFFFF
        by = (13, 15, 26, 6, 17, 29, 16, 24)[turn % 8]
        b = (b << by | b >> 32 - by) & 0xFFFFFFFF ^ a
        if turn % 4 == 3:
            n = turn // 4 + 1
            a, b = a + keys[n % 3] & 0xFFFFFFFF, b + keys[(n + 1) % 3] + n & 0xFFFFFFFF
    return [a, b]


def philox(key: int, counter: int) -> List[int]:
    k, x = [key & 0xFFFFFFFF, key >> 32], [counter >> 32 * n & 0xFFFFFFFF for n in range(4)]
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [second >> 32 ^ x[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ x[3] ^ k[1], first & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return x


def drawn(algorithm: str, state: Sequence[int], count: int, bits: int) -> "tuple[List[int], List[int]]":
    """Return the elements of a one-dimensional array of random bits, and the state after it."""
    per = (2 if algorithm == "rng_three_fry" else 4) * 32 // max(32, bits)
    blocks = -(-count // per)
    key, start = state[0], state[1] | (state[2] if len(state) == 3 else state[0]) << 64
    if algorithm == "rng_three_fry":
        words = [w for n in range(blocks) for w in threefry(key, state[1] + n & (1 << 64) - 1)]
    else:
        words = [w for n in range(blocks) for w in philox(key, start + n & (1 << 128) - 1)]
    if bits == 64:
        words = [low | high << 32 for low, high in zip(words[::2], words[1::2])]
    end = start + blocks
    return [w & (1 << bits) - 1 for w in words[:count]], [key, end & (1 << 64) - 1, end >> 64 & (1 << 64) - 1][:len(state)]


# The two words of a Threefry block are neighbours along one dimension. For shape (3, 4) it is dimension 1, the first of
# even size; for (3, 3), which has no even size, it is dimension 0, the first of the largest size.
@pytest.mark.parametrize("target, every", [("c", 4), *(pytest.param(target, 1, marks=pytest.mark.peer) for target in ("c", "cuda-on-cpu"))])
def test_random_bits(target: str, every: int, tmp_path: Path) -> None:
    """The algorithms give the defined bits for every type. If `every` is 4, each type is tried with only one combination
    of algorithm and size of the state.
    """
    cases = [(a, s, n, d) for a, sizes in (("rng_three_fry", (2,)), ("rng_philox", (2, 3)), ("rng_default", (3,))) for s in sizes
             for n, d in ((37, "u32"), (37, "u64"), (5, "u8"), (6, "s16"))]  # fmt: skip
    cases = [case for k, case in enumerate(cases) if (k // 4 + k % 4) % every == 0]
    shapes, calls = [], []
    states = {2: (0x0123456789ABCDEF, (1 << 64) - 2), 3: (0xFEDCBA9876543210, (1 << 64) - 1, 7)}
    for k, (algorithm, size, count, dtype) in enumerate(cases):
        of = f"(u64[{size}], {dtype}[{count}])"
        calls.append(f" b{k} = {of} rng-bit-generator(s{size}), algorithm={algorithm}\n x{k} = u64[{size}] get-tuple-element(b{k}), index=0\n"
                     f" y{k} = {dtype}[{count}] get-tuple-element(b{k}), index=1\n")  # fmt: skip
        shapes += [f"u64[{size}]", f"{dtype}[{count}]"]
    names = ", ".join(f"x{k}, y{k}" for k in range(len(cases)))
    (tmp_path / "bits.hlo").write_text("HloModule m\nENTRY e {\n s2 = u64[2] parameter(0)\n s3 = u64[3] parameter(1)\n" + "".join(calls)
                                       + f" ROOT r = ({', '.join(shapes)}) tuple({names})\n}}\n")  # fmt: skip
    for n, size in enumerate((2, 3)):
        (tmp_path / f"p{n}.bin").write_bytes(struct.pack(f"<{size}Q", *states[size]))
    assert main(["run", str(tmp_path / "bits.hlo"), "--target", target, "--in", str(tmp_path), "--out", str(tmp_path)]) == 0
    for k, (algorithm, size, count, dtype) in enumerate(cases):
        bits = int(dtype[1:])
        wanted, after = drawn(algorithm, states[size], count, bits)
        code = {8: "B", 16: "H", 32: "I", 64: "Q"}[bits]
        assert list(struct.unpack(f"<{size}Q", (tmp_path / f"r{2 * k}.bin").read_bytes())) == after, cases[k]
        assert list(struct.unpack(f"<{count}{code}", (tmp_path / f"r{2 * k + 1}.bin").read_bytes())) == wanted, cases[k]


def values(module: str, folder: Path, given: "Sequence[Sequence[float]]", results: int) -> "List[List[float]]":
    (folder / "m.hlo").write_text(module)
    for n, numbers in enumerate(given):
        (folder / f"p{n}.bin").write_bytes(struct.pack(f"<{len(numbers)}d", *numbers))
    assert main(["run", str(folder / "m.hlo"), "--target", "c", "--in", str(folder), "--out", str(folder)]) == 0
    return [[v for v, in struct.iter_unpack("<d", (folder / f"r{n}.bin").read_bytes())] for n in range(results)]


def test_threefry_pairs(tmp_path: Path) -> None:
    """In an array of several dimensions, the two words of a Threefry block are neighbours along one dimension."""
    state = (5, 9)
    for dims, along in (((3, 4), 1), ((4, 3), 0), ((3, 5), 1), ((3, 3), 0)):
        half = list(dims)
        half[along] = -(-dims[along] // 2)
        (tmp_path / "t.hlo").write_text(f"ENTRY e {{\n s = u64[2] parameter(0)\n ROOT r = (u64[2], u32[{dims[0]},{dims[1]}]) rng-bit-generator(s), algorithm=rng_three_fry\n}}\n")
        (tmp_path / "p0.bin").write_bytes(struct.pack("<2Q", *state))
        assert main(["run", str(tmp_path / "t.hlo"), "--target", "c", "--in", str(tmp_path), "--out", str(tmp_path)]) == 0
        got = struct.unpack(f"<{dims[0] * dims[1]}I", (tmp_path / "r1.bin").read_bytes())
        for i in range(dims[0]):
            for j in range(dims[1]):
                place = [i, j]
                word, place[along] = place[along] % 2, place[along] // 2
                assert got[i * dims[1] + j] == threefry(5, 9 + place[0] * half[1] + place[1])[word]


def test_batch_norms(tmp_path: Path) -> None:
    x, scale, offset, epsilon = [0.5, 2.0, -1.0, 4.0, 3.0, 1.5], [2.0, -3.0], [0.25, 1.0], struct.unpack("<f", struct.pack("<f", 0.001))[0]
    head = "ENTRY e {\n x = f64[3,2] parameter(0)\n a = f64[2] parameter(1)\n b = f64[2] parameter(2)\n"
    attributes = "epsilon=0.001, feature_index=1"
    got = values(head + f" ROOT r = (f64[3,2], f64[2], f64[2]) batch-norm-training(x, a, b), {attributes}\n}}\n", tmp_path, [x, scale, offset], 3)
    means = [sum(x[f::2]) / 3 for f in (0, 1)]
    variances = [sum((v - means[f])**2 for v in x[f::2]) / 3 for f in (0, 1)]
    normal = [(v - means[n % 2]) / (variances[n % 2] + epsilon)**0.5 for n, v in enumerate(x)]
    out = [u * scale[n % 2] + offset[n % 2] for n, u in enumerate(normal)]
    assert got == [pytest.approx(out, rel=1e-13), pytest.approx(means), pytest.approx(variances)]
    inside = head + " m = f64[2] parameter(3)\n v = f64[2] parameter(4)\n"
    (again,) = values(inside + f" ROOT r = f64[3,2] batch-norm-inference(x, a, b, m, v), {attributes}\n}}\n", tmp_path, [x, scale, offset, means, variances], 1)
    assert again == pytest.approx(out, rel=1e-13)
    # the gradient of sum(g * out), by finite differences
    g = [1.0, -2.0, 0.5, 3.0, -1.5, 0.75]

    def loss(x: Sequence[float], scale: Sequence[float]) -> float:
        mean = [sum(x[f::2]) / 3 for f in (0, 1)]
        variance = [sum((v - mean[f])**2 for v in x[f::2]) / 3 for f in (0, 1)]
        return sum(g[n] * ((v - mean[n % 2]) / (variance[n % 2] + epsilon)**0.5 * scale[n % 2] + offset[n % 2]) for n, v in enumerate(x))

    def slope(at: "List[float]", n: int, of: Any) -> float:
        h = 1e-5
        return (of([v + h * (k == n) for k, v in enumerate(at)]) - of([v - h * (k == n) for k, v in enumerate(at)])) / (2 * h)

    inside = "ENTRY e {\n x = f64[3,2] parameter(0)\n a = f64[2] parameter(1)\n m = f64[2] parameter(2)\n v = f64[2] parameter(3)\n g = f64[3,2] parameter(4)\n"
    found = values(inside + f" ROOT r = (f64[3,2], f64[2], f64[2]) batch-norm-grad(x, a, m, v, g), {attributes}\n}}\n", tmp_path, [x, scale, means, variances, g], 3)
    assert found[0] == pytest.approx([slope(x, n, lambda y: loss(y, scale)) for n in range(6)], abs=1e-8)
    assert found[1] == pytest.approx([slope(scale, n, lambda s: loss(x, s)) for n in range(2)], abs=1e-8)
    assert found[2] == pytest.approx([sum(g[f::2]) for f in (0, 1)])


# ---- several modules ----


def one(name: str, op: str) -> str:
    return f"HloModule {name}\n\nENTRY e {{\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] {op}(p)\n}}\n\n"


def test_several_modules(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "both.hlo"
    path.write_text(one("first", "negate") + one("second", "abs"))
    assert inputs([str(path)]) == [f"{path}#first", f"{path}#second"]
    assert main(["build", str(path), "-o", str(tmp_path / "out"), "--target", "c"]) == 0
    assert {p.stem for p in (tmp_path / "out").glob("*.h")} == {"first", "second"}
    assert "fabs" in (tmp_path / "out" / "second.c").read_text() and "fabs" not in (tmp_path / "out" / "first.c").read_text()
    assert main(["check", str(path), "--target", "c"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("PASS")] == [f"{path}#first", f"{path}#second"]
    assert run.load(f"{path}#second").name == "second"
    with pytest.raises(hlo.HloError, match=rf"{re.escape(str(path))}:8:11: expected one module, found a second; instead, name one: "):
        run.load(str(path))
    with pytest.raises(run.RunError, match="expected a module 'third'"):
        run.load(f"{path}#third")


def test_modules_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(hlo.HloError, match="8:11: expected modules of different names in one file, found 'same', the module of line 1"):
        hlo.modules(one("same", "negate") + one("same", "abs"), "m.hlo")
