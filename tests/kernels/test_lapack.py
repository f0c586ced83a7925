"""Test calls of LAPACK's routines. Kernels return what each routine is defined to return, for all types, layouts and
batches; wrong results do not pass a check; and JAX's functions that call the routines equal NumPy's. Tests are skipped
if LAPACK, NumPy or JAX is missing. SETT_SEED selects other random calls, SETT_COUNT their number.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

from drawn import device_or_skip
from gen import bounds, hlo, pipeline, run
from gen.program import build
from gen.reference.assembly import joined
from gen.run.sources import load
from gen_run import gen, run as run_on
from test_matrices import NAMES, call, square, typed

SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "1"))
with_numpy = pytest.mark.skipif(np is None, reason="SKIP: no numpy, which holds results")
PARTS = {"c64": "f32", "c128": "f64"}
KINDS: "Dict[str, str]" = {"f32": "<f4", "f64": "<f8", "c64": "<c8", "c128": "<c16", "s32": "<i4"}


class Drawn:
    """A call of a routine with a random type, batch and layouts."""

    def __init__(self, routine: str, dtype: str, number: int) -> None:
        r = self.r = random.Random(f"{SEED} {routine} {dtype} {number}")
        self.dtype, self.part, self.real = dtype, PARTS.get(dtype, dtype), dtype not in PARTS
        self.batch = r.choice([(), (3,), (2, 2)])
        self.m, self.n = r.choice([2, 3, 4, 7, 19]), r.choice([2, 3, 5, 8, 17])
        self.text: str = getattr(self, routine)(NAMES[dtype] + routine)

    def shape(self, *dims: int, dtype: str = "") -> str:
        return typed(dtype or self.dtype, (*self.batch, *dims), len(dims) == 2 and self.r.random() < 0.7)

    def call(self, routine: str, operands: "List[str]", results: "List[str]", **words: object) -> str:
        return call(f"({', '.join(results)})" if len(results) > 1 else results[0], operands, routine,
                    ", ".join(f"{key} = {value}" for key, value in words.items()))

    def letter(self, letters: str) -> str:
        return f"{ord(self.r.choice(letters))} : ui8"

    @property
    def number(self) -> str:
        return self.shape(dtype="s32")

    @property
    def square(self) -> str:
        return self.shape(self.n, self.n)

    def line(self, size: int, dtype: str = "") -> str:
        return self.shape(size, dtype=dtype)

    def geev(self, name: str) -> str:
        complex_one = {"f32": "c64", "f64": "c128"}.get(self.dtype, self.dtype)
        vectors = [self.shape(self.n, self.n, dtype=complex_one) for _ in range(2)]
        return self.call(name, [self.square], [*[self.line(self.n)] * (1 + self.real), *vectors, self.number],
                         compute_left=self.letter("VN"), compute_right=self.letter("VN"))

    def gees(self, name: str) -> str:
        values = [self.line(self.n)] * (1 + self.real)
        return self.call(name, [self.square], [self.square, self.square, *values, self.number, self.number],
                         mode=self.letter("VN"), sort=self.letter("N"))

    def gehrd(self, name: str) -> str:
        return self.call(name, [self.square], [self.square, self.line(self.n - 1), self.number], low="1 : i32",
                         high=f"{self.n} : i32")

    def sytrd(self, name: str) -> str:
        lines = [self.line(self.n, self.part), self.line(self.n - 1, self.part), self.line(self.n - 1)]
        return self.call(name, [self.square], [self.square, *lines, self.number], uplo=self.letter("LU"))

    hetrd = sytrd

    def heevd(self, name: str) -> str:
        return self.call(name, [self.square], [self.square, self.line(self.n, self.part), self.number],
                         mode=self.letter("VN"), uplo=self.letter("LU"))

    def gesdd(self, name: str) -> str:
        k, mode = min(self.m, self.n), self.r.choice("ASN")
        u, vt = (self.m, self.n) if mode == "A" else (k, k)
        return self.call(name, [self.shape(self.m, self.n)],
                         [self.shape(self.m, self.n), self.line(k, self.part), self.shape(self.m, u),
                          self.shape(vt, self.n), self.number], mode=f"{ord(mode)} : ui8")

    gesvd = gesdd

    def geqp3(self, name: str) -> str:
        of, order = self.shape(self.m, self.n), self.line(self.n, "s32")
        return self.call(name, [of, order], [self.shape(self.m, self.n), order, self.line(min(self.m, self.n))])

    def ormqr(self, name: str) -> str:
        left = self.r.random() < 0.5
        order, columns = (self.m if left else self.n), self.r.randint(1, 5)
        operands = [self.shape(order, columns), self.line(self.r.randint(1, min(order, columns))),
                    self.shape(self.m, self.n)]
        return self.call(name, operands, [self.shape(self.m, self.n)], left=str(left).lower(),
                         transpose=self.r.choice(["true", "false"]))

    unmqr = ormqr

    def geqrf(self, name: str) -> str:
        return self.call(name, [self.shape(self.m, self.n)],
                         [self.shape(self.m, self.n), self.line(min(self.m, self.n))])

    def ungqr(self, name: str) -> str:
        n, m = sorted((self.m, self.n))
        return self.call(name, [self.shape(m, n), self.line(self.r.randint(1, n))], [self.shape(m, n)])

    def getrf(self, name: str) -> str:
        return self.call(name, [self.shape(self.m, self.n)],
                         [self.shape(self.m, self.n), self.line(min(self.m, self.n), "s32"), self.number])

    def potrf(self, name: str) -> str:
        return self.call(name, [self.square], [self.square, self.number], uplo=self.letter("LU"))


OF_REAL = ["geev", "gees", "gehrd", "sytrd", "gesvd", "geqp3", "ormqr"]
OF_COMPLEX = ["geev", "gees", "gehrd", "hetrd", "heevd", "gesdd", "gesvd", "geqp3", "unmqr", "geqrf", "ungqr", "getrf",
              "potrf"]
CASES = [(routine, dtype) for dtypes, routines in ((("f32", "f64"), OF_REAL), (("c64", "c128"), OF_COMPLEX))
         for dtype in dtypes for routine in routines]
PROVED = ("f64", "c64")    # for these types `ninja test` runs no kernels, and only tests whether the proof accepts the reference's results


@pytest.mark.parametrize("dtype", [pytest.param(dtype, marks=() if dtype == "f32" else pytest.mark.peer) for dtype in KINDS if dtype != "s32"])
def test_results_are_what_the_routine_is_for(dtype: str, tmp_path: Path) -> None:
    device_or_skip("c")
    texts = {f"{routine}{number}": Drawn(routine, dtype, number).text for routine, of in CASES if of == dtype for number in range(COUNT)}
    builts = []
    for name, text in texts.items():
        (tmp_path / f"{name}.hlo").write_text(text)
        builts.append(run.build(build.program(load(str(tmp_path / f"{name}.hlo"))), tmp_path / name, "c", run.Options()))
    try:
        results = run.check_built(builts, "c", run.Options())
    except run.RunError as error:
        if error.status != 3:
            raise
        pytest.skip(f"SKIP: {error.message}")
    for name, text in texts.items():
        of_text = [result for result in results if result.fusion == name or result.fusion.startswith(f"{name}_")]
        line = run.file_line(name, "c", of_text)
        assert line.startswith(f"PASS {name} c {len(of_text)}/{len(of_text)} ") and "among them all of ordinary inputs" in line, f"{line}\n{text}"


# ---- wrong results ----

LEFT_BEHIND = {"gesdd": [0], "gesvd": [0]}    # for each routine, the numbers of the results that it leaves undefined


@functools.lru_cache(maxsize=None)
def proved(dtype: str, folder: Path) -> "Tuple[Dict[str, hlo.Fusion], ctypes.CDLL]":
    """Return one fusion for each routine, all with the given type. Return also a library that contains the references
    of these fusions, and the proofs (functions that check results).
    """
    fusions: "Dict[str, hlo.Fusion]" = {}
    for routine in (routine for routine, of in CASES if of == dtype):
        text, none = Drawn(routine, dtype, 0).text, f"{ord('N')} : ui8"
        for key, letter in (("compute_left", "V"), ("compute_right", "V"), ("mode", "S" if "ges" in routine else "V")):
            text = text.replace(f"{key} = {none}", f"{key} = {ord('V' if routine == 'gees' else letter)} : ui8")
        path = folder / f"{routine}_{dtype}.hlo"
        path.write_text(text)
        fusions[routine] = next(f for f in build.program(load(str(path))).fusions if bounds.is_proved(f.computation))
    sources = []
    for number, file in enumerate(joined([file for fusion in fusions.values() for file in pipeline.oracle(fusion, False, False).files])):
        sources.append(folder / f"{dtype}{number}.c")
        sources[-1].write_text(file.text)
    assert len(sources) < len(fusions)
    library = folder / f"{dtype}.so"
    built = subprocess.run([run.c_compiler(), "-std=c11", "-O0", "-w", "-shared", "-fPIC", "-o", str(library),
                            *map(str, sources), "-llapack", "-lm"], capture_output=True, text=True)
    if "cannot find -llapack" in built.stderr:
        pytest.skip("SKIP: no LAPACK")
    assert built.returncode == 0, built.stderr
    return fusions, ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proved")


def called(fusion: hlo.Fusion, operands: "List[Any]", functions: ctypes.CDLL) -> "Tuple[List[Any], Callable[[], str]]":
    """Return the arrays of the reference's results, and a function that runs the fusion's proof on these arrays. The
    function returns "" if the contents of the arrays are right, otherwise an error.
    """
    results = [np.zeros(leaf.elements, KINDS[leaf.dtype]) for _, leaf, _, _ in hlo.result_leaves(fusion.computation)]
    lists = [(ctypes.c_void_p * len(side))(*(a.ctypes.data for a in side)) for side in (operands, results)]
    assert getattr(functions, f"{fusion.name}_ref")(*lists) == 0
    holds = getattr(functions, f"{fusion.name}_holds")
    holds.restype = ctypes.c_char_p

    def said() -> str:
        unknown = ctypes.c_size_t(0)
        found = holds(*lists, ctypes.byref(unknown))
        assert not unknown.value
        return found.decode() if found else ""

    return results, said


def operand(routine: str, leaf: hlo.Shape, random_: Any) -> Any:
    """Return a random operand as it is in memory. For potrf the matrices are positive definite."""
    a = random_.standard_normal(leaf.elements)
    a = a + 1j * random_.standard_normal(leaf.elements) if leaf.dtype in PARTS else a
    if routine == "potrf":
        a = a.reshape(-1, *leaf.dims[-2:])
        a = (a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1])).reshape(-1)
    return (a if leaf.dtype != "s32" else np.zeros(leaf.elements)).astype(KINDS[leaf.dtype])


ONE_BY_ONE = {
    "dsytrd": "(f64[{b}1,1]{{{l}}}, f64[{b}1], f64[{b}0], f64[{b}0], s32[{c}])",
    "cgehrd": "(c64[{b}1,1]{{{l}}}, c64[{b}0], s32[{c}])",
}


@pytest.mark.parametrize("batch", ["", "2"])
@pytest.mark.parametrize("routine", ONE_BY_ONE)
def test_matrices_of_one_element(routine: str, batch: str, tmp_path: Path) -> None:
    """For matrices of one element some results have no elements. LAPACK still gets a pointer for them."""
    result = ONE_BY_ONE[routine].format(b=f"{batch}," if batch else "", l="1,2,0" if batch else "0,1", c=batch)
    config = "uplo = 76 : ui8" if routine == "dsytrd" else "high = 1 : i32, low = 1 : i32"
    operand_shape = f"{result[1:4]}[{f'{batch},' if batch else ''}1,1]"
    (tmp_path / "m.hlo").write_text(f"""HloModule m
ENTRY e {{ a = {operand_shape} parameter(0)
  ROOT r = {result} custom-call(a), custom_call_target="lapack_{routine}_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}} }}
""")
    done = gen("check", tmp_path / "m.hlo", "--target", "c")
    if done.returncode == 3:
        pytest.skip(f"SKIP: {done.stderr.strip() or done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr


@with_numpy
@pytest.mark.parametrize("routine, dtype", [case for case in CASES if case[1] in PROVED])
def test_other_results_do_not_pass(routine: str, dtype: str, folder: Path) -> None:
    """A wrong result does not pass. In one result after the other, an element is changed by 1 (integers) or by a hundredth
    of the largest element.
    """
    fusions, functions = proved(dtype, folder)
    fusion = fusions[routine]
    random_ = np.random.default_rng(SEED)
    operands = [operand(routine, leaf, random_) for leaf in hlo.param_leaves(fusion)]
    results, said = called(fusion, operands, functions)
    assert said() == ""
    for number, result in enumerate(results):
        if number in LEFT_BEHIND.get(routine, ()):
            continue
        at, largest = random_.integers(result.size), np.abs(result).max()
        right = result[at]
        result[at] += 1 if result.dtype.kind == "i" else (0.01 * largest or 0.01)
        assert said() != "", f"result {number}, element {at}: {result[at]} for {right}"
        result[at] = right
    assert said() == ""


# ---- functions of JAX ----

def h(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def near(a: Any, b: Any, dtype: str) -> None:
    tolerance = 3e-3 if dtype in ("f32", "c64") else 1e-9
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max(initial=0)))


def in_order(a: Any, leaf: hlo.Shape) -> Any:
    """Return an array with the dimensions of `leaf`. a: the array's elements, in the order of memory."""
    major = leaf.minor_to_major[::-1]
    return a.reshape([leaf.dims[d] for d in major]).transpose(np.argsort(major)) if major else a.reshape(())


def of_eig(a: Any, out: "List[Any]", dtype: str) -> None:
    near(a @ out[1], out[1] * out[0][..., None, :], dtype)
    near(np.linalg.norm(out[1], axis=-2), np.ones(a.shape[:-1]), dtype)
    near(out[0].sum(-1), np.trace(a, axis1=-2, axis2=-1), dtype)


def of_eigvals(a: Any, out: "List[Any]", dtype: str) -> None:
    for power in (1, 2, 3):
        near((out[0] ** power).sum(-1), np.trace(np.linalg.matrix_power(a, power), axis1=-2, axis2=-1), dtype)


def of_schur(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[1] @ out[0] @ h(out[1]), a, dtype)
    near(h(out[1]) @ out[1], np.eye(a.shape[-1]), dtype)
    assert np.abs(np.tril(out[0], -2)).max() == 0


def of_hessenberg(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[1] @ out[0] @ h(out[1]), a, dtype)
    near(np.tril(out[0], -2), np.zeros_like(a), dtype)


def of_sqrtm(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[0] @ out[0], a, dtype)


def of_eigh(a: Any, out: "List[Any]", dtype: str) -> None:
    near((a + h(a)) / 2 @ out[1], out[1] * out[0][..., None, :], dtype)
    near(out[0], np.linalg.eigvalsh((a + h(a)) / 2), dtype)


def of_svd(a: Any, out: "List[Any]", dtype: str) -> None:
    near((out[0] * out[1][..., None, :]) @ out[2], a, dtype)
    near(out[1], np.linalg.svd(a, compute_uv=False), dtype)


def of_qr(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[0] @ out[1], a[:, out[2]] if len(out) > 2 else a, dtype)
    near(h(out[0]) @ out[0], np.eye(a.shape[-1]) + 0 * a, dtype)


def of_solve(a: Any, out: "List[Any]", dtype: str) -> None:
    near(a @ out[0], a[..., :1] + 1, dtype)


def of_det(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[0], np.linalg.det(a), dtype)


def of_cholesky(a: Any, out: "List[Any]", dtype: str) -> None:
    near(out[0] @ h(out[0]), a @ h(a) + np.eye(a.shape[-1]), dtype)


FUNCTIONS: "Dict[str, Tuple[str, Callable[[Any, List[Any], str], None]]]" = {
    "eig": ("jnp.linalg.eig(a)", of_eig), "eigvals": ("jnp.linalg.eigvals(a)", of_eigvals),
    "schur": ("sl.schur(a)", of_schur), "hessenberg": ("sl.hessenberg(a, calc_q=True)", of_hessenberg),
    "sqrtm": ("sl.sqrtm(a)", of_sqrtm), "eigh": ("jnp.linalg.eigh(a)", of_eigh), "svd": ("jnp.linalg.svd(a)", of_svd),
    "qr": ("jnp.linalg.qr(a)", of_qr), "pivoted_qr": ("sl.qr(a, pivoting=True)", of_qr),
    "solve": ("jnp.linalg.solve(a, a[..., :1] + 1)", of_solve), "det": ("jnp.linalg.det(a)", of_det),
    "cholesky": ("jnp.linalg.cholesky(a @ jnp.conj(a.T) + jnp.eye(a.shape[-1]))", of_cholesky)}
SAMPLE = [("eig", "f32"), ("svd", "c128"), ("pivoted_qr", "f32")]    # what `ninja test` runs


@with_numpy
@pytest.mark.parametrize("name, dtype", [pytest.param(name, dtype, marks=() if (name, dtype) in SAMPLE else pytest.mark.peer)
                                         for name in FUNCTIONS for dtype in ("f32", "c128")])
def test_functions_of_jax(name: str, dtype: str, tmp_path: Path) -> None:
    """JAX's functions, as JAX prints them for CPUs, give right results on a matrix and, if the function takes batches,
    on a batch of small matrices.
    """
    jax = pytest.importorskip("jax", reason="SKIP: no JAX")
    import jax.numpy as jnp
    import jax.scipy.linalg as sl
    body, holds = FUNCTIONS[name]
    for number, dims in enumerate([(9, 9), *([(3, 4, 4)] if body.startswith("jnp") and name != "cholesky" else [])]):
        random_ = np.random.default_rng(SEED + number)
        a = random_.standard_normal(dims)
        a = (a + 1j * random_.standard_normal(dims) if dtype in PARTS else a).astype(KINDS[dtype])
        function = eval(f"lambda a: {body}", {"jnp": jnp, "sl": sl})
        with jax.enable_x64(dtype == "c128"):
            shapes = jax.tree.leaves(jax.eval_shape(function, jax.ShapeDtypeStruct(dims, a.dtype)))
            text = jax.jit(function).lower(jax.ShapeDtypeStruct(dims, a.dtype)).as_text("hlo")
        folder = tmp_path / str(number)
        folder.mkdir()
        raw = run_on(text, [a.tobytes()], "c", folder)
        out = [in_order(np.frombuffer(each, shape.dtype), leaf) for each, shape, leaf in zip(
            raw, shapes, hlo.entry_of(load(str(folder / "m.hlo"))).root.shape.leaves())]
        wide = np.complex128 if dtype in PARTS else np.float64
        holds(a.astype(wide), [x.astype(np.result_type(x, np.float64)) if x.dtype.kind in "fc" else x for x in out],
              dtype)


# ---- messages ----

WRONG = {
    "geev: expected 5 results, found 2": square("compute_left = 86 : ui8, compute_right = 86 : ui8", "sgeev"),
    "gees: expected 78 ('N') as 'sort', found 83": square("mode = 86 : ui8, sort = 83 : ui8", "sgees"),
    "gehrd: expected low = 1 and high = 3 in backend_config, all of the matrix":
        square("low = 1 : i32, high = 2 : i32", "sgehrd"),
    "ormqr: expected at least 3 operands, found 1": square("left = true, transpose = true", "sormqr"),
}


@pytest.mark.parametrize("said", WRONG)
def test_contradictions(said: str, tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(WRONG[said])
    done = gen("explain", tmp_path / "m.hlo")
    assert done.returncode == 2 and f"m.hlo:4:8: {said}" in done.stderr, done.stderr


@pytest.mark.parametrize("target", ["opencl", "cuda", "hip"])
def test_other_targets_refuse(target: str, tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(Drawn("gees", "f32", 0).text)
    done = gen("build", tmp_path / "m.hlo", "-o", tmp_path / "out", "--target", target)
    assert done.returncode == 2, done.stderr
    assert (f"expected target c, found {target}: 'sgees' at 4:8 is a routine of LAPACK, which C alone calls; instead, cut "
            "the module before and after it") in done.stderr


def test_the_header_names_what_to_link(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(Drawn("gees", "c64", 0).text)
    assert gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "c").returncode == 0
    assert "needs libm and LAPACK (-llapack: cgees_)." in (tmp_path / "m.h").read_text()
    subprocess.run([run.c_compiler(), "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "-o",
                    str(tmp_path / "m.o"), str(tmp_path / "m.c")], check=True)
