"""Test fft: kernels agree with the reference, for all kinds, for lengths that take each method, several dimensions and
layouts. The reference agrees with the definition. The CUDA text compiles if nvcc is installed.
"""

from __future__ import annotations

import cmath
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any, List

import pytest

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

import gen_run
from drawn import COUNT, ON, SEED, agree, device_or_skip, in_parts, marked, ptx
from gen import algebra, hlo, pipeline
from gen.emit.helpers import Helpers
from gen.emit.templates import macro
from gen.heroes import fft as hero, fft_gpu
from gen.heroes.hero import Context
from gen.plan import fft
from gen.plan.nests import planned
from gen.schedule import DEVICES
from gen.targets import TARGETS


def text(kind: str, dims: "tuple[int, ...]", count: int, part: str = "f32", layout: str = "") -> str:
    """Return a module with an fft over the last `count` dimensions. dims: the sizes of a whole array. The result of
    RFFT and the operand of IRFFT are half spectra of such an array.
    """
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
    "two_kernels": text("FFT", (2048,), 1, "f64"), "two_real": text("RFFT", (6615,), 1), "empty": text("FFT", (0, 8), 1), "empty_batch": text("RFFT", (0, 3, 8), 2),
    "no_length": text("IFFT", (3, 0, 4), 2), "no_length_real": text("RFFT", (3, 0), 1).replace("c64[3,1]", "c64[3,0]"),
}  # fmt: skip


# long transforms: the time of a reference grows with the square of the length
LONG = ["long", "long_double", "large_prime", "radices", "two_real"]


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
            assert {kernel.hero for kernel in file.kernels} == ({"fft"} if not name.startswith(("empty", "no_")) else set()), name
            rows = "kernels/fft" if target == "c" or name == "large_prime" else "kernels/fft_gpu"
            assert {kernel.text.template for kernel in file.kernels} <= {rows}, name


def test_long_ones_are_two_kernels() -> None:
    """A long transform along one dimension is two kernels. A transform whose buffers fit in one work-item's stack is
    one.
    """
    for n, count in ((1024, 1), (2048, 1), (4096, 2), (65536, 2)):
        (fusion,) = hlo.fusions(hlo.parse(text("FFT", (n,), 1), "e.hlo"))
        (nest,) = planned(fusion).nests
        assert len(hero.plan(nest, DEVICES["cpu"]).axes) == count, n


class Numbers:
    """The constants of templates/parts/fft.j2 as Python numbers."""

    number = staticmethod(repr)

    def cosine(self, index: int, length: int) -> str:
        return repr(fft.root(index, length).real)

    def sine(self, index: int, length: int) -> str:
        return repr(-fft.root(index, length).imag)


@pytest.mark.parametrize("p", [2, 3, 4, 5, 7, 8, 11, 13])
def test_sums(p: int) -> None:
    """The statements for a radix compute the transform by its definition."""
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
    """The radices of a length multiply to the length. A convolution that replaces a large prime is long enough."""
    for n in range(1, 3000):
        if fft.is_smooth(n):
            assert math.prod(fft.radices(n)) == n == math.prod(fft.split(n, 16))
        m = fft.padded(n)
        assert 2 * n - 1 <= m < 4 * n and fft.is_smooth(m)
    values = [complex(k % 7, k % 5) for k in range(60)]
    for k, value in enumerate(fft.transformed(values)):
        assert abs(value - sum(v * cmath.exp(-2j * math.pi * j * k / 60) for j, v in enumerate(values))) < 1e-10


# ---- transforms by blocks of threads of a GPU ----

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 20, 24, 27, 31, 32, 35, 37, 41, 49, 60, 64, 77, 91, 96, 97, 100, 121, 127, 128]
KINDS = ["FFT", "IFFT", "RFFT", "IRFFT"]


def drawn(number: int) -> str:
    """Return a random fft of any kind, type and layout, over one to three dimensions."""
    r = random.Random(SEED * 7919 + number)
    rank, count = r.choice([(1, 1), (2, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 1), (4, 3)])
    dims: "List[int]" = []
    for _ in range(rank):
        dims.append(r.choice([n for n in LENGTHS if n * math.prod(dims) <= (6000 if dims else 128)]))
    layout = "{" + ",".join(map(str, r.sample(range(rank), rank))) + "}" if r.random() < 0.4 else ""
    return text(r.choice(KINDS), tuple(dims), count, r.choice(["f32", "f64"]), layout)


@pytest.mark.peer
@pytest.mark.parametrize("target, device", [pair for pair in ON if not DEVICES[pair[1]].cpu])
def test_blocks_agree(target: str, device: str, tmp_path: Path) -> None:
    agree({f"t{number}": drawn(number) for number in range(3 * COUNT)}, target, device, tmp_path)


def context(device: str) -> Context:
    target = TARGETS[DEVICES[device].language].of_file()
    return Context(target, DEVICES[device], Helpers(target), False, [], lambda nest, context: [])


def axes(module: str, of: Context) -> "List[hero.Axis]":
    (fusion,) = hlo.fusions(hlo.parse(module, "e.hlo"))
    (nest,) = planned(fusion).nests
    (schedule,) = fft_gpu.HERO.schedules(nest, of)
    return list(schedule.axes)


def test_blocks_take_what_fits() -> None:
    """A length that fits in shared memory is one kernel, a product of two such lengths is two kernels, and other lengths
    are refused.
    """
    for device, module, count in (("sm_90", text("FFT", (6144,), 1), 1), ("sm_90", text("FFT", (8192,), 1), 2), ("sm_90", text("FFT", (3200,), 1, "f64"), 2),
                                  ("gfx90a", text("FFT", (8192,), 1), 1), ("opencl-gpu", text("FFT", (8192,), 1), 2), ("sm_90", text("RFFT", (8192,), 1), 1),
                                  ("sm_90", text("IRFFT", (1 << 20,), 1), 2), ("sm_90", text("FFT", (2999,), 1), 1)):
        assert len(axes(module, context(device))) == count, module
    for module, why in ((text("FFT", (4999,), 1), "a convolution of 10240 elements, at most 6144 fit shared memory"),
                        (text("FFT", (1 << 26,), 1), "no two factors of 67108864 are at most 6144, which fit shared memory")):
        with pytest.raises(fft_gpu.Refused, match=why):
            axes(module, context("sm_90"))


@pytest.mark.parametrize("device", ["sm_90", pytest.param("gfx90a", marks=pytest.mark.peer), pytest.param("opencl-gpu", marks=pytest.mark.peer)])
def test_shared_memory(device: str) -> None:
    """Different elements have different places in shared memory, and the device has enough shared memory. For lengths
    that are powers of two, the accesses have no bank conflict.
    """
    of = context(device)
    for module in [text("FFT", (300, 1 << k), 1) for k in range(1, 12)] + [text("RFFT", (40, 360), 1), text("FFT", (60, 40), 2, "f64"), drawn(1), drawn(2)]:
        for axis in axes(module, of):
            schedule = fft_gpu.blocks_of(axis, of)
            assert schedule.threads % of.device.warp == 0 and schedule.threads <= of.device.fft_gpu.threads
            for before, after, exchange in fft_gpu.exchanges(axis, schedule, of):
                places = [algebra.evaluate(f"(row, j) -> ({exchange.place('row', 'j')}), domain: row in [0, {schedule.rows - 1}], j in [0, {axis.m - 1}]", row, j)
                          for row in range(schedule.rows) for j in range(axis.m)]
                assert len(set(places)) == len(places) and max(place[0] for place in places if place) == exchange.room - 1
                assert 2 * exchange.room * axis.bytes <= of.target.shared_bytes
                for each in (before, after):
                    turns, least = fft_gpu.turns_of(each.access(exchange, each is before), axis.part) if each else (0, 0)
                    assert turns == least or axis.m & (axis.m - 1), (module, exchange)


@pytest.mark.skipif(np is None, reason="SKIP: no numpy, which computes what is right")
@pytest.mark.parametrize("kind, dims, part", [
    ("FFT", (3, 1024), "f32"), *(pytest.param(*case, marks=pytest.mark.peer) for case in (
        ("RFFT", (16384,), "f32"), ("IFFT", (2, 6006), "f64"), ("IRFFT", (3, 6000), "f32"), ("IRFFT", (2, 20000), "f64"), ("RFFT", (2, 8190), "f64"),
        ("FFT", (65536,), "f32"), ("IFFT", (1, 1531), "f32"), ("RFFT", (2, 1000), "f32")))])
def test_blocks_give_what_numpy_gives(kind: str, dims: "tuple[int, ...]", part: str, tmp_path: Path) -> None:
    device_or_skip("cuda-on-cpu")
    random_, n = np.random.default_rng(SEED), dims[-1]
    number = {"f32": np.complex64, "f64": np.complex128}[part]
    real = {"f32": np.float32, "f64": np.float64}[part]
    size = (*dims[:-1], n // 2 + 1) if kind == "IRFFT" else dims
    x: Any = random_.standard_normal(size).astype(real) if kind == "RFFT" else (
        random_.standard_normal(size) + 1j * random_.standard_normal(size)).astype(number)
    wanted = {"FFT": np.fft.fft, "IFFT": np.fft.ifft, "RFFT": np.fft.rfft, "IRFFT": np.fft.irfft}[kind](x.astype(np.result_type(x, np.float64)), n)
    (raw,) = gen_run.run(text(kind, dims, 1, part), [x.tobytes()], "cuda-on-cpu", tmp_path)
    found = np.frombuffer(raw, real if kind == "IRFFT" else number).reshape(wanted.shape)
    assert np.abs(found - wanted).max() <= (1e-6 if part == "f32" else 1e-15) * math.log2(n) * np.abs(wanted).max()


@pytest.mark.peer
def test_blocks_keep_numbers_in_registers(tmp_path: Path) -> None:
    for number, module in enumerate((text("RFFT", (64, 1024), 1), text("IFFT", (9, 1001), 1, "f64"), text("RFFT", (20000,), 1), text("IRFFT", (6, 30, 51), 2),
                                     text("IRFFT", (6, 7, 101), 1), text("FFT", (1, 4096), 1), drawn(3), drawn(4))):
        (tmp_path / str(number)).mkdir()
        ptx(module, "sm_90", tmp_path / str(number))


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("nvcc"), reason="SKIP: no nvcc")
@pytest.mark.parametrize("name", ["plane_back", "long", "convolution", "large_prime"])
def test_compiled_for_cuda(name: str, tmp_path: Path) -> None:
    (fusion,) = hlo.fusions(hlo.parse(CASES[name], "e.hlo"))
    pipeline.build_all(fusion, str(tmp_path), ["cuda"], "sm_80")
    done = subprocess.run(["nvcc", "-arch=sm_80", "-Werror", "all-warnings", "--ptx", "e.cu", "-o", "e.ptx"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def test_plain_c(tmp_path: Path) -> None:
    """The generated C compiles as C11 without a warning."""
    for name in ("plane_back", "long", "convolution", "columns"):
        (fusion,) = hlo.fusions(hlo.parse(CASES[name], f"{name}_.hlo"))
        pipeline.build_all(fusion, str(tmp_path), ["c"])
        command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror", "-O1", "-c", f"{name}_.c", "-o", "k.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_starts_of_rows_have_their_index_type() -> None:
    """In some layouts the formula for the position of a row has negative terms, so the index type must be signed."""
    (fusion,) = hlo.fusions(hlo.parse("""HloModule e
ENTRY e {
  a = c64[5,37,16,8]{0,1,2,3} parameter(0)
  ROOT d = c64[5,37,16,8]{2,1,0,3} fft(a), fft_type=FFT, fft_length={8}
}
""", "e.hlo"))
    for target in ("cuda", "c", "opencl"):
        (kernel,) = pipeline.target_file(fusion, target).kernels
        assert (kernel.hero, kernel.grid.index) == ("fft", "int"), target
