"""Triangular solves and Cholesky factorisations of complex matrices, as calls of computations on real matrices.

A complex number a + bi becomes the block {{a, -b}, {b, a}}. The product of two complex matrices then becomes the
product of their real matrices. A lower triangular matrix stays lower triangular if its diagonal is real. The diagonal
of a Cholesky factor is real. The diagonal of a triangular solve's matrix becomes real when each equation is divided by
its diagonal element.
"""

from __future__ import annotations

from typing import List, Sequence

from gen.hlo.graph import Computation, Instruction, Module
from gen.hlo.parser import parse

_PARTS = {"c64": "f32", "c128": "f64"}


def without_complex_matrices(module: Module) -> None:
    """Replace each cholesky and triangular-solve of complex matrices by a call of a computation on real matrices."""
    names = {computation.name for computation in module.computations}
    for op in [i for computation in module.computations for i in computation.instructions]:
        first = op.shape.leaves()[0] if op.shape.leaves() else op.shape
        if op.opcode not in ("cholesky", "triangular-solve") or first.dtype not in _PARTS or not first.elements:
            continue
        text = _Text(op)
        lines = text.cholesky() if op.opcode == "cholesky" else text.triangular_solve()
        name = f"{op.name}.real"
        while name in names:
            name += "_"
        names.add(name)
        made = parse("\n".join([f"HloModule {name}", *_ADD.format(t=first.dtype).split("\n"), f"ENTRY {name} {{",
                                *lines, "}"]), module.filename)
        called = made.entry
        assert called is not None
        for instruction in (i for computation in made.computations for i in computation.instructions):
            instruction.line, instruction.col = op.line, op.col
        add = next(computation for computation in made.computations if computation is not called)
        add.name = f"{name}.add"
        at = next(n for n, computation in enumerate(module.computations) if op in computation.instructions)
        module.computations[at:at] = [add, called]
        op.opcode, op.called, op.attributes = "call", [called], {"to_apply": called}
        _deepen(module, op)


def _deepen(module: Module, op: Instruction) -> None:
    """Update the field `depth` of the computation that contains a call, and of that computation's callers."""
    computation, depth = op.computation, op.called[0].depth + 1
    while isinstance(computation, Computation) and computation.depth < depth:
        computation.depth = depth
        computation, depth = next((c for c in module.computations for i in c.instructions
                                   if computation in i.called), None), depth + 1


_ADD = """add {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT s = {t}[] add(a, b)
}}"""


class _Text:
    """The text of a computation, line by line. A method that adds a line returns the name of its value."""

    def __init__(self, op: Instruction) -> None:
        self.op, self.lines = op, []    # type: Instruction, List[str]
        self.t = op.shape.leaves()[0].dtype
        self.f = _PARTS[self.t]
        self.batch = op.operands[0].shape.dims[:-2]
        self.rank, self.n = len(self.batch) + 2, op.operands[0].shape.dims[-1]

    def add(self, dtype: str, dims: Sequence[int], text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {dtype}[{','.join(map(str, (*self.batch, *dims)))}] {text}")
        return name

    def scalar(self, dtype: str, value: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {dtype}[] constant({value})")
        return name

    def parameter(self, number: int) -> str:
        return self.add(self.t, self.op.operands[number].shape.dims[-2:], f"parameter({number})")

    def filled(self, dtype: str, dims: Sequence[int], value: str) -> str:
        return self.add(dtype, dims, f"broadcast({self.scalar(dtype, value)}), dimensions={{}}")

    def turned(self, value: str, rows: int, columns: int) -> str:
        order = [*range(self.rank - 2), self.rank - 1, self.rank - 2]
        return self.add(self.t, (columns, rows), f"transpose({value}), dimensions={{{','.join(map(str, order))}}}")

    def diagonal(self) -> str:
        """Return a mask that is true on the diagonal of a square matrix."""
        row, column = (self.add("s32", (self.n, self.n), f"iota(), iota_dimension={self.rank - k}") for k in (2, 1))
        return self.add("pred", (self.n, self.n), f"compare({row}, {column}), direction=EQ")

    def blocks(self, re: str, im: str) -> str:
        """Return the real matrix of a square complex matrix, given its parts."""
        n = self.n
        negative = self.add(self.f, (n, n), f"negate({im})")
        re, im, negative = (self.add(self.f, (n, 1, n, 1), f"reshape({value})") for value in (re, im, negative))
        rows = [self.add(self.f, (n, 1, n, 2), f"concatenate({a}, {b}), dimensions={{{self.rank + 1}}}")
                for a, b in ((re, negative), (im, re))]
        both = self.add(self.f, (n, 2, n, 2), f"concatenate({rows[0]}, {rows[1]}), dimensions={{{self.rank - 1}}}")
        return self.add(self.f, (2 * n, 2 * n), f"reshape({both})")

    def halves(self, value: str, columns: int, step: int = 1) -> str:
        """Return the complex matrix that a real matrix of twice as many rows represents: rows 2k and 2k + 1 are the
        real and the imaginary part of row k. Only every `step`-th column is taken.
        """
        n = self.n
        pairs = self.add(self.f, (n, 2, columns, step), f"reshape({value})")
        whole = ", ".join(f"[0:{size}]" for size in (*self.batch, n))
        parts = [self.add(self.f, (n, 1, columns, 1),
                          f"slice({pairs}), slice={{{whole}, [{k}:{k + 1}], [0:{columns}], [0:1]}}") for k in (0, 1)]
        re, im = (self.add(self.f, (n, columns), f"reshape({part})") for part in parts)
        return self.add(self.t, (n, columns), f"complex({re}, {im})")

    def root(self) -> "List[str]":
        self.lines[-1] = "  ROOT " + self.lines[-1].strip()
        return self.lines

    def cholesky(self) -> "List[str]":
        """Append the Cholesky factorisation of a complex matrix; return the text. The diagonal is taken as real, as in
        LAPACK. If the real factorisation fails at row k, the complex one fails at row k / 2.
        """
        n, attributes = self.n, self.op.attributes
        a, lower = self.parameter(0), str(attributes.get("lower", False)).lower()
        zeros = self.filled(self.f, (n, n), "0")
        re, im = (self.add(self.f, (n, n), f"{part}({a})") for part in ("real", "imag"))
        im = self.add(self.f, (n, n), f"select({self.diagonal()}, {zeros}, {im})")
        matrix = self.blocks(re, im)
        factor = self.add(self.f, (2 * n, 2 * n), f"cholesky({matrix}), lower={lower}")
        if attributes.get("lower", False):
            self.halves(factor, n, 2)
        else:    # the first column of each transposed block of the upper factor is (a, -b)
            turned = self.add(self.f, (2 * n, 2 * n), f"transpose({factor}), dimensions="
                              f"{{{','.join(map(str, [*range(self.rank - 2), self.rank - 1, self.rank - 2]))}}}")
            left = self.halves(turned, n, 2)
            re, im = (self.add(self.f, (n, n), f"{part}({left})") for part in ("real", "imag"))
            im = self.add(self.f, (n, n), f"negate({im})")
            self.turned(self.add(self.t, (n, n), f"complex({re}, {im})"), n, n)
        return self.root()

    def triangular_solve(self) -> "List[str]":
        n, attributes = self.n, self.op.attributes
        left, conjugate = attributes.get("left_side", False), attributes["transpose_a"] == "ADJOINT"
        turned = (attributes["transpose_a"] != "NO_TRANSPOSE") == left
        a, b = self.parameter(0), self.parameter(1)
        rows, columns = self.op.shape.dims[-2:]
        sides = columns if left else rows
        b = b if left else self.turned(b, rows, columns)
        if conjugate:
            re, im = (self.add(self.f, (n, n), f"{part}({a})") for part in ("real", "imag"))
            a = self.add(self.t, (n, n), f"complex({re}, {self.add(self.f, (n, n), f'negate({im})')})")
        a = self.turned(a, n, n) if turned else a
        on = self.diagonal()
        if not attributes.get("unit_diagonal", False):
            only = self.add(self.t, (n, n), f"select({on}, {a}, {self.filled(self.t, (n, n), '(0, 0)')})")
            pivots = self.add(self.t, (n,), f"reduce({only}, {self.scalar(self.t, '(0, 0)')}), "
                                            f"dimensions={{{self.rank - 1}}}, to_apply=add")
            over = f"broadcast({pivots}), dimensions={{{','.join(map(str, range(self.rank - 1)))}}}"
            a = self.add(self.t, (n, n), f"divide({a}, {self.add(self.t, (n, n), over)})")
            b = self.add(self.t, (n, sides), f"divide({b}, {self.add(self.t, (n, sides), over)})")
        a = self.add(self.t, (n, n), f"select({on}, {self.filled(self.t, (n, n), '(1, 0)')}, {a})")
        matrix = self.blocks(*(self.add(self.f, (n, n), f"{part}({a})") for part in ("real", "imag")))
        parts = [self.add(self.f, (n, 1, sides), f"reshape({self.add(self.f, (n, sides), f'{part}({b})')})")
                 for part in ("real", "imag")]
        both = self.add(self.f, (n, 2, sides), f"concatenate({', '.join(parts)}), dimensions={{{self.rank - 1}}}")
        right = self.add(self.f, (2 * n, sides), f"reshape({both})")
        lower = str(attributes.get("lower", False) != turned).lower()
        x = self.add(self.f, (2 * n, sides), f"triangular-solve({matrix}, {right}), left_side=true, lower={lower}, "
                                             "unit_diagonal=true, transpose_a=NO_TRANSPOSE")
        x = self.halves(x, sides)
        if not left:
            self.turned(x, n, sides)
        return self.root()
