"""Test a sample of mutants: those with a fault in what a kernel accesses are refuted."""

from __future__ import annotations

import pytest

from gen.certify import missing
from tests.certify.mutants import drawn

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.whole]


def test_mutants_with_a_fault_are_refuted() -> None:
    """Of 25 drawn mutants of small kernels, each mutant with a fault (see mutants.changed) is refuted, and no mutant
    that changes nothing is refuted.
    """
    found = [(change, verdict) for _, _, change, verdict in drawn(7, 25, ("add_f32", "moves_u16", "triangle_f32"))]
    faults = [verdict for change, verdict in found if change == "fault"]
    assert len(faults) >= 5
    assert faults.count("REFUTED") == len(faults), found
    assert ("nothing", "REFUTED") not in found
