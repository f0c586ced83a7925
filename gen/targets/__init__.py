"""The targets, one file each. To add a target, add its file, a template for the text around its kernels, and an entry
of `_MODULES`.
"""

from __future__ import annotations

from typing import Dict

from gen.targets import c, cuda, hip, opencl
from gen.targets.runner import Runner
from gen.targets.target import COMPLEX, FLOATS, INTEGERS, NARROW, SIGNED, SMALL, TINY, UNSIGNED, VECTOR, Target, bits
from gen.targets.tools import RunError, c_compiler, native

_MODULES = (cuda, hip, opencl, c)
TARGETS: Dict[str, Target] = {module.TARGET.name: module.TARGET for module in _MODULES}
# the runners, by their names in --target
RUNNERS: Dict[str, Runner] = {runner.name: runner for module in _MODULES for runner in module.RUNNERS}

__all__ = ["COMPLEX", "FLOATS", "INTEGERS", "NARROW", "RUNNERS", "RunError", "Runner", "SIGNED", "SMALL", "TARGETS",
           "TINY", "Target", "UNSIGNED", "VECTOR", "bits", "c_compiler", "native"]
