"""Suggestions for mistyped words."""

from __future__ import annotations

import difflib
from typing import Iterable


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the word most similar to the given one; "" if none is similar."""
    by_lower = {known.lower(): known for known in words}
    return by_lower.get((difflib.get_close_matches(word.lower(), by_lower, 1, 0.6) or [""])[0], "")


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the end of an error about an unknown word: a question, or ""."""
    best = nearest(word, words)
    return f", did you mean '{best}'?" if best else ""
