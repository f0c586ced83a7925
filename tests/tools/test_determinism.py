"""The same input gives the same bytes: in another process, with another hash seed, and in other folders. The files
contain no path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "tests" / f"{name}.hlo" for name in (
    "kernels/add_bf16", "kernels/column_max_bf16", "kernels/concatenate_bf16", "kernels/functions_f32", "kernels/gather_f32", "kernels/gelu_bf16",
    "kernels/layouts_f32", "kernels/log_transpose_add", "kernels/slice_pad_add", "kernels/softmax_f32", "kernels/tuples_f32", "kernels/update_bf16", "kernels/weights_f64",
    "tilings/bf16_8_128_2_1")]
SCATTERED = """HloModule scattered
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[40,16] parameter(0)
  i = s32[50,1] parameter(1)
  p = bf16[50,33] parameter(2)
  q = bf16[33,16] parameter(3)
  u = f32[50,16] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[40,16] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
"""
SEVERAL = """
import sys
from gen.__main__ import main
for file in sys.argv[2:]:
    assert main(["build", file, "-o", sys.argv[1], "--dump", sys.argv[1]]) == 0, file
"""


def made(folder: Path, seed: str) -> "Dict[str, bytes]":
    """Build copies of the inputs in one process and return the written files, except the depfiles, which contain paths.
    """
    (folder / "in").mkdir(parents=True)
    copies = [shutil.copy(path, folder / "in") for path in FILES] + [str(folder / "in" / "scattered.hlo")]
    Path(copies[-1]).write_text(SCATTERED)
    subprocess.run([sys.executable, "-c", SEVERAL, str(folder / "out"), *copies], cwd=folder, check=True, timeout=900,
                   env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)})
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.suffix != ".d"}


def test_bytes(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a", "1"), made(tmp_path / "further" / "down", "4242")
    for end in (".cu", ".cl", ".c", "_ref.c", ".7_kernel.txt"):
        assert len([name for name in first if name.endswith(end)]) >= len(FILES) + 1, end
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    for name, data in first.items():
        for folder in (tmp_path, ROOT):
            assert str(folder).encode() not in data, name
