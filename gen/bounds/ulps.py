"""The maximum errors of a correct kernel's ops, in ulps. Bounds allow these errors, and tests check kernels against
them.
"""

from __future__ import annotations

from typing import Dict

from gen.hlo.opcodes import ELEMENTWISE

# Errors by opcode; opcodes that are missing are correctly rounded. range_logistic covers the underflow of logistic.
# hypot, the |z| of a complex number, is used inside complex functions.
ULPS: Dict[str, float] = {**{opcode: row.ulps for opcode, row in ELEMENTWISE.items() if row.ulps is not None},
                          "hypot": 4}
# maximum error, in ulps, of glibc's double versions of these functions (reached by cbrt; most have at most 2)
LIBM_ULPS = 4.0
