"""Leading dimensions that the caller passes at run time.

A parameter or a result with such a dimension is a submatrix: the distance between its rows is larger than the length of
a row. Element (r, c) is at position r * lead + c. The map `Shape.place` of such an array has `lead` as a runtime
variable. All addresses are printed from this map, and therefore contain `lead`. A fusion whose kernels support this
(`Hero.leads`) reads and writes the submatrix directly. For other fusions, loops and branches, the program copies the
submatrix to a dense array first, or from a dense array at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Mapping, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Fusion, Shape, dtypes
from gen.hlo.copy import copied
from gen.hlo.opcodes import ELEMENTWISE
from gen.hlo.reserved import unique
from gen.plan.nest import BuildError
from gen.plan.partition import LEAVES, MOVES
from gen.program.extract import copy_of
from gen.program.ir import Array, Call, Loop, Node, Program, parts_of

MOST_ELEMENTS = 1 << 48     # maximum number of elements of the enclosing matrix
# ops whose kernels compute all addresses from maps, whichever module of gen/heroes makes the kernel
IN_PLACE = {*ELEMENTWISE, *MOVES, *LEAVES, "reduce", "dot", "convolution", "pad", "concatenate", "tuple"}


def row_of(shape: Shape) -> int:
    """Return the number of elements of a row, which is the minimum of the leading dimension."""
    return shape.dims[shape.minor_to_major[0]]


def most_of(shape: Shape) -> int:
    """Return the largest leading dimension that the caller may pass for an array."""
    return MOST_ELEMENTS // (shape.elements // row_of(shape))


def with_leads(program: Program, names: "Mapping[str, Array]") -> Program:
    """Return the program, changed so that its caller passes the leading dimensions of some arrays. names: these arrays,
    by the names that error messages use.
    """
    if not names:
        return program
    for name, array in names.items():
        _check(program, name, array)
    order = [array for array in (*program.params, *program.results) if array in names.values()]
    led = {array: Array(array.name, _placed(array.shape, f"lead{n}")) for n, array in enumerate(order)}
    in_place = {array: to for array, to in led.items() if _is_in_place(program, array)}
    copies = {array: Fusion(f"{program.name}_lead{n}", copy_of(array.shape, array.shape), "")
              for n, array in enumerate(order) if array not in in_place}
    variants = _Variants({call.fusion.name for call in program.calls
                          if not in_place.keys() & {*call.operands, *call.results}})
    before = [variants.call(of, [led[array]], [array]) for array, of in copies.items() if array in program.params]
    after = [variants.call(of, [array], [led[array]]) for array, of in copies.items() if array in program.results]

    def put(node: Node) -> Node:
        if not isinstance(node, Call) or not in_place.keys() & {*node.operands, *node.results}:
            return node
        return variants.call(node.fusion, [in_place.get(a, a) if a else None for a in node.operands],
                             [in_place.get(a, a) for a in node.results])

    body = [*before, *map(put, program.body), *after]
    params, results = ([led.get(array, array) for array in side] for side in (program.params, program.results))
    return replace(program, params=params, results=results, body=body, leads=list(led.values())).with_symbols()


def _check(program: Program, name: str, array: Array) -> None:
    """Raise BuildError if the caller cannot pass a leading dimension for an array."""
    shape, whole = array.shape, program.whole
    number = program.params.index(array) if array in program.params else -1
    result = program.results.index(array) if array in program.results else -1
    why = ("its layout has tiles" if shape.tiled else
           f"its elements are {shape.dtype}" if shape.dtype in dtypes.PACKED or dtypes.is_complex(shape.dtype) else
           "its size is known at run time only" if shape.dynamic else
           "it is no matrix" if shape.rank < 2 or not shape.elements else
           "its buffer is a result's too" if number in whole.aliases.values() or result in whole.aliases else
           "two parameters have one buffer" if number in {*whole.same, *whole.same.values()} else "")
    if why:
        raise BuildError(f"--lead {name}: {shape.text} has no leading dimension that a caller can give: {why}")


def _placed(shape: Shape, name: str) -> Shape:
    """Return the shape of an array with the leading dimension `name`."""
    row = row_of(shape)
    return replace(shape, lead=name, place=algebra.simplify(
        f"(position){{{name}}} -> ((position floordiv {row}) * {name} + position mod {row}), "
        f"domain: position in [0, {shape.elements - 1}], {name} in [{row}, {most_of(shape)}]"))


def _is_in_place(program: Program, array: Array) -> bool:
    """Return true if all nodes that use an array are calls, and the kernels of these calls support leading dimensions.
    """
    return all(isinstance(node, Call) and _takes_leads(node.fusion) for node in program.body if array in _named(node))


def _named(node: Node) -> "Set[Optional[Array]]":
    """Return the arrays that a node reads or writes, including those of nodes inside it."""
    own = {*node.operands} if isinstance(node, Call) else {*node.begins, *node.ends, node.predicate} \
        if isinstance(node, Loop) else {node.selector, *(array for ends in node.ends for array in ends)}
    inner = [] if isinstance(node, Call) else [each for part in parts_of(node) for each in part]
    return {*own, *node.results}.union(*map(_named, inner))


def _takes_leads(fusion: Fusion) -> bool:
    root = fusion.computation.root
    return all(i.opcode in IN_PLACE and (i.shape.kind == "array" or i.opcode == "tuple" and i is root)
               for i in fusion.computation.instructions)


class _Variants:
    """Makes variants of fusions that read and write submatrices. Each variant is made only once."""

    def __init__(self, names: "Set[str]") -> None:
        """names: the names of the fusions that remain as they are."""
        self._names = names
        self._made: "Dict[Tuple[Fusion, Tuple[str, ...]], Fusion]" = {}

    def call(self, fusion: Fusion, operands: "List[Optional[Array]]", results: "List[Array]") -> Call:
        """Return the call of a fusion on arrays, some of which are submatrices."""
        key = fusion, tuple(array.shape.lead if array else "" for array in (*operands, *results))
        if key not in self._made:
            self._made[key] = self._variant(fusion, operands, results)
        return Call(self._made[key], operands, results)

    def _variant(self, fusion: Fusion, operands: "Sequence[Optional[Array]]", results: "Sequence[Array]") -> Fusion:
        shapes = {parameter: array.shape for parameter, array in zip(fusion.computation.parameters, operands)
                  if array and array.shape.lead}
        own = copied(fusion.computation,
                     lambda into, i, of: into.add_copy(i, of, shape=shapes[i]) if i in shapes else None)
        return replace(fusion, name=unique(fusion.name, self._names), computation=own,
                       placed={n: array.shape for n, array in enumerate(results) if array.shape.lead})
