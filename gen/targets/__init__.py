"""The targets: a file each. Adding one: its file, the template around its kernels, and a row here."""

from __future__ import annotations

from typing import Dict

from gen.targets import c, cuda, opencl
from gen.targets.target import COMPLEX, FLOATS, INTEGERS, NARROW, SIGNED, SMALL, TINY, UNSIGNED, VECTOR, Target, bits

TARGETS: Dict[str, Target] = {one.TARGET.name: one.TARGET for one in (opencl, cuda, c)}

__all__ = ["COMPLEX", "FLOATS", "INTEGERS", "NARROW", "SIGNED", "SMALL", "TARGETS", "TINY", "UNSIGNED", "VECTOR", "Target", "bits"]
