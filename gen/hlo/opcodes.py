"""What is known of opcodes."""

from __future__ import annotations

from typing import Dict

FLOAT_UNARY = frozenset("""sqrt rsqrt cbrt exponential exponential-minus-one log log-plus-one tanh logistic sine cosine tan
    acos acosh asin asinh atanh cosh sinh erf""".split())
REAL_UNARY = frozenset("floor ceil round-nearest-afz round-nearest-even".split())
_ARITHMETIC = frozenset("add subtract multiply divide remainder maximum minimum power".split())
LOGIC = frozenset("and or xor".split())
SHIFT = frozenset("shift-left shift-right-arithmetic shift-right-logical".split())
UNARY = FLOAT_UNARY | REAL_UNARY | frozenset("negate abs sign not is-finite popcnt count-leading-zeros".split())
BINARY = _ARITHMETIC | LOGIC | SHIFT | frozenset(["atan2"])

# One value of the result comes from the values at the same index of each operand (clamp and select take scalars too).
ELEMENTWISE = UNARY | BINARY | frozenset("convert copy compare select clamp reduce-precision bitcast-convert real imag complex".split())
# Of complex numbers: what has a form in gen/emit and a meaning in gen/reference.
COMPLEX = frozenset("""add subtract multiply divide negate abs real imag complex compare select copy convert exponential
    exponential-minus-one log log-plus-one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh tanh sign atan2""".split())

_MOVES = frozenset("""parameter constant iota broadcast transpose reshape bitcast slice reverse pad concatenate reduce tuple
    get-tuple-element fusion call map opt-barrier dynamic-slice dynamic-update-slice gather scatter""".split())
# An element comes from many of the operands', by a loop nest.
CONTRACTIONS = frozenset(["dot", "scaled-dot", "convolution"])
LOOPS = CONTRACTIONS | frozenset(["reduce-window", "select-and-scatter"])
SUPPORTED = ELEMENTWISE | _MOVES | LOOPS

CHECKED = ELEMENTWISE | _MOVES | LOOPS
_UNCHECKED = frozenset("""add-dependency after-all all-gather all-gather-done all-gather-start all-reduce all-reduce-done
    all-reduce-start all-to-all async-done async-start async-update batch-norm-grad batch-norm-inference batch-norm-training
    cholesky collective-broadcast collective-permute collective-permute-done collective-permute-start conditional
    copy-done copy-start custom-call domain dynamic-reshape fft
    get-dimension-size infeed optimization-barrier outfeed partition-id ragged-all-to-all ragged-dot recv
    recv-done reduce-scatter replica-id rng rng-bit-generator rng-get-and-update-state scan send send-done
    set-dimension-size sort stochastic-convert topk triangular-solve while""".split())
OPCODES = CHECKED | _UNCHECKED

ARITY = {**{op: 1 for op in UNARY}, **{op: 2 for op in BINARY}, "convert": 1, "copy": 1, "compare": 2, "select": 3,
          "clamp": 3, "reduce-precision": 1, "bitcast-convert": 1, "real": 1, "imag": 1, "complex": 2, "iota": 0, "broadcast": 1, "transpose": 1,
          "reshape": 1, "bitcast": 1, "slice": 1, "reverse": 1, "pad": 2, "get-tuple-element": 1, "opt-barrier": 1, "dot": 2, "convolution": 2,
          "select-and-scatter": 3, "scaled-dot": 4}


# Attributes with a parsed value: opcode -> name -> reader. What a name is not listed for is kept as text.
_DIMENSIONS = {"dimensions": "integers"}
TYPED: Dict[str, Dict[str, str]] = {
    "broadcast": _DIMENSIONS, "transpose": _DIMENSIONS, "concatenate": _DIMENSIONS, "reverse": _DIMENSIONS,
    "reduce": {"dimensions": "integers", "to_apply": "computation"},
    "map": {"dimensions": "integers", "to_apply": "computation"},
    "call": {"to_apply": "computation"},
    "fusion": {"kind": "kind", "calls": "computation"},
    "iota": {"iota_dimension": "integer"},
    "slice": {"slice": "slices"},
    "pad": {"padding": "padding"},
    "dynamic-slice": {"dynamic_slice_sizes": "integers"},
    "gather": {**{key: "integers" for key in ("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes",
                                              "operand_batching_dims", "start_indices_batching_dims")}, "index_vector_dim": "integer"},
    "scatter": {**{key: "integers" for key in ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
                                               "scatter_indices_batching_dims")}, "index_vector_dim": "integer", "to_apply": "computation"},
    "compare": {"direction": "direction", "type": "compare_type"},
    "get-tuple-element": {"index": "integer"},
    "reduce-precision": {"exponent_bits": "integer", "mantissa_bits": "integer"},
    **{op: {f"{side}_{what}_dims": "integers" for side in ("lhs", "rhs") for what in ("batch", "contracting")} for op in ("dot", "scaled-dot")},
    "convolution": {"window": "window", "dim_labels": "labels", "feature_group_count": "integer", "batch_group_count": "integer"},
    "reduce-window": {"window": "window", "to_apply": "computation"},
    "select-and-scatter": {"window": "window", "select": "computation", "scatter": "computation"},
}
OPTIONAL = {("broadcast", "dimensions"), ("map", "dimensions"), ("compare", "type"), ("gather", "operand_batching_dims"),
             ("gather", "start_indices_batching_dims"), *((op, key) for op in ("dot", "scaled-dot") for key in TYPED[op]),
             *(("convolution", key) for key in ("window", "feature_group_count", "batch_group_count")), ("reduce-window", "window"),
             ("select-and-scatter", "window"), ("scatter", "input_batching_dims"), ("scatter", "scatter_indices_batching_dims")}
COMMON = frozenset("""metadata backend_config sharding frontend_attributes origin original_value control-predecessors statistics
    parameter_replication result_accuracy operand_precision outer_dimension_partitions inner_dimension_partitions
    execution_thread async_execution_thread output_to_operand_aliasing is_composite buffer_alignment
    indices_are_sorted unique_indices schedule_annotation algorithm""".split())
CALLING = frozenset("""to_apply calls condition body true_computation false_computation branch_computations select scatter
    called_computations""".split())


def is_opcode(opcode: str) -> bool:
    """An opcode of HLO, or one in its asynchronous clothes: `slice-start`, `slice-done`."""
    if opcode in OPCODES:
        return True
    base, _, suffix = opcode.rpartition("-")
    return suffix in ("start", "update", "done") and base in OPCODES
