"""CUDA C++."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from gen.hlo import dtypes
from gen.schedule import Device
from gen.statements import Call
from gen.targets.runner import Runner
from gen.targets.target import Target, bits
from gen.targets.tools import ROOT, RunError, cxx_compiler, nvcc


class Gpu(Target):
    """The common part of CUDA and HIP. Both have one file template, and runtime functions that differ only in the prefix
    of their names.
    """

    @property
    def template(self) -> str:
        return "files/gpu.j2"

    @property
    def api(self) -> str:
        return "files/api_gpu.h.j2"

    def head(self, words: bool) -> str:
        """Return the qualifiers of a kernel. A kernel that accesses words is a template with two instances; the
        instance `aligned` loads and stores whole words.
        """
        if not words:
            return super().head(words)
        return f"template <bool aligned> {'static ' if self.external else ''}{self.kernel}"

    def of_chain(self, name: str, words: bool) -> str:
        return f"{name}<aligned>" if words else name

    def word_load(self, to: str, kind: str, at: str, number: int = 0) -> Call:
        self.used.add("word")
        return Call("load_word<aligned>", to, at, *[str(number)] * bool(number))

    def word_store(self, value: str, kind: str, at: str, number: int = 0) -> Call:
        self.used.add("word")
        return Call("store_word<aligned>", value, at, *[str(number)] * bool(number))

    def launch_bounds(self, threads: int, blocks: int = 0) -> str:
        return f" __launch_bounds__({threads}, {blocks})" if blocks else f" __launch_bounds__({threads})"

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        words = {("f32", "s32"): "__float_as_int", ("f32", "u32"): "__float_as_uint", ("s32", "f32"): "__int_as_float",
                 ("u32", "f32"): "__uint_as_float", ("f64", "s64"): "__double_as_longlong",
                 ("s64", "f64"): "__longlong_as_double"}
        if (source, to) in words:
            return f"{words[source, to]}({text})"
        if (source, to) == ("f64", "u64"):
            return f"({self.types['u64']})__double_as_longlong({text})"
        if (source, to) == ("u64", "f64"):
            return f"__longlong_as_double((long long)({text}))"
        return f"({self.types[to]})({text})"

    def special(self, pattern: int, dtype: str) -> str:
        """Return an infinity or NaN as a constant expression, so that a constant table can contain it. Compilers make a
        signalling NaN quiet.
        """
        mantissa, letter, cast = (52, "", "(double)") if dtype == "f64" else (23, "f", "")
        payload, quiet = pattern & ((1 << mantissa) - 1), 1 << (mantissa - 1)
        text = (
            f"{cast}INFINITY"
            if not payload
            else (
                f"{cast}NAN"
                if payload == quiet
                else (
                    f'__builtin_nan{letter}("{payload & (quiet - 1):#x}")'
                    if payload & quiet
                    else f'__builtin_nans{letter}("{payload:#x}")'
                )
            )
        )
        return f"(-{text})" if pattern >> (bits(dtype) - 1) else text

    def compound(self, type: str, values: str) -> str:
        return f"{type}{values}"

    def atomic(self, op: str, dtype: str, sums_only: bool) -> "Optional[str]":
        words = {"add": "Add", "maximum": "Max", "minimum": "Min", "and": "And", "or": "Or", "xor": "Xor"}
        if dtypes.TABLE[dtype].kind in ("sint", "uint"):
            return f"atomic{words[op]}" if op in words else None
        # atomicAdd of f32 flushes subnormals to zero
        return "atomicAdd" if op == "add" and (dtype == "f64" or (dtype == "f32" and sums_only)) else None


class Cuda(Gpu):
    def product(self, a: str, b: str, dtype: str) -> str:
        return f"{'__fmul_rn' if self.register(dtype) == 'float' else '__dmul_rn'}({a}, {b})"


TARGET = Cuda(name="cuda", comment="CUDA C++", suffix=".cu",
              types={"s8": "signed char", "u8": "unsigned char", "s16": "short", "u16": "unsigned short", "s32": "int",
                     "u32": "unsigned", "s64": "long long", "u64": "unsigned long long", "f32": "float",
                     "f64": "double"}, index={"uint": "unsigned", "int": "int", "long": "long long"},
              external='extern "C" ', kernel="__global__", function="static __device__ inline", pointer="", restrict="__restrict__ ",
              constant="static __device__ const", group="blockIdx.x", item="threadIdx.x",
              global_item="blockIdx.x * blockDim.x + threadIdx.x", unroll_word="#pragma unroll", shared="__shared__ ", aligned="__align__({bytes})",
              barrier="__syncthreads();", memory_barrier="__syncthreads();", wide=False, suffix64=("ll", "ull"),
              shared_bytes=48 << 10, shuffle="__shfl_down_sync(0xffffffffu, {value}, {distance}, {width})",
              atomic_bits=64, compare_and_swap="atomicCAS", atomic_read="*word", alignment=256,
              half_value="__half2float(__ushort_as_half({x}))", half_bits="__half_as_ushort(__float2half_rn({x}))",
              half_narrowed="__half2float(__half({x}))", headers=("cuda_runtime.h", "cuda_fp16.h"), flushes=True, block_chains=True,
              chooses_words=True, matrix_instructions=True)


class OnDevice(Runner):
    """The runner of kernels on this machine's GPU."""

    name, template, harness_name, harness_source = "cuda", "files/harness_gpu.j2", "cuda", "cuda.cu"
    target: Target = TARGET

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        # For instructions that only one architecture has, nvcc needs the name of this architecture, which ends in "a".
        arch = device.name if device.name.endswith("a") else "native"
        return [nvcc(), "-O3", f"-arch={arch}", "-Xcompiler", "-fPIC", "-I", str(folder), "-c"]

    def linker(self) -> str:
        return nvcc()

    def harness(self, output: Path, sources: Sequence[str], flags: Sequence[str]) -> List[str]:
        return [nvcc(), "-O3", "-Xcompiler", ",".join(["-pthread", *flags]), "-o", str(output), *sources, "-ldl", "-lm",
                "-lpthread"]


class OnCpu(Runner):
    """The runner of GPU kernels on a CPU, for checks and not for timing. The text is compiled as C++ with a header that
    replaces threads by fibres, with barriers, shuffles and atomics. One core runs all fibres and switches between them
    a million times a second.
    """

    name, template, timed, patience = "cuda-on-cpu", "files/harness_gpu.j2", False, 8
    target: Target = TARGET
    stand_in = ROOT / "tests" / "cuda_on_cpu.h"

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        """Return the compile command. An index beyond an array's bounds and a misaligned access stop the program by an
        illegal instruction.
        """
        return [cxx_compiler(), "-std=c++17", "-O1", "-ffp-contract=off", "-fsanitize=bounds,alignment",
                "-fsanitize-undefined-trap-on-error", "-fPIC", "-w", "-I", str(folder), "-x", "c++", "-c"]

    def together(self, sources: "Sequence[Path]") -> str:
        """Return the text of one file that contains each source in a namespace of its own, after the includes of all.
        """
        includes = "".join(f"#include <{name}>\n" for name in self.headers())
        return includes + "".join(f'namespace n{number} {{\n#include "{source.resolve()}"\n}}\n'
                                  for number, source in enumerate(sources))

    def slow_header(self, about: "Dict[str, Any]") -> "Tuple[str, int]":
        return f'#include "{self.stand_in}"\n', max(path.stat().st_mtime_ns for path in self.stand_in.parent.glob("*.h"))

    def headers(self) -> "Dict[str, str]":
        if not self.stand_in.exists():
            raise RunError(f"no {self.stand_in.relative_to(ROOT)} beside gen", 3)
        return {name: f'#include "{self.stand_in}"\n' for name in self.target.headers}

    def linker(self) -> str:
        return cxx_compiler()


RUNNERS = [OnDevice(), OnCpu()]
