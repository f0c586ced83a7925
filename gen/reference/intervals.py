"""What a right kernel may have in place of an element: C text of the interval of each elementwise op."""

from __future__ import annotations

from typing import Mapping, Sequence

from gen.reference.elements import FUNCTIONS, PRED, ROUND
from gen.reference.types import (
    as_double,
    bits_of,
    FLOATS,
    is_signed,
    key_limits,
    key_of,
    load,
    of_key,
    SIGNIFICANT,
    SMALL,
    TINY,
)
from gen.reference.ulps import LIBM_ULPS
from gen.reference.values import Options, Scalar


def interval_of(x: Scalar) -> str:
    """The interval of a value; of an exact one, the point."""
    if x.interval is not None:
        return x.interval
    if x.dtype in FLOATS:
        return f"range_of({as_double(x.dtype, x.v)}, {as_double(x.dtype, x.v)})"
    return f"irange_of({key_of(x.dtype, x.v)}, {key_of(x.dtype, x.v)})"


def own_error(opcode: str, attributes: Mapping[str, object], to: str, dtypes: Sequence[str], options: Options) -> bool:
    """Whether a right kernel may differ in this op though its operands are exact."""
    if to not in FLOATS:
        return False
    if opcode in FUNCTIONS:
        return True
    if opcode in ("divide", "sqrt") and options.budget(opcode) > 0.5:
        return True
    if not options.excess_precision or to not in SMALL:
        return False
    if opcode == "convert":
        return dtypes[0] != to and not (dtypes[0] not in FLOATS and bits_of(dtypes[0]) <= 8)
    return opcode in ("add", "subtract", "multiply", "divide", "sqrt")


def rounded_to(text: str, to: str, v: str, options: Options, ulps: float = 0.5) -> str:
    """The interval after rounding to a type (and widening before it), with the reference's value put in."""
    if ulps > 0.5:
        if to == "f64":
            text = f"range_widen_f64({text}, {ulps + LIBM_ULPS + 1:.10g})"
        else:
            text = f"range_widen_f32({text}, {ulps:.10g} + 0x1p-20)"
    if to in SMALL and options.excess_precision:
        text = f"range_kept_{to}({text})"
    elif to != "f64":
        text = f"range_round_{to}({text})"
    return kept_as(text, to, v)


def kept_as(text: str, to: str, v: str) -> str:
    """An interval that needs no rounding, with the reference's value put in."""
    return f"range_with({text}, {as_double(to, v)})"


def interval_of_op(opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[Scalar], v: str, same: bool,
           options: Options) -> str:
    """C text of the interval of an op; v is the reference's value, `same` says that both operands are one
    instruction."""
    dtype = x[-1].dtype
    r = [interval_of(s) for s in x]
    if opcode == "select":
        choose = "range_select" if to in FLOATS else "irange_select"
        return f"{x[0].v} ? {r[1]} : {r[2]}" if x[0].interval is None else f"{choose}({r[0]}, {r[1]}, {r[2]})"
    if opcode == "compare":
        return _compare_range(attributes, dtype, r, x, v, same)
    if opcode == "convert":
        return _convert_range(dtype, to, r[0], v, options)
    if opcode in ("copy", "bitcast", "real"):
        return r[0]
    if opcode == "imag":
        return "range_of(0, 0)"
    if opcode == "is-finite":
        return f"range_is_finite({r[0]})"
    if opcode == "clamp":
        r = [r[1], r[0], r[2]]
    return _float_range(opcode, attributes, to, r, v, same, options) if dtype in FLOATS else \
        _integer_range(opcode, to, r, v)


def _float_range(opcode: str, attributes: Mapping[str, object], to: str, r: Sequence[str], v: str, same: bool,
                 options: Options) -> str:
    if opcode == "multiply" and same:
        return rounded_to(f"range_square({r[0]})", to, v, options)
    if opcode in ("add", "subtract", "multiply"):
        return rounded_to(f"range_{opcode}({r[0]}, {r[1]})", to, v, options)
    if opcode == "divide":
        return rounded_to(f"range_divide({r[0]}, {r[1]})", to, v, options, options.budget(opcode))
    if opcode == "sqrt":
        return rounded_to(f"range_sqrt({r[0]})", to, v, options, options.budget(opcode))
    if opcode in ("maximum", "minimum", "remainder"):
        return kept_as(f"range_{opcode}({r[0]}, {r[1]})", to, v)
    if opcode == "clamp":
        return kept_as(f"range_minimum(range_maximum({r[0]}, {r[1]}), {r[2]})", to, v)
    if opcode in ("negate", "abs"):
        return kept_as(f"range_{opcode}({r[0]})", to, v)
    if opcode == "sign" or opcode in ROUND:
        return kept_as(f"range_{ROUND.get(opcode, 'sign')}({r[0]})", to, v)
    if opcode == "reduce-precision":
        widths = f"{attributes['exponent_bits']}, {attributes['mantissa_bits']}"
        return kept_as(f"range_reduce_precision_{to}({r[0]}, {widths})", to, v)
    name = opcode if opcode in ("sine", "cosine") else FUNCTIONS[opcode]
    return rounded_to(f"range_{name}({', '.join(r)})", to, v, options, max(0.6, options.budget(opcode)))


def _points(r: Sequence[str]) -> str:
    return " && ".join(f"irange_is_point({text})" for text in r)


def _integer_range(opcode: str, to: str, r: Sequence[str], v: str) -> str:
    least, most = key_limits(to)
    point, every = f"irange_of({key_of(to, v)}, {key_of(to, v)})", f"irange_of({least}, {most})"
    if opcode in ("maximum", "minimum"):
        return f"irange_{opcode}({r[0]}, {r[1]})"
    if opcode == "clamp":
        return f"irange_minimum(irange_maximum({r[0]}, {r[1]}), {r[2]})"
    if to == "pred" and opcode != "xor" and opcode != "subtract":
        if opcode == "not":
            return f"irange_not({r[0]})"
        return f"irange_{'maximum' if PRED[opcode] == '|' else 'minimum'}({r[0]}, {r[1]})"
    if bits_of(to) <= 32 and (to, opcode) != ("u32", "multiply"):
        sums = {"add": "irange_of({0}.lo + {1}.lo, {0}.hi + {1}.hi)",
                "subtract": "irange_of({0}.lo - {1}.hi, {0}.hi - {1}.lo)",
                "negate": "irange_of(-{0}.hi, -{0}.lo)", "multiply": "irange_multiply({0}, {1})"}
        if opcode in sums:  # exact in 64 bits; where the type would wrap, everything is possible
            return f"{_points(r)} ? {point} : irange_fit({sums[opcode].format(*r)}, {least}, {most})"
    return f"{_points(r)} ? {point} : {every}"


def _compare_range(attributes: Mapping[str, object], dtype: str, r: Sequence[str], x: Sequence[Scalar], v: str,
                   same: bool) -> str:
    direction = str(attributes["direction"])
    ordered = dtype in FLOATS and attributes.get("type") != "TOTALORDER"
    if dtype in FLOATS and not ordered:
        if same:
            return f"irange_of((int64_t){v}, (int64_t){v})"
        known = [f"range_is_point({text})" for text in r]
        known += [f"{load(dtype, s.v)} == {load(dtype, s.v)}" for s in x if not s.bits]  # the sign of its NaN is free
        return f"{' && '.join(known)} ? irange_of((int64_t){v}, (int64_t){v}) : irange_of(0, 1)"
    if same and dtype in FLOATS:  # only NaN differs from itself
        number = f"range_is_number({r[0]})"
        return {"EQ": number, "LE": number, "GE": number,
                "NE": f"irange_not({number})"}.get(direction, "irange_of(0, 0)")
    if same:
        return f"irange_of((int64_t){v}, (int64_t){v})"
    prefix = "range" if dtype in FLOATS else "irange"
    return {"EQ": f"{prefix}_equal({r[0]}, {r[1]})", "NE": f"irange_not({prefix}_equal({r[0]}, {r[1]}))",
            "LT": f"{prefix}_less({r[0]}, {r[1]})", "GT": f"{prefix}_less({r[1]}, {r[0]})",
            "LE": f"{prefix}_less_equal({r[0]}, {r[1]})", "GE": f"{prefix}_less_equal({r[1]}, {r[0]})"}[direction]


def _convert_range(dtype: str, to: str, r: str, v: str, options: Options) -> str:
    if dtype == to:
        return r
    if to == "pred":
        return f"{'range' if dtype in FLOATS else 'irange'}_nonzero({r})" if dtype != "u64" else \
            f"irange_is_point({r}) ? irange_of((int64_t){v}, (int64_t){v}) : irange_of(0, 1)"
    if dtype in FLOATS and to in FLOATS:
        exact = to in ("f32", "f64") if dtype in TINY or to in TINY else SIGNIFICANT[dtype] <= SIGNIFICANT[to] and (
            dtype, to) != ("bf16", "f16")
        return kept_as(r, to, v) if exact else rounded_to(r, to, v, options)
    if dtype in FLOATS:
        ends = [key_of(to, f"{to}_from_double({r}.{end})") for end in ("lo", "hi")]
        return f"irange_of({ends[0]}, {ends[1]})"
    if to in FLOATS:
        ends = [f"(double){of_key(dtype, f'{r}.{end}')}" for end in ("lo", "hi")]
        # integers are rounded twice: a step for that
        slack = 2.0 if bits_of(dtype) == 64 or to in SMALL + TINY else 0.5
        return rounded_to(f"range_of({ends[0]}, {ends[1]})", to, v, options, slack)
    least, most = key_limits(to)
    point = f"irange_of({key_of(to, v)}, {key_of(to, v)})"
    if bits_of(dtype) == 64 or bits_of(to) == 64:
        widens = bits_of(dtype) < 64 and (to == "s64" or not is_signed(dtype)) and to != "u64"
        return r if widens else f"irange_is_point({r}) ? {point} : irange_of({least}, {most})"
    return f"irange_is_point({r}) ? {point} : irange_fit({r}, {least}, {most})"
