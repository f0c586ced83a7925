"""Select-and-scatter: each source element goes to the element of its window that the comparison prefers."""

from __future__ import annotations

import math
from typing import List

from gen.hlo import Instruction
from gen.reference.combiners import introduces
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of
from gen.reference.loops import loops_in_window, position_of, strides_of, window_index
from gen.reference.types import FLOATS, key_limits, STORAGE
from gen.reference.values import Array, Scalar

MOST_COMPARED = 256     # elements of a window of select-and-scatter whose choice is followed


def select_and_scatter(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, source, init = x
    window, select, scatter = (i.attributes[key] for key in ("window", "select", "scatter"))
    size = math.prod(window.size)
    vague = e.options.intervals and (not of.exact or introduces(e, select, [of.dtype] * 2))
    unknown = vague and size > MOST_COMPARED
    exact = not e.options.intervals or (not vague and source.exact and init.exact
                                        and not introduces(e, scatter, [of.dtype] * 2))
    out = e.array(i.name, i.shape, exact)
    out.bits = out.dtype not in FLOATS
    kind = "range" if out.dtype in FLOATS else "irange"
    every = "range_all()" if out.dtype in FLOATS else f"irange_of({', '.join(key_limits(out.dtype))})"
    first = e.move(out, "i", init, "0")
    if unknown:
        e.unknown.append(f"{i.name} compares more than {MOST_COMPARED} elements")
        first = [f"const {kind} r = {every};", f"v_{out.name}[i] = v_{init.name}[0];", *e.put_interval(out, "i", "r")]
    lines = [f"for (int64_t i = 0; i < {out.count}; ++i) {{", *("  " + line for line in first), "}"]
    places, element = [f"i{d}" for d in range(len(of.dims))], [f"r{d}" for d in range(len(of.dims))]
    before, tests, at = window_index(window, places, element, of.dims)
    inner = [f"const int64_t at = {position_of(at, strides_of(of.dims))};",
             f"const {STORAGE[of.dtype]} next = v_{of.name}[at];"]
    choice = e.inline(select, [Scalar("chosen", of.dtype), Scalar("next", of.dtype)], inner)[0]
    inner += [f"if (best < 0 || !{choice.v}) {{", "  best = at;", "  chosen = next;", "}"]
    body = ["int64_t best = -1;", f"{STORAGE[of.dtype]} chosen = 0;"]
    of_source = e.element(source, position_of(places, strides_of(source.dims)))
    if vague and not unknown:   # beside the best one all that may be
        body += [f"int64_t may[{size}], some = 0;"]
        choosing: List[str] = []
        choice = e.inline(select, [e.element(of, "may[k]"), e.element(of, "at")], choosing)[0]
        inner += ["int64_t left = 0;", "int takes = some == 0;", "for (int64_t k = 0; k < some; ++k) {",
                  *("  " + line for line in choosing), f"  const irange kept = {interval_of(choice)};",
                  f"  (void){choice.v};", "  if (kept.hi != 0) may[left++] = may[k];", "  takes |= kept.lo == 0;", "}",
                  "some = left;", "if (takes) may[some++] = at;"]
    body += loops_in_window(window.size, "r", before, tests, inner)
    put: List[str] = []
    there = e.element(out, "best")
    values = e.inline(scatter, [Scalar(x.v, x.dtype) for x in (of_source, there)] if vague else [of_source, there],
                    put)[0]
    put += [f"const {STORAGE[out.dtype]} v = {values.v};",
            *([f"(void){values.interval};"] if vague and values.interval else [])]
    if vague and not unknown:
        maybe: List[str] = []
        there = e.element(out, "may[k]")
        values = e.inline(scatter, [of_source, there], maybe)[0]
        maybe += [f"const {kind} now = {interval_of(values)};", f"(void){values.v};",
                  f"const {kind} r = some == 1 ? now : {kind}_hull({interval_of(there)}, now);"]
        put += ["for (int64_t k = 0; k < some; ++k) {",
                *("  " + line for line in maybe + e.put_interval(out, "may[k]", "r")), "}"]
    elif not exact:
        put += [f"const {kind} r = {every if unknown else interval_of(values)};", *e.put_interval(out, "best", "r")]
    body += ["if (best >= 0) {", *("  " + line for line in [*put, f"v_{out.name}[best] = v;"]), "}"]
    loop = ["{", *("  " + line for line in body), "}"]
    for d in reversed(range(len(of.dims))):
        loop = [f"for (int64_t i{d} = 0; i{d} < {source.dims[d]}; ++i{d}) {{", *("  " + line for line in loop), "}"]
    e.step(e.title(i), lines + loop, [out], x)
    return out
