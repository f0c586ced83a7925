"""Load the module that FILE names.

FILE is HLO text, StableHLO text or MLIR bytecode, one module of such a file (FILE#NAME), standard input (-), or a
function of JAX in a Python file (model.py:step).
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Mapping, Optional, Sequence, Tuple

from gen import from_jax, hlo, stablehlo
from gen.from_jax import bytecode
from gen.hlo import fill
from gen.suggest import did_you_mean
from gen.targets import RunError

NO_TEXT = "expected HLO text or StableHLO text in UTF-8, found other bytes: JAX prints StableHLO text by .lower(..).as_text()"
SUFFIXES = (".hlo", ".mlir", ".mlirbc")
NOTHING_SET: "Mapping[str, Sequence[int]]" = MappingProxyType({})


def split(file: str) -> "Tuple[str, str]":
    """Return the path of FILE or FILE#NAME, and the name of the module in it, or ""."""
    path, _, name = file.rpartition("#")
    return (file, "") if not path or Path(file).exists() else (path, name)


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input for "-"; MLIR bytecode is returned as JAX prints it. RunError if
    there is none."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return bytecode.text_of(path, data) if bytecode.is_bytecode(data) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{path}: {NO_TEXT}") from None
    except OSError as error:
        beside = sorted(other.name for suffix in SUFFIXES for other in Path(path).parent.glob("*" + suffix))
        raise RunError(f"{path}: {error.strerror}{did_you_mean(Path(path).name, beside)}") from None


def load(file: str, fill_constants: Optional[int] = None, sizes: "Mapping[str, Sequence[int]]" = NOTHING_SET) -> hlo.Module:
    """Return the supported module of a file, or FILE#NAME of a file with several. HloError otherwise. sizes: of open
    dimensions of StableHLO text, by symbol or by the number of an argument."""
    functions = from_jax.split_functions(file)
    if functions:
        if len(functions.names) > 1:
            raise RunError(f"{file}: expected one function")
        return of_function(from_jax.lowered(file, sizes)[0], file, fill_constants)
    return _supported(_read(file, sizes), fill_constants)


def of_function(function: from_jax.Lowered, file: str, fill_constants: Optional[int] = None) -> hlo.Module:
    """Return the module of a function in a Python file, with the function's name. A fault in its text also names the
    line of the Python file, if the text has it."""
    try:
        module = stablehlo.parse(function.text, file)
        module.name, module.several = function.name, True
        return _supported(module, fill_constants)
    except hlo.HloError as error:
        functions = from_jax.split_functions(file)
        line = from_jax.line_in(functions.path, function.text, error.line) if functions else None
        if functions is None or line is None:
            raise
        raise RunError(f"{functions.path}:{line}: {error.message}") from None


def _read(file: str, sizes: "Mapping[str, Sequence[int]]") -> hlo.Module:
    """Return the module of a text file, as written."""
    path, name = split(file)
    if path.endswith(".py"):
        raise RunError(f"{path}: expected a function of this file: {path}:NAME")
    text = text_of(path)
    filename = hlo.STANDARD_INPUT if path == "-" else path
    if stablehlo.is_stablehlo(text):
        return stablehlo.parse(text, filename, sizes)
    if not name:
        return hlo.parse(text, filename)
    found = [module for module in hlo.modules(text, filename) if module.name == name]
    if not found:
        raise RunError(f"{path}: expected a module '{name}'")
    return found[0]


def _supported(module: hlo.Module, fill_constants: Optional[int]) -> hlo.Module:
    """Return the module in the ops that the generator supports; HloError if that is impossible."""
    if fill_constants is not None:
        fill.fill_constants(module, fill_constants)
    hlo.expanded(module)
    hlo.without_single_steps(module)
    hlo.without_custom_calls(module)
    hlo.with_wide_matrices(module)
    hlo.without_complex_matrices(module)
    unsupported = hlo.unsupported(module) or hlo.misplaced(module)
    if unsupported:
        raise unsupported
    return module
