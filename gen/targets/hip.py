"""HIP C++. Wavefronts have 64 lanes on CDNA and 32 lanes on RDNA; the device class says which."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from gen.schedule import Device
from gen.targets import cuda
from gen.targets.target import bits
from gen.targets.tools import ROOT, c_compiler, hipcc


class Hip(cuda.Gpu):
    def atomic(self, op: str, dtype: str, sums_only: bool) -> "Optional[str]":
        """Return None for a maximum or minimum of signed 64-bit integers, for which HIP has no atomic function. Otherwise
        return the same as for CUDA.
        """
        return None if dtype == "s64" and op in ("maximum", "minimum") else super().atomic(op, dtype, sums_only)

    def union_word(self, name: str, kind: str, size: int, dtype: str) -> Tuple[str, List[str]]:
        """Return the type of a union's words, and the lines that declare this type. Words are vectors of the union's
        elements, because clang would keep a union of 32-bit words and other elements in memory instead of registers.
        """
        if bits(dtype) == 32 or size == bits(dtype) // 8:
            return kind, []
        return f"{name}_word", [f"typedef {self.memory(dtype)} {name}_word __attribute__((vector_size({size})));"]


TARGET = Hip(**{**{name: getattr(cuda.TARGET, name) for name in cuda.TARGET.__dataclass_fields__ if name != "used"},
                "name": "hip", "comment": "HIP C++", "suffix": ".hip", "matrix_instructions": False,
                "headers": ("hip/hip_runtime.h", "hip/hip_fp16.h"), "shared_bytes": 64 << 10,
                "shuffle": "__shfl_down({value}, {distance}, {width})", "unfused": "#pragma STDC FP_CONTRACT OFF"})


class _OnDevice(cuda.OnDevice):
    name, target, harness_name = "hip", TARGET, "hip"

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        return [hipcc(), "-O3", f"--offload-arch={device.name}", "-fPIC", "-I", str(folder), "-c"]

    def linker(self) -> str:
        return hipcc()

    def harness(self, output: Path, sources: Sequence[str], flags: Sequence[str]) -> List[str]:
        """Return the command that links the harness. hipcc does not compile C, so a C compiler first compiles the C
        sources to one object.
        """
        plain, runtime = [[source for source in sources if source.endswith(suffix)] for suffix in (".c", ".cu")]
        both = f"{output}.o"
        first = [c_compiler(), "-std=c11", "-pthread", *flags, "-nostdlib", "-r", "-o", both, *plain]
        then = [hipcc(), "-O3", "-pthread", "-o", str(output), both, "-x", "hip", *runtime, "-ldl", "-lm"]
        return ["sh", "-ec", f"{shlex.join(first)}; {shlex.join(then)}; rm {shlex.quote(both)}"]


class _OnCpu(cuda.OnCpu):
    name, target, stand_in = "hip-on-cpu", TARGET, ROOT / "tests" / "hip_on_cpu.h"

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        return [*super().compile(folder, name, long, device), f"-DSETT_LANES={device.warp}"]


RUNNERS = [_OnDevice(), _OnCpu()]
