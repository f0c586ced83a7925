"""Decide which results are stored in the memory of an operand, and where arrays are in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Collection, Dict, Iterable, List, Mapping, Sequence, Tuple

from gen.heroes.kernel import Kernel
from gen.hlo import Fusion, Shape, dtypes
from gen.plan.overwrite import overwritable
from gen.program import arena
from gen.program.arena import Live, Placement
from gen.program.build import copied
from gen.program.ir import Array, Call, Program
from gen.program.steps import Chain, Launch
from gen.schedule.devices import LOCAL_ARRAY, LOCAL_GROUPS


@dataclass(frozen=True)
class Place:
    """The location of an array in memory.

    buffer: params, results, scratch, state, or local for a variable of the function.
    number: the index of the buffer among those of its kind.
    offset: the distance in bytes from the beginning of the buffer.
    """

    buffer: str
    number: int
    offset: int
    shape: Shape


@dataclass
class Body:
    """The calls of a program, with the decision which results are stored in place.

    taken: for each array in whose memory a later array is stored, the later array.
    aliases: the indices of results that are stored in a parameter's buffer, with the index of the parameter.
    """

    calls: List[Call]
    taken: Dict[Array, Array] = field(default_factory=dict)
    aliases: Dict[int, int] = field(default_factory=dict)

    def over(self, more: "Mapping[Array, Array]") -> "Body":
        """Return the body with the entries of `more` added to `taken`: for each array whose memory a later array takes,
        the later array.
        """
        return replace(self, taken={**self.taken, **more})

    def owner(self, array: Array) -> Array:
        """Return the array that represents all arrays in the same memory."""
        while array in self.taken:
            array = self.taken[array]
        return array


def in_place(program: Program, aliases: "Mapping[Fusion, Mapping[int, int]]") -> Body:
    """Return the calls, with copies inserted. A copy is needed before a call that would overwrite an operand, if the
    operand is needed later or must not be written. aliases: for each fusion, the results that its kernels write over an
    operand: the index of the result, with the index of the operand.
    """
    last = {array: at for at, call in enumerate(program.calls) for array in call.operands if array}
    body, copies = Body([]), {}     # type: Body, Dict[Shape, Fusion]
    for at, call in enumerate(program.calls):
        operands, results = list(call.operands), program.results
        for number, operand_number in aliases[call.fusion].items():
            operand, result = call.operands[operand_number], call.results[number]
            assert operand is not None
            ends = last[operand] == at and call.operands.count(operand) == 1
            if operand in program.params and operand not in program.weights and result in results and ends and (
                    call.fusion is program.whole
                    or program.aliases.get(results.index(result)) == program.params.index(operand)):
                body.aliases[results.index(result)] = program.params.index(operand)
            elif not ends or operand in program.params or operand in results:
                copy = operands[operand_number] = Array(f"copy of {operand.name}", operand.shape)
                if operand.shape not in copies:
                    copies[operand.shape] = copied(operand.shape, f"{program.name}_copy{len(copies)}")
                body.calls.append(Call(copies[operand.shape], [operand], [copy]))
                operand = copy
            body.taken[operand] = result
        body.calls.append(replace(call, operands=operands))
    return body


def over_operands(program: Program, launches: "Sequence[Launch]", in_results: bool) -> "Dict[Array, Array]":
    """Return the arrays that a launch may overwrite with its result, each with the result. Such an array is not needed
    afterwards, and it is neither a parameter nor a result of the program. The maps of the kernel must allow this. The
    pointers of the array and of the result lose `restrict`.

    in_results: true if the result may be a result of the program.
    """
    first: Dict[Array, int] = {}
    last: Dict[Array, int] = {}
    for at, launch in enumerate(launches):
        for array in launch.arrays:
            first.setdefault(array, at)
            last[array] = at
    own = {*program.read_only, *program.results}
    over: Dict[Array, Array] = {}
    for at, launch in enumerate(launches):
        for operand, result in overwritten(launch):
            if first[result] != at or result in over.values() or result in own and not in_results:
                continue
            if operand not in own and operand not in over and last[operand] == at:
                over[operand] = result
                shared = (operand, result)
                launch.kernel.arguments = [replace(argument, restrict="") if array in shared else argument
                                           for array, argument in zip(launch.arrays, launch.kernel.arguments)]
    return over


def overwritten(launch: Launch) -> "List[Tuple[Array, Array]]":
    """Return pairs of an operand and a result of a launch. The kernel and its maps allow the result to be written over
    the operand. If an array is small enough to become a local variable in C, both must have the same type: a compiler
    may move a load past a store of another type.
    """
    kernel = launch.kernel
    if isinstance(kernel, Chain) or not kernel.overwrites:
        return []
    arrays = dict(zip(kernel.buffers, launch.arrays))
    return [(arrays[buffer], arrays[result]) for buffer, result in overwritable(kernel.nest)
            if result in arrays and launch.arrays.count(arrays[buffer]) == 1
            and (buffer.shape.dtype == result.shape.dtype or buffer.shape.bytes > LOCAL_ARRAY)]


@dataclass
class Storage:
    """The places of all arrays.

    placement: the placement of arrays in the scratch block.
    bytes: the size of the scratch block.
    state_bytes: the size of the block that NAME_prepare fills.
    """

    places: Dict[Array, Place]
    placement: Placement
    bytes: int
    state_bytes: int


def spans_of(steps: "Sequence[Iterable[Array]]") -> "Dict[Array, Tuple[int, int]]":
    """Return, for each array, the indices of the first and the last step that use it. The steps run one after another.
    steps: the arrays that each step reads or writes.
    """
    spans: "Dict[Array, Tuple[int, int]]" = {}
    for at, arrays in enumerate(steps):
        for array in arrays:
            spans[array] = (spans.get(array, (at, at))[0], at)
    return spans


def stored(program: Program, spans: "Mapping[Array, Tuple[int, int]]", aliases: "Collection[int]", alignment: int,
           in_results: bool, local: "Sequence[Array]" = (), once: "Sequence[Launch]" = ()) -> Storage:
    """Decide the place of each array.

    spans: for each array, the indices of the first and the last step that use it.
    aliases: the indices of results that are stored in a parameter's buffer.
    alignment: the alignment of arrays in the scratch block, in bytes.
    in_results: true if an array may be in the buffer of a result before that result is written.
    local: the arrays that are variables of the function.
    once: the launches of NAME_prepare.
    """
    places = {array: Place("params", n, offset, array.shape) for array, (n, offset) in program.pointers.items()}
    places.update((array, Place("results", n, 0, array.shape)) for n, array in enumerate(program.results))
    places.update((array, Place("local", n, 0, array.shape)) for n, array in enumerate(local))
    state = _state(program, once, alignment)
    places.update((array, Place("state", 0, offset, array.shape)) for array, offset in state.items())
    block = [array for array in spans if array not in places]
    names = _names(block)
    live = {array: Live(names[array], array.shape.bytes, spans[array][0], spans[array][1] + 1, alignment)
            for array in block}
    if in_results:
        for number, result in enumerate(program.results):
            if number not in aliases and result in spans and not result.shape.lead:
                inside = _inside(result, spans[result][0], [a for a in block if a not in places], live)
                places.update((a, Place("results", number, offset, a.shape)) for a, offset in inside.items())
    left = [array for array in block if array not in places]
    placement = arena.place([live[array] for array in left])
    places.update((array, Place("scratch", n, placement.offsets[names[array]], array.shape))
                  for n, array in enumerate(left))
    state_bytes = max((offset + array.shape.bytes for array, offset in state.items()), default=0)
    return Storage(places, placement, max((places[a].offset + a.shape.bytes for a in left), default=0),
                   -(-state_bytes // alignment) * alignment)


def _state(program: Program, once: "Sequence[Launch]", alignment: int) -> "Dict[Array, int]":
    """Return the offsets of the arrays that the launches of NAME_prepare write. The state begins with a mark that says
    whether it is filled. Arrays that only these launches read may share bytes.
    """
    spans = spans_of([launch.writes for launch in once])
    ends = spans_of([launch.arrays for launch in once])
    names = _names(spans)
    ends.update((array, (0, len(once))) for array in program.prepared)
    lives = [Live(names[array], array.shape.bytes, begin, ends[array][1] + 1, alignment)
             for array, (begin, _) in spans.items()]
    offsets = arena.place(lives).offsets
    return {array: alignment + offsets[names[array]] for array in spans}


def local(program: Program, launches: "Sequence[Launch]", room: int, once: "Sequence[Launch]") -> "List[Array]":
    """Return the arrays that become variables of the program's function. They are the smallest arrays that together fit
    `room` bytes. Arrays of a kernel that runs on several threads are excluded. once: the launches of NAME_prepare. The
    arrays that they write are excluded too, because NAME_prepare is another function.
    """
    if not room:
        return []
    own = {*program.read_only, *program.results, *(array for launch in once for array in launch.writes)}
    chosen: List[Array] = []
    launches = [*once, *launches]
    own.update(array for launch in launches if launch.threads > 1 for array in launch.arrays)
    for array in sorted({array: None for launch in launches for array in launch.arrays if array not in own},
                        key=lambda a: a.shape.bytes):
        room -= array.shape.bytes
        if room < 0 or array.shape.bytes > LOCAL_ARRAY:
            break
        chosen.append(array)
    known = set(chosen)
    for launch in launches:
        launch.direct = bool(room and known.intersection(launch.arrays))
    apart = {launch.kernel.name for launch in launches if not launch.direct or launch.kernel.blocks > LOCAL_GROUPS}
    for launch in launches:
        if isinstance(launch.kernel, Kernel):
            launch.kernel.text.inlined = launch.kernel.name not in apart
    return chosen


def _names(arrays: "Iterable[Array]") -> Dict[Array, str]:
    """Return a different name for each array. Arrays with the same name are numbered."""
    counts: Dict[str, int] = {}
    names = {}
    for array in arrays:
        counts[array.name] = counts.get(array.name, 0) + 1
        names[array] = array.name if counts[array.name] == 1 else f"{array.name} ({counts[array.name]})"
    return names


MOST_INSIDE = 32    # maximum number of arrays that are tried in the buffer of one result


def _inside(result: Array, due: int, arrays: "Sequence[Array]", live: "Mapping[Array, Live]") -> Dict[Array, int]:
    """Return offsets of arrays in the buffer of a result. The arrays must fit the buffer, and must not be needed when
    step `due` writes the result. The largest arrays are tried first.
    """
    width = _alignment(result.shape)
    fits = [a for a in arrays if live[a].end <= due and 0 < a.shape.bytes <= result.shape.bytes
            and _alignment(a.shape) <= width]
    chosen: Dict[Array, int] = {}
    for array in sorted(fits, key=lambda a: (-a.shape.bytes, -live[a].end))[:MOST_INSIDE]:
        offsets = arena.place([live[a] for a in [*chosen, array]]).offsets
        tried = {a: offsets[live[a].name] for a in [*chosen, array]}
        if max(offset + a.shape.bytes for a, offset in tried.items()) <= result.shape.bytes:
            chosen = tried
    return chosen


def _alignment(shape: Shape) -> int:
    return dtypes.storage_bytes(shape.dtype)
