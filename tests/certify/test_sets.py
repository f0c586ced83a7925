"""Test that a sample of the kernels of each set is proved. Kernels in not_proved.tsv are exceptions."""

from __future__ import annotations

import os
import random

import pytest

from gen.certify import missing
from tests.certify import sets

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
SEED, COUNT = int(os.environ.get("SETT_SEED", "1")), int(os.environ.get("SETT_COUNT", "10"))
SAMPLE = 30    # minimum number of kernels that `test_sample` proves
DEAR = ("sorts",)    # sets that take long, and most of whose kernels are not proved


def faults(of: str, count: int, seed: int = SEED, most: int = 1 << 30) -> "tuple[int, list[str]]":
    """Return the number of kernels in drawn programs of a set, and the verdicts that are failures. Drawing ends after
    `count` programs, or when the drawn programs have `most` kernels or more.
    """
    known, programs = sets.listed(), sorted(sets.names(sets.SETS[of]()).items())
    found: "list[str]" = []
    number = 0
    for name, text in random.Random(seed).sample(programs, min(count, len(programs))):
        _, answer = sets.proved(sets.Item(of, name, text, False))
        if isinstance(answer, str):
            found += [f"{name}: {answer}"] * (of not in sets.OTHERS)
            continue
        rows = answer[1]
        number += len(rows)
        found += [f"{fault}: {row.line}" for row in rows for fault in [sets.judged(row, known)] if fault]
        if number >= most:
            break
    return number, found


@pytest.mark.peer
def test_sample() -> None:
    """At least SAMPLE kernels of this project's sets are proved. The seed is fixed."""
    own = [name for name in sets.SETS if name not in (*sets.OTHERS, *DEAR)]
    number = 0
    for name in own:
        kernels, wrong = faults(name, 1, 1)
        number += kernels
        assert not wrong, "\n".join(wrong)
    assert number >= SAMPLE


def test_verdicts_are_judged() -> None:
    """A kernel that is listed (in not_proved.tsv) must be neither proved nor refuted. Any other kernel must be proved.
    A kernel may also be proved if it is listed because a solver took too long.
    """
    key = "loops", "p", "c", "k"
    for kind, reason, wrong in (("PROVED", None, ""), ("UNKNOWN", None, "not listed"), ("UNKNOWN", "why", ""), ("REFUTED", None, "not listed"),
                                ("REFUTED", "why", "not proved"), ("PROVED", "why", "is proved, but listed"),
                                ("PROVED", "a solver's time: ..", "")):
        said = sets.judged(sets.Row(key, kind, "", False), {key: reason} if reason else {})
        assert wrong in said and bool(wrong) == bool(said), (kind, reason)


def test_listed_kernels_are_of_sets() -> None:
    """Each line of not_proved.tsv names a target and a set, and a program of this set."""
    for of, program, target, kernel in sets.listed():
        assert target.split()[0] in sets.TARGETS and kernel.startswith("sett_"), (of, program, target, kernel)
        assert of in sets.OTHERS or program in sets.names(sets.SETS[of]()), (of, program)


@pytest.mark.peer
@pytest.mark.skipif(not sets.PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.parametrize("of", sets.OTHERS)
def test_kernels_of_others(of: str) -> None:
    """The kernels of SETT_COUNT programs of each set from other projects are proved. SETT_SEED selects the programs.
    """
    _, wrong = faults(of, COUNT)
    assert not wrong, "\n".join(wrong)
