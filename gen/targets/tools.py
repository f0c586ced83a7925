"""The compilers of this machine."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Tuple

from gen import child

ROOT = Path(__file__).resolve().parent.parent.parent


class RunError(Exception):
    """An error that stops a command. status: 2 for bad input, 3 for a missing tool or device, 1 for a wrong kernel."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def _first(what: str, instead: str, *names: str, variable: str = "") -> str:
    """Return the program that the environment variable `variable` names, else the first installed program of `names`.
    """
    named = os.environ.get(variable, "")
    if named and not shutil.which(named):
        raise RunError(f"{variable}: expected the name or the path of a {what}, found '{named}'", 3)
    for name in [named] * bool(named) + [*names]:
        if shutil.which(name):
            return name
    raise RunError(f"no {what}; instead, {instead}", 3)


def c_compiler() -> str:
    """Return the C compiler: $CC if it is set, else the first installed one of cc, gcc and clang."""
    return _first("C compiler", "install gcc or clang, or name one in CC", "cc", "gcc", "clang", variable="CC")


def cxx_compiler() -> str:
    """Return the C++ compiler: $CXX if it is set, else the first installed one of g++, clang++ and c++."""
    return _first("C++ compiler", "install g++ or clang++, or name one in CXX", "g++", "clang++", "c++",
                  variable="CXX")


def nvcc() -> str:
    return _first("nvcc", "install the CUDA toolkit, or run the same kernels with --target cuda-on-cpu", "nvcc")


def hipcc() -> str:
    return _first("hipcc", "install hipcc, or run the same kernels with --target hip-on-cpu", "hipcc")


def native() -> "Tuple[str, ...]":
    """Return the options by which the C compiler uses this machine's instructions, if the compiler knows such options.
    """
    return _native_of(c_compiler())


@lru_cache(maxsize=None)
def _native_of(compiler: str) -> "Tuple[str, ...]":
    def known(*words: str) -> "Tuple[str, ...]":
        done = child.run([compiler, *words, "-x", "c", "-fsyntax-only", os.devnull])
        return words if done.status == 0 else ()
    here = known("-march=native")
    macros = child.compiler([compiler, *here, "-x", "c", "-dM", "-E", os.devnull]).out
    if "__AVX2__" in macros and "__AVX512F__" not in macros and "__clang__" not in macros:
        return known(*here, "-mmove-max=256", "-mstore-max=256") or here    # unknown to gcc before 12
    return here
