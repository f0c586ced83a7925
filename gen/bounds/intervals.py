"""C texts of intervals. The interval of an elementwise op contains all values that a correct kernel may compute."""

from __future__ import annotations

from pathlib import Path
from typing import List, Mapping, Optional, Sequence

from gen.bounds.types import (full_range, interval_of, key_of, kind_of, least, most, of_ends, of_key, Options, Ranged,
                              SIGNIFICANT)
from gen.bounds.ulps import LIBM_ULPS
from gen.hlo import Instruction
from gen.hlo.opcodes import ELEMENTWISE
from gen.reference.elements import convert_value, FUNCTIONS, PRED, ROUND, value_of
from gen.reference.library import Calls, functions
from gen.reference.types import bits_of, FLOATS, from_double, is_signed, load, small_float, SMALL, TINY, to_double
from gen.reference.values import Scalar

RANGES = Path(__file__).resolve().parent / "ranges.c"


class Intervals:
    """Writes intervals as C expressions. It records the C functions that the expressions call in `call`."""

    def __init__(self, call: Calls, options: Options) -> None:
        self.call, self.options = call, options

    def op(self, i: Instruction, x: Sequence[Scalar], v: str) -> Optional[str]:
        """Return the interval of an elementwise op's result, whose reference value is v; None if the result is exact.
        """
        own = own_error(i.opcode, i.attributes, i.shape.dtype, [s.dtype for s in x], self.options)
        ranged = [s for s in x if isinstance(s, Ranged)]
        by_bits = i.attributes.get("type") == "TOTALORDER" and not all(s.bits for s in ranged)
        if not own and not by_bits and all(s.interval is None for s in ranged):
            return None
        same = len(i.operands) == 2 and i.operands[0] is i.operands[1]
        return self.of(i.opcode, i.attributes, i.shape.dtype, x, v, same)

    def of(self, opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[Scalar], v: str,
           same: bool = False) -> str:
        """Return the interval of an op's result.

        same: both operands are the same instruction
        """
        dtype = x[-1].dtype
        r = [interval_of(self.call, s) for s in x]
        if opcode == "select":
            choose = "range_select" if to in FLOATS else "irange_select"
            exact = not isinstance(x[0], Ranged) or x[0].interval is None
            return f"{x[0].v} ? {r[1]} : {r[2]}" if exact else f"{choose}({r[0]}, {r[1]}, {r[2]})"
        if opcode == "compare":
            return self.compare(attributes, dtype, r, x, v, same)
        if opcode == "convert":
            return self.convert(dtype, to, r[0], v)
        if opcode in ("copy", "bitcast", "real"):
            return r[0]
        if opcode == "imag":
            return "range_of(0, 0)"
        if opcode == "is-finite":
            return f"range_is_finite({r[0]})"
        if opcode == "clamp":
            r = [r[1], r[0], r[2]]
        if dtype in FLOATS:
            return self.of_floats(opcode, attributes, to, r, v, same)
        return self.of_integers(opcode, to, r, v)

    def rounded(self, text: str, to: str, v: str, ulps: float = 0.5) -> str:
        """Return an interval after widening by `ulps` and rounding to a type. It is extended to include the
        reference's value v.
        """
        if ulps > 0.5:
            if to == "f64":
                text = f"range_widen_f64({text}, {ulps + LIBM_ULPS + 1:.10g})"
            else:
                text = f"range_widen_f32({text}, {ulps:.10g} + 0x1p-20)"
        if to in SMALL and self.options.excess_precision:
            text = f"range_kept_{to}({text})"
        elif to in TINY:
            about = small_float(to)
            name = "range_round_scale" if about.scale else "range_round_small"
            tables = [self.call.table(about.values), self.call.table(about.middles)]
            text = f"{name}({', '.join([text, *tables, *about.arguments])})"
        elif to != "f64":
            text = f"range_round_{to}({text})"
        return self.kept(text, to, v)

    def kept(self, text: str, to: str, v: str) -> str:
        """Return an interval extended to include the reference's value v. Unlike `rounded`, it does not round."""
        return f"range_with({text}, {to_double(self.call, to, v)})"

    def of_floats(self, opcode: str, attributes: Mapping[str, object], to: str, r: Sequence[str], v: str,
                  same: bool) -> str:
        if opcode == "multiply" and same:
            return self.rounded(f"range_square({r[0]})", to, v)
        if opcode in ("add", "subtract", "multiply"):
            return self.rounded(f"range_{opcode}({r[0]}, {r[1]})", to, v)
        if opcode == "divide":
            return self.rounded(f"range_divide({r[0]}, {r[1]})", to, v, self.options.budget(opcode))
        if opcode == "sqrt":
            return self.rounded(f"range_monotone({r[0]}, sqrt)", to, v, self.options.budget(opcode))
        if opcode in ("maximum", "minimum", "remainder", "negate", "abs", "sign"):
            return self.kept(f"range_{opcode}({', '.join(r)})", to, v)
        if opcode == "clamp":
            return self.kept(f"range_minimum(range_maximum({r[0]}, {r[1]}), {r[2]})", to, v)
        if opcode in ROUND:
            return self.kept(f"range_monotone({r[0]}, {ROUND[opcode]})", to, v)
        if opcode == "reduce-precision":
            ends = [Scalar(from_double(self.call, to, f"{r[0]}.{end}"), to) for end in ("lo", "hi")]
            low, high = (value_of(self.call, opcode, attributes, to, [end]) for end in ends)
            return self.kept(of_ends(self.call, to, low, high), to, v)
        name = FUNCTIONS.get(opcode, opcode.replace("-", "_"))
        own = f"range_{name}"
        has_own = own in functions(RANGES)
        assert has_own or (opcode in FUNCTIONS and ELEMENTWISE[opcode].monotone), \
            f"'{opcode}' has no interval: not monotone, and no function {own} in gen/bounds/ranges.c"
        text = f"{own}({', '.join(r)})" if has_own else f"range_monotone({r[0]}, {name})"
        return self.rounded(text, to, v, max(0.6, self.options.budget(opcode)))

    def of_integers(self, opcode: str, to: str, r: Sequence[str], v: str) -> str:
        if opcode in ("maximum", "minimum"):
            return f"irange_{opcode}({r[0]}, {r[1]})"
        if opcode == "clamp":
            return f"irange_minimum(irange_maximum({r[0]}, {r[1]}), {r[2]})"
        if to == "pred" and opcode != "xor" and opcode != "subtract":
            if opcode == "not":
                return f"irange_not({r[0]})"
            return f"irange_{'maximum' if PRED[opcode] == '|' else 'minimum'}({r[0]}, {r[1]})"
        otherwise = full_range(to)
        if bits_of(to) <= 32 and (to, opcode) != ("u32", "multiply"):
            sums = {"add": "irange_of({0}.lo + {1}.lo, {0}.hi + {1}.hi)",
                    "subtract": "irange_of({0}.lo - {1}.hi, {0}.hi - {1}.lo)",
                    "negate": "irange_of(-{0}.hi, -{0}.lo)", "multiply": "irange_multiply({0}, {1})"}
            if opcode in sums:  # exact in 64 bits; any value is possible if an end does not fit the type
                otherwise = f"irange_fit({sums[opcode].format(*r)}, {least(to)}, {most(to)})"
        return where_points(r, to, v, otherwise)

    def compare(self, attributes: Mapping[str, object], dtype: str, r: Sequence[str], x: Sequence[Scalar], v: str,
                same: bool) -> str:
        direction, point = str(attributes["direction"]), f"irange_of((int64_t){v}, (int64_t){v})"
        if dtype in FLOATS and attributes.get("type") == "TOTALORDER":
            known = [test for s in x for test in point_test(self.call, s)]
            return point if same else f"{' && '.join(known)} ? {point} : irange_of(0, 1)"
        if same and dtype in FLOATS:  # x != x is true for NaN only
            number = f"range_is_number({r[0]})"
            return {"EQ": number, "LE": number, "GE": number,
                    "NE": f"irange_not({number})"}.get(direction, "irange_of(0, 0)")
        if same:
            return point
        prefix = "range" if dtype in FLOATS else "irange"
        return {"EQ": f"{prefix}_equal({r[0]}, {r[1]})", "NE": f"irange_not({prefix}_equal({r[0]}, {r[1]}))",
                "LT": f"{prefix}_less({r[0]}, {r[1]})", "GT": f"{prefix}_less({r[1]}, {r[0]})",
                "LE": f"{prefix}_less_equal({r[0]}, {r[1]})", "GE": f"{prefix}_less_equal({r[1]}, {r[0]})"}[direction]

    def convert(self, dtype: str, to: str, r: str, v: str) -> str:
        if dtype == to:
            return r
        if to == "pred":
            if dtype == "u64":
                return where_points([r], to, v, full_range(to))
            return f"{'range' if dtype in FLOATS else 'irange'}_nonzero({r})"
        if dtype in FLOATS and to in FLOATS:
            exact = to in ("f32", "f64") if dtype in TINY or to in TINY else SIGNIFICANT[dtype] <= SIGNIFICANT[to] and (
                dtype, to) != ("bf16", "f16")
            return self.kept(r, to, v) if exact else self.rounded(r, to, v)
        if dtype in FLOATS:
            ends = [key_of(to, convert_value(self.call, "f64", to, f"{r}.{end}")) for end in ("lo", "hi")]
            return f"irange_of({ends[0]}, {ends[1]})"
        if to in FLOATS:
            ends = [f"(double){of_key(dtype, f'{r}.{end}')}" for end in ("lo", "hi")]
            # A 64-bit integer at an end is first rounded to double. A kernel may convert to f16, bf16 and smaller types
            # by way of float. In both cases, values are rounded twice, so allow 2 ulps.
            slack = 2.0 if bits_of(dtype) == 64 or to in SMALL + TINY else 0.5
            return self.rounded(f"range_of({ends[0]}, {ends[1]})", to, v, slack)
        if bits_of(dtype) == 64 or bits_of(to) == 64:
            widens = bits_of(dtype) < 64 and (to == "s64" or not is_signed(dtype)) and to != "u64"
            return r if widens else where_points([r], to, v, full_range(to))
        return where_points([r], to, v, f"irange_fit({r}, {least(to)}, {most(to)})")


def own_error(opcode: str, attributes: Mapping[str, object], to: str, dtypes: Sequence[str], options: Options) -> bool:
    """Return true if a kernel's result may differ from the reference's even if the operands are exact."""
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


def where_points(r: Sequence[str], to: str, v: str, otherwise: str) -> str:
    """Return the C text of an integer interval: the point v if all intervals in `r` are points, else `otherwise`."""
    points = " && ".join(f"irange_is_point({text})" for text in r)
    return f"{points} ? irange_of({key_of(to, v)}, {key_of(to, v)}) : {otherwise}"


def has_bits(x: Scalar) -> bool:
    return not isinstance(x, Ranged) or x.bits


def keeps_bits(i: Instruction, x: Sequence[Scalar]) -> bool:
    """Return true if a result that equals the reference's result also has the same bits. Two NaNs are equal, but may
    have different bits. The answer is true for integers, pred and constants. It is true for a select or copy if it is
    true for its float operands. Other ops on floats may create a NaN, or change a NaN's bits.
    """
    return (i.shape.dtype not in FLOATS or i.opcode == "constant"
            or (i.opcode in ("select", "copy") and all(map(has_bits, x[-2:]))))


def point_test(call: Calls, x: Scalar) -> List[str]:
    """Return C conditions that are all true only if a kernel's element must have the same bits as the reference's."""
    value = load(call, x.dtype, x.v)
    return [f"{kind_of(x.dtype)}_is_point({interval_of(call, x)})"] + ([] if has_bits(x) else [f"{value} == {value}"])
