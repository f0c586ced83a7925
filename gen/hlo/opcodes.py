"""The table of ops: what the checker, the emitter and the reference need to know about each op.

An elementwise op is a row of ELEMENTWISE. Other files define pieces of C with the op's name (smooth-relu:
`smooth_relu`); gen/README.md lists these pieces. tests/hlo/test_opcodes.py takes each row through every target.

A structural op is a row of STRUCTURAL. Its checker is the method of checker.Check with its name (get-tuple-element:
_get_tuple_element). `map` is the opcode that sett_indexing_analysis.h knows it by. `element` is the function of
gen/emit that computes one element.

Opcodes without a row are parsed and kept; refusals.py says why they have no kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional, Tuple, Union

from gen.hlo import dtypes

# the kinds of element types, and their letters in `takes`
KINDS = {"pred": "p", "sint": "s", "uint": "u", "float": "f", "complex": "c"}
ANY = "psufc"
# for each set of allowed kinds, its name in error messages
WORDS = {"f": "floats", "c": "complex numbers", "fc": "floats", "su": "integers", "psu": "pred or integers", "sufc": "integers or floats",
         "sfc": "signed integers or floats", "psuf": "no complex numbers"}


def letter(dtype: str) -> str:
    """Return the kind of an element type."""
    return KINDS[dtypes.TABLE[dtype].kind]


@dataclass(frozen=True)
class Elementwise:
    """An op whose result element depends on the operands' elements at the same index (clamp and select also take
    scalars)."""

    opcode: str
    arity: int
    # kinds of operand 0, as letters; the other operands have the type of operand 0
    takes: str
    # The result's type. 'operand': the type of operand 0. 'pred': pred. 'part': the type of the real and imaginary
    # parts of operand 0; for a real operand 0, its type. 'rule': a method of checker.Check returns the type.
    result: str = "operand"
    # kinds of operand 0 for which there are kernels; "": all in `takes`
    kernels: str = ""
    # for each attribute of the op, a word that tells the parser how to read the value
    attributes: Mapping[str, str] = field(default_factory=dict)
    # optional attributes
    optional: Tuple[str, ...] = ()
    # The next fields are used by kernels.
    operator: str = ""          # C operator for numbers
    # C operator for pred
    pred_operator: str = ""
    # name of the function of real numbers in the libraries of C and the targets
    function: str = ""
    # types (f32, f64) that are computed lane by lane, because PoCL's vector function is wrong (see gen/emit/ops.py)
    scalar: Tuple[str, ...] = ()
    # approximate number of vector instructions that compute a register of results; a lookup table may replace an
    # expensive function
    cost: int = 1
    # Results of float types with at most this number of bits must be rounded. 16: most ops. 8: abs, negate and similar
    # ops, because some 8-bit types lack -0 or a NaN of one sign. 0: the result is never rounded.
    rounds: int = 16
    # a result of 2 or 4 bits is computed in a byte and must be truncated
    wraps: bool = True
    # true if a NaN result on x86 and Arm is either an operand's NaN, made quiet, or the processor's default NaN;
    # kernels may then compute the op in vectors
    keeps_nan: bool = False
    # The next fields are used by checks.
    ulps: Optional[float] = None    # error bound of a kernel's float result in ulps; None: correctly rounded once
    monotone: bool = False      # `function` is monotone on its domain, so the ends of an interval give its range

    def __post_init__(self) -> None:
        if not self.kernels:
            object.__setattr__(self, "kernels", self.takes)


@dataclass(frozen=True)
class Structural:
    """An op that moves, reduces or calls: a result element may depend on any element of its operands."""

    opcode: str
    # None: the op's checker decides how many operands are allowed
    arity: Optional[int]
    # opcode in sett_indexing_analysis.h; "": the op is inlined or has no operands
    map: str = ""
    # The name of a function of gen/emit. "": the map alone says which element to read. "whole": the op has kernels on
    # whole arrays (gen/plan/whole.py).
    element: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    optional: Tuple[str, ...] = ()


# Ulps are those of the OpenCL 1.2 full profile table; CUDA's are within these. The bound of logistic is derived: exp (3
# ulps), add and divide give a relative error of 4 * 2^-23, at most 8 ulps.
WHOLE = "whole"
_ELEMENTWISE = (
    # arithmetic
    Elementwise("add", 2, ANY, operator="+", pred_operator="|", keeps_nan=True),
    Elementwise("subtract", 2, ANY, kernels="sufc", operator="-", keeps_nan=True),
    Elementwise("multiply", 2, ANY, operator="*", pred_operator="&", keeps_nan=True),
    Elementwise("divide", 2, ANY, kernels="sufc", operator="/", cost=8, keeps_nan=True, ulps=0.5),
    Elementwise("remainder", 2, "psuf", kernels="suf", function="fmod", scalar=("f64",), cost=60),
    Elementwise("maximum", 2, ANY, pred_operator="|", rounds=0, wraps=False),
    Elementwise("minimum", 2, ANY, pred_operator="&", rounds=0, wraps=False),
    Elementwise("power", 2, ANY, kernels="sufc", function="pow", scalar=("f64",), cost=90, ulps=16),
    Elementwise("negate", 1, "sufc", rounds=8),
    Elementwise("abs", 1, "sfc", result="part", function="fabs", rounds=8),
    Elementwise("sign", 1, "sfc", rounds=8),
    # functions of floats
    Elementwise("sqrt", 1, "fc", function="sqrt", cost=8, keeps_nan=True, ulps=0.5, monotone=True),
    Elementwise("rsqrt", 1, "fc", function="rsqrt", cost=12, ulps=2),
    Elementwise("cbrt", 1, "fc", function="cbrt", cost=40, ulps=2, monotone=True),
    Elementwise("exponential", 1, "fc", function="exp", cost=20, ulps=3, monotone=True),
    Elementwise("exponential-minus-one", 1, "fc", function="expm1", cost=35, ulps=3, monotone=True),
    Elementwise("log", 1, "fc", function="log", cost=25, ulps=3, monotone=True),
    Elementwise("log-plus-one", 1, "fc", function="log1p", cost=35, ulps=2, monotone=True),
    Elementwise("logistic", 1, "fc", cost=30, ulps=8, monotone=True),
    Elementwise("tanh", 1, "fc", function="tanh", cost=40, ulps=5, monotone=True),
    Elementwise("sine", 1, "fc", function="sin", scalar=("f32",), cost=40, ulps=4),
    Elementwise("cosine", 1, "fc", function="cos", scalar=("f32",), cost=40, ulps=4),
    Elementwise("tan", 1, "fc", function="tan", scalar=("f32",), cost=50, ulps=5),
    Elementwise("asin", 1, "fc", kernels="f", function="asin", cost=30, ulps=4, monotone=True),
    Elementwise("acos", 1, "fc", kernels="f", function="acos", cost=30, ulps=4, monotone=True),
    Elementwise("atan2", 2, "fc", function="atan2", cost=50, ulps=6),
    Elementwise("sinh", 1, "fc", function="sinh", cost=40, ulps=4, monotone=True),
    Elementwise("cosh", 1, "fc", function="cosh", cost=30, ulps=4),
    Elementwise("asinh", 1, "fc", kernels="f", function="asinh", cost=50, ulps=4, monotone=True),
    Elementwise("acosh", 1, "fc", kernels="f", function="acosh", cost=50, ulps=4, monotone=True),
    Elementwise("atanh", 1, "fc", kernels="f", function="atanh", cost=50, ulps=5, monotone=True),
    Elementwise("erf", 1, "fc", kernels="f", function="erf", cost=40, ulps=16, monotone=True),
    Elementwise("floor", 1, "f", function="floor", rounds=8, monotone=True),
    Elementwise("ceil", 1, "f", function="ceil", rounds=8, monotone=True),
    Elementwise("round-nearest-afz", 1, "f", function="round", rounds=8, monotone=True),
    Elementwise("round-nearest-even", 1, "f", function="rint", rounds=8, monotone=True),
    Elementwise("is-finite", 1, "f", result="pred"),
    Elementwise(
        "reduce-precision", 1, "f", result="rule", attributes={"exponent_bits": "integer", "mantissa_bits": "integer"}),
    # bits
    Elementwise("and", 2, "psu", operator="&", pred_operator="&", wraps=False),
    Elementwise("or", 2, "psu", operator="|", pred_operator="|", wraps=False),
    Elementwise("xor", 2, "psu", operator="^", pred_operator="^", wraps=False),
    Elementwise("not", 1, "psu"),
    Elementwise("shift-left", 2, "su"),
    Elementwise("shift-right-arithmetic", 2, "su"),
    Elementwise("shift-right-logical", 2, "su"),
    Elementwise("mulhi", 2, "su", wraps=False),
    Elementwise("popcnt", 1, "su"),
    Elementwise("count-leading-zeros", 1, "su"),
    # choices between operands, and conversions between types
    Elementwise("compare", 2, ANY, result="rule", attributes={"direction": "direction", "type": "compare_type"},
                optional=("type",)),
    Elementwise("select", 3, ANY, result="rule", rounds=0, wraps=False),
    Elementwise("clamp", 3, ANY, result="rule", rounds=0, wraps=False),
    Elementwise("copy", 1, ANY, result="rule", rounds=0, wraps=False),
    Elementwise("convert", 1, ANY, result="rule"),
    Elementwise("bitcast-convert", 1, ANY, result="rule", rounds=0),
    Elementwise("real", 1, "fc", result="part"),
    Elementwise("imag", 1, "fc", result="part"),
    Elementwise("complex", 2, "f", result="rule", kernels="fc"),
)


def _integers(*names: str) -> "Dict[str, str]":
    return {name: "integers" for name in names}


_DIMENSIONS = _integers("dimensions")
_FACTORS = _integers("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
_SIDES = ("left_side", "lower", "unit_diagonal")
_NORM = {"epsilon": "number", "feature_index": "integer"}
_STRUCTURAL = (
    # leaves
    Structural("parameter", None, element="load"),
    Structural("constant", None, element="constant"),
    Structural("iota", 0, map="broadcast", element="iota", attributes={"iota_dimension": "integer"}),
    # moves
    Structural("broadcast", 1, map="broadcast", attributes=_DIMENSIONS, optional=("dimensions",)),
    Structural("transpose", 1, map="transpose", attributes=_DIMENSIONS),
    Structural("reshape", 1, map="reshape"),
    Structural("bitcast", 1, map="bitcast", element="apply"),
    Structural("slice", 1, map="slice", attributes={"slice": "slices"}),
    Structural("reverse", 1, map="reverse", attributes=_DIMENSIONS),
    Structural("pad", 2, map="pad", element="pad", attributes={"padding": "padding"}),
    Structural("concatenate", None, map="concatenate", element="concatenate", attributes=_DIMENSIONS),
    # moves whose indices are runtime values
    Structural("dynamic-slice", None, map="dynamic-slice", element="bind", attributes=_integers("dynamic_slice_sizes")),
    Structural("dynamic-update-slice", None, map="dynamic-update-slice", element="update"),
    Structural("gather", None, map="gather", element="bind",
               attributes={**_integers("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes",
                                       "operand_batching_dims", "start_indices_batching_dims"),
                           "index_vector_dim": "integer"},
               optional=("operand_batching_dims", "start_indices_batching_dims")),
    Structural(
        "scatter",
        None,
        map="scatter",
        element="scalar",  # the kernels are in gen/heroes/scatter.py
        attributes={**_integers("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
                                "input_batching_dims", "scatter_indices_batching_dims"),
                    "index_vector_dim": "integer", "to_apply": "computation"},
        optional=("input_batching_dims", "scatter_indices_batching_dims"),
    ),
    # loops
    Structural("reduce", None, map="reduce", element="reduce", attributes={**_DIMENSIONS, "to_apply": "computation"}),
    Structural("reduce-window", None, map="reduce-window", element="reduce",
               attributes={"window": "window", "to_apply": "computation"}, optional=("window",)),
    Structural("select-and-scatter", 3, map="select-and-scatter", element="window_scatter",
               attributes={"window": "window", "select": "computation", "scatter": "computation"},
               optional=("window",)),
    Structural("dot", 2, map="dot", element="product", attributes=_FACTORS, optional=tuple(_FACTORS)),
    Structural("scaled-dot", 4, map="scaled-dot", element="product", attributes=_FACTORS, optional=tuple(_FACTORS)),
    Structural("convolution", 2, map="convolution", element="product",
               attributes={"window": "window", "dim_labels": "labels", "feature_group_count": "integer",
                           "batch_group_count": "integer"},
               optional=("window", "feature_group_count", "batch_group_count")),
    # whole arrays
    Structural("sort", None, element="whole", optional=("is_stable",),
               attributes={**_DIMENSIONS, "is_stable": "boolean", "to_apply": "computation"}),
    Structural("topk", 1, element="whole", attributes={"k": "integer", "largest": "boolean"}, optional=("largest",)),
    # matrices (the last two dimensions)
    Structural("cholesky", 1, element="whole", attributes={"lower": "boolean"}, optional=("lower",)),
    Structural("triangular-solve", 2, element="whole",
               attributes={**dict.fromkeys(_SIDES, "boolean"), "transpose_a": "transpose"}, optional=_SIDES),
    # tuples, and calls, which are inlined
    Structural("tuple", None),
    Structural("get-tuple-element", 1, map="elementwise", attributes={"index": "integer"}),
    Structural("fusion", None, attributes={"kind": "kind", "calls": "computation"}),
    Structural("call", None, attributes={"to_apply": "computation"}),
    Structural("map", None, attributes={**_DIMENSIONS, "to_apply": "computation"}, optional=("dimensions",)),
    Structural("opt-barrier", 1),
    # ops whose kernels read and write whole arrays
    Structural("fft", 1, element=WHOLE, attributes={"fft_type": "transform", "fft_length": "integers"}),
    # composite ops, which are expanded (gen/hlo/random_bits.py, gen/hlo/batch_norm.py)
    Structural("rng-bit-generator", 1, attributes={"algorithm": "generator"}),
    Structural("batch-norm-training", 3, attributes=_NORM),
    Structural("batch-norm-inference", 5, attributes=_NORM),
    Structural("batch-norm-grad", 5, attributes=_NORM),
)

# ops by which gen/hlo/custom_calls.py replaces custom calls; HLO text never contains them
TRIDIAGONAL = ("tridiagonal-solve", "perturbed-tridiagonal-solve")
_MADE = tuple(Structural(opcode, None, element="whole") for opcode in (
    "lu", "qr", "householder-product", *TRIDIAGONAL, "eigh", "svd", "lapack"))

ELEMENTWISE: "Dict[str, Elementwise]" = {row.opcode: row for row in _ELEMENTWISE}
STRUCTURAL: "Dict[str, Structural]" = {row.opcode: row for row in (*_STRUCTURAL, *_MADE)}
# the ops that the checker has rules for; an op may still have no kernel
TABLE: "Dict[str, Union[Elementwise, Structural]]" = {**ELEMENTWISE, **STRUCTURAL}
# ops on matrices; the last two dimensions are rows and columns
MATRIX_OPS = frozenset(["cholesky", "triangular-solve", *(row.opcode for row in _MADE)])
# sums of products
CONTRACTIONS = frozenset(["dot", "scaled-dot", "convolution"])
# Ops whose elements depend on many elements of the operands, computed by a loop nest. gen/lower/select_and_scatter.py
# replaces select-and-scatter by window-choice and window-scatter.
LOOPS = CONTRACTIONS | frozenset(["reduce-window", "select-and-scatter", "window-choice", "window-scatter"])

# opcodes that are parsed and kept as written
_UNCHECKED = frozenset(
    """add-dependency after-all all-gather all-gather-done all-gather-start all-reduce all-reduce-done
    all-reduce-start all-to-all async-done async-start async-update
    collective-broadcast collective-permute collective-permute-done collective-permute-start conditional
    copy-done copy-start custom-call domain dynamic-reshape
    get-dimension-size infeed optimization-barrier outfeed partition-id ragged-all-to-all ragged-dot recv
    recv-done reduce-scatter replica-id rng rng-get-and-update-state scan send send-done
    set-dimension-size stochastic-convert while""".split()
)
OPCODES = frozenset(TABLE) - frozenset(row.opcode for row in _MADE) | _UNCHECKED
# Loops and branches. They do not become kernels: a program executes them. Their field `called` has the condition and
# the body of a while, or the branches of a conditional, the one for true first.
CONTROL = frozenset(["while", "conditional"])

# attributes that are allowed on every op and stay text
COMMON = frozenset(
    """metadata backend_config sharding frontend_attributes origin original_value control-predecessors statistics
    parameter_replication result_accuracy operand_precision outer_dimension_partitions inner_dimension_partitions
    execution_thread async_execution_thread output_to_operand_aliasing is_composite buffer_alignment
    indices_are_sorted unique_indices schedule_annotation algorithm cross_program_prefetch_index""".split()
)
# attributes that name computations
CALLING = frozenset(
    """to_apply calls condition body true_computation false_computation branch_computations select scatter
    called_computations""".split()
)


def is_opcode(opcode: str) -> bool:
    """Return true if a word is an opcode of HLO, or a part of an asynchronous op: `slice-start`, `slice-done`."""
    if opcode in OPCODES:
        return True
    base, _, suffix = opcode.rpartition("-")
    return suffix in ("start", "update", "done") and base in OPCODES


def is_whole(opcode: str) -> bool:
    """Return true for an op that reads and writes whole arrays."""
    row = STRUCTURAL.get(opcode)
    return row is not None and row.element == WHOLE
