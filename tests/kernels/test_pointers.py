"""Test the alignment of pointers in CUDA and HIP. Callers only have to align pointers to their elements. A kernel that
accesses several elements at once therefore has two forms, and the call chooses by the pointers' alignment.

`gen check` runs both forms of every kernel. Here each pointer is misaligned in turn. For each kernel, the list of the
pointers through which it accesses several elements at once is tested too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Set

import pytest

from gen import pipeline, run
from gen.hlo import parse
from gen.plan.nest import BuildError
from gen.program import build as programs
from gen.targets.tools import cxx_compiler

ROOT = Path(__file__).resolve().parents[2]
SUM = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
LOOP = """condition { p = (s32[], STATE) parameter(0)  n = s32[] get-tuple-element(p), index=0  three = s32[] constant(3)
  ROOT l = pred[] compare(n, three), direction=LT }
body { p = (s32[], STATE) parameter(0)  n = s32[] get-tuple-element(p), index=0  one = s32[] constant(1)  m = s32[] add(n, one)
BODY}
"""
MODULES = {
    # accesses of 16, 8 and 4 bytes; one pointer whose elements are accessed one at a time
    "straight": """ENTRY e {
  a = f32[1024,1024] parameter(0)  b = bf16[1024,1024] parameter(1)  c = u8[1024,1024] parameter(2)  d = f32[1024] parameter(3)
  e = f32[1024,1024] convert(b)  f = f32[1024,1024] convert(c)  g = f32[1024,1024] broadcast(d), dimensions={0}
  h = f32[1024,1024] add(a, e)  i = f32[1024,1024] add(h, f)  j = f32[1024,1024] add(i, g)  ROOT t = (f32[1024,1024], bf16[1024,1024]) tuple(j, b) }
""",
    "transposed": """ENTRY e {
  a = bf16[96,2,128] parameter(0)  b = bf16[128,2,96] parameter(1)  t = bf16[128,2,96] transpose(a), dimensions={2,1,0}
  ROOT r = bf16[128,2,96] maximum(t, b) }
""",
    # the loop's kernel is launched three times: on the parameter, on scratch and on the result
    "loop": SUM + LOOP.replace("STATE", "f32[8,1024]").replace("BODY", """  x = f32[8,1024] get-tuple-element(p), index=1  z = f32[] constant(0)
  q = f32[8,1024] multiply(x, x)  s = f32[8] reduce(q, z), dimensions={1}, to_apply=sum  r = f32[8] rsqrt(s)
  w = f32[8,1024] broadcast(r), dimensions={0}  y = f32[8,1024] multiply(x, w)  ROOT t = (s32[], f32[8,1024]) tuple(m, y) """) + """ENTRY e {
  x = f32[8,1024] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[8,1024]) tuple(z, x)
  w = (s32[], f32[8,1024]) while(t), condition=condition, body=body  ROOT y = f32[8,1024] get-tuple-element(w), index=1 }
""",
    # one block of threads runs the whole loop
    "chain": SUM + LOOP.replace("STATE", "f32[4], f32[4,1024]").replace("BODY", """  a = f32[4] get-tuple-element(p), index=1
  x = f32[4,1024] get-tuple-element(p), index=2  z = f32[] constant(0)  w = f32[4,1024] broadcast(a), dimensions={0}  q = f32[4,1024] multiply(x, w)
  s = f32[4] reduce(q, z), dimensions={1}, to_apply=sum  ROOT t = (s32[], f32[4], f32[4,1024]) tuple(m, s, x) """) + """ENTRY e {
  a = f32[4] parameter(0)  x = f32[4,1024] parameter(1)  z = s32[] constant(0)  t = (s32[], f32[4], f32[4,1024]) tuple(z, a, x)
  w = (s32[], f32[4], f32[4,1024]) while(t), condition=condition, body=body  ROOT y = f32[4] get-tuple-element(w), index=1 }
""",
    # elements of one byte are combined by atomic operations on 4-byte words
    "scatter": """add { a = u8[] parameter(0)  b = u8[] parameter(1)  ROOT c = u8[] add(a, b) }
ENTRY e {
  x = u8[64] parameter(0)  i = s32[200,1] parameter(1)  u = u8[200] parameter(2)
  ROOT s = u8[64] scatter(x, i, u), to_apply=add, update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1 }
""",
}

# Call a program with all pointers aligned to 64 bytes, then with each pointer in turn at its minimum alignment, then
# with each pointer one byte off. Print the calls whose error or results differ.
CALLS = r"""
import ctypes, json, random, sys
library, about = ctypes.CDLL(sys.argv[1]), json.loads(sys.argv[2])
ctypes.c_int.in_dll(library, "sett_cuda_order").value = 0
draw = random.Random(7)
data = [bytes(draw.choices((0, 1, 2, 3, 64), k=n)) for n in about["params"]]
rooms = [ctypes.create_string_buffer(n + 256) for n in (*about["params"], *about["results"], about["scratch"])]

def called(shifts):
    at = [ctypes.addressof(room) + -ctypes.addressof(room) % 64 + 64 + shift for room, shift in zip(rooms, shifts)]
    for address, of in zip(at, data):
        ctypes.memmove(address, of, len(of))
    params, results = at[:len(data)], at[len(data):-1]
    error = library.m_cuda((ctypes.c_void_p * len(params))(*params), (ctypes.c_void_p * len(results))(*results), ctypes.c_void_p(at[-1]), None)
    return error, [ctypes.string_at(address, n) for address, n in zip(results, about["results"])]

least = [*about["alignment"]["params"], *about["alignment"]["results"], 16]
right, wrong = called([0] * len(rooms)), []
assert right[0] == 0, right[0]
for k, by in enumerate(least):
    shifts = [by if n == k else 0 for n in range(len(rooms))]
    if called(shifts) != right:
        wrong.append(("moved", k))
    shifts[k] += 1 if by > 1 else 0
    if by > 1 and (k < len(rooms) - 1 or about["scratch"]) and called(shifts)[0] != 1:
        wrong.append(("accepted", k))
if called(least) != right:
    wrong.append("all")
print(json.dumps(wrong))
"""


@pytest.mark.parametrize("name", MODULES)
def test_each_pointer(name: str, tmp_path: Path) -> None:
    """With one pointer at its minimum alignment the results are the same bits, and no wide access is misaligned. With
    one pointer below its minimum alignment the call returns an error.
    """
    program = programs.program(parse(f"HloModule m\n{MODULES[name]}", "m.hlo"))
    texts, about = pipeline.files(program, ["cuda"], "sm_80")
    for file, text in texts.items():
        (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    for header in ("cuda_runtime.h", "cuda_fp16.h"):
        (tmp_path / header).write_text('#include "cuda_on_cpu.h"\n')
    text = (tmp_path / "m.cu").read_text()
    assert ("aligned ?" in text) == (name != "scatter") and ("_body<aligned>(" in text) == (name == "chain")
    subprocess.run([cxx_compiler(), "-std=c++17", "-O1", "-ffp-contract=off", "-fsanitize=alignment", "-fsanitize-undefined-trap-on-error", "-fPIC", "-w",
                    "-shared", "-I", ".", "-I", str(ROOT / "tests"), "-x", "c++", "m.cu", "-o", "m.so"], cwd=tmp_path, check=True)
    made = about["targets"]["cuda"]
    known = {"params": [p["bytes"] for p in about["params"]], "results": [r["bytes"] for r in about["results"]], "scratch": made["scratch_bytes"],
             "alignment": made["alignment"]}
    done = subprocess.run([sys.executable, "-c", CALLS, str(tmp_path / "m.so"), json.dumps(known)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and json.loads(done.stdout) == [], (done.returncode, done.stdout, done.stderr)
    if name == "scatter":
        assert made["alignment"] == {"params": [1, 4, 1], "results": [4]}
        assert "result 0 that of 4 bytes, in which atomic operations combine its elements" in (tmp_path / "m.h").read_text()
    else:
        assert f"An alignment of {max(size for k in made['kernels'] for size in k.get('words', {}).values())} bytes is fastest" in (tmp_path / "m.h").read_text()


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_words_are_known(target: str) -> None:
    """The launch and the manifest of a kernel list exactly the pointers through which the kernel's text accesses several
    elements at once.
    """
    files = sorted(file for folder in ("tests/kernels", "tests/goldens", "bench") for file in (ROOT / folder).glob("*.hlo"))
    heroes: "Set[str]" = set()
    for file in files:
        try:
            made = pipeline.target_file(programs.program(run.load(str(file))), target)
        except BuildError as error:
            assert "which C alone calls" in str(error), error
            continue
        texts = dict(re.findall(r"^[^\n]*(?:__global__|__device__)[^\n]*? (sett_\w+)\((.*?)^}", made.text, re.M | re.S))
        for kernel in made.kernels:
            text = texts[kernel.name]
            for name, pointer in re.findall(r"([ab]_at\[pass\]) = ([pqr]\d+) \+", text):    # `a_at` and `b_at` are computed from the pointer of a parameter
                text = text.replace(f", {name}", f", {pointer}")
            words = r"(?:(?:load|store)_word<aligned>|copy_to_shared<aligned, (?:4|8|16)>)"
            found = set(re.findall(words + r"\(.*?, ([pqr]\d+) \+ ", text))
            known = {argument.buffer.pointer: argument.word for argument in kernel.arguments if argument.word}
            assert set(known) == found and set(known.values()) <= {2, 4, 8, 16}, (file, kernel.name)
            heroes |= {kernel.hero} if known else set()
    assert {"loop", "transpose", "reduction", "rows", "scan", "contraction"} <= heroes, heroes
