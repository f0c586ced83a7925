"""Write NAME_jax.c, NAME_jax_cuda.c and NAME_jax.py, which make the generated function callable from JAX through XLA's
foreign function interface, on CPUs and on NVIDIA's GPUs.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional

from gen.emit.templates import environment
from gen.from_jax.functions import Lowered
from gen.hlo import dtypes
from gen.hlo.reserved import unique
from gen.targets import RunError

_INCLUDE = '$(python3 -c "import jax.ffi; print(jax.ffi.include_dir())")'
_WORDS = {"pred": "bool", "s": "int", "u": "uint", "f": "float", "bf": "bfloat", "c": "complex"}


class Handler(NamedTuple):
    """The handler of a target: the C function through which XLA calls the program.

    platform: JAX's name of the platform
    template: the template that prints the handler's file
    file, symbol: the names of this file and of the C function, with {} for the program's name
    """

    platform: str
    template: str
    file: str
    symbol: str


TARGETS = {"c": Handler("cpu", "files/jax.c.j2", "{}_jax.c", "{}_jax"),
           "cuda": Handler("CUDA", "files/jax_cuda.c.j2", "{}_jax_cuda.c", "{}_jax_cuda")}


def files(about: "Dict[str, Any]", file: str, function: "Optional[Lowered]" = None) -> "Dict[str, str]":
    """Return NAME_jax.py and the file of each target's handler. Raise RunError unless all arrays are dense, row-major
    and have elements of whole bytes, as JAX passes them. Also raise it if a GPU would need a copy of the program's
    constants.

    about: the program's manifest
    function: the JAX function that the program was lowered from, whose arguments and results may be trees. None: each
        argument is an array, and the result is a list of arrays.
    """
    for kind, number, entry in [*(("parameter", *of) for of in enumerate(about["params"])),
                                *(("result", *of) for of in enumerate(about["results"]))]:
        if not entry["row_major"] or entry["dtype"] in dtypes.PACKED or entry["positions"] != entry["elements"]:
            raise RunError(f"{file}: --wrap jax: expected row-major arrays with elements of whole bytes, found {entry['shape']} "
                           f"as {kind} {number}")
    name, targets = about["name"], {target: about["targets"][target] for target in TARGETS if target in about["targets"]}
    weights = about["files"].get("weights", "")
    if weights and "cuda" in targets:
        raise RunError(f"{file}: --wrap jax: expected no --target cuda: {weights} has constants, which the caller would have "
                       "to copy to the GPU")
    values = {"name": name, "header": about["files"]["header"], "weights": weights}
    commands = {target: _command(about, target) for target in targets}
    handlers = {TARGETS[target].file.format(name): environment().get_template(TARGETS[target].template).render(
        **values, command=commands[target], params=len(about["params"]), results=len(about["results"]),
        state=of["state_bytes"] > 0) for target, of in targets.items()}
    python = environment().get_template("files/jax.py.j2").render(
        **values, **_arguments(about, function), scratch_bytes=max(of["scratch_bytes"] for of in targets.values()),
        commands=list(commands.values()), platforms={TARGETS[target].platform: TARGETS[target].symbol.format(name)
                                                     for target in targets},
        params=[_shape(entry) for entry in about["params"]], results=[_shape(entry) for entry in about["results"]],
        aliases={of["parameter"]: of["result"] for of in about["aliases"]},
        wide=any(dtypes.TABLE[dtypes.TABLE[of["dtype"]].part or of["dtype"]].bits == 64
                 for of in (*about["params"], *about["results"])))
    return {**handlers, f"{name}_jax.py": python}


def _command(about: "Dict[str, Any]", target: str) -> str:
    """Return the command that links a handler's library."""
    name, source = about["name"], about["files"][target]
    if target == "cuda":
        words = [f"nvcc -O3 -arch={about['targets'][target]['device']} -shared -Xcompiler -fPIC"]
    else:
        words = ["cc -O3 -march=native -shared -fPIC"]
    words += [f"-I{_INCLUDE}", source, TARGETS[target].file.format(name), "-lm", *about.get("libraries", ())]
    return " ".join([*words, f"-o lib{TARGETS[target].symbol.format(name)}.so"])


def _shape(entry: "Dict[str, Any]") -> str:
    return f'({tuple(entry["dims"])}, "{dtype_name(entry["dtype"])}")'


def dtype_name(dtype: str) -> str:
    """Return NumPy's name of an HLO type: float32 for f32, float8_e4m3fn for f8e4m3fn."""
    if dtype in _WORDS:
        return _WORDS[dtype]
    kind = dtype.rstrip("0123456789") if "e" not in dtype else "f"
    if "e" in dtype:
        bits, e, rest = dtype[1:].partition("e")
        return f"float{bits}_{e}{rest}"
    return _WORDS[kind] + dtype[len(kind):]


def _arguments(about: "Dict[str, Any]", function: "Optional[Lowered]") -> "Dict[str, Any]":
    """Return the parts of the Python function as text: its signature, the arrays that it passes on, and its return
    value.
    """
    if function:
        names = [of.partition("=")[0] for of in function.signature]
        return {"signature": ", ".join(function.signature), "arguments": "".join(f"{of}, " for of in names).strip(),
                "kept": list(function.kept), "returned": function.returned}
    taken: "set[str]" = {"jax", "jnp", "ctypes", "os", about["name"]}
    names = [unique(of["name"], taken) for of in about["params"]]
    return {"signature": ", ".join(names), "arguments": ", ".join(names), "kept": None,
            "returned": "r[0]" if len(about["results"]) == 1 else f"tuple(r[:{len(about['results'])}])"}
