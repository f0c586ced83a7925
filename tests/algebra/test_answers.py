"""All headers encode the answers to questions (yes, no, not decided, error) in one way. Each manual states this
convention in the same words, and answers_test.c tests each public function that returns an answer.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = {path.name: path.read_text() for path in sorted((ROOT / "include").glob("*.h"))}


def test_every_manual_states_the_convention_in_the_same_words():
    said = {name: re.search(r"^ANSWERS \(in all sett headers\)\n(?:  .*\n)+", text, re.M) for name, text in HEADERS.items()}
    assert all(said.values()), said
    assert len({match[0] for match in said.values()}) == 1


def test_every_answer_is_asked():
    asked = (ROOT / "tests" / "algebra" / "answers_test.c").read_text()
    answers = {name for text in HEADERS.values() for name in
               re.findall(r"^SETT\w*_(?:PUBLIC|DEVICE) (?:int|sett_(?:tile|map|nested)_answer) (sett_\w+)\(", text, re.M)}
    assert len(answers) > 40
    assert {name for name in answers if not re.search(rf"\b{name}\(", asked)} == set()


def test_answers_that_are_no_longer_given_are_gone():
    text = "".join(HEADERS.values())
    for name in ("SETT_MAP_NO", "SETT_MAP_YES", "SETT_MAP_NOT_DECIDED", "SETT_MAP_EQUAL", "SETT_MAP_DIFFERENT", "SETT_NESTED_OWNERS", "SETT_TILE_FAILED"):
        assert not re.search(rf"\b{name}\b", text), name
