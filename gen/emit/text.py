"""Addresses as C text."""

from __future__ import annotations

from gen.targets import Target


def offset(pointer: str, at: str) -> str:
    """pointer + at, where `at` wraps around in its own unsigned type if it subtracts."""
    return f"{pointer} + ({at})" if "-" in at else f"{pointer} + {term(at)}"


def term(text: str) -> str:
    """An expression as a term of a sum: in parentheses where one of its operators binds less than a sum does."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if not depth and character in "&|^?<>=!":
            return f"({text})"
    return text


def joined(d: Target, pointer: str, at: str) -> str:
    """pointer + at for an access of several elements: nvcc keeps a store of them one where the index is one number."""
    return f"{pointer} + ({at})" if not d.wide and " " in at else offset(pointer, at)
