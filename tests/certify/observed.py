"""Run a kernel of a generated text on the CPU, and report its accesses (observe.cpp)."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
# arrays of size 0 are errors, because no standard of C or C++ has them
CHECKS = ["-O0", "-Wno-everything", "-Werror=zero-length-array", "-fPIC", "-fsanitize=address,bounds,unsigned-integer-overflow,signed-integer-overflow",
          "-fsanitize=integer-divide-by-zero,shift-exponent",
          "-mllvm", "-asan-instrumentation-with-call-threshold=0", "-mllvm", "-asan-use-after-return=never"]
OPENCL = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-fdeclare-opencl-builtins", "-Xclang", "-finclude-default-header",
          "-ffp-contract=off"]
COMMANDS = {
    "opencl": ["clang", *OPENCL],
    "cuda": ["clang++", "-x", "c++", "-std=c++17", "-ffp-contract=off", f"-I{ROOT}/tests"],
    # -U__SSE2__ selects the variant without vector instructions, because gen/certify reads that one
    "c": ["clang", "-x", "c", "-std=gnu11", "-ffp-contract=off", "-U__SSE2__", "-DSETT_BURSTS=0"],
}
SUFFIX = {"opencl": "cl", "cuda": "cpp", "c": "c"}


class NotRun(Exception):
    """Raised for a kernel that cannot be run. The text is the reason."""


@dataclass(frozen=True)
class Seen:
    """The result of a run.

    fault: the fault that ended the run, as in observe.cpp, or "".
    unwritten, overwritten, uninitialised, places, values: as in observe.cpp.
    lines: the lines where integer arithmetic overflows.
    """

    fault: str
    unwritten: int = 0
    overwritten: int = 0
    uninitialised: int = 0
    places: int = 0
    values: int = 0
    lines: "FrozenSet[int]" = frozenset()


def prepared(folder: Path) -> None:
    """Build, in a folder, the parts that all runs share: the program that runs a library, and the built-in functions
    of OpenCL.
    """
    for name in ("cuda_runtime.h", "cuda_fp16.h"):
        (folder / name).write_text('#include "cuda_on_cpu.h"\n#undef __syncthreads\n'
                                   'extern "C" void mut_barrier(void);\n'
                                   "#define __syncthreads() (mut_barrier(), sett_barrier(__LINE__))\n")
    _run([*_command("cuda", folder), "-x", "c++-header", str(folder / "cuda_runtime.h"),
          "-o", str(folder / "cuda.pch")])
    _run(["clang++", "-std=c++17", "-O2", "-rdynamic", str(HERE / "observe.cpp"), "-o", str(folder / "observe"),
          "-Wl,--no-as-needed", "-lm", "-ldl"])
    _run(["clang", *OPENCL, *CHECKS, "-c", str(HERE / "observe.cl"), "-o", str(folder / "builtins.o")])


def _command(target: str, folder: Path) -> "List[str]":
    return [*COMMANDS[target], *CHECKS, f"-I{folder}"]


def _run(command: "List[str]", fill: str = "") -> str:
    environment = {**os.environ, **({"SETT_FILL": fill} if fill else {})}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise NotRun(done.stderr[-2000:] or done.stdout[-2000:] or f"exit status {done.returncode}")
    return done.stdout


def _with_ends(text: str) -> str:
    """Return a text in which each array in a union is followed by a member. Without it, clang does not check the bounds of
    an array of one element, because it might be a flexible array.
    """
    def wrapped(union: "re.Match[str]") -> str:
        numbers = itertools.count()
        return re.sub(r"([^;{}]+\[\d+\];)", lambda member: f" struct {{{member[1]} char end{next(numbers)}; }};", union[0])
    return re.sub(r"\bunion \{[^{}]*\}", wrapped, text)


def launcher(text: str, launch: "Mapping[str, Any]", target: str) -> "Tuple[str, int]":
    """Return the text of a function that launches a kernel, and the number of instances of the kernel's template."""
    kernel, count = launch["kernel"], len(launch["arguments"])
    given = ", ".join(f"b[{n}]" for n in range(count))
    if target == "c":
        return "\nvoid mut_enter(size_t);\nint mut_launch(int variant, void **b)\n{\n" \
               f"  for (size_t n = 0; n < {launch['blocks']}; ++n) {{\n" \
               f"    mut_enter(n);\n    {kernel}({given}, n);\n  }}\n  return 0;\n}}\n", 1
    if target == "opencl":
        return "", 1
    templates = re.search(rf"template <([^>]*)>[^;{{}}]*\b{re.escape(kernel)}\(", text)
    if templates and re.fullmatch(r"bool \w+", templates[1]) is None:
        raise NotRun("a template with other parameters")
    names = [f"{kernel}<true>", f"{kernel}<false>"] if templates else [kernel]
    grid = f"dim3({launch['blocks']}), dim3({launch['threads']}), arguments, 0, 0"
    calls = "".join(f"  if (variant == {n}) return cudaLaunchKernel((const void *){name}, {grid});\n"
                    for n, name in enumerate(names))
    pointers = ", ".join(f"&b[{n}]" for n in range(count))
    quiet = '__attribute__((no_sanitize("address")))'
    return '\nextern "C" int mut_launch(int variant, void **b)\n{\n' \
           f"  void *arguments[] = {{{pointers}}};\n  sett_cuda_order = 0;\n{calls}  return 1;\n}}\n" \
           f'extern "C" {quiet} unsigned mut_group(void) {{ return blockIdx.x + gridDim.x * blockIdx.y; }}\n' \
           f'extern "C" {quiet} unsigned mut_item(void) {{ return (unsigned)sett.current; }}\n', len(names)


def blocks_of(launch: "Mapping[str, Any]", manifest: "Mapping[str, Any]") -> "Tuple[List[str], List[int]]":
    """Return the blocks of memory of a launch in the notation of observe.cpp, and for each pointer the number of its
    block.
    """
    same = {("results", alias["result"]): ("params", alias["parameter"]) for alias in manifest["aliases"]}
    known: "Dict[Tuple[Any, ...], int]" = {}
    sizes: "List[int]" = []
    flags: "List[str]" = []
    pointers: "List[int]" = []
    for argument in launch["arguments"]:
        own = argument["buffer"], argument["number"]
        key = (*same.get(own, own), argument["offset"])
        if argument.get("lead"):
            raise NotRun("leading dimensions of the caller")
        if key not in known:
            known[key] = len(sizes)
            sizes.append(0)
            flags.append("w" if argument["buffer"] != "params" else "")
        at = known[key]
        sizes[at] = max(sizes[at], argument["bytes"])
        if own in same or own in same.values():
            flags[at] = "i"
        pointers.append(at)
    return [f"{size}:{flag}" for size, flag in zip(sizes, flags)], pointers


def observed(folder: Path, text: str, header: str, launch: "Mapping[str, Any]", manifest: "Mapping[str, Any]",
             target: str, baseline: Path, fill: str = "", ends: bool = False) -> "Optional[Seen]":
    """Run a kernel, and return the result. Return None if the text does not compile.

    fill: the initial content of memory (SETT_FILL of observe.cpp).
    ends: true to check the bounds of arrays of one element in unions, too (`_with_ends`). Then an access behind the
        whole union may not be seen.
    """
    more, variants = launcher(text, launch, target)
    blocks, pointers = blocks_of(launch, manifest)
    file = folder / f"mutant.{SUFFIX[target]}"
    for name in re.findall(r'#include "(\w+\.h)"', text):
        (folder / name).write_text(header)
    file.write_text((_with_ends(text) if ends else text) + more)
    library = folder / "mutant.so"
    builtins = [str(folder / "builtins.o")] if target == "opencl" else []
    try:
        ready = ["-include-pch", str(folder / "cuda.pch")] if target == "cuda" else []
        _run([*_command(target, folder), *ready, "-c", str(file), "-o", str(folder / "mutant.o")])
    except NotRun:
        return None
    _run(["ld.lld", "-shared", str(folder / "mutant.o"), *builtins, "-o", str(library)])
    size = [str(launch["blocks"]), str(launch["threads"]), str(variants)]
    said = _run([str(folder / "observe"), str(library), launch["kernel"], target, *size, str(baseline), *blocks, "--",
                 *map(str, pointers)], fill).splitlines()[-1].split()
    if said[0] != "done":
        return Seen(" ".join(said))
    numbers = [int(word) for word in said[1:]]
    return Seen("", numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], frozenset(numbers[5:]))
