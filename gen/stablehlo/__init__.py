"""StableHLO text: read into the same graph as HLO text, so that all later stages are shared.

    scanner     types, attributes and names of MLIR      syntax    functions of ops, in the generic form
    table       the table of ops                         ops       the lowering of each op to HLO
    build       functions and regions as computations    sizes     integers known when the code is generated
    literals    the values of constants                  chlo      ops of chlo as ops of HLO
    module      a text as a module                       tables    coefficients of chlo's functions

Outside this folder, these files import gen.algebra, gen.hlo and gen.suggest only.
"""

from gen.stablehlo.module import is_stablehlo, parse

__all__ = ["is_stablehlo", "parse"]
