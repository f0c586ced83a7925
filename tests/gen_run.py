"""What tests of values share: a module run on given buffers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List, Sequence

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(text: str, params: Sequence[bytes], target: str, folder: Path) -> List[bytes]:
    """The results of a module's one fusion, as `gen run` writes them."""
    (folder / "in").mkdir()
    (folder / "m.hlo").write_text(text)
    for k, data in enumerate(params):
        (folder / "in" / f"p{k}.bin").write_bytes(data)
    words = ["run", folder / "m.hlo", "--target", target, "--in", folder / "in", "--out", folder / "out"]
    done = subprocess.run([sys.executable, str(ROOT / "gen"), *map(str, words)], capture_output=True, text=True, timeout=900)
    if done.returncode == 3:
        pytest.skip(f"SKIP: {done.stderr.strip() or done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    return [(folder / "out" / f"r{k}.bin").read_bytes() for k in range(len(list((folder / "out").iterdir())))]
