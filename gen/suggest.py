"""Suggestions for mistyped words."""

from __future__ import annotations

import difflib
from typing import Iterable


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the word of `words` that is most similar to `word`; "" if none is similar."""
    by_lower = {known.lower(): known for known in words}
    return by_lower.get((difflib.get_close_matches(word.lower(), by_lower, 1, 0.6) or [""])[0], "")


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the question with which an error about an unknown word ends; "" if no known word is similar."""
    best = nearest(word, words)
    return f", did you mean '{best}'?" if best else ""
