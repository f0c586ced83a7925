"""Load the module that the argument FILE names.

FILE is HLO text, StableHLO text or MLIR bytecode; one module of such a file (FILE#NAME); standard input (-); or a JAX
function in a Python file (model.py:step).
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
    """Split FILE#NAME into the path and the module's name; the name is "" if there is none."""
    path, _, name = file.rpartition("#")
    return (file, "") if not path or Path(file).exists() else (path, name)


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input for "-". MLIR bytecode is converted to text by JAX. Raise
    RunError if the file cannot be read.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return bytecode.text_of(path, data) if bytecode.is_bytecode(data) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{path}: {NO_TEXT}") from None
    except OSError as error:
        beside = sorted(other.name for suffix in SUFFIXES for other in Path(path).parent.glob("*" + suffix))
        raise RunError(f"{path}: {error.strerror}{did_you_mean(Path(path).name, beside)}") from None


def load(file: str, fill_constants: Optional[int] = None, sizes: "Mapping[str, Sequence[int]]" = NOTHING_SET) -> hlo.Module:
    """Return the module of a file. If the file has several modules, `file` is FILE#NAME. Raise HloError if the
    generator does not support the module.

    fill_constants: the seed of random values for constants whose values the text leaves out; None: no random values
    sizes: the sizes of dynamic dimensions in StableHLO text, by the dimension's symbol or the argument's number
    """
    functions = from_jax.split_functions(file)
    if functions:
        if len(functions.names) > 1:
            raise RunError(f"{file}: expected one function")
        return of_function(from_jax.lowered(file, sizes)[0], file, fill_constants)
    return _supported(_read(file, sizes), fill_constants)


def of_function(function: from_jax.Lowered, file: str, fill_constants: Optional[int] = None) -> hlo.Module:
    """Return the module of a JAX function in a Python file, named after the function. An error names the Python line
    that made the faulty op if the module's text has this line, else the line in the module's text.
    """
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
    """Return the module of a text file, before expansion of its ops."""
    path, name = split(file)
    if path.endswith(".py"):
        raise RunError(f"{path}: expected a function of this file: {path}:NAME")
    text = text_of(path)
    filename = hlo.STANDARD_INPUT if path == "-" else path
    if stablehlo.is_stablehlo(text):
        return stablehlo.parse(text, filename, sizes)
    if sizes:
        raise hlo.HloError(filename, 1, 1, f"expected no --dims, because HLO text has no open dimensions, found {next(iter(sizes))}")
    if not name:
        return hlo.parse(text, filename)
    found = [module for module in hlo.modules(text, filename) if module.name == name]
    if not found:
        raise RunError(f"{path}: expected a module '{name}'")
    return found[0]


def _supported(module: hlo.Module, fill_constants: Optional[int]) -> hlo.Module:
    """Return the module with its ops replaced by ops that the generator supports. Raise HloError if that is
    impossible.
    """
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
