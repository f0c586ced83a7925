"""Parse the part of C, OpenCL C, CUDA and HIP in which kernels are written: from tokens to a syntax tree.

The declarations of a file are read first. The body of a function is read when the function is called, so functions
that are not called may contain unknown syntax. Unknown syntax raises `Unknown` with its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from gen.certify.text import Token, Unknown


class Node:
    """A node of the tree: its kind, its place in the text, and its parts."""

    __slots__ = ("kind", "at", "parts")

    def __init__(self, kind: str, at: Token, *parts: Any) -> None:
        self.kind, self.at, self.parts = kind, at, parts

    def __repr__(self) -> str:
        return f"{self.kind}{self.parts}"


@dataclass
class Parameter:
    name: str
    type: Node
    default: "Optional[Node]" = None
    reference: bool = False


@dataclass
class Function:
    """A function. templates: the name of each parameter of its template, with true if it is a type, and false if it is
    a value.
    """

    name: str
    at: Token
    tokens: "List[Token]"
    templates: "List[Tuple[str, bool]]"
    kernel: bool
    result: "Optional[Node]" = None
    parameters: "List[Parameter]" = field(default_factory=list)
    body: "Optional[Node]" = None


BASIC = {
    "void", "char", "short", "int", "long", "float", "double", "half", "signed", "unsigned", "bool", "_Bool",
    "uchar", "ushort", "uint", "ulong", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "__half", "_Float16",
    *(f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)),
}
_VECTOR = re.compile(r"(char|uchar|short|ushort|int|uint|long|ulong|half|float|double)(2|3|4|8|16)")
_WORDS = {"static", "inline", "const", "volatile", "restrict", "__restrict__", "__restrict", "__kernel", "__device__",
          "__global__", "__forceinline__", "extern", "register", "kernel", "__inline", "constexpr", "__noinline__"}
_SPACES = {"__global": "global", "__local": "shared", "__private": "private", "__constant": "constant",
           "__shared__": "shared", "__constant__": "constant"}
_ATTRIBUTES = {"__attribute__", "__launch_bounds__", "__align__", "_Pragma", "__pragma", "alignas", "_Alignas"}
_LEVELS: "Sequence[Sequence[str]]" = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
                                      ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}


class Reader:
    """Reads the declarations of a file. functions: its functions, by name. globals: the declarations of its variables,
    in order.
    """

    def __init__(self, tokens: "List[Token]", vectors: bool) -> None:
        self.functions: "Dict[str, Function]" = {}
        self.globals: "List[Node]" = []
        self.types: "Set[str]" = set()
        self.templates: "Set[str]" = set()
        self.vectors = vectors    # true if the language has vector types such as float4
        self.tokens, self.at = tokens, 0
        while self.at < len(tokens):
            self._top()

    # ---- tokens ----

    @property
    def token(self) -> Token:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        last = self.tokens[-1] if self.tokens else Token("op", "", 1, 1)
        return Token("end", "", last.line, last.column)

    def _ahead(self, by: int = 1) -> Token:
        return self.tokens[self.at + by] if self.at + by < len(self.tokens) else Token("end", "", 0, 0)

    def _take(self, text: str = "") -> Token:
        token = self.token
        if text and token.text != text:
            raise Unknown(f"expected {text}, found {token.text or 'the end'}", token)
        self.at += 1
        return token

    def _has(self, text: str) -> bool:
        if self.token.text == text and self.token.kind != "string":
            self.at += 1
            return True
        return False

    def _skip_group(self) -> None:
        """Skip an opening bracket, and everything up to the bracket that closes it."""
        depth = 0
        while True:
            token = self._take()
            if token.kind == "end":
                raise Unknown("a bracket is not closed", token)
            depth += (token.text in ("(", "{", "[")) - (token.text in (")", "}", "]"))
            if not depth:
                return

    # ---- the file ----

    def _top(self) -> None:
        begin = self.at
        templates: "List[Tuple[str, bool]]" = []
        if self._has("template"):
            self._take("<")
            while not self._has(">"):
                words = [self._take()]
                while self.token.text not in (",", ">"):
                    words.append(self._take())
                self._has(",")
                templates.append((words[-1].text, words[0].text in ("class", "typename")))
        if self.token.text == "extern" and self._ahead().kind == "string":
            self.at += 2
        start = self.at
        at, depth = self.at, 0
        while True:    # a declaration is a function, or it ends with a semicolon
            if at >= len(self.tokens):
                raise Unknown("the file ends inside of a declaration", self.tokens[begin])
            text = self.tokens[at].text
            if depth == 0 and text == "{" and self.tokens[at - 1].text == ")" and self.tokens[start].text not in \
                    ("typedef", "enum", "struct", "union"):
                self._function(start, at, templates)
                return
            depth += (text in ("(", "{", "[")) - (text in (")", "}", "]"))
            at += 1
            if depth == 0 and text == ";":
                break
        first = self.tokens[start].text
        declares = any(token.text == "(" for token in self.tokens[start:at]) and not any(
            token.text in ("=", "{") for token in self.tokens[start:at]) and first != "typedef" and not any(
            token.text in _ATTRIBUTES for token in self.tokens[start:at])
        if first == ";" or declares or first in ("using", "struct") and self.tokens[at - 2].text != "}":
            self.at = at
            return
        statement = self._statement()
        if statement.kind in ("declare", "typedef"):
            self.globals.append(statement)

    def _function(self, start: int, body: int, templates: "List[Tuple[str, bool]]") -> None:
        at = body - 1
        depth = 0
        while True:    # go back to the bracket that opens the parameters
            depth += (self.tokens[at].text == ")") - (self.tokens[at].text == "(")
            if not depth:
                break
            at -= 1
        name = self.tokens[at - 1]
        self.at = body
        self._skip_group()
        words = {token.text for token in self.tokens[start:at]}
        self.functions[name.text] = Function(name.text, name, self.tokens[start:self.at], templates,
                                             bool(words & {"__kernel", "__global__", "kernel"}))
        if templates:
            self.templates.add(name.text)

    def read(self, function: Function) -> Function:
        """Parse a function's parameters and body, unless this has been done. Return the function."""
        if function.body is None:
            inner = Reader.__new__(Reader)
            inner.functions, inner.globals, inner.vectors = {}, [], self.vectors
            inner.templates = self.templates
            inner.types = {*self.types, *(name for name, is_type in function.templates if is_type)}
            inner.tokens, inner.at = function.tokens, 0
            function.result = inner._specifiers()
            while inner.token.text in ("*", "const"):
                at = inner._take()
                if at.text == "*":
                    function.result = Node("pointer", at, function.result)
            inner._attributes()
            inner._take(function.name)
            inner._take("(")
            while not inner._has(")"):
                if inner.token.text == "void" and inner._ahead().text == ")":
                    inner._take()
                    continue
                base = inner._specifiers()
                type, name, reference = inner._declarator(base)
                default = inner._assignment() if inner._has("=") else None
                function.parameters.append(Parameter(name, type, default, reference))
                inner._has(",")
            inner._attributes()
            function.body = inner._block()
        return function

    # ---- types ----

    def _attributes(self) -> "List[Tuple[str, Node]]":
        """Skip attributes. Return those that give a vector's size."""
        found: "List[Tuple[str, Node]]" = []
        while self.token.text in _ATTRIBUTES:
            name = self._take()
            if name.text != "__attribute__":
                self._skip_group()
                continue
            self._take("(")
            self._take("(")
            while not self._has(")"):
                word = self._take()
                if word.text in ("vector_size", "ext_vector_type"):
                    self._take("(")
                    found.append((word.text, self._assignment()))
                    self._take(")")
                elif self.token.text == "(":
                    self._skip_group()
                self._has(",")
            self._take(")")
        return found

    def is_type(self, token: Token) -> bool:
        return token.kind == "name" and (
            token.text in BASIC or token.text in self.types or token.text in _SPACES
            or token.text in ("const", "volatile", "struct", "union", "enum", "__typeof__", "typeof")
            or self.vectors and _VECTOR.fullmatch(token.text) is not None)

    def _specifiers(self) -> Node:
        """Parse the words before a declarator: a type, and its address space."""
        at = self.token
        base: "Optional[Node]" = None
        words: "List[str]" = []
        space, static, const, typedef = "", False, False, False
        while True:
            token = self.token
            text = token.text
            if text == "typedef":
                typedef = True
                self._take()
            elif text in _WORDS:
                static |= text == "static"
                const |= text in ("const", "constexpr")
                self._take()
            elif text in _SPACES:
                space = _SPACES[text]
                self._take()
            elif text in _ATTRIBUTES:
                for word, size in self._attributes():
                    base = Node("sized", at, base, word, size)
            elif text in ("struct", "union", "enum"):
                base = self._record()
            elif text in ("__typeof__", "typeof"):
                self._take()
                self._take("(")
                base = Node("typeof", at, self._expression())
                self._take(")")
            elif base is None and text in BASIC and (not words or text in ("int", "long", "char", "short", "double")) and (
                    not words or words[-1] in ("unsigned", "signed", "long", "short", "char", "int")):
                words.append(self._take().text)
            elif base is None and not words and token.kind == "name" and (
                    text in self.types or self.vectors and _VECTOR.fullmatch(text)):
                base = Node("named", token, self._take().text)
            else:
                break
        if base is None:
            if not words:
                raise Unknown(f"expected a type, found {at.text or 'the end'}", at)
            base = Node("basic", at, " ".join(words))
        if space or static or const or typedef:
            base = Node("qualified", at, base, space, static, typedef, const)
        return base

    def _record(self) -> Node:
        word = self._take()
        self._attributes()
        name = self._take().text if self.token.kind == "name" else ""
        self._attributes()
        if not self._has("{"):
            return Node("tag", word, name)
        if word.text == "enum":
            values: "List[Tuple[str, Optional[Node]]]" = []
            while not self._has("}"):
                key = self._take().text
                values.append((key, self._conditional() if self._has("=") else None))
                self._has(",")
            return Node("enum", word, values)
        fields: "List[Tuple[str, Node]]" = []
        while not self._has("}"):
            base = self._specifiers()
            while not self._has(";"):
                type, key, _ = self._declarator(base)
                fields.append((key, type))
                self._has(",")
        return Node(word.text, word, name, fields)

    def _declarator(self, base: Node) -> "Tuple[Node, str, bool]":
        """Parse a declarator: the name, the stars before it, and the brackets after it."""
        type, reference, space = base, False, ""
        while self.token.text in ("*", "&", "const", "restrict", "__restrict__", "__restrict", "volatile", *_SPACES):
            token = self._take()
            if token.text == "*":
                type = Node("pointer", token, type)
            elif token.text == "&":
                reference = True
        if self.token.text == "(" and self._ahead().text == "&":    # T (&name)[N]
            self._take()
            self._take()
            reference = True
            name = self._take().text
            self._take(")")
        else:
            name = self._take().text if self.token.kind == "name" else ""
        del space
        lengths: "List[Optional[Node]]" = []
        while self._has("["):
            while self.token.text in ("static", "const", "restrict"):
                self._take()
            lengths.append(None if self.token.text == "]" else self._expression())
            self._take("]")
        for length in reversed(lengths):
            type = Node("array", self.token, type, length)
        for word, size in self._attributes():
            type = Node("sized", self.token, type, word, size)
        return type, name, reference

    def _type_name(self) -> Node:
        base = self._specifiers()
        type, name, _ = self._declarator(base)
        if name:
            raise Unknown(f"unexpected {name}", self.token)
        return type

    # ---- statements ----

    def _block(self) -> Node:
        at = self._take("{")
        statements: "List[Node]" = []
        while not self._has("}"):
            statements.append(self._statement())
        return Node("block", at, statements)

    def _statement(self) -> Node:
        token = self.token
        text = token.text
        if text == "_Pragma":
            self._take()
            self._skip_group()
            return self._statement()
        if text == "{":
            return self._block()
        if text == ";":
            self._take()
            return Node("block", token, [])
        if text == "if":
            self._take()
            self._has("constexpr")
            self._take("(")
            condition = self._expression()
            self._take(")")
            then = self._statement()
            other = self._statement() if self._has("else") else None
            return Node("if", token, condition, then, other)
        if text == "for":
            self._take()
            self._take("(")
            first = None if self._has(";") else self._declaration() if self.is_type(self.token) else \
                Node("expression", token, self._ended(self._expression()))
            until = None if self.token.text == ";" else self._expression()
            self._take(";")
            step = None if self.token.text == ")" else self._expression()
            self._take(")")
            return _counted_down(Node("for", token, first, until, step, self._statement()))
        if text == "while":
            self._take()
            self._take("(")
            condition = self._expression()
            self._take(")")
            return Node("for", token, None, condition, None, self._statement())
        if text == "do":
            self._take()
            body = self._statement()
            self._take("while")
            self._take("(")
            condition = self._expression()
            self._take(")")
            self._take(";")
            return Node("do", token, body, condition)
        if text == "switch":
            return self._switch(token)
        if text in ("break", "continue"):
            self._take()
            self._take(";")
            return Node(text, token)
        if text == "return":
            self._take()
            value = None if self.token.text == ";" else self._expression()
            self._take(";")
            return Node("return", token, value)
        if text in ("asm", "__asm__"):
            return self._assembly(token)
        if text in ("goto", "case", "default"):
            raise Unknown(text, token)
        if text in ("typedef", "enum", "struct", "union", "static", "__shared__", "extern", "constexpr", *_ATTRIBUTES) or \
                text in _WORDS or self.is_type(token) and self._ahead().text not in ("(", "{"):
            return self._declaration()
        return Node("expression", token, self._ended(self._expression()))

    def _switch(self, at: Token) -> Node:
        """Parse a switch as a chain of ifs. Each of its cases must end with a break or a return."""
        self._take()
        self._take("(")
        value = self._expression()
        self._take(")")
        self._take("{")
        name = Node("name", at, "switch value")    # a name with a space, so that it differs from all names of the text
        chain: "List[Tuple[Optional[Node], Node]]" = []
        while not self._has("}"):
            condition: "Optional[Node]" = None
            first, default = self.token, False
            while self.token.text in ("case", "default"):
                default |= self.token.text == "default"
                if self._take().text == "case":
                    equal = Node("binary", first, "==", name, self._expression())
                    condition = equal if condition is None else Node("binary", first, "||", condition, equal)
                self._take(":")
            statements: "List[Node]" = []
            while self.token.text not in ("case", "default", "}"):
                statements.append(self._statement())
            chain.append((None if default else condition, _case(Node("block", first, statements))))
        others = [body for condition, body in chain if condition is None]
        made = others[0] if others else Node("block", at, [])
        for condition, body in reversed(chain):
            if condition is not None:
                made = Node("if", body.at, condition, body, made)
        declared = Node("declare", at, Node("typeof", at, value), [(name.parts[0], Node("typeof", at, value), value, False)])
        return Node("block", at, [declared, made])

    def _assembly(self, at: Token) -> Node:
        """Parse an assembly statement that has no instructions. It only hides a value from the compiler."""
        self._take()
        self._has("volatile")
        if self._ahead().text != '""':
            raise Unknown("assembly", at)
        self._skip_group()
        self._take(";")
        return Node("block", at, [])

    def _ended(self, node: Node) -> Node:
        self._take(";")
        return node

    def _declaration(self) -> Node:
        at = self.token
        base = self._specifiers()
        typedef = base.kind == "qualified" and base.parts[3]
        found: "List[Tuple[str, Node, Optional[Node], bool]]" = []
        while not self._has(";"):
            if typedef and self.token.kind == "name" and self._ahead().text == "(":     # a function's type
                self.types.add(self._take().text)
                self._skip_group()
                continue
            type, name, reference = self._declarator(base)
            if typedef:
                self.types.add(name)
            value = None
            if self._has("="):
                value = self._initial()
            elif not typedef and self.token.text == "(":
                raise Unknown("a declaration with arguments", self.token)
            found.append((name, type, value, reference))
            if self.token.text != ";":
                self._take(",")
        return Node("typedef" if typedef else "declare", at, base, found)

    def _initial(self) -> Node:
        if self.token.text != "{":
            return self._assignment()
        at = self._take("{")
        values: "List[Node]" = []
        while not self._has("}"):
            if self.token.text == ".":
                self._take()
                self._take()
                self._take("=")
            values.append(self._initial())
            if self.token.text != "}":
                self._take(",")
        return Node("braces", at, values)

    # ---- expressions ----

    def _expression(self) -> Node:
        at = self.token
        values = [self._assignment()]
        while self._has(","):
            values.append(self._assignment())
        return values[0] if len(values) == 1 else Node("comma", at, values)

    def _assignment(self) -> Node:
        left = self._conditional()
        if self.token.text in _ASSIGNS and self.token.kind == "op":
            token = self._take()
            return Node("assign", token, token.text[:-1], left, self._assignment())
        return left

    def _conditional(self) -> Node:
        condition = self._level(0)
        if self.token.text == "?":
            at = self._take()
            then = self._expression()
            self._take(":")
            return Node("choose", at, condition, then, self._assignment())
        return condition

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self.token.kind == "op" and self.token.text in _LEVELS[level]:
            token = self._take()
            left = Node("binary", token, token.text, left, self._level(level + 1))
        return left

    def _unary(self) -> Node:
        token = self.token
        text = token.text
        if token.kind == "op" and text in ("-", "+", "!", "~", "*", "&"):
            self._take()
            return Node("unary", token, text, self._unary())
        if text in ("++", "--"):
            self._take()
            value = self._unary()
            return Node("assign", token, text[0], value, Node("number", token, "1"))
        if text == "sizeof":
            self._take()
            if self.token.text == "(" and self.is_type(self._ahead()):
                self._take()
                type = self._type_name()
                self._take(")")
                return Node("sizeof", token, type, None)
            return Node("sizeof", token, None, self._unary())
        if text == "(" and self.is_type(self._ahead()):
            self._take()
            type = self._type_name()
            self._take(")")
            if self.token.text == "{":
                return self._postfix(Node("literal", token, type, self._initial().parts[0]))
            if self.token.text == "(" and not self.is_type(self._ahead()):
                inside = self._take()
                value = self._expression()
                self._take(")")
                if value.kind == "comma":
                    return self._postfix(Node("literal", token, type, value.parts[0]))
                return Node("cast", token, type, self._postfix(Node("group", inside, value)))
            return Node("cast", token, type, self._unary())
        return self._postfix(self._primary())

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return Node("number", token, token.text)
        if token.kind == "string":
            while self.token.kind == "string":
                self._take()
            return Node("string", token)
        if token.text == "(":
            value = self._expression()
            self._take(")")
            return Node("group", token, value)
        if token.kind == "name":
            if self.is_type(token) and self.token.text == "{":      # T{x, y}
                return Node("literal", token, Node("named", token, token.text), self._initial().parts[0])
            if self.is_type(token) and self.token.text == "(":      # T(x)
                self.at -= 1
                type = Node("named", token, self._take().text) if token.text not in BASIC else \
                    Node("basic", token, self._take().text)
                self._take("(")
                values = [] if self.token.text == ")" else [self._assignment()]
                while self._has(","):
                    values.append(self._assignment())
                self._take(")")
                return Node("cast", token, type, values[0]) if len(values) == 1 else Node("literal", token, type, values)
            if token.text in self.templates and self.token.text == "<":
                self._take()
                arguments: "List[Node]" = []
                while not self._has(">"):
                    arguments.append(self._type_name() if self.is_type(self.token) else self._level(7))
                    self._has(",")
                return Node("instance", token, token.text, arguments)
            return Node("name", token, token.text)
        raise Unknown(f"unexpected {token.text or 'end'}", token)

    def _postfix(self, node: Node) -> Node:
        while True:
            token = self.token
            if token.kind != "op":
                return node
            if token.text == "(":
                self._take()
                arguments: "List[Node]" = []
                while not self._has(")"):
                    arguments.append(self._type_name() if self.is_type(self.token) and self._ahead().text in (",", ")")
                                     else self._assignment())
                    if self.token.text != ")":
                        self._take(",")
                node = Node("call", token, node, arguments)
            elif token.text == "[":
                self._take()
                node = Node("index", token, node, self._expression())
                self._take("]")
            elif token.text in (".", "->"):
                self._take()
                name = self._take().text
                node = Node("member", token, Node("unary", token, "*", node) if token.text == "->" else node, name)
            elif token.text in ("++", "--"):
                self._take()
                node = Node("after", token, token.text[0], node)
            else:
                return node


def _counted_down(loop: Node) -> Node:
    """Rewrite a loop of the form for (T x = a; x-- > c;) { .. } as for (T x = a; x > c;) { x -= 1; .. }, and return
    it. Return any other loop unchanged. The two forms leave different values in x, which the text does not read
    after the loop.
    """
    first, until, step, body = loop.parts
    if first is None or first.kind != "declare" or step is not None or until is None or until.kind != "binary" or until.parts[0] != ">":
        return loop
    _, left, limit = until.parts
    if left.kind != "after" or left.parts[0] != "-" or left.parts[1].kind != "name" or limit.kind != "number" \
            or left.parts[1].parts[0] not in {name for name, *_ in first.parts[1]}:
        return loop
    at, name = left.at, left.parts[1]
    less = Node("expression", at, Node("assign", at, "-", name, Node("number", at, "1")))
    inner = body.parts[0] if body.kind == "block" else [body]
    return Node("for", loop.at, first, Node("binary", until.at, ">", name, limit), None, Node("block", body.at, [less, *inner]))


def _case(block: Node) -> Node:
    """Return the statements of a case of a switch, without the break at their end."""
    statements = block.parts[0]
    last = statements[-1] if statements else None
    inner = Node("block", block.at, statements[:-1]) if last is not None and last.kind == "break" else \
        Node("block", block.at, [*statements[:-1], _case(last)]) if last is not None and last.kind == "block" else \
        block if last is not None and last.kind == "return" else None
    if inner is None or _leaves(inner):
        raise Unknown("a case that does not end with its only break", block.at)
    return inner


def _leaves(part: object) -> bool:
    """Return true if a tree contains a break out of a loop or switch that contains the tree."""
    if isinstance(part, Node):
        return part.kind == "break" or part.kind not in ("for", "do") and any(_leaves(of) for of in part.parts)
    return isinstance(part, (list, tuple)) and any(_leaves(of) for of in part)
