"""Complex numbers: a computation with them becomes one on their parts, two arrays for each."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Dict, Iterator, List, Sequence, Tuple, Union

from gen.hlo import array_shape, Computation, dtypes as table, Instruction, Shape
from gen.reference import complex_functions

PartsOf = Union[Instruction, Tuple[Instruction, Instruction], List["PartsOf"]]


def real_computation(computation: Computation) -> Computation:
    """The same on real numbers: a complex parameter is two, what is in tuples is flat."""
    if not any(table.is_complex(leaf.dtype) for i in computation.instructions for leaf in i.shape.leaves()):
        return computation
    copied = type(computation)(computation.name)
    known: Dict[int, PartsOf] = {}

    def part(shape: Shape) -> Shape:
        return replace(shape, dtype=table.TABLE[shape.dtype].part,
                       text=shape.text.replace(shape.dtype, table.TABLE[shape.dtype].part, 1))

    def op(opcode: str, shape: Shape, *operands: Instruction, **more: object) -> Instruction:
        attributes = {**(like.attributes if more.pop("keep", False) else {}), **more}
        i = type(like)(like.name, opcode, shape, list(operands), attributes, called=list(like.called), literal=None,
                       computation=copied)
        for operand in operands:
            operand.users.append(i)
        copied.instructions.append(i)
        return i

    def flat(value: PartsOf) -> List[Instruction]:
        return [value] if isinstance(value, type(like)) else [leaf for child in value for leaf in flat(child)]

    firsts: Dict[int, int] = {}     # of a parameter by its number: the number of the first that stands for it
    count = 0
    for given in sorted(computation.parameters, key=lambda i: i.parameter_number):
        firsts[given.parameter_number] = count
        count += sum(1 + table.is_complex(leaf.dtype) for leaf in given.shape.leaves())

    def parameter(shape: Shape, numbers: Iterator[int]) -> PartsOf:
        """The parameters in place of one, in the order of the numbers, whatever order the text has."""
        if shape.kind == "tuple":
            return [parameter(child, numbers) for child in shape.children]
        made = [op("parameter", part(shape) if table.is_complex(shape.dtype) else shape)
                for _ in range(1 + table.is_complex(shape.dtype))]
        for i in made:
            i.parameter_number = next(numbers)
        copied.parameters = sorted([*copied.parameters, *made], key=lambda i: i.parameter_number)
        return made[0] if len(made) == 1 else (made[0], made[1])

    def function(opcode: str, real: Shape, x: List[Instruction]) -> PartsOf:
        """The parts of a function's value: a map of all its steps, so that they are one loop."""
        scalar = replace(real, dims=(), minor_to_major=(), elements=1)
        inner = type(computation)(opcode)
        numbers: Dict[str, Instruction] = {}

        def step(name: str, *operands: Instruction, dtype: str = scalar.dtype, **attributes: object) -> Instruction:
            i = type(like)(like.name, name, replace(scalar, dtype=dtype, text=dtype), list(operands), attributes,
                           computation=inner)
            inner.instructions.append(i)
            return i

        def number(value: float) -> Instruction:
            if str(value) not in numbers:
                numbers[str(value)] = step("constant")
                numbers[str(value)].literal = [table.encode(value, scalar.dtype)]
            return numbers[str(value)]
        for k in range(len(x)):
            inner.parameters.append(step("parameter"))
            inner.parameters[-1].parameter_number = k
        pairs = list(zip(inner.parameters[::2], inner.parameters[1::2]))
        steps = complex_functions.Real(step, lambda name, *v, **more: step(name, *v, dtype="pred", **more), number,
                                       real.dtype)
        inner.root = step("tuple", *complex_functions.function(opcode, steps, *pairs))
        whole = op("map", replace(real, kind="tuple", dtype="", dims=(), text=like.shape.text, children=(real, real)),
                   *x, to_apply=inner)
        return tuple(op("get-tuple-element", real, whole, index=k) for k in (0, 1))  # type: ignore[return-value]

    def extreme(opcode: str, shape: Shape, x: Sequence[PartsOf]) -> PartsOf:
        """The larger one, or the smaller one, by the real and then by the imaginary part; NaN in both parts of any."""
        (a, b), (c, d) = x  # type: ignore[misc]
        pred = replace(part(shape), dtype="pred", text="pred")
        way, real = "GT" if opcode == "maximum" else "LT", part(shape)

        def test(direction: str, p: Instruction, q: Instruction) -> Instruction:
            return op("compare", pred, p, q, direction=direction)
        nan = op("constant", replace(real, dims=(), minor_to_major=(), elements=1))
        nan.literal = [table.quiet_nan(real.dtype)]
        of_nan = op("broadcast", real, nan, dimensions=())
        tie = op("and", pred, test("EQ", a, c), test(way.replace("T", "E"), b, d))
        first = op("or", pred, test(way, a, c), tie)
        ordered = op("and", pred, op("and", pred, test("EQ", a, a), test("EQ", b, b)),
                     op("and", pred, test("EQ", c, c), test("EQ", d, d)))
        return tuple(op("select", real, ordered, op("select", real, first, p, q), of_nan)  # type: ignore[return-value]
                     for p, q in ((a, c), (b, d)))

    def bits_of_parts(shape: Shape, x: PartsOf) -> PartsOf:
        """Between c128 and pairs of c64: the parts of each number, one after the other, keep their bits."""
        halves = x  # type: ignore[assignment]
        of = halves[0].shape  # type: ignore[index]
        real, dims = part(shape), of.dims

        def plain(dtype: str, sizes: Tuple[int, ...]) -> Shape:
            return array_shape(dtype, sizes)
        columns = [op("reshape", plain(of.dtype, (*dims, 1)), half) for half in halves]  # type: ignore[union-attr]
        both = op("concatenate", plain(of.dtype, (*dims, 2)), *columns, dimensions=(len(dims),))
        bits = op("bitcast-convert", plain(real.dtype, (*shape.dims, 2)), both)
        boxes = [tuple((0, size, 1) for size in shape.dims) + ((k, k + 1, 1),) for k in (0, 1)]
        return tuple(op("reshape", real, op("slice", plain(real.dtype, (*shape.dims, 1)), bits, slice=box))
                     for box in boxes)  # type: ignore[return-value]

    def elementwise(opcode: str, shape: Shape, x: Sequence[PartsOf]) -> PartsOf:
        """The parts of an op on complex numbers, by real ops that each round."""
        real = part(shape) if table.is_complex(shape.dtype) else shape
        is_pair = isinstance(x[-1], tuple)
        do = lambda name, *operands, **more: op(name, more.pop("shape", real), *operands, **more)  # noqa: E731
        if opcode == "complex":
            return (x[0], x[1])  # type: ignore[return-value]
        if opcode in ("real", "imag") and is_pair:
            return x[0][opcode == "imag"]  # type: ignore[index]
        if opcode == "select":
            return tuple(do("select", x[0], *(side[k] for side in x[1:])) for k in (0, 1))
        if opcode == "convert":
            if is_pair:
                return tuple(do("convert", side) for side in x[0])  # type: ignore[union-attr,return-value]
            zero = op("constant", replace(real, dims=(), minor_to_major=(), elements=1))
            zero.literal = [0]
            return (do("convert", x[0]), do("broadcast", zero, dimensions=()))
        a, b = x[0]  # type: ignore[misc]
        if opcode == "compare":
            c, d = x[1]  # type: ignore[misc]
            same = [op("compare", shape, p, q, direction=like.attributes["direction"]) for p, q in ((a, c), (b, d))]
            return op("and" if like.attributes["direction"] == "EQ" else "or", shape, *same)
        if opcode in ("maximum", "minimum"):
            return extreme(opcode, shape, x)
        if opcode == "clamp":
            low, high = (tuple(half if half.shape.dims == real.dims else do("broadcast", half, dimensions=())
                               for half in x[k]) for k in (0, 2))  # type: ignore[union-attr]
            return extreme("minimum", shape, [extreme("maximum", shape, [x[1], low]), high])
        if opcode in ("add", "subtract"):
            return tuple(do(opcode, p, q) for p, q in zip(x[0], x[1]))  # type: ignore[arg-type,return-value]
        if opcode == "negate":
            return (do("negate", a), do("negate", b))
        if opcode == "abs":
            return op("hypot", shape, a, b)
        if opcode == "multiply":
            c, d = x[1]  # type: ignore[misc]
            return (do("subtract", do("multiply", a, c), do("multiply", b, d)),
                    do("add", do("multiply", a, d), do("multiply", b, c)))
        if opcode in complex_functions.NAMES:
            return function(opcode, real, [half for side in x for half in side])  # type: ignore[union-attr]
        raise ValueError(f"'{opcode}' of complex numbers has no reference")

    def lowered(shape: Shape, x: List[PartsOf]) -> PartsOf:
        opcode = like.opcode
        if opcode == "tuple":
            return list(x)
        if opcode == "get-tuple-element" and isinstance(x[0], list):
            return x[0][like.attributes["index"]]
        inner = {key: real_computation(like.attributes[key]) for key in ("calls", "to_apply") if key in like.attributes}
        if opcode == "parameter":
            return parameter(shape, itertools.count(firsts[like.parameter_number]))
        touched = any(table.is_complex(leaf.dtype)
                      for leaf in shape.leaves()) or not all(isinstance(v, type(like)) for v in x)
        if not touched:
            i = op(opcode, shape, *x, keep=True, **inner)  # type: ignore[arg-type]
            i.literal = like.literal
            return i
        if opcode in ("dot", "convolution"):
            (a, b), (c, d) = x  # type: ignore[misc]
            ac, bd, ad, bc = (op(opcode, part(shape), p, q, keep=True, sums=2)
                              for p, q in ((a, c), (b, d), (a, d), (b, c)))
            return (op("subtract", part(shape), ac, bd), op("add", part(shape), ad, bc))
        if opcode in ("fusion", "call", "map", "reduce", "reduce-window", "scatter"):
            leaves = [(part(leaf), 2) if table.is_complex(leaf.dtype) else (leaf, 1) for leaf in shape.leaves()]
            kinds = [part for part, count in leaves for _ in range(count)]
            sides = [v for value in x for v in flat(value)]
            if len(kinds) == 1:
                return op(opcode, kinds[0], *sides, keep=True, **inner)
            several = replace(shape, kind="tuple", dtype="", dims=(), text="(..)", children=tuple(kinds))
            whole = op(opcode, several, *sides, keep=True, **inner)
            each = iter([op("get-tuple-element", kind, whole, index=k) for k, kind in enumerate(kinds)])
            parts: List[PartsOf] = [(next(each), next(each)) if count == 2 else next(each) for _, count in leaves]
            return parts if shape.kind == "tuple" else parts[0]
        if opcode == "copy" and not isinstance(x[0], tuple):
            return x[0]
        if opcode == "constant":
            both = []
            for k in (0, 1):
                both.append(op("constant", part(shape)))
                both[-1].literal = [table.parts(bits, shape.dtype)[k] for bits in like.literal]
            return (both[0], both[1])
        if opcode == "iota":
            index = op("iota", part(shape), keep=True)
            zero = op("constant", replace(part(shape), dims=(), minor_to_major=(), elements=1))
            zero.literal = [0]
            return (index, op("broadcast", part(shape), zero, dimensions=()))
        if opcode == "bitcast-convert" and shape.dtype != like.operands[0].shape.dtype:
            return bits_of_parts(shape, x[0])
        if opcode in ("broadcast", "transpose", "reshape", "bitcast", "bitcast-convert", "slice", "reverse", "pad",
                      "concatenate", "copy"):
            return tuple(op(opcode, part(shape), *(v[k] for v in x), keep=True) for k in (0, 1))
        if opcode in ("dynamic-slice", "dynamic-update-slice", "gather"):      # indices are real
            return tuple(
                op(opcode, part(shape), *(v[k] if isinstance(v, tuple) else v for v in x), keep=True) for k in (0, 1)
            )
        return elementwise(opcode, shape, x)

    for like in computation.instructions:
        known[id(like)] = lowered(like.shape, [known[id(o)] for o in like.operands])
        if like is computation.root:
            root = known[id(like)]
    leaves = flat(root)
    like = computation.root
    copied.root = leaves[0] if len(leaves) == 1 else op("tuple",
                                                      replace(like.shape, kind="tuple", dtype="", text="(..)",
                                                              children=tuple(i.shape for i in leaves)), *leaves)
    return copied
