"""Test gen certify on fusions of other projects: each kernel is proved, except the kernels in not_proved.tsv.

SETT_SEED selects other files, SETT_COUNT their number.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from gen.certify import missing
from tests.certify.test_certify import verdicts_of
from tests.gen_run import ROOT, gen

PEER = ROOT.parent / "shared" / "peer"
SEED, COUNT = int(os.environ.get("SETT_SEED", "1")), int(os.environ.get("SETT_COUNT", "30"))
pytestmark = [pytest.mark.peer, pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer"),
              pytest.mark.skipif(bool(missing()), reason=missing())]
NOT_PROVED = {tuple(line.split("\t")[:3]): line.split("\t")[3]
              for line in (Path(__file__).parent / "not_proved.tsv").read_text().splitlines() if not line.startswith("#")}


def test_kernels_of_others() -> None:
    """Exactly the kernels listed in not_proved.tsv are not proved. A kernel listed because of a solver's time may be
    proved on a faster machine.
    """
    files = sorted((PEER / "fusions").glob("*.hlo"))
    for file in random.Random(SEED).sample(files, min(COUNT, len(files))):
        answer = gen("certify", file, "--target", "opencl,cuda,c")
        assert answer.returncode in (0, 1, 2), answer.stderr
        for each in verdicts_of(answer.stdout):
            reason = NOT_PROVED.get((file.stem, each[3], each[2]))
            if reason is None or each[1] != "PROVED" or not reason.startswith("a solver's time"):
                assert each[1] == ("PROVED" if reason is None else "UNKNOWN"), (file.name, answer.stdout)
