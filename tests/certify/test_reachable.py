"""Test that no proof is vacuous: the conditions of the loops and branches around each access can be satisfied."""

from __future__ import annotations

import pytest

from gen.certify import missing
from gen.certify.cases import MACROS, _Places
from gen.certify.reader import Reader
from gen.certify.smt import Solvers
from gen.certify.terms import Printer
from gen.certify.text import Preprocessor
from gen.certify.walk import Walk
from tests.certify.mutants import FILES, programs_of

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.whole]


@pytest.mark.parametrize("name", FILES)
def test_each_access_is_reached(name: str) -> None:
    """For each access, some work-item and some step satisfy the conditions around the access. Its place is then inside
    the buffer.
    """
    for _, texts, manifest in programs_of((name,)):
        for view in ("opencl", "cuda", "c", "c plain"):
            target = view.split()[0]
            reader = Reader(Preprocessor(MACROS[view]).tokens(texts[manifest["files"][target]]), target != "c")
            walk, places, solvers = Walk(reader, target), _Places(manifest), Solvers()
            for launch in manifest["targets"][target].get("plain_launches" if "plain" in view else "launches", ()):
                found = walk.kernel(launch["kernel"], places.of(launch), launch["blocks"], launch["threads"])
                assert any(access.write and access.memory.space == "global" for access in found.accesses)
                for access in found.accesses:
                    printer = Printer()
                    lines = [f"(<= 0 {printer.term(access.offset)})", *(printer.condition(c) for c in access.path)]
                    answer = solvers.ask(printer.lines + [f"(assert {line})" for line in lines], "reached")
                    assert answer.kind == "refuted", (view, access)
