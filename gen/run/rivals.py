"""Libraries that do what a fusion does, as programs for the bench to time in turns with it: OpenBLAS, oneDNN, NumPy,
XLA:CPU.

The first three do single operations; which one a fusion is, its graph says. XLA compiles the whole fusion from its HLO
text. Which libraries are there, the machine says when asked.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from gen import child, run
from gen.hlo import printer

# NumPy asks for huge pages, which the kernels' buffers do not have: all read from pages of the same size.
PLAIN_PAGES = "NUMPY_MADVISE_HUGEPAGE=0"
NAMES = ("OpenBLAS", "oneDNN", "NumPy", "XLA:CPU")


@dataclass(frozen=True)
class Operation:
    """transpose, sum, max, argmax or argmin of one dense row-major array; order: its permutation or the reduced
    dimensions. Or "module": the fusion as a whole, dtype: the file of its HLO text. result: the number of the fusion's
    result that this gives; -1: all."""

    name: str
    dtype: str
    dims: Tuple[int, ...]
    order: Tuple[int, ...]
    result: int = 0


def _is_dense(shape: Any) -> bool:
    return shape.kind == "array" and not shape.tiled


def _is_row_major(shape: Any) -> bool:
    return _is_dense(shape) and shape.minor_to_major == tuple(reversed(range(shape.rank)))


def _reduction(root: Any) -> Tuple[str, int]:
    """The name of what a reduce may be, and the number of the result that has it; "": something else."""
    combiner = root.attributes["to_apply"].root
    values = root.operands[: len(root.operands) // 2]
    if len(values) == 1 and all(x.opcode == "parameter"
                                for x in combiner.operands) and len(set(combiner.operands)) == 2:
        return {"add": "sum", "maximum": "max"}.get(combiner.opcode, ""), 0
    if (
        len(values) == 2
        and values[1].opcode == "iota"
        and values[1].shape.dtype == "s32"
        and root.operands[2].opcode == "constant"
    ):
        if tuple(root.attributes["dimensions"]) == (values[1].attributes["iota_dimension"],):
            # the sign of the init
            lowest = root.operands[2].literal[0] >> (run.BITS_AND_KIND[values[0].shape.dtype][0] - 1)
            return ("argmax" if lowest else "argmin"), 1
    return "", 0


def operation(fusion: Any) -> Optional[Operation]:
    """What a fusion is, if it is one transpose or one reduce of its only parameter and nothing else. That a library's
    result agrees is checked before it is timed."""
    computation = fusion.computation
    root, parameters = computation.root, computation.parameters
    if len(parameters) != 1 or root.opcode not in ("transpose", "reduce") or root.operands[0] is not parameters[0]:
        return None
    others = [i for i in computation.instructions if i not in (root, parameters[0])]
    if any(i.opcode not in ("constant", "iota")
           for i in others) or not all(map(_is_row_major, [parameters[0].shape, *root.shape.leaves()])):
        return None
    name, result = ("transpose", 0) if root.opcode == "transpose" else _reduction(root)
    shape = parameters[0].shape
    return Operation(name, shape.dtype, shape.dims, tuple(root.attributes["dimensions"]), result) if name else None


def module_text(computation: Any) -> str:
    """The HLO text of a module whose entry is a computation; those that it calls come first."""
    called: Dict[str, Any] = {}

    def visit(c: Any) -> None:
        for instruction in c.instructions:
            for callee in instruction.called:
                visit(callee)
        called.setdefault(c.name, c)

    visit(computation)
    return "HloModule fusion\n\n" + "\n".join(printer.print_computation(c, c is computation) for c in called.values())


def whole(fusion: Any, folder: Path) -> Optional[Operation]:
    """A fusion as a module of its own, written to a folder; None where a buffer is tiled."""
    computation = fusion.computation
    shapes = [p.shape for p in computation.parameters] + computation.root.shape.leaves()
    if not all(map(_is_dense, shapes)):
        return None
    path = folder / "rival.hlo"
    path.write_text(module_text(computation))
    return Operation("module", str(path), (), (), -1)


def matrix_products(fusion: Any) -> bool:
    """Whether a fusion holds a matrix product or a convolution, for which the generator has plain loops only."""
    return any(i.opcode in ("dot", "convolution") for i in fusion.computation.instructions)


def may_keep_f32(fusion: Any, libraries: "Sequence[Library]") -> bool:
    """Whether a library that takes whole fusions may round values of 16 bits at other places than the kernel."""
    return bool(fusion) and any(x.name in WHOLE and x.command for x in libraries) and any(
        leaf.dtype in ("f16", "bf16") for i in fusion.computation.instructions for leaf in i.shape.leaves())


# ---- what this machine has ----


def _compile(folder: Path, name: str, sources: Sequence[str], libraries: Sequence[str]) -> "List[str]":
    program = folder / name
    run.call([run.c_compiler(), "-std=c11", "-O2", "-pthread", "-o", str(program),
              *(str(run.HARNESS / s) for s in sources), *libraries], name)
    return [str(program)]


def _openblas(folder: Path) -> "List[str]":
    return _compile(folder, "openblas", ("openblas.c", "copies.c"), ("-ldl",))


def _onednn(folder: Path) -> "List[str]":
    try:
        return _compile(folder, "onednn", ("onednn.c",), ("-ldnnl",))
    except run.RunError as error:
        missing = (
            "dnnl.h: No such file" in error.message
            or "dnnl.h' file not found" in error.message
            or "-ldnnl" in error.message
        )
        raise run.RunError("no dnnl.h or no libdnnl" if missing else error.message.splitlines()[0]) from None


def _python_with(modules: str, script: str, folder: Path) -> "List[str]":
    pythons = [sys.executable] + [p for d in os.get_exec_path() for p in [shutil.which("python3", path=d)] if p]
    for python in dict.fromkeys(pythons):
        if child.run([python, "-c", f"import {modules}"], cwd=str(folder)).status == 0:
            return [python, str(run.HARNESS / script)]
    raise run.RunError(f"no python3 has {modules}")


def _numpy(folder: Path) -> "List[str]":
    return _python_with("numpy", "with_numpy.py", folder)


def _xla(folder: Path) -> "List[str]":
    return ["env", *XLA_SETTINGS, *_python_with("jax, jaxlib._hlo", "with_xla.py", folder)]


# malloc takes no memory from mmap and gives none back: what XLA allocates for its results is there from the first turns
# on.
XLA_SETTINGS = (
    "JAX_PLATFORMS=cpu",
    f"GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold={1 << 40}:glibc.malloc.arena_max=1",
)
STARTS = dict(zip(NAMES, (_openblas, _onednn, _numpy, _xla)))
WHOLE = ("XLA:CPU",)  # those that take a whole fusion


@dataclass(frozen=True)
class Library:
    """command: what starts its program, or why it cannot be."""

    name: str
    command: Tuple[str, ...] = ()
    missing: str = ""

    def line(self, op: Operation, threads: int, footprint: int, source: Path, result: Path) -> str:
        """The shell's line that starts it on an operation."""
        def joined(numbers: Sequence[int]) -> str:
            return ",".join(map(str, numbers))

        words = [*self.command, op.name, op.dtype, joined(op.dims), joined(op.order), str(threads), str(footprint),
                 str(source), str(result)]
        return f"{PLAIN_PAGES} OMP_NUM_THREADS={threads} OMP_PROC_BIND=true OMP_WAIT_POLICY=passive exec {shlex.join(words)}"


def find(folder: Path) -> "List[Library]":
    """Each library's program, made in a folder."""
    libraries = []
    for name, start in STARTS.items():
        try:
            libraries.append(Library(name, tuple(start(folder))))
        except run.RunError as error:
            libraries.append(Library(name, missing=error.message))
    return libraries
