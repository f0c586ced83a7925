"""Ops that move elements."""

from __future__ import annotations

from dataclasses import replace
from typing import List

from gen.hlo import Instruction
from gen.reference.elements import convert_value
from gen.reference.elementwise import elementwise
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of, kept_as
from gen.reference.loops import (
    affine,
    indices_of,
    is_row_major,
    loops_over,
    place_of,
    position_of,
    room_of,
    row_major_position,
    strides_of,
)
from gen.reference.types import bits_of, FLOATS, key_limits, load, NARROW
from gen.reference.values import Array, Scalar


def iota(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    d = i.attributes["iota_dimension"]
    small = {"f16": 2048, "bf16": 256}.get(i.shape.dtype, 0)
    excess = e.options.excess_precision and 0 < small < i.shape.dims[d]
    out = e.array(i.name, i.shape, not excess)
    indices = indices_of(out.dims)
    at = position_of(indices, strides_of(out.dims))
    v = convert_value("s64", out.dtype, indices[d])
    lines = [f"v_{out.name}[{at}] = {v};"]
    if not out.exact:
        index = f"(double)(float){indices[d]}"
        lines += ["{", f"  const range r = {kept_as(f'range_of({index}, {index})', out.dtype, f'v_{out.name}[{at}]')};"]
        lines += ["  " + line for line in e.put_interval(out, at, "r")] + ["}"]
    e.step(e.title(i), loops_over(out.dims, lines), [out], [])
    return out


def from_index(e: Emitter, i: Instruction, x: List[Array], out: Array, of: List[str]) -> Array:
    """Each element is the operand's at the index `of`, in the names of the result's indices."""
    at = position_of(indices_of(out.dims), strides_of(out.dims))
    lines = e.move(out, at, x[0], position_of(of, strides_of(x[0].dims)))
    e.step(e.title(i), loops_over(out.dims, lines), [out], x)
    return out


def broadcast(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x)
    indices = indices_of(out.dims)
    of = [indices[d] for d in i.attributes.get("dimensions", ())]
    return from_index(e, i, x, out, of)


def transpose(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x)
    indices = indices_of(out.dims)
    of = ["0"] * len(out.dims)
    for d, source in enumerate(i.attributes["dimensions"]):
        of[source] = indices[d]
    return from_index(e, i, x, out, of)


def reshape(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x)  # both are row-major here
    e.step(e.title(i), e.copy_all(out, x[0]), [out], x)
    return out


def bitcast(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    if i.shape.dtype == "pred" and x[0].dtype != "pred":    # a byte that is not zero is true
        shape = replace(i.shape, dtype="u8", text=i.shape.text.replace("pred", "u8", 1))
        byte = replace(i, name=f"{i.name}_bytes", shape=shape, users=[])
        return elementwise(e, replace(i, opcode="convert", operands=[byte], users=[]), [bitcast(e, byte, x)])
    out, of, shape = e.moved(i, x), x[0], i.operands[0].shape
    if not of.bits and out.dtype != of.dtype:
        out.exact, out.bits = not e.options.intervals, True
    in_order = i.opcode == "bitcast-convert" or (is_row_major(i.shape) and is_row_major(shape))
    if bits_of(out.dtype) != bits_of(of.dtype):
        return same_stream(e, i, out, of)
    if in_order and (out.exact or out.dtype == of.dtype) and (out.dtype == of.dtype or bits_of(out.dtype) >= 8):
        lines = e.copy_all(out, of)
    elif shape.tiled or i.shape.tiled:
        memory, indices, to = Array(e.unique(i.name), of.dtype, (room_of(shape),),
                                    of.exact), indices_of(of.dims), indices_of(out.dims)
        memory.bits = of.bits
        lines = loops_over(of.dims, e.move(memory, place_of(shape, indices), of,
                                           position_of(indices, strides_of(of.dims))))
        e.step(f"{i.operands[0].name} as {shape.text} has it in memory", lines, [memory], x)
        lines, x = loops_over(out.dims, same_bits(e, out, position_of(to, strides_of(out.dims)), memory,
                                                  place_of(i.shape, to))), [memory]
    else:
        to_at, of_at = ["i"] * 2
        if not in_order:
            to_at, of_at = row_major_position(i.shape), row_major_position(shape)
        lines = loops_over((out.count,), same_bits(e, out, to_at, of, of_at))
    e.step(e.title(i), lines, [out], x)
    return out


def same_stream(e: Emitter, i: Instruction, out: Array, of: Array) -> Array:
    """Between types of different widths: bit k of all elements, the first one's low bits first, in row-major order (a
    bitcast: in that of memory), stays bit k."""
    shapes, source, target = (i.operands[0].shape, i.shape), of, out
    rows = [i.opcode == "bitcast-convert" or is_row_major(shape) for shape in shapes]
    if not rows[0]:
        source = Array(e.unique(i.name), of.dtype, (of.count,), of.exact, bits=of.bits)
        lines = loops_over(of.dims, e.move(source, place_of(shapes[0], indices_of(of.dims)), of,
                                           position_of(indices_of(of.dims), strides_of(of.dims))))
        e.step(f"{i.operands[0].name} as {shapes[0].text} has it in memory", lines, [source], [of])
    if not rows[1]:
        target = Array(e.unique(i.name), out.dtype, (out.count,), out.exact, bits=out.bits)
    have, want = bits_of(of.dtype), bits_of(out.dtype)
    lines = ["uint64_t bits = 0;"]
    x = e.element(source, "k")
    known = f"{'range' if of.dtype in FLOATS else 'irange'}_is_point({interval_of(x)})"
    if not of.bits:
        known += f" && {load(of.dtype, x.v)} == {load(of.dtype, x.v)}"
    lines += (
        []
        if out.exact
        else [
            f"int known = 1;\nfor (int64_t k = i * {want} / {have}; k <= (i * {want} + {want - 1}) / {have}; ++k) known &= {known};"
        ]
    )
    lines += [f"for (int b = 0; b < {want}; ++b) {{", "  uint64_t from = 0;",
              f"  memcpy(&from, &v_{source.name}[(i * {want} + b) / {have}], sizeof v_{source.name}[0]);",
              f"  bits |= (from >> (i * {want} + b) % {have} & 1) << b;", "}"]
    lines += [f"v_{target.name}[i] = {target.dtype}_wrap(bits);"] if target.dtype in NARROW else \
        [f"memcpy(&v_{target.name}[i], &bits, sizeof v_{target.name}[0]);"]
    if not out.exact:
        point = interval_of(Scalar(f"v_{target.name}[i]", out.dtype))
        every, kind = ("range_all()",
                       "range") if out.dtype in FLOATS else (f"irange_of({', '.join(key_limits(out.dtype))})", "irange")
        lines += [f"const {kind} r = known ? {point} : {every};", *e.put_interval(target, "i", "r")]
    body = [part for line in lines for part in line.split("\n")]
    e.step(e.title(i), [f"for (int64_t i = 0; i < {out.count}; ++i) {{", *("  " + line for line in body), "}"],
           [target], [source])
    if target is not out:
        to = indices_of(out.dims)
        e.step(f"{i.name} out of memory",
               loops_over(out.dims, e.move(out, position_of(to, strides_of(out.dims)), target, place_of(i.shape, to))),
               [out], [target])
    return out


def same_bits(e: Emitter, out: Array, to_at: str, of: Array, of_at: str) -> List[str]:
    if out.count == 1:
        to_at = of_at = "0"
    if out.dtype == of.dtype:
        return e.move(out, to_at, of, of_at)
    lines = [f"memcpy(&v_{out.name}[{to_at}], &v_{of.name}[{of_at}], sizeof v_{out.name}[0]);"]
    if bits_of(out.dtype) < 8:
        low = f"v_{of.name}[{of_at}] & {(1 << bits_of(out.dtype)) - 1}"
        lines = [
            f"v_{out.name}[{to_at}] = {f'{out.dtype}_wrap((uint64_t)({low}))' if out.dtype in NARROW else f'(uint8_t)({low})'};"
        ]
    if out.exact:
        return lines
    x = e.element(of, of_at)
    known = f"{'range' if of.dtype in FLOATS else 'irange'}_is_point({interval_of(x)})"
    if not of.bits:
        known += f" && {load(of.dtype, x.v)} == {load(of.dtype, x.v)}"
    v = f"v_{out.name}[{to_at}]"
    point = interval_of(Scalar(v, out.dtype))
    every = "range_all()" if out.dtype in FLOATS else f"irange_of({', '.join(key_limits(out.dtype))})"
    kind = "range" if out.dtype in FLOATS else "irange"
    return lines + ["{", f"  const {kind} r = {known} ? {point} : {every};"] + \
        ["  " + line for line in e.put_interval(out, to_at, "r")] + ["}"]


def sliced(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x)
    indices = indices_of(out.dims)
    of = [affine(index, stride, start) for index, (start, _, stride) in zip(indices, i.attributes["slice"])]
    return from_index(e, i, x, out, of)


def reverse(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out = e.moved(i, x)
    indices = indices_of(out.dims)
    of = [affine(index, -1, out.dims[d] - 1) if d in i.attributes["dimensions"] else index
          for d, index in enumerate(indices)]
    return from_index(e, i, x, out, of)


def pad(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, of = e.moved(i, x), x[0]
    lines = loops_over((out.count,), e.move(out, "0" if out.count == 1 else "i", x[1], "0"))
    indices = indices_of(of.dims)
    to, tests = [], []
    for d, (low, high, interior) in enumerate(i.attributes["padding"]):
        last = low + (of.dims[d] - 1) * (interior + 1)
        to.append(affine(indices[d], interior + 1, low))
        tests += [f"{to[d]} >= 0"] if low < 0 else []
        tests += [f"{to[d]} < {out.dims[d]}"] if last >= out.dims[d] else []
    body = e.move(out, position_of(to, strides_of(out.dims)), of, position_of(indices, strides_of(of.dims)))
    if tests:
        body = [f"if ({' && '.join(tests)}) {{"] + ["  " + line for line in body] + ["}"]
    e.step(e.title(i), lines + loops_over(of.dims, body), [out], x)
    return out


def concatenate(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, d, lines, offset = e.moved(i, x), i.attributes["dimensions"][0], [], 0
    for of in x:
        indices = indices_of(of.dims)
        to = list(indices)
        to[d] = affine(to[d], 1, offset)
        lines += loops_over(of.dims, e.move(out, position_of(to, strides_of(out.dims)), of,
                                            position_of(indices, strides_of(of.dims))))
        offset += of.dims[d]
    e.step(e.title(i), lines, [out], x)
    return out
