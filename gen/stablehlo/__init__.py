"""Read StableHLO text to the same graph as HLO text, so that all later stages are shared.

    scanner     types, attributes and names of MLIR      syntax    parse functions of ops to the generic form
    table       the table of ops                         ops       lower each op to HLO
    build       functions and regions as computations    sizes     evaluate integers known at generation time
    literals    the values of constants                  chlo      replace ops of chlo by ops of HLO
    module      a text as a module                       tables    coefficients of chlo's functions

Outside this folder, these files import gen.algebra, gen.hlo and gen.suggest only.
"""

from gen.stablehlo.module import is_stablehlo, parse

__all__ = ["is_stablehlo", "parse"]
