"""What FILE names as a module: HLO text or StableHLO text, of a file, of one module in a file, or of standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Mapping, Optional, Sequence, Tuple

from gen import hlo, stablehlo
from gen.hlo import fill
from gen.suggest import did_you_mean
from gen.targets import RunError

NO_TEXT = "expected HLO text or StableHLO text in UTF-8, found other bytes: JAX prints StableHLO text by .lower(..).as_text()"
SUFFIXES = (".hlo", ".mlir")
NOTHING_SET: "Mapping[str, Sequence[int]]" = MappingProxyType({})


def split(file: str) -> "Tuple[str, str]":
    """The path of FILE or FILE#NAME, and the name of a module in it, "" where none is named."""
    path, _, name = file.rpartition("#")
    return (file, "") if not path or Path(file).exists() else (path, name)


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input for "-"; RunError where there is none."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{path}: {NO_TEXT}") from None
    except OSError as error:
        beside = sorted(other.name for suffix in SUFFIXES for other in Path(path).parent.glob("*" + suffix))
        raise RunError(f"{path}: {error.strerror}{did_you_mean(Path(path).name, beside)}") from None


def load(file: str, fill_constants: Optional[int] = None, sizes: "Mapping[str, Sequence[int]]" = NOTHING_SET) -> hlo.Module:
    """The module of a file, or FILE#NAME of a file with several, that the generator supports. HloError for anything
    else. sizes: of open dimensions of StableHLO text, by symbol or by the number of an argument."""
    path, name = split(file)
    text = text_of(path)
    filename = hlo.STANDARD_INPUT if path == "-" else path
    if stablehlo.is_stablehlo(text):
        module = stablehlo.parse(text, filename, sizes)
    elif name:
        found = [module for module in hlo.modules(text, filename) if module.name == name]
        if not found:
            raise RunError(f"{path}: expected a module '{name}'")
        (module,) = found
    else:
        module = hlo.parse(text, filename)
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
