"""A separate process that imports a user's file and lowers its functions with JAX to StableHLO text.

    python3 lower.py FOLDER

It reads the request FOLDER/request.json (see `gen.from_jax.functions`). It writes the answer FOLDER/answer.json, and
for each function NAME.mlir and, if the example is requested, NAME.example: the bytes of the arguments, then those of
the results, each array padded to a multiple of 64 bytes.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

ALIGNMENT = 64
MISSING = 3     # exit status if jax is missing


class Fault(Exception):
    """A fault of the user's file.

    line: its line there; None if no line causes it
    """

    def __init__(self, message: str, line: "Optional[int]" = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def imported(path: str) -> Any:
    """Return the user's file as a module."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def as_fault(error: BaseException, path: str, line: "Optional[int]" = None) -> Fault:
    """Return a fault for an exception. Its line is the last line of the user's file in the traceback, else `line`."""
    text = (str(error).strip().splitlines() or [""])[0]
    if isinstance(error, SyntaxError) and error.filename == path:
        return Fault(f"{type(error).__name__}: {error.msg}", error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return Fault(f"{type(error).__name__}: {text}" if text else type(error).__name__, lines[-1] if lines else line)


def leaves(name: str, value: Any) -> "List[Tuple[str, Any]]":
    """Return the arrays of an argument, which may be a tree, with the names that JAX gives them, such as params['w'].
    """
    from jax import tree_util
    return [(name + tree_util.keystr(path), leaf) for path, leaf in tree_util.tree_flatten_with_path(value)[0]]


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex)) or hasattr(leaf, "shape") and hasattr(leaf, "dtype")


class Example:
    """The arguments of a function, taken from the defaults of its parameters or from --dims."""

    def __init__(self, function: Any, name: str, line: "Optional[int]", sizes: "Dict[str, List[int]]") -> None:
        import jax
        self.jax, self.name, self.line, self.sizes = jax, name, line, sizes
        self.used: "set[str]" = set()
        self.positional: List[Any] = []
        self.named: Dict[str, Any] = {}
        self.static: List[str] = []  # parameters whose defaults are not arrays; they are fixed to their defaults
        self.signature: List[str] = []      # the parameters that are not static, as Python text
        self.parameters: List[str] = []     # names of the positional arguments
        self.names: List[str] = []      # names of the arrays
        for number, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                self._take(number, parameter)

    def _take(self, number: int, parameter: inspect.Parameter) -> None:
        value = self._sized(number, parameter)
        if parameter.kind is parameter.KEYWORD_ONLY:
            self.named[parameter.name] = value
        else:
            self.positional.append(value)
            self.parameters.append(parameter.name)
        found = leaves(parameter.name, value)
        if not all(is_array(leaf) for _, leaf in found):
            self.static.append(parameter.name)
            return
        self.names += [name for name, _ in found]
        plain = value is None or type(value) in (bool, int, float)
        self.signature.append(f"{parameter.name}={value!r}" if plain else parameter.name)

    def _sized(self, number: int, parameter: inspect.Parameter) -> Any:
        """Return a parameter's default with its open dimensions set. If it has no default, return an f32 array of the
        sizes that --dims gives.
        """
        jax, default = self.jax, parameter.default
        dims = self.sizes.get(str(number))
        self.used.add(str(number))
        if default is parameter.empty and dims is None:
            raise Fault(f"argument '{parameter.name}' of '{self.name}' has no default: expected an array or a "
                        f"jax.ShapeDtypeStruct there, or the sizes of an f32 array: --dims {number}=8x128", self.line)
        if default is parameter.empty:
            return jax.ShapeDtypeStruct(tuple(dims or ()), jax.numpy.float32)
        if dims is not None:
            if not isinstance(default, jax.ShapeDtypeStruct) or len(dims) != len(default.shape):
                raise Fault(f"argument '{parameter.name}' of '{self.name}': expected a jax.ShapeDtypeStruct of "
                            f"{len(dims)} dimensions as its default beside --dims {number}=..", self.line)
            return jax.ShapeDtypeStruct(tuple(dims), default.dtype)
        return jax.tree_util.tree_map(self._closed, default)

    def _closed(self, leaf: Any) -> Any:
        """Return a jax.ShapeDtypeStruct with its symbols replaced by sizes. Return other values unchanged."""
        jax = self.jax
        if not isinstance(leaf, jax.ShapeDtypeStruct) or all(isinstance(size, int) for size in leaf.shape):
            return leaf
        return jax.ShapeDtypeStruct(tuple(map(self._size, leaf.shape)), leaf.dtype)

    def _size(self, size: Any) -> int:
        """Evaluate an expression of symbols, such as 2*b + 1."""
        names = re.findall(r"[A-Za-z_]\w*\b(?!\()", str(size))
        missing = [name for name in names if name not in self.sizes]
        if missing:
            raise Fault(f"expected the size of '{missing[0]}' in an argument of '{self.name}': --dims {missing[0]}=8",
                        self.line)
        self.used.update(names)
        functions = {"max": max, "min": min, "mod": lambda a, b: a % b, "floordiv": lambda a, b: a // b}
        values = {name: self.sizes[name][0] for name in names}
        return int(eval(str(size).replace("^", "**"), {"__builtins__": {}, **functions}, values))

    def with_values(self) -> "Tuple[List[Any], Dict[str, Any]]":
        """Return the arguments with each jax.ShapeDtypeStruct replaced by random values, which are the same in every
        run.
        """
        import numpy
        drawn = numpy.random.default_rng(0)
        return self.jax.tree_util.tree_map(lambda leaf: self._drawn(leaf, drawn), (self.positional, self.named))

    def _drawn(self, leaf: Any, drawn: Any) -> Any:
        """Return random values: normally distributed floats, integers from 0 to 7, booleans, or PRNG keys."""
        jax = self.jax
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), leaf.shape)
        kind = jax.numpy.dtype(leaf.dtype)
        if jax.numpy.issubdtype(kind, jax.numpy.integer):
            return drawn.integers(0, min(8, int(jax.numpy.iinfo(kind).max) + 1), leaf.shape).astype(kind)
        if kind == "bool":
            return drawn.integers(0, 2, leaf.shape).astype(kind)
        values = drawn.standard_normal(leaf.shape)
        if jax.numpy.issubdtype(kind, jax.numpy.complexfloating):
            values = values + 1j * drawn.standard_normal(leaf.shape)
        return jax.numpy.asarray(values).astype(kind)


def packed(leaf: Any) -> bytes:
    """Return the bytes of an array in row-major order, padded to a multiple of 64 bytes. Elements of 4 and 2 bits are
    packed, low bits first.
    """
    import jax
    import numpy
    if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = numpy.asarray(jax.numpy.asarray(leaf))
    bits = re.fullmatch(r"u?int([24])|float(4)_.*", array.dtype.name)
    if bits:
        width = int(bits[1] or bits[2])
        each = array.reshape(-1).view(numpy.uint8) & ((1 << width) - 1)
        each = numpy.pad(each, (0, -len(each) % (8 // width))).reshape(-1, 8 // width)
        array = (each << (numpy.arange(8 // width, dtype=numpy.uint8) * width)).sum(1).astype(numpy.uint8)
    data = array.tobytes()
    return data + bytes(-len(data) % ALIGNMENT)


def argument_names(lowered: Any) -> List[str]:
    """Return the names of the arrays that are arguments of the lowered function, which has no unused arguments."""
    main = next(op for op in lowered.compiler_ir().body.operations
                if op.operation.name == "func.func" and op.attributes["sym_name"].value == "main")
    places = [re.search(r'loc\("((?:[^"\\]|\\.)*)"', str(argument.location)) for argument in main.arguments]
    return [place[1].replace("\\22", '"').replace('\\"', '"') if place else "" for place in places]


def as_text(tree: Any, numbers: "Iterator[int]") -> str:
    """Return a Python expression that rebuilds a tree of dicts, lists and tuples from the list r of its arrays."""
    if type(tree) is dict:
        return "{" + ", ".join(f"{key!r}: {as_text(tree[key], numbers)}" for key in sorted(tree)) + "}"
    if type(tree) is list:
        return "[" + ", ".join(as_text(of, numbers) for of in tree) + "]"
    if type(tree) is tuple:
        return "(" + "".join(as_text(of, numbers) + ", " for of in tree).strip() + ")"
    return "None" if tree is None else f"r[{next(numbers)}]"


def returned(lowered: Any) -> str:
    """Return a Python expression that rebuilds the function's result from the list r of its arrays. If the result has
    other nodes than dicts, lists and tuples, the expression is a tuple of all arrays.
    """
    import jax
    count = len(jax.tree.leaves(lowered.out_info))
    numbers = itertools.count()
    text = as_text(lowered.out_info, numbers)
    return text if next(numbers) == count else f"tuple(r[:{count}])"


def lower(module: Any, path: str, name: str, sizes: "Dict[str, List[int]]", example: bool,
          folder: Path) -> "Tuple[Dict[str, Any], set[str]]":
    """Lower one function to FOLDER/NAME.mlir, and write FOLDER/NAME.example if requested. Return its entry in the
    answer, and the names in --dims that it used.
    """
    import jax
    function = getattr(module, name, None)
    if not callable(function):
        raise Fault("no function")
    line = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_firstlineno", None)
    try:
        given = Example(function, name, line, sizes)
        jitted = function if hasattr(function, "lower") else jax.jit(function, static_argnames=given.static)
        lowered = jitted.lower(*given.positional, **given.named)
        names = argument_names(lowered)
        (folder / f"{name}.mlir").write_text(lowered.as_text(debug_info=True))
        left_out = [of for of in given.names if of not in names]
        unknown = [of for of in names if of not in given.names]
        if unknown:
            raise Fault(f"argument '{unknown[0]}' of '{name}' is no part of a parameter with a default: parameters are "
                        "named, and *args and **kwargs are empty", line)
        if example:
            positional, named = given.with_values()
            values = {of: leaf for parameter, value in [*zip(given.parameters, positional), *named.items()]
                      for of, leaf in leaves(parameter, value)}
            # pack the arguments before the call, because the call may overwrite the buffers of donated arguments
            before = [packed(values[of]) for of in names]
            results = jax.tree_util.tree_leaves(jitted(*positional, **named))
            (folder / f"{name}.example").write_bytes(b"".join([*before, *map(packed, results)]))
    except Fault:
        raise
    except Exception as error:
        raise as_fault(error, path, line) from None
    return {"name": name, "left_out": left_out, "signature": given.signature,
            "kept": [given.names.index(of) for of in names], "returned": returned(lowered)}, given.used


def answer(request: "Dict[str, Any]", folder: Path) -> "Dict[str, Any]":
    path, sizes = os.path.abspath(request["path"]), request["sizes"]
    try:
        try:
            module = imported(path)
        except (Exception, SystemExit) as error:
            raise as_fault(error, path) from None
        for name in request["names"]:
            if not callable(getattr(module, name, None)):
                known = [of for of, value in vars(module).items() if callable(value) and not of.startswith("_")
                         and getattr(value, "__module__", "") == module.__name__]
                return {"no_function": name, "known": known}
        done = [lower(module, path, name, sizes, request["example"], folder) for name in request["names"]]
        unused = set(sizes).difference(*(used for _, used in done))
        if unused:
            raise Fault(f"--dims {min(unused)}=..: expected the number of an argument, or a symbol in the shape of one")
    except Fault as fault:
        return {"fault": fault.message, "line": fault.line}
    root = os.path.dirname(path) + os.sep
    files = sorted({of for of in (getattr(module, "__file__", None) for module in list(sys.modules.values()))
                    if of and of.startswith(root) and "site-packages" not in of})
    return {"functions": [about for about, _ in done], "files": files}


def main(folder: Path) -> int:
    try:
        import jax
    except ImportError:
        return MISSING
    jax.config.update("jax_platforms", "cpu")
    request = json.loads((folder / "request.json").read_text())
    (folder / "answer.json").write_text(json.dumps(answer(request, folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
