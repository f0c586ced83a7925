"""Test that no proof is vacuous: the conditions of the loops and branches around each access can be satisfied."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Tuple

import pytest

from gen import pipeline, run
from gen.certify import missing
from gen.certify.cases import MACROS, _Places
from gen.certify.reader import Reader
from gen.certify.smt import Solvers
from gen.certify.terms import Printer
from gen.certify.text import Preprocessor
from gen.certify.walk import Walk
from gen.program import build as programs
from tests.gen_run import ROOT

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.whole]
FILES = ("add_bf16", "add_f32", "column_max_bf16", "concatenate_bf16", "finite_pred", "layouts_f32", "log_transpose_add",
         "moves_u16", "row_sum_f32", "slice_pad_add", "softmax_f32", "transpose_f32", "triangle_f32", "tuples_f32")


def texts_of(name: str) -> "Iterator[Tuple[Dict[str, str], Dict[str, Any]]]":
    """Yield the texts and the manifest of each program of a fixture."""
    module = run.load(str(ROOT / f"tests/kernels/{name}.hlo"), None, {})
    for source in programs.programs(module, False):
        texts, manifest = pipeline.files(source, ["opencl", "cuda", "c"], None, False, None)
        yield {key: text for key, text in texts.items() if isinstance(text, str)}, manifest


@pytest.mark.parametrize("name", FILES)
def test_each_access_is_reached(name: str) -> None:
    """For each access, some work-item and some step satisfy the conditions around the access, with an offset of at
    least 0 in the buffer.
    """
    for texts, manifest in texts_of(name):
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
