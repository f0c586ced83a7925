"""Preprocess a generated text and split it into tokens. Each token keeps its line and column."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple


class Unknown(Exception):
    """Raised for a part of a text that the reader does not know, or that the walk cannot follow. Then nothing is
    proved about the kernel.
    """

    def __init__(self, message: str, at: "Optional[Token]" = None) -> None:
        super().__init__(message)
        self.message, self.at = message, at

    def place(self, file: str) -> str:
        return f"{file}:{self.at.line}:{self.at.column}: {self.message}" if self.at else f"{file}: {self.message}"


# Exceptions after which a kernel is UNKNOWN. An unexpected text makes an assertion of this package fail, or
# an expression is nested too deeply for recursive functions. Every other exception is a bug.
FAULTS = (AssertionError, RecursionError)


def fault(error: BaseException) -> str:
    """Return the reason that is reported after one of FAULTS."""
    if isinstance(error, RecursionError):
        return "an expression that is too deep for the walk"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"a check of {Path(frame.filename).name} fails: {frame.line}"


@dataclass(frozen=True)
class Token:
    """A token.

    kind: name, number, string, or op.
    hidden: the names of the macros from whose expansion the token comes. They are not expanded again in it.
    """

    kind: str
    text: str
    line: int
    column: int
    hidden: "FrozenSet[str]" = frozenset()


@dataclass(frozen=True)
class Macro:
    parameters: "Optional[Tuple[str, ...]]"
    body: "Tuple[Token, ...]"


_TOKEN = re.compile(r"""
    (?P<space>[ \t\r\f]+|//[^\n]*|/\*.*?\*/|\\\n)
  | (?P<newline>\n)
  | (?P<number>0[xX][0-9a-fA-F.]+(?:[pP][+-]?[0-9]+)?[uUlLfF]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[uUlLfFhH]*)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<op>\#\#|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|[-+*/%&|^~!<>=?:;,.()\[\]{}\#])
""", re.VERBOSE | re.DOTALL)


@lru_cache(4)    # one file is read for several sets of macros
def scanned(text: str) -> "List[List[Token]]":
    """Return the tokens of each logical line. Two lines are one logical line if a comment goes on from the first to
    the second, or if the first ends in a backslash.
    """
    lines: "List[List[Token]]" = [[]]
    at, line, begin = 0, 1, 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise Unknown(f"unknown character {text[at]!r}", Token("op", text[at], line, at - begin + 1))
        kind, word = found.lastgroup or "", found[0]
        if kind == "newline":
            lines.append([])
        elif kind != "space":
            lines[-1].append(Token(kind, word, line, at - begin + 1))
        line += word.count("\n")
        if "\n" in word:
            begin = at + word.rindex("\n") + 1
        at = found.end()
    return lines


@dataclass
class Preprocessor:
    """Carries out directives such as #define, #undef and #if. Included files are not read: the names that they declare
    are built in.

    known: the macros that the compiler predefines.
    """

    known: "Mapping[str, str]"
    macros: "Dict[str, Macro]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.known.items():
            self.macros[name] = Macro(None, tuple(scanned(value)[0]))

    def tokens(self, text: str) -> "List[Token]":
        """Return the tokens of a text after preprocessing: without directives, and with macros expanded."""
        found: "List[Token]" = []
        pending: "List[Token]" = []
        # for each #if that is open: true if the current branch is read, and true if any branch so far was read
        states: "List[Tuple[bool, bool]]" = []
        for line in scanned(text):
            if not line:
                continue
            if line[0].text != "#":
                if all(read for read, _ in states):
                    pending += line
                continue
            found += self.expanded(pending)
            pending = []
            self._directive(line, states)
        if states:
            raise Unknown("#if without #endif")
        return found + self.expanded(pending)

    def _directive(self, line: "List[Token]", states: "List[Tuple[bool, bool]]") -> None:
        word = line[1].text if len(line) > 1 else ""
        outer = all(read for read, _ in states)
        if word in ("ifdef", "ifndef", "if"):
            value = outer and (self._value(line[2:]) != 0 if word == "if" else
                               (line[2].text in self.macros) == (word == "ifdef"))
            states.append((value, value or not outer))
        elif word in ("elif", "else"):
            _, before = states.pop()
            value = not before and (word == "else" or self._value(line[2:]) != 0)
            states.append((value, before or value))
        elif word == "endif":
            states.pop()
        elif not outer or word in ("pragma", "include", ""):
            return
        elif word == "define":
            self._define(line[2:])
        elif word == "undef":
            self.macros.pop(line[2].text, None)
        elif word == "error":
            raise Unknown("#error is reached", line[0])
        else:
            raise Unknown(f"unknown preprocessor line #{word}", line[0])

    def _define(self, words: "List[Token]") -> None:
        name, rest = words[0], words[1:]
        parameters = None
        if rest and rest[0].text == "(" and rest[0].line == name.line and \
                rest[0].column == name.column + len(name.text):
            close = next(i for i, token in enumerate(rest) if token.text == ")")
            parameters = tuple(token.text for token in rest[1:close] if token.text != ",")
            rest = rest[close + 1:]
        if any(token.text in ("#", "##") for token in rest):
            raise Unknown("# in a macro", name)
        self.macros[name.text] = Macro(parameters, tuple(rest))

    def expanded(self, tokens: "Sequence[Token]") -> "List[Token]":
        """Return the tokens with all macros expanded. The tokens of an expansion get the line and column of the
        macro's name.
        """
        found: "List[Token]" = []
        waiting = list(reversed(tokens))
        while waiting:
            token = waiting.pop()
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in token.hidden else None
            if macro is None or macro.parameters is not None and not (waiting and waiting[-1].text == "("):
                found.append(token)
                continue
            body: "List[Token]" = list(macro.body)
            if macro.parameters is not None:
                arguments = self._arguments(waiting, token)
                if macro.parameters in ((), ("...",)) and arguments == [[]]:
                    arguments = []
                if len(arguments) != len(macro.parameters):
                    raise Unknown(f"macro {token.text} with {len(arguments)} arguments", token)
                given = {name: self.expanded(value) for name, value in zip(macro.parameters, arguments)}
                body = [word for of in macro.body for word in given.get(of.text, [of])]
            hidden = token.hidden | {token.text}
            waiting += [replace(word, line=token.line, column=token.column, hidden=word.hidden | hidden)
                        for word in reversed(body)]
        return found

    @staticmethod
    def _arguments(waiting: "List[Token]", name: Token) -> "List[List[Token]]":
        waiting.pop()
        arguments: "List[List[Token]]" = [[]]
        depth = 1
        while waiting:
            token = waiting.pop()
            depth += (token.text in ("(", "{", "[")) - (token.text in (")", "}", "]"))
            if not depth:
                return arguments
            if token.text == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)
        raise Unknown(f"macro {name.text} without )", name)

    def _value(self, tokens: "List[Token]") -> int:
        """Return the value of the condition of an #if."""
        words: "List[Token]" = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.text == "defined":
                inside = tokens[at + 1].text == "("
                name = tokens[at + 2 if inside else at + 1].text
                words.append(replace(token, kind="number", text=str(int(name in self.macros))))
                at += 4 if inside else 2
            else:
                words.append(token)
                at += 1
        return _Condition(self.expanded(words)).value()


class _Condition:
    """Evaluates the condition of an #if. A name that is no macro counts as 0."""

    LEVELS: "Sequence[Sequence[str]]" = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
                                         ("<<", ">>"), ("+", "-"), ("*", "/", "%"))

    def __init__(self, tokens: "List[Token]") -> None:
        self.tokens: "Iterator[Token]" = iter(tokens)
        self.next: "Optional[Token]" = next(self.tokens, None)

    def value(self) -> int:
        found = self._level(0)
        if self.next is not None:
            raise Unknown("condition of #if", self.next)
        return found

    def _take(self) -> Token:
        token = self.next
        if token is None:
            raise Unknown("condition of #if ends early")
        self.next = next(self.tokens, None)
        return token

    def _level(self, level: int) -> int:
        if level == len(self.LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self.next is not None and self.next.text in self.LEVELS[level]:
            op, right = self._take().text, self._level(level + 1)
            found: "Dict[str, Callable[[], int]]" = {"||": lambda: left or right, "&&": lambda: left and right, "|": lambda: left | right,
                        "^": lambda: left ^ right, "&": lambda: left & right, "==": lambda: left == right,
                        "!=": lambda: left != right, "<": lambda: left < right, ">": lambda: left > right,
                        "<=": lambda: left <= right, ">=": lambda: left >= right, "<<": lambda: left << right,
                        ">>": lambda: left >> right, "+": lambda: left + right, "-": lambda: left - right,
                        "*": lambda: left * right, "/": lambda: left // right, "%": lambda: left % right}
            left = int(bool(found[op]())) if op in ("||", "&&") else int(found[op]())
        return left

    def _unary(self) -> int:
        token = self._take()
        if token.text == "!":
            return int(not self._unary())
        if token.text == "-":
            return -self._unary()
        if token.text == "(":
            value = self._level(0)
            self._take()
            return value
        if token.kind == "number":
            return int(token.text.rstrip("uUlL"), 0)
        if token.kind == "name":
            if token.text == "__has_builtin":
                self._level(0)
                return 1
            if self.next is not None and self.next.text == "(":
                raise Unknown(f"{token.text}(..) in #if", token)
            return 0
        raise Unknown(f"{token.text} in #if", token)
