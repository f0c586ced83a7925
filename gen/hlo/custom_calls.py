"""Prepare ops on matrices for kernels: those of f16 and bf16 are computed in f32, and custom calls of LAPACK, as JAX
prints them for CPUs, become ops with plain attributes.

A call's operands and results are matrices in the last two dimensions, with equal batch dimensions before them:

    lapack_?potrf_ffi   cholesky            (factor, info)                  uplo
    lapack_?getrf_ffi   lu                  (factors, pivots from 1, info)
    lapack_?trsm_ffi    triangular-solve    solution                        side, uplo, trans_x, diag
    lapack_?geqrf_ffi   qr                  (reflectors below R, tau)
    lapack_?orgqr_ffi   householder-product Q
    lapack_?gtsv_ffi    tridiagonal-solve   (dl, d, du, solution, info)
    lapack_?syevd_ffi   eigh                (vectors, values, info)         mode, uplo
    lapack_?gesdd_ffi   svd                 (operand, values, u, vt, info)  mode
    tridiagonal_solve_perturbed_ffi         perturbed-tridiagonal-solve     solution

? is s for f32 and d for f64; for trsm (gen/hlo/complex_matrices.py) and gtsv also c for c64 and z for c128. Attributes
are ASCII codes in backend_config. gen/reference/__init__.py defines each op. Results have buffers of their own, so
`output_to_operand_aliasing` can be ignored. Other LAPACK routines that JAX calls become ops `lapack`
(gen/hlo/lapack.py).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Optional

from gen.hlo.checked_call import CheckedCall, Op
from gen.hlo.expansion import Expander, expand
from gen.hlo.graph import Instruction, Module, Shape, array_shape, shape, tuple_shape
from gen.hlo.lapack import LETTERS, LapackCall, packed
from gen.hlo.opcodes import MATRIX_OPS

_TARGET = re.compile(r'"lapack_([sdcz])(\w+)_ffi"\Z')
_TYPES = {letter: dtype for dtype, letter in LETTERS.items()}
# for each letter of an element type, the LAPACK routines that become ops (_OPS) or remain calls of LAPACK (_LIBRARY)
_OPS = {**dict.fromkeys("sd", "potrf getrf trsm geqrf orgqr gtsv syevd gesdd".split()),
        **dict.fromkeys("cz", ["trsm", "gtsv"])}
_LIBRARY = {**dict.fromkeys("sd", "geev gees gehrd sytrd gesvd geqp3 ormqr".split()), **dict.fromkeys(
    "cz", "geev gees gehrd hetrd heevd gesdd gesvd geqp3 unmqr geqrf ungqr getrf potrf".split())}
_PERTURBED = '"tridiagonal_solve_perturbed_ffi"'
_TOP_K = ('"TopK"', '"__gpu$TopK"')
_APPROXIMATE_TOP_K = '"ApproxTopK"'
_REDUCTION_DIM = re.compile(r'\breduction_dim"?\s*[=:]\s*"?(\d{1,9})\b')   # in JSON, and in an attribute of MLIR


def without_custom_calls(module: Module) -> None:
    """Replace each custom call of LAPACK or of top-k by ops, if there are ops for the call. Raise HloError if the call
    contradicts itself.
    """
    def rule(x: Expander, i: Instruction) -> "Optional[Instruction]":
        name = i.attributes.get("raw", {}).get("custom_call_target", "") if i.opcode == "custom-call" else ""
        target = _TARGET.match(name)
        if name in _TOP_K:
            _top_k(i)
        elif name == _APPROXIMATE_TOP_K and _sorts(i):
            return x.call(_sorted)
        elif name == _PERTURBED:
            dtype = i.shape.dtype if i.shape.dtype in _TYPES.values() else "f32"
            op = MatrixCall(module.filename, i, "tridiagonal_solve_perturbed", dtype).op()
            i.opcode, i.attributes = op.opcode, op.attributes
        elif target and target[2] in (*_OPS[target[1]], *_LIBRARY[target[1]]):
            of = MatrixCall if target[2] in _OPS[target[1]] else LapackCall
            op = of(module.filename, i, target[2], _TYPES[target[1]]).op()
            if target[2] == "geev" and target[1] in "sd":
                return x.call(lambda inner, call: packed(inner, call, op))
            i.opcode, i.attributes = op.opcode, op.attributes
        return None

    expand(module, rule)
    expand(module, _empty)


def _empty(x: Expander, i: Instruction) -> Optional[Instruction]:
    """Return the results of an op on matrices if none of them has elements."""
    leaves = i.shape.leaves()
    if i.opcode not in MATRIX_OPS or any(leaf.elements for leaf in leaves):
        return None
    made = [x.splat(0, leaf) for leaf in leaves]
    return x.tuple(made) if i.shape.kind == "tuple" else made[0]


def _top_k(i: Instruction) -> None:
    """Turn a call of top-k into an op: the values and indices of the k largest or smallest elements along the last
    dimension, with k taken from the result's shape. XLA's calls name a comparator, which decides between largest and
    smallest."""
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


def _sorts(i: Instruction) -> bool:
    """Return whether a call of the approximate top-k has the form that JAX prints: n arrays of equal dimensions, n
    initial values, a comparator, and n results, which are smaller than the arrays along the sorted dimension at most.
    """
    results, arrays = i.shape.leaves(), [operand.shape for operand in i.operands[:len(i.operands) // 2]]
    along = _along(i)
    return (along is not None and len(i.called) == 1 and 0 < len(results) == len(arrays) == len(i.operands) / 2
            and i.shape.kind == "tuple" and all(of.kind == "array" and along < of.rank for of in arrays)
            and all(of.dims == arrays[0].dims for of in arrays) and all(to.dims == results[0].dims for to in results)
            and [to.dtype for to in results] == [of.dtype for of in arrays] and results[0].rank == arrays[0].rank
            and all(to == of or d == along and to <= of
                    for d, (to, of) in enumerate(zip(results[0].dims, arrays[0].dims))))


def _along(i: Instruction) -> Optional[int]:
    """Return the dimension along which an approximate top-k sorts."""
    found = _REDUCTION_DIM.search(i.attributes.get("raw", {}).get("backend_config", ""))
    return int(found[1]) if found else None


def _sorted(x: Expander, i: Instruction) -> Instruction:
    """Return the results of an approximate top-k: the first elements of the sorted arrays, which are exact. XLA does the
    same on devices other than TPUs.
    """
    results, along, comparator = i.shape.leaves(), _along(i), i.called[0]
    assert along is not None
    operands = i.operands[:len(results)]
    shapes = [array_shape(operand.shape.dtype, operand.shape.dims) for operand in operands]
    sort = x.add("sort", shapes[0] if len(shapes) == 1 else tuple_shape(shapes),
                 [x.laid_out(operand, shape) for operand, shape in zip(operands, shapes)],
                 dimensions=(along,), to_apply=comparator)
    sort.called = [comparator]
    arrays = [x.element(sort, n) for n in range(len(shapes))] if len(shapes) > 1 else [sort]
    return x.tuple([x.laid_out(x.slice(array, along, 0, to.dims[along]), to) for array, to in zip(arrays, results)])


def with_wide_matrices(module: Module) -> None:
    """Convert f16 and bf16 operands of HLO's ops on matrices to f32, and their results back."""
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


class MatrixCall(CheckedCall):
    """A call that becomes an op on matrices."""

    def _potrf(self) -> Op:
        (batch, n), t = self.square(), self.dtype
        return Op("cholesky", {"lower": self.code("uplo", {"L": True, "U": False}), "info": True},
                  [(t, (*batch, n, n))], [(t, (*batch, n, n)), ("s32", batch)])

    def _getrf(self) -> Op:
        (batch, m, n), t = self.matrix(), self.dtype
        return Op("lu", {}, [(t, (*batch, m, n))], [(t, (*batch, m, n)), ("s32", (*batch, min(m, n))), ("s32", batch)])

    def _trsm(self) -> Op:
        (batch, n), (_, m, k), t = self.square(0), self.matrix(1), self.dtype
        left = self.code("side", {"L": True, "R": False})
        rows, columns = (n, k) if left else (m, n)
        transpose = self.code("trans_x", {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"})
        return Op("triangular-solve", {"left_side": left, "lower": self.code("uplo", {"L": True, "U": False}),
                                       "unit_diagonal": self.code("diag", {"U": True, "N": False}),
                                       "transpose_a": transpose},
                  [(t, (*batch, n, n)), (t, (*batch, rows, columns))], [(t, (*batch, rows, columns))])

    def _geqrf(self) -> Op:
        (batch, m, n), t = self.matrix(), self.dtype
        return Op("qr", {}, [(t, (*batch, m, n))], [(t, (*batch, m, n)), (t, (*batch, min(m, n)))])

    def _orgqr(self) -> Op:
        (batch, m, n), t = self.matrix(), self.dtype
        k = self.reflectors(batch, m, n)
        return Op("householder-product", {}, [(t, (*batch, m, n)), (t, (*batch, k))],
                  [(t, (*batch, m, n))])

    def _gtsv(self) -> Op:
        (batch, n, k), t = self.matrix(3), self.dtype
        line, right = (t, (*batch, n)), (t, (*batch, n, k))
        return Op("tridiagonal-solve", {}, [line, line, line, right], [line, line, line, right, ("s32", batch)])

    def _tridiagonal_solve_perturbed(self) -> Op:
        (batch, n, k), t = self.matrix(3), self.dtype
        line, right = (t, (*batch, n)), (t, (*batch, n, k))
        return Op("perturbed-tridiagonal-solve", {}, [line, line, line, right], [right])

    def _syevd(self) -> Op:
        (batch, n), t = self.square(), self.dtype
        return Op("eigh", {"lower": self.code("uplo", {"L": True, "U": False}),
                           "vectors": self.code("mode", {"V": True, "N": False})},
                  [(t, (*batch, n, n))], [(t, (*batch, n, n)), (t, (*batch, n)), ("s32", batch)])

    def _gesdd(self) -> Op:
        (batch, m, n), t = self.matrix(), self.dtype
        mode, k = self.code("mode", {"A": "all", "S": "some", "N": "none"}), min(m, n)
        leaves = self.call.shape.leaves()
        # if no vectors are computed, u and vt may have full or reduced size
        whole = [(*batch, m, m), (*batch, n, n)]
        full = mode == "all" or (mode == "none" and [leaf.dims for leaf in leaves[2:4]] == whole)
        columns, rows = (m, n) if full else (k, k)
        return Op("svd", {"vectors": mode}, [(t, (*batch, m, n))],
                  [(t, (*batch, m, n)), (t, (*batch, k)), (t, (*batch, m, columns)), (t, (*batch, rows, n)),
                   ("s32", batch)])
