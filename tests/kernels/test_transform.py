"""fft: kernels against the reference, of all kinds, lengths of all ways, several dimensions and layouts; the reference against the
definition; compiled for CUDA where nvcc is."""

from __future__ import annotations

import cmath
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from drawn import ON, agree, in_parts, marked
from gen import hlo, pipeline
from gen.emit.templates import macro
from gen.heroes import fft as hero
from gen.plan import fft
from gen.plan.nests import planned
from gen.schedule import DEVICES


def text(kind: str, dims: "tuple[int, ...]", count: int, part: str = "f32", layout: str = "") -> str:
    """A module of an fft over the last dimensions; dims: of the array that is not half a spectrum."""
    number = {"f32": "c64", "f64": "c128"}[part]
    half = (*dims[:-1], dims[-1] // 2 + 1)
    source, target = {"FFT": (dims, dims), "IFFT": (dims, dims), "RFFT": (dims, half), "IRFFT": (half, dims)}[kind]
    of, to = (f"{t}[{','.join(map(str, d))}]{layout}" for t, d in (
        (part if kind == "RFFT" else number, source), (part if kind == "IRFFT" else number, target)))
    return (f"e {{\n  p = {of} parameter(0)\n  ROOT r = {to} fft(p), fft_type={kind}, "
            f"fft_length={{{','.join(map(str, dims[-count:]))}}}\n}}\n")


CASES = {
    "one": text("FFT", (3, 1), 1), "two": text("RFFT", (3, 2), 1, "f64"), "small": text("IFFT", (20, 12), 1),
    "odd": text("RFFT", (2, 9), 1), "odd_back": text("IRFFT", (2, 9), 1, "f64"), "even_back": text("IRFFT", (18, 10), 1),
    "radices": text("FFT", (2310,), 1), "convolution": text("IFFT", (3, 37), 1, "f64"), "convolution_back": text("IRFFT", (2, 34), 1),
    "plane": text("RFFT", (3, 6, 20), 2), "plane_back": text("IRFFT", (3, 6, 20), 2), "space": text("IFFT", (2, 4, 19, 18), 3),
    "columns": text("FFT", (6, 20, 10), 2, layout="{0,2,1}"), "columns_real": text("RFFT", (20, 10), 1, layout="{0,1}"),
    "long": text("FFT", (2, 4096), 1), "long_double": text("IFFT", (3000,), 1, "f64"), "large_prime": text("FFT", (4999,), 1),
    "two_kernels": text("FFT", (2048,), 1, "f64"), "empty": text("FFT", (0, 8), 1), "empty_batch": text("RFFT", (0, 3, 8), 2),
}  # fmt: skip


# whose references take n * n steps
LONG = ["long", "long_double", "large_prime", "radices"]


@pytest.mark.parametrize("target, device", marked(ON))
@in_parts
def test_agree(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text for name, text in CASES.items() if name not in LONG}, target, device, tmp_path, part)


@pytest.mark.peer
@pytest.mark.parametrize("target, device", ON)
def test_long(target: str, device: str, tmp_path: Path) -> None:
    agree({name: CASES[name] for name in LONG}, target, device, tmp_path)


def test_who_writes() -> None:
    for name, module in CASES.items():
        (fusion,) = hlo.fusions(hlo.parse(module, f"{name}.hlo"))
        for target in ("c", "cuda"):
            file = pipeline.target_file(fusion, target)
            assert {kernel.hero for kernel in file.kernels} == ({"fft"} if "empty" not in name else set()), name


def test_long_ones_are_two_kernels() -> None:
    """Of one dimension; what fits a work-item's own buffers is one."""
    for n, count in ((1024, 1), (2048, 1), (4096, 2), (65536, 2)):
        (fusion,) = hlo.fusions(hlo.parse(text("FFT", (n,), 1), "e.hlo"))
        (nest,) = planned(fusion).nests
        assert len(hero.plan(nest, DEVICES["cpu"]).axes) == count, n


class Numbers:
    """The constants of templates/parts/fft.j2, for Python."""

    number = staticmethod(repr)

    def cosine(self, index: int, length: int) -> str:
        return repr(fft.root(index, length).real)

    def sine(self, index: int, length: int) -> str:
        return repr(-fft.root(index, length).imag)


@pytest.mark.parametrize("p", [2, 3, 4, 5, 7, 8, 11, 13])
def test_sums(p: int) -> None:
    """The statements of a radix are the transform by its definition."""
    values = [complex(math.sin(3 * k + 1), math.cos(5 * k)) for k in range(p)]
    known = {f"a{k}{c}": part for k, v in enumerate(values) for c, part in (("r", v.real), ("i", v.imag))}
    for line in macro("parts/fft.j2", "transform", r=Numbers(), f="double", p=p).splitlines():
        for statement in line.removeprefix("const double ").removesuffix(";").split(", "):
            exec(statement, {}, known)
    for k in range(p):
        wanted = sum(v * cmath.exp(-2j * math.pi * j * k / p) for j, v in enumerate(values))
        assert abs(complex(known[f"b{k}r"], known[f"b{k}i"]) - wanted) < 1e-13


def test_roots() -> None:
    for n in (1, 2, 3, 7, 8, 60, 97, 1024):
        for k in range(3 * n):
            assert abs(fft.root(k, n) - cmath.exp(-2j * math.pi * (k % n) / n)) < 2e-15
    assert [fft.root(k, 8).real for k in (0, 2, 4, 6)] == [1, 0, -1, 0]


def test_lengths() -> None:
    """Radices and halves multiply to the length; the length of a convolution has room for it."""
    for n in range(1, 3000):
        if fft.is_smooth(n):
            assert math.prod(fft.radices(n)) == n == math.prod(fft.split(n, 16))
        m = fft.padded(n)
        assert 2 * n - 1 <= m < 4 * n and fft.is_smooth(m)
    values = [complex(k % 7, k % 5) for k in range(60)]
    for k, value in enumerate(fft.transformed(values)):
        assert abs(value - sum(v * cmath.exp(-2j * math.pi * j * k / 60) for j, v in enumerate(values))) < 1e-10


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("nvcc"), reason="SKIP: no nvcc")
@pytest.mark.parametrize("name", ["plane_back", "long", "convolution"])
def test_compiled_for_cuda(name: str, tmp_path: Path) -> None:
    (fusion,) = hlo.fusions(hlo.parse(CASES[name], "e.hlo"))
    pipeline.build_all(fusion, str(tmp_path), ["cuda"], "sm_80")
    done = subprocess.run(["nvcc", "-arch=sm_80", "-Werror", "all-warnings", "--ptx", "e.cu", "-o", "e.ptx"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def test_plain_c(tmp_path: Path) -> None:
    """The text is C11 without a warning."""
    for name in ("plane_back", "long", "convolution", "columns"):
        (fusion,) = hlo.fusions(hlo.parse(CASES[name], f"{name}_.hlo"))
        pipeline.build_all(fusion, str(tmp_path), ["c"])
        command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror", "-O1", "-c", f"{name}_.c", "-o", "k.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
