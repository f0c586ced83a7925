"""Elementwise ops and scalar computations on registers."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence

from gen.emit import functions, ops
from gen.emit.registers import Registers
from gen.emit.values import Value
from gen.hlo import Computation, Instruction, order
from gen.targets import NARROW, SMALL


class Elementwise(Registers):
    """Elementwise ops on registers. gen/emit/ops.py has their C expressions."""

    def apply(self, opcode: str, attributes: Dict[str, object], to: str, sources: Sequence[str], x: Sequence[Value],
              of: str) -> Value:
        """Write an elementwise op, and return its value with known bounds. The value is rounded to its type, unless the
        body keeps excess precision.
        """
        value = self._applied(opcode, attributes, to, sources, x, of)
        within, nan = ops.bounds(opcode, to, sources, x)
        return replace(value, within=within, nan=nan) if within else value

    def _applied(self, opcode: str, attributes: Dict[str, object], to: str, sources: Sequence[str], x: Sequence[Value],
                 of: str) -> Value:
        if opcode == "select" and to == "f16" and any(v.bits for v in x[1:]):
            x, to, sources = [x[0], *(self.moved(v) for v in x[1:])], "u16", [sources[0], "u16", "u16"]
            value = self.apply(opcode, attributes, to, sources,
                               [replace(v, dtype=s, bits=False) for v, s in zip(x, sources)], of)
            return Value(value.text, "f16", value.lanes, True)
        if opcode in ("bitcast", "bitcast-convert") and "f16" in (sources[0], to):
            return self._f16_bits(to, self.moved(x[0]), of)
        if opcode == "copy":
            return x[0]
        by_bits = opcode == "compare" and attributes.get("type") == "TOTALORDER"
        x = [self.moved(v) if by_bits else self.real(v) for v in x]
        keeps = all(v.rounded for v in x) and not (self.excess and ops.rounds(opcode, to) and opcode != "convert")
        need, lanes = self.helpers.need, max((v.lanes for v in x), default=1)
        if opcode == "clamp" and to == "f32" and lanes > 1:
            high = self.apply("maximum", {}, to, sources[:2], (x[1], x[0]), of)
            return self.apply("minimum", {}, to, sources[1:], (high, x[2]), of)
        short = lanes > 1 and self._short_nan(opcode, to, x, lanes)
        masked = self._masked(opcode, attributes, to, sources, x, of) if lanes > 1 else None
        if masked:
            return replace(masked, rounded=keeps or to not in SMALL, short_nan=short)
        narrows = opcode == "convert" and (sources[0] == "f64" or (sources[0] in SMALL and _holds(to, sources[0])))
        rounding = ops.rounds(opcode,
                              to) and not narrows and not (self.excess and to in SMALL and opcode not in ("convert",))
        texts = [v.text if lanes == 1 else self.splat(v) for v in x]
        text = ops.bounded(self.d, need, opcode, to, sources, x, texts, lanes) if lanes > 1 else None
        if opcode == "divide" and x[1].lanes < lanes and x[1].known is None:
            quotient = functions.name(self.d, need, functions.QUOTIENT, to, lanes)
            text = f"{quotient}({', '.join(texts)})" if quotient else None
        text = text or ops.expression(self.d, need, opcode, attributes, to, sources, texts, lanes)
        if text is None:
            names = [self._lane_array(v, f"{of}_{letter}") for v, letter in zip(x, "abc")]
            text = ops.expression(self.d, need, opcode, attributes, to, sources, names, 1)
            assert text is not None, f"'{opcode}' of {to} has no C text: gen/emit/ops.py expression"
            value = self.by_lane(of, to, text)
            if rounding:
                value = self.declare(of, to, self.lanes, self.round(value.text, to, self.lanes))
            return replace(value, rounded=keeps or rounding or to not in SMALL)
        value = self.declare(of, to, lanes, self.round(text, to, lanes, to == "bf16" and short) if rounding else text)
        return replace(value, rounded=keeps or rounding or to not in SMALL, short_nan=short)

    def _short_nan(self, opcode: str, to: str, x: Sequence[Value], lanes: int) -> bool:
        """Return true if each NaN in a result has zeros in the lower half of its bits. Such a NaN is an operand's NaN,
        or the processor's default NaN. The functions of functions.c return no other NaNs.
        """
        if any(v.dtype not in ("bf16", "f32", "pred") for v in x) or to not in ("bf16", "f32"):
            return False
        if not (ops.row(opcode).keeps_nan or opcode in ("convert", "negate", "abs", "select", "maximum", "minimum")
                or functions.name(self.d, self.helpers.need, opcode, "f32", lanes)):
            return False
        return all(v.short_nan or v.dtype == "pred" or (v.dtype == "bf16" and v.rounded) for v in x)

    def _masked(self, opcode: str, attributes: Dict[str, object], to: str, sources: Sequence[str], x: Sequence[Value],
                of: str) -> Optional[Value]:
        """Return the value of an op that computes with masks instead of bytes 0 and 1. Such an op is a comparison of
        vectors, a logic op on comparisons, a select by a comparison, or a conversion of a comparison to numbers. Return
        None for other ops.
        """
        width, lanes = max((v.mask_bits for v in x), default=0), self.lanes
        if opcode == "compare":
            text = ops.mask(self.d, self.helpers.need, attributes, sources[0], [self.splat(v) for v in x], lanes)
            width = self.d.register_bits(sources[0])
        elif opcode == "select" and x[0].mask:
            chosen = ops.resized(self.d, x[0].mask_bits, self.d.register_bits(to), x[0].mask, self.lanes)
            return self.declare(of, to, self.lanes, self.d.choose(to, lanes, chosen, *(self.splat(v) for v in x[1:])))
        elif opcode == "convert" and x[0].mask and to == "pred":
            return x[0]
        elif opcode == "convert" and x[0].mask and to not in NARROW:
            numbers = ops.converted_mask(self.d, x[0].mask_bits, to, x[0].mask, self.lanes)
            return self.declare(of, to, self.lanes, numbers)
        elif to == "pred" and opcode in ("and", "or", "xor", "not") and all(v.mask_bits == width > 0 for v in x):
            text = f"~{x[0].mask}" if opcode == "not" else \
                f"{x[0].mask} {ops.row(opcode).pred_operator} {x[1].mask}"
        else:
            return None
        if text is None:
            return None
        name = self.declare(of, f"s{width}", self.lanes, text).text
        return Value(lambda: ops.of_mask(self.d, width, name, lanes), "pred", lanes, mask=name, mask_bits=width)

    def _f16_bits(self, to: str, x: Value, of: str) -> Value:
        """Return a bitcast from or to f16. An f16 in memory format is used without conversion."""
        if to == "f16":
            text = (
                x.text
                if x.dtype == "f16"
                else (
                    self.helpers.need("bits", "bf16") + f"({x.text})"
                    if x.dtype == "bf16" and x.lanes == 1
                    else (
                        self.to_bits("bf16", x.text, x.lanes)
                        if x.dtype == "bf16"
                        else self.d.reinterpret(x.text, x.dtype, "u16", x.lanes)
                    )
                )
            )
            return Value(text, "f16", x.lanes, True)
        if to == "bf16":
            text = (f"{self.helpers.need('value', 'bf16')}({x.text})" if x.lanes == 1
                    else self.of_bits("bf16", x.text, x.lanes))
            return self.declare(of, to, x.lanes, text)
        return self.declare(of, to, x.lanes, self.d.reinterpret(x.text, "u16", to, x.lanes))

    def scalar(self, computation: Computation, arguments: Sequence[Value]) -> List[Value]:
        """Write a scalar computation, such as the combiner of a reduce, on registers, and return its results."""
        env: Dict[Instruction, List[Value]] = {}
        for instruction in order.needed(computation).instructions:
            env[instruction] = ([arguments[instruction.parameter_number or 0]] if instruction.opcode == "parameter"
                                else self.scalar_op(instruction, env))
        assert computation.root is not None
        return env[computation.root]

    def scalar_op(self, instruction: Instruction, env: "Dict[Instruction, List[Value]]") -> List[Value]:
        """Write one op of a scalar computation, and return its values. env: the values of the instructions that are
        already computed.
        """
        opcode = instruction.opcode
        x = [env[o] for o in instruction.operands]
        if opcode == "constant":
            return [ops.constant(self.d, (instruction.literal or [0])[0], instruction.shape.dtype)]
        if opcode == "tuple":
            return [v for values in x for v in values]
        if opcode == "get-tuple-element":
            return [x[0][instruction.attributes["index"]]]
        return [self.apply(opcode, instruction.attributes, instruction.shape.dtype,
                           [o.shape.dtype for o in instruction.operands], [v[0] for v in x], instruction.name)]


def _holds(wide: str, narrow: str) -> bool:
    """Return true if every value of the float type `narrow` is a value of `wide`."""
    return wide == narrow or wide in ("f32", "f64")
