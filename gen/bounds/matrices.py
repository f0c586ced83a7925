"""Ops on matrices. Functions of matrices.c compute the allowed distance of each result from the reference's. If
rounding may change a comparison (of a pivot or a sign), any value is allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from gen.bounds.following import Bounds
from gen.bounds.types import full_range, key_of
from gen.statements import Assign, For, Statement
from gen.hlo import Instruction
from gen.hlo.opcodes import TRIDIAGONAL
from gen.reference.library import functions
from gen.reference.loops import count_of
from gen.reference.matrices import MATRICES, at, call, function, named, triangle
from gen.reference.types import STORAGE, to_double
from gen.reference.values import Array

ERRORS = Path(__file__).with_name("matrices.c")
UNIT = {"f32": "0x1p-24", "f64": "0x1p-53"}


class _Given(NamedTuple):
    """The arguments of a function of matrices.c, as C text.

    i: the op
    x: its operands
    out: its results
    e: the errors of its results
    w: the work array
    """

    i: Instruction
    x: List[str]
    out: List[str]
    e: List[str]
    w: str


def _sizes(g: _Given) -> "Tuple[int, ...]":
    return g.i.operands[0].shape.dims[-2:]


def _cholesky(g: _Given) -> "List[str | int]":
    return [g.x[0], g.out[0], g.e[0], g.w, _sizes(g)[0], int(g.i.attributes.get("lower", False))]


def _triangular_solve(g: _Given) -> "List[str | int]":
    return [*g.x, g.out[0], g.e[0], g.w, *triangle(g.i), int(g.i.attributes.get("unit_diagonal", False))]


def _lu(g: _Given) -> "List[str | int]":
    return [g.x[0], *g.out[:2], *g.e[:2], g.w, *_sizes(g)]


def _qr(g: _Given) -> "List[str | int]":
    return [g.x[0], *g.out, *g.e, g.w, *_sizes(g)]


def _householder_product(g: _Given) -> "List[str | int]":
    return [*g.x, g.e[0], *_sizes(g), g.i.operands[1].shape.dims[-1]]


def _tridiagonal_solve(g: _Given) -> "List[str | int]":
    """Return the arguments for both tridiagonal ops. A complex array is passed as two arrays of its parts."""
    real, at = STORAGE[g.i.operands[0].shape.dtype], 0 if len(g.out) < 5 else 3 * (len(g.x) // 4)
    parts = slice(at, at + len(g.x) // 4)
    return [_list(f"const {real}", g.x), _list(f"const {real}", g.out[parts]), _list("double", g.e[parts]), g.w,
            *g.i.operands[-1].shape.dims[-2:]]


def _list(kind: str, arrays: "Sequence[str]") -> str:
    """Return arrays as a C array of pointers: real part, imaginary part, real part, .. The imaginary parts of real
    numbers are NULL.
    """
    pairs = arrays if len(arrays) in (2, 8) else [a for of in arrays for a in (of, "NULL")]
    return f"({kind} *const[]){{{', '.join(pairs)}}}"


def _eigh(g: _Given) -> "List[str | int]":
    return [g.x[0], *g.out[:2], *g.e[:2], _sizes(g)[0], int(g.i.attributes["vectors"])]


def _svd(g: _Given) -> "List[str | int]":
    u, vt = g.i.shape.leaves()[2:4]
    return [g.x[0], *g.out[1:3], *g.e[1:4], *_sizes(g), u.dims[-1], vt.dims[-2],
            int(g.i.attributes["vectors"] != "none")]


_ARGUMENTS: "Dict[str, Callable[[_Given], List[str | int]]]" = {
    "cholesky": _cholesky, "triangular-solve": _triangular_solve, "lu": _lu, "qr": _qr,
    "householder-product": _householder_product, **dict.fromkeys(TRIDIAGONAL, _tridiagonal_solve),
    "eigh": _eigh, "svd": _svd}


def _work(i: Instruction) -> int:
    """Return the number of elements of the function's work array."""
    m, n = i.operands[0].shape.dims[-2:] if i.opcode not in TRIDIAGONAL else (0, 0)
    k = min(m, n)
    return {"cholesky": 2 * n * n + n, "triangular-solve": n * n + 2 * n, "lu": 2 * m * n + m + n,
            "qr": k * k + n}.get(i.opcode, 0)


def matrices(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    if not b.exact(*x):
        b.decided(i, outs, [False] * len(outs), False, f"errors of the operands of {i.name} are not followed")
        return
    ranges = [b.ranges(i, out, False) for out in outs]
    rank = i.operands[-1 if i.opcode in (*TRIDIAGONAL, "triangular-solve") else 0].shape.rank - 2
    count, dtype = count_of(outs[0].dims[:rank]), outs[0].dtype
    errors = [b.e.array(f"{i.name}_error", "double", out.dims) for out in outs]
    sure = b.e.array(f"{i.name}_sure", "int", (count,))
    work, lines = _prepared(b, i, x, dtype)
    given = _Given(i, [at(a, rank) for a in x], [at(a, rank) for a in outs], [at(a, rank) for a in errors],
                   str(work[0]) if work else "")
    b.e.call.texts[f"tame_{dtype}"] = function(ERRORS, "tame", dtype)
    b.e.call.texts["matrix_range"] = functions(ERRORS)["matrix_range"]
    certain = call(b.e, ERRORS, f"{named(i)}_error", dtype, [*_ARGUMENTS[i.opcode](given), UNIT[dtype]])
    text: List[Statement] = [For("int64_t", "i", str(count), [*lines, Assign(f"{sure}[i]", certain.text)])]
    for number, (out, to, error) in enumerate(zip(outs, ranges, errors)):
        interval = Assign(f"{to}[i]", _interval(b, i, number, out, error, sure))
        text.append(For("int64_t", "i", str(out.count), [interval], below=True))
    b.step(i.name, text, [*ranges, *errors, sure, *work], [*x, *outs])


def _prepared(b: Bounds, i: Instruction, x: List[Array], dtype: str) -> "Tuple[List[Array], List[Statement]]":
    """Return the function's work array and the arrays that must be filled before the call, with the lines that fill
    them.
    """
    if i.opcode not in TRIDIAGONAL:
        return ([b.e.array(f"{i.name}_bound", "double", (_work(i),))] if _work(i) else []), []
    n, parts = i.operands[-1].shape.dims[-2], len(x) // 4
    rank = i.operands[-1].shape.rank - 2
    inverse = b.e.array(f"{i.name}_inverse", dtype, (parts * n * n,))
    unit = b.e.array(f"{i.name}_unit", dtype, (n * n,))
    wide = b.e.array(f"{i.name}_wide", {"f32": "double", "f64": "long double"}[dtype], (6 * n + 2 * n * n,))
    arrays = [at(a, rank) for a in x[:3 * parts]]
    both = [*(arrays if parts == 2 else [a for of in arrays for a in (of, "NULL")]), str(unit), "NULL"]
    results = [*["NULL"] * 6, str(inverse), f"{inverse} + {n * n}" if parts == 2 else "NULL"]
    ones = For("int64_t", "k", str(n * n), [Assign(f"{unit}[k]", f"k % {n + 1} == 0")], brief=True)
    return [inverse, unit, wide], [ones, call(
        b.e, MATRICES, "tridiagonal_solve", dtype,
        [_list(f"const {STORAGE[dtype]}", both), _list(STORAGE[dtype], results), str(wide), n, n, 0])]


def _interval(b: Bounds, i: Instruction, number: int, out: Array, error: Array, sure: Array) -> str:
    """Return the interval of element i of a result."""
    if out.dtype == "s32":
        certain = f"{error}[i] == 0" if i.opcode == "lu" and number == 1 else f"{sure}[i]"
        point = key_of(out.dtype, f"{out}[i]")
        return f"{certain} ? irange_of({point}, {point}) : {full_range(out.dtype)}"
    value = to_double(b.e.call, out.dtype, f"{out}[i]")
    if i.opcode == "svd" and number == 0:  # this result is a copy of the operand
        return f"range_of({value}, {value})"
    if i.opcode == "tridiagonal-solve" and number < 3 * (len(i.operands) // 4):
        # these results, the eliminated diagonals, depend on the pivot rows, which are unknown
        return "range_all()"
    return f"matrix_range({value}, {error}[i])"
