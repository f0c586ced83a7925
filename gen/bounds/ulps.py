"""The largest errors of a correct kernel's ops, in ulps: bounds allow them, and tests check kernels against them."""

from __future__ import annotations

from typing import Dict

from gen.hlo.opcodes import ELEMENTWISE

# by opcode, for ops that are not exact; range_logistic describes the underflow of logistic; hypot, |z| of complex
# numbers, is a step of complex functions
ULPS: Dict[str, float] = {**{opcode: row.ulps for opcode, row in ELEMENTWISE.items() if row.ulps is not None},
                          "hypot": 4}
LIBM_ULPS = 4.0  # the largest error of these in glibc's double functions (cbrt); most have at most 2
