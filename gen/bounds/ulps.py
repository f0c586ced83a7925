"""The largest errors of a right kernel's ops, in ulps: bounds allow them, tests hold kernels to them."""

from __future__ import annotations

from typing import Dict

from gen.hlo.opcodes import ELEMENTWISE

# By opcode, of ops that are not exact; range_logistic says what logistic's underflow does. hypot, |z| of complex
# numbers, is a step of complex functions.
ULPS: Dict[str, float] = {**{opcode: row.ulps for opcode, row in ELEMENTWISE.items() if row.ulps is not None},
                          "hypot": 4}
LIBM_ULPS = 4.0  # glibc's worst of these in double (cbrt); 2 or less for most
