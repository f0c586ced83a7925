"""The two files of a fusion, and what is known of them without compiling: which results have no bit to spare, where
nothing is known."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional

from gen.hlo import Computation
from gen.reference.computation import emit_all
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of
from gen.reference.loops import (
    indices_of,
    is_row_major,
    loops_in_order,
    loops_over,
    place_of,
    position_of,
    room_of,
    strides_of,
)
from gen.reference.assembly import assemble, needed_steps
from gen.reference.types import as_double, FLOATS, key_of, PACKED, SMALL, STORAGE
from gen.reference.values import Array, Options, Step


def reference(computation: Computation, name: str) -> str:
    """C11 text of `int NAME_ref(const void *const *params, void *const *results)`; ValueError for what it has no loop
    for."""
    emitter, parts, arrays = emit_all(computation, Options())
    given: Dict[str, str] = {}
    for at_array, ((number, shape, half), array) in enumerate(zip(parts, arrays)):
        kind = STORAGE[array.dtype]
        if array.dtype in PACKED:
            out = Array(emitter.unique(f"result_{number}"), array.dtype, array.dims, True, "given")
            given[out.name] = f"void *const v_{out.name} = results[{number}];"
            order = list(range(len(array.dims))) if not shape.minor_to_major else list(
                reversed(shape.minor_to_major))
            indices = indices_of(array.dims)
            to, of = position_of(indices,
                                 strides_of(array.dims,
                                            shape.minor_to_major)), position_of(indices, strides_of(array.dims))
            # in memory order: a byte's first element clears it
            line = f"{array.dtype}_pack(v_{out.name}, {to}, v_{array.name}[{of}]);"
            emitter.step(f"result {number}: {shape.text}, packed", loops_in_order(array.dims, order, [line]), [out],
                         [array])
            arrays[at_array] = out
            continue
        if array.home == "heap" and is_row_major(shape) and half is None:
            array.home = "result"  # written in place
            given[array.name] = f"{kind} *const v_{array.name} = results[{number}];"
            continue
        out = Array(emitter.unique(f"result_{number}"), array.dtype, array.dims, True, "given")
        given[out.name] = f"{kind} *const v_{out.name} = results[{number}];"
        indices = indices_of(array.dims)
        to = place_of(shape, indices) if half is None else f"({place_of(shape, indices)}) * 2 + {half}"
        line = f"v_{out.name}[{to}] = v_{array.name}[{position_of(indices, strides_of(array.dims))}];"
        clear = [f"memset(v_{out.name}, 0, {room_of(shape)} * sizeof v_{out.name}[0]);"] if shape.tiled else []
        title = f"result {number}: {shape.text}" + ", its padding 0" * shape.tiled
        emitter.step(title, clear + loops_over(array.dims, [line]), [out], [array])
        arrays[at_array] = out
    steps = needed_steps(emitter.steps, arrays)
    text = "\n".join(line for step in steps for line in step.lines)
    unused = ([] if uses_params(emitter, steps, text) else ["params"]) + ([] if arrays else ["results"])
    signature = f"int {name}_ref(const void *const *params, void *const *results)"
    return assemble(f"{name}_ref: the scalar reference, one loop nest an HLO op.", signature, emitter, steps, given,
                    unused)


def bound(computation: Computation, name: str, *, excess_precision: bool = False, reassociate: bool = True,
          flushes: bool = False, ulps: Optional[Mapping[str, float]] = None) -> str:
    """C11 text of `int NAME_bound(const void *const *params, double *const *bounds)`.

    excess_precision: kernels may keep a float between ops on f16 and bf16. reassociate: they may add and multiply the
    elements of a reduce in any order. ulps: other budgets than ULPS, by opcode (divide 2.5 and sqrt 3 for OpenCL
    devices that do not promise correct rounding; for f16 and bf16 in ulps of float). flushes: sums of f32 of a scatter
    may lose subnormals.
    """
    options = Options(True, excess_precision, reassociate, flushes, dict(ulps or {}))
    emitter, parts, arrays = emit_all(computation, options)
    outs: List[Array] = []
    given: Dict[str, str] = {}
    for (number, shape, half), array in zip(parts, arrays):
        out = Array(emitter.unique(f"bounds_{number}"), "f64", array.dims, True, "given")
        given[out.name] = f"double *const v_{out.name} = bounds[{number}];"
        indices = indices_of(array.dims)
        uses: List[Array] = []
        if array.exact:
            title = f"result {number}: {shape.text}, exact"
            count = room_of(shape) if shape.tiled else array.count
            place = "0" if count == 1 else "i"
            place = place if half is None else f"{place} * 2 + {half}"
            lines = loops_over((count,), [f"v_{out.name}[{place}] = 0.0;"])
        else:
            title, uses = f"result {number}: {shape.text}", [array]
            x = emitter.element(array, position_of(indices, strides_of(array.dims)))
            interval = interval_of(x)
            if array.dtype in SMALL and excess_precision:  # a result is stored rounded
                interval = f"range_round_{array.dtype}({interval})"
            text = f"range_bound({interval}, {as_double(array.dtype, x.v)})" if array.dtype in FLOATS else \
                f"irange_bound({interval}, {key_of(array.dtype, x.v)})"
            lines = [f"for (int64_t i = 0; i < {room_of(shape)}; ++i) v_{out.name}[i] = 0.0;"] if shape.tiled else []
            place = place_of(shape, indices) if half is None else f"({place_of(shape, indices)}) * 2 + {half}"
            lines += loops_over(array.dims, [f"v_{out.name}[{place}] = {text};"])
        emitter.step(title, lines, [out], uses)
        outs.append(out)
    steps = needed_steps(emitter.steps, outs)
    text = "\n".join(line for step in steps for line in step.lines)
    unused = ([] if uses_params(emitter, steps, text) else ["params"]) + ([] if outs else ["bounds"])
    what = "exact everywhere" if all(a.exact for a in arrays) else "what a right kernel may differ by"
    signature = f"int {name}_bound(const void *const *params, double *const *bounds)"
    return assemble(f"{name}_bound: {what}.", signature, emitter, steps, given, unused)


def bitwise(computation: Computation, excess_precision: bool = False) -> List[bool]:
    """For each flattened result, whether kernels must give the reference's very bits, those of NaNs and zeros too:
    integers and pred, and floats that are only moved."""
    _, parts, arrays = emit_all(computation, Options(True, excess_precision))
    return [all(a.bits and a.exact for part, a in zip(parts, arrays) if part.number == number)
            for number in range(len({part.number for part in parts}))]


def unknown(computation: Computation, excess_precision: bool = False) -> List[str]:
    """Where `bound` allows any value, as clauses of a sentence: an order, an index or a choice that is not followed."""
    return list(dict.fromkeys(emit_all(computation, Options(True, excess_precision)).emitter.unknown))


def uses_params(emitter: Emitter, steps: List[Step], text: str) -> bool:
    used = {a.name for step in steps for a in step.uses}
    return "params[" in text or any(name in used for name in emitter.parameters)
