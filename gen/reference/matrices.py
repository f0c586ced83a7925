"""Ops on matrices. Each matrix of a batch becomes a call of a function of matrices.c."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Sequence

from gen.statements import Assign, Call, For, Statement
from gen.hlo import Instruction
from gen.hlo.opcodes import TRIDIAGONAL
from gen.reference.emitter import Emitter, title
from gen.reference.library import functions
from gen.reference.loops import count_of
from gen.reference.values import Array, Value

MATRICES = Path(__file__).with_name("matrices.c")
# for each type of elements, the texts by which the words `real`, `ROOT` .. of matrices.c are replaced
_WORDS: Mapping[str, Mapping[str, str]] = {
    "f32": {"real": "float", "wide": "double", "ROOT": "sqrt", "SIZE": "fabs", "WIDE_EPSILON": "0x1p-52",
            "EPSILON": "0x1p-23", "LEAST": "0x1p-126"},
    "f64": {"real": "double", "wide": "long double", "ROOT": "sqrtl", "SIZE": "fabsl", "WIDE_EPSILON": "0x1p-63",
            "EPSILON": "0x1p-52", "LEAST": "0x1p-1022"}}
WIDE = {dtype: words["wide"] for dtype, words in _WORDS.items()}


@lru_cache(maxsize=None)
def function(file: Path, name: str, dtype: str) -> str:
    """Return the text of a function of matrices.c, or of a similar file, for a type of elements. name: the function's
    name without the suffix `real`.
    """
    text = re.sub(r"_real\(", f"_{dtype}(", functions(file)[f"{name}_real"])
    return re.sub(r"\b(real|wide|ROOT|SIZE|WIDE_EPSILON|EPSILON|LEAST)\b", lambda word: _WORDS[dtype][word[1]], text)


def at(array: Array, rank: int) -> str:
    """Return a pointer to matrix number i of an array with `rank` batch dimensions, as C text."""
    size = count_of(array.dims[rank:])
    return f"{array}" if count_of(array.dims[:rank]) == 1 else f"{array} + i * {size}"


# for each function, the functions that it calls
_CALLED = {"tridiagonal_solve": ("times", "over", "less", "length"), "tridiagonal_solve_error": ("size",)}


def named(i: Instruction) -> str:
    """Return the name of the function that computes an op, without the suffix for the type."""
    return "tridiagonal_solve" if i.opcode in TRIDIAGONAL else i.opcode.replace("-", "_")


def call(e: Emitter, file: Path, name: str, dtype: str, arguments: "Sequence[str | int]") -> Call:
    for needed in (*_CALLED.get(name, ()), name):
        e.call.texts[f"{needed}_{dtype}"] = function(file, needed, dtype)
    return Call(f"{name}_{dtype}", *map(str, arguments))


def for_each(count: int, statement: Statement) -> Statement:
    """Return a statement in a loop over the matrices. The loop variable i is the index of a matrix."""
    return statement if count == 1 else For("int64_t", "i", str(count), [statement], brief=True)


def _work(i: Instruction, dims: "Sequence[int]") -> int:
    """Return the number of elements that an op's function needs in its work array."""
    m, n = dims[-2:]
    k, size = min(m, n), max(m, n)
    return {"triangular-solve": size, "householder-product": m, **dict.fromkeys(TRIDIAGONAL, 6 * m + 2 * m * n), "eigh": 2 * n * n,
            "svd": size * k + k * k + size * size}.get(i.opcode, m * n)


def _cholesky(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]", w: str) -> "List[str | int]":
    return [x[0], out[0], w, dims[-1], int(i.attributes.get("lower", False)), int(i.attributes.get("info", False))]


def triangle(i: Instruction) -> "List[int]":
    """Return the arguments that describe a triangular system T X = B. X T = B and a transposed T are brought to
    this form by other strides. The arguments are the size of T, the number of right-hand sides, the two strides of T,
    the two strides of the right-hand sides, and 1 if T is lower triangular.
    """
    left, (m, k) = i.attributes.get("left_side", False), i.shape.dims[-2:]
    n, sides = (m, k) if left else (k, m)
    straight = left == (i.attributes["transpose_a"] == "NO_TRANSPOSE")
    return [n, sides, *((n, 1) if straight else (1, n)), *((k, 1) if left else (1, k)),
            int(i.attributes.get("lower", False) == straight)]


def _triangular_solve(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]",
                      w: str) -> "List[str | int]":
    return [*x, out[0], w, *triangle(i), int(i.attributes.get("unit_diagonal", False))]


def _lu(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]", w: str) -> "List[str | int]":
    return [x[0], out[0], out[1], w, *dims[-2:]]


def _qr(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]", w: str) -> "List[str | int]":
    return [x[0], *out, w, *dims[-2:]]


def _householder_product(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]",
                         w: str) -> "List[str | int]":
    return [*x, *out, w, *dims[-2:], i.operands[1].shape.dims[-1]]


def _tridiagonal_solve(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]",
                       w: str) -> "List[str | int]":
    """Return the arguments of the functions for tridiagonal systems. A matrix is real, or given by its real and
    imaginary parts.
    """
    perturbed, real = i.opcode != "tridiagonal-solve", _WORDS[i.operands[0].shape.dtype]["real"]
    results = [*["NULL"] * (6 if len(x) == 8 else 3), *out] if perturbed else out[:len(x)]
    return [*(f"({kind} *const[]){{{', '.join(arrays if len(x) == 8 else [a for of in arrays for a in (of, 'NULL')])}}}"
              for kind, arrays in ((f"const {real}", x), (real, results))), w, *dims[-2:], int(perturbed)]


def _eigh(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]", w: str) -> "List[str | int]":
    return [x[0], out[0], out[1], w, dims[-1], int(i.attributes["lower"]), int(i.attributes["vectors"])]


def _svd(i: Instruction, dims: "Sequence[int]", x: "List[str]", out: "List[str]", w: str) -> "List[str | int]":
    u, vt = i.shape.leaves()[2:4]
    return [x[0], *out[1:4], w, *dims[-2:], u.dims[-1], vt.dims[-2], int(i.attributes["vectors"] != "none")]


_ARGUMENTS: "Dict[str, Callable[[Instruction, Sequence[int], List[str], List[str], str], List[str | int]]]" = {
    "cholesky": _cholesky, "triangular-solve": _triangular_solve, "lu": _lu, "qr": _qr,
    "householder-product": _householder_product, **dict.fromkeys(TRIDIAGONAL, _tridiagonal_solve),
    "eigh": _eigh, "svd": _svd}


def matrices(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    dims, leaves = x[-1 if i.opcode in ("triangular-solve", *TRIDIAGONAL) else 0].dims, i.shape.leaves()
    rank, dtype = len(dims) - 2, leaves[0].dtype
    outs = [e.array(i.name, leaf.dtype, leaf.dims) for leaf in leaves]
    work = e.array(f"{i.name}_work", WIDE[dtype], (_work(i, dims),))
    called = call(e, MATRICES, named(i), dtype, _ARGUMENTS[i.opcode](
        i, dims, [at(a, rank) for a in x], [at(a, rank) for a in outs], str(work)))
    statement: Statement = called
    if leaves[-1].dtype == "s32":
        statement = Assign(f"{outs[-1]}[{'i' if outs[-1].count > 1 else 0}]", called.text)
    lines = [for_each(count_of(dims[:-2]), statement)]
    if i.opcode == "svd":  # LAPACK leaves undefined values in result 0; here, result 0 is a copy of the operand
        lines.append(Call("memcpy", str(outs[0]), str(x[0]), f"sizeof *{outs[0]} * {outs[0].count}"))
    e.step(title(i), lines, [*outs, work], x)
    return outs[0] if i.shape.kind == "array" else list(outs)
