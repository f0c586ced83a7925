"""Ops that move elements of any type."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Sequence

from gen.statements import Assign, Call, Statement
from gen.hlo import Instruction
from gen.reference.elements import convert_value, cut
from gen.reference.emitter import Emitter, title
from gen.reference.library import statements
from gen.reference.loops import (affine, guarded, Index, indices_of, is_row_major, loops_over, place_of, position_of,
                                 room_of, strides_of)
from gen.reference.types import bits_of, NARROW
from gen.reference.values import Array


def iota(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, indices = e.result(i), indices_of(i.shape.dims)
    value = convert_value(e.call, "s64", out.dtype, indices[i.attributes["iota_dimension"]])
    line = Assign(f"{out}[{position_of(indices, strides_of(out.dims))}]", value)
    e.step(title(i), loops_over(out.dims, [line]), [out], [])
    return out


def from_index(e: Emitter, i: Instruction, x: Array, of: List[Index]) -> Array:
    """Add an op that moves elements. Each element of the result is the operand's element at index `of`, which contains
    the variables of the loops over the result.
    """
    out = e.moved(i, x)
    to = position_of(indices_of(out.dims), strides_of(out.dims))
    line = Assign(f"{out}[{to}]", f"{x}[{position_of(of, strides_of(x.dims))}]")
    e.step(title(i), loops_over(out.dims, [line]), [out], [x])
    return out


def broadcast(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    indices = indices_of(i.shape.dims)
    return from_index(e, i, x[0], [indices[d] for d in i.attributes.get("dimensions", ())])


def transpose(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, indices = [*indices_of(i.shape.dims)], indices_of(i.shape.dims)
    for d, source in enumerate(i.attributes["dimensions"]):
        of[source] = indices[d]
    return from_index(e, i, x[0], of)


def sliced(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    limits = zip(indices_of(i.shape.dims), i.attributes["slice"])
    return from_index(e, i, x[0], [affine(index, stride, start) for index, (start, _, stride) in limits])


def reverse(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    dims = i.shape.dims
    return from_index(e, i, x[0], [affine(index, -1, dims[d] - 1) if d in i.attributes["dimensions"] else index
                                   for d, index in enumerate(indices_of(dims))])


def reshape(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x[0])  # both arrays are row-major in the reference
    e.step(title(i), copied(out, x[0]), [out], x)
    return out


def copied(to: Array, of: Array) -> List[Statement]:
    """Return statements that copy all bytes of an array."""
    return [Call("memcpy", str(to), str(of), f"{to.count} * sizeof({of.kind})") if to.count else f"(void){to}, (void){of};"]


def bitcast(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    """Add a bitcast. All elements together form a sequence of bits, which stays the same. For bitcast, the sequence is
    in the order of memory, by the layouts of operand and result. For bitcast-convert, it is in row-major order.
    """
    of, operand = x[0], i.operands[0].shape
    if i.shape.dtype == "pred" and operand.dtype != "pred":    # a byte other than 0 is true
        byte = bitcast(e, replace(i, name=f"{i.name}_bytes", shape=replace(i.shape, dtype="u8"), users=[]), x)
        out = e.result(i)
        value = convert_value(e.call, "u8", "pred", f"{byte}[{byte.all()}]")
        e.step(title(i), out.each(value), [out], [byte])
        return out
    by_memory = i.opcode == "bitcast"
    if by_memory and not is_row_major(operand):
        memory, indices = e.array(i.name, of.dtype, (room_of(operand),)), indices_of(of.dims)
        line = Assign(f"{memory}[{place_of(operand, indices)}]", f"{of}[{position_of(indices, strides_of(of.dims))}]")
        e.step(f"{i.operands[0].name} as {operand.text} has it in memory", loops_over(of.dims, [line]), [memory], [of])
        of = memory
    in_order = not by_memory or is_row_major(i.shape)
    if i.shape.dtype != operand.dtype or in_order:
        dtype = i.shape.dtype if i.shape.dtype != operand.dtype else of.dtype
        count = of.count * bits_of(operand.dtype) // bits_of(i.shape.dtype)
        out = e.array(i.name, dtype, i.shape.dims if in_order else (count,))
        e.step(title(i), same_bits(e, out, of), [out], [of])
        of = out
    if in_order:
        return of
    out, indices = e.moved(i, of), indices_of(i.shape.dims)
    line = Assign(f"{out}[{position_of(indices, strides_of(out.dims))}]", f"{of}[{place_of(i.shape, indices)}]")
    e.step(f"{i.name} as {i.shape.text} has it in memory", loops_over(out.dims, [line]), [out], [of])
    return out


def same_bits(e: Emitter, out: Array, of: Array) -> Sequence[Statement]:
    """Return statements that copy a sequence of bits to elements of another type. The sequence begins with the low bits
    of the first element.
    """
    if out.dtype == of.dtype or bits_of(out.dtype) == bits_of(of.dtype) >= 8:
        return copied(out, of)
    store = Assign(f"{out}[i]", cut(e.call, out.dtype, "bits")) if out.dtype in NARROW else \
        Call("memcpy", f"&{out}[i]", "&bits", f"sizeof {out}[0]")
    return statements("same_bits", have=bits_of(of.dtype), want=bits_of(out.dtype), count=out.count, of=str(of),
                      store=[store])


def pad(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, value = x
    out = e.moved(i, of)
    lines = out.each(f"{value}[0]")
    indices = indices_of(of.dims)
    to, tests = [], []
    for d, (low, high, interior) in enumerate(i.attributes["padding"]):
        last = low + (of.dims[d] - 1) * (interior + 1)
        to.append(affine(indices[d], interior + 1, low))
        tests += [f"{to[d]} >= 0"] if low < 0 else []
        tests += [f"{to[d]} < {out.dims[d]}"] if last >= out.dims[d] else []
    body = [Assign(f"{out}[{position_of(to, strides_of(out.dims))}]", f"{of}[{position_of(indices, strides_of(of.dims))}]")]
    e.step(title(i), lines + loops_over(of.dims, guarded([], tests, body)), [out], x)
    return out


def concatenate(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, d, lines, offset = e.moved(i, x[0]), i.attributes["dimensions"][0], [], 0
    for of in x:
        indices = indices_of(of.dims)
        to = list(indices)
        to[d] = affine(to[d], 1, offset)
        at = position_of(indices, strides_of(of.dims))
        lines += loops_over(of.dims, [Assign(f"{out}[{position_of(to, strides_of(out.dims))}]", f"{of}[{at}]")])
        offset += of.dims[d]
    e.step(title(i), lines, [out], x)
    return out
