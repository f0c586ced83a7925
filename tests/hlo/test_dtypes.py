"""Test element types: every bit pattern of the small floats, difficult roundings, and conversions between text and bits.
"""

import math
import random
import struct
import unittest
from fractions import Fraction

from gen.hlo import dtypes

FLOATS = [d for d in dtypes.TABLE.values() if d.kind == "float"]
SMALL = [d for d in FLOATS if d.bits <= 16]


def decimal(value: Fraction) -> str:
    """Return the decimal text of a dyadic fraction, with all digits."""
    sign, value = ("-" if value < 0 else ""), abs(value)
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(value.numerator).rjust(places + 1, "0")
    return sign + (digits[:-places] + "." + digits[-places:] if places else digits)


def finite(name: str) -> "list[int]":
    """Return the bit patterns of a type's finite values from zero up, in ascending order."""
    return list(range(dtypes.largest_finite(name) + 1))


class Decode(unittest.TestCase):
    def test_f16_is_what_the_language_says(self) -> None:
        for bits in range(65536):
            theirs, = struct.unpack("<e", struct.pack("<H", bits))
            ours = dtypes.decode(bits, "f16")
            self.assertTrue(ours == theirs or (math.isnan(ours) and math.isnan(theirs)), hex(bits))
            self.assertEqual(math.copysign(1, ours), math.copysign(1, theirs), hex(bits))

    def test_bf16_is_the_upper_half_of_f32(self) -> None:
        for bits in range(65536):
            theirs, = struct.unpack("<f", struct.pack("<I", bits << 16))
            ours = dtypes.decode(bits, "bf16")
            self.assertTrue(ours == theirs or (math.isnan(ours) and math.isnan(theirs)), hex(bits))

    def test_known_values(self) -> None:
        table = [("f8e5m2", 0x7B, 57344.0), ("f8e4m3fn", 0x7E, 448.0), ("f8e4m3", 0x77, 240.0), ("f8e3m4", 0x6F, 15.5),
                 ("f8e4m3b11fnuz", 0x7F, 30.0), ("f8e4m3fnuz", 0x7F, 240.0), ("f8e5m2fnuz", 0x7F, 57344.0),
                 ("f8e8m0fnu", 0x00, 2.0 ** -127), ("f8e8m0fnu", 0xFE, 2.0 ** 127), ("f4e2m1fn", 0x7, 6.0),
                 ("f4e2m1fn", 0x1, 0.5), ("f6e2m3fn", 0x1F, 7.5), ("f6e3m2fn", 0x1F, 28.0), ("f8e4m3fn", 0x01, 2.0 ** -9),
                 ("bf16", 0x0001, 2.0 ** -133), ("f32", 0x00000001, 2.0 ** -149), ("f64", 0x1, 2.0 ** -1074)]
        for name, bits, value in table:
            self.assertEqual(dtypes.decode(bits, name), value, name)

    def test_integers(self) -> None:
        for name, bits, value in [("s8", 0x80, -128), ("s8", 0x7F, 127), ("u8", 0xFF, 255), ("s4", 0xF, -1), ("s64", 1 << 63, -(1 << 63)),
                                  ("u64", (1 << 64) - 1, (1 << 64) - 1), ("pred", 1, True), ("pred", 0, False)]:
            self.assertEqual(dtypes.decode(bits, name), value)
            self.assertEqual(dtypes.encode(value, name), bits)


class Encode(unittest.TestCase):
    def test_every_small_float_comes_back(self) -> None:
        for dtype in SMALL:
            for bits in range(1 << dtype.bits):
                if not dtypes.is_nan(bits, dtype.name):
                    self.assertEqual(dtypes.encode(dtypes.decode(bits, dtype.name), dtype.name), bits, (dtype.name, hex(bits)))

    def test_rounding_between_neighbours(self) -> None:
        """Values below the midpoint of two neighbours round down, values above it up, and the midpoint to the even
        pattern, from exact fractions and from text.
        """
        for dtype in SMALL:
            if dtype.style == "scale":
                continue
            patterns = finite(dtype.name)
            for low, high in list(zip(patterns, patterns[1:]))[::1 if dtype.bits <= 8 else 97]:
                a, b = (Fraction(dtypes.decode(p, dtype.name)) for p in (low, high))
                middle, nudge = (a + b) / 2, (b - a) / 2 ** 60
                for value, want in [(middle - nudge, low), (middle, low if low % 2 == 0 else high), (middle + nudge, high)]:
                    self.assertEqual(dtypes.encode(value, dtype.name), want, (dtype.name, low))
                    self.assertEqual(dtypes.encode_text(decimal(value), dtype.name), want, (dtype.name, low))

    def test_overflow(self) -> None:
        for dtype in FLOATS:
            top = Fraction(dtypes.decode(dtypes.largest_finite(dtype.name), dtype.name))
            huge = dtypes.encode(top * 4, dtype.name)
            if dtype.style == "ieee":
                self.assertTrue(dtypes.is_infinite(huge, dtype.name))
            elif dtype.style == "finite":
                self.assertEqual(huge, dtypes.largest_finite(dtype.name))
            else:
                self.assertTrue(dtypes.is_nan(huge, dtype.name))
            self.assertEqual(dtypes.encode(top, dtype.name), dtypes.largest_finite(dtype.name))

    def test_signed_zero(self) -> None:
        self.assertEqual(dtypes.encode(-0.0, "f32"), 0x80000000)
        self.assertEqual(dtypes.encode_text("-0", "bf16"), 0x8000)
        self.assertEqual(dtypes.encode_text("-0.0", "f64"), 1 << 63)
        self.assertEqual(dtypes.encode_text("-1e-400", "f64"), 1 << 63)
        self.assertEqual(dtypes.encode(-0.0, "f8e4m3fnuz"), 0)

    def test_out_of_range(self) -> None:
        for value, name in [(128, "s8"), (-129, "s8"), (-1, "u8"), (256, "u8"), (2, "pred"), (1 << 63, "s64"), (1 << 64, "u64"), (1.5, "s32")]:
            with self.assertRaises(ValueError):
                dtypes.encode(value, name)


class Text(unittest.TestCase):
    def test_f32_is_not_rounded_twice(self) -> None:
        """Text is rounded to f32 once: a value just above a midpoint, closer than a double can represent, rounds up.
        Rounded to double first, it would become the midpoint and round down.
        """
        random.seed(3)
        for _ in range(500):
            low = random.randrange(0, 0x7F000000)
            a, b = (Fraction(dtypes.decode(p, "f32")) for p in (low, low + 1))
            text = decimal((a + b) / 2)
            self.assertEqual(dtypes.encode_text(text, "f32"), low + (low & 1), text)
            above = text + ("" if "." in text else ".") + "0" * 30 + "1"
            self.assertEqual(dtypes.encode_text(above, "f32"), low + 1, above)
        self.assertEqual(dtypes.encode_text("1.00000005960464478", "f32"), 0x3F800001)
        self.assertEqual(dtypes.encode_text("1.000000059604644775390625", "f32"), 0x3F800000)

    def test_f64_is_what_the_language_says(self) -> None:
        random.seed(4)
        for _ in range(2000):
            text = f"{random.randrange(10 ** random.randrange(1, 40))}.{random.randrange(10 ** 20)}e{random.randrange(-340, 320)}"
            want, = struct.unpack("<Q", struct.pack("<d", float(text)))
            self.assertEqual(dtypes.encode_text(text, "f64"), want, text)

    def test_hostile_numbers(self) -> None:
        self.assertEqual(dtypes.encode_text("1e999999999999999999999", "f32"), 0x7F800000)
        self.assertEqual(dtypes.encode_text("-1e-999999999999999999999", "f32"), 0x80000000)
        self.assertEqual(dtypes.encode_text("0e999999999999", "f32"), 0)
        self.assertEqual(dtypes.encode_text("1" + "0" * 50000 + "e-50000", "f32"), 0x3F800000)
        self.assertEqual(dtypes.encode_text("0." + "0" * 50000 + "1e50001", "f32"), 0x3F800000)
        for text in ("", ".", "e5", "1e", "1.2.3", "0x10", "1_000", "--1", "one", "1 "):
            with self.assertRaises(ValueError, msg=text):
                dtypes.encode_text(text, "f32")

    def test_shortest_text_comes_back(self) -> None:
        random.seed(5)
        for dtype in FLOATS:
            patterns = range(1 << dtype.bits) if dtype.bits <= 8 else [random.getrandbits(dtype.bits) for _ in range(4000)]
            for bits in patterns:
                text = dtypes.format_value(bits, dtype.name)
                if not text.lstrip("-").startswith(("nan", "inf")):
                    self.assertEqual(dtypes.encode_text(text, dtype.name), bits, (dtype.name, text))
        for bits, name, text in [(0x3DCCCCCD, "f32", "0.1"), (0x3F4C, "bf16", "0.797"), (0x7F800000, "f32", "inf"), (0xFF80, "bf16", "-inf"),
                                 (0x7FC00000, "f32", "nan"), (0xFFC00000, "f32", "-nan"), (0x7F800001, "f32", "nan(0x1)"),
                                 (0x3F800000, "f32", "1"), (1, "pred", "true"), (0xFF, "s8", "-1")]:
            self.assertEqual(dtypes.format_value(bits, name), text)

    def test_nans(self) -> None:
        self.assertEqual(dtypes.encode_nan(False, None, "f32"), 0x7FC00000)
        self.assertEqual(dtypes.encode_nan(True, 0x123, "f32"), 0xFF800123)
        self.assertEqual(dtypes.encode_nan(False, None, "f8e4m3fn"), 0x7F)
        self.assertEqual(dtypes.encode_nan(True, None, "f8e5m2fnuz"), 0x80)
        for payload, name in [(0, "f32"), (1 << 23, "f32"), (1, "f8e4m3fn"), (None, "f4e2m1fn")]:
            with self.assertRaises(ValueError):
                dtypes.encode_nan(False, payload, name)

    def test_complex(self) -> None:
        bits = dtypes.encode(complex(1.0, -2.0), "c64")
        self.assertEqual(bits, 0x3F800000 | 0xC0000000 << 32)
        self.assertEqual(dtypes.decode(bits, "c64"), complex(1.0, -2.0))
        self.assertEqual(dtypes.format_value(bits, "c64"), "(1, -2)")


class Sizes(unittest.TestCase):
    def test_storage(self) -> None:
        for name, size in [("pred", 1), ("s4", 1), ("s8", 1), ("bf16", 2), ("f16", 2), ("f32", 4), ("u64", 8), ("c64", 8), ("c128", 16), ("f4e2m1fn", 1)]:
            self.assertEqual(dtypes.storage_bytes(name), size)
        self.assertTrue(dtypes.SUPPORTED <= set(dtypes.TABLE))
