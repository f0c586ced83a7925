"""Parse the values of `dense<..>`, as text or hexadecimal bytes, to one bit pattern for each element."""

from __future__ import annotations

import re
from array import array
from typing import Dict, List, Optional, Tuple

from gen.hlo import dtypes
from gen.hlo.literals import SPLAT_LIMIT, number_bits
from gen.stablehlo.scanner import Dense, MlirScanner

_TOKEN = re.compile(r"\s*(?:([\[\](),])|([^\s\[\](),]+))")
_HEX = re.compile(r'"0x((?:[0-9A-Fa-f]{2})*)"\Z')
_PLAIN = re.compile(r"[^\s\[\](),]+\Z")


def dense_bits(scanner: MlirScanner, value: Dense, resources: "Dict[str, str]") -> "Optional[List[int]]":
    """Return the bit patterns of the elements in row-major order; None if the text leaves the values out."""
    if value.resource:
        if value.resource == "__elided__":
            return None
        if value.resource not in resources:
            scanner.fail(value.start, f"expected a resource of this file, found '{value.resource[:60]}'")
        blob = resources[value.resource][2:]
        if len(blob) < 8 or len(blob) % 2:
            scanner.fail(value.start, f"expected bytes behind 4 bytes of alignment in the resource '{value.resource[:60]}'")
        return _of_bytes(scanner, value, bytes.fromhex(blob[8:]), splat=False)
    text = scanner.text[value.start:value.end].strip()
    if text == "__elided__":
        return None
    if text.startswith('"'):
        match = _HEX.match(text)
        if match is None:
            scanner.fail(value.start, 'expected "0x" and two hexadecimal digits for each byte')
        return _of_bytes(scanner, value, bytes.fromhex(match[1]), splat=True)
    if text and (_PLAIN.match(text) or text.startswith("(") or not value.of.dims):
        if value.of.elements > SPLAT_LIMIT:
            scanner.fail(value.start, f"expected at most {SPLAT_LIMIT} elements of one value, found {value.of.text}")
        return Values(scanner, value).splat()
    if not text:
        if value.of.elements:
            scanner.fail(value.start, f"expected {value.of.elements} values, found none")
        return []
    return Values(scanner, value).nested()


def _of_bytes(scanner: MlirScanner, value: Dense, data: bytes, splat: bool) -> List[int]:
    """Return the elements of hexadecimal data. An element takes whole bytes; but eight preds may share a byte."""
    of = value.of
    width = dtypes.storage_bytes(of.dtype)
    mask = (1 << dtypes.TABLE[of.dtype].bits) - 1
    if len(data) == width * of.elements:
        if width <= 8:
            found = array({1: "B", 2: "H", 4: "I", 8: "Q"}[width], data).tolist()
            return found if dtypes.TABLE[of.dtype].bits == 8 * width else [bits & mask for bits in found]
        return [int.from_bytes(data[at:at + width], "little") for at in range(0, len(data), width)]
    if of.dtype == "pred" and len(data) == -(-of.elements // 8):
        return [data[k // 8] >> k % 8 & 1 for k in range(of.elements)]
    if splat and len(data) == width:
        return [int.from_bytes(data, "little") & mask] * of.elements
    scanner.fail(value.start, f"expected {width * of.elements} bytes, {width} for each of {of.elements} elements, "
                              f"found {len(data)}")


class Values:
    """Parses values that are written as text."""

    def __init__(self, scanner: MlirScanner, value: Dense) -> None:
        self.scanner, self.of, self.end, self.pos = scanner, value.of, value.end, value.start
        self.dtype = dtypes.TABLE[self.of.dtype].part or self.of.dtype
        self.complex = self.dtype != self.of.dtype
        self.known: Dict[str, int] = {}

    def splat(self) -> List[int]:
        token, pos = self._next()
        bits = self._element(token, pos)
        token, pos = self._next()
        if token:
            self.scanner.fail(pos, f"expected one value for all elements, found '{token[:40]}' behind it")
        return [bits] * self.of.elements

    def nested(self) -> List[int]:
        """Parse nested brackets without recursion. counts[k] is the number of items so far in the open bracket of
        level k.
        """
        dims = self.of.dims
        bits: List[int] = []
        counts: List[int] = []
        scanner, done = self.scanner, False
        comma = False
        while True:
            token, pos = self._next()
            if not token:
                if counts or not done:
                    scanner.fail(pos, "expected ']' to close the values")
                return bits
            if done:
                scanner.fail(pos, f"expected the end of the values, found '{token[:40]}'")
            if token == "]" and not (counts and comma):
                level = len(counts) - 1
                if level < 0:
                    scanner.fail(pos, "expected '[' before ']'")
                if counts[level] != dims[level]:
                    scanner.fail(pos, f"expected {dims[level]} values in dimension {level} of {self.of.text}, "
                                      f"found {counts[level]}")
                counts.pop()
                done = not counts
                if counts:
                    counts[-1] += 1
                continue
            if token == ",":
                if comma or not counts or not counts[-1]:
                    scanner.fail(pos, "expected a value, found ','")
                comma = True
                continue
            if counts and counts[-1] and not comma:
                scanner.fail(pos, f"expected ',' or ']' in the values of {self.of.text}, found '{token[:40]}'")
            comma = False
            if counts and counts[-1] == dims[len(counts) - 1]:
                scanner.fail(pos, f"expected {dims[len(counts) - 1]} values in dimension {len(counts) - 1} of "
                                  f"{self.of.text}, found more")
            if token == "[":
                if len(counts) == len(dims):
                    scanner.fail(pos, f"expected a value, found '[': {self.of.text} has {len(dims)} dimensions")
                counts.append(0)
                continue
            if len(counts) != len(dims):
                scanner.fail(pos, f"expected '[' to open dimension {len(counts)} of {self.of.text}, found '{token[:40]}'")
            bits.append(self._element(token, pos))
            counts[-1] += 1

    def _next(self) -> "Tuple[str, int]":
        match = _TOKEN.match(self.scanner.text, self.pos, self.end)
        if match is None:
            return "", self.end
        self.pos = match.end()
        return match[1] or match[2], match.end() - len(match[1] or match[2])

    def _element(self, token: str, pos: int) -> int:
        if not self.complex:
            return self._value(token, pos)
        parts = []
        for before in ("(", ","):
            if token != before:
                self.scanner.fail(pos, f"expected a complex number (REAL, IMAGINARY), found '{token[:40]}'")
            token, pos = self._next()
            parts.append(self._value(token, pos))
            token, pos = self._next()
        if token != ")":
            self.scanner.fail(pos, f"expected ')' after the imaginary part, found '{token[:40]}'")
        return parts[0] | parts[1] << dtypes.TABLE[self.dtype].bits

    def _value(self, token: str, pos: int) -> int:
        bits = self.known.get(token)
        if bits is None:
            try:
                bits = self.known[token] = value_bits(token, self.dtype)
            except ValueError as error:
                self.scanner.fail(pos, str(error))
        return bits


def value_bits(token: str, dtype: str) -> int:
    """Return the bit pattern of a value's text: a number, true, false, or the bits of a float as 0x... Raise
    ValueError with the expected form.
    """
    row = dtypes.TABLE[dtype]
    if token.startswith("0x"):
        if not re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", token) or int(token, 16) >> row.bits:
            raise ValueError(f"expected at most {row.bits} bits of {dtype}, found '{token[:40]}'")
        return int(token, 16)
    if row.kind in ("sint", "uint") and re.fullmatch(r"-?[0-9]{1,20}", token):
        low, high = dtypes.integer_range(dtype)
        if row.kind == "sint" and high < int(token) <= 2 * high + 1:
            # an integer without a sign may also be written as unsigned; its bits are the same
            return int(token)
        if low <= int(token) <= high:
            return dtypes.encode(int(token), dtype)
    return number_bits(token, dtype)

