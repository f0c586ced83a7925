"""Test a sample of mutants: those that change what a kernel writes are refuted, except for the listed reasons."""

from __future__ import annotations

import pytest

from gen.certify import missing
from tests.certify.mutants import drawn

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.whole]


def test_mutants_that_change_what_is_written_are_refuted() -> None:
    """Certificates refute at least 80% of the mutants that change which elements are written. A wrong value in private memory, or a wrong read inside
    the same buffer, is not found, because certificates say nothing about values."""
    found = [(change, verdict) for _, _, change, verdict in drawn(7, 40, ("add_f32", "moves_u16", "triangle_f32"))]
    writes = [verdict for change, verdict in found if change == "writes"]
    assert len(writes) >= 6
    assert writes.count("REFUTED") >= 0.8 * len(writes), found
