"""StableHLO text: read into the same graph as HLO text, so that all that is behind it is shared.

    scanner     types, attributes and names of MLIR      syntax    functions of ops, in the generic form
    table       the one table of ops                     ops       what each op is in HLO
    build       functions and regions as computations    sizes     integers that are known early
    literals    the values of constants                  chlo      HLO's ops in place of chlo's
    module      a text as a module                   tables    coefficients of chlo's functions

Of gen, these files import gen.algebra, gen.hlo and gen.suggest alone.
"""

from gen.stablehlo.module import is_stablehlo, parse

__all__ = ["is_stablehlo", "parse"]
