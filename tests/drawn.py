"""The common part of property tests of drawn fusions: the devices of their schedules, and agreement with the reference.

SETT_TARGET names targets (with commas), SETT_SEED and SETT_COUNT draw others and more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence, Tuple, TypeVar

import pytest

from gen import hlo, pipeline, run, schedule
from gen.run import proofs

T = TypeVar("T")
SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "8"))
BATCH = 4  # fusions for one run of the harness

# OpenCL runs schedules for GPUs on a CPU: local memory and barriers are the same
OF_TARGET = {"opencl": ("pocl-cpu", "opencl-gpu"), "c": ("cpu", "cpu-scalar"), "cuda-on-cpu": ("sm_80",), "cuda": ("sm_80", "sm_90"),
             "hip-on-cpu": ("gfx90a", "gfx1100")}
ON: "List[Tuple[str, str]]" = [(target, device) for target in os.environ.get("SETT_TARGET", "opencl,c,cuda-on-cpu").split(",")
                               for device in OF_TARGET[target]]

# Device classes of CPUs with vectors, the only ones that `ninja test` schedules for. Their kernels differ in few words, so it runs some named cases for
# C, and of drawn ones the first batch for OpenCL and the second for C.
ON_CPUS = [pair for pair in ON if pair[1] in ("pocl-cpu", "cpu")]


def marked(pairs: "Iterable[Tuple[str, str]]") -> "List[Any]":
    """Return parameters `target, device`, all marked peer except C and CPUs with vectors."""
    return [pytest.param(*pair, marks=[] if pair[1] == "cpu" else pytest.mark.peer) for pair in pairs]


def in_turn(first: "Iterable[int]") -> "List[Any]":
    """Return the parameters `first, target, device` in all combinations. Those that `ninja test` leaves out are marked peer."""
    return [pytest.param(number, *pair, marks=[] if pair in ON_CPUS[turn:][:1] else pytest.mark.peer)
            for turn, number in enumerate(first) for pair in ON]


# A test that `ninja test` runs on every fifth case, and test-peer on the others.
in_parts = pytest.mark.parametrize("part", ["sample", pytest.param("others", marks=pytest.mark.peer)])


def of_part(cases: "Iterable[T]", part: str) -> "List[T]":
    """Return the cases of one part of `in_parts`; "" stands for all cases."""
    return [case for number, case in enumerate(cases) if not part or (number % 5 == 0) == (part == "sample")]


def shape(dtype: str, dims: "Sequence[int]", order: "Sequence[int]") -> str:
    return f"{dtype}[{','.join(map(str, dims))}]{{{','.join(map(str, order))}}}"


def plain(dtype: str, dims: "Sequence[int]") -> str:
    return shape(dtype, dims, range(len(dims))[::-1])


def fusions(text: str, name: str = "e") -> "List[hlo.Fusion]":
    module = hlo.parse(text, f"{name}.hlo")
    problem = hlo.unsupported(module)
    assert problem is None, f"{problem}\n{text}"
    return hlo.fusions(module)


def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use schedules for data larger than any cache: lines have streaming stores, and are carried over if rows begin anywhere; reductions are cut into
    parts, and columns of scans into blocks.
    """
    for name, device in schedule.DEVICES.items():
        monkeypatch.setitem(schedule.DEVICES, name, replace(device, cache=0, part_bytes=4096, scan_cpu=replace(device.scan_cpu, bytes=512),
                                                            reduction_gpu=replace(device.reduction_gpu, loading_bytes=1, threads=64)))


def device_or_skip(target: str, options: run.Options = run.Options()) -> None:
    """Skip if the target's tool or device is missing (status 3); any other failure is an error."""
    try:
        run.find_device(target, options)
    except run.RunError as error:
        if error.status != 3:
            raise
        pytest.skip(f"SKIP: {error.message}")


def agree(texts: "Dict[str, str]", target: str, device: str, folder: Path, part: str = "") -> None:
    """Check for each fusion of a part that its maps hold and its kernels agree with the reference."""
    options, built = run.Options(rounds=2, schedule=device), []
    device_or_skip(target, options)
    for name, text in of_part(texts.items(), part):
        for fusion in fusions(text, name):
            wrong = proofs.check(fusion)
            assert wrong is None, f"{wrong}\n{text}"
            built.append(run.build(fusion, folder / name, target, options))
    failed = [r for r in run.check_built(built, target, options) if r.status != "PASS"]
    assert not failed, "\n\n".join(f"{r.line()}\n{texts.get(r.fusion, '')}" for r in failed)


def ptx(text: str, device: str, folder: Path) -> str:
    """Return nvcc's PTX of a fusion, which compiles without a message and without local memory."""
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    (fusion,) = fusions(text)
    pipeline.build_all(fusion, str(folder), ["cuda"], device)
    done = subprocess.run(["nvcc", f"-arch={device}", "-Werror", "all-warnings", "--ptx", "e.cu", "-o", "e.ptx"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, f"{text}: {done.stdout + done.stderr}"
    found = (folder / "e.ptx").read_text()
    assert ".local" not in found, text
    return found
