"""Evaluate calls of functions that the text does not define: the built-in functions of OpenCL C, CUDA, HIP, C and GNU
C that kernels use.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, Dict, List

from gen.certify import terms, types
from gen.certify.reader import Node
from gen.certify.terms import bounds, number
from gen.certify.text import Token, Unknown
from gen.certify.values import Address, Barrier, Either, Lanes, Number, Opaque, Value
from gen.certify.types import INT, Float, Int, Vector, size


# Functions of numbers, or of vectors of numbers, whose result has the first argument's type.
_PLAIN = set("""sqrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    atan2 pow fabs floor ceil round rint trunc fma mad fmin fmax fmod remainder copysign cbrt erf erfc lgamma tgamma
    rsqrt native_exp native_log nextafter hypot ldexp popcount clz __clz __clzll __popc __popcll
    abs __fmul_rn __fadd_rn __fsub_rn __fdiv_rn __fsqrt_rn __fmaf_rn __dmul_rn __dadd_rn __dsub_rn __ddiv_rn
    __dsqrt_rn __fma_rn rotate mul_hi fract native_recip half_exp mulhi""".split())
_PLAIN |= {f"{name}f" for name in _PLAIN} | {f"{name}l" for name in _PLAIN}
_SHUFFLES = re.compile(r"__shfl(_down|_up|_xor|)(_sync|)|sub_group_\w+|intel_sub_group_\w+|__reduce_\w+_sync")
_OF_TYPES: "Dict[str, types.Type]" = {
    "__float_as_uint": types.UINT, "__float_as_int": INT, "__uint_as_float": Float(32), "__int_as_float": Float(32),
    "__double_as_longlong": types.LONG, "__longlong_as_double": Float(64), "__half2float": Float(32),
    "__float2half_rn": Float(16), "__float2half": Float(16), "__half_as_ushort": Int(16, False),
    "__ushort_as_half": Float(16), "isnan": INT, "isinf": INT, "isfinite": INT, "signbit": INT, "__float2uint_rn": types.UINT,
    "__brev": types.UINT, "__umulhi": types.UINT, "__umul64hi": types.ULONG, "__mulhi": INT, "__ballot_sync": types.UINT,
    "__activemask": types.UINT, "__ballot": types.ULONG, "__builtin_popcount": INT, "__builtin_popcountll": INT,
    "__builtin_clz": INT, "__builtin_clzll": INT, "__builtin_ctz": INT, "__builtin_ctzll": INT, "__float2int_rn": INT,
    "__double2float_rn": Float(32), "__any_sync": INT, "__all_sync": INT, "vload_half": Float(32), "lround": types.LONG,
    "__hiloint2double": Float(64), "__double2hiint": INT, "__double2loint": INT, "__byte_perm": types.UINT,
    "__dp4a": INT, "__funnelshift_l": types.UINT, "__funnelshift_r": types.UINT,
    "ilogb": INT, "__builtin_cpu_is": INT, "__builtin_cpu_supports": INT,
}
_BARRIERS = {"barrier", "__syncthreads", "work_group_barrier"}
_NOTHING = {"__builtin_prefetch", "mem_fence", "write_mem_fence", "read_mem_fence", "__syncwarp", "__threadfence_block",
            "__threadfence", "_mm_sfence", "prefetch", "__builtin_amdgcn_wave_barrier", "__builtin_assume",
            "sub_group_barrier"}
_ATOMIC = re.compile(r"atom(ic)?_\w+|atomic(Add|Min|Max|CAS|Exch|And|Or|Xor|Sub)|__atomic_\w+|__sync_\w+")


def builtin(walk: "Any", name: str, arguments: "List[Node]", at: Token) -> "Value":
    """Return the result of a call of a function that the text does not define, after recording the accesses that the call
    makes.
    """
    void = Opaque(types.Void())
    if name in ("__builtin_prefetch",):
        return void    # a prefetch: its address may be invalid
    if name in ("get_group_id", "get_local_id", "get_global_id", "get_local_size", "get_num_groups", "get_global_size"):
        axis = walk._constant(arguments[0])
        if axis != 0:
            return Number(types.ULONG, number(0 if name.endswith("_id") else 1), False)
        term = {"get_group_id": walk.group, "get_local_id": walk.item,
                "get_global_id": walk.group.times(walk.threads) + walk.item,
                "get_local_size": number(walk.threads)}.get(name)
        if term is None:
            raise Unknown(name, at)
        return Number(types.ULONG, term, False)
    if name in _BARRIERS:
        for argument in arguments:
            walk._value(argument)
        walk.found.barriers.setdefault(Barrier(tuple(walk.path), at))
        walk.phase = walk.phase + terms.ONE
        return void
    if name in _NOTHING:
        return void
    if name == "__builtin_nontemporal_store":
        value, place = walk._value(arguments[0]), walk._value(arguments[1])
        to = walk._first(place).to
        walk._store(place, to, walk._converted(value, to, at), at)
        return void
    if name == "__builtin_nontemporal_load" or name in ("__ldg", "__ldcs"):
        place = walk._value(arguments[0])
        return walk._load(place, walk._first(place).to, at)
    if name in ("memcpy", "__builtin_memcpy", "memmove"):
        return _copied(walk, arguments, at)
    if name in ("memset",):
        place, count = walk._value(arguments[0]), walk._value(arguments[2])
        _range(walk, place, count, True, at)
        return void
    found = re.fullmatch(r"v(load|store)(2|3|4|8|16|32|64)", name)
    if found:
        return _vector_access(walk, found[1], int(found[2]), arguments, at)
    if name in ("vload_half", "vstore_half", "vstore_half_rte") or re.fullmatch(r"v(load|store)a?_half(2|3|4|8|16).*", name):
        return _half(walk, name, arguments, at)
    found = re.fullmatch(r"(as|convert)_(\w+?)(_sat)?(_rt[ezpn])?", name)
    named = types.basic(found[2]) if found else None
    if found and named is not None:
        to = named
        value = walk._value(arguments[0])
        if found[1] == "as":
            return _bits(walk, value, to, at)
        if found[3]:
            return walk._fresh(to, True)
        if isinstance(value, Lanes) and isinstance(to, Vector):
            return walk._convert_lanes(value, to)
        return walk._converted(value, to, at)
    if name in ("__builtin_convertvector", "__builtin_astype"):
        value, kind_of = walk._value(arguments[0]), walk._type(arguments[1])
        if isinstance(value, Lanes) and isinstance(kind_of, Vector) and name == "__builtin_convertvector":
            return walk._convert_lanes(value, kind_of)
        return _bits(walk, value, kind_of, at)
    if name in ("__builtin_shufflevector", "shuffle", "shuffle2", "__builtin_shuffle"):
        value = walk._value(arguments[0])
        if not isinstance(value, Lanes):
            raise Unknown("a shuffle of no vector", at)
        others = [walk._value(argument) for argument in arguments[1:]]
        other = others[0] if isinstance(others[0], Lanes) else value
        if name == "__builtin_shufflevector":
            kind = Vector(value.type.element, len(arguments) - 2)
            return Lanes(kind, min(value.lo, other.lo), max(value.hi, other.hi))
        return walk._fresh(value.type, True)
    if name in ("min", "max", "clamp") or name in ("fminf", "fmaxf"):
        return _extremes(walk, name, [walk._value(argument) for argument in arguments], at)
    if name == "select":
        a, b, chooser = (walk._value(argument) for argument in arguments)
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return Lanes(a.type, min(a.lo, b.lo), max(a.hi, b.hi))
        merged = walk._merged(walk._condition_of(chooser, at), b, a, at)
        assert merged is not None
        return merged
    if _SHUFFLES.fullmatch(name):
        values = [walk._value(argument) for argument in arguments]
        value = values[1] if name.endswith("_sync") and not name.startswith("__reduce") else values[0]
        made = walk._fresh(value.type, True)
        if name == "__shfl_sync" and isinstance(value, Number) and value.pointer is not None and len(values) == 3:
            made = replace(made, pointer=_of_lane(walk, value.pointer, values[2], at))
        return made
    if _ATOMIC.fullmatch(name):
        return _atomic(walk, arguments, at)
    if name in _OF_TYPES:
        if name == "__builtin_cpu_is":
            return Number(INT, number(0), False)
        for argument in arguments:
            walk._value(argument)
        return walk._fresh(_OF_TYPES[name], True)
    if name in ("all", "any"):
        walk._value(arguments[0])
        return walk._fresh(INT, True, (0, 1))
    if name.startswith("make_") and types.basic(name[5:]) is not None:
        made = types.basic(name[5:])
        assert isinstance(made, Vector)
        return walk._of_lanes([walk._value(argument) for argument in arguments], made, at)
    if name.startswith("__builtin_amdgcn_mfma"):
        values = [walk._value(argument) for argument in arguments]
        return walk._fresh(values[2].type, True)
    if name in ("static_assert", "_Static_assert", "assert"):
        return void
    if name in _PLAIN:
        values = [walk._value(argument) for argument in arguments]
        for value in values:
            if isinstance(value, (Address, Either)):
                raise Unknown(f"{name} of a pointer", at)
        result: "types.Type" = next((value.type for value in values if isinstance(value, Lanes)),
                                    values[0].type)
        if isinstance(values[0], Number) and isinstance(values[0].type, Int) and not isinstance(result, Vector):
            if name == "abs" and values[0].term is not None:
                term = values[0].term
                return Number(INT, terms.chosen(terms.at_most(terms.ZERO, term), term, term.times(-1)), values[0].data)
            return walk._fresh(result if name in ("popcount", "clz", "rotate", "mul_hi", "abs") else Float(64), True)
        return walk._fresh(result, True)
    raise Unknown(f"unknown function {name}", at)


def _of_lane(walk: "Any", pointer: Address, lane: "Value", at: Token) -> "Address":
    """Return the pointer that another lane of the warp passes to this shuffle. Add the obligation that the other lane
    executes the shuffle, too.
    """
    assert isinstance(lane, Number)
    if not walk.item.free or pointer.offset.free & walk.found.varying - walk.item.free or pointer.memory is None:
        raise Unknown("a pointer of another lane", at)
    own = walk.item.parts[0][0]
    other = terms.quotient(walk.item, 32).times(32) + terms.modulo(walk._observed(lane, at), 32)
    for condition in walk.path:
        if condition.free & walk.found.varying:
            there = terms.chosen(terms.substituted(condition, own, other), terms.ONE, terms.ZERO)
            walk._oblige(there, 1, 1, at)
    return replace(pointer, offset=terms.substituted(pointer.offset, own, other))


def _bits(walk: "Any", value: "Value", to: "types.Type", at: Token) -> "Value":
    """Return the bits of a value as a value of another type of the same size."""
    if isinstance(value, Lanes) and isinstance(to, Vector):
        if size(value.type) != size(to):
            raise Unknown("bits of another size", at)
        return value if value.type == to else walk._fresh(to, True)
    if isinstance(value, Number) and value.type == to:
        return value
    if size(value.type) != size(to):    # type: ignore[union-attr]
        raise Unknown("bits of another size", at)
    return walk._fresh(to, True)


def _extremes(walk: "Any", name: str, values: "List[Value]", at: Token) -> "Value":
    lanes = next((value for value in values if isinstance(value, Lanes)), None)
    low = {"min": min, "max": max}
    if lanes is not None:
        made = [walk._converted(value, lanes.type, at) for value in values]
        if not isinstance(lanes.type.element, Int):
            return walk._fresh(lanes.type, True)
        spans = [(value.lo, value.hi) for value in made if isinstance(value, Lanes)]
        if name == "clamp":
            spans = [tuple(max(a, b) for a, b in zip(spans[0], spans[1])), spans[2]]    # type: ignore[list-item]
            name = "min"
        pick: "Callable[..., int]" = low[name]
        return Lanes(lanes.type, pick(a for a, _ in spans), pick(b for _, b in spans))
    numbers = [value for value in values if isinstance(value, Number)]
    if len(numbers) != len(values):
        raise Unknown(f"{name} of a pointer", at)
    kind = numbers[0].type
    for value in numbers[1:]:
        kind = walk._usual(kind, value.type)
    if isinstance(kind, Float):
        return Number(kind, None, True)
    if all(value.type == numbers[0].type for value in numbers):
        kind = numbers[0].type
    made_of = [walk._converted(value, kind, at) for value in numbers]
    terms_of = [walk._observed(value, at) for value in made_of if isinstance(value, Number)]
    data = any(value.data for value in numbers)

    def less(a: terms.Term, b: terms.Term) -> terms.Term:
        return terms.chosen(terms.at_most(a, b), a, b)

    def more(a: terms.Term, b: terms.Term) -> terms.Term:
        return terms.chosen(terms.at_most(a, b), b, a)

    term = less(*terms_of) if name == "min" else more(*terms_of) if name == "max" else \
        less(more(terms_of[0], terms_of[1]), terms_of[2])
    assert isinstance(kind, Int)
    return Number(kind, term, data)


def _vector_access(walk: "Any", word: str, lanes: int, arguments: "List[Node]", at: Token) -> "Value":
    """Walk vloadN(n, p) or vstoreN(x, n, p), which access N elements from element n * N on."""
    values = [walk._value(argument) for argument in arguments]
    place, index = values[-1], values[-2]
    element = walk._first(place).to
    if not isinstance(element, (Int, Float)) or not isinstance(index, Number):
        raise Unknown(f"v{word} of {element}", at)
    kind = Vector(element, lanes)
    start = walk._moved(place, walk._observed(index, at).times(lanes), at)
    if word == "load":
        if lanes == 3:
            raise Unknown("vectors of 3", at)
        return walk._load(walk._cast_pointer(start, kind, at), kind, at)
    stored = values[0]
    assert isinstance(stored, (Lanes,))
    if stored.type.lanes != lanes:
        raise Unknown(f"vstore{lanes} of {stored.type.lanes} elements", at)
    walk._store(walk._cast_pointer(start, kind, at), kind, stored, at)
    return Opaque(types.Void())


def _half(walk: "Any", name: str, arguments: "List[Node]", at: Token) -> "Value":
    found = re.search(r"half(\d*)", name)
    lanes = int(found[1]) if found and found[1] else 1
    values = [walk._value(argument) for argument in arguments]
    place, index = values[-1], values[-2]
    if not isinstance(index, Number):
        raise Unknown(name, at)
    kind: "types.Type" = Vector(Float(16), lanes) if lanes > 1 else Float(16)
    start = walk._moved(place, walk._observed(index, at).times(lanes), at)
    if "load" in name:
        walk._touch(start, kind, False, at)
        return Lanes(Vector(Float(32), lanes)) if lanes > 1 else Number(Float(32), None, True)
    walk._touch(start, kind, True, at)
    return Opaque(types.Void())


def _copied(walk: "Any", arguments: "List[Node]", at: Token) -> "Value":
    """Record the read and the write of a memcpy; return its destination."""
    to, source, count = (walk._value(argument) for argument in arguments)
    _range(walk, source, count, False, at)
    _range(walk, to, count, True, at)
    return to


def _range(walk: "Any", place: "Value", count: "Value", write: bool, at: Token) -> None:
    if isinstance(place, Address) and place.memory is None and place.cell is not None:
        if isinstance(count, Number) and count.term is not None and count.term.is_constant and \
                count.term.constant <= size(place.cell.type):
            if write:
                walk._set(place.cell, walk._fresh(place.cell.type, True))
            return
        raise Unknown("memcpy beyond a variable", at)
    if not isinstance(count, Number) or count.term is None:
        raise Unknown("memcpy of an open number", at)
    first = walk._first(place)
    bytes_of = walk._observed(count, at)
    if bytes_of.is_constant:
        if write and first.memory is not None:
            walk._spoil(first.memory)
        if bytes_of.constant:
            unit = first.unit
            if bytes_of.constant % unit:
                unit = 1
            element = Int(8 * unit, False) if unit in (1, 2, 4, 8) else Int(8, False)
            kind = types.Array(element, bytes_of.constant // size(element))
            walk._touch(walk._cast_pointer(place, kind, at), kind, write, at)
        return
    # The number of bytes is not a constant, so one access stands for all copied units. `step` is a variable: the number
    # of the unit.
    unit = min(first.unit, 8)
    lo, hi = bounds(bytes_of)
    step = terms.variable("byte", 0, max(0, hi // unit - (hi % unit == 0)), True)
    if write and first.memory is not None:
        walk._spoil(first.memory)
    with walk._under(terms.less(step.times(unit), bytes_of)):
        element = Int(8 * unit, False) if unit in (1, 2, 4, 8) else Int(8, False)
        walk._touch(walk._moved(walk._cast_pointer(place, element, at), step, at), element, write, at)
    walk._oblige(bytes_of - terms.quotient(bytes_of, unit).times(unit), 0, 0, at)


def _atomic(walk: "Any", arguments: "List[Node]", at: Token) -> "Value":
    place = walk._value(arguments[0])
    for argument in arguments[1:]:
        walk._value(argument)
    kind = walk._first(place).to
    walk._touch(place, kind, True, at, True)
    first = walk._first(place)
    if first.memory is not None:
        walk._spoil(first.memory)
    return walk._fresh(kind, True)

