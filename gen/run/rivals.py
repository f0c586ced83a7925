"""Libraries that compute the same as a fusion, as programs that the bench times alternately with the kernel: OpenBLAS,
oneDNN, NumPy, XLA:CPU.

The first three compute single operations, which are recognised in the fusion's graph. XLA compiles the whole fusion
from its HLO text. Libraries are used if they are installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from gen import child, run
from gen.hlo import Computation, Fusion, Instruction, Shape, printer
from gen.hlo.graph import literal_of, root_of

# Keep NumPy from using huge pages: the kernels' buffers have none, and all rivals should use pages of the same size.
PLAIN_PAGES = "NUMPY_MADVISE_HUGEPAGE=0"
NAMES = ("OpenBLAS", "oneDNN", "NumPy", "XLA:CPU")


@dataclass(frozen=True)
class Operation:
    """An operation that a library computes: transpose, sum, max, argmax or argmin of one dense row-major array; or
    "module", the whole fusion.

    dtype: the element type; for "module", the file of the fusion's HLO text
    order: the permutation, or the reduced dimensions
    result: the index of the fusion's result that the operation computes; -1: all results
    """

    name: str
    dtype: str
    dims: Tuple[int, ...]
    order: Tuple[int, ...]
    result: int = 0


def _is_dense(shape: Shape) -> bool:
    return shape.kind == "array" and not shape.tiled


def _is_row_major(shape: Shape) -> bool:
    return _is_dense(shape) and shape.minor_to_major == tuple(reversed(range(shape.rank)))


def _reduction(root: Instruction) -> Tuple[str, int]:
    """Return the name of the library's operation that equals a reduce, and the index of the reduce's result that the
    library computes. The name is "" if there is no such operation.
    """
    combiner = root_of(root.attributes["to_apply"])
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
            # an initial value with the sign bit set is the lowest value of its type, so the op is argmax
            lowest = literal_of(root.operands[2])[0] >> (run.BITS_AND_KIND[values[0].shape.dtype][0] - 1)
            return ("argmax" if lowest else "argmin"), 1
    return "", 0


def operation(fusion: Fusion) -> Optional[Operation]:
    """Return the library's operation for a fusion that is a single transpose or reduce of its only parameter. Return
    None for other fusions. The library's result is compared with the kernel's before the library is timed.
    """
    computation = fusion.computation
    root, parameters = root_of(computation), computation.parameters
    if len(parameters) != 1 or root.opcode not in ("transpose", "reduce") or root.operands[0] is not parameters[0]:
        return None
    others = [i for i in computation.instructions if i not in (root, parameters[0])]
    if any(i.opcode not in ("constant", "iota")
           for i in others) or not all(map(_is_row_major, [parameters[0].shape, *root.shape.leaves()])):
        return None
    name, result = ("transpose", 0) if root.opcode == "transpose" else _reduction(root)
    shape = parameters[0].shape
    return Operation(name, shape.dtype, shape.dims, tuple(root.attributes["dimensions"]), result) if name else None


def module_text(computation: Computation) -> str:
    """Return the HLO text of a module whose entry is this computation, preceded by the computations that it calls."""
    called: Dict[str, Computation] = {}

    def visit(c: Computation) -> None:
        for instruction in c.instructions:
            for callee in instruction.called:
                visit(callee)
        called.setdefault(c.name, c)

    visit(computation)
    return "HloModule fusion\n\n" + "\n".join(printer.print_computation(c, c is computation) for c in called.values())


def _tuples_of(name: str, shape: Shape, lines: List[str], number: List[int]) -> str:
    """Append a parameter for each array of a shape, and tuples that pack them; return the name of the packed value."""
    if shape.kind != "tuple":
        lines.append(f"%{name} = {shape.text} parameter({number[0]})")
        number[0] += 1
        return name
    parts = [_tuples_of(f"{name}_{k}", child, lines, number) for k, child in enumerate(shape.children)]
    lines.append(f"%{name} = {shape.text} tuple({', '.join('%' + part for part in parts)})")
    return name


def _leaves_of(name: str, shape: Shape, lines: List[str]) -> List[str]:
    """Append instructions that unpack the tuples of a value; return the names of its arrays."""
    if shape.kind != "tuple":
        return [name]
    leaves: List[str] = []
    for k, part in enumerate(shape.children):
        lines.append(f"%{name}_{k} = {part.text} get-tuple-element(%{name}), index={k}")
        leaves += _leaves_of(f"{name}_{k}", part, lines)
    return leaves


def flat_module_text(computation: Computation) -> str:
    """Return the module's text for libraries that take arrays and return an array or a flat tuple. The entry packs the
    tuples that the computation takes, calls the computation, and unpacks its result.
    """
    root, leaves = root_of(computation), root_of(computation).shape.leaves()
    plain = root.shape.kind == "array" or (len(leaves) > 1 and all(c.kind == "array" for c in root.shape.children))
    if plain and all(p.shape.kind == "array" for p in computation.parameters):
        return module_text(computation)
    lines: List[str] = []
    number = [0]
    given = [_tuples_of(f"p{k}", p.shape, lines, number) for k, p in enumerate(computation.parameters)]
    lines.append(f"%r = {root.shape.text} call({', '.join('%' + name for name in given)}), "
                 f"to_apply=%{computation.name}")
    results = _leaves_of("r", root.shape, lines)
    if len(results) > 1:
        lines.append(f"%result = ({', '.join(leaf.text for leaf in leaves)}) "
                     f"tuple({', '.join('%' + name for name in results)})")
    root_name = results[0] if len(results) == 1 else "result"
    lines = [f"{'ROOT ' * line.startswith(f'%{root_name} = ')}{line}" for line in lines]
    called = module_text(computation).replace(f"ENTRY %{computation.name} ", f"%{computation.name} ", 1)
    name = "flat"
    while f"%{name} " in called:
        name += "_"
    return called + f"\nENTRY %{name} {{\n  " + "\n  ".join(lines) + "\n}\n"


def whole(fusion: Fusion, folder: Path) -> Optional[Operation]:
    """Write a fusion to a folder as a module, and return its operation; None if a buffer is tiled, or there is no
    result.
    """
    computation = fusion.computation
    parameters = [leaf for p in computation.parameters for leaf in p.shape.leaves()]
    results = root_of(computation).shape.leaves()
    if not results or not all(map(_is_dense, parameters + results)):
        return None
    path = folder / "rival.hlo"
    path.write_text(flat_module_text(computation))
    return Operation("module", str(path), (), (), -1)


def matrix_products(fusion: Fusion) -> bool:
    """Return true if a fusion contains a matrix product or a convolution."""
    return any(i.opcode in ("dot", "convolution") for i in fusion.computation.instructions)


def may_keep_f32(fusion: Fusion, libraries: "Sequence[Library]") -> bool:
    """Return true if a library that compiles whole fusions may round the fusion's 16-bit floats at other places than
    the kernel does.
    """
    return bool(fusion) and any(x.name in WHOLE and x.command for x in libraries) and any(
        leaf.dtype in ("f16", "bf16") for i in fusion.computation.instructions for leaf in i.shape.leaves())


# ---- libraries of this machine ----


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
    raise run.RunError(f"found no python3 that has {modules}")


def _numpy(folder: Path) -> "List[str]":
    return _python_with("numpy", "with_numpy.py", folder)


def _xla(folder: Path) -> "List[str]":
    return ["env", *XLA_SETTINGS, *_python_with("jax, jaxlib._hlo", "with_xla.py", folder)]


# 64-bit types stay enabled. malloc does not use mmap and returns no memory to the system, so that XLA's results reuse
# memory whose pages are mapped.
XLA_SETTINGS = (
    "JAX_PLATFORMS=cpu",
    "JAX_ENABLE_X64=1",
    f"GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold={1 << 40}:glibc.malloc.arena_max=1",
)
STARTS = dict(zip(NAMES, (_openblas, _onednn, _numpy, _xla)))
WHOLE = ("XLA:CPU",)  # the libraries that compile a whole fusion


@dataclass(frozen=True)
class Library:
    """A library.

    command: the command that starts its program
    missing: the reason why it cannot run; it then has no command
    """

    name: str
    command: Tuple[str, ...] = ()
    missing: str = ""

    def line(self, op: Operation, threads: int, footprint: int, source: Path, result: Path) -> str:
        """Return the shell command that runs the library on an operation."""
        def joined(numbers: Sequence[int]) -> str:
            return ",".join(map(str, numbers))

        words = [*self.command, op.name, op.dtype, joined(op.dims), joined(op.order), str(threads), str(footprint),
                 str(source), str(result)]
        return f"{PLAIN_PAGES} OMP_NUM_THREADS={threads} OMP_PROC_BIND=true OMP_WAIT_POLICY=passive exec {shlex.join(words)}"


def find(folder: Path, names: "Sequence[str]" = NAMES) -> "List[Library]":
    """Return each library with the program that runs it; the program is compiled in a folder."""
    libraries = []
    for name in names:
        try:
            libraries.append(Library(name, tuple(STARTS[name](folder))))
        except run.RunError as error:
            libraries.append(Library(name, missing=error.message))
    return libraries
