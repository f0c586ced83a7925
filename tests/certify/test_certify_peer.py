"""Test gen certify on fusions of others: none is refuted, and most are proved.

SETT_SEED and SETT_COUNT draw other files and more.
"""

from __future__ import annotations

import os
import random

import pytest

from gen.certify import missing
from tests.certify.test_certify import verdicts_of
from tests.gen_run import ROOT, gen

PEER = ROOT.parent / "shared" / "peer"
SEED, COUNT = int(os.environ.get("SETT_SEED", "1")), int(os.environ.get("SETT_COUNT", "30"))
pytestmark = [pytest.mark.peer, pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer"),
              pytest.mark.skipif(bool(missing()), reason=missing())]


def test_kernels_of_others() -> None:
    files = sorted(path for folder in ("hlo", "fusions") for path in (PEER / folder).rglob("*.hlo"))
    drawn = random.Random(SEED).sample(files, min(COUNT, len(files)))
    found, refuted = [], []
    for file in drawn:
        answer = gen("certify", file, "--target", "opencl,c")
        lines = verdicts_of(answer.stdout)
        assert answer.returncode in (0, 1, 2), answer.stderr
        found += [each[1] for each in lines]
        refuted += [line for line in answer.stdout.splitlines() if line.startswith("REFUTED")]
    assert not refuted
    assert found.count("PROVED") >= 0.9 * len(found), found
