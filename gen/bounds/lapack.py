"""Bounds of calls of LAPACK's routines. Several results may be correct, so no bound is computed. Functions of lapack.c
test instead, by residuals in wider precision, whether the results fulfil the routine's promise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Optional

from gen.bounds.following import Bounds
from gen.statements import Declare
from gen.hlo import Computation, Instruction, Shape, dtypes as table
from gen.hlo.graph import root_of
from gen.hlo.lapack import Room
from gen.reference.assembly import definition, File
from gen.reference.lapack import part_of
from gen.reference.library import statements
from gen.reference.loops import count_of, place_of
from gen.reference.types import STORAGE
from gen.reference.values import Array

PROOFS = Path(__file__).with_name("lapack.c")
UNIT = {"f32": "0x1p-24", "f64": "0x1p-53"}
# for each routine without a test of its own: another routine, whose test is also right for these results
_AS = {"hetrd": "sytrd", "unmqr": "ormqr", "gesvd": "gesdd"}


def lapack(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    b.unknown.append("LAPACK scales a matrix whose elements differ much in size")
    for out in outs:
        b.anything(i, out, False)


def call_of(computation: Computation) -> Optional[Instruction]:
    """Return the call of LAPACK if a computation consists of it alone; else None."""
    root = root_of(computation)
    return root if root.opcode == "lapack" and all(o.opcode == "parameter" for o in root.operands) else None


def is_proved(computation: Computation) -> bool:
    """Return true if the bound's file has a function `NAME_holds`, which replaces the reference and the bound."""
    return call_of(computation) is not None


def with_proof(file: File, computation: Computation, name: str) -> File:
    """Return the file with `const char *NAME_holds(params, results, unknown)` added, if the computation is only a call
    of LAPACK. This function returns NULL if the results are correct, else the fault; it adds to `unknown` the
    number of elements that it cannot judge.
    """
    i = call_of(computation)
    if i is None:
        return file
    arguments, routine = i.attributes["arguments"], i.attributes["routine"][1:]
    rooms = [a for a in arguments if isinstance(a, Room)]
    operands: Dict[int, Room] = {a.operand: a for a in rooms if a.operand is not None}
    results: Dict[int, Room] = {a.result: a for a in rooms if a.result is not None}
    part = part_of(operands[0])[0]
    leaves = i.shape.leaves()
    count = count_of(leaves[0].dims[:len(leaves[0].dims) - len(results[0].dims)])
    longest = max([1, *(size for a in rooms if a.operand is not None or a.result is not None for size in a.dims)])
    sizes = {f"x{k}": count_of(a.dims) for k, a in operands.items()}
    sizes.update((f"r{k}", count_of(a.dims)) for k, a in results.items())
    per_matrix = sum(count_of(a.dims) * part_of(a)[1] for a in results.values())
    arrays, loaded, at = [], [], 0      # type: List[Declare], List[str], int
    for word, size in sizes.items():
        arrays.append(Declare("number *const", word, f"memory + {at}"))
        at += size
    for k, a in operands.items():
        loaded += _loaded(f"x{k}", a, i.operands[k].shape, f"params[{i.operands[k].parameter_number}]")
    for k, a in results.items():
        loaded += _loaded(f"r{k}", a, leaves[k], f"results[{k}]")
    m, n = operands[2 if routine in ("ormqr", "unmqr") else 0].dims
    numbers = [m, n, operands[1].dims[0] if routine in ("ungqr", "ormqr", "unmqr") else min(m, n),
               operands[0].dims[-1] if routine in ("ormqr", "unmqr") else results[2].dims[-1] if "ges" in routine and
               len(results) == 5 and len(results[2].dims) == 2 else 0,
               results[3].dims[0] if "ges" in routine and len(results) == 5 and len(results[3].dims) == 2 else 0]
    refused: List[str] = []
    if i.attributes["finite"]:
        nan = " && ".join(f"unfinished(r{k}, {count_of(a.dims)})" for k, a in results.items() if a.dtype != "s32")
        refused = statements("refused", count=sizes["x0"], info=max(results), nan=nan)
    lines = statements(
        "holds", room=sum(sizes.values()) + 8 * longest * (longest + 1), arrays=arrays, count=count, loaded=loaded,
        operands=f"{{{', '.join(f'x{k}' for k in range(len(operands)))}}}",
        results=f"{{{', '.join(f'r{k}' for k in range(len(results)))}}}",
        numbers=", ".join(map(str, numbers)), letters="".join(a for a in arguments if isinstance(a, str)),
        real=int(not table.is_complex(operands[0].dtype)), unit=UNIT[part], rest=at, refused=refused,
        routine=_AS.get(routine, routine), elements=per_matrix)
    head = f"const char *{name}_holds(const void *const *params, const void *const *results, size_t *unknown)"
    library = "#define OF_DOUBLES\n" * (part == "f64") + PROOFS.read_text().strip()
    return replace(file, library={**file.library, "proofs": library},
                   functions=[*file.functions, f"{head};\n" + definition(head, lines)])


def _loaded(to: str, room: Room, shape: Shape, memory: str) -> List[str]:
    """Return statements that copy matrix i from memory, row by row."""
    rows, columns = (*room.dims, 1, 1)[:2]
    batch, below, index = shape.dims[:len(shape.dims) - len(room.dims)], 1, []  # type: tuple[int, ...], int, List[str]
    for size in reversed(batch):
        index.insert(0, f"(i / {below} % {size})")
        below *= size
    place = place_of(shape, [*index, "row", "column"][:len(shape.dims)])
    kind, parts = part_of(room)
    source = f"(({'const ' + STORAGE[kind]} *){memory})"
    value = f"{source}[{place}]" if parts == 1 else f"BOTH({source}[2 * ({place})], {source}[2 * ({place}) + 1])"
    return statements("load_matrix", rows=rows, columns=columns, to=to, value=value)
