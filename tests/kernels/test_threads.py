"""Test how many threads a kernel on a CPU uses: the blocks of a program in C, the harness's threads, and chains of
kernels in OpenCL.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import List, Tuple

import pytest

from gen import hlo, pipeline, run

SUM = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"


def worth(body: str, before: str = "") -> "List[int]":
    """Return the number of threads of each launch of a fusion in C. Check that it is at most the launch's number of
    work-items.
    """
    fusion = hlo.fusions(hlo.parse(f"HloModule m\n{before}ENTRY e {{\n{body}\n}}\n", "m.hlo"))[0]
    launches = pipeline.target_file(fusion, "c").launches
    assert all(1 <= launch.threads <= max(1, launch.kernel.blocks) for launch in launches)
    return [launch.threads for launch in launches]


def add(size: int) -> str:
    return f"x = f32[{size}] parameter(0)  y = f32[{size}] parameter(1)  ROOT z = f32[{size}] add(x, y)"


SMALL = {
    "4 KiB": add(1024),
    "a scalar": add(1),
    "few rows of a large table": """x = f32[1000000,64] parameter(0)  i = s32[8,1] parameter(1)
        ROOT z = f32[8,64] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}""",
    "a small part of a large array": """x = f32[1000000,64] parameter(0)  ROOT z = f32[8,64] slice(x), slice={[0:8], [0:64]}""",
    "a row's sum": "x = f32[16,64] parameter(0)  c = f32[] constant(0)  ROOT z = f32[16] reduce(x, c), dimensions={1}, to_apply=add",
    "a small product": """x = f32[32,16] parameter(0)  y = f32[16,8] parameter(1)
        ROOT z = f32[32,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "a product in register tiles": """x = f64[64,64]{1,0} parameter(0)  y = f64[64,64]{1,0} parameter(1)
        ROOT z = f64[64,64]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
}
LARGE = {
    "64 MiB": add(1 << 24),
    "a large array's sum": "x = f32[4096,4096] parameter(0)  c = f32[] constant(0)  ROOT z = f32[4096] reduce(x, c), dimensions={1}, to_apply=add",
    "a product that reads little": """x = f32[256,1024] parameter(0)  y = f32[1024,256] parameter(1)
        ROOT z = f32[256,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
    "a window that overlaps": """x = f32[4096,512] parameter(0)  c = f32[] constant(0)
        ROOT z = f32[4096,512] reduce-window(x, c), window={size=1x31 pad=0_0x15_15}, to_apply=add""",
}


@pytest.mark.parametrize("body", SMALL.values(), ids=SMALL)
def test_small_stages_are_the_callers_own(body: str) -> None:
    assert set(worth(body, SUM)) == {1}


def test_small_updates_of_large_arrays_are_the_callers_own() -> None:
    copy, update = worth("""x = f32[1000000,8] parameter(0)  u = f32[1,8] parameter(1)  i = s32[] parameter(2)  c = s32[] constant(0)
        ROOT z = f32[1000000,8] dynamic-update-slice(x, u, i, c)""")
    assert copy > 8 and update == 1


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_large_stages_are_shared(body: str) -> None:
    assert max(worth(body, SUM)) >= 8


def test_what_computes_more_is_shared_earlier() -> None:
    functions = [f"x = f32[65536] parameter(0)  {''.join(f'y{k} = f32[65536] {op}({at}) ' for k, (op, at) in enumerate(chain))}"
                 f"ROOT z = f32[65536] negate(y{len(chain) - 1})"
                 for chain in ([("abs", "x")], [("tanh", "x"), ("exponential", "y0"), ("log", "y1"), ("tanh", "y2")])]
    less, more = (worth(body)[0] for body in functions)
    assert less < more


def test_matrix_instructions_need_fewer_threads() -> None:
    """With matrix instructions a product uses fewer threads. The generated C has both numbers of threads; which one
    applies is known when the C code is compiled, because the compiler's flags select the instructions.
    """
    def product(dtype: str, size: int = 192) -> "Tuple[str, List[Tuple[int, int]]]":
        text = f"""HloModule m
ENTRY e {{
  x = {dtype}[{size},{size}] parameter(0)
  y = {dtype}[{size},{size}] parameter(1)
  ROOT z = f32[{size},{size}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""
        made = pipeline.target_file(hlo.fusions(hlo.parse(text, "m.hlo"))[0], "c")
        return made.text, [(launch.matrix_threads, launch.threads) for launch in made.launches]

    text, counts = product("bf16")
    fewer, count = counts[-1]
    assert 1 <= fewer < count and f"shared(share, TILES_BF16 ? {fewer} : {count}, " in text
    # each work-item copies the operand itself, so that a second thread does not read the copy from the first one's cache
    assert fewer == 1 and product("bf16", 256)[1][-1][0] == 2 and product("bf16", 512)[1][-1][0] > 2
    text, counts = product("f32")
    assert all(fewer == count for fewer, count in counts) and "TILES" not in text


def test_more_threads_for_more_bytes() -> None:
    counts = [worth(add(1 << k))[0] for k in range(10, 26, 2)]
    assert counts == sorted(counts) and counts[0] == 1 and counts[-1] > 8


def chains(size: int, device: str = "pocl-cpu") -> "List[int]":
    """Return how many kernels each OpenCL launch runs as a chain (0: the launch is a single kernel). The program has
    five steps. In each step a row reads two rows of the previous step.
    """
    steps = "".join(f"""a{k} = f32[{size},{size}] slice(u{k}), slice={{[1:{size}], [0:{size}]}}
        b{k} = f32[1,{size}] slice(u{k}), slice={{[0:1], [0:{size}]}}
        c{k} = f32[{size},{size}] concatenate(a{k}, b{k}), dimensions={{0}}
        d{k} = f32[{size},{size}] cosine(u{k})  u{k + 1} = f32[{size},{size}] add(c{k}, d{k})\n""" for k in range(5))
    text = f"HloModule m\nENTRY e {{\nu0 = f32[{size},{size}] parameter(0)\n{steps}ROOT z = f32[{size},{size}] negate(u5)\n}}\n"
    text = text.replace(f"f32[{size},{size}] slice", f"f32[{size - 1},{size}] slice")
    fusion = hlo.fusions(hlo.parse(text, "m.hlo"))[0]
    made = pipeline.target_file(fusion, "opencl", device)
    launched = [launch.kernel for launch in made.launches]
    assert [k.name for k in made.kernels] == [k.name for kernel in launched for k in getattr(kernel, "kernels", [kernel])]
    about = pipeline.files(fusion, ["opencl"], device)[1]["targets"]["opencl"]["kernels"]
    assert [k.get("chain", k["name"]) for k in about] == [
        kernel.name for kernel in launched for _ in getattr(kernel, "kernels", [kernel])]
    # the file defines exactly the kernels that are launched
    assert re.findall(r"^__kernel .*? void (\w+)\(", made.text, re.M) == [kernel.name for kernel in launched]
    return [len(getattr(kernel, "kernels", [])) for kernel in launched]


def test_small_kernels_are_one_launch() -> None:
    assert len(small := chains(16)) == 1 and small[0] >= 2
    large = chains(2048)
    assert len(large) >= 2 and not any(large)
    assert not any(chains(16, "opencl-gpu"))


# A program in which each work-item records whether another thread than the caller runs it. A work-item waits, at most
# 20 seconds, until both the caller and another thread have started a work-item.
SLOW = """
#include "fusion.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static pthread_t caller;
static atomic_int begun[2];
static const struct sett_buffer param[1], result[1] = {{64, 64, 8, SETT_UINT, 1}};
static const int alias[] = {-1};
struct sett_share {
  int threads;
  void (*run)(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work);
  void *context;
};
static void item(const void *work, size_t n)
{
  const int other = !pthread_equal(caller, pthread_self());
  begun[other] = 1;
  for (int k = 0; k < 20000 && !begun[!other]; ++k) usleep(1000);
  ((unsigned char *)work)[n] = other;
}
static void *create(void *context, void *device, int *error) { *error = 0; return &caller; }
static void *program(void *self) { return 0; }
static int call(void *self, void *queue, const void *params, const void *results, void *scratch)
{
  const struct sett_share *share = (const struct sett_share *)queue;
  caller = pthread_self();
  share->run(share->context, 64, item, ((void *const *)results)[0]);
  return 0;
}
static void release(void *self) {}
static const struct sett_fusion slow = {.abi = SETT_FUSION_ABI, .name = "slow", .results = 1, .param = param, .result = result, .alias = alias,
  .create = create, .program = program, .run = call, .release = release};
extern const struct sett_fusion *const sett_entries[];
const struct sett_fusion *const sett_entries[] = {&slow, NULL};
"""


def test_all_threads_take_part(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    (tmp_path / "slow.c").write_text(SLOW)
    library, result = tmp_path / "slow.so", tmp_path / "r0.bin"
    subprocess.run([run.c_compiler(), "-shared", "-fPIC", "-w", "-I", str(run.HARNESS), "-o", str(library), str(tmp_path / "slow.c")], check=True)
    limit = run.launch_limit("c", run.Options())
    answer = run.call_harness("c", ["run", "", *run.seconds_of(limit), f"{library}#0", result], limit)
    assert answer.status == 0, answer
    assert {0, 1} == set(result.read_bytes())
