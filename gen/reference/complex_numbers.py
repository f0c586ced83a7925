"""Turn a computation with complex numbers into a computation on their real and imaginary parts. Each complex array
becomes two arrays.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Dict, Iterator, List, NamedTuple, Sequence, Union

from gen.hlo import array_shape, Computation, dtypes as table, Instruction, Shape
from gen.hlo.graph import root_of
from gen.hlo.opcodes import TRIDIAGONAL
from gen.reference import complex_functions
from gen.reference.emitter import number_of


class Pair(NamedTuple):
    """The real and the imaginary parts of a complex array."""

    re: Instruction
    im: Instruction


Lowered = Union[Instruction, Pair, List["Lowered"]]     # a list stands for a tuple


def real_computation(computation: Computation) -> Computation:
    """Return the computation on real and imaginary parts. A complex parameter becomes two parameters, and tuples are
    flattened.
    """
    if not any(table.is_complex(leaf.dtype) for i in computation.instructions for leaf in i.shape.leaves()):
        return computation
    return Lowering(computation).out


def part_of(shape: Shape) -> Shape:
    """Return the shape of the real or the imaginary part of an array. For an array of real numbers, return its own
    shape.
    """
    part = table.TABLE[shape.dtype].part
    return replace(shape, dtype=part, text=shape.text.replace(shape.dtype, part, 1)) if part else shape


def scalar_of(shape: Shape) -> Shape:
    return replace(shape, dims=(), minor_to_major=(), elements=1)


def tuple_of(shape: Shape, parts: Sequence[Shape]) -> Shape:
    return replace(shape, kind="tuple", dtype="", dims=(), text="(..)", children=tuple(parts))


def flat(value: Lowered) -> List[Instruction]:
    return [value] if isinstance(value, Instruction) else [leaf for child in value for leaf in flat(child)]


def _regrouped(shape: Shape, leaves: Iterator[Lowered]) -> Lowered:
    """Return the leaves in nested lists, one list for each tuple of a shape."""
    return [_regrouped(child, leaves) for child in shape.children] if shape.kind == "tuple" else next(leaves)


def is_complex(value: Lowered) -> bool:
    return isinstance(value, Pair)


def _flat_computation(computation: Computation) -> Computation:
    """Return the computation on real and imaginary parts, with tuples among its parameters flattened."""
    return Lowering(computation).out


class Lowering:
    """Turns a computation into one on real numbers, instruction by instruction."""

    def __init__(self, computation: Computation) -> None:
        self.out = Computation(computation.name)
        # for each parameter's index, the index of the first parameter that replaces it
        self.firsts: Dict[int, int] = {}
        count = 0
        for given in sorted(computation.parameters, key=number_of):
            self.firsts[number_of(given)] = count
            count += sum(1 + table.is_complex(leaf.dtype) for leaf in given.shape.leaves())
        known: Dict[int, Lowered] = {}
        for self.like in computation.instructions:
            known[id(self.like)] = self.lowered([known[id(o)] for o in self.like.operands])
        self.like = root_of(computation)
        leaves = flat(known[id(self.like)])
        self.out.root = leaves[0] if len(leaves) == 1 else self.op(
            "tuple", tuple_of(self.like.shape, [i.shape for i in leaves]), *leaves)

    # ---- ops of the new computation ----

    def op(self, opcode: str, shape: Shape, *operands: Instruction, **attributes: object) -> Instruction:
        return self.out.add(Instruction(self.like.name, opcode, shape, list(operands), attributes,
                                        called=list(self.like.called)))

    def again(self, shape: Shape, *operands: Instruction, **more: object) -> Instruction:
        """Add an op with the opcode and the attributes of the current instruction."""
        return self.op(self.like.opcode, shape, *operands, **{**self.like.attributes, **more})

    def both(self, *x: Lowered) -> Pair:
        """Add the current instruction's op twice: on the real parts of its operands, and on their imaginary parts."""
        sides: List[Lowered] = [[v[k] if isinstance(v, Pair) else v for v in x] for k in (0, 1)]
        re, im = (self.again(part_of(self.like.shape), *flat(side)) for side in sides)
        return Pair(re, im)

    def constant(self, shape: Shape, *literal: int) -> Instruction:
        i = self.op("constant", shape)
        i.literal = list(literal)
        return i

    def everywhere(self, shape: Shape, pattern: int) -> Instruction:
        return self.op("broadcast", shape, self.constant(scalar_of(shape), pattern), dimensions=())

    # ---- instructions ----

    def lowered(self, x: List[Lowered]) -> Lowered:
        like, shape = self.like, self.like.shape
        opcode = like.opcode
        if opcode == "tuple":
            return list(x)
        if opcode == "get-tuple-element" and isinstance(x[0], list):
            return x[0][int(like.attributes["index"])]
        if opcode == "parameter":
            return self.parameter(shape, itertools.count(self.firsts[number_of(like)]))
        if opcode in ("while", "conditional"):
            return self.controlled(shape, x)
        called: Dict[str, Computation] = {key: real_computation(inner) for key, inner in like.attributes.items()
                                          if key in ("calls", "to_apply")}
        real = not any(table.is_complex(leaf.dtype) for leaf in shape.leaves())
        if real and all(isinstance(v, Instruction) for v in x):
            i = self.again(shape, *flat(x), **called)
            i.literal = like.literal
            return i
        # in a comparator, the two compared values of each part must be adjacent parameters
        if opcode == "sort" and called["to_apply"] is not like.attributes["to_apply"]:
            called["to_apply"].parameters = self.paired(called["to_apply"].parameters)
        if opcode in ("fft", "lapack", *TRIDIAGONAL, "fusion", "call", "map", "reduce", "reduce-window", "scatter", "sort"):
            return self.several(shape, flat(x), called)
        if opcode == "copy" and not is_complex(x[0]):
            return x[0]
        if opcode == "constant":
            halves = [[table.parts(bits, shape.dtype)[k] for bits in like.literal or []] for k in (0, 1)]
            return Pair(*(self.constant(part_of(shape), *half) for half in halves))
        if opcode == "iota":
            return Pair(self.again(part_of(shape)), self.everywhere(part_of(shape), 0))
        if opcode == "bitcast-convert" and shape.dtype != like.operands[0].shape.dtype:
            return self.bits_of_parts(x[0])
        if opcode in ("dot", "convolution"):
            (a, b), (c, d) = (flat(side) for side in x)
            ac, bd, ad, bc = (self.again(part_of(shape), p, q, sums=2) for p, q in ((a, c), (b, d), (a, d), (b, c)))
            return Pair(self.op("subtract", part_of(shape), ac, bd), self.op("add", part_of(shape), ad, bc))
        if opcode in ("broadcast", "transpose", "reshape", "bitcast", "bitcast-convert", "slice", "reverse", "pad",
                      "concatenate", "copy", "dynamic-slice", "dynamic-update-slice", "gather", "select", "add",
                      "subtract", "negate") or (opcode == "convert" and is_complex(x[0])):
            return self.both(*x)
        return self.elementwise(x)

    def controlled(self, shape: Shape, x: List[Lowered]) -> Lowered:
        """Add a loop or a branch. Its operands are the leaves of the values in `x`, which may be tuples. For a branch,
        the attribute `counts` has the number of leaves of each value after the first.
        """
        flats = [flat(value) for value in x]
        value = self.several(shape, [i for leaves in flats for i in leaves], {})
        made = self.out.instructions[-1]
        while made.opcode == "get-tuple-element":
            made = made.operands[0]
        made.called = [_flat_computation(called) for called in self.like.called]
        made.attributes["counts"] = [len(leaves) for leaves in flats[1:]]
        return value

    def paired(self, parameters: List[Instruction]) -> List[Instruction]:
        """Return the parameters of a sort's comparator in the order in which sort passes them. A complex parameter has
        become two.
        """
        given, kept = iter(sorted(parameters, key=number_of)), []
        for operand in self.like.operands:
            sides = [[next(given) for _ in range(1 + table.is_complex(operand.shape.dtype))] for _ in (0, 1)]
            kept += [side for part in zip(*sides) for side in part]
        for number, parameter in enumerate(kept):
            parameter.parameter_number = number
        return kept

    def parameter(self, shape: Shape, numbers: Iterator[int]) -> Lowered:
        """Add the parameters that replace a parameter: for each of its arrays one, or two if the array is complex. They
        take the next numbers of `numbers`, whatever the order of the parameters in the text.
        """
        if shape.kind == "tuple":
            return [self.parameter(child, numbers) for child in shape.children]
        made = [self.op("parameter", part_of(shape)) for _ in range(1 + table.is_complex(shape.dtype))]
        for i in made:
            i.parameter_number = next(numbers)
        self.out.parameters = sorted([*self.out.parameters, *made], key=number_of)
        return made[0] if len(made) == 1 else Pair(*made)

    def several(self, shape: Shape, x: List[Instruction], called: Dict[str, Computation]) -> Lowered:
        """Add an op that calls a computation or a routine. It has a result for each real or imaginary part."""
        counts = [1 + table.is_complex(leaf.dtype) for leaf in shape.leaves()]
        kinds = [part_of(leaf) for leaf, count in zip(shape.leaves(), counts) for _ in range(count)]
        if len(kinds) == 1:
            return self.again(kinds[0], *x, **called)
        whole = self.again(tuple_of(shape, kinds), *x, **called)
        elements = iter([self.op("get-tuple-element", kind, whole, index=k) for k, kind in enumerate(kinds)])
        parts = [Pair(next(elements), next(elements)) if count == 2 else next(elements) for count in counts]
        return _regrouped(shape, iter(parts))

    def elementwise(self, x: Sequence[Lowered]) -> Lowered:
        """Return the real and imaginary parts of an elementwise op on complex numbers. They are computed by ops on real
        numbers, each of which rounds.
        """
        like, shape, real = self.like, self.like.shape, part_of(self.like.shape)
        sides = [flat(side) for side in x]
        a, b = sides[0][0], sides[0][-1]
        if like.opcode == "complex":
            return Pair(sides[0][0], sides[1][0])
        if like.opcode in ("real", "imag"):
            return sides[0][like.opcode == "imag"]
        if like.opcode == "convert":
            return Pair(self.op("convert", real, a), self.everywhere(real, 0))
        if like.opcode == "abs":
            return self.op("hypot", shape, a, b)
        if like.opcode in complex_functions.NAMES:
            return self.function(real, [half for side in sides for half in side])
        if like.opcode == "clamp":
            low, high = (Pair(*(half if half.shape.dims == real.dims else
                                self.op("broadcast", real, half, dimensions=()) for half in sides[k])) for k in (0, 2))
            return self.extreme("minimum", real, self.extreme("maximum", real, Pair(*sides[1]), low), high)
        c, d = sides[-1]
        if like.opcode == "compare":
            same = [self.again(shape, p, q) for p, q in ((a, c), (b, d))]
            return self.op("and" if like.attributes["direction"] == "EQ" else "or", shape, *same)
        if like.opcode in ("maximum", "minimum"):
            return self.extreme(like.opcode, real, Pair(a, b), Pair(c, d))
        if like.opcode == "multiply":
            ac, bd, ad, bc = (self.op("multiply", real, p, q) for p, q in ((a, c), (b, d), (a, d), (b, c)))
            return Pair(self.op("subtract", real, ac, bd), self.op("add", real, ad, bc))
        raise ValueError(f"'{like.opcode}' of complex numbers has no reference")

    def function(self, real: Shape, x: List[Instruction]) -> Pair:
        """Return the parts of a function's value. All ops of the function form one `map`, so that they become one loop.
        """
        steps = complex_functions.computation(self.like.opcode, self.like.name, scalar_of(real), len(x))
        whole = self.op("map", tuple_of(real, [real, real]), *x, to_apply=steps)
        return Pair(*(self.op("get-tuple-element", real, whole, index=k) for k in (0, 1)))

    def extreme(self, opcode: str, real: Shape, x: Pair, y: Pair) -> Pair:
        """Return the maximum or the minimum of complex numbers. They are compared by their real parts and, if the real
        parts are equal, by their imaginary parts. If a part of an operand is NaN, both parts of the result are NaN.
        """
        pred, way = replace(real, dtype="pred", text="pred"), "GT" if opcode == "maximum" else "LT"

        def test(direction: str, p: Instruction, q: Instruction) -> Instruction:
            return self.op("compare", pred, p, q, direction=direction)

        def every(*tests: Instruction) -> Instruction:
            return tests[0] if len(tests) == 1 else self.op("and", pred, tests[0], every(*tests[1:]))
        nan = self.everywhere(real, table.quiet_nan(real.dtype))
        tie = every(test("EQ", x.re, y.re), test("GE" if way == "GT" else "LE", x.im, y.im))
        first = self.op("or", pred, test(way, x.re, y.re), tie)
        numbers = every(*(test("EQ", half, half) for half in (*x, *y)))
        chosen = [self.op("select", real, first, p, q) for p, q in zip(x, y)]
        return Pair(*(self.op("select", real, numbers, half, nan) for half in chosen))

    def bits_of_parts(self, x: Lowered) -> Pair:
        """Return the parts of a bitcast between c128 and pairs of c64. The parts of a number are next to each other in
        memory, and keep their bits.
        """
        real, halves = part_of(self.like.shape), flat(x)
        of, dims = halves[0].shape, real.dims
        columns = [self.op("reshape", array_shape(of.dtype, (*of.dims, 1)), half) for half in halves]
        pairs = self.op("concatenate", array_shape(of.dtype, (*of.dims, 2)), *columns, dimensions=(len(of.dims),))
        bits = self.op("bitcast-convert", array_shape(real.dtype, (*dims, 2)), pairs)
        boxes = [(*((0, size, 1) for size in dims), (k, k + 1, 1)) for k in (0, 1)]
        return Pair(*(self.op("reshape", real, self.op("slice", array_shape(real.dtype, (*dims, 1)), bits, slice=box))
                      for box in boxes))
