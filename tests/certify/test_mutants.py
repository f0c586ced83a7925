"""A sample of mutants: those that change what is written are refuted, but for listed reasons."""

from __future__ import annotations

import pytest

from gen.certify import missing
from tests.certify.mutants import drawn

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.whole]


def test_mutants_that_change_what_is_written_are_refuted() -> None:
    """Of 40 mutants none that changes nothing is held wrong for its accesses, and most that change writes are refuted.
    What is written in private memory, or read inside of the same buffer, is a question of values, which nobody asks yet."""
    found = [(change, verdict) for _, _, change, verdict in drawn(7, 40, ("add_f32", "moves_u16", "triangle_f32"))]
    writes = [verdict for change, verdict in found if change == "writes"]
    assert len(writes) >= 6
    assert writes.count("REFUTED") >= 0.8 * len(writes), found
