"""Property: ops on matrices equal NumPy's results in f64 and agree with the reference on each class of device. This
covers HLO ops and custom calls of LAPACK, with any size, batch and layout. A call whose attributes or shapes contradict
each other is an error that names the line and column of the call.

Signs and bases that a factorisation may choose are not compared with NumPy. There the product of the factors must equal
the operand, and vectors must be orthonormal. SETT_SEED selects other random calls, SETT_COUNT their number.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, List, Sequence, Tuple

import pytest

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

from drawn import device_or_skip, ON
from gen import hlo, pipeline, run as checked
from gen.program import build
from gen.schedule import DEVICES
from gen.targets import TARGETS
from gen_run import ROOT, gen, run

SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "1"))
with_numpy = pytest.mark.skipif(np is None, reason="SKIP: no numpy, which computes what is right")

NAMES = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


def typed(dtype: str, dims: Sequence[int], by_columns: bool = True) -> str:
    """Return the text of a shape whose matrices are column-major, as in LAPACK, or row-major."""
    order = list(range(len(dims)))[::-1]
    if by_columns and len(dims) > 1:
        order[:2] = order[1::-1]
    return f"{dtype}[{','.join(map(str, dims))}]" + ("{" + ",".join(map(str, order)) + "}" if dims else "")


def module(result: str, operands: Sequence[str], op: str, attributes: str) -> str:
    lines = [f"  p{n} = {shape} parameter({n})" for n, shape in enumerate(operands)]
    words = ", ".join(f"p{n}" for n in range(len(operands)))
    return "\n".join(["HloModule m", "ENTRY e {", *lines, f"  ROOT r = {result} {op}({words}), {attributes}", "}", ""])


def call(result: str, operands: Sequence[str], routine: str, config: str = "") -> str:
    return module(result, operands, "custom-call",
                  f'custom_call_target="lapack_{routine}_ffi", api_version=API_VERSION_TYPED_FFI, '
                  f"backend_config={{{config}}}")


class Drawn:
    """A random batch of matrices of a random type, and texts of calls that take it. by_columns: true if the matrices
    are column-major.
    """

    def __init__(self, number: int, dtypes: Sequence[str] = ("f32", "f64")) -> None:
        r = self.r = random.Random(SEED * 7919 + number)
        self.dtype = r.choice(dtypes)
        self.batch: Tuple[int, ...] = r.choice([(), (1,), (3,), (2, 2), (7,)])
        self.by_columns = r.random() < 0.75

    def size(self) -> int:
        return self.r.choice([1, 2, 3, 4, self.r.randint(5, 16), self.r.randint(17, 40)])

    def matrix(self, m: int, n: int) -> str:
        return typed(self.dtype, (*self.batch, m, n), self.by_columns)

    def line(self, n: int, dtype: str = "") -> str:
        return typed(dtype or self.dtype, (*self.batch, n), False)

    @property
    def info(self) -> str:
        return typed("s32", self.batch, False)

    def code(self, letters: str) -> str:
        return self.r.choice(letters)

    def cholesky(self) -> "Tuple[str, str]":
        n = self.size()
        return "cholesky", module(self.matrix(n, n), [self.matrix(n, n)], "cholesky",
                                  f"lower={self.r.choice(['true', 'false'])}")

    def potrf(self) -> "Tuple[str, str]":
        n = self.size()
        return "potrf", call(f"({self.matrix(n, n)}, {self.info})", [self.matrix(n, n)], NAMES[self.dtype] + "potrf",
                             f"uplo = {ord(self.code('LU'))} : ui8")

    def getrf(self) -> "Tuple[str, str]":
        m, n = self.size(), self.size()
        return "getrf", call(f"({self.matrix(m, n)}, {self.line(min(m, n), 's32')}, {self.info})", [self.matrix(m, n)],
                             NAMES[self.dtype] + "getrf")

    def triangle(self) -> "Tuple[str, str]":
        n, k = self.size(), self.size()
        left = self.r.random() < 0.5
        b = self.matrix(n, k) if left else self.matrix(k, n)
        words = {key: self.r.choice(["true", "false"]) for key in ("lower", "unit_diagonal")}
        return "triangle", module(b, [self.matrix(n, n), b], "triangular-solve", ", ".join(
            [f"left_side={str(left).lower()}", *(f"{key}={word}" for key, word in words.items()),
             f"transpose_a={self.r.choice(['NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT'])}"]))

    def trsm(self) -> "Tuple[str, str]":
        n, k = self.size(), self.size()
        side = self.code("LR")
        b = self.matrix(n, k) if side == "L" else self.matrix(k, n)
        return "trsm", call(b, [self.matrix(n, n), b], NAMES[self.dtype] + "trsm", ", ".join(
            f"{key} = {ord(letter)} : ui8" for key, letter in (("diag", self.code("NU")), ("side", side), (
                "trans_x", self.code("NTC")), ("uplo", self.code("LU")))))

    def geqrf(self) -> "Tuple[str, str]":
        m, n = self.size(), self.size()
        return "geqrf", call(f"({self.matrix(m, n)}, {self.line(min(m, n))})", [self.matrix(m, n)],
                             NAMES[self.dtype] + "geqrf")

    def orgqr(self) -> "Tuple[str, str]":
        n, m = sorted((self.size(), self.size()))
        k = self.r.randint(1, n)
        return "orgqr", call(self.matrix(m, n), [self.matrix(m, n), self.line(k)], NAMES[self.dtype] + "orgqr")

    def gtsv(self) -> "Tuple[str, str]":
        """Return a call of gtsv (tridiagonal solve), about half of the time with complex numbers."""
        self.dtype = {"f32": "c64", "f64": "c128"}.get(self.dtype, self.dtype) if self.r.random() < 0.5 else self.dtype
        n, k = self.size(), self.r.randint(1, 5)
        shapes = [*[self.line(n)] * 3, self.matrix(n, k)]
        return "gtsv", call(f"({', '.join([*shapes, self.info])})", shapes, NAMES[self.dtype] + "gtsv")

    def perturbed(self) -> "Tuple[str, str]":
        """Return a tridiagonal solve that also accepts singular matrices, about half of the time with complex numbers.
        """
        self.dtype = {"f32": "c64", "f64": "c128"}.get(self.dtype, self.dtype) if self.r.random() < 0.5 else self.dtype
        n, k = self.size(), self.r.randint(1, 5)
        shapes = [*[self.line(n)] * 3, self.matrix(n, k)]
        return "perturbed", module(shapes[3], shapes, "custom-call", 'custom_call_target="tridiagonal_solve_perturbed_ffi", '
                                   "api_version=API_VERSION_TYPED_FFI, backend_config={}")

    def syevd(self) -> "Tuple[str, str]":
        n = self.size()
        return "syevd", call(f"({self.matrix(n, n)}, {self.line(n)}, {self.info})", [self.matrix(n, n)],
                             NAMES[self.dtype] + "syevd",
                             f"mode = {ord(self.code('VVN'))} : ui8, uplo = {ord(self.code('LU'))} : ui8")

    def gesdd(self) -> "Tuple[str, str]":
        m, n, mode = self.size(), self.size(), self.code("ASN")
        k = min(m, n)
        full = mode == "A" or (mode == "N" and self.r.random() < 0.5)
        u, vt = (m, n) if full else (k, k)
        return "gesdd", call(f"({self.matrix(m, n)}, {self.line(k)}, {self.matrix(m, u)}, {self.matrix(vt, n)}, "
                             f"{self.info})", [self.matrix(m, n)], NAMES[self.dtype] + "gesdd",
                             f"mode = {ord(mode)} : ui8")


OPS = ["cholesky", "potrf", "getrf", "triangle", "trsm", "geqrf", "orgqr", "gtsv", "perturbed", "syevd", "gesdd"]


# `ninja test` runs three of OPS here. It tests the remaining ops only in C, against NumPy.
@pytest.mark.parametrize("ops, target, device", [(("potrf", "triangle", "gesdd"), "c", "cpu"),
                                                 *(pytest.param(OPS, *pair, marks=pytest.mark.peer) for pair in ON)])
def test_kernels_agree_with_the_reference(ops: "Sequence[str]", target: str, device: str, tmp_path: Path) -> None:
    texts = {}
    for number, op in itertools.product(range(COUNT), ops):
        name, text = getattr(Drawn(number * len(OPS) + OPS.index(op)), op)()
        texts[f"{op}_{name}{number}"] = text
    agreed([parsed(text, name) for name, text in texts.items()], target, checked.Options(schedule=device), tmp_path)


def agreed(modules: "Sequence[hlo.Module]", target: str, options: checked.Options, folder: Path) -> None:
    device_or_skip(target, options)
    builts = [checked.build(build.program(module), folder / str(number), target, options) for number, module in enumerate(modules)]
    wrong = [result.line() for result in checked.check_what_fits(builts, target, options) if result.status != "PASS"]
    assert not wrong, "\n".join(wrong)


def parsed(text: str, name: str) -> hlo.Module:
    """Parse a module as `gen check` does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.hlo"
        path.write_text(text)
        return checked.load(str(path))


def square(config: str, routine: str = "spotrf", shape: str = "f32[3,3]{0,1}",
           result: str = "(f32[3,3]{0,1}, s32[])") -> str:
    return call(result, [shape], routine, config)


WRONG = {
    "potrf: expected 76 ('L') or 85 ('U') as 'uplo', found 77": square("uplo = 77 : ui8"),
    "potrf: expected 'uplo' in backend_config, as 76 ('L') or 85 ('U')": square(""),
    "potrf: expected square matrices as operand 0, found f32[3,4]{0,1}": square("uplo = 76 : ui8", shape="f32[3,4]{0,1}"),
    "potrf: expected f64[3,3] as operand 0, found f32[3,3]{0,1}": square("uplo = 76 : ui8", "dpotrf"),
    "potrf: expected s32[] as result 1, found s32[1]{0}": square("uplo = 76 : ui8", result="(f32[3,3]{0,1}, s32[1]{0})"),
    "potrf: expected 2 results, found 1": square("uplo = 76 : ui8", result="f32[3,3]{0,1}"),
    "getrf: expected 3 results, found 2": square("", "sgetrf"),
    "geqrf: expected f32[3] as result 1, found s32[]": square("", "sgeqrf"),
    "trsm: expected at least 2 operands, found 1": square("", "strsm"),
    "orgqr: expected matrices with at least as many rows as columns, and at most as many factors tau":
        square("", "sorgqr"),
    "'custom-call' calls \"lapack_cgerqf_ffi\", code from elsewhere; instead,": square("", "cgerqf"),
    "tridiagonal_solve_perturbed: expected at least 4 operands, found 1": module(
        "f32[3,2]{0,1}", ["f32[3]{0}"], "custom-call",
        'custom_call_target="tridiagonal_solve_perturbed_ffi", api_version=API_VERSION_TYPED_FFI'),
}


@pytest.mark.parametrize("said", WRONG)
def test_contradictions(said: str, tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(WRONG[said])
    done = gen("explain", tmp_path / "m.hlo")
    assert done.returncode == 2 and f"m.hlo:4:8: {said}" in done.stderr, done.stderr


PEER = ROOT.parent / "shared" / "peer" / "jax" / "ops"
PEERS = sorted(path for word in ("cholesky", "lu", "qr", "solve", "det", "inv", "lstsq", "triangular", "tridiagonal",
                                 "expm") for path in PEER.glob(f"{word}_*"))


@pytest.mark.peer
@pytest.mark.skipif(not PEERS, reason="SKIP: no ../shared/peer/jax")
@pytest.mark.parametrize("target", sorted({target for target, _ in ON}))
def test_functions_of_jax_agree_with_the_reference(target: str, tmp_path: Path) -> None:
    """A quarter of JAX's functions agree with the reference; tests/peer/test_programs.py compares the results of all
    with XLA's.
    """
    agreed([checked.load(str(path / f"{path.name}.hlo")) for path in PEERS[::4]], target, checked.Options(), tmp_path)


# ---- NumPy ----

SHAPE = re.compile(r"(f32|f64|s32|c64|c128)\[([\d,]*)\](?:\{([\d,]*)\})?")


EXACT = r"""
#include <stdlib.h>
#include "m.h"
int main(void)
{
  float *a = malloc(m_a_BYTES), *r = malloc(m_a_BYTES);
  int *pivots = malloc(%d * sizeof *pivots), *info = malloc(sizeof *info);
  const void *params[] = {a};
  void *results[] = {r, pivots, info};
  for (int k = 0; k < m_a_BYTES / 4; ++k) a[k] = (float)(k * 7919 %% 1009) / 100 - 5;
  return m_c_run(params, results, NULL) || *info;
}
"""


@pytest.mark.parametrize("shape", ["f32[17,33]{0,1}", "f32[40,19]{0,1}",
                                   *(pytest.param(shape, marks=pytest.mark.peer) for shape in ("f32[33,17]{1,0}", "f32[18,18]{0,1}", "f32[19,40]{1,0}"))])
def test_a_factorisation_stays_inside_its_arrays(shape: str, tmp_path: Path) -> None:
    """LU in blocks of four pivots, the last block with fewer, runs under ASan in buffers of exactly the needed sizes.
    """
    steps = min(numbers(shape[shape.index("[") + 1:shape.index("]")]))
    (tmp_path / "m.hlo").write_text(f"""HloModule m
ENTRY e {{ a = {shape} parameter(0)
  ROOT r = ({shape}, s32[{steps}]{{0}}, s32[]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={{}} }}
""")
    assert gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "c").returncode == 0
    (tmp_path / "main.c").write_text(EXACT % steps)
    command = ["gcc", "-std=c11", "-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "main.c", "m.c", "-lm", "-o", "main"]
    if subprocess.run(command, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no ASan")
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0, done.stderr[:2000]


def test_matrices_of_no_elements(tmp_path: Path) -> None:
    """An op whose results have no elements computes nothing; other results are computed."""
    (tmp_path / "m.hlo").write_text("""HloModule m
ENTRY e {
  a = f32[0,3,3] parameter(0)  b = f32[3,3] parameter(1)  c = f32[3,0] parameter(2)
  l = f32[0,3,3] cholesky(a), lower=true
  x = f32[3,0] triangular-solve(b, c), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
  u = (f32[0,3,3], s32[0,3], s32[0]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={}
  f = f32[0,3,3] get-tuple-element(u), index=0
  n = f32[3,3] negate(b)
  ROOT r = (f32[0,3,3], f32[3,0], f32[0,3,3], f32[3,3]) tuple(l, x, f, n) }
""")
    done = gen("check", tmp_path / "m.hlo", "--target", "c")
    assert done.returncode == 0, done.stdout + done.stderr


def numbers(text: str) -> "List[int]":
    return [int(n) for n in text.split(",") if n]


def ran(text: str, arrays: "List[Any]", folder: Path, target: str = "c") -> "List[Any]":
    """Run the module. Return its operands and results, floats as f64 or c128."""
    kinds = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "c64": np.complex64, "c128": np.complex128}
    lines = text.split("\n")
    shapes = [SHAPE.search(line) for line in lines if " parameter(" in line]
    given = [np.ascontiguousarray(a.transpose(numbers(shape[3])[::-1] if shape[2] else []).astype(kinds[shape[1]]))
             for a, shape in zip(arrays, shapes)]   # type: ignore[index]
    root = next(line for line in lines if "ROOT" in line)
    results = []
    folder.mkdir(exist_ok=True)
    for raw, shape in zip(run(text, [a.tobytes() for a in given], target, folder),
                          SHAPE.finditer(root[:root.index("(p")])):
        a, dims, major = np.frombuffer(raw, kinds[shape[1]]), numbers(shape[2]), numbers(shape[3] or "")[::-1]
        a = a.reshape([dims[d] for d in major]).transpose(np.argsort(major)) if dims else a.reshape(())
        results.append(a if shape[1] == "s32" else a.astype(np.result_type(a, np.float64)))
    back = [a.transpose(np.argsort(numbers(shape[3])[::-1]) if shape[2] else []).astype(np.result_type(a, np.float64))
            for a, shape in zip(given, shapes)]     # type: ignore[index]
    return [*back, *results]


def code(text: str, key: str) -> str:
    found = re.search(rf"{key} = (\d+)", text)
    return chr(int(found[1])) if found else ""


def is_true(text: str, key: str) -> bool:
    return f"{key}=true" in text


def turned(a: "Any") -> "Any":
    return np.swapaxes(a, -1, -2)


class Values:
    """Well-conditioned operands for a random call, and the allowed distance of the call's results from NumPy's."""

    def __init__(self, drawn: Drawn, text: str) -> None:
        self.random = np.random.default_rng(drawn.r.randrange(1 << 30))
        self.dims = [tuple(numbers(found[2])) for line in text.split("\n") if " parameter(" in line
                     for found in [SHAPE.search(line)] if found]
        self.tolerance = 2e-4 if drawn.dtype in ("f32", "c64") else 1e-11
        self.complex = drawn.dtype in ("c64", "c128")

    def normal(self, number: int = 0) -> "Any":
        a = self.random.standard_normal(self.dims[number])
        return a + 1j * self.random.standard_normal(a.shape) if self.complex else a

    def near(self, a: "Any", b: "Any") -> None:
        np.testing.assert_allclose(a, b, rtol=self.tolerance, atol=self.tolerance * (1 + np.abs(b).max(initial=0)))

    def orthonormal(self, q: "Any") -> None:
        self.near(turned(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)))


def of_cholesky(v: Values, text: str, folder: Path) -> None:
    a = v.normal()
    a, factor = ran(text, [a @ np.conj(turned(a)) + np.eye(a.shape[-1]) * a.shape[-1]], folder)
    right = np.linalg.cholesky(a)
    v.near(factor, right if is_true(text, "lower") else np.conj(turned(right)))


def of_potrf(v: Values, text: str, folder: Path) -> None:
    """Check a Cholesky factorisation. It reads one triangle of the operand. The result must have the operand's other
    triangle unchanged.
    """
    a = v.normal()
    lower, n = code(text, "uplo") == "L", a.shape[-1]
    one, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    definite = a @ turned(a) + np.eye(n) * n
    a, factor, info = ran(text, [one(definite) + other(v.normal(), 1 if lower else -1)], folder)
    right = np.linalg.cholesky(definite)
    v.near(factor, one(right if lower else turned(right)) + other(a, 1 if lower else -1))
    assert not info.any()
    bad = definite.copy()
    bad[..., n // 2, n // 2] = np.nan if n % 2 else -1
    _, factor, info = ran(text, [bad], folder / "bad")
    assert (info == n // 2 + 1).all() and np.isnan(one(factor)[..., n // 2, n // 2]).all()


def of_getrf(v: Values, text: str, folder: Path) -> None:
    a, factors, pivots, info = ran(text, [v.normal()], folder)
    m, n = a.shape[-2:]
    k = min(m, n)
    for a, f, pivot in zip(*(x.reshape(-1, *x.shape[x.ndim - rank:]) for x, rank in ((a, 2), (factors, 2), (pivots, 1)))):
        order = list(range(m))
        for at, to in enumerate(pivot):
            assert at < to <= m
            order[at], order[to - 1] = order[to - 1], order[at]
        left = np.tril(f[:, :k], -1) + np.eye(m, k)
        assert np.abs(left).max() <= 1
        v.near(left @ np.triu(f[:k]), a[order])
    assert not info.any()
    b = np.ones_like(v.normal())    # a singular matrix: its second pivot is zero
    _, _, _, info = ran(text, [b], folder / "singular")
    assert (info == (2 if k > 1 else 0)).all()


def of_triangle(v: Values, text: str, folder: Path) -> None:
    a, b = v.normal(0), v.normal(1)
    words = "triangular-solve" in text
    lower = is_true(text, "lower") if words else code(text, "uplo") == "L"
    left = is_true(text, "left_side") if words else code(text, "side") == "L"
    unit = is_true(text, "unit_diagonal") if words else code(text, "diag") == "U"
    plain = "NO_TRANSPOSE" in text if words else code(text, "trans_x") == "N"
    n = a.shape[-1]
    a, b, x = ran(text, [a / n + np.eye(n) * 2, b], folder)
    t = (np.tril if lower else np.triu)(a)
    if unit:
        t = t * (1 - np.eye(n)) + np.eye(n)
    t = t if plain else turned(t)
    t = np.conj(t) if "ADJOINT" in text or code(text, "trans_x") == "C" else t
    v.near(t @ x if left else x @ t, b)


def of_geqrf(v: Values, text: str, folder: Path) -> None:
    a, factors, tau = ran(text, [v.normal()], folder)
    m, n = a.shape[-2:]
    for a, f, factor in zip(a.reshape(-1, m, n), factors.reshape(-1, m, n), tau.reshape(-1, min(m, n))):
        h, right = np.linalg.qr(a, mode="raw")
        v.near(f, h.T)
        v.near(factor, right)


def of_orgqr(v: Values, text: str, folder: Path) -> None:
    a, k = v.normal(), v.dims[1][-1]
    m, n = a.shape[-2:]
    flat = a.reshape(-1, m, n)
    raw = [np.linalg.qr(x[:, :k], mode="raw") for x in flat]
    for x, (h, _) in zip(flat, raw):
        x[:, :k] = h.T
    tau = np.array([t for _, t in raw]).reshape(v.dims[1])
    q = ran(text, [flat.reshape(a.shape), tau], folder)[2]
    v.orthonormal(q)
    for q, (h, t) in zip(q.reshape(-1, m, n), raw):
        right = np.eye(m)
        for j in range(k):
            reflector = np.concatenate([np.zeros(j), [1], h.T[j + 1:, j]])
            right = right - t[j] * np.outer(right @ reflector, reflector)
        v.near(q, right[:, :n])


def of_gtsv(v: Values, text: str, folder: Path) -> None:
    low, d, up, b = (v.normal(k) for k in range(4))
    low, d, up, b, ol, od, ou, x, info = ran(text, [low, d + 4 * (v.random.random(d.shape) < 0.7), up, b], folder)
    n = d.shape[-1]
    a = np.zeros((*d.shape, n), low.dtype)
    at = np.arange(n)
    a[..., at, at], a[..., at[1:], at[:-1]], a[..., at[:-1], at[1:]] = d, low[..., 1:], up[..., :-1]
    v.tolerance *= max(1, float(np.linalg.cond(a).max()))
    v.near(a @ x, b)
    assert not info.any()
    # gtsv returns the diagonal of a triangular factor: its product is the operand's determinant, except for the sign
    v.near(np.sort(np.abs(od).prod(-1), axis=None), np.sort(np.abs(np.linalg.det(a)), axis=None))
    zero = np.zeros_like
    *_, info = ran(text, [zero(low), zero(d), zero(up), b], folder / "singular")
    assert (info == 1).all()


def of_perturbed(v: Values, text: str, folder: Path) -> None:
    """A well-conditioned matrix gives the solution. A singular matrix gives an X that is finite, large, and almost in
    the matrix's null space.
    """
    low, d, up, b = (v.normal(k) for k in range(4))
    low, d, up, b, x = ran(text, [low, d + 4 * (v.random.random(d.shape) < 0.7), up, b], folder)
    n, tolerance = d.shape[-1], v.tolerance
    a = np.zeros((*d.shape, n), low.dtype)
    at = np.arange(n)
    a[..., at, at], a[..., at[1:], at[:-1]], a[..., at[:-1], at[1:]] = d, low[..., 1:], up[..., :-1]
    v.tolerance *= max(1, float(np.linalg.cond(a).max()))
    v.near(a @ x, b)
    *_, x = ran(text, [0 * low, 0 * d, 0 * up, b], folder / "zero")
    assert np.isfinite(x).all() and (np.abs(x) > 1e30 * np.abs(b)).all()
    if n > 1:    # the Laplacian matrix of a path: its null space is the constant vectors
        ends = np.ones_like(d.real)
        ends[..., 1:-1] = 2
        *_, x = ran(text, [-np.ones_like(d), ends, -np.ones_like(d), b], folder / "singular")
        x = x / np.abs(x).max(axis=-2, keepdims=True)
        assert np.isfinite(x).all()
        np.testing.assert_allclose(x, np.broadcast_to(x[..., :1, :], x.shape), atol=100 * n * n * tolerance)


def of_syevd(v: Values, text: str, folder: Path) -> None:
    a = v.normal()
    one = np.tril if code(text, "uplo") == "L" else np.triu
    symmetric = one(a) + turned(one(a, -1 if one is np.tril else 1))
    a, vectors, values, info = ran(text, [a], folder)
    v.near(values, np.linalg.eigvalsh(symmetric))
    assert not info.any()
    if code(text, "mode") == "V":
        v.orthonormal(vectors)
        v.near(symmetric @ vectors, vectors * values[..., None, :])


def of_gesdd(v: Values, text: str, folder: Path) -> None:
    """Test a call of gesdd for a random matrix, a matrix of at most half the full rank, and zeros."""
    a = v.normal()
    m, n = a.shape[-2:]
    k = min(m, n)
    half = v.random.standard_normal((*a.shape[:-1], -(-k // 2))) @ v.random.standard_normal((*a.shape[:-2], -(-k // 2), n))
    for number, operand in enumerate((a, half, np.zeros_like(a))):
        a, _, values, u, vt, info = ran(text, [operand], folder / str(number))
        v.near(values, np.linalg.svd(a, compute_uv=False))
        assert not info.any()
        if code(text, "mode") != "N":
            v.orthonormal(u)
            v.orthonormal(turned(vt))
            v.near(u[..., :k] * values[..., None, :] @ vt[..., :k, :], a)


@with_numpy
@pytest.mark.parametrize("op", ["cholesky", "triangle", "trsm"])
def test_complex_matrices(op: str, tmp_path: Path) -> None:
    """Ops on complex matrices become ops on real matrices of twice the size."""
    for number in range(COUNT):
        drawn = Drawn(2000 + number, ["c64", "c128"])
        name, text = getattr(drawn, op)()
        (tmp_path / str(number)).mkdir()
        (of_cholesky if op == "cholesky" else of_triangle)(Values(drawn, text), text, tmp_path / str(number))


@with_numpy
@pytest.mark.parametrize("op", OPS)
def test_kernels_give_what_numpy_gives(op: str, tmp_path: Path) -> None:
    for number in range(COUNT):
        drawn = Drawn(1000 + number * len(OPS) + OPS.index(op))
        name, text = getattr(drawn, op)()
        compared = globals()[f"of_{'triangle' if name == 'trsm' else name}"]
        (tmp_path / str(number)).mkdir()
        compared(Values(drawn, text), text, tmp_path / str(number))


class Large(Drawn):
    """The random cases at larger sizes, where kernels process several rows or columns at a time."""

    def size(self) -> int:
        return self.r.choice([48, 67, 98])


@with_numpy
@pytest.mark.parametrize("op", ["cholesky", "potrf", "getrf", "triangle", "trsm", "geqrf"])
def test_large_ones_give_what_numpy_gives(op: str, tmp_path: Path) -> None:
    for number in range(COUNT):
        drawn = Large(3000 + number * len(OPS) + OPS.index(op))
        name, text = getattr(drawn, op)()
        (tmp_path / str(number)).mkdir()
        globals()[f"of_{'triangle' if name == 'trsm' else name}"](Values(drawn, text), text, tmp_path / str(number))


# ---- a matrix computed by a block of threads of a GPU ----

SHARED, MEMORY, FEW = [16, 17, 20, 33, 48, 64, 67], [90, 115, 130], [17, 19]


class OfBlocks(Drawn):
    """The random cases at sizes for which a block of threads computes a matrix, in shared memory or, if that is too
    small, in global memory. The batches of large matrices are small.
    """

    def __init__(self, number: int, sizes: "List[int]" = SHARED) -> None:
        super().__init__(number)
        self.sizes, self.batch = sizes, (2,) if sizes == MEMORY else self.batch

    def size(self) -> int:
        return self.r.choice(self.sizes)


BLOCKS = {"cholesky": "cholesky", "potrf": "cholesky", "getrf": "lu", "triangle": "triangular_solve", "trsm": "triangular_solve", "geqrf": "qr", "orgqr": "householder_product",
          "syevd": "eigh", "gesdd": "svd"}


def templates(text: str, device: str) -> "List[str]":
    (fusion,) = hlo.fusions(parsed(text, "m"))
    return [kernel.text.template for kernel in pipeline.target_file(fusion, DEVICES[device].language, device).kernels]


def test_who_writes_matrices() -> None:
    """A matrix gets a block of threads if it has at least 16 rows; 5 rows are enough if the batch has at most one
    matrix per multiprocessor of the GPU.
    """
    for count, n, block in ((1000, 16, True), (1000, 15, False), (100, 5, True), (100, 4, False), (1, 400, True)):
        text = module(typed("f32", (count, n, n)), [typed("f32", (count, n, n))], "cholesky", "lower=true")
        assert templates(text, "sm_90") == [f"kernels/cholesky{'_gpu' * block}"]
    solve = module("f32[40000,5]", ["f32[40000,40000]", "f32[40000,5]"], "triangular-solve", "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE")
    assert templates(solve, "sm_90") == ["kernels/triangular_solve"]
    for op, template in BLOCKS.items():
        assert templates(getattr(OfBlocks(7), op)()[1], "opencl-gpu") == [f"kernels/{template}_gpu"]


@with_numpy
@pytest.mark.peer
@pytest.mark.parametrize("sizes", [SHARED, MEMORY], ids=["shared", "memory"])
@pytest.mark.parametrize("op", BLOCKS)
def test_blocks_give_what_numpy_gives(op: str, sizes: "List[int]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device_or_skip("cuda-on-cpu")
    monkeypatch.setitem(globals(), "ran", functools.partial(ran, target="cuda-on-cpu"))
    for number in range(COUNT):
        drawn = OfBlocks(4000 + number * len(OPS) + OPS.index(op), sizes)
        name, text = getattr(drawn, op)()
        (tmp_path / str(number)).mkdir()
        globals()[f"of_{'triangle' if name == 'trsm' else name}"](Values(drawn, text), text, tmp_path / str(number))


@pytest.mark.peer
@pytest.mark.parametrize("target, device", [pair for pair in ON if not DEVICES[pair[1]].cpu])
def test_blocks_agree_with_the_reference(target: str, device: str, tmp_path: Path) -> None:
    """Kernels by blocks of threads agree with the reference. Inputs include NaNs, infinities and zeros."""
    drawn = [(op, OfBlocks(5000 + number * len(OPS) + OPS.index(op), MEMORY if op == "getrf" else SHARED)) for number in range(COUNT) for op in BLOCKS]
    agreed([parsed(getattr(draw, op)()[1], op) for op, draw in drawn], target, checked.Options(schedule=device), tmp_path)


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("oclgrind"), reason="SKIP: no oclgrind")
@pytest.mark.parametrize("op", BLOCKS)
def test_blocks_have_no_race(op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels by blocks of threads have no data race, in shared memory and in global memory."""
    import test_oclgrind
    for room in (32 << 10, 2000):
        monkeypatch.setitem(TARGETS, "opencl", dataclasses.replace(TARGETS["opencl"], shared_bytes=room))
        test_oclgrind.clean(getattr(OfBlocks(6000 + OPS.index(op), FEW), op)()[1], "opencl-gpu", tmp_path, *test_oclgrind.AS_WRITTEN)
