"""Statements of C as a tree. The code of a kernel is built, transformed and counted as a tree before it is printed.

A leaf is a Let, a Declare, an Assign, a Return, a Call, or the text of a statement. Block, For, Forever and If contain
statements. `Code` builds a tree, and `printed` returns its lines.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Callable, Iterator, List, Sequence, Tuple, Union


@dataclass(frozen=True)
class Let:
    """The definition of a constant. count: the number of elements if it is an array; 0 for a scalar."""

    type: str
    name: str
    value: str
    count: int = 0

    def __str__(self) -> str:
        return f"const {Declare(self.type, self.name, self.value, self.count)}"


@dataclass(frozen=True)
class Declare:
    """The definition of a variable. value: its initial value, or "". count: the number of elements if it is an array; 0
    for a scalar.
    """

    type: str
    name: str
    value: str = ""
    count: int = 0

    def __str__(self) -> str:
        return f"{self.type} {self.name}{f'[{self.count}]' * bool(self.count)}{f' = {self.value}' * bool(self.value)};"


@dataclass(frozen=True)
class Assign:
    target: str
    value: str
    operator: str = "="

    def __str__(self) -> str:
        return f"{self.target} {self.operator} {self.value};"


@dataclass(frozen=True)
class Return:
    value: str

    def __str__(self) -> str:
        return f"return {self.value};"


class Call:
    """A call of a function or macro as a statement."""

    def __init__(self, function: str, *arguments: str) -> None:
        self.function, self.arguments = function, arguments

    @property
    def text(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"

    def __str__(self) -> str:
        return f"{self.text};"


@dataclass
class Block:
    """Statements in a scope of their own."""

    body: "List[Statement]" = field(default_factory=list)


@dataclass
class For:
    """A loop over `variable`.

    first, end: the loop runs from `first` to before `end`.
    falling: true if it runs from end - 1 down to 0.
    brief: true if the whole loop is printed on one line.
    below: true if a body of one line is printed without braces, on the line after the head.
    """

    type: str
    variable: str
    end: str
    body: "List[Statement]" = field(default_factory=list)
    first: str = "0"
    falling: bool = False
    brief: bool = False
    below: bool = False

    @property
    def head(self) -> str:
        if self.falling:
            return f"for ({self.type} {self.variable} = {self.end}; {self.variable}-- > 0;)"
        return f"for ({self.type} {self.variable} = {self.first}; {self.variable} < {self.end}; ++{self.variable})"


@dataclass
class Forever:
    """A loop without end, which a statement inside must leave."""

    body: "List[Statement]" = field(default_factory=list)
    head = "for (;;)"


@dataclass
class If:
    """A conditional statement. brief: true if the body is printed on the line of the condition."""

    condition: str
    body: "List[Statement]" = field(default_factory=list)
    otherwise: "List[Statement]" = field(default_factory=list)
    brief: bool = False

    @property
    def head(self) -> str:
        return f"if ({self.condition})"


Leaf = Union[str, Let, Declare, Assign, Return, Call]
Statement = Union[Leaf, Block, For, Forever, If]
# a condition ("" is always true), and the function that adds the statements of the case
Case = Tuple[str, Callable[[], None]]


class Code:
    """Builds a list of statements. `add` appends to the end of the list or, while `nested` or `cases` is active, to the
    body of a loop or condition.
    """

    def __init__(self) -> None:
        self.lines: "List[Statement]" = []
        self.into = self.lines

    def add(self, *statements: Statement) -> None:
        self.into += statements

    @contextmanager
    def nested(self, *nodes: "Union[Block, For, Forever, If]") -> "Iterator[Tuple[List[Statement], int]]":
        """Add the first node, and each other node inside the node before it. In the body of `with`, statements are
        added to the last node. Yield the list that contains the first node, and its index in this list.
        """
        outer, number = self.into, len(self.into)
        for node in nodes:
            self.into.append(node)
            self.into = node.body
        yield outer, number
        self.into = outer

    def cases(self, cases: "Sequence[Case]") -> None:
        """Add a chain of if statements, which runs the first case whose condition holds."""
        outer = into = self.into
        for condition, write in cases:
            self.into = into
            if condition:
                node = If(condition)
                into.append(node)
                self.into, into = node.body, node.otherwise
            elif into is outer:
                block = Block()
                into.append(block)
                self.into = block.body
            write()
        self.into = outer

    def take(self) -> "List[Statement]":
        """Return the statements, and begin an empty list."""
        lines, self.lines = self.lines, []
        self.into = self.lines
        return lines


def weight(statements: "Sequence[Statement]") -> int:
    """Return the number of statements, including those inside loops and conditions."""
    return sum(1 + weight(statement.body) + (weight(statement.otherwise) if isinstance(statement, If) else 0)
               if isinstance(statement, (Block, For, Forever, If)) else 1 for statement in statements)


def interchange(loops: "Sequence[For]", order: "Sequence[int]") -> None:
    """Reorder nested loops. Loop n gets the variable and the end of loop order[n]."""
    heads = [(loop.variable, loop.end) for loop in loops]
    for loop, number in zip(loops, order):
        loop.variable, loop.end = heads[number]


def printed(statements: "Sequence[Statement]") -> List[str]:
    """Return the lines of C text of some statements."""
    lines: List[str] = []
    for statement in statements:
        if isinstance(statement, Block):
            lines += _in_braces("", statement.body)
        elif isinstance(statement, For):
            lines += _headed(statement.head, statement.body, statement.brief, statement.below)
        elif isinstance(statement, Forever):
            lines += _in_braces(f"{statement.head} ", statement.body)
        elif isinstance(statement, If):
            lines += _headed(statement.head, statement.body, statement.brief)
            if len(statement.otherwise) == 1 and isinstance(statement.otherwise[0], If):
                first, *rest = printed(statement.otherwise)
                lines += [f"else {first}", *rest]
            elif statement.otherwise:
                lines += _in_braces("else ", statement.otherwise)
        else:
            lines.append(str(statement))
    return lines


def _headed(head: str, body: "Sequence[Statement]", brief: bool, below: bool = False) -> List[str]:
    lines = printed(body)
    if brief:
        text = " ".join(lines)
        return [f"{head} {text}" if len(body) == 1 else f"{head} {{ {text} }}"]
    return [head, f"  {lines[0]}"] if below and len(lines) == 1 else _in_braces(f"{head} ", body)


def _in_braces(head: str, body: "Sequence[Statement]") -> List[str]:
    return [f"{head}{{", *(f"  {line}" for line in printed(body)), "}"]
