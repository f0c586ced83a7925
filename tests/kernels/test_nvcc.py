"""Compile the CUDA text of every HLO file here, and of random rows and scans, with nvcc for sm_80 and sm_90. There is no
warning, no spill, and no local memory except that of CUDA's own sinf, cosf and tanf (28 bytes to reduce large
arguments).

Many kernels share a compilation, with each file's text in a separate namespace. Each device takes every second file;
SETT_ALL takes all (`ninja test-files`).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

import test_rows
import test_scan
from drawn import COUNT, SEED
from gen import __main__ as gen

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
FOLDERS = {"own": [ROOT / "tests" / name for name in ("kernels", "tilings", "hlo")] + [ROOT / "bench"],
           "peer": [PEER / name for name in ("seeds", "hlo", "fusions")]}
AT_ONCE = 24
NUMBERS = {"sm_80": 0, "sm_90": 1}
# All headers that the texts include. They are included once, outside the namespaces.
HEAD = "".join(f"#include <{name}>\n" for name in (
    "cuda_runtime.h", "cuda_fp16.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h"))


def written(paths: List[Path], device: str, folder: Path) -> List[Path]:
    """Write the CUDA texts of all files that are not refused, and return their paths."""
    texts = []
    for number, path in enumerate(paths):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = gen.main(["build", str(path), "-o", str(folder / str(number)), "--target", "cuda", "--device", device])
        said = out.getvalue()
        assert status == 0 or (status == 2 and f"\nerror: {path}:" in "\n" + said), f"{path}: {status}: {said}"
        texts += sorted((folder / str(number)).glob("*.cu"))
    return texts


def batches(texts: List[Path]) -> List[List[Path]]:
    """Group the texts such that the texts of a group have different names, because some of their kernels are extern "C".
    """
    found: List[Dict[str, Path]] = []
    for text in texts:
        for batch in found:
            if len(batch) < AT_ONCE and text.name not in batch:
                batch[text.name] = text
                break
        else:
            found.append({text.name: text})
    return [list(batch.values()) for batch in found]


def compiled(job: Tuple[int, List[Path], str, Path]) -> List[str]:
    """Compile a group. Return nvcc's messages, and the kernels that have a stack or spills."""
    number, texts, device, folder = job
    source = folder / f"batch{number}.cu"
    source.write_text(HEAD + "".join(f'namespace text{i} {{\n#include "{text}"\n}}\n' for i, text in enumerate(texts)))
    done = subprocess.run(["nvcc", "-std=c++17", f"-arch={device}", "-cubin", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra",
                           "-Xptxas", "-v", source.name, "-o", f"batch{number}.cubin"], cwd=folder, capture_output=True, text=True)
    said = done.stdout + done.stderr
    wrong = [line for line in said.splitlines() if not re.match(r"ptxas info|\s*\d+ bytes stack frame", line)]
    frames = re.findall(r"Function properties for (\w+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    kernels = sum(text.read_text().count('extern "C" __global__') + len(set(re.findall(r"sett_\w+<(?:true|false)>", text.read_text()))) for text in texts)
    if done.returncode or len(frames) != kernels:
        wrong.append(f"{source}: status {done.returncode}, {len(frames)} of {kernels} kernels")
    long_arguments = " ".join(text.read_text() for text in texts if re.search(r"\b(sin|cos|tan)f\(", text.read_text()))
    for kernel, stack, stores, loads in frames:
        name = re.sub(r".*\d(sett_\w+)ILb[01]E.*", r"\1", kernel)    # an instance of a C++ template
        if int(stores) or int(loads) or (int(stack) and not re.search(rf"\b{name}\(", long_arguments)):
            wrong.append(f"{kernel}: {stack} bytes of stack, {stores} and {loads} of spills")
    return wrong


def refused(texts: List[Path], device: str, folder: Path) -> List[str]:
    """Compile all texts and return the errors."""
    jobs = [(number, batch, device, folder) for number, batch in enumerate(batches(texts))]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [line for lines in pool.map(compiled, jobs) for line in lines]


@pytest.mark.parametrize("device", ["sm_80", "sm_90"])
def test_drawn_rows_and_scans(device: str, tmp_path: Path) -> None:
    """Rows stay in registers, for all sizes and types. (nvcc spilled scan 6115 when it could choose the number of blocks
    per multiprocessor.)
    """
    if not shutil.which("nvcc"):
        pytest.skip("SKIP: no nvcc")
    drawn = [(test_rows, SEED * 5000 + k) for k in range(3 * COUNT)]
    drawn += [(test_scan, k) for k in (6115, *(SEED * 5000 + k for k in range(3 * COUNT)))]
    paths = [tmp_path / f"{module.__name__}_{seed}.hlo" for module, seed in drawn]
    for path, (module, seed) in zip(paths, drawn):
        path.write_text(module.Draw(seed).fusion())
    texts = written(paths, device, tmp_path)
    heroes = [hero for hero in ("rows_gpu", "scan_gpu_rows", "scan_columns")
              if any(f"through templates/kernels/{hero}.j2" in text.read_text() for text in texts)]
    assert len(heroes) == 3 and len(texts) == len(paths)
    wrong = refused(texts, device, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("device", ["sm_80", "sm_90"])
@pytest.mark.parametrize("whose", FOLDERS)
def test_every_file(whose: str, device: str, tmp_path: Path) -> None:
    paths = sorted(path for folder in FOLDERS[whose] for path in folder.rglob("*.hlo") if path.parent.name not in ("bad", "refused"))
    if not os.environ.get("SETT_ALL"):
        paths = paths[NUMBERS[device]::len(NUMBERS)]
    if whose == "peer" and not PEER.exists():
        pytest.skip("SKIP: no ../shared/peer")
    if not shutil.which("nvcc"):
        pytest.skip("SKIP: no nvcc")
    texts = written(paths, device, tmp_path)
    assert len(texts) >= len(paths) * 0.85
    wrong = refused(texts, device, tmp_path)
    assert not wrong, "\n".join(wrong)
    print(f"{len(texts)} texts of {len(paths)} files for {device}")


def test_a_long_chain(tmp_path: Path) -> None:
    """nvcc compiles a long chain of ops quickly. To this end, variables in C++ templates are not const: nvcc would
    insert the expression of a const variable at each place that reads it.
    """
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    of = "u32[1048576]{0}"
    lines = ["HloModule e", "", "ENTRY e {", "  p = u32[2]{0} parameter(0)", "  cs = u32[4]{0} constant({13, 15, 26, 6})"]
    for name, source in (("k", "p"), ("c", "cs")):
        lines += [f"  {name}1 = u32[1]{{0}} slice({source}), slice={{[0:1]}}", f"  {name} = u32[] reshape({name}1)"]
    lines += [f"  x0 = {of} broadcast(k), dimensions={{}}", f"  by = {of} broadcast(c), dimensions={{}}", f"  i = {of} iota(), iota_dimension=0"]
    for n in range(24):    # the rounds of a random-bit generator
        lines += [f"  l{n} = {of} shift-left(x{n}, by)", f"  r{n} = {of} shift-right-logical(x{n}, by)", f"  o{n} = {of} or(l{n}, r{n})",
                  f"  s{n} = {of} add(x{n}, i)", f"  x{n + 1} = {of} xor(o{n}, s{n})"]
    lines += [lines.pop().replace("  x", "  ROOT x", 1), "}", ""]
    (tmp_path / "e.hlo").write_text("\n".join(lines))
    (text,) = written([tmp_path / "e.hlo"], "sm_80", tmp_path)
    assert "template <bool aligned>" in text.read_text()
    subprocess.run(["nvcc", "-arch=sm_80", "-c", str(text), "-o", str(tmp_path / "e.o")], check=True, timeout=120)
