"""The algebra of maps and shapes, computed by the C headers through one function of a small shared library.

Maps and shapes are strings in canonical form, so that they can be hashed and printed. Python itself computes no index.
"""

from gen.algebra.library import LIBRARY, AlgebraError, build, call, relaid, run
from gen.algebra.maps import (Access, Bounded, CText, Division, Guard, Info, Variable, access, c_text,
                              compose, divisions, domain, evaluate, fits, guards, indexing, info, inverse, numbers,
                              parse, ranges, rename, shape, simplify, strides, substitute, tile)
