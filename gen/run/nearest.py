"""Decide whether a library's result or the kernel's is closer to the exact result. This is done if the two results
differ so much that the library is not timed.

The exact result is computed by the reference (gen/reference) of the same module with f64 in place of all narrower
floats; explicit conversions still round.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from array import array
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from gen import hlo, reference, run
from gen.hlo import Computation, Instruction, dtypes, printer
from gen.plan.partition import moves_only

MOST = 1 << 18   # maximum number of elements of a result that are compared
_NARROW = re.compile(r"\b(?:f16|bf16|f32)\[")
_BY_BITS = frozenset(["bitcast-convert", "reduce-precision", "rng-bit-generator"])


def _narrow(i: Instruction) -> bool:
    return i.shape.kind == "array" and i.shape.dtype in ("f16", "bf16", "f32")


def _lines(i: Instruction, inputs: bool) -> List[str]:
    """Return an instruction as lines of text, with f64 in place of narrower floats. Constants, conversions to less
    than 64 bits and, if `inputs` is true, parameters keep their types, so that they round as in the module. Their
    values are then converted to f64.
    """
    text = printer.print_instruction(i)
    rounded = i.opcode == "constant" or (i.opcode == "parameter" and inputs) or (
        i.opcode == "convert" and dtypes.TABLE[i.shape.dtype].bits < 64)
    if _narrow(i) and rounded:
        as_written = text.replace(f"%{i.name} = ", f"%{i.name}.rounded = ", 1)
        wide = _NARROW.sub("f64[", i.shape.text)
        return [as_written, f"%{i.name} = {wide} convert(%{i.name}.rounded)"]
    return [text if rounded else _NARROW.sub("f64[", text)]


def exact_text(computation: Computation) -> Optional[str]:
    """Return the text of the module with f64 in place of narrower floats. Return None if the module reads the bits of
    floats, has tuple parameters, or has types other than real numbers of 8, 16, 32 or 64 bits.
    """
    called: List[Computation] = []

    def visit(c: Computation) -> None:
        for i in c.instructions:
            for inner in i.called:
                visit(inner)
        if c not in called:
            called.append(c)

    visit(computation)
    for i in (i for c in called for i in c.instructions):
        kinds = {leaf.dtype for of in (i, *i.operands) for leaf in of.shape.leaves()}
        if i.opcode in _BY_BITS or (i.opcode == "bitcast" and not moves_only(i)) or kinds & dtypes.PACKED or any(
                dtypes.TABLE[kind].kind == "complex" or kind.startswith("f8") for kind in kinds):
            return None
    if any(p.shape.kind != "array" or p.shape.tiled for p in computation.parameters):
        return None
    texts = []
    for c in called:
        lines = [("ROOT " * (i is c.root and line is lines[-1])) + line
                 for i in c.instructions for lines in [_lines(i, c is computation)] for line in lines]
        texts.append(f"{'ENTRY ' * (c is computation)}%{c.name} {{\n  " + "\n  ".join(lines) + "\n}\n")
    return "HloModule exact\n\n" + "\n".join(texts)


def _numbers(data: bytes, dtype: str) -> Sequence[float]:
    """Return the elements of a buffer, or an evenly spaced sample if there are more than MOST."""
    size = dtypes.storage_bytes(dtype)
    step = max(1, len(data) // size // MOST)
    if dtype == "bf16":
        return memoryview(array("I", (h << 16 for h in memoryview(data).cast("H")[::step]))).cast("B").cast("f")
    codes: Dict[str, Any] = {"f32": "f", "f64": "d", "pred": "B", "s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i",
             "u32": "I", "s64": "q", "u64": "Q"}
    if dtype == "f16":
        return struct.unpack(f"<{len(data) // 2}e", data)[::step]
    return memoryview(data).cast(codes[dtype])[::step]


def distance(got: Sequence[float], exact: Sequence[float]) -> float:
    """Return the root mean square of the errors divided by that of the exact values; infinity if a value is not
    finite.
    """
    squares = errors = 0.0
    for x, y in zip(got, exact):
        if x != y and not (x != x and y != y):
            errors += (x - y) ** 2 if math.isfinite(x) and math.isfinite(y) else math.inf
        if math.isfinite(y):
            squares += float(y) * float(y)
    return math.sqrt(errors / squares) if squares else (math.inf if errors else 0.0)


def exact_results(computation: Computation, given: Sequence[bytes], folder: Path) -> "Optional[List[Tuple[str, bytes]]]":
    """Return the types and elements of the exact results; None if exact_text returns None."""
    text = exact_text(computation)
    if text is None:
        return None
    fusion = hlo.fusions(hlo.parse(text, "exact.hlo"))[0]
    (folder / "exact.c").write_text(reference.reference(fusion.computation, "exact"))
    run.call([run.c_compiler(), "-O2", "-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-shared", "-o",
              str(folder / "exact.so"), str(folder / "exact.c"), "-lm"], "the exact reference")
    leaves = fusion.computation.root.shape.leaves() if fusion.computation.root else []
    results = [ctypes.create_string_buffer(max(1, leaf.bytes)) for leaf in leaves]
    params = [ctypes.create_string_buffer(data, max(1, len(data))) for data in given]

    def pointers(buffers: "Sequence[ctypes.Array[ctypes.c_char]]") -> "ctypes.Array[ctypes.c_void_p]":
        return (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(b) for b in buffers))

    if ctypes.CDLL(str(folder / "exact.so")).exact_ref(pointers(params), pointers(results)):
        return None
    return [(leaf.dtype, bytes(buffer)[:leaf.bytes]) for leaf, buffer in zip(leaves, results)]


def words(built: run.Built, target: str, options: run.Options, inputs: Path, theirs: Path) -> str:
    """Return a sentence that says whether the library or the kernel is closer to the exact results; "" if unknown.

    inputs: a file with all parameters
    theirs: a file with the library's results
    """
    params, leaves = [p["bytes"] for p in built.manifest["params"]], built.manifest["results"]
    data, other, given, at = inputs.read_bytes(), theirs.read_bytes(), [], 0
    for size in params:
        given.append(data[at:at + size])
        at += size
    weights = [data[at + w["offset"]:at + w["offset"] + w["bytes"]]
               for w in built.manifest.get("weights", {}).get("arrays", ())]
    root = built.source.computation.root
    exact = exact_results(built.source.computation, [*given, *weights], built.folder) if root else None
    if exact is None or any(leaf.tiled for leaf in root.shape.leaves()):
        return ""
    files = [built.folder / f"nearest_{side}{k}.bin" for side, count in (("p", len(params)), ("r", len(leaves)))
             for k in range(count)]
    for file, content in zip(files, given):
        file.write_bytes(content)
    run.run_built(built, target, files[:len(params)], files[len(params):], options)
    most, at = [0.0, 0.0], 0
    for result, file, (dtype, content) in zip(leaves, files[len(params):], exact):
        for k, buffer in enumerate((file.read_bytes(), other[at:at + result["bytes"]])):
            most[k] = max(most[k], distance(_numbers(buffer, result["dtype"]), _numbers(content, dtype)))
        at += result["bytes"]
    if most[0] == most[1]:
        return f"both are as near to the exact result ({most[0]:.1e})"
    who = "the kernel is" if most[0] < most[1] else "it is"
    return f"{who} nearer to the exact result (root mean square errors {most[0]:.1e}, its {most[1]:.1e})"
