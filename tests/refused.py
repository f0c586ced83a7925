"""The HLO files of other projects (../shared/peer/fusions) that gen refuses, with the reason for each. If gen learns to
accept a file, its entry here must go.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, Iterable

REFUSED = {name: why for why, names in {
    "'all-gather' is between devices, and a kernel runs on one": "indexing_analysis_26",
    "'reduce-scatter' is between devices, and a kernel runs on one": "dynamic_slice_fusion_1 dynamic_slice_fusion_5",
    "expected elements at the positions of its operand's": "memory_space_propagation_10 memory_space_propagation_5",
    "expected numbers of one kind": "support_legacy_1",
    "expected an array in one memory, to which a kernel has one pointer": "memory_space_propagation_11 memory_space_propagation_12",
    "expected the name of a computation defined before": """
        copy_fusion_3 gpu_fusible_12 gpu_fusible_34 gpu_fusible_35 gpu_fusible_38 gpu_fusible_4 gpu_fusible_43 multi_output_fusion_1
        multi_output_fusion_10 multi_output_fusion_28 multi_output_fusion_4 multi_output_fusion_42 multi_output_fusion_43
        multi_output_fusion_45 multi_output_fusion_47 multi_output_fusion_5 multi_output_fusion_51 multi_output_fusion_52
        multi_output_fusion_53 multi_output_fusion_54 multi_output_fusion_7 multioutput_fusion_10 multioutput_fusion_14 multioutput_fusion_6
        multioutput_fusion_8 reduction_utils_3 reduction_utils_4 reduction_utils_7""",
    "the values are left out of the text": "gpu_hlo_cost_analysis_2",
}.items() for name in names.split()}


def reason(message: str) -> str:
    """Return the reason that a message gives, without the details."""
    return re.split(r"; instead|: |, found| \(", re.sub(r"^'[a-z-]+': ", "", message))[0]


def among(paths: "Iterable[Path]") -> "Dict[str, str]":
    """Return the files among `paths` that gen must refuse, with the reason for each."""
    return {path.stem: REFUSED[path.stem] for path in paths if path.parent.name == "fusions" and path.parent.parent.name != "jax" and path.stem in REFUSED}
