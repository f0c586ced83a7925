"""Write main.c beside the program of a JAX function. main.c calls the program with the values of the function's example
and compares the results with those of JAX.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

from gen.emit.templates import environment
from gen.hlo import dtypes
from gen.reference.library import Calls
from gen.reference.types import STORAGE, to_double


@dataclass(frozen=True)
class _Float:
    """A float type whose results are compared by distance.

    value: the C expression that converts a stored value x to a number
    """

    name: str
    storage: str
    per_byte: int
    value: str
    tolerance: str


@dataclass(frozen=True)
class _Result:
    """A result to compare.

    type: a _Float's name, or "exact" for bytes
    length: the number of elements, or of bytes
    """

    type: str
    length: int


@dataclass(frozen=True)
class _Function:
    """A function and its example.

    params: the number of parameters without the weights
    weights: the file of the weights, or ""
    leads: the leading dimensions that main.c passes: the lengths of rows, because its arrays are dense
    """

    name: str
    example: str
    params: int
    results: "List[_Result]"
    aliases: "List[Tuple[int, int]]"
    weights: str
    leads: "List[int]"


def files(functions: "Sequence[Tuple[Dict[str, Any], bytes]]", path: str) -> "Dict[str, str | bytes]":
    """Return main.c, and for each function a file with its arguments and results.

    functions: manifests, with the bytes of their examples
    """
    call = Calls()
    floats: "Dict[str, _Float]" = {}
    made = [_function(about, call, floats) for about, _ in functions]
    text = environment().get_template("files/main.c.j2").render(
        functions=made, path=path, texts=list(call.texts.values()), types=list(floats.values()),
        exact=any(result.type == "exact" for f in made for result in f.results), command=command(functions),
        headers=list(dict.fromkeys(about["files"]["header"] for about, _ in functions)),
        tolerances=", ".join(f"{of.tolerance} of {of.name}" for of in floats.values()) or "none here")
    return {"main.c": text, **{f.example: data for f, (_, data) in zip(made, functions)}}


def command(functions: "Sequence[Tuple[Dict[str, Any], bytes]]") -> str:
    """Return the command that compiles main.c in its folder."""
    abouts = [about for about, _ in functions]
    sources = dict.fromkeys(about["files"]["c"] for about in abouts)
    libraries = dict.fromkeys(name for about in abouts for name in about.get("libraries", ()))
    return " ".join(["cc -O3 -march=native main.c", *sources, "-lm", *libraries])


def _function(about: "Dict[str, Any]", call: Calls, floats: "Dict[str, _Float]") -> _Function:
    results = [_result(entry, call, floats) for entry in about["results"]]
    leads = [of["lead"] for side in ("params", "results") for of in about[side] if "lead" in of]
    return _Function(about["name"], f"{about['name']}.example", len(about["params"]), results,
                     [(of["result"], of["parameter"]) for of in about["aliases"]], about["files"].get("weights", ""),
                     [of["least"] for of in sorted(leads, key=lambda of: int(of["number"]))])


def _result(entry: "Dict[str, Any]", call: Calls, floats: "Dict[str, _Float]") -> _Result:
    """Return how a result is compared: as which type, and with how many elements. Add a float type to `floats`."""
    dtype, length = entry["dtype"], entry["elements"]
    if dtypes.is_complex(dtype):
        dtype, length = dtypes.TABLE[dtype].part, 2 * length
    row = dtypes.TABLE[dtype]
    if row.kind != "float":
        return _Result("exact", entry["bytes"])
    tolerance = f"{math.sqrt(2.0 ** -row.mantissa):.2g}"
    floats.setdefault(dtype, _Float(dtype, STORAGE[dtype], dtypes.per_byte(dtype), to_double(call, dtype, "x"), tolerance))
    return _Result(dtype, length)
