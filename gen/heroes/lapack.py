"""The lapack hero (kernel emitter): it calls routines of the LAPACK library by their C symbols, in target c only. Each
matrix of the batch has one work-item.

LAPACK's arguments are column-major matrices in the buffers of results or in scratch memory. Operands are copied to
these matrices before the call. A result with another layout is copied from scratch memory after the call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from gen.statements import Call
from gen.heroes.hero import Choice, Context
from gen.heroes.kernel import Coordinate, Kernel, Text, arguments
from gen.heroes.matrices import BatchRecord, Matrices, MatricesHero, View, batch, scratch_view, view
from gen.hlo import Shape, array_shape, dtypes
from gen.hlo.lapack import Argument, Room
from gen.plan.buffers import strides_of
from gen.plan.nest import BuildError
from gen.plan.whole import Whole
from gen.targets import Target


class Copy(NamedTuple):
    """A copy of a matrix from one view to another, with its numbers of columns and rows."""

    to: View
    of: View
    columns: int
    rows: int


@dataclass(frozen=True)
class Numbers:
    """Contiguous numbers in memory.

    pointer: C text of the pointer to the first number.
    at: C text of number `i`.
    type: their C type.
    count: how many there are.
    """

    pointer: str
    at: str
    type: str
    count: int


@dataclass(frozen=True)
class LapackRecord(BatchRecord):
    """The values that templates/kernels/lapack.j2 prints.

    symbol: C symbol of the routine.
    before, after: the copies before and after the call.
    cleared: results that the routine may leave unwritten.
    operand: the operand whose elements must all be finite; if they are not, float results are NaN and info is -4. None:
        there is no such condition.
    info: pointer to the routine's info result, as C text.
    """

    symbol: str
    before: List[Copy]
    after: List[Copy]
    cleared: List[Numbers]
    call: Call
    operand: "Optional[Numbers]"
    results: List[Numbers]
    info: str


class LapackHero(MatricesHero):
    name = "lapack"

    def takes(self, nest: Whole, context: Context) -> bool:
        if nest.op.opcode != "lapack":
            return False
        if not context.target.has_libraries:
            wrong, why = (("expected no --profile embedded", "its C does not call") if context.target.embedded
                          else (f"expected target c, found {context.target.name}", "C alone calls"))
            raise BuildError(f"{nest.name}: {wrong}: "
                             f"'{nest.op.attributes['routine']}' at {nest.op.line}:{nest.op.col} is a routine of LAPACK, "
                             f"which {why}; instead, cut the module before and after it")
        return True

    def schedules(self, nest: Whole, context: Context) -> "Iterable[Matrices]":
        return [replace(schedule, local=False) for schedule in super().schedules(nest, context)]

    def scratch_shapes(self, nest: Whole, schedule: Matrices, context: Context) -> "List[Shape]":
        return [array_shape(room.dtype, (schedule.sizes.matrices, _size(room))) for room in _in_scratch(nest)]

    def build(self, choice: Choice[Whole, Matrices], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        count = schedule.sizes.matrices
        starts: "Dict[str, Coordinate]" = {}
        operands, results = ([view(nest, b, choice.index, starts) for b in side]
                             for side in (nest.operands, nest.results))
        given = nest.op.attributes["arguments"]
        rooms = {n: a for n, a in enumerate(given) if isinstance(a, Room)}
        scratch = iter(choice.scratch)
        places = {n: results[room.result] if _in_place(nest, room) and room.result is not None
                  else scratch_view(next(scratch), _size(room), count, starts) for n, room in rooms.items()}
        before = [_copy(room, _by_columns(room, places[n]), operands[room.operand]) for n, room in rooms.items()
                  if room.operand is not None]
        after = [_copy(room, results[room.result], _by_columns(room, places[n])) for n, room in rooms.items()
                 if room.result is not None and places[n] is not results[room.result]]
        routine = nest.op.attributes["routine"]
        context.helpers.texts[f"{routine}_"] = declaration(routine, given, d)
        texts = [argument_text(a, _pointer(places[n]) if n in rooms else "") for n, a in enumerate(given)]
        call = Call(f"{routine}_", *texts, *("1" for a in given if isinstance(a, str)))
        first = next(n for n, room in rooms.items() if room.operand == 0)
        part = dtypes.TABLE[rooms[first].dtype].part or rooms[first].dtype
        (grid,) = choice.grids
        record = LapackRecord(
            **vars(batch(d, part, schedule, grid, starts, [])), symbol=f"{routine}_", before=before, after=after,
            cleared=[_numbers(room, places[n], d) for n, room in rooms.items() if room.result is not None
                     and room.operand is None and n < len(given) - 1],
            call=call, operand=_numbers(rooms[first], places[first], d) if nest.op.attributes["finite"] else None,
            results=[_numbers(room, places[n], d) for n, room in rooms.items() if room.result is not None
                     and room.dtype != "s32"],
            info=_pointer(places[len(given) - 1]))
        return [Kernel(grid, nest, arguments(d, nest.operands, [*choice.scratch, *nest.results]),
                       Text("kernels/lapack", record, attribute=d.launch_bounds(schedule.threads)))]


HERO = LapackHero()


def declaration(routine: str, given: "Tuple[Argument, ...]", d: Target) -> str:
    """Return the C prototype of a Fortran routine. Its last arguments are the lengths of its character arguments, as
    Fortran compilers require.
    """
    types = [f"{d.register(a.dtype)} *" if isinstance(a, Room) else "void *" if a is None else
             f"const {'char' if isinstance(a, str) else d.types['s32']} *" for a in given]
    return f"{Call(f'void {routine}_', *types, *('size_t' for a in given if isinstance(a, str)))}\n"


def argument_text(argument: Argument, pointer: str) -> str:
    """Return an argument of the call as C text. pointer: the address of a matrix or array argument."""
    if isinstance(argument, Room):
        return pointer
    return "NULL" if argument is None else f'"{argument}"' if isinstance(argument, str) else f"&(int32_t){{{argument}}}"


def _rooms(nest: Whole) -> "List[Room]":
    return [a for a in nest.op.attributes["arguments"] if isinstance(a, Room)]


def _in_scratch(nest: Whole) -> "List[Room]":
    """Return the arguments whose matrices are in scratch memory."""
    return [room for room in _rooms(nest) if not _in_place(nest, room)]


def _in_place(nest: Whole, room: Room) -> bool:
    """Return true if LAPACK can write a matrix directly into the buffer of its result, because the layouts are the
    same.
    """
    return room.result is not None and _is_by_columns(room, strides_of(nest.results[room.result].shape))


def _is_by_columns(room: Room, strides: "Tuple[int, ...]") -> bool:
    own = strides[len(strides) - len(room.dims):]
    return all(size == 1 or stride == wanted for size, stride, wanted in zip(room.dims, own, (1, *room.dims)))


def _size(room: Room) -> int:
    size = 1
    for extent in room.dims:
        size *= extent
    return size


def _by_columns(room: Room, place: View) -> View:
    return View(place.pointer, place.start, (1, *room.dims)[:len(room.dims)])


def _copy(room: Room, to: View, of: View) -> Copy:
    rows, columns = (*room.dims, 1, 1)[:2]
    return Copy(to, of, columns, rows)


def _pointer(place: View) -> str:
    return f"{place.pointer} + {place.start}" if place.start else place.pointer


def _numbers(room: Room, place: View, d: Target) -> Numbers:
    part = dtypes.TABLE[room.dtype].part
    pointer = f"({d.register(part)} *)({_pointer(place)})" if part else _pointer(place)
    at = f"({pointer})[i]" if part or place.start else f"{pointer}[i]"
    return Numbers(pointer, at, d.register(part or room.dtype), _size(room) * (2 if part else 1))
