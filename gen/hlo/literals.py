"""Parse the value of a constant to one bit pattern for each element of its shape."""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import Shape
from gen.hlo.scanner import Scanner

SPLAT_LIMIT = 1 << 24  # maximum number of elements of a constant written as one value for all elements
_VALUE = re.compile(r"-?nan\([^)\s]*\)|[^\s{}(),/]+")


def number_bits(text: str, dtype: str) -> int:
    """Return the bit pattern of one value's text. Raise ValueError with the expected form."""
    kind = dtypes.TABLE[dtype].kind
    if kind == "pred":
        if text in ("true", "1"):
            return 1
        if text in ("false", "0"):
            return 0
        raise ValueError(f"expected true, false, 0 or 1, found '{text}'")
    if kind in ("sint", "uint"):
        if not re.fullmatch(r"-?[0-9]+", text):
            raise ValueError(f"expected an integer of {dtype}, found '{text}'")
        low, high = dtypes.integer_range(dtype)
        if len(text.lstrip("-0")) > 20 or not low <= int(text) <= high:
            raise ValueError(f"expected an integer of {dtype}, from {low} to {high}, found '{text[:40]}'")
        return dtypes.encode(int(text), dtype)
    return _float(text, dtype)


def _float(text: str, dtype: str) -> int:
    negative = text.startswith("-")
    bare = text[1:] if negative else text
    if bare == "inf":
        if dtypes.TABLE[dtype].style != "ieee":
            raise ValueError(f"expected a number of {dtype}, which has no infinity")
        return dtypes.encode(float("-inf") if negative else float("inf"), dtype)
    if bare == "nan":
        return dtypes.encode_nan(negative, None, dtype)
    payload = re.fullmatch(r"nan\(0x([0-9a-fA-F]{1,16})\)", bare)
    if payload:
        return dtypes.encode_nan(negative, int(payload.group(1), 16), dtype)
    try:
        if text.startswith("+"):
            raise ValueError
        bits = dtypes.encode_text(text, dtype)
    except ValueError:
        raise ValueError(f"expected a number of {dtype}, found '{text[:40]}'") from None
    if dtypes.is_infinite(bits, dtype) or dtypes.is_nan(bits, dtype):
        raise ValueError(f"expected a number in the range of {dtype}, found '{text[:40]}'")
    return bits


class Literal:
    """Parses the value of a constant, level by level; it must have exactly one value for each element of the shape."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.known: "Dict[Tuple[str, str], int]" = {}

    def read(self, of: Shape) -> List[int]:
        if of.kind == "tuple":
            return self._tuple(of)
        if of.kind != "array" or of.dynamic:
            self.scanner.fail(self.scanner.skip(), f"expected no constant of {of.text}: it has no text form")
        if of.dims and self.scanner.peek() == "{":
            return self._array(of)
        if of.elements > SPLAT_LIMIT:
            self.scanner.fail(self.scanner.skip(),
                              f"expected at most {SPLAT_LIMIT} elements of one value, {of.text} has more")
        return [self._value(of.dtype)] * of.elements

    def _tuple(self, of: Shape) -> List[int]:
        bits: List[int] = []
        self.scanner.need("(", "to open the tuple's values")
        for number, child in enumerate(of.children):
            if number:
                self.scanner.need(",", f"and value {number} of the tuple")
            bits += self.read(child)
        self.scanner.need(")", f"after {len(of.children)} values of the tuple")
        return bits

    def _value(self, dtype: str) -> int:
        scanner = self.scanner
        if dtypes.TABLE[dtype].kind == "complex" and scanner.accept("("):
            part = dtypes.TABLE[dtype].part
            real = self._value(part)
            scanner.need(",", "and the imaginary part")
            imaginary = self._value(part)
            scanner.need(")", "after the imaginary part")
            return real | imaginary << dtypes.TABLE[part].bits
        pos = scanner.skip()
        word = scanner.match(_VALUE, f"a value of {dtype}")
        key = (dtype, word.group())
        bits = self.known.get(key)
        if bits is None:
            part = dtypes.TABLE[dtype].part or dtype
            try:
                bits = self.known[key] = number_bits(word.group(), part)
            except ValueError as error:
                scanner.fail(pos, str(error))
        return bits

    def _array(self, of: Shape) -> List[int]:
        """Parse nested braces without recursion. counts[k] is the number of items parsed so far in the open brace of
        level k.
        """
        scanner, dims, bits = self.scanner, of.dims, []
        scanner.need("{", f"to open the values of {of.text}")
        counts = [0]
        while counts:
            level, size = len(counts) - 1, dims[len(counts) - 1]
            pos, char = scanner.skip(), scanner.peek()
            if char == "}":
                if counts[-1] != size:
                    scanner.fail(pos, f"expected {size} values in dimension {level} of {of.text}, found {counts[-1]}")
                scanner.pos += 1
                counts.pop()
                if counts:
                    counts[-1] += 1
                continue
            if counts[-1]:
                scanner.need(",", f"or '}}' in the values of {of.text}")
                pos = scanner.skip()
            if counts[-1] == size:
                scanner.fail(pos, f"expected {size} values in dimension {level} of {of.text}, found more")
            if level + 1 < len(dims):
                scanner.need("{", f"to open dimension {level + 1} of {of.text}")
                counts.append(0)
            else:
                if scanner.peek() == "{":
                    scanner.fail(pos, f"expected a value of {of.dtype} in dimension {level}, found '{{': "
                                      f"{of.text} has {len(dims)} dimensions")
                bits.append(self._value(of.dtype))
                counts[-1] += 1
        return bits
