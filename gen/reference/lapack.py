"""Calls of LAPACK routines. The op `lapack` is defined as the result of its routine on the same matrix.
gen/bounds/lapack.py checks the properties that LAPACK promises for the result.
"""

from __future__ import annotations

from typing import List, Tuple

from gen.statements import Assign, Call, For, Statement
from gen.hlo import Instruction, dtypes as table
from gen.hlo.lapack import Argument, Room
from gen.reference.emitter import Emitter, title
from gen.reference.library import statements
from gen.reference.loops import count_of
from gen.reference.values import Array, Value


def part_of(room: Room) -> "Tuple[str, int]":
    """Return the real type in which an array is stored, and the number of values per element: 2 for complex numbers."""
    part = table.TABLE[room.dtype].part
    return part or room.dtype, 2 if part else 1


def batch_of(arguments: "Tuple[Argument, ...]", first: Array) -> int:
    """Return the number of matrices. first: the array of operand 0."""
    room = next(a for a in arguments if isinstance(a, Room) and a.operand == 0)
    return count_of(first.dims[:len(first.dims) - len(room.dims)])


def moved(room: Room, memory: str, arrays: "List[Array]", into: bool) -> List[str]:
    """Return statements that copy matrix i from row-major arrays, one array for each part, to the array of LAPACK. If
    `into` is false, they copy it back.
    """
    rows, columns = (*room.dims, 1, 1)[:2]
    sides = [(f"{memory}[(c * {rows} + r) * {len(arrays)} + {part}]", f"{array}[i * {rows * columns} + r * {columns} + c]")
             for part, array in enumerate(arrays)]
    return statements("matrix", rows=rows, columns=columns,
                      moved=[Assign(own, other) if into else Assign(other, own) for own, other in sides])


def sides(arguments: "Tuple[Argument, ...]", given: "List[Array]", which: str) -> "dict[int, List[Array]]":
    """Return the arrays of each operand (or result) of a LAPACK routine: one array, or two for real and imaginary
    parts. The key is the position of the operand's (or result's) argument in the routine's list of arguments.

    given: the arrays of all operands (or results), in order.
    which: "operand" or "result".
    """
    rooms = sorted((getattr(a, which), n, a) for n, a in enumerate(arguments)
                   if isinstance(a, Room) and getattr(a, which) is not None)
    rest = iter(given)
    return {n: [next(rest) for _ in range(part_of(room)[1])] for _, n, room in rooms}


def lapack(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    arguments, routine = i.attributes["arguments"], i.attributes["routine"]
    outs = [e.array(i.name, leaf.dtype, leaf.dims) for leaf in i.shape.leaves()]
    operands, results = sides(arguments, x, "operand"), sides(arguments, outs, "result")
    rooms = {n: e.array(f"{i.name}_{n}", part_of(a)[0], (*a.dims, part_of(a)[1])) for n, a in enumerate(arguments)
             if isinstance(a, Room)}
    first = next(n for n, a in enumerate(arguments) if isinstance(a, Room) and a.operand == 0)
    body: List[Statement] = [Call("memset", str(room), "0", f"{room.count} * sizeof *{room}")
                             for n, room in rooms.items() if n in results]
    for n, arrays in operands.items():
        body += moved(arguments[n], str(rooms[n]), arrays, True)
    texts = [str(rooms[n]) if isinstance(a, Room) else "NULL" if a is None else f'"{a}"' if isinstance(a, str)
             else f"&(int){{{a}}}" for n, a in enumerate(arguments)]
    letters = [a for a in arguments if isinstance(a, str)]
    call = Call(f"{routine}_", *texts, *("1" for _ in letters))
    kinds = ["const char *" if isinstance(a, str) else "const int *" if isinstance(a, int) else "void *"
             for a in arguments]
    e.call.texts[f"{routine}_"] = str(Call(f"void {routine}_", *kinds, *("size_t" for _ in letters)))
    if i.attributes["finite"]:
        body += statements("call_of_finite", count=rooms[first].count, of=str(rooms[first]), call=call.text,
                           info=str(rooms[len(arguments) - 1]),
                           filled=[For("int64_t", "k", str(rooms[n].count), [Assign(f"{rooms[n]}[k]", "NAN")], brief=True)
                                   for n in results if rooms[n].dtype != "s32"])
    else:
        body.append(call)
    for n, arrays in results.items():
        body += moved(arguments[n], str(rooms[n]), arrays, False)
    e.step(f"{title(i)}, routine={routine}",
           [For("int64_t", "i", str(batch_of(arguments, x[0])), body)],
           [*outs, *rooms.values()], x)
    return outs[0] if i.shape.kind == "array" and len(outs) == 1 else list(outs)
