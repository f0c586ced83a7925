"""Scatter: updates combined into elements at indices that are read."""

from __future__ import annotations

from typing import List, Optional, Sequence

from gen.hlo import Instruction, array_shape, unique_indices, unshared_places, zero_sign_matters
from gen.reference.combiners import combine, combine_simple, combiner_parts, introduces, through
from gen.reference.emitter import Emitter
from gen.reference.indexed import anything, unsure_index
from gen.reference.intervals import interval_of, rounded_to
from gen.reference.loops import indices_of, loops_in_order, loops_over, position_of, strides_of
from gen.reference.types import FLOATS, LARGEST, LEAST_NORMAL, SIGNIFICANT, TINY
from gen.reference.values import Array, Scalar, Value


def scatter(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Rows of the indices one after another, whole windows of the updates. Kernels may take updates of an element in
    any order: a sum is bounded as a reduction's, what no order changes is exact, and anything may be where other
    updates meet."""
    a, half = i.attributes, len(x) // 2
    operands, table_, updates, parts = x[:half], x[half], x[half + 1:], combiner_parts(i.attributes["to_apply"], half)
    dims, of, vector = updates[0].dims, operands[0].dims, a["index_vector_dim"]
    names = [i.name if half == 1 else f"{i.name}_{k}" for k in range(half)]
    ways = [scatter_way(e, i, parts[k] if parts else None, [operands[k], updates[k]] if parts
                        else [*operands, *updates]) for k in range(half)]
    outs = [e.array(name, shape, way == "exact") for name, shape, way in zip(names, i.shape.leaves(), ways)]
    takes = a["to_apply"].root.opcode == "parameter" or through(a["to_apply"].root).opcode == "parameter"
    for k, out in enumerate(outs):
        out.bits = out.dtype not in FLOATS or (takes and operands[k].bits and updates[k].bits)
    met = e.array(f"{i.name}_updates", array_shape("s32", tuple(i.shape.leaves()[0].dims)), True)
    masses = [e.array(f"{name}_mass", array_shape("f64", tuple(shape.dims)), True) if way == "sum" else None
              for name, shape, way in zip(names, i.shape.leaves(), ways)]
    lines, counted = [], any(way in ("sum", "met") for way in ways)
    for k, (out, mass) in enumerate(zip(outs, masses)):
        copied = e.move(out, "0" if out.count == 1 else "i", operands[k], "0" if out.count == 1 else "i")
        at = "0" if out.count == 1 else "i"
        if mass:
            mass.dtype = "range_sum"
            copied = copied[:1] + [f"v_{mass.name}[{at}] = (range_sum){{0.0, 0.0, 0.0, false, false, false, false}};",
                                   f"range_sum_add(&v_{mass.name}[{at}], {interval_of(e.element(operands[k], at))});"]
        lines += loops_over((out.count,), copied)
    if counted:
        lines += loops_over((met.count,), [f"v_{met.name}[{'0' if met.count == 1 else 'i'}] = 0;"])
    indices = indices_of(dims)
    window = iter(indices[d] for d in a["update_window_dims"])
    sizes = iter(dims[d] for d in a["update_window_dims"])
    row = iter(index for d, index in enumerate(indices) if d not in a["update_window_dims"])
    rows = ["" if d == vector else next(row) for d in range(len(table_.dims))]
    batching = dict(zip(a.get("input_batching_dims", ()), a.get("scatter_indices_batching_dims", ())))
    head, inside, to, read = [], [], [], []
    for d, size in enumerate(of):
        terms, width = [], 1
        if d in batching:
            terms.append(rows[batching[d]])
        elif d not in a["inserted_window_dims"]:
            terms.append(next(window))
            width = next(sizes)
        if d in a["scatter_dims_to_operand_dims"]:
            component = str(a["scatter_dims_to_operand_dims"].index(d))
            at = position_of([component if k == vector else index for k, index in enumerate(rows)],
                             strides_of(table_.dims))
            head.append(f"const int64_t start{d} = (int64_t)v_{table_.name}[{at}];")
            inside.append(f"start{d} >= 0 && start{d} <= {size - width}")
            terms.append(f"start{d}")
            read.append((table_, at))
        to.append(" + ".join(term for term in terms if term != "0") or "0")
    body = [f"const int64_t at = {position_of(to, strides_of(of))};"]
    from_, sums, elements = position_of(indices, strides_of(dims)), [], []
    for k, (out, way) in enumerate(zip(outs, ways)):
        element = e.element(updates[k], from_)
        kind, ranged = "range" if out.dtype in FLOATS else "irange", way in ("ends", "met") and not out.exact
        if ranged:
            body.append(f"{kind} ra{k} = {interval_of(e.element(out, 'at'))};")
        if way == "sum" and not out.exact:
            body.append(f"range_sum_add(&v_{masses[k].name}[at], {interval_of(element)});")   # type: ignore[union-attr]
        sums.append(Scalar(f"v_{out.name}[at]", out.dtype, f"ra{k}" if ranged else None))
        elements.append(element if ranged else Scalar(element.v, element.dtype))
    if counted:
        body.append(f"++v_{met.name}[at];")
    if parts:
        for k, part in enumerate(parts):
            body += combine_simple(e, part, sums[k], elements[k], k)
    else:
        body += combine(e, a["to_apply"], sums, elements)
    for k, (out, way) in enumerate(zip(outs, ways)):
        if sums[k].interval is not None:
            put = e.put_interval(out, "at", f"ra{k}")
            body += (
                [
                    f"if (v_{met.name}[at] > 1) {{",
                    *("  " + line for line in anything(e, out, "at")),
                    "} else {",
                    *("  " + line for line in put),
                    "}",
                ]
                if way == "met"
                else put
            )
    if not any("[at]" in line for line in body[1:]):
        body = ["(void)0;"]
    body = [*head, f"if ({' && '.join(inside)}) {{", *("  " + line for line in body), "}"] if inside else [*head, *body]
    in_order = [d for d in range(len(dims)) if d not in a["update_window_dims"]] + list(a["update_window_dims"])
    if all(" <= -" not in condition for condition in inside):     # else no window fits
        lines += ["{", *("  " + line for line in loops_in_order(dims, in_order, body)), "}"]
    for k, (out, mass) in enumerate(zip(outs, masses)):
        if mass and not out.exact:
            at = "0" if out.count == 1 else "i"
            # of what is there and what is added
            lost = f"2 * {LEAST_NORMAL['f32']}" if out.dtype == "f32" and e.options.flushes else "0.0"
            total = f"range_sum_result(&v_{mass.name}[{at}], v_{met.name}[{at}], 0x1p-{SIGNIFICANT[out.dtype]}, {LARGEST[out.dtype]}, {lost})"
            lines += loops_over((out.count,),
                                [f"const range r = {rounded_to(total, out.dtype, f'v_{out.name}[{at}]', e.options)};",
                                 *e.put_interval(out, at, "r")])
    if "met" in ways:
        e.unknown.append(f"updates of one element meet in {i.name}")
    if e.options.intervals and not table_.exact:
        e.unknown.append(f"rounding decides an index of {i.name}")
        lines += ["{", "  bool unsure = false;", *("  " + line for line in loops_over((table_.count,), [
            f"unsure = unsure || {unsure_index([(table_, '0' if table_.count == 1 else 'i')])};"]))]
        for out in outs:
            lines += ["  if (unsure) {",
                      *("    " + line
                        for line in loops_over((out.count,), anything(e, out, "0" if out.count == 1 else "i"))), "  }"]
        lines.append("}")
    lines += [f"(void)v_{operand.name};" for operand in x if not any(f"v_{operand.name}[" in line for line in lines)]
    e.step(e.title(i), lines, [*outs, *([met] if counted else []), *(mass for mass in masses if mass)], x)
    return outs[0] if i.shape.kind == "array" else list(outs)


def scatter_way(e: Emitter, i: Instruction, part: Optional[Instruction], of: Sequence[Array]) -> str:
    """How intervals go through a scatter: exact, by their ends, as a sum in any order, or met (anything where two
    updates meet)."""
    if not e.options.intervals:
        return "exact"
    exact, once = all(operand.exact for operand in of), unshared_places(i) is not None
    if unique_indices(i) and not once:      # what is drawn may break the promise that kernels rely on
        return "met"
    if part is not None:
        dtype = part.shape.dtype
        if dtype not in FLOATS:
            return "exact" if exact else "ends"
        if part.opcode == "add" and dtype not in TINY:
            return "sum"
        if part.opcode in ("maximum", "minimum") and not zero_sign_matters(i):
            return "exact" if exact else "ends"
        return "met"
    err = introduces(e, i.attributes["to_apply"], [p.shape.dtype for p in i.attributes["to_apply"].parameters])
    return "exact" if once and exact and not err else "met"
