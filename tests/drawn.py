"""The common part of the tests that draw fusions at random: the devices that their schedules are for, and the comparison
of kernels with the reference.

SETT_TARGET names the targets, separated by commas. SETT_SEED selects other random fusions, SETT_COUNT their number.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple, TypeVar

import pytest

from gen import hlo, pipeline, run, schedule
from gen.heroes.hero import Choice
from gen.heroes.kernel import Grid
from gen.run import proofs
from shares import some

T = TypeVar("T")
SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "8"))
BATCH = 4  # number of fusions that one run of the harness executes

# OpenCL also runs the schedules for GPUs, on a CPU, because the kernels use local memory and barriers in the same way
# there.
OF_TARGET = {"opencl": ("pocl-cpu", "opencl-gpu"), "c": ("cpu", "cpu-scalar"), "cuda-on-cpu": ("sm_80",), "cuda": ("sm_80", "sm_90"),
             "hip-on-cpu": ("gfx90a", "gfx1100")}
ON: "List[Tuple[str, str]]" = [(target, device) for target in os.environ.get("SETT_TARGET", "opencl,c,cuda-on-cpu").split(",")
                               for device in OF_TARGET[target]]

# CPUs with vectors. `ninja test` uses no other schedules. The kernels in C and in OpenCL differ in few words, so `ninja
# test` runs some of the named cases for C only. Of the drawn cases, it runs the first batch for OpenCL and the second
# for C.
ON_CPUS = [pair for pair in ON if pair[1] in ("pocl-cpu", "cpu")]


def marked(pairs: "Iterable[Tuple[str, str]]") -> "List[Any]":
    """Return the pytest parameters `target, device`. `ninja test` runs only C on CPUs with vectors; the other pairs
    have the mark peer.
    """
    return [pytest.param(*pair, marks=[] if pair[1] == "cpu" else pytest.mark.peer) for pair in pairs]


def in_turn(first: "Iterable[int]") -> "List[Any]":
    """Return cases (number, target, device): each number in `first` with each target and device. `ninja test` runs the
    i-th number on ON_CPUS[i] only; the other cases are marked peer.
    """
    return [pytest.param(number, *pair, marks=[] if pair in ON_CPUS[turn:][:1] else pytest.mark.peer)
            for turn, number in enumerate(first) for pair in ON]


# A decorator of tests that split their cases: `ninja test` runs one in SETT_SHARE of every fifth case, test-peer one in
# SETT_SHARE of the others.
in_parts = pytest.mark.parametrize("part", ["sample", pytest.param("others", marks=pytest.mark.peer)])


def of_part(cases: "Iterable[T]", part: str) -> "List[T]":
    """Return the cases that belong to `part`, which is "sample", "others" or "" (all cases). See `in_parts`."""
    found = [case for number, case in enumerate(cases) if not part or (number % 5 == 0) == (part == "sample")]
    return some(found) if part else found


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
    """Make the schedules treat every array as larger than any cache. Kernels then use streaming stores; where a row
    begins inside a cache line, the partial line is carried in registers. Reductions are cut into parts, and the
    columns of scans into blocks.
    """
    for name, device in schedule.DEVICES.items():
        monkeypatch.setitem(schedule.DEVICES, name, replace(device, cache=0, part_bytes=4096, scan_cpu=replace(device.scan_cpu, bytes=512),
                                                            reduction_gpu=replace(device.reduction_gpu, loading_bytes=1, threads=64)))


def device_or_skip(target: str, options: run.Options = run.Options()) -> None:
    """Skip the test if the target's tool or device is missing (exit status 3). Any other failure is an error."""
    try:
        run.find_device(target, options)
    except run.RunError as error:
        if error.status != 3:
            raise
        pytest.skip(f"SKIP: {error.message}")


def decided(fusion: hlo.Fusion, target: str, device: "str | None" = None) -> "List[Tuple[Choice[Any, Any], Grid]]":
    """Return the choice and the grid of each kernel of a fusion, in the order of the launches. No code is written:
    writing (`pipeline.target_file`) takes several times longer.
    """
    return [(leaf, grid) for _, choices, _ in pipeline.choices(fusion, target, device) for choice in choices
            for leaf in choice.leaves() for grid in leaf.grids]


def written_by(fusion: hlo.Fusion, target: str, device: "str | None" = None) -> "List[str]":
    """Return the name of the hero of each kernel."""
    return [grid.written_by or choice.hero.name for choice, grid in decided(fusion, target, device)]


_faults: "Dict[Tuple[object, ...], str | None]" = {}


def fault_of_maps(fusion: hlo.Fusion, text: str, target: str, device: str) -> "str | None":
    """Return the fault that `proofs.check` finds in a fusion's maps. It checks the plans for all classes of devices, so
    the runs of a test that differ only in the target and the device share the answer.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].replace(f"{target}-{device}", "")
    key = (test, text, fusion.name, *(of.plan_class for of in schedule.DEVICES.values()))
    if key not in _faults:
        _faults[key] = proofs.check(fusion)
    return _faults[key]


@contextlib.contextmanager
def unoptimised(device: str) -> "Iterator[None]":
    """Let PoCL compile kernels for GPUs without optimisation, which takes a third of the processor time. No GPU runs the
    code that PoCL's optimiser makes. Kernels for CPUs are optimised, as users compile them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if device == "opencl-gpu":
            patch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
        yield


def agree(texts: "Dict[str, str]", target: str, device: str, folder: Path, part: str = "") -> None:
    """Check each fusion of the part: the index maps are proved sound, and the kernels agree with the reference."""
    options, built = run.Options(rounds=2, schedule=device), []
    device_or_skip(target, options)
    for name, text in of_part(texts.items(), part):
        for fusion in fusions(text, name):
            wrong = fault_of_maps(fusion, text, target, device)
            assert wrong is None, f"{wrong}\n{text}"
            built.append(run.build(fusion, folder / name, target, options))
    with unoptimised(device):
        failed = [r for r in run.check_built(built, target, options) if r.status != "PASS"]
    assert not failed, "\n\n".join(f"{r.line()}\n{texts.get(r.fusion, '')}" for r in failed)


def ptx(text: str, device: str, folder: Path) -> str:
    """Return the PTX that nvcc makes of a fusion. Check that nvcc prints no message and that the kernel uses no local
    memory.
    """
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    (fusion,) = fusions(text)
    pipeline.build_all(fusion, str(folder), ["cuda"], device)
    done = subprocess.run(["nvcc", f"-arch={device}", "-Werror", "all-warnings", "--ptx", "e.cu", "-o", "e.ptx"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, f"{text}: {done.stdout + done.stderr}"
    found = (folder / "e.ptx").read_text()
    assert ".local" not in found, text
    return found
