"""Custom calls of LAPACK that remain calls of its routines, on the C target only. They become ops `lapack` that hold a
routine's name and its arguments in LAPACK's order. Workspaces have the minimum size that LAPACK's documentation
allows.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from gen.hlo import dtypes
from gen.hlo.checked_call import CheckedCall, Op
from gen.hlo.expansion import Expander
from gen.hlo.graph import Instruction, array_shape, tuple_shape

LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
_MODES = {"V": "V", "N": "N"}
_TRIANGLES = {"L": "L", "U": "U"}
# routines that are not called if the matrix has a NaN or an infinity
_ON_FINITE = ("geev", "gees", "heevd", "gesdd", "gesvd")


class Room(NamedTuple):
    """An array that one call of LAPACK reads or writes, column-major.

    dims: rows and columns; or a length; or () for a number
    operand: the index of the operand that is copied to the array before the call, or None
    result: the index of the result that is copied from the array after the call, or None
    """

    dtype: str
    dims: "Tuple[int, ...]"
    operand: "Optional[int]" = None
    result: "Optional[int]" = None


# a letter, a number, an array, or NULL
Argument = Union[str, int, Room, None]


class LapackCall(CheckedCall):
    """A call that becomes an op `lapack`.

    The op's attribute `finite` is true if the routine is skipped when operand 0 has a NaN or an infinity. Then info is
    -4, and all float results are NaN.
    """

    @property
    def part(self) -> str:
        """Return the type of the real and imaginary parts; for a real type, the type itself."""
        return dtypes.TABLE[self.dtype].part or self.dtype

    @property
    def is_complex(self) -> bool:
        return dtypes.is_complex(self.dtype)

    def given(self, operand: int, *dims: int, result: "Optional[int]" = None) -> Room:
        return Room(self.dtype, dims, operand, result)

    def result(self, number: int, *dims: int, dtype: str = "") -> Room:
        return Room(dtype or self.dtype, dims, None, number)

    def info(self, number: "Optional[int]" = None) -> Room:
        return Room("s32", (), None, number)

    def work(self, size: int, dtype: str = "") -> "List[Argument]":
        """Return two arguments: a workspace, and its size."""
        return [Room(dtype or self.dtype, (max(1, size),)), max(1, size)]

    def real_work(self, size: int) -> "List[Argument]":
        """Return the argument for real workspace, which only routines for complex matrices have; else an empty list."""
        return self.work(size, self.part)[:1] if self.is_complex else []

    def made(self, batch: "Tuple[int, ...]", arguments: "Sequence[Argument]") -> Op:
        """Return the op `lapack` with these arguments. The arrays among the arguments say which operands and results
        the op has.
        """
        rooms = [a for a in arguments if isinstance(a, Room)]
        operands = {a.operand: (a.dtype, (*batch, *a.dims)) for a in rooms if a.operand is not None}
        results = {a.result: (a.dtype, (*batch, *a.dims)) for a in rooms if a.result is not None}
        return Op("lapack", {"routine": LETTERS[self.dtype] + self.routine, "arguments": tuple(arguments),
                             "finite": self.routine in _ON_FINITE},
                  [operands[k] for k in sorted(operands)], [results[k] for k in sorted(results)])

    def _geev(self) -> Op:
        """Return the op of geev. On a real matrix LAPACK returns real eigenvectors in packed form (see `packed`), but
        the custom call's results are complex.
        """
        batch, n = self.square()
        modes = [self.code(key, _MODES) for key in ("compute_left", "compute_right")]
        lines = 1 if self.is_complex else 2
        op = self.made(batch, [
            *modes, n, self.given(0, n, n), n, *(self.result(k, n) for k in range(lines)), self.result(lines, n, n), n,
            self.result(lines + 1, n, n), n, *self.work((2 if self.is_complex else 4) * n), *self.real_work(2 * n),
            self.info(lines + 2)])
        if not self.is_complex:
            to = {"f32": "c64", "f64": "c128"}[self.dtype]
            op.results[2:4] = [(to, dims) for _, dims in op.results[2:4]]
        return op

    def _gees(self) -> Op:
        (batch, n), mode = self.square(), self.code("mode", _MODES)
        sort, lines = self.code("sort", {"N": "N"}), 1 if self.is_complex else 2
        return self.made(batch, [
            mode, sort, None, n, self.given(0, n, n, result=0), n, self.result(2 + lines, dtype="s32"),
            *(self.result(2 + k, n) for k in range(lines)), self.result(1, n, n), n,
            *self.work((2 if self.is_complex else 3) * n), *self.real_work(n), None, self.info(3 + lines)])

    def _gehrd(self) -> Op:
        batch, n = self.square()
        if (self.word("low"), self.word("high")) != ("1", str(n)):
            self.fail(f"expected low = 1 and high = {n} in backend_config, all of the matrix")
        return self.made(batch, [n, 1, n, self.given(0, n, n, result=0), n, self.result(1, n - 1), *self.work(n),
                                 self.info(2)])

    def _sytrd(self) -> Op:
        (batch, n), triangle = self.square(), self.code("uplo", _TRIANGLES)
        return self.made(batch, [
            triangle, n, self.given(0, n, n, result=0), n, self.result(1, n, dtype=self.part),
            self.result(2, n - 1, dtype=self.part), self.result(3, n - 1), *self.work(1), self.info(4)])

    _hetrd = _sytrd

    def _heevd(self) -> Op:
        batch, n = self.square()
        mode, triangle = self.code("mode", _MODES), self.code("uplo", _TRIANGLES)
        sizes = (2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n) if mode == "V" else (n + 1, n, 1)
        return self.made(batch, [
            mode, triangle, n, self.given(0, n, n, result=0), n, self.result(1, n, dtype=self.part),
            *self.work(sizes[0]), *self.work(sizes[1], self.part), *self.work(sizes[2], "s32"), self.info(2)])

    def _decomposed(self) -> "Tuple[Tuple[int, ...], str, int, int, List[Argument]]":
        """Return what both singular value decompositions share: batch dimensions, mode, numbers of rows and of columns,
        and LAPACK's arguments from m to ldvt.
        """
        (batch, m, n), k = self.matrix(), min(self.matrix()[1:])
        mode = self.code("mode", {letter: letter for letter in "ASN"})
        leaves = [leaf.dims for leaf in self.call.shape.leaves()]
        full = mode == "A" or mode == "N" and leaves[2:4] == [(*batch, m, m), (*batch, n, n)]
        columns, rows = (m, n) if full else (k, k)
        return batch, mode, m, n, [
            m, n, self.given(0, m, n, result=0), m, self.result(1, k, dtype=self.part), self.result(2, m, columns), m,
            self.result(3, rows, n), rows]

    def _gesdd(self) -> Op:
        batch, mode, m, n, arguments = self._decomposed()
        less, more = min(m, n), max(m, n)
        work = {"A": less * less + 2 * less + more, "S": less * less + 3 * less, "N": 2 * less + more}[mode]
        real_work = 7 * less if mode == "N" else max(5 * less * less + 5 * less,
                                                     2 * more * less + 2 * less * less + less)
        return self.made(batch, [mode, *arguments, *self.work(work), *self.real_work(real_work),
                                 *self.work(8 * less, "s32")[:1], self.info(4)])

    def _gesvd(self) -> Op:
        batch, mode, m, n, arguments = self._decomposed()
        less, more = min(m, n), max(m, n)
        work = 2 * less + more if self.is_complex else max(3 * less + more, 5 * less)
        return self.made(batch, [mode, mode, *arguments, *self.work(work), *self.real_work(5 * less), self.info(4)])

    def _geqp3(self) -> Op:
        batch, m, n = self.matrix()
        return self.made(batch, [
            m, n, self.given(0, m, n, result=0), m, Room("s32", (n,), 1, 1), self.result(2, min(m, n)),
            *self.work(n + 1 if self.is_complex else 3 * n + 1), *self.real_work(2 * n), self.info()])

    def _ormqr(self) -> Op:
        (batch, order, columns), (_, m, n) = self.matrix(0), self.matrix(2)
        left, tau = self.truth("left"), self.call.operands[1].shape
        if tau.kind != "array" or tau.rank != len(batch) + 1 or order != (m if left else n) or \
                not tau.dims[-1] <= min(order, columns):
            self.fail("expected at most as many factors tau as reflectors, of the length of the side they stand on")
        k = tau.dims[-1]
        transposed = ("C" if self.is_complex else "T") if self.truth("transpose") else "N"
        return self.made(batch, [
            "L" if left else "R", transposed, m, n, k, self.given(0, order, columns), order, self.given(1, k),
            self.given(2, m, n, result=0), m, *self.work(n if left else m), self.info()])

    _unmqr = _ormqr

    # ---- complex numbers only; calls on real numbers become other ops ----

    def _geqrf(self) -> Op:
        batch, m, n = self.matrix()
        return self.made(batch, [m, n, self.given(0, m, n, result=0), m, self.result(1, min(m, n)), *self.work(n),
                                 self.info()])

    def _ungqr(self) -> Op:
        batch, m, n = self.matrix()
        k = self.reflectors(batch, m, n)
        return self.made(batch, [m, n, k, self.given(0, m, n, result=0), m, self.given(1, k), *self.work(n),
                                 self.info()])

    def _getrf(self) -> Op:
        batch, m, n = self.matrix()
        return self.made(batch, [m, n, self.given(0, m, n, result=0), m, self.result(1, min(m, n), dtype="s32"),
                                 self.info(2)])

    def _potrf(self) -> Op:
        batch, n = self.square()
        return self.made(batch, [self.code("uplo", _TRIANGLES), n, self.given(0, n, n, result=0), n, self.info(1)])


def packed(x: Expander, call: Instruction, op: Op) -> Instruction:
    """Return the results of a call of geev on real matrices. Of a conjugate pair, LAPACK returns only the vector whose
    eigenvalue has a positive imaginary part. The vector's real part is in the first of the pair's two columns, and its
    imaginary part in the second.
    """
    leaves = call.shape.leaves()
    part = leaves[0].dtype
    made = x.add("lapack", tuple_shape([array_shape(part, leaf.dims, leaf.minor_to_major) if dtypes.is_complex(
        leaf.dtype) else leaf for leaf in leaves]), call.operands, **op.attributes)
    values, imaginary, *vectors, info = (x.element(made, number) for number in range(5))
    unpacked = []
    for of, to in zip(vectors, leaves[2:4]):
        zeros, none = x.splat(0, of.shape), ((0, 0, 0),) * (to.rank - 1)
        spread = x.broadcast(imaginary, of.shape, (*range(to.rank - 2), to.rank - 1))
        first, second = (x.add("compare", array_shape("pred", to.dims, to.minor_to_major), [spread, zeros],
                               direction=direction) for direction in ("GT", "LT"))
        before, after = (x.add("pad", of.shape, [of, x.constant(part, 0)], padding=(*none, (low, -low, 0)))
                         for low in (1, -1))
        re = x.add("select", of.shape, [second, before, of])
        im = x.add("select", of.shape, [first, after, x.add("select", of.shape, [second, x.op("negate", of), zeros])])
        unpacked.append(x.add("complex", to, [re, im]))
    return x.tuple([values, imaginary, *unpacked, info])
