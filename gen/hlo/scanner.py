"""The scanner: a position in the text of a module, and the operations that the grammar needs.

It never recurses on the input. A shape is only delimited here; the C headers read it.
"""

from __future__ import annotations

import bisect
import re
from typing import List, NoReturn, Optional, Tuple

from gen import algebra
from gen.hlo import dtypes
from gen.hlo.graph import TUPLE_DEPTH, HloError, Shape, scan_shape

_BLANK = re.compile(r"(?:[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
NAME = re.compile(r"%[A-Za-z0-9_.\-]+|[A-Za-z_][A-Za-z0-9_.\-]*")
_INTEGER = re.compile(r"-?[0-9]+")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_RAW_RUN = re.compile(r"[^\[\]{}()\"/, \t\r\n\f\v]+")
_DIMS = re.compile(r"\[(?:[0-9,<=?\- \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class Scanner:
    """A position in the text, and the operations that the grammar needs. All faults are raised by `fail`."""

    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename, self.pos = text, filename, 0
        self._lines = [0] + [m.end() for m in re.finditer("\n", text)]

    def place(self, pos: int) -> "Tuple[int, int]":
        line = bisect.bisect_right(self._lines, pos)
        return line, pos - self._lines[line - 1] + 1

    def fail(self, pos: int, message: str) -> NoReturn:
        pos = min(pos, len(self.text))
        word = NAME.match(self.text, pos)
        if word and word.end() == len(self.text):
            message += " (the file ends here)"
        raise HloError(self.filename, *self.place(pos), message)

    def words_at(self, pos: int) -> str:
        """Describe the text at a position, for messages."""
        if pos >= len(self.text):
            return "the end of the file"
        match = NAME.match(self.text, pos) or _INTEGER.match(self.text, pos)
        word = match.group() if match else self.text[pos]
        if not word.isprintable():
            return f"the character U+{ord(word[0]):04X}"
        return f"'{word}'" if len(word) <= 40 else f"'{word[:37]}...'"

    def expected(self, what: str, pos: "Optional[int]" = None) -> NoReturn:
        pos = self.pos if pos is None else pos
        self.fail(pos, f"expected {what}, found {self.words_at(pos)}")

    def skip(self) -> int:
        """Skip blanks and comments; return the position behind them."""
        match = _BLANK.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()
        if self.text.startswith("/*", self.pos):
            self.fail(self.pos, "expected '*/' to close this comment, found the end of the file")
        return self.pos

    def peek(self) -> str:
        """Return the next character after blanks, or '' at the end."""
        pos = self.skip()
        return self.text[pos:pos + 1]

    def accept(self, token: str) -> bool:
        self.skip()
        if not self.text.startswith(token, self.pos):
            return False
        self.pos += len(token)
        return True

    def need(self, token: str, purpose: str = "") -> int:
        """Read a required token; return its position."""
        pos = self.skip()
        if not self.accept(token):
            self.expected(f"'{token}'" + (f" {purpose}" if purpose else ""))
        return pos

    def match(self, pattern: "re.Pattern[str]", what: str) -> "re.Match[str]":
        self.skip()
        match = pattern.match(self.text, self.pos)
        if match is None:
            self.expected(what)
        self.pos = match.end()
        return match

    def name(self, what: str) -> str:
        return self.match(NAME, what).group().lstrip("%")

    def keyword(self, word: str) -> bool:
        """Return true and advance past `word` if a name follows it. Otherwise `word` itself may be a name, so do not
        advance.
        """
        start = self.skip()
        match = WORD.match(self.text, start)
        if match is None or match.group() != word:
            return False
        self.pos = match.end()
        self.skip()
        if NAME.match(self.text, self.pos):
            return True
        self.pos = start
        return False

    def integer(self, what: str) -> int:
        pos = self.skip()
        text = self.match(_INTEGER, what).group()
        return self.small(text, pos)

    def small(self, text: str, pos: int) -> int:
        """Convert an integer's text to a number, which must fit 64 signed bits."""
        if len(text.lstrip("-0")) < 20:
            number = int(text)
            if -(1 << 63) <= number < 1 << 63:
                return number
        self.fail(pos, f"expected an integer of 64 bits, found '{text[:40]}'")

    def balanced(self, pos: int) -> int:
        """Return the position after the bracket that closes the one at `pos`; strings and comments are skipped."""
        stack: "List[Tuple[str, int]]" = []
        while pos < len(self.text):
            char = self.text[pos]
            if char in _CLOSE:
                stack.append((_CLOSE[char], pos))
                pos += 1
            elif char in ")]}":
                close, opened = stack.pop()
                if char != close:
                    line, col = self.place(opened)
                    self.fail(pos,
                              f"expected '{close}' to close the '{self.text[opened]}' of {line}:{col}, found '{char}'")
                pos += 1
                if not stack:
                    return pos
            elif char == '"':
                pos = self.string(pos)
            else:
                match = _COMMENT.match(self.text, pos) or _RAW_RUN.match(self.text, pos)
                pos = match.end() if match else pos + 1
        close, opened = stack[-1]
        line, col = self.place(opened)
        self.fail(len(self.text), f"expected '{close}' to close the '{self.text[opened]}' of {line}:{col}, "
                                  f"found the end of the file")

    def string(self, pos: int) -> int:
        match = _STRING.match(self.text, pos)
        if match is None:
            self.fail(pos, "expected '\"' to close this string, found the end of the file")
        return match.end()

    def raw(self, what: str, empty: bool = False) -> str:
        """Return an attribute's value as text. It ends at a comma, blank or closing bracket that is not inside
        brackets or a string.
        """
        start = pos = self.skip()
        while pos < len(self.text):
            char = self.text[pos]
            if char in _CLOSE:
                pos = self.balanced(pos)
            elif char == '"':
                pos = self.string(pos)
            elif char == "/" and not self.text.startswith(("//", "/*"), pos):
                pos += 1
            else:
                match = _RAW_RUN.match(self.text, pos)
                if match is None:
                    break
                pos = match.end()
        if pos == start and not empty:
            self.expected(what)
        self.pos = pos
        return self.text[start:pos]

    def at_shape(self) -> bool:
        """Return true if a shape starts here: '(', or a type name with its '['."""
        pos = self.skip()
        if self.text.startswith("(", pos):
            return True
        word = WORD.match(self.text, pos)
        if word is None:
            return False
        end = word.end()
        if word.group() in dtypes.TABLE:
            blank = _BLANK.match(self.text, end)
            end = blank.end() if blank else end
        return self.text.startswith("[", end) or (word.group() == "b" and self.text.startswith("(", end))

    def _shape_end(self, pos: int) -> int:
        """Return the end of the shape's text that starts at `pos`. Only brackets are matched; C parses the shape
        later.
        """
        if self.text[pos] == "(" or self.text.startswith("b(", pos):
            end = self.balanced(self.text.index("(", pos))
            self._tuple_depth(pos, end)
            return end
        word = WORD.match(self.text, pos)
        assert word is not None
        blank = _BLANK.match(self.text, word.end())
        assert blank is not None
        dims = _DIMS.match(self.text, blank.end())
        assert dims is not None
        if not self.text.startswith("]", dims.end()):
            self.expected("a dimension, ',' or ']'", dims.end())
        end = dims.end() + 1
        blank = _BLANK.match(self.text, end)
        assert blank is not None
        opening = blank.end()
        if self.text.startswith("{", opening):
            blank = _BLANK.match(self.text, opening + 1)
            if blank is not None and self.text[blank.end():blank.end() + 1] in tuple("0123456789:}"):
                return self.balanced(opening)
        return end

    def _tuple_depth(self, pos: int, end: int) -> None:
        depth = 0
        for bracket in re.finditer(r"[()]", self.text[pos:end]):
            depth += 1 if bracket.group() == "(" else -1
            if depth > TUPLE_DEPTH:
                self.fail(pos + bracket.start(), f"expected tuples nested at most {TUPLE_DEPTH} deep")

    def shape(self) -> Shape:
        """Parse a shape with the C headers. The column of their error is converted to the file's line and column."""
        if not self.at_shape():
            self.expected("a shape")
        start = self.pos
        end = self._shape_end(start)
        text = _COMMENT.sub(lambda m: " " * len(m.group()), self.text[start:end])
        text = re.sub(r"[\r\n\t\f\v]", " ", text)
        # put blanks in place of a scalar's empty layout `{}`, so that columns stay the same
        text = re.sub(r"(\[ *\] *)\{ *\}", lambda m: m.group(1).ljust(len(m.group())), text)
        odd = re.search(r"[^ -~]", text)
        if odd:
            self.expected("a shape", start + odd.start())
        try:
            consumed, result = scan_shape(text)
        except algebra.AlgebraError as error:
            if error.column is None:
                raise
            self.fail(start + error.column - 1, error.message)
        if text[consumed:].strip():
            self.expected("the end of the shape", start + consumed)
        self.pos = end
        return result
