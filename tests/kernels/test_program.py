"""Test a module of several fusions as one function: the arrays that each call reads and writes, their places in memory,
and the header.
"""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from drawn import device_or_skip, in_parts, of_part
from gen import hlo, pipeline, run
from gen.hlo.order import reads_nan_bits
from gen.program import build, proof
from gen.program.ir import Call, Loop, Program
from gen.program.steps import Chain, Move, leaves
from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]

TARGETS = ["c", *(pytest.param(target, marks=pytest.mark.peer) for target in ("opencl", "cuda-on-cpu"))]
WHOLE = ROOT / "tests" / "hlo" / "transformer_blocks_gpu.hlo"

ADD = "add { a = s32[8] parameter(0)  b = s32[8] parameter(1)  ROOT r = s32[8] add(a, b) }\n"
TWICE = "twice { a = s32[8] parameter(0)  ROOT r = s32[8] add(a, a) }\n"
SUM = "sum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }\n"
BOTH = """both { a = s32[8] parameter(0)  p = s32[8] negate(a)  c = s32[8] constant({1,2,3,4,5,6,7,8})  q = s32[8] add(a, c)
  ROOT r = (s32[8], s32[8]) tuple(p, q) }\n"""
UPDATE = """update { a = s32[8] parameter(0)  b = s32[2] parameter(1)  c = s32[] constant(3)
  ROOT r = s32[8] dynamic-update-slice(a, b, c) }\n"""

# Bodies of ENTRY. The expected values come from the reference of the whole module, in which all calls are inlined.
ENTRIES = {
    "results that are read on": "x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  z = s32[8] fusion(y, x), kind=kLoop, calls=add  ROOT r = (s32[8], s32[8]) tuple(y, z)",
    "one result twice": "x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  ROOT r = (s32[8], s32[8]) tuple(y, y)",
    "a parameter as a result": "x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  ROOT r = (s32[8], s32[8], s32[8]) tuple(x, y, x)",
    "a constant as a result": "x = s32[8] parameter(0)  c = s32[3] constant({5, -6, 7})  y = s32[8] fusion(x), kind=kLoop, calls=twice  ROOT r = (s32[3], s32[8]) tuple(c, y)",
    "a constant as an operand": "x = s32[8] parameter(0)  c = s32[8] constant({1, -2, 3, 4, 5, 6, 7, 8})  y = s32[8] fusion(x, c), kind=kLoop, calls=add  ROOT z = s32[8] fusion(y, x), kind=kLoop, calls=add",
    "one fusion with two constants": """x = s32[8] parameter(0)  c = s32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})  d = s32[8] constant({8, 7, 6, 5, 4, 3, 2, 1})
        y = s32[8] fusion(x, c), kind=kLoop, calls=add  ROOT z = s32[8] fusion(y, d), kind=kLoop, calls=add""",
    "one operand twice": "x = s32[8] parameter(0)  y = s32[8] fusion(x, x), kind=kLoop, calls=add  z = s32[8] fusion(y, y), kind=kLoop, calls=add  ROOT w = s32[8] fusion(z, x), kind=kLoop, calls=add",
    "tuples": """x = (s32[8], (s32[8], s32[8])) parameter(0)  a = s32[8] get-tuple-element(x), index=0  i = (s32[8], s32[8]) get-tuple-element(x), index=1
        b = s32[8] get-tuple-element(i), index=1  y = (s32[8], s32[8]) fusion(b), kind=kLoop, calls=both  p = s32[8] get-tuple-element(y), index=0
        q = s32[8] get-tuple-element(y), index=1  z = s32[8] fusion(q, a), kind=kLoop, calls=add  ROOT r = ((s32[8], s32[8]), s32[8]) tuple(y, z)""",
    "ops beside fusions": """x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  z = s32[2,4] reshape(y)  t = s32[4,2] transpose(z), dimensions={1,0}
        c = s32[] constant(0)  s = s32[4] reduce(t, c), dimensions={1}, to_apply=sum  ROOT r = (s32[4], s32[2,4]) tuple(s, z)""",
    "a view as a result": "x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  ROOT z = s32[2,2,2] bitcast(y)",
    "a view of a parameter": "x = s32[8] parameter(0)  y = s32[2,4] bitcast(x)  z = s32[8] bitcast(y)  w = s32[8] fusion(z, x), kind=kLoop, calls=add  ROOT r = (s32[2,4], s32[8]) tuple(y, w)",
    "an update of what is read later": """x = s32[8] parameter(0)  u = s32[2] parameter(1)  y = s32[8] fusion(x), kind=kLoop, calls=twice
        z = s32[8] fusion(y, u), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}  ROOT w = s32[8] fusion(y, z), kind=kLoop, calls=add""",
    "an update of what is needed no more": """x = s32[8] parameter(0)  u = s32[2] parameter(1)  y = s32[8] fusion(x), kind=kLoop, calls=twice
        z = s32[8] fusion(y, u), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}  ROOT w = s32[8] fusion(z, x), kind=kLoop, calls=add""",
    "an update of a parameter": """x = s32[8] parameter(0)  u = s32[2] parameter(1)
        z = s32[8] fusion(x, u), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}  ROOT w = s32[8] fusion(z, x), kind=kLoop, calls=add""",
    "an update of an update": """x = s32[8] parameter(0)  u = s32[2] parameter(1)  y = s32[8] fusion(x), kind=kLoop, calls=twice
        z = s32[8] fusion(y, u), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}
        v = s32[8] fusion(z, u), kind=kLoop, calls=update, output_to_operand_aliasing={{}: (0, {})}  ROOT r = (s32[8], s32[8]) tuple(v, x)""",
    "an empty array": "x = s32[8] parameter(0)  e = s32[0] slice(x), slice={[3:3]}  y = s32[8] fusion(x), kind=kLoop, calls=twice  z = s32[8] concatenate(y, e), dimensions={0}  ROOT r = (s32[0], s32[8]) tuple(e, z)",
}


def module(entry: str) -> str:
    return f"HloModule m\n\n{ADD}{TWICE}{SUM}{BOTH}{UPDATE}\nENTRY main {{\n{entry}\n}}\n"


def written(tmp_path: Path, text: str, name: str = "m") -> str:
    path = tmp_path / f"{name}.hlo"
    path.write_text(text)
    return str(path)


def program(text: str, name: str = "m") -> Program:
    parsed = hlo.parse(text, f"{name}.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, refused
    return build.program(parsed)


@in_parts
@pytest.mark.parametrize("target", TARGETS)
def test_entries(target: str, part: str, tmp_path: Path) -> None:
    """Each call agrees with the call's reference, and the whole program agrees with the reference of the inlined
    module.
    """
    device_or_skip(target)
    builts = []
    for number, entry in enumerate(of_part(ENTRIES.values(), part)):
        of = program(module(entry), f"m{number}")
        builts.append(run.build(of, tmp_path / str(number), target, run.Options()))
    for result in run.check_built(builts, target, run.Options(rounds=3)):
        assert result.status == "PASS", result.line()


def drawn_module(seed: int) -> str:
    """Return a random module of integer fusions. All operands of a fusion have the same size, which is one of two. The
    result may have the other size. A result is read once, often or never, and results are returned in any order.
    """
    draw = random.Random(seed)
    functions, lines, names = [], [], {8: ["x", "y"], 16: ["w"]}
    for number in range(draw.randint(2, 12)):
        size, to = draw.choice((8, 16)), draw.choice((8, 16))
        read = [draw.choice(names[size]) for _ in range(draw.randint(1, 3))]
        if draw.random() < .3 and functions:
            name, size, to, count = draw.choice(functions)
            read = [draw.choice(names[size]) for _ in range(count)]
        else:
            name = f"f{number}"
            functions.append((name, size, to, len(read)))
            body = [f"p{k} = s32[{size}] parameter({k})" for k in range(len(read))]
            last = "p0"
            for k in range(len(read)):
                body.append(f"a{k} = s32[{size}] {draw.choice(('add', 'multiply', 'subtract', 'maximum'))}({last}, p{k})")
                last = f"a{k}"
            last, shape = (last, "") if to == size else (f"s = s32[8] slice({last}), slice={{[5:13]}}", "s") if to == 8 else (
                f"s = s32[16] concatenate({last}, p0), dimensions={{0}}", "s")
            body += [last] if shape else []
            body.append(f"ROOT r = s32[{to}] negate({shape or last})")
            lines.append(f"{name} {{ {'  '.join(body)} }}")
        names[to].append(f"v{number}")
        lines.append(f"  v{number} = s32[{to}] fusion({', '.join(read)}), kind=kLoop, calls={name}")
    given = [(size, draw.choice(names[size])) for size in draw.choices((8, 16), k=draw.randint(1, 4))]
    functions_text = "\n".join(line for line in lines if not line.startswith(" "))
    entry = "\n".join(line for line in lines if line.startswith(" "))
    return (f"HloModule m\n{functions_text}\nENTRY main {{\n  x = s32[8] parameter(0)\n  y = s32[8] parameter(1)\n  w = s32[16] parameter(2)\n{entry}\n"
            f"  ROOT all = ({', '.join(f's32[{size}]' for size, _ in given)}) tuple({', '.join(name for _, name in given)})\n}}\n")


@in_parts
@pytest.mark.parametrize("target", TARGETS)
def test_drawn(target: str, part: str, tmp_path: Path) -> None:
    device_or_skip(target)
    builts = [run.build(program(drawn_module(seed), f"d{seed}"), tmp_path / str(seed), target, run.Options())
              for seed in of_part(range(12), part)]
    for result in run.check_built(builts, target, run.Options(rounds=1)):
        assert result.status == "PASS", result.line()


@pytest.mark.peer
@pytest.mark.parametrize("target", TARGETS)
def test_blocks_after_xla(target: str) -> None:
    """Two transformer blocks in XLA:GPU's form become one function, which contains the kernels of each computation once.
    """
    device_or_skip(target)
    of = build.program(run.load(str(WHOLE)))
    assert (len(of.body), len(of.fusions)) == (24, 11)
    results = run.check(str(WHOLE), target, run.Options(rounds=2))
    assert len(results) == 24 and all(result.status == "PASS" for result in results), [result.line() for result in results]


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 200), marks=pytest.mark.peer)])
def test_arrays_do_not_meet(seeds: "Sequence[int]") -> None:
    """Two arrays never share bytes while both are needed, on any target."""
    for seed in seeds:
        of = program(drawn_module(seed))
        for target in ("c", "opencl", "cuda"):
            made = pipeline.target_file(of, target)
            for dialect in made.dialects:
                places, launches = dialect.storage.places, dialect.launches
                uses: "Dict[Any, List[int]]" = {}
                for at, launch in enumerate(launches):
                    for array in launch.arrays:
                        uses.setdefault(array, []).append(at)
                for array in of.results:    # results are needed until the end
                    uses.setdefault(array, []).append(len(launches))
                listed = [(array, places[array], min(at), max(at)) for array, at in uses.items()]
                for n, (a, p, first, last) in enumerate(listed):
                    assert p.buffer != "scratch" or p.offset + a.shape.bytes <= dialect.storage.bytes
                    for b, q, begin, end in listed[:n]:
                        apart = (p.buffer, p.buffer != "scratch" and p.number) != (q.buffer, q.buffer != "scratch" and q.number)
                        assert apart or p.offset + a.shape.bytes <= q.offset or q.offset + b.shape.bytes <= p.offset or end < first or last < begin, (
                            seed, target, a.name, b.name)


def test_equal_fusions_are_one() -> None:
    """A computation that a module contains twice has one kernel."""
    again = TWICE.replace("twice", "other").replace("a =", "z =").replace("add(a, a)", "add(z, z)")
    entry = "x = s32[8] parameter(0)  y = s32[8] fusion(x), kind=kLoop, calls=twice  ROOT z = s32[8] fusion(y), kind=kLoop, calls=other"
    of = program(f"HloModule m\n{TWICE}{again}ENTRY main {{\n{entry}\n}}\n")
    assert len(of.body) == 2 and len(of.fusions) == 1
    assert pipeline.target_file(of, "c").text.count("static void sett_m_twice(") in (1, 2)    # the function is there twice if the file has a version with vectors and one without


def chain(op: str, before: str = "") -> Program:
    """Return a program of ten calls, each of which reads the previous result."""
    function = f"turn {{ a = s32[4096] parameter(0)  b = s32[4096] negate(a)  {before}  ROOT r = s32[4096] {op} }}\n"
    lines = ["v0 = s32[4096] parameter(0)", *(f"v{k + 1} = s32[4096] fusion(v{k}), kind=kLoop, calls=turn" for k in range(9))]
    return program(f"HloModule m\n{function}ENTRY main {{\n{chr(10).join(lines)}\nROOT r = s32[4096] fusion(v9), kind=kLoop, calls=turn\n}}\n")


def test_scratch_is_shared() -> None:
    """In a chain of calls, two arrays are needed at the same time. One of the two is the result's buffer, except in
    OpenCL. If each element of a call's result depends only on the same element of its operand, one array is enough.
    """
    turned, plain, shifted = chain("reverse(b), dimensions={0}"), chain("add(a, b)"), chain("add(a, c)", "c = s32[4096] reverse(a), dimensions={0}")
    assert pipeline.target_file(turned, "opencl", "opencl-gpu").storage.bytes == 2 * 4 * 4096
    for target in ("c", "cuda"):
        assert pipeline.target_file(turned, target).storage.bytes == 4 * 4096
        assert pipeline.target_file(plain, target).storage.bytes == 0
        assert pipeline.target_file(shifted, target).storage.bytes > 0
    text = pipeline.target_file(plain, "c").text
    assert "int32_t *p0, int32_t *r0" in text and "restrict p0" not in text    # not restrict, because the caller may pass one buffer as p0 and as r0


def test_launches_of_many_small_kernels(tmp_path: Path) -> None:
    """In OpenCL on a CPU, 40 small kernels become three launches. One launch of all of them takes long to compile."""
    function = "turn { a = s32[8] parameter(0)  b = s32[8] negate(a)  c = s32[8] reverse(a), dimensions={0}  ROOT r = s32[8] subtract(c, b) }\n"
    lines = ["v0 = s32[8] parameter(0)", *(f"v{k + 1} = s32[8] fusion(v{k}), kind=kLoop, calls=turn" for k in range(39))]
    text = f"HloModule m\n{function}ENTRY main {{\n{chr(10).join(lines)}\nROOT r = s32[8] fusion(v39), kind=kLoop, calls=turn\n}}\n"
    chains = [launch.kernel for launch in pipeline.target_file(program(text), "opencl", "pocl-cpu").launches]
    assert [len(chain.kernels) for chain in chains if isinstance(chain, Chain)] == [16, 16, 8] and len(chains) == 3
    device_or_skip("opencl")
    assert {result.status for result in run.check(written(tmp_path, text), "opencl", run.Options())} == {"PASS"}


LAYOUTS = """HloModule m

body {
  t = (s32[], s32[6,4]{1,0}, s32[6,4]{1,0}, s32[4]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = s32[6,4]{1,0} get-tuple-element(t), index=1
  y = s32[6,4]{1,0} get-tuple-element(t), index=2
  sum = s32[4] get-tuple-element(t), index=3
  zero = s32[] constant(0)
  row = s32[1,4]{1,0} dynamic-slice(x, i, zero), dynamic_slice_sizes={1,4}
  values = s32[4] reshape(row)
  more = s32[4] add(sum, values)
  twice = s32[1,4]{1,0} add(row, row)
  changed = s32[6,4]{1,0} dynamic-update-slice(y, twice, i, zero)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], s32[6,4]{1,0}, s32[6,4]{1,0}, s32[4]) tuple(next, x, changed, more)
}

more {
  t = (s32[], s32[6,4]{1,0}, s32[6,4]{1,0}, s32[4]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  last = s32[] constant(5)
  ROOT l = pred[] compare(i, last), direction=LT
}

ENTRY m {
  p = s32[4,6] parameter(0)
  q = s32[4,6] parameter(1)
  x = s32[6,4]{0,1} transpose(p), dimensions={1,0}
  y = s32[6,4]{0,1} transpose(q), dimensions={1,0}
  zero = s32[] constant(0)
  zeros = s32[4] broadcast(zero), dimensions={}
  t = (s32[], s32[6,4]{0,1}, s32[6,4]{0,1}, s32[4]) tuple(zero, x, y, zeros)
  w = (s32[], s32[6,4]{0,1}, s32[6,4]{0,1}, s32[4]) while(t), condition=more, body=body
  same = s32[6,4]{0,1} get-tuple-element(w), index=1
  changed = s32[6,4]{0,1} get-tuple-element(w), index=2
  sum = s32[4] get-tuple-element(w), index=3
  ROOT r = (s32[6,4]{0,1}, s32[6,4]{0,1}, s32[4]) tuple(same, changed, sum)
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_layouts_of_a_loop(target: str, tmp_path: Path) -> None:
    """If the arrays around a loop have other layouts than those in its body, as in the text that JAX writes of a scan
    over a transposed array, they are copied before and after the loop, not in each step.
    """
    device_or_skip(target)
    loop, = (node for node in program(LAYOUTS).body if isinstance(node, Loop))
    roots = [node.fusion.computation.root for node in loop.body if isinstance(node, Call)]
    assert roots and not any(root.opcode == "copy" for root in roots if root)
    assert {result.status for result in run.check(written(tmp_path, LAYOUTS), target, run.Options())} == {"PASS"}


NAMES = """HloModule m

f {
  x = f32[4,4] parameter(0)
  z = f32[] constant(0)
  a = f32[4,9] pad(x, z), padding=0_0x2_3
  y = f32[4,4] multiply(x, x)
  b = f32[4,9] pad(y, z), padding=0_0x4_1
  ROOT c = f32[8,9] concatenate(a, b), dimensions={0}
}
f.1 { x = f32[5] parameter(0)  %1 = f32[5] add(x, x)  ROOT r = f32[5] multiply(%1, x) }
f.1.x { x = f32[5] parameter(0)  ROOT r = f32[5] reverse(x), dimensions={0} }

ENTRY m {
  x = f32[5] parameter(0)
  y = f32[4,4] parameter(1)
  a = f32[8,9] fusion(y), kind=kLoop, calls=f
  b = f32[5] fusion(x), kind=kLoop, calls=f.1
  c = f32[5] fusion(b), kind=kLoop, calls=f.1.x
  ROOT t = (f32[8,9], f32[5]) tuple(a, c)
}
"""


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer), pytest.param("cuda-on-cpu", marks=pytest.mark.peer)])
def test_functions_have_names_of_their_own(target: str, tmp_path: Path) -> None:
    """If a fusion has several kernels, they are named after the fusion, with numbers. The names differ from the names
    of the module's fusions, some of which end in a number.
    """
    device_or_skip(target)
    results = run.check(written(tmp_path, NAMES), target, run.Options())
    assert {result.status for result in results} == {"PASS"}, results
    kernels = [launch.kernel.name for launch in pipeline.target_file(program(NAMES), "c").launches]
    assert len(set(kernels)) == len(kernels) == 4


ORDER = """HloModule m

turn { x = s32[4096] parameter(0)  ROOT r = s32[4096] reverse(x), dimensions={0} }
add { x = s32[] parameter(0)  y = s32[] parameter(1)  ROOT s = s32[] add(x, y) }
sum { x = s32[4096] parameter(0)  z = s32[] constant(0)  ROOT s = s32[] reduce(x, z), dimensions={0}, to_apply=add }
shifted { x = s32[4096] parameter(0)  r = s32[4096] reverse(x), dimensions={0}  ROOT y = s32[4096] subtract(x, r) }

ENTRY m {
  x = s32[4096] parameter(0)
  a = s32[4096] fusion(x), kind=kLoop, calls=turn
  b = s32[4096] fusion(a), kind=kLoop, calls=shifted
  c = s32[4096] fusion(x), kind=kLoop, calls=shifted
  d = s32[] fusion(b), kind=kInput, calls=sum
  e = s32[] fusion(c), kind=kInput, calls=sum
  ROOT t = (s32[], s32[]) tuple(d, e)
}
"""


def test_order_of_launches(tmp_path: Path) -> None:
    """An array that only one launch reads is computed right before that launch, if this order saves memory."""
    for target, device in (("c", "cpu"), ("opencl", "opencl-gpu")):
        assert pipeline.target_file(program(ORDER), target, device).storage.bytes == 2 * 4 * 4096    # two arrays; in the order of the text three would be needed
    assert {result.status for result in run.check(written(tmp_path, ORDER), "c", run.Options())} == {"PASS"}


def test_apart(tmp_path: Path) -> None:
    """`--apart` writes separate files for each fusion."""
    file = written(tmp_path, module(ENTRIES["results that are read on"]))
    done = gen("build", file, "-o", tmp_path / "out", "--target", "c", "--apart")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").glob("*.c")} == {"m_twice.c", "m_twice_ref.c", "m_add.c", "m_add_ref.c"}


MAIN = r"""
#include <stdio.h>
#include <string.h>
#include "m.h"
static void run(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work)
{
  *(size_t *)context += count;
  for (size_t n = count; n--;) item(work, n);
}
static float x[m_x_LENGTH + 1], y[m_y_LENGTH], wanted[m_y_LENGTH + 1];
static int32_t n[m_n_LENGTH], once[1];
static unsigned char scratch[m_c_SCRATCH_BYTES + 16];
int main(void)
{
  size_t shared = 0;
  struct sett_share share = {2, run, &shared};
  void *aligned = scratch + (8 - (uintptr_t)scratch % 8) % 8;
  const void *params[] = {x};
  void *results[] = {wanted, once};
  if (sizeof x < m_x_BYTES || m_PARAMS != 1 || m_RESULTS != 2) return 1;
  for (int i = 0; i < m_x_LENGTH; ++i) x[i] = (float)(i % 31);
  if (m(x, y, n, aligned)) return 2;
  if (m_c_run(params, results, aligned) || memcmp(y, wanted, m_y_BYTES) || n[0] != once[0]) return 3;
  memset(wanted, 0, sizeof wanted);
  if (m_c_run_on(params, results, aligned, &share) || memcmp(y, wanted, m_y_BYTES) || !shared) return 4;
  /* a pointer that is aligned for its elements, and no more */
  memmove(x + 1, x, m_x_BYTES), memset(wanted, 0, sizeof wanted);
  params[0] = x + 1, results[0] = wanted + 1;
  if (m_c_run(params, results, aligned) || memcmp(y, wanted + 1, m_y_BYTES)) return 5;
  params[0] = (char *)x + 1;
  if (m_c_run(params, results, aligned) != 1) return 6;
  printf("%g %d\n", (double)y[5], (int)n[0]);
  return 0;
}
"""

LARGE = "HloModule m\n" + SUM + """half { a = f32[1048576] parameter(0)  b = f32[1048576] add(a, a)  ROOT r = f32[1048576] multiply(b, a) }
count { a = f32[1048576] parameter(0)  c = f32[] constant(7)  d = f32[1048576] broadcast(c), dimensions={}  e = pred[1048576] compare(a, d), direction=GT
  f = s32[1048576] convert(e)  z = s32[] constant(0)  ROOT n = s32[] reduce(f, z), dimensions={0}, to_apply=sum }
ENTRY main {
  x = f32[1048576] parameter(0)
  t = f32[1048576] fusion(x), kind=kLoop, calls=half
  y = f32[1048576] fusion(t), kind=kLoop, calls=half
  n = s32[] fusion(y), kind=kInput, calls=count
  ROOT all = (f32[1048576], s32[]) tuple(y, n)
}
"""


@pytest.mark.parametrize("flags", ([], pytest.param(["-march=native"], marks=pytest.mark.peer), ["-DSETT_SCALAR"]))
def test_the_header(flags: "List[str]", tmp_path: Path) -> None:
    """The header declares the function with its types and names, macros for sizes, and the version that takes the
    caller's threads. By the header, pointers need only be aligned to their elements.
    """
    texts, _ = pipeline.files(program(LARGE), ["c"])
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(MAIN)
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", *flags]
    subprocess.run([run.c_compiler(), *strict, "-o", "main", "main.c", "m.c", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "main")], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, f"{8 * 5 ** 4:g} {sum(8 * (i % 31) ** 4 > 7 for i in range(1048576))}\n")


TAKEN = "log nan j1l NULL M_PI size_t uint float4 vload4 index main restrict math stdint fusion run work exp_float8".split()


@pytest.mark.peer
@pytest.mark.parametrize("target", TARGETS)
def test_names_that_c_has(target: str, tmp_path: Path) -> None:
    """Module files may be named like a keyword of C or OpenCL, a name or a header of C's library, or one of the
    generated functions.
    """
    device_or_skip(target)
    text = "ENTRY e { x = f32[9] parameter(0)  a = f32[9] exponential(x)  ROOT y = f32[9] add(a, x) }"
    builts = [run.build(program(text, name), tmp_path, target, run.Options()) for name in TAKEN]
    assert {result.status for result in run.check_built(builts, target, run.Options(rounds=1))} == {"PASS"}
    headers = [*("math.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"), *(f"{built.name}.h" for built in builts)]
    (tmp_path / "main.c").write_text("".join(f"#include <{header}>\n" for header in headers if target == "c"))
    subprocess.run([run.c_compiler(), "-std=gnu11", "-Werror", "-Wno-unused", "-fsyntax-only", "-I", tmp_path, "main.c"],
                   cwd=tmp_path, check=True)


def test_parameters_that_c_has(tmp_path: Path) -> None:
    """Parameters may be named like a macro or a type of C's library."""
    names = "NULL NAN INFINITY EOF I M_PI true errno stdin complex thread_local size_t int32_t linux and not xor try nullptr static_assert PRId64 signbit y1 index y".split()
    text = "ENTRY e {" + "".join(f" {name} = f32[9] parameter({k})" for k, name in enumerate(names)) + " r0 = f32[9] add(NULL, NAN)"
    text += "".join(f" r{k} = f32[9] add(r{k - 1}, {name})" for k, name in enumerate(names[2:], 1)) + f" ROOT r = f32[9] add(r{len(names) - 2}, NULL) }}"
    run.build(program(text, "of_all"), tmp_path, "c", run.Options())
    headers = "".join(f"#include <{header}.h>\n" for header in "complex errno float limits math stdalign stdbool stddef stdint stdio stdlib stdnoreturn string threads iso646 inttypes assert".split())
    (tmp_path / "main.c").write_text(headers + '#include "of_all.h"\n')
    text = (tmp_path / "of_all.h").read_text()
    assert "const float *NULL_, " in text and "const float *stdin, " in text and "const float *y1, const float *index, const float *y, float *r" in text
    subprocess.run([run.c_compiler(), "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "main.c"], cwd=tmp_path, check=True)


LOOPED = """HloModule m
body { p = (s32[], s32[8], s32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0  a = s32[8] get-tuple-element(p), index=1
  b = s32[8] get-tuple-element(p), index=2  d = s32[8] reverse(b), dimensions={0}  c = s32[8] add(a, d)  one = s32[] constant(1)  next = s32[] add(i, one)
  ROOT t = (s32[], s32[8], s32[8]) tuple(next, b, c) }
condition { p = (s32[], s32[8], s32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = s32[8] parameter(0)
  y = s32[8] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], s32[8], s32[8]) tuple(zero, x, y)
  w = (s32[], s32[8], s32[8]) while(start), condition=condition, body=body
  a = s32[8] get-tuple-element(w), index=1
  b = s32[8] get-tuple-element(w), index=2
  ROOT all = (s32[8], s32[8]) tuple(a, b)
}
"""


@pytest.mark.parametrize("text", (LOOPED, module(ENTRIES["results that are read on"])), ids=("loop", "calls"))
def test_wrong_places_are_found(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of a program fails if two arrays that are needed at the same time have the same place in memory. It
    also fails if a copy from one place to another is left out.
    """
    proved: List[Any] = []
    monkeypatch.setattr(proof, "prove", lambda *given: proved.append(given))
    pipeline.target_file(program(text), "c", "cpu-scalar")
    monkeypatch.undo()
    (of, steps, places), = proved
    proof.prove(of, steps, places)
    moves = [step for step in leaves(steps) if isinstance(step, Move)]
    for move in moves:
        apart = places[move.source] != places[move.to]
        assert not (apart and move.left_out)
        move.left_out, before = True, move.left_out
        if apart:
            with pytest.raises(proof.Misplaced):
                proof.prove(of, steps, places)
        move.left_out = before
    assert any(not move.left_out for move in moves) == (text is LOOPED)
    for one, other in itertools.combinations(of.results, 2):    # two results must not share a place
        for moved, to in ((one, other), (other, one)):
            with pytest.raises(proof.Misplaced):
                proof.prove(of, steps, {**places, moved: places[to]})


def test_wrong_kernels_are_found(tmp_path: Path) -> None:
    """If a kernel in a loop's body is wrong, `gen check` names the call of this kernel. The call is checked in
    m_traced.c, a variant of the program that returns the results of all calls. If the kernel is right there, but wrong
    in m.c, the check of the whole program fails.
    """
    found = {}
    for name, files in (("whole", ("m.c",)), ("both", ("m.c", "m_traced.c"))):
        of = run.build(program(LOOPED), tmp_path / name, "c", run.Options())
        for file in files:
            path = tmp_path / name / file
            path.write_text(path.read_text().replace("v_c = ", "v_c = 1 + "))
        found[name] = [result for result in run.check_built([of], "c", run.Options(rounds=1)) if result.status == "FAIL"]
    assert [result.fusion for result in found["both"]] == ["m_body"]
    assert [result.fusion for result in found["whole"]] == ["m"] and "where calls share scratch" in found["whole"][0].reason


NAN_BITS = """HloModule m
multiplied { a = f32[32] parameter(0)  b = f32[32] parameter(1)  ROOT s = f32[32] multiply(a, b) }
ENTRY e {
  a = f32[32] parameter(0)
  b = f32[32] parameter(1)
  s = f32[32] fusion(a, b), kind=kLoop, calls=multiplied
  ROOT t = (f32[32], s32[32]) topk(s), k=32, largest=true
}
"""


@pytest.mark.parametrize("change, status", (("v_a * v_b == v_a * v_b ? v_a * v_b : NAN", "PASS"),
                                            ("1 + v_a * v_b", "FAIL")), ids=("other NaN", "other number"))
def test_bits_of_computed_nans(change: str, status: str, tmp_path: Path) -> None:
    """HLO does not specify the bits of a NaN that arithmetic returns, and a topk orders NaNs by their bits. So a check
    accepts another order in rounds with such NaNs, and nothing else.
    """
    said: List[str] = []
    options = run.Options(schedule="cpu-scalar", say=said.append)
    of = run.build(program(NAN_BITS), tmp_path, "c", options)
    path = tmp_path / "m.c"
    before = path.read_text()
    path.write_text(before.replace("v_a * v_b", change))
    assert path.read_text() != before
    results = run.check_built([of], "c", options)
    assert results[-1].status == status, results[-1].reason
    assert any("the bits of a computed NaN decide results" in line for line in said) == (status == "PASS")


ONE_NAN = """z = pred[] compare(a, a), direction=NE  w = pred[] compare(b, b), direction=NE  n = f32[] constant(nan)
  c = f32[] select(z, n, a)  d = f32[] select(w, n, b)"""


@pytest.mark.parametrize("before, sides, expected", (("", "a, b", True), (ONE_NAN, "c, d", False)))
def test_sorts_that_distinguish_nans(before: str, sides: str, expected: bool) -> None:
    """A sort by the total order distinguishes NaNs by their bits, unless its comparator replaces them by one NaN."""
    text = f"""HloModule m
less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  {before}
  ROOT r = pred[] compare({sides}), direction=LT, type=TOTALORDER }}
ENTRY e {{ x = f32[32] parameter(0)  ROOT s = f32[32] sort(x), dimensions={{0}}, to_apply=less }}
"""
    (call,) = program(text).calls
    assert reads_nan_bits(call.fusion.computation) == expected


def test_what_no_input_reaches_is_said(tmp_path: Path) -> None:
    """A branch that no input takes passes untested, and the output says so."""
    text = """HloModule m
same { ROOT p = s32[8] parameter(0) }
twice { p = s32[8] parameter(0)  ROOT r = s32[8] add(p, p) }
ENTRY e { x = s32[8] parameter(0)  never = pred[] constant(false)  ROOT w = s32[8] conditional(never, x, x), true_computation=twice, false_computation=same }
"""
    results = run.check_built([run.build(program(text), tmp_path, "c", run.Options())], "c", run.Options(rounds=2))
    assert all(result.status == "PASS" for result in results)
    assert [result.fusion for result in results if result.reason == "the inputs of 2 rounds do not reach it"] == ["m_twice"]


DEEP = """HloModule m
ENTRY e {{ x = f32[16,16] parameter(0)  w = f32[16,16] parameter(1)
{}
  ROOT y = f32[16,16] negate(q{})
}}
"""


def deep(steps: int) -> str:
    """Return a program that divides several times by a product of matrices. After the divisions the error of the whole
    program has no bound.
    """
    lines = []
    for n in range(steps):
        of = f"q{n}" if n else "x"
        lines.append(f"  d{n} = f32[16,16] dot({of}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}  q{n + 1} = f32[16,16] divide({of}, d{n})")
    return DEEP.format("\n".join(lines), steps)


@pytest.mark.parametrize("target", TARGETS)
def test_nests_are_compared_one_by_one(target: str, tmp_path: Path) -> None:
    """The error of a long fusion may have no bound. Therefore its parts are compared one by one: for ordinary inputs
    the error of each part has a bound.
    """
    device_or_skip(target)
    results = run.check_built([run.build(program(deep(8)), tmp_path, target, run.Options())], target, run.Options(rounds=3))
    assert all(result.status == "PASS" for result in results) and len(results) > 4
    assert sum(result.compared - result.unbounded for result in results) > 500


def test_a_wrong_nest_is_named(tmp_path: Path) -> None:
    """In a fusion of many parts only the wrong part fails."""
    # products of 2 x 2 matrices are computed by loops
    of = run.build(program(deep(8).replace("[16,16]", "[2,2]")), tmp_path, "c", run.Options())
    for path in (tmp_path / "m.c", tmp_path / "m_traced.c"):
        path.write_text(path.read_text().replace("v_d5 = v_next", "v_d5 = 0.5f + v_next"))
    results = run.check_built([of], "c", run.Options(rounds=1))
    assert [result.fusion.rsplit("_", 1)[1] for result in results if result.status == "FAIL"] == ["d5"]


def test_a_scatter_of_nothing_is_a_part(tmp_path: Path) -> None:
    """In a check of a fusion by parts, a scatter without updates is one part. The parts that read its result get it as
    a parameter.
    """
    text = deep(5).replace("d0 = f32[16,16] dot(x,", """at = s32[0,1] constant({})  new = f32[0,16] constant({})
  same = f32[16,16] scatter(x, at, new), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  d0 = f32[16,16] dot(same,""").replace("ENTRY", "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\nENTRY")
    results = run.check_built([run.build(program(text), tmp_path, "c", run.Options())], "c", run.Options(rounds=1))
    assert len(results) > 4 and all(result.status == "PASS" for result in results), [result.line() for result in results]


def test_a_call_after_a_wrong_one_does_not_pass(tmp_path: Path) -> None:
    """After a call that fails, later calls are not compared, and the message says so."""
    # products of 2 x 2 matrices are computed by loops
    of = run.build(program(deep(8).replace("[16,16]", "[2,2]")), tmp_path, "c", run.Options())
    for path in (tmp_path / "m.c", tmp_path / "m_traced.c"):
        path.write_text(path.read_text().replace("v_d1 = v_next", "v_d1 = 0.5f + v_next"))
    results = run.check_built([of], "c", run.Options(rounds=1))
    assert [result.status for result in results if result.status == "FAIL"] == ["FAIL"]
    assert all(result.compared for result in results if result.status == "PASS")
    assert any(result.status == "SKIP" and "not compared" in result.reason for result in results)
