"""Test the HIP text: run it on the CPU next to the scalar reference (tests/hip_on_cpu.h), with wavefronts of 64 and 32
lanes, and compile it with hipcc if that is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List

import pytest

import test_rows
import test_scan
from drawn import COUNT, SEED, fusions
from gen import hlo, pipeline, run
from gen.schedule import DEVICES

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = sorted(ROOT.glob("tests/kernels/*.hlo"))
CLASSES = [device.name for device in DEVICES.values() if device.language == "hip"]
QUICK = ("softmax_f32", "row_sum_f32", "column_max_bf16", "tuples_f32")


def check(path: Path, device: str) -> None:
    results = run.check(str(path), "hip-on-cpu", run.Options(rounds=2, schedule=device))
    assert results and all(result.status == "PASS" for result in results), [f"{result.fusion}: {result.reason}" for result in results]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("device", ["gfx90a", "gfx1100"])
def test_on_cpu(name: str, device: str) -> None:
    check(ROOT / "tests" / "kernels" / f"{name}.hlo", device)


@pytest.mark.parametrize("path", [path for path in CATALOGUE if path.stem not in QUICK], ids=lambda path: path.stem)
def test_catalogue_on_cpu(path: Path) -> None:
    check(path, "gfx90a")


def test_wavefronts() -> None:
    """Shuffles cover all lanes of a wavefront: 64 on CDNA, 32 on RDNA."""
    (fusion,) = hlo.fusions(run.load(str(ROOT / "tests" / "kernels" / "row_sum_f32.hlo")))
    for device, lanes in (("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32)):
        text = pipeline.target_file(fusion, "hip", device).text
        assert f"distance = {lanes // 2};" in text and f", distance, {lanes})" in text and "__shfl_down_sync" not in text, device


def refuses(device: str, folder: Path) -> str:
    """Return the reason why this hipcc cannot compile for a class of device, or "". (The test compiles a file, because
    Debian's hipcc finds no headers if the source is standard input.)
    """
    if not shutil.which("hipcc"):
        return "no hipcc"
    source = folder / "probe.hip"
    source.write_text("#include <hip/hip_runtime.h>\n__global__ void k(float *x) { *x = expf(*x); }\n")
    done = subprocess.run(["hipcc", f"--offload-arch={device}", "-c", "-o", "/dev/null", str(source)], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "error:" in line]
    return "" if done.returncode == 0 else said[0].split("error: ")[-1][:100] if said else "it fails"


@pytest.mark.parametrize("device", CLASSES)
def test_compiles(device: str, tmp_path: Path) -> None:
    """hipcc prints no warning, and the kernels use no scratch memory, so nothing is spilled."""
    why = refuses(device, tmp_path)
    if why:
        pytest.skip(f"SKIP: hipcc for {device}: {why}")
    for path in CATALOGUE:
        for fusion in hlo.fusions(run.load(str(path))):
            pipeline.build_all(fusion, str(tmp_path), ["hip"], device)
            done = subprocess.run(["hipcc", f"--offload-arch={device}", "-O3", "-Wall", "-Werror", "-Wno-unused-command-line-argument", "-Rpass-analysis=kernel-resource-usage",
                                   "-c", "-o", "/dev/null", str(tmp_path / f"{fusion.name}.hip")], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            spills = [line for line in done.stderr.splitlines() if "ScratchSize" in line and not line.split("ScratchSize [bytes/lane]:")[-1].strip().startswith("0")]
            assert not spills, (fusion.name, spills)


SIZES = {"float": 4, "double": 8, "int": 4, "unsigned": 4, "long": 8, "short": 2, "char": 1}


@pytest.mark.parametrize("device", CLASSES)
def test_compiles_drawn_rows_and_scans(device: str, tmp_path: Path) -> None:
    """Random rows and scans stay in registers: they use no scratch memory, and no more shared memory than the text
    declares. (clang moves arrays with unknown indices to shared memory.)
    """
    why = refuses(device, tmp_path)
    if why:
        pytest.skip(f"SKIP: hipcc for {device}: {why}")
    lines: List[str] = []
    declared: Dict[str, int] = {}
    for number, (module, seed) in enumerate((module, SEED * 5000 + k) for module in (test_rows, test_scan) for k in range(3 * COUNT)):
        name = f"{module.__name__}_{seed}"
        for fusion in fusions(module.Draw(seed).fusion(), name):
            pipeline.build_all(fusion, str(tmp_path), ["hip"], device)
        text = (tmp_path / f"{name}.hip").read_text()
        lines.append(f'namespace text{number} {{\n#include "{name}.hip"\n}}\n')
        for kernel, body in re.findall(r"__global__.* (sett_\w+)\(.*\n\{\n((?:  __shared__ .*\n)*)", text):
            declared[kernel] = sum(SIZES[kind.split()[-1]] * int(count)
                                   for kind, count in re.findall(r"__shared__ ([\w ]+) \w+\[(\d+)\];", body))
    head = "".join(f"#include <{name}>\n" for name in (*pipeline.TARGETS["hip"].headers, "math.h", "stdbool.h", "stddef.h",
                                                       "stdint.h", "stdlib.h", "string.h"))
    (tmp_path / "all.hip").write_text(head + "".join(lines))
    done = subprocess.run(["hipcc", f"--offload-arch={device}", "-O3", "-Wall", "-Werror", "-Wno-tautological-compare",
                           "-Wno-unused-command-line-argument", "-Rpass-analysis=kernel-resource-usage", "-c", "-o", "/dev/null",
                           "all.hip"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    names = re.findall(r"Function Name: (\w+)", done.stderr)
    scratch, shared = (re.findall(rf"{word}: (\d+)", done.stderr) for word in (r"ScratchSize \[bytes/lane\]", r"LDS Size \[bytes/block\]"))
    assert len(names) == len(scratch) == len(shared) == len(declared)
    wrong = {name: (of, size, declared[name]) for name, of, size in zip(names, scratch, shared)
             if int(of) or int(size) > declared[name] + 8}
    assert not wrong, f"scratch, shared, declared: {wrong}"
