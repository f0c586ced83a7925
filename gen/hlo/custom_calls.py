"""Ops on matrices before they get kernels: those of f16 and bf16 are done in f32, and custom calls of LAPACK as JAX
prints them for CPUs become ops of this generator with plain attributes.

A call's operands and results are matrices in the last two dimensions, with equal batch dimensions before them:

    lapack_?potrf_ffi   cholesky            (factor, info)                  uplo
    lapack_?getrf_ffi   lu                  (factors, pivots from 1, info)
    lapack_?trsm_ffi    triangular-solve    solution                        side, uplo, trans_x, diag
    lapack_?geqrf_ffi   qr                  (reflectors below R, tau)
    lapack_?orgqr_ffi   householder-product Q
    lapack_?gtsv_ffi    tridiagonal-solve   (dl, d, du, solution, info)
    lapack_?syevd_ffi   eigh                (vectors, values, info)         mode, uplo
    lapack_?gesdd_ffi   svd                 (operand, values, u, vt, info)  mode

? is s for f32 and d for f64; that of trsm is also c for c64 and z for c128 (gen/hlo/complex_matrices.py). Attributes
are ASCII codes in backend_config. gen/reference/__init__.py says what each op means. Results have buffers of their own,
so `output_to_operand_aliasing` needs no care.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Tuple

from gen.hlo.graph import HloError, Instruction, Module, Shape, shape

_TARGET = re.compile(r'"lapack_(?:([sd])(potrf|getrf|trsm|geqrf|orgqr|gtsv|syevd|gesdd)|([cz])(trsm))_ffi"\Z')
_TYPES = {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}


_TOP_K = ('"TopK"', '"__gpu$TopK"')


def without_custom_calls(module: Module) -> None:
    """Makes each custom call of LAPACK or for top-k that there is an op for that op. HloError: the call contradicts
    itself."""
    for instruction in (i for computation in module.computations for i in computation.instructions):
        if instruction.opcode == "custom-call":
            name = instruction.attributes.get("raw", {}).get("custom_call_target", "")
            target = _TARGET.match(name)
            if name in _TOP_K:
                _top_k(instruction)
            elif target:
                _Call(module.filename, instruction, target[2] or target[4],
                      _TYPES[target[1] or target[3]]).becomes_op()


def _top_k(i: Instruction) -> None:
    """Values and indices of the last dimension's largest elements: k is the result's size there. XLA's calls name the
    comparator, which says whether these are the largest or the smallest ones."""
    leaves = i.shape.leaves()
    if len(i.operands) != 1 or i.operands[0].shape.kind != "array" or len(leaves) != 2 or not leaves[0].dims:
        return
    of, (values, indices) = i.operands[0].shape, leaves
    if (values.dtype, indices.dtype) != (of.dtype, "s32") or values.dims != indices.dims or \
            values.dims[:-1] != of.dims[:-1] or values.dims[-1] > of.dims[-1]:
        return
    root = i.called[0].root if i.called else None
    direction = root.attributes.get("direction", "GT") if root is not None else "GT"
    i.opcode, i.called = "topk", []
    i.attributes = {"k": values.dims[-1], "largest": direction in ("GT", "GE")}


def with_wide_matrices(module: Module) -> None:
    """Converts operands of f16 and bf16 of HLO's ops on matrices to f32, and the result back."""
    for computation in module.computations:
        for op in [i for i in computation.instructions if i.opcode in ("cholesky", "triangular-solve")]:
            if op.shape.dtype in ("f16", "bf16"):
                narrow, at = op.shape, computation.instructions.index(op)
                wide = [_converted(operand, "f32", f"{op.name}.wide{n}", op) for n, operand in enumerate(op.operands)]
                result = replace(op, name=f"{op.name}.wide", operands=wide, users=[], shape=_typed(narrow, "f32"))
                for operand in op.operands:
                    operand.users[:] = [user for user in operand.users if user is not op]
                for operand in wide:
                    operand.users.append(result)
                result.users.append(op)
                op.opcode, op.operands, op.attributes = "convert", [result], {}
                computation.instructions[at:at] = [*wide, result]


def _typed(of: Shape, dtype: str) -> Shape:
    return shape(dtype + of.text[of.text.index("["):])


def _converted(of: Instruction, dtype: str, name: str, place: Instruction) -> Instruction:
    made = Instruction(name, "convert", _typed(of.shape, dtype), [of], line=place.line, col=place.col,
                       computation=place.computation)
    of.users.append(made)
    return made


class _Op(NamedTuple):
    """What a call becomes. operands, results: the shapes as (type, sizes) that they must have."""

    opcode: str
    attributes: Dict[str, Any]
    operands: "List[Tuple[str, Tuple[int, ...]]]"
    results: "List[Tuple[str, Tuple[int, ...]]]"


class _Call:
    """A custom call under way."""

    def __init__(self, filename: str, call: Instruction, routine: str, dtype: str) -> None:
        self.filename, self.call, self.routine, self.dtype = filename, call, routine, dtype

    def fail(self, message: str) -> NoReturn:
        raise HloError(self.filename, self.call.line, self.call.col, f"{self.routine}: {message}")

    def becomes_op(self) -> None:
        make: "Callable[[], _Op]" = getattr(self, f"_{self.routine}")
        op = make()
        if len(self.call.operands) != len(op.operands):
            self.fail(f"expected {len(op.operands)} operands, found {len(self.call.operands)}")
        self.check("operand", [operand.shape for operand in self.call.operands], op.operands)
        self.check("result", self.call.shape.leaves(), op.results)
        self.call.opcode, self.call.attributes = op.opcode, op.attributes

    def check(self, what: str, found: "List[Shape]", wanted: "List[Tuple[str, Tuple[int, ...]]]") -> None:
        if len(found) != len(wanted):
            self.fail(f"expected {len(wanted)} {what}s, found {len(found)}")
        for number, (of, (dtype, dims)) in enumerate(zip(found, wanted)):
            if of.kind != "array" or (of.dtype, of.dims) != (dtype, dims):
                self.fail(f"expected {dtype}[{','.join(map(str, dims))}] as {what} {number}, found {of.text}")

    # what a call says

    def matrix(self, number: int = 0) -> "Tuple[Tuple[int, ...], int, int]":
        """The batch dimensions, rows and columns of an operand."""
        if number >= len(self.call.operands):
            self.fail(f"expected at least {number + 1} operands, found {len(self.call.operands)}")
        of = self.call.operands[number].shape
        if of.kind != "array" or of.rank < 2:
            self.fail(f"expected matrices as operand {number}, found {of.text}")
        return of.dims[:-2], of.dims[-2], of.dims[-1]

    def square(self, number: int = 0) -> "Tuple[Tuple[int, ...], int]":
        batch, rows, columns = self.matrix(number)
        if rows != columns:
            self.fail(f"expected square matrices as operand {number}, found {self.call.operands[number].shape.text}")
        return batch, rows

    def code(self, key: str, meanings: "Mapping[str, Any]") -> Any:
        """The meaning of the letter that an attribute is the code of."""
        raw = self.call.attributes["raw"]
        text = raw.get("backend_config", "") + raw.get("mhlo.backend_config", "")
        found = re.search(rf"\b{key}\s*=\s*(\d+)", text)
        letters = " or ".join(f"{ord(letter)} ('{letter}')" for letter in meanings)
        if not found:
            self.fail(f"expected '{key}' in backend_config, as {letters}")
        letter = chr(int(found[1])) if int(found[1]) < 128 else ""
        if letter not in meanings:
            self.fail(f"expected {letters} as '{key}', found {found[1]}")
        return meanings[letter]

    # the routines

    def _potrf(self) -> _Op:
        (batch, n), t = self.square(), self.dtype
        return _Op("cholesky", {"lower": self.code("uplo", {"L": True, "U": False}), "info": True},
                   [(t, (*batch, n, n))], [(t, (*batch, n, n)), ("s32", batch)])

    def _getrf(self) -> _Op:
        (batch, m, n), t = self.matrix(), self.dtype
        return _Op("lu", {}, [(t, (*batch, m, n))], [(t, (*batch, m, n)), ("s32", (*batch, min(m, n))), ("s32", batch)])

    def _trsm(self) -> _Op:
        (batch, n), (_, m, k), t = self.square(0), self.matrix(1), self.dtype
        left = self.code("side", {"L": True, "R": False})
        rows, columns = (n, k) if left else (m, n)
        transpose = self.code("trans_x", {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"})
        return _Op("triangular-solve", {"left_side": left, "lower": self.code("uplo", {"L": True, "U": False}),
                                        "unit_diagonal": self.code("diag", {"U": True, "N": False}),
                                        "transpose_a": transpose},
                   [(t, (*batch, n, n)), (t, (*batch, rows, columns))], [(t, (*batch, rows, columns))])

    def _geqrf(self) -> _Op:
        (batch, m, n), t = self.matrix(), self.dtype
        return _Op("qr", {}, [(t, (*batch, m, n))], [(t, (*batch, m, n)), (t, (*batch, min(m, n)))])

    def _orgqr(self) -> _Op:
        (batch, m, n), t = self.matrix(), self.dtype
        tau = self.call.operands[1].shape if len(self.call.operands) > 1 else None
        if tau is None or tau.kind != "array" or tau.rank != len(batch) + 1 or not tau.dims[-1] <= n <= m:
            self.fail("expected matrices with at least as many rows as columns, and at most as many factors tau")
        return _Op("householder-product", {}, [(t, (*batch, m, n)), (t, (*batch, tau.dims[-1]))],
                   [(t, (*batch, m, n))])

    def _gtsv(self) -> _Op:
        (batch, n, k), t = self.matrix(3), self.dtype
        line, right = (t, (*batch, n)), (t, (*batch, n, k))
        return _Op("tridiagonal-solve", {}, [line, line, line, right], [line, line, line, right, ("s32", batch)])

    def _syevd(self) -> _Op:
        (batch, n), t = self.square(), self.dtype
        return _Op("eigh", {"lower": self.code("uplo", {"L": True, "U": False}),
                            "vectors": self.code("mode", {"V": True, "N": False})},
                   [(t, (*batch, n, n))], [(t, (*batch, n, n)), (t, (*batch, n)), ("s32", batch)])

    def _gesdd(self) -> _Op:
        (batch, m, n), t = self.matrix(), self.dtype
        mode, k = self.code("mode", {"A": "all", "S": "some", "N": "none"}), min(m, n)
        leaves = self.call.shape.leaves()
        # without vectors, their arrays may have either size
        whole = [(*batch, m, m), (*batch, n, n)]
        full = mode == "all" or (mode == "none" and [leaf.dims for leaf in leaves[2:4]] == whole)
        columns, rows = (m, n) if full else (k, k)
        return _Op("svd", {"vectors": mode}, [(t, (*batch, m, n))],
                   [(t, (*batch, m, n)), (t, (*batch, k)), (t, (*batch, m, columns)), (t, (*batch, rows, n)),
                    ("s32", batch)])
