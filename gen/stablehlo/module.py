"""Convert a text of StableHLO to a module of HLO: its entry, the layouts of its results, and its donated buffers."""

from __future__ import annotations

import ast
import gc
import operator
import re
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from gen.hlo.graph import Computation, Instruction, Module, Shape, array_shape
from gen.stablehlo.chlo import decomposed
from gen.stablehlo.ops import Lowering
from gen.stablehlo.scanner import type_text
from gen.stablehlo.syntax import Argument, Function, Text, read_text

# the start of MLIR text: comments and attribute aliases, then a module or a function
_BEGINS = re.compile(r"\s*(?:(?://[^\n]*|#[A-Za-z_][^\n=]*=[^\n]*)\s+)*"
                     r'(?:module\s*(?:@|attributes\b|\{)|"?builtin\.module"?|"?func\.func"?\s*[@(pn])')


def is_stablehlo(text: str) -> bool:
    """Return true if a text is MLIR rather than HLO."""
    return _BEGINS.match(text) is not None


def parse(text: str, filename: str, sizes: "Optional[Mapping[str, Sequence[int]]]" = None) -> Module:
    """Parse and check a module; raise HloError at the first fault.

    sizes: the sizes of open dimensions, by symbol or by the argument's number
    """
    collecting = gc.isenabled()
    gc.disable()  # each garbage collection would visit the parser's live objects, maybe a million
    try:
        return _parsed(text, filename, sizes or {})
    finally:
        if collecting:
            gc.enable()


def _parsed(text: str, filename: str, sizes: "Mapping[str, Sequence[int]]") -> Module:
    read = read_text(text, filename)
    scanner = read.scanner
    module = Module(read.name or "module", filename=filename, explicit_entry=True)
    module.line, module.col = scanner.place(read.pos)
    builder = Lowering(read, module)
    entry = entry_of(read)
    if not entry.results:
        scanner.fail(entry.pos, f"expected results of '@{entry.name}', found none")
    computation = builder.function(entry, _shapes(read, entry, sizes))
    builder.row_major_results(computation)
    if builder.open_sizes:
        _without_unused(computation)
    module.computations = _in_order(computation)
    module.entry = computation
    for key, name in (("mhlo.num_partitions", "num_partitions"), ("mhlo.num_replicas", "replica_count")):
        if read.attributes.get(key, 1) != 1:
            module.attributes[name] = str(read.attributes[key])
    _donations(read, entry, module)
    decomposed(module)
    return module


def entry_of(read: Text) -> Function:
    """Return the function `main`, or the only public function."""
    if "main" in read.functions:
        return read.functions["main"]
    public = [function for function in read.functions.values() if function.public] or list(read.functions.values())
    if len(public) > 1:
        read.scanner.fail(public[1].pos, "expected one public function, or one with the name 'main', found "
                                         f"{', '.join('@' + function.name for function in public[:5])}")
    return public[0]


def _in_order(entry: Computation) -> List[Computation]:
    """Return the computations that the entry needs, in an order in which callees precede callers."""
    ordered: Dict[Computation, None] = {}
    stack: List[Tuple[Computation, bool]] = [(entry, False)]
    while stack:
        computation, ready = stack.pop()
        if ready:
            ordered[computation] = None
        elif computation not in ordered:
            stack.append((computation, True))
            called = [of for instruction in computation.instructions for of in instruction.called]
            stack += [(of, False) for of in reversed(called) if of not in ordered]
    return list(ordered)


def _without_unused(entry: Computation) -> None:
    """Remove unused ops, such as those that computed sizes before the sizes were known."""
    for computation in reversed(_in_order(entry)):
        computation.count_users()
        kept: List[Instruction] = []
        for instruction in reversed(computation.instructions):
            if instruction.users or instruction is computation.root or instruction.opcode == "parameter":
                kept.append(instruction)
            else:
                for operand in set(instruction.operands):
                    operand.users.remove(instruction)
        computation.instructions = kept[::-1]


def _shapes(read: Text, entry: Function, sizes: "Mapping[str, Sequence[int]]") -> List[Shape]:
    """Return the shapes of the arguments, with the caller's sizes for open dimensions. Raise HloError if a dimension
    has no size.
    """
    scanner, arguments = read.scanner, entry.body.arguments
    found = [list(argument.of.dims) for argument in arguments]
    symbols = _symbols(read, entry)
    names = {name for expressions in symbols.values() for text in expressions for name in _SYMBOL.findall(text)}
    values = {name: given[0] for name, given in sizes.items() if not name.isdecimal()}
    for name, given in sizes.items():
        if name.isdecimal():
            _set_by_number(read, arguments, found, int(name), given)
        elif name not in names:
            scanner.fail(entry.pos, f"expected a symbol of this module ({', '.join(sorted(names)) or 'it has none'}) in "
                                    f"--dims, found '{name[:60]}'")
    for number, expressions in symbols.items():
        for d, text in enumerate(expressions):
            size = evaluated(text, values) if d < len(found[number]) and found[number][d] < 0 else None
            if size is not None:
                found[number][d] = size
    unset = [number for number, argument in enumerate(arguments) if argument.of.kind == "array" and min(found[number], default=0) < 0]
    if unset:
        missing = ", ".join(f"{number}={'x'.join('?' if size < 0 else str(size) for size in found[number])}"
                            + (f" ({', '.join(symbols[number])})" if number in symbols else "") for number in unset)
        scanner.fail(arguments[unset[0]].pos, f"expected sizes for open dimensions: set each ? by --dims: {missing}")
    return [array_shape(argument.of.dtype, tuple(dims)) if argument.of.kind == "array" and argument.of.dynamic else argument.of
            for argument, dims in zip(arguments, found)]


def _set_by_number(read: Text, arguments: "List[Argument]", found: "List[List[int]]", number: int,
                   given: "Sequence[int]") -> None:
    scanner = read.scanner
    if number >= len(arguments):
        scanner.fail(0, f"expected the number of an argument, 0 to {len(arguments) - 1}, in --dims, found {number}")
    of = arguments[number].of
    if len(given) != of.rank or any(have not in (-1, size) for have, size in zip(of.dims, given)):
        scanner.fail(arguments[number].pos, f"expected sizes of {type_text(of)} in --dims, found {number}="
                                            f"{'x'.join(map(str, given))}")
    found[number] = list(given)


def _symbols(read: Text, entry: Function) -> "Dict[int, List[str]]":
    """Return, for each argument with open dimensions, the expressions of its dimensions that jax.export writes: `b`,
    `2*c`, `4`.
    """
    open_ones = [number for number, argument in enumerate(entry.body.arguments)
                 if argument.of.kind == "array" and argument.of.dynamic]
    for op in entry.body.ops:
        message = op.attributes.get("error_message")
        if op.name == "stablehlo.custom_call" and isinstance(message, str) and "polymorphic shapes spec" in message:
            told = [_split(match[1]) for match in _SPECIFICATION.finditer(message)]
            if len(told) == len(open_ones):
                return dict(zip(open_ones, told))
    return {}


def _split(text: str) -> List[str]:
    """Split a text at its commas outside of brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


_SPECIFICATION = re.compile(r"\.shape = \(((?:[^()]|\([^()]*\))*)\)")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_(])")
_OPERATIONS: "Dict[type, Callable[[int, int], int]]" = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
               ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_FUNCTIONS: "Dict[str, Callable[..., int]]" = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}


def evaluated(text: str, values: "Mapping[str, int]") -> Optional[int]:
    """Return the value of an expression of symbols; None if a symbol has no value, or if the text is no such
    expression.
    """
    def of(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = of(node.left), of(node.right)
            if isinstance(node.op, ast.Pow) and not 0 <= right <= 16:
                raise ValueError
            return int(_OPERATIONS[type(node.op)](left, right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return int(_FUNCTIONS[node.func.id](*map(of, node.args)))
        raise ValueError

    try:
        return of(ast.parse(text.replace("^", "**"), mode="eval").body)
    except (SyntaxError, ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError):
        return None


def _donations(read: Text, entry: Function, module: Module) -> None:
    """Set which arguments donate their buffers: to a particular result (aliases), or to any result."""
    aliases, donors = [], []
    one = len(entry.results) == 1
    for number, argument in enumerate(entry.body.arguments):
        taken = argument.attributes.get("tf.aliasing_output")
        if isinstance(taken, int) and not isinstance(taken, bool):
            aliases.append(f"{{{'' if one else taken}}}: ({number}, {{}}, may-alias)")
            module.places.setdefault("input_output_alias", read.scanner.place(
                argument.attributes.places["tf.aliasing_output"]))
        if argument.attributes.get("jax.buffer_donor") is True:
            donors.append(f"({number}, {{}})")
            module.places.setdefault("buffer_donor", read.scanner.place(argument.attributes.places["jax.buffer_donor"]))
    if aliases:
        module.attributes["input_output_alias"] = f"{{ {', '.join(aliases)} }}"
    if donors:
        module.attributes["buffer_donor"] = f"{{ {', '.join(donors)} }}"
