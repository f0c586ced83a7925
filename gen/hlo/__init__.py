"""Read, check and print HLO text, and divide a module into the fusions that become kernels.

    opcodes         the table of ops
    dtypes          element types
    graph           shapes, instructions, computations
    scanner, literals, parser   parse text to a graph
    checker, kept   check an op against its operands as soon as it is parsed
    refusals        valid HLO that has no kernel, and why
    printer         print a graph as text
    expanded        remove ops that compute nothing (one_device, tokens); replace random bits and batch norms by
                    arithmetic (random_bits, batch_norm, expansion)
    custom_calls    custom calls that become ops (checked_call), and custom calls that remain calls of LAPACK (lapack)
    inliner, launches   the fusions of a module, and the order in which they run
    leaves          the arrays in the parameters and results, which may be tuples
    trips           the number of iterations of a loop
    order           the order that a sort's comparator implements
    fill            values for constants whose values the text leaves out
    distribution    the distribution over GPU threads that an instruction names for its result
    reserved        names that functions in C cannot have

`parse` reads the text form of XLA's HLO, and checks each op that has a rule against its operands; other ops
(collectives, custom calls, ..) are kept unchecked. `unsupported` returns an error at the first op of a module that has
no kernel. `fusions` returns the computations that become kernels, with nested fusions, calls and maps inlined, and
`steps` returns their launches. These files import gen.algebra and gen.suggest, and nothing else outside this folder.
"""

from gen.hlo.complex_matrices import without_complex_matrices
from gen.hlo.custom_calls import with_wide_matrices, without_custom_calls
from gen.hlo.expanded import expanded
from gen.hlo.graph import (Computation, Fusion, FusionCall, HloError, Instruction, Module, Shape, Value, Window,
                           accumulator, array_shape, entry_of, in_order, index_parameter, is_row_major, layout_map,
                           memory_bits, relaid, row_major, same_positions, same_shape, shape, sorted_indices,
                           tuple_shape, unique_indices, unshared_places, zero_sign_matters)
from gen.hlo.inliner import inlined
from gen.hlo.launches import (STANDARD_INPUT, fusions, layout_note, module_parameters, module_results,
                              parameter_names, plain_stem, stem, steps, whole)
from gen.hlo.leaves import Leaf, param_leaves, param_names, result_leaves
from gen.hlo.opcodes import CONTRACTIONS, LOOPS
from gen.hlo.parser import module_names, modules, parse, read
from gen.hlo.printer import difference, instruction_key, print_computation, print_instruction, print_module
from gen.hlo.refusals import misplaced, unsupported
from gen.hlo.reserved import c_identifier
from gen.hlo.trips import without_single_steps

__all__ = ["CONTRACTIONS", "Computation", "Fusion", "FusionCall", "HloError", "Instruction", "LOOPS", "Leaf", "Module",
           "STANDARD_INPUT", "Shape", "Value", "Window", "accumulator", "array_shape", "c_identifier", "difference",
           "entry_of", "expanded", "fusions", "in_order", "index_parameter", "inlined", "is_row_major", "instruction_key",
           "layout_map", "layout_note", "memory_bits", "misplaced", "module_names", "module_parameters",
           "module_results", "modules",
           "param_leaves", "param_names", "parameter_names", "parse", "print_computation", "print_instruction",
           "print_module", "plain_stem", "read", "relaid", "result_leaves", "row_major", "same_positions", "same_shape",
           "shape", "sorted_indices", "stem", "steps", "tuple_shape", "unique_indices", "unshared_places",
           "unsupported", "whole", "with_wide_matrices", "without_complex_matrices", "without_custom_calls",
           "without_single_steps", "zero_sign_matters"]
