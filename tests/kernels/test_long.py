"""Test long fusions: each stage of the generator takes time linear in the length of the text, and the results equal the
reference's.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import subprocess
import time
from pathlib import Path
from typing import Dict, List

import pytest

from drawn import device_or_skip, fusions
from gen_run import gen
from gen import bounds, reference, run
from gen.run import cost, objects
from gen.targets.tools import native

ROOT = Path(__file__).resolve().parents[2]
OPS = 1200


def hashed(ops: int, rows: int, columns: int, seed: int = 1) -> str:
    """Return a module like a hash function: chains of integer ops on words that are read repeatedly, with broadcast rows
    and columns, some of them shifted.
    """
    draw = random.Random(seed)
    full, wide = (f"{kind}[{rows},{columns}]{{1,0}}" for kind in ("u32", "u64"))
    lines = [f"p0 = u64[{columns}]{{0}} parameter(0)", f"p1 = u64[{rows}]{{0}} parameter(1)", f"b0 = {wide} broadcast(p0), dimensions={{1}}",
             f"b1 = {wide} broadcast(p1), dimensions={{0}}", "c = u64[] constant(32)", f"s = {wide} broadcast(c), dimensions={{}}",
             f"h0 = {wide} shift-right-logical(b0, s)", f"h1 = {wide} shift-right-logical(b1, s)"]
    lines += [f"x{k} = {full} convert({name})" for k, name in enumerate(("b0", "h0", "b1", "h1"))]
    for k in range(8):
        lines += [f"r{k} = u32[] constant({draw.randrange(1, 32)})", f"q{k} = {full} broadcast(r{k}), dimensions={{}}"]
    lines += [f"cut = u32[{rows},{columns - 1}]{{1,0}} slice(x1), slice={{[0:{rows}], [1:{columns}]}}",
              f"x4 = {full} pad(cut, r0), padding=0_0x0_1"]
    words, keys = [f"x{k}" for k in range(4)], [f"x{k}" for k in range(5)]

    def put(text: str) -> str:
        lines.append(f"v{len(lines)} = {full} {text}")
        return lines[-1].split(" ")[0]
    while len(lines) < ops - 1:
        a, b, kind, shift = *draw.sample(range(4), 2), draw.random(), draw.randrange(8)
        if kind < 0.5:
            words[a] = put(f"add({words[a]}, {words[b]})")
            turned = put(f"or({put(f'shift-left({words[b]}, q{shift})')}, {put(f'shift-right-logical({words[b]}, q{7 - shift})')})")
            words[b] = put(f"xor({turned}, {words[a]})")
        else:
            words[a] = put(f"add({words[a]}, {draw.choice(keys)})" if kind < 0.7 else f"{'multiply' if kind < 0.9 else 'xor'}({words[a]}, {words[b]})")
    root = f"ROOT out = ({', '.join([full] * 4)}) tuple({', '.join(words)})"
    return "HloModule long\n\nENTRY long {\n" + "".join(f"  {line}\n" for line in [*lines, root]) + "}\n"


def rounded(ops: int, size: int, seed: int = 1) -> str:
    """Return a module of `ops` ops on floats, most of which round. Their operands are two parameters, two constant
    tables and earlier results.
    """
    draw = random.Random(seed)
    shape = f"f32[{size}]{{0}}"
    lines = [f"p0 = {shape} parameter(0)", f"p1 = {shape} parameter(1)",
             f"table = {shape} constant({{{', '.join(str(k % 7 - 3) for k in range(size))}}})", f"odd = {shape} constant({{nan, {', '.join(['1'] * (size - 1))}}})"]
    names = ["p0", "p1", "table", "odd"]
    while len(lines) < ops - 1:
        name = f"v{len(lines)}"
        a, b = draw.choice(names[-6:]), draw.choice(names)
        lines.append(f"{name} = {shape} " + draw.choice([f"add({a}, {b})", f"maximum({a}, {b})", f"logistic({a})", f"tanh({a})", f"minimum({a}, table)"]))
        names.append(name)
    return "HloModule floats\n\nENTRY floats {\n" + "".join(f"  {line}\n" for line in lines) + f"  ROOT out = {shape} tanh({names[-1]})\n}}\n"


def seconds(text: str, folder: Path) -> "List[float]":
    """Return the processor seconds of the generator, and of the C compiler for the reference."""
    marks = [time.process_time()]
    (fusion,) = fusions(text)
    built = run.build(fusion, folder, "c", run.Options())
    marks.append(time.process_time())
    before = os.times()
    subprocess.run([run.c_compiler(), "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-c", "-o", os.devnull,
                    str(folder / f"{built.name}_ref.c")], check=True)
    after = os.times()
    return [marks[1] - marks[0], after.children_user - before.children_user]


def test_near_linear(tmp_path: Path) -> None:
    """If a text has four times as many ops, the generator takes about four times as long, and compiling the reference
    takes about four times as long.
    """
    native()
    short, long = (seconds(hashed(ops, 64, 64), tmp_path / str(ops)) for ops in (OPS, 4 * OPS))
    for name, a, b in zip(("generation", "the reference's compilation"), short, long):
        assert b < 8 * a + 0.5, f"{name}: {a:.2f} s of {OPS} ops, {b:.2f} s of {4 * OPS}"


@pytest.mark.whole      # PoCL compiles this kernel for minutes
def test_seventeen_thousand(tmp_path: Path) -> None:
    """A kernel of 17,000 ops on 1280 x 1280 elements agrees with the reference."""
    device_or_skip("opencl")
    (tmp_path / "m.hlo").write_text(hashed(17000, 1280, 1280))
    done = gen("check", tmp_path / "m.hlo", seconds=1800)
    assert done.returncode == 0 and "all equal" in done.stdout, done.stdout + done.stderr


def test_text_is_near_linear(tmp_path: Path) -> None:
    """However long a fusion is, its kernel has each op once. Loops of a reference that differ only in their arrays
    become one function.
    """
    module = hashed(4 * OPS, 64, 64)
    (fusion,) = fusions(module)
    built = run.build(fusion, tmp_path, "opencl", run.Options())
    kernel, text = ((tmp_path / f"{built.name}{suffix}").read_text() for suffix in (".cl", "_ref.c"))
    assert kernel.count(" ^ ") <= 1.1 * module.count(" xor(")
    assert text.count("static APART void loop_") < 40
    assert len(kernel) < 3 * len(module) and len(text) < 5 * len(module)


@pytest.mark.parametrize("target", ["opencl", "c", "cuda-on-cpu"])
@pytest.mark.parametrize("kind", ["hashed", "rounded"])
def test_long_fusions_are_right(kind: str, target: str, tmp_path: Path) -> None:
    """A kernel of many ops agrees with a reference that is compiled in parts; floats are within their bounds."""
    device_or_skip(target)
    (tmp_path / "m.hlo").write_text(hashed(OPS, 5, 67) if kind == "hashed" else rounded(OPS // 4, 130))
    (result,) = run.check(str(tmp_path / "m.hlo"), target, run.Options(rounds=2))
    assert (result.status, result.reason) == ("PASS", "") and result.compared > 200


def test_reference_in_parts_is_that_in_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reference in several functions gives the same results and bounds as one function. It compiles with -Werror, and
    UBSan finds nothing.
    """
    found: "Dict[int, List[bytes]]" = {7: [], 10 ** 6: []}
    for steps, bytes_found in found.items():
        monkeypatch.setattr("gen.reference.assembly.MOST_STEPS", steps)
        for n, text in enumerate((hashed(150, 5, 67), rounded(120, 50))):
            computation = fusions(text)[0].computation
            draw = random.Random(n)
            given = [ctypes.create_string_buffer(draw.randbytes(leaf.bytes)) for p in computation.parameters for leaf in p.shape.leaves()]
            for verb, write, width in (("ref", reference.reference, 4), ("bound", bounds.bound, 8)):
                source, library = tmp_path / f"{verb}{n}_{steps}.c", tmp_path / f"{verb}{n}_{steps}.so"
                source.write_text(write(computation, "r"))
                assert ("take(" in source.read_text()) == (steps == 7 and (n, verb) != (0, "bound"))
                subprocess.run([run.c_compiler(), "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fsanitize=undefined",
                                "-fno-sanitize-recover=all", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True)
                results = [ctypes.create_string_buffer(leaf.elements * width) for leaf in computation.root.shape.leaves()]
                pointers = [(ctypes.c_void_p * len(some))(*map(ctypes.addressof, some)) for some in (given, results)]
                assert getattr(ctypes.CDLL(str(library)), f"r_{verb}")(*pointers) == 0
                bytes_found += [r.raw for r in results]
    assert found[7] == found[10 ** 6]


def test_run_compiles_no_reference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`gen run`, and `gen bench` without a check, do not need the reference. Checking such a build is refused."""
    compiled: "List[str]" = []
    call = run.call
    monkeypatch.setattr(objects, "call", lambda command, what: (compiled.append(what), call(command, what))[1])
    (tmp_path / "in").mkdir()
    (tmp_path / "m.hlo").write_text(hashed(40, 3, 4))
    (tmp_path / "in" / "p0.bin").write_bytes(bytes(32))
    (tmp_path / "in" / "p1.bin").write_bytes(bytes(24))
    run.run(str(tmp_path / "m.hlo"), "c", str(tmp_path / "in"), str(tmp_path / "out"))
    assert (tmp_path / "out" / "r3.bin").stat().st_size == 48
    assert compiled and not [what for what in compiled if "_ref" in what or "_bound" in what]
    (fusion,) = fusions(hashed(40, 3, 4))
    built = run.build(fusion, tmp_path / "e", "c", run.Options())
    run.compile_fusion(built, "c")
    answer = run.call_harness("c", ["check", "", 1, 1, 30, 180, built.library], run.START)
    assert [(e["status"], e["reason"]) for e in answer.of("result")] == [("FAIL", "compiled without its reference")]


SUMS = """HloModule m

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}

ENTRY e {{
  p0 = f32[{n}]{{0}} parameter(0)
  zero = f32[] constant(0)
  ROOT w = f32[{n}]{{0}} reduce-window(p0, zero), window={{size={n} pad={low}_{high}}}, to_apply=add
}}
"""


def test_a_window_of_a_whole_row_says_its_cost(tmp_path: Path) -> None:
    """A window of a million elements around each of a million elements is 10^12 additions: a check does not run it and
    says so, and a bench does not time it. For 40,000 elements a check states the expected time before it runs.
    """
    (tmp_path / "m.hlo").write_text(SUMS.format(n=1000000, low=500000, high=499999))
    done = gen("check", tmp_path / "m.hlo", "--target", "c")
    assert done.returncode == 0 and "1.0e+12 steps of windows and sums are too many to run, about 2.8 h beside the reference (--limit SECONDS allows more): checked by its maps" in done.stdout
    done = gen("bench", tmp_path / "m.hlo", "--target", "c", "--no-libraries")
    assert done.returncode == 0 and re.search(r" SKIP .* 1\.0e\+12 steps of windows and sums, about 4\.2 h for 15 launches: not timed \(--limit SECONDS allows more\)\n", done.stdout)
    said: "List[str]" = []
    (tmp_path / "m.hlo").write_text(SUMS.format(n=40000, low=20000, high=19999))
    (result,) = run.check(str(tmp_path / "m.hlo"), "c", run.Options(say=said.append))
    assert (result.status, result.rounds, said) == ("PASS", 1, ["m: 1.6e+09 steps of windows and sums, about 16 s beside the reference"])


def test_costs() -> None:
    """The estimated cost of a select-and-scatter counts each window's elements twice: for the comparisons, and for the
    sum. The estimated memory of a check does not grow with the number of ops in a chain.
    """
    (fusion,) = fusions("""gt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=GT
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
e {
  p0 = f32[64] parameter(0)
  p1 = f32[55] parameter(1)
  zero = f32[] constant(0)
  ROOT w = f32[64] select-and-scatter(p0, p1, zero), window={size=10}, select=gt, scatter=add
}
""")
    assert cost.cost(fusion).steps == 2 * 10 * 64
    short, long = (cost.cost(fusions(hashed(ops, 64, 64))[0]) for ops in (1000, 2000))
    assert short.bytes == long.bytes < 40 * 64 * 64 * 24
    assert long.operations > 1.9 * short.operations and long.rounded == 0
    assert [cost.duration(s) for s in (0.25, 43, 104, 130, 10 ** 4, 10 ** 6)] == ["0.25 s", "43 s", "104 s", "2.2 min", "2.8 h", "12 days"]
