"""Every HLO file that others wrote, through `gen check` on OpenCL and in C: right, or refused at a place in the file.

Long, so in `ninja test-peer`. SETT_TARGET asks for one target, SETT_PART=n/m for every m-th file from the n-th on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT.parent / "shared" / "peer"
HEROES = ("loop", "convert", "transpose", "reduce_row", "reduce_column", "reduce_column_small", "reduce_multirow")
TARGETS = os.environ.get("SETT_TARGET", "opencl,c").split(",")


def files() -> List[Path]:
    found = sorted(p for folder in ("seeds", "hlo", "fusions") for p in (PEER / folder).rglob("*.hlo"))
    part, parts = map(int, os.environ.get("SETT_PART", "0/1").split("/"))
    return found[part::parts]


def check(path: Path, target: str) -> Tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "gen", "check", str(path), "--target", target], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1200)
    return done.returncode, (done.stdout.strip().splitlines() or [""])[-1]


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.parametrize("target", TARGETS)
def test_every_file(target: str) -> None:
    paths = files()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = list(pool.map(lambda path: check(path, target), paths))
    if any(status == 3 for status, _ in answers):
        pytest.skip(f"SKIP: {next(line for status, line in answers if status == 3)}")
    passed = refused = 0
    wrong = []
    for path, (status, line) in zip(paths, answers):
        if status == 0:
            passed += 1
        elif status == 2 and line.startswith(f"error: {path}:"):
            refused += 1
        else:
            wrong.append(f"{path.name}: {status}: {line}")
    print(f"{target}: {passed} passed, {refused} refused of {len(paths)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.parametrize("target", TARGETS)
def test_heroes(target: str) -> None:
    """The seeds, the folders of the loop, transpose and reduction heroes: all pass but the one with a dot."""
    found = [*PEER.glob("seeds/*.hlo")]
    found += [path for folder in HEROES for path in (PEER / "hlo" / folder).glob("*.hlo")]
    for path in sorted(found):
        status, line = check(path, target)
        if status == 3:
            pytest.skip(f"SKIP: {line}")
        later = " dot(" in path.read_text()
        assert status == (2 if later else 0), f"{path.name}: {status}: {line}"
        if not later:
            explained = subprocess.run([sys.executable, "-m", "gen", "explain", str(path), "--target", target], cwd=ROOT, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            assert explained.returncode == 0, f"{path.name}: {explained.stdout[-400:]}"
