"""The table of StableHLO's ops: the opcode in HLO, and attribute names in the short form, in the generic form and in
HLO.

An op without a method has the operands of its HLO op, and its attributes are converted by their kinds. Every other op
has a method of its name in gen.stablehlo.ops.Lowering. REFUSED lists the ops of the specification that are not
supported, each with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Dict, Mapping, Tuple

from gen.suggest import did_you_mean


@dataclass(frozen=True)
class Row:
    """A row of the table.

    opcode: HLO's opcode; "" if a method chooses it
    attributes: generic name -> HLO's name; "" if a method reads the attribute
    short: name in the short form -> generic name; attributes without a name are "0", "1", ..
    kinds: generic name -> kind of the value
    """

    opcode: str = ""
    own: bool = False  # true if the op has a method of its own
    attributes: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    optional: Tuple[str, ...] = ()
    regions: int = 0    # number of regions; -1: any number
    others: bool = False  # true if attributes of any name are allowed
    operands: int = -1  # number of operands; -1: HLO's checker, or the method, checks it


_NONE: "Mapping[str, str]" = MappingProxyType({})


def _own(*attributes: str, short: "Mapping[str, str]" = _NONE, optional: "Tuple[str, ...]" = (), regions: int = 0,
         opcode: str = "", others: bool = False, operands: int = -1) -> Row:
    return Row(opcode, True, dict.fromkeys(attributes, ""), short, optional, regions, others, operands)


_ELEMENTWISE = """abs add and atan2 cbrt ceil clamp complex cosine count_leading_zeros divide exponential
    exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or popcnt
    power real remainder round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic
    shift_right_logical sign sine sqrt subtract tan tanh xor bitcast_convert""".split()
_ACCURACY = ("result_accuracy",)
_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")
_CONVOLUTION = ("dimension_numbers", "window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal",
                "feature_group_count", "batch_group_count", "precision_config")
_NORM = {"epsilon": "epsilon", "feature_index": "feature_index"}
_GATHER = ("dimension_numbers", "slice_sizes", "indices_are_sorted")
_GROUPS = ("replica_groups", "channel_handle", "use_global_device_ids", "channel_id")

# the rows of the table, by the op's name without the leading "stablehlo."
ROWS: "Dict[str, Row]" = {
    **{name: Row(name.replace("_", "-"), attributes={"result_accuracy": ""}, optional=_ACCURACY) for name in _ELEMENTWISE},
    "convert": _own(opcode="convert"),
    "compare": _own("comparison_direction", "compare_type", short={"0": "comparison_direction", "1": "compare_type"},
                    optional=("compare_type",), opcode="compare"),
    "reduce_precision": _own("exponent_bits", "mantissa_bits", short={"format": "format"}, opcode="reduce-precision",
                             optional=("exponent_bits", "mantissa_bits", "format")),
    # leaves
    "constant": _own("value", opcode="constant"),
    "iota": _own("iota_dimension", short={"dim": "iota_dimension"}, opcode="iota"),
    "dynamic_iota": _own("iota_dimension", short={"dim": "iota_dimension"}, opcode="iota", operands=1),
    # moves
    "broadcast": _own("broadcast_sizes", short={"sizes": "broadcast_sizes"}, opcode="broadcast", operands=1),
    "broadcast_in_dim": _own("broadcast_dimensions", short={"dims": "broadcast_dimensions"}, opcode="broadcast",
                             operands=1),
    "dynamic_broadcast_in_dim": _own(
        "broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions", opcode="broadcast", operands=2,
        short={"dims": "broadcast_dimensions"}, optional=("known_expanding_dimensions", "known_nonexpanding_dimensions")),
    "transpose": _own("permutation", short={"dims": "permutation"}, opcode="transpose", operands=1),
    "reshape": Row("reshape"),
    "dynamic_reshape": _own(opcode="reshape", operands=2),
    "slice": _own("start_indices", "limit_indices", "strides", short={"0": "start_indices"}, opcode="slice"),
    "real_dynamic_slice": _own(opcode="slice", operands=4),
    "reverse": Row("reverse", attributes={"dimensions": "dimensions"}, short={"dims": "dimensions"}),
    "pad": _own("edge_padding_low", "edge_padding_high", "interior_padding", opcode="pad",
                short={"low": "edge_padding_low", "high": "edge_padding_high", "interior": "interior_padding"}),
    "dynamic_pad": _own(opcode="pad", operands=5),
    "concatenate": _own("dimension", short={"dim": "dimension"}, opcode="concatenate"),
    "dynamic_slice": Row("dynamic-slice", attributes={"slice_sizes": "dynamic_slice_sizes"}, short={"sizes": "slice_sizes"}),
    "dynamic_update_slice": Row("dynamic-update-slice"),
    "gather": _own(*_GATHER, optional=("indices_are_sorted",), opcode="gather"),
    "dynamic_gather": _own("dimension_numbers", "indices_are_sorted", optional=("indices_are_sorted",), opcode="gather",
                           operands=3),
    "scatter": _own("scatter_dimension_numbers", "indices_are_sorted", "unique_indices", regions=1, opcode="scatter",
                    optional=("indices_are_sorted", "unique_indices")),
    # loops
    "reduce": _own("dimensions", regions=1, opcode="reduce"),
    "reduce_window": _own(*_WINDOW, regions=1, optional=_WINDOW[1:], opcode="reduce-window"),
    "select_and_scatter": _own("window_dimensions", "window_strides", "padding", regions=2, opcode="select-and-scatter",
                               optional=("window_dimensions", "window_strides", "padding")),
    "dot": _own("precision_config", short={"precision": "precision_config"}, optional=("precision_config",), opcode="dot"),
    "dot_general": _own("dot_dimension_numbers", "precision_config", "algorithm", "batching_dims", "contracting_dims",
                        opcode="dot", short={"precision": "precision_config"}, operands=2,
                        optional=("dot_dimension_numbers", "precision_config", "algorithm", "batching_dims",
                                  "contracting_dims")),
    "convolution": _own(*_CONVOLUTION, optional=_CONVOLUTION[1:], opcode="convolution", operands=2),
    "dynamic_conv": _own(*_CONVOLUTION, optional=_CONVOLUTION[1:], opcode="convolution", operands=3),
    # whole arrays
    "sort": _own("dimension", "is_stable", optional=("dimension", "is_stable"), regions=1, opcode="sort"),
    "cholesky": Row("cholesky", attributes={"lower": "lower"}, optional=("lower",)),
    "triangular_solve": Row("triangular-solve", attributes={name: name for name in (
        "left_side", "lower", "unit_diagonal", "transpose_a")}),
    "fft": Row("fft", attributes={"fft_type": "fft_type", "fft_length": "fft_length"},
               short={"type": "fft_type", "length": "fft_length"}),
    # composite ops
    "rng_bit_generator": _own("rng_algorithm", short={"algorithm": "rng_algorithm"}, opcode="rng-bit-generator"),
    "rng": _own("rng_distribution", short={"distribution": "rng_distribution"}, opcode="rng", operands=3),
    "batch_norm_training": Row("batch-norm-training", attributes=_NORM),
    "batch_norm_inference": Row("batch-norm-inference", attributes=_NORM),
    "batch_norm_grad": Row("batch-norm-grad", attributes=_NORM),
    # tuples, control flow, calls
    "tuple": Row("tuple"),
    "get_tuple_element": Row("get-tuple-element", attributes={"index": "index"}, short={"0": "index"}),
    "map": _own("dimensions", regions=1, opcode="map"),
    "optimization_barrier": _own(opcode="opt-barrier"),
    "while": _own(regions=2, opcode="while"),
    "if": _own(regions=2, opcode="conditional", operands=1),
    "case": _own(regions=-1, opcode="conditional"),
    "custom_call": _own("call_target_name", "has_side_effect", "backend_config", "api_version", "called_computations",
                        "operand_layouts", "result_layouts", "output_operand_aliases", opcode="custom-call", others=True,
                        optional=("has_side_effect", "backend_config", "api_version", "called_computations",
                                  "operand_layouts", "result_layouts", "output_operand_aliases")),
    "composite": _own("name", "composite_attributes", "decomposition", "version", short={"0": "name"}, opcode="call",
                      optional=("composite_attributes", "version", "composite_regions")),
    # sizes
    "get_dimension_size": _own("dimension", short={"dim": "dimension"}, opcode="get-dimension-size", operands=1),
    "set_dimension_size": _own("dimension", short={"dim": "dimension"}, opcode="set-dimension-size", operands=2),
    # collectives; the program runs on one device
    "after_all": _own(opcode="after-all"),
    "create_token": _own(opcode="after-all"),
    "partition_id": _own(opcode="partition-id"),
    "replica_id": _own(opcode="replica-id"),
    "all_reduce": _own(*_GROUPS, optional=_GROUPS, regions=1, opcode="all-reduce"),
    "all_gather": _own("all_gather_dim", *_GROUPS, optional=_GROUPS, opcode="all-gather"),
    "all_to_all": _own("split_dimension", "concat_dimension", "split_count", *_GROUPS, optional=_GROUPS,
                       opcode="all-to-all"),
    "reduce_scatter": _own("scatter_dimension", *_GROUPS, optional=_GROUPS, regions=1, opcode="reduce-scatter"),
    "collective_permute": _own("source_target_pairs", *_GROUPS, optional=_GROUPS, opcode="collective-permute"),
    "collective_broadcast": _own(*_GROUPS, optional=_GROUPS, opcode="collective-broadcast"),
}

# attributes that any op may have and that only set layouts, so they do not change values
OF_LAYOUT = ("result_layout", "source_layout", "xla_shape")

# ops of the specification, or of earlier versions of it, that are not supported
REFUSED: "Dict[str, str]" = {
    "uniform_quantize": "there are no kernels for quantised types",
    "uniform_dequantize": "there are no kernels for quantised types",
    "infeed": "a function has no host beside it that feeds it",
    "outfeed": "a function has no host beside it that it feeds",
    "send": "a function runs on one device",
    "recv": "a function runs on one device",
    "async_start": "a function runs on one device",
    "async_done": "a function runs on one device",
    "cross-replica-sum": "it was removed from StableHLO: all_reduce has taken its place",
    "einsum": "it was removed from StableHLO: dot_general has taken its place",
    "unary_einsum": "it was removed from StableHLO: reduce and transpose have taken its place",
    "torch_index_select": "gather says the same",
    "trace": "it was removed from StableHLO",
}

# ops of CHLO that are not supported
REFUSED_CHLO: "Dict[str, str]" = {
    "scan": "while says the same",
    "dynamic_reshape": "stablehlo.dynamic_reshape says the same",
    "minimum_broadcast_shapes": "it computes shapes, which are known when the code is generated",
    "rank_specialization_cluster": "arrays have a known number of dimensions",
}

# elementwise ops of CHLO; gen/stablehlo/chlo.py replaces most of them by ops of HLO
CHLO: "Dict[str, Row]" = {
    **{name: Row(f"chlo.{name}") for name in """acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv
       erfc is_inf is_neg_inf is_pos_inf lgamma next_after polygamma sinh square tan zeta""".split()},
    "mulhi": Row("mulhi"),
    "top_k": _own("k", opcode="topk"),
    "constant": _own("value", opcode="constant"),
    "constant_like": _own("value", opcode="constant", operands=1),
    "ragged_dot": _own("ragged_dot_dimension_numbers", "precision_config", opcode="ragged-dot",
                       optional=("precision_config",)),
    **{f"broadcast_{name}": _own("broadcast_dimensions", "comparison_direction", "compare_type", opcode=opcode,
                                 optional=("broadcast_dimensions", "comparison_direction", "compare_type"))
       for name, opcode in [*((name, name.replace("_", "-")) for name in """add and atan2 compare complex divide maximum
           minimum multiply or power remainder select shift_left shift_right_arithmetic shift_right_logical subtract
           xor""".split()), ("next_after", "chlo.next_after"), ("polygamma", "chlo.polygamma"), ("zeta", "chlo.zeta")]},
}

FUNC = {"call": _own("callee", opcode="call")}
# ops of Shardy that annotate an array's placement, which has no effect on one device
SDY = {name: _own("sharding", opcode="copy", operands=1) for name in ("sharding_constraint", "reshard")}

# the full name of an op -> {an attribute's name in the short form: its generic name}
SHORT: "Dict[str, Dict[str, str]]" = {**{f"stablehlo.{name}": dict(row.short) for name, row in ROWS.items()},
                                      **{f"chlo.{name}": dict(row.short) for name, row in CHLO.items()}}
# full names of the ops whose short form has operands only, and no attributes
PLAIN = frozenset([f"stablehlo.{name}" for name, row in ROWS.items() if not row.short and row.regions == 0
                   and not [key for key in row.attributes if key not in row.optional] and name not in ("custom_call", "dot_general")])


def row_of(name: str) -> "Row | None":
    """Return the row of an op, given its full name; None if there is none."""
    dialect, _, rest = name.partition(".")
    return _DIALECTS.get(dialect, {}).get(rest)


_DIALECTS = {"stablehlo": ROWS, "mhlo": ROWS, "chlo": CHLO, "func": FUNC, "sdy": SDY}
RETURNS = ("func.return", "stablehlo.return", "mhlo.return")


def unknown(full: str) -> str:
    """Return an error text for an op that has no row; "" for an op that has one."""
    if full in RETURNS or row_of(full):
        return ""
    dialect, _, name = full.partition(".")
    found = f"found '{full[:60]}'"
    refused = REFUSED if dialect in ("stablehlo", "mhlo") else REFUSED_CHLO if dialect == "chlo" else {}
    if name in refused:
        return f"{full}: there is no kernel for it: {refused[name]}"
    if dialect in ("stablehlo", "mhlo"):
        return f"expected an op of StableHLO, {found}{did_you_mean(name[:60], [*ROWS, *REFUSED])}"
    if dialect == "chlo":
        return f"expected an op of CHLO, {found}{did_you_mean(name[:60], CHLO)}"
    near = f", did you mean 'stablehlo.{full}'?" if full in ROWS else ""
    return f"expected an op of stablehlo, chlo or func, {found}{near}"
