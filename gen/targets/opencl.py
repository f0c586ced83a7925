"""OpenCL C 1.2."""

from __future__ import annotations

from typing import Optional

from gen.hlo import dtypes
from gen.targets.runner import Runner
from gen.targets.target import Target


class OpenCL(Target):
    def launch_bounds(self, threads: int, blocks: int = 0) -> str:
        return f" __attribute__((reqd_work_group_size({threads}, 1, 1)))"

    @property
    def counted_function(self) -> str:
        return "static inline __attribute__((always_inline))"

    @property
    def unroll_counted(self) -> str:
        """Return the pragma that unrolls a loop fully. With `#pragma unroll`, clang unrolls some steps before it
        inlines the function, when it does not know the trip count yet.
        """
        return "#pragma clang loop unroll(full)"

    @property
    def unroll_few(self) -> str:
        return "#pragma unroll 4"

    def math(self, name: str, dtype: str) -> str:
        return name

    def finite(self, text: str, dtype: str, lanes: int) -> "Optional[str]":
        return f"isfinite({text})"

    def typed_vector(self, width: int, lanes: int) -> str:
        return f"ext_vector_type({lanes})"

    def atomic(self, op: str, dtype: str, sums_only: bool) -> "Optional[str]":
        words = {"add": "add", "maximum": "max", "minimum": "min", "and": "and", "or": "or", "xor": "xor"}
        return f"atomic_{words[op]}" if op in words and dtypes.TABLE[dtype].kind in ("sint", "uint") else None


TARGET = OpenCL(name="opencl", comment="OpenCL C 1.2", suffix=".cl",
                types={"s8": "char", "u8": "uchar", "s16": "short", "u16": "ushort", "s32": "int", "u32": "uint",
                       "s64": "long", "u64": "ulong", "f32": "float", "f64": "double"},
                index={"uint": "uint", "int": "int", "long": "long"}, kernel="__kernel", function="static inline",
                pointer="__global ", restrict="restrict ", constant="__constant", group="get_group_id(0)",
                item="get_local_id(0)", global_item="get_global_id(0)", unroll_word="#pragma unroll", shared="__local ", shared_pointer="__local ",
                barrier="barrier(CLK_LOCAL_MEM_FENCE);",
                memory_barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", wide=True, suffix64=("l", "ul"), shared_bytes=32 << 10,
                vector_test="__clang__", longest_vector=16, has_remainder=False, integer_functions=True,
                shifts_modulo=True, atomic_bits=32, chains=True, alignment=512, scratch_in_results=False, takes_pointers=False, api_headers=("string.h",),
                atomic_space="volatile __global ", compare_and_swap="atomic_cmpxchg", atomic_read="atomic_cmpxchg(word, 0, 0)")


class _OnDevice(Runner):
    """The runner of OpenCL on any OpenCL 1.2 device; on PoCL's CPU device if there is no other."""

    name, target, template, libraries = "opencl", TARGET, "files/harness_opencl.j2", ("-lOpenCL",)
    harness_name, harness_source = "opencl", "opencl.c"
    missing = {"CL/cl.h": "the OpenCL headers are missing", "-lOpenCL": "the OpenCL loader library is missing"}
    head = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n"

    def kernels(self, name: str) -> str:
        return ""


RUNNERS = [_OnDevice()]
