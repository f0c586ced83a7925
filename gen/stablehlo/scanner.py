"""The scanner of StableHLO text: it reads types, attributes and names of MLIR.

An attribute becomes a Python value: numbers, strings, booleans, lists and dicts; `array<i64: 1, 2>` becomes a list,
and a structure of StableHLO (`#stablehlo.gather<..>`) a dict of its fields. A bare word, or the word of an enumeration
(`#stablehlo<transpose ADJOINT>`), becomes a `Word`; `@name` a `Symbol`; `dense<..> : type` a `Dense`; a type a Shape.
Everything else becomes a `Raw`, which is its text.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from gen.hlo.dtypes import TABLE
from gen.hlo.graph import HloError, Shape, array_shape, shape, tuple_shape
from gen.hlo.scanner import Scanner

NESTING = 64  # maximum depth of nested brackets in attributes and types

SSA = re.compile(r"%([A-Za-z0-9_$.\-]+)(?:#([0-9]+))?")
_BLANK = re.compile(r"(?:[ \t\r\n\f\v]+|//[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_$.\-]*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SYMBOL = re.compile(r'@(?:([A-Za-z_$.\-][A-Za-z0-9_$.\-]*)|"((?:[^"\\\n]|\\.)*)")')
_HEX = re.compile(r"-?0x[0-9A-Fa-f]+")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_ALIAS = re.compile(r"#([A-Za-z_][A-Za-z0-9_$.\-]*)")
_TENSOR = re.compile(r"tensor<\s*((?:(?:[0-9]+|\?)x)*)([A-Za-z][A-Za-z0-9]*|complex<\s*f(?:32|64)\s*>)\s*>")
_ELEMENT = re.compile(r"[A-Za-z][A-Za-z0-9]*|complex<\s*f(?:32|64)\s*>")
_DIMS = re.compile(r"(?:(?:[0-9]+|\?)\s*x\s*)*")
_BOUND = re.compile(r"[0-9]+|\?")
_TOKEN = re.compile(r"!(?:stablehlo|mhlo)\.token\b")
_INTEGER_TYPE = re.compile(r"(?:(s|u)?i)([0-9]+)\Z")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_INSIDE = re.compile(r'[^"<>\[\](){}\-]+|->|-')
_CLOSE = {"<": ">", "(": ")", "[": "]", "{": "}"}
# an HLO shape in an error message, to be replaced by MLIR's notation
_HLO_SHAPE = re.compile(rf"\b({'|'.join(sorted(TABLE, key=len, reverse=True))})\[([0-9,?<=]*)\](?:\{{[^}}]*\}})?")
# an HLO element type in an error message (pred, s32, u8), to be replaced by MLIR's notation
_HLO_TYPE = re.compile(r"(?<![%@'.\w#])(?:(pred)|([su])(2|4|8|16|32|64))(?![\w.'])")


class Word(str):
    """A bare word, or the word of an enumeration."""


class Symbol(str):
    """The name behind an `@`."""


class Raw(str):
    """The text of an attribute that is not parsed."""


class Dense(NamedTuple):
    """A `dense<..> : type`.

    start, end: positions of the text between < and >
    of: the type
    """

    start: int
    end: int
    of: Shape
    resource: str = ""


class Attributes(Dict[str, Any]):
    """Attributes by name, with their positions in the text."""

    def __init__(self) -> None:
        super().__init__()
        self.places: Dict[str, int] = {}
        self.spans: Dict[str, Tuple[int, int]] = {}  # start and end of each value's text

    def put(self, key: str, value: Any, place: int, start: int, end: int) -> None:
        self[key] = value
        self.places[key], self.spans[key] = place, (start, end)

    def values_at(self, key: str) -> Tuple[int, int]:
        """Return the start and the end of the text of an attribute's value."""
        return self.spans[key]


def element_type(word: str) -> Optional[str]:
    """Return HLO's name of an MLIR element type; None if HLO has no such type."""
    if word.startswith("complex"):
        return "c64" if "32" in word else "c128"
    if word == "i1":
        return "pred"
    if word == "index":
        return "s64"
    integer = _INTEGER_TYPE.match(word)
    name = ("u" if integer[1] == "u" else "s") + integer[2] if integer else word.lower()
    return name if name in TABLE and name != "pred" and (integer or word[0] in "fb") else None


def type_text(of: Shape) -> str:
    """Return a shape in MLIR's notation."""
    if of.kind == "tuple":
        return f"tuple<{', '.join(map(type_text, of.children))}>"
    if of.kind != "array":
        return "!stablehlo.token"
    return _tensor_text(of.dtype, ["?" if size < 0 else str(size) for size in of.dims])


def _tensor_text(dtype: str, dims: "List[str]") -> str:
    row = TABLE[dtype]
    if row.kind == "complex":
        element = f"complex<{row.part}>"
    elif row.kind == "float":
        element = dtype if dtype in ("bf16", "f16", "f32", "f64") else dtype.upper().replace("F", "f", 1)
    else:
        element = "i1" if dtype == "pred" else f"{'u' if row.kind == 'uint' else ''}i{row.bits}"
    return f"tensor<{''.join(size + 'x' for size in dims)}{element}>"


class MlirScanner(Scanner):
    """A position in the text, with the operations that MLIR's grammar needs."""

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self.types: Dict[str, Shape] = {}
        self.aliases: Dict[str, Any] = {}  # attribute aliases: #loc1 = ..

    def fail(self, pos: int, message: str) -> NoReturn:
        """Raise an error, with HLO shapes and element types in the message written in MLIR's notation."""
        def written(match: "re.Match[str]") -> str:
            return _tensor_text(match[1], [size for size in match[2].split(",") if size])

        def spelt(match: "re.Match[str]") -> str:
            return "i1" if match[1] else ("ui" if match[2] == "u" else "i") + match[3]

        pos = min(pos, len(self.text))
        raise HloError(self.filename, *self.place(pos), _HLO_TYPE.sub(spelt, _HLO_SHAPE.sub(written, message)))

    def skip(self) -> int:
        """Skip blanks and comments. (Most tokens have neither before them, so test for that first.)"""
        pos = self.pos
        char = self.text[pos:pos + 1]
        if char > " " and char != "/":
            return pos
        match = _BLANK.match(self.text, pos)
        assert match is not None
        self.pos = match.end()
        return self.pos

    def words_at(self, pos: int) -> str:
        if pos < len(self.text) and self.text[pos] in "%@#!":
            end = re.compile(r"[%@#!][A-Za-z0-9_$.\-]*").match(self.text, pos)
            return f"'{end.group()[:40]}'" if end else f"'{self.text[pos]}'"
        return super().words_at(pos)

    def take(self, pattern: "re.Pattern[str]") -> "Optional[re.Match[str]]":
        """Read the pattern if it matches at the current position."""
        match = pattern.match(self.text, self.skip())
        if match:
            self.pos = match.end()
        return match

    def word(self, word: str) -> bool:
        """Read a word if it comes next at the current position."""
        match = _WORD.match(self.text, self.skip())
        if match is None or match.group() != word:
            return False
        self.pos = match.end()
        return True

    def string_value(self, what: str) -> str:
        return unescaped(self.match(_STRING, what)[1])

    def symbol(self, what: str) -> Symbol:
        match = self.match(_SYMBOL, what)
        return Symbol(match[1] if match[1] is not None else unescaped(match[2]))

    # ---- types ----

    def at_type(self) -> bool:
        """Return true if a type comes next."""
        return self.text.startswith(("tensor<", "tuple<", "!"), self.skip())

    def type(self, depth: int = 0) -> Shape:
        """Read a type: a tensor, a tuple of types, or a token."""
        start = self.skip()
        match = _TENSOR.match(self.text, start)
        if match:
            self.pos = match.end()
            known = self.types.get(match.group())
            if known is None:
                known = self.types[match.group()] = self._tensor(start, match[1], match[2])
            return known
        if self.text.startswith("tensor<", start):
            return self._other_tensor(start)
        if self.take(_TOKEN):
            return shape("token[]")
        if self.text.startswith("tuple<", start):
            if depth > NESTING:
                self.fail(start, f"expected tuples nested at most {NESTING} deep")
            self.pos = start + len("tuple<")
            children = [] if self.peek() == ">" else [self.type(depth + 1)]
            while self.accept(","):
                children.append(self.type(depth + 1))
            self.need(">", "to close the tuple")
            return tuple_shape(children)
        self.expected("a type: tensor<..>, tuple<..> or !stablehlo.token")

    def _tensor(self, start: int, dims: str, element: str, bounds: "Tuple[str, ...]" = ()) -> Shape:
        dtype = element_type(element)
        if dtype is None:
            self.fail(start, f"expected an element type that HLO has, found '{element[:40]}'")
        sizes = [size.strip() for size in dims.split("x")[:-1]]
        if bounds and len(bounds) != len(sizes):
            self.fail(start, f"expected {len(sizes)} bounds, one for each dimension, found {len(bounds)}")
        for number, bound in enumerate(bounds):
            if bound != "?" and sizes[number] == "?":
                sizes[number] = f"<={bound}"
        try:
            return array_shape(dtype, tuple(sizes))
        except Exception as error:
            message = getattr(error, "message", str(error))
            self.fail(start, f"expected a tensor that has a size: {message}")

    def _other_tensor(self, start: int) -> Shape:
        """Read a tensor type with bounds, or with blanks in unusual places."""
        self.pos = start + len("tensor<")
        if self.peek() == "*":
            self.fail(self.pos, "expected a tensor with a known number of dimensions, found an unranked one")
        dims = self.match(_DIMS, "dimensions").group()
        if self.peek() == "!":
            quantised = self.text.startswith("!quant", self.pos)
            self.fail(self.pos, "expected an element type that HLO has, found "
                      + ("a quantised one: there are no kernels for quantised types" if quantised else self.words_at(self.pos)))
        element = self.match(_ELEMENT, "an element type").group()
        bounds: Tuple[str, ...] = ()
        if self.accept(","):
            self.skip()
            if re.compile(r"#(?:stablehlo|mhlo)\.(?:bounds|type_extensions)\b").match(self.text, self.pos):
                end = self.skip_brackets(self.text.index("<", self.pos))
                bounds = tuple(_BOUND.findall(self.text[self.text.index("<", self.pos):end]))
                self.pos = end
            else:
                self.fail(self.pos, "expected a tensor without an encoding, or with #stablehlo.bounds<..>, found "
                                    + self.words_at(self.pos))
        self.need(">", "to close the tensor's type")
        return self._tensor(start, dims, element, bounds)

    def types_in(self) -> "Tuple[List[Shape], Optional[List[Shape]]]":
        """Read an op's types behind ':'. Return the types before '->', and those behind it (None if there is no '->').
        """
        if self.accept("("):
            before = [] if self.peek() == ")" else self.type_list()
            self.need(")", "or ',' in the types of the operands")
            if not self.text.startswith("->", self.skip()):
                self.expected("'->' and the types of the results")
        else:
            before = self.type_list()
        if not self.accept("->"):
            return before, None
        return before, self.results()

    def results(self) -> List[Shape]:
        """Read result types: one type, or several in parentheses."""
        if not self.accept("("):
            return [self.type()]
        after = [] if self.peek() == ")" else self.type_list()
        self.need(")", "or ',' in the types of the results")
        return after

    def type_list(self) -> List[Shape]:
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    # ---- attributes ----

    def skip_brackets(self, pos: int) -> int:
        """Return the position behind the bracket that closes the bracket at `pos`. Strings and arrows are skipped."""
        stack: List[Tuple[str, int]] = []
        text = self.text
        while pos < len(text):
            char = text[pos]
            if char in _CLOSE:
                stack.append((_CLOSE[char], pos))
            elif char in ">)]}":
                close, opened = stack.pop()
                if char != close:
                    line, col = self.place(opened)
                    self.fail(pos, f"expected '{close}' to close the '{text[opened]}' of {line}:{col}, found '{char}'")
                if not stack:
                    return pos + 1
            elif char == '"':
                match = _STRING.match(text, pos)
                if match is None:
                    self.fail(pos, "expected '\"' to close this string")
                pos = match.end()
                continue
            else:
                match = _INSIDE.match(text, pos)
                assert match is not None
                pos = match.end()
                continue
            pos += 1
        close, opened = stack[-1]
        line, col = self.place(opened)
        self.fail(len(text), f"expected '{close}' to close the '{text[opened]}' of {line}:{col}, found the end of the file")

    def dictionary(self, depth: int = 0, close: str = "}") -> Attributes:
        """Read `key = value, ..` and the closing bracket. A key without a value gets the value true."""
        found = Attributes()
        while self.peek() != close:
            if found:
                self.need(",", f"or '{close}' in the attributes")
            place = self.skip()
            key = unescaped(match[1]) if (match := self.take(_STRING)) else self.match(_KEY, "an attribute's name").group()
            if key in found:
                self.fail(place, f"expected each attribute once, found '{key}' again")
            value: Any = True
            start = self.pos
            if self.accept("="):
                start = self.skip()
                value = self.attribute(depth + 1)
            found.put(key, value, place, start, self.pos)
        self.need(close)
        return found

    def attribute(self, depth: int = 0, typed: bool = True) -> Any:
        """Read the value of one attribute.

        typed: also read the type behind a number; in short forms, that type belongs to the op
        """
        start = self.skip()
        if depth > NESTING:
            self.fail(start, f"expected attributes nested at most {NESTING} deep")
        char = self.text[start:start + 1]
        if char == '"':
            return self._typed(self.string_value("a string"))
        if char == "@":
            return self._symbol_reference()
        if char == "[":
            self.pos += 1
            return self._list(depth, "]")
        if char == "{":
            self.pos += 1
            return self.dictionary(depth)
        if char == "#":
            return self._hash(depth)
        if char == "<":
            self.pos += 1
            return self.dictionary(depth, ">")
        if char == "!" or char == "(":
            return self._raw_type(start)
        if char.isdigit() or char in "-+":
            value = self._number(start)
            return self._typed(value) if typed else value
        match = self.match(_WORD, "an attribute's value")
        if not typed and match.group() in ("true", "false"):
            return match.group() == "true"
        return self._worded(match.group(), start, depth)

    def _number(self, start: int) -> Any:
        match = self.take(_HEX)
        if match:
            return int(match.group(), 16)
        text = self.match(_NUMBER, "a number").group()
        return self.small(text, start) if re.fullmatch(r"-?[0-9]+", text) else float(text)

    def _typed(self, value: Any) -> Any:
        """Read an optional ': type' behind a value; return the value."""
        if self.peek() == ":":
            self.pos += 1
            self.any_type()
        return value

    def any_type(self) -> Any:
        """Read a type of any kind. Return its Shape if it is an array type."""
        start = self.skip()
        if self.text.startswith(("tensor<", "tuple<"), start) or _TOKEN.match(self.text, start):
            return self.type()
        return self._raw_type(start)

    def _raw_type(self, start: int) -> Any:
        if self.text.startswith("(", start):
            self.pos = self.skip_brackets(start)
            if self.accept("->"):
                self.any_type()
        else:
            self.match(re.compile(r"!?[A-Za-z_][A-Za-z0-9_.$]*"), "a type")
            if self.text.startswith("<", self.pos):
                self.pos = self.skip_brackets(self.pos)
        return Raw(self.text[start:self.pos])

    def _symbol_reference(self) -> Symbol:
        name = self.symbol("a symbol")
        while self.text.startswith("::", self.pos):
            self.pos += 2
            name = self.symbol("a symbol")
        return name

    def _list(self, depth: int, close: str) -> List[Any]:
        values: List[Any] = []
        while self.peek() != close:
            if values:
                self.need(",", f"or '{close}' in a list")
            values.append(self.attribute(depth + 1))
        self.need(close)
        return values

    def _worded(self, word: str, start: int, depth: int) -> Any:
        if word in ("true", "false"):
            return self._typed(word == "true")
        if word == "unit":
            return True
        if word == "dense":
            return self._dense()
        if word in ("dense_resource", "array", "tensor", "tuple", "complex") or self.text.startswith("<", self.pos):
            return self._bracketed(word, start, depth)
        if word == "loc":
            self.pos = start
            return self.location()
        return Word(word)

    def _bracketed(self, word: str, start: int, depth: int) -> Any:
        if word == "array":
            self.need("<", "after 'array'")
            self.match(_WORD, "an element type")
            if self.accept(":"):
                return self._list(depth, ">")
            self.need(">", "to close the array")
            return []
        if word == "dense_resource":
            self.need("<", "after 'dense_resource'")
            name = self.match(_KEY, "a resource's name").group()
            self.need(">", "after the resource's name")
            self.need(":", "and the type of the resource")
            return Dense(start, self.pos, self.type(), name)
        if word in ("tensor", "tuple", "complex"):
            self.pos = start
            return self.any_type()
        self.pos = self.skip_brackets(self.pos)
        return self._typed(Raw(self.text[start:self.pos]))

    def _dense(self) -> Dense:
        self.need("<", "after 'dense'")
        start = self.skip()
        end = self.text.find(">", start)
        if self.text.startswith('"', start):
            match = _STRING.match(self.text, start)
            end = self.text.find(">", match.end()) if match else -1
        if end < 0:
            self.fail(start, "expected '>' to close 'dense<', found the end of the file")
        self.pos = end + 1
        self.need(":", "and the type of the values")
        pos = self.skip()
        of = self.type()
        if of.kind != "array" or of.dynamic:
            self.fail(pos, f"expected a tensor of fixed size as the type of values, found {type_text(of)}")
        return Dense(start, end, of)

    def _hash(self, depth: int) -> Any:
        start = self.pos
        match = self.match(_ALIAS, "an attribute behind '#'")
        name = match[1]
        if not self.text.startswith("<", self.pos):
            if "." in name:
                return Raw(match.group())
            if name not in self.aliases:
                self.fail(start, f"expected an attribute that is defined before, found '#{name}'")
            return self.aliases[name]
        if name in ("stablehlo", "mhlo", "chlo"):
            return self._enumeration()
        if name.split(".")[0] in ("stablehlo", "mhlo", "chlo"):
            return self._structure(name.split(".", 1)[1], depth)
        self.pos = self.skip_brackets(self.pos)
        return Raw(self.text[start:self.pos])

    def _enumeration(self) -> Any:
        """Read `#stablehlo<comparison_direction LT>`."""
        opened = self.pos
        self.pos += 1
        kind = self.match(_WORD, "the name of an attribute of StableHLO").group()
        if self.peek() == "<":  # some versions print #stablehlo<gather<..>>
            value = self._structure(kind, 0)
            self.need(">", "to close the attribute")
            return value
        word = self.take(_WORD)
        if word is None:
            self.pos = self.skip_brackets(opened)
            return Raw(self.text[opened:self.pos])
        self.need(">", "to close the attribute")
        return Word(word.group())

    def _structure(self, kind: str, depth: int) -> Any:
        """Read `#stablehlo.gather<offset_dims = [0], ..>`."""
        opened = self.pos
        if kind == "conv":
            self.pos += 1
            value = self.labels()
            self.need(">", "to close the dimension numbers")
            return value
        if kind in ("dot", "gather", "scatter", "channel_handle", "output_operand_alias", "dot_algorithm", "ragged_dot",
                    "result_accuracy"):
            self.pos += 1
            return self.dictionary(depth, ">")
        word = re.compile(r"<\s*([A-Za-z_0-9]+)\s*>").match(self.text, opened)
        if word:
            self.pos = word.end()
            return Word(word[1])
        self.pos = self.skip_brackets(opened)
        return Raw(self.text[opened:self.pos])

    def labels(self) -> "List[List[str]]":
        """Read `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""
        parts = []
        for before in ("", "x", "->"):
            if before:
                self.need(before, "in the dimension numbers [..]x[..]->[..]")
            self.need("[", "of the dimension numbers [..]x[..]->[..]")
            part: List[str] = []
            while self.peek() != "]":
                if part:
                    self.need(",", "or ']' in the dimension numbers")
                part.append(self.match(re.compile(r"[0-9]+|[a-z?]"), "a dimension: b, f, i, o or a number").group())
            self.need("]")
            parts.append(part)
        return parts

    # ---- locations ----

    def location(self) -> Optional[str]:
        """Read `loc(..)` if it comes next; return the name inside, or None."""
        start = self.skip()
        if not self.text.startswith("loc(", start):
            return None
        self.pos = start + len("loc(")
        name: Optional[str] = None
        match = self.take(_STRING)
        if match and self.peek() in ("(", ")"):
            name = unescaped(match[1])
        elif match is None and (alias := self.take(_ALIAS)):
            name = self.aliases.get("loc " + alias[1])
        self.pos = self.skip_brackets(start + len("loc"))
        return name


def unescaped(text: str) -> str:
    """Return a string's text with its escape sequences decoded."""
    if "\\" not in text:
        return text

    def plain(match: "re.Match[str]") -> str:
        return chr(int(match[1], 16)) if len(match[1]) == 2 else {"n": "\n", "t": "\t"}.get(match[1], match[1])

    return _ESCAPE.sub(plain, text)
