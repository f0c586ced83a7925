"""The parser of StableHLO text. It reads ops in MLIR's generic form and in StableHLO's short forms. Each op becomes an
`Op`, which represents the generic form.

The short forms of StableHLO's ops are much alike: operands, words and `key = value` separated by commas, then
attributes in braces, then types. One method reads them all; ops with other forms have methods of their own. The table
(gen/stablehlo/table.py) maps attribute names of short forms to those of the generic form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from gen.hlo.graph import Shape
from gen.stablehlo.scanner import SSA, Attributes, Dense, MlirScanner, Raw, Symbol, Word, type_text
from gen.stablehlo.table import PLAIN, SHORT, unknown

REGIONS = 64  # maximum depth of nested regions

_OP = re.compile(r'"([A-Za-z_][A-Za-z0-9_$.]*)"|([A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_0-9$]+)*)')
# matches a line with an op of one result, its operands and types; its location, if any, is an alias or `unknown`
_PLAIN = re.compile(r"%([A-Za-z0-9_$.\-]+) = ([a-z_]+\.[a-z_0-9]+) ((?:%[A-Za-z0-9_$.\-]+(?:#[0-9]{1,5})?, )*"
                    r"%[A-Za-z0-9_$.\-]+(?:#[0-9]{1,5})?) : ([^\n{}#@\"!]*[^\n{}#@\"! ])(?: loc\((?:#[a-z0-9]+|unknown)\))?\n")
_KEYED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=")
_RESULTS = re.compile(r"%([A-Za-z0-9_$.\-]+)(?::([0-9]+))?")
_SLICE = re.compile(r"\s*([0-9]+)\s*:\s*([0-9]+)\s*(?::\s*([0-9]+)\s*)?")
_ALIASES = re.compile(r"^#([A-Za-z_][A-Za-z0-9_$.\-]*)[ \t]*=[ \t]*", re.M)
_LOCATION_NAME = re.compile(r'loc\("((?:[^"\\\n]|\\.)*)"[()]')
_RESOURCE = re.compile(r'([A-Za-z_][A-Za-z0-9_.$\-]*)\s*:\s*"(0x[0-9A-Fa-f]*)"')
_BLOCK = re.compile(r"\^[A-Za-z0-9_]*")

Key = Tuple[str, int]  # a value: the name of an op's results, and the index of one of these results


@dataclass
class Use:
    """A use of a value as an operand, with its position in the text."""

    key: Key
    pos: int


@dataclass
class Argument:
    """An argument of a function or a block."""

    key: Key
    of: Shape
    pos: int
    attributes: Attributes = field(default_factory=Attributes)
    location: Optional[str] = None


@dataclass
class Op:
    """An op in the generic form.

    types: the types of the operands
    results: the types of the results; None if the operands' types determine them
    """

    name: str
    pos: int
    names: List[Key] = field(default_factory=list)
    operands: List[Use] = field(default_factory=list)
    attributes: Attributes = field(default_factory=Attributes)
    regions: "List[Region]" = field(default_factory=list)
    types: List[Shape] = field(default_factory=list)
    results: List[Shape] = field(default_factory=list)
    types_pos: int = 0
    line_pos: int = 0  # position in the text of the results' names


@dataclass
class Region:
    """A region with one block: its arguments and its ops, of which the last one returns."""

    pos: int
    arguments: List[Argument] = field(default_factory=list)
    ops: List[Op] = field(default_factory=list)
    # the values that the region reads from outside, each with the position of one use; None until free_values is called
    free: Optional[Dict[Key, int]] = None


@dataclass
class Function:
    """A function of the module.

    results: their types
    result_attributes: one dict for each result
    """

    name: str
    pos: int
    public: bool
    body: Region
    results: List[Shape]
    result_attributes: List[Attributes]


@dataclass
class Text:
    """A parsed text: the module's name and attributes, its functions by name, and the bytes of its resources by name.
    """

    scanner: MlirScanner
    name: str = ""
    pos: int = 0
    attributes: Attributes = field(default_factory=Attributes)
    functions: Dict[str, Function] = field(default_factory=dict)
    resources: Dict[str, str] = field(default_factory=dict)


class Reader:
    """Reads one text."""

    def __init__(self, text: str, filename: str) -> None:
        self.scanner = MlirScanner(text, filename)
        self.text = Text(self.scanner)
        self.depth = 0
        # parsed types of ops, by their text, because many ops have equal types
        self.signatures: Dict[str, Tuple[List[Shape], Optional[List[Shape]]]] = {}

    def read(self) -> Text:
        scanner = self.scanner
        self._aliases()
        scanner.pos = 0
        self._skip_aliases()
        if scanner.word("module") or scanner.take(re.compile(r"builtin\.module\b")):
            self._module()
        elif scanner.take(re.compile(r'"builtin\.module"')):
            self._generic_module()
        else:
            while scanner.peek() and not scanner.text.startswith("{-#", scanner.pos):
                self._top()
        self._skip_aliases()
        if scanner.text.startswith("{-#", scanner.skip()):
            self._resources()
        self._skip_aliases()
        if scanner.peek():
            scanner.expected("the end of the module")
        if not self.text.functions:
            scanner.expected("a function: func.func @NAME(..) { ops }")
        return self.text

    # ---- module ----

    def _aliases(self) -> None:
        """Read the attribute aliases. They precede the module; aliases of locations may also follow it."""
        scanner = self.scanner
        for match in _ALIASES.finditer(scanner.text):
            name = match[1]
            if scanner.text.startswith(("loc(", "loc "), match.end()):
                location = _LOCATION_NAME.match(scanner.text, match.end())
                scanner.aliases[name] = None
                scanner.aliases["loc " + name] = location[1] if location else None
            else:
                scanner.pos = match.end()
                scanner.aliases[name] = scanner.attribute()

    def _skip_aliases(self) -> None:
        scanner = self.scanner
        while match := _ALIASES.match(scanner.text, scanner.skip()):
            scanner.pos = match.end()
            if scanner.location() is None and scanner.pos == match.end():
                scanner.attribute()

    def _module(self) -> None:
        scanner = self.scanner
        self.text.pos = scanner.skip()
        if scanner.peek() == "@":
            self.text.name = str(scanner.symbol("the module's name"))
        if scanner.word("attributes"):
            scanner.need("{", "after 'attributes'")
            self.text.attributes = scanner.dictionary()
        scanner.need("{", "to open the module")
        self._functions()
        scanner.location()

    def _generic_module(self) -> None:
        scanner = self.scanner
        self.text.pos = scanner.skip()
        scanner.need("(")
        scanner.need(")")
        attributes = self._properties()
        scanner.need("(", "to open the module's region")
        scanner.need("{", "to open the module")
        self._functions()
        scanner.need(")", "to close the module's region")
        self._generic_attributes(attributes)
        self.text.attributes = attributes
        self.text.name = str(attributes.pop("sym_name", ""))
        scanner.need(":", "and the module's type")
        scanner.types_in()
        scanner.location()

    def _functions(self) -> None:
        scanner = self.scanner
        while not scanner.accept("}"):
            if not scanner.peek():
                scanner.expected("a function or '}' to close the module")
            self._top()

    def _top(self) -> None:
        """Read a function, or an op `sdy.mesh`, which is skipped because it has no effect on one device."""
        scanner = self.scanner
        pos = scanner.skip()
        match = scanner.match(_OP, "a function: func.func @NAME(..) { ops }")
        name = match[1] or match[2]
        if name in ("func.func", "func"):
            self._generic_function(pos) if match[1] else self._function(pos)
        elif name == "sdy.mesh" and match[1]:
            self._generic(Op(name, pos))
            scanner.location()
        elif name == "sdy.mesh":
            scanner.symbol("the mesh's name")
            scanner.need("=", "after the mesh's name")
            scanner.skip()
            scanner.pos = scanner.skip_brackets(scanner.pos)
            if scanner.peek() == "{":
                scanner.pos = scanner.skip_brackets(scanner.skip())
            scanner.location()
        elif name in ("module", "builtin.module"):
            scanner.fail(pos, "expected a function, found a module in a module")
        else:
            scanner.fail(pos, f"expected a function (func.func), found '{name[:60]}'")

    def _resources(self) -> None:
        """Read `{-# dialect_resources: { builtin: { NAME: "0x.." } } #-}` at the end of the file."""
        scanner = self.scanner
        end = scanner.text.find("#-}", scanner.pos)
        if end < 0:
            scanner.fail(scanner.pos, "expected '#-}' to close the resources, found the end of the file")
        for match in _RESOURCE.finditer(scanner.text, scanner.pos, end):
            self.text.resources[match[1]] = match[2]
        scanner.pos = end + 3

    # ---- functions ----

    def _function(self, pos: int) -> None:
        scanner = self.scanner
        public = True
        for word in ("public", "private", "nested"):
            if scanner.word(word):
                public = word == "public"
        name_pos = scanner.skip()
        name = str(scanner.symbol("the function's name: @NAME"))
        self._new(name, name_pos)
        scanner.need("(", "and the function's arguments")
        arguments: List[Argument] = []
        while scanner.peek() != ")":
            if arguments:
                scanner.need(",", "or ')' in the function's arguments")
            if scanner.peek() != "%":
                scanner.fail(name_pos, f"expected a function with a body, found '@{name}', which is only declared") \
                    if scanner.at_type() else scanner.expected("an argument: %NAME: TYPE")
            arguments.append(self._argument(arguments, attributes=True))
        scanner.need(")")
        results, attributes = self._function_results()
        if scanner.word("attributes"):
            scanner.need("{", "after 'attributes'")
            scanner.dictionary()
        if scanner.peek() != "{":
            scanner.fail(name_pos, f"expected a function with a body, found '@{name}', which is only declared")
        body = self._region(arguments)
        scanner.location()
        self.text.functions[name] = Function(name, name_pos, public, body, results, attributes)

    def _new(self, name: str, pos: int) -> None:
        if name in self.text.functions:
            line, _ = self.scanner.place(self.text.functions[name].pos)
            self.scanner.fail(pos, f"expected a new name, found '@{name}', the function of line {line}")

    def _argument(self, before: "List[Argument]", attributes: bool = False) -> Argument:
        scanner = self.scanner
        pos = scanner.skip()
        match = scanner.match(SSA, "an argument: %NAME: TYPE")
        key = (match[1], 0)
        if any(argument.key == key for argument in before):
            scanner.fail(pos, f"expected a new name, found '%{match[1]}' again")
        scanner.need(":", "and the type of the argument")
        made = Argument(key, scanner.type(), pos)
        if attributes and scanner.accept("{"):
            made.attributes = scanner.dictionary()
        made.location = scanner.location()
        return made

    def _function_results(self) -> "Tuple[List[Shape], List[Attributes]]":
        scanner = self.scanner
        if not scanner.accept("->"):
            return [], []
        if not scanner.accept("("):
            return [scanner.type()], [Attributes()]
        results: List[Shape] = []
        attributes: List[Attributes] = []
        while scanner.peek() != ")":
            if results:
                scanner.need(",", "or ')' in the function's results")
            results.append(scanner.type())
            attributes.append(scanner.dictionary() if scanner.accept("{") else Attributes())
        scanner.need(")")
        return results, attributes

    def _generic_function(self, pos: int) -> None:
        scanner = self.scanner
        scanner.need("(")
        scanner.need(")")
        attributes = self._properties()
        if scanner.peek() != "(":
            scanner.expected("'(' and the function's region")
        (region,) = self._regions(pos, 1)
        self._generic_attributes(attributes)
        scanner.need(":", "and the function's type")
        scanner.types_in()
        scanner.location()
        name = str(attributes.get("sym_name", ""))
        self._new(name, pos)
        typed = re.search(r"->\s*", str(attributes.get("function_type", "")))
        inner = MlirScanner(str(attributes.get("function_type", "")), scanner.filename)
        results: List[Shape] = []
        if typed:
            inner.pos = typed.end()
            results = inner.results()
        for argument, given in zip(region.arguments, attributes.get("arg_attrs", [])):
            argument.attributes = given
        given_results = attributes.get("res_attrs") or [Attributes() for _ in results]
        self.text.functions[name] = Function(name, pos, attributes.get("sym_visibility") != "private", region, results,
                                             given_results)

    # ---- regions ----

    def _regions(self, pos: int, count: Optional[int] = None) -> List[Region]:
        """Read the regions `({ .. }, { .. })`."""
        scanner = self.scanner
        scanner.need("(", "and the op's regions")
        found = [self._region([])]
        while scanner.accept(","):
            found.append(self._region([]))
        scanner.need(")", "or ',' after a region")
        if count is not None and len(found) != count:
            scanner.fail(pos, f"expected {count} region{'s' * (count != 1)}, found {len(found)}")
        return found

    def _region(self, arguments: "List[Argument]") -> Region:
        scanner = self.scanner
        made = Region(scanner.need("{", "to open a region"), arguments)
        self.depth += 1
        if self.depth > REGIONS:
            scanner.fail(made.pos, f"expected regions nested at most {REGIONS} deep")
        if scanner.peek() == "^":
            scanner.match(_BLOCK, "a block")
            if scanner.accept("("):
                while scanner.peek() != ")":
                    if made.arguments:
                        scanner.need(",", "or ')' in the block's arguments")
                    made.arguments.append(self._argument(made.arguments))
                scanner.need(")")
            scanner.need(":", "after the block's arguments")
        text = scanner.text
        while True:
            pos = scanner.skip()
            char = text[pos:pos + 1]
            if char == "}":
                scanner.pos += 1
                break
            if char == "^":
                scanner.fail(pos, "expected one block in a region, found a second")
            if not char:
                scanner.expected("an op or '}' to close the region")
            plain = _PLAIN.match(text, pos)
            made.ops.append(plain and plain[2] in PLAIN and self._plain(plain) or self._op(pos))
        self.depth -= 1
        return made

    # ---- ops ----

    def _plain(self, match: "re.Match[str]") -> Optional[Op]:
        """Read a line of the most common kind at once: an op with operands only, `%0 = stablehlo.add %a, %b : TYPES`.
        Return None if the types continue on the next line.
        """
        scanner = self.scanner
        scanner.pos = match.end()
        start = match.start(4)
        known = self.signatures.get(match[4])
        if known is None:
            scanner.pos = start
            known = scanner.types_in()
            if scanner.text[match.end(4):scanner.pos].strip() or scanner.pos < match.end(4):
                scanner.pos = match.start()
                return None
            self.signatures[match[4]] = known
            scanner.pos = match.end()
        types, results = known
        at = match.start(3)
        uses = [Use((use[1], int(use[2]) if use[2] else 0), at + use.start()) for use in SSA.finditer(match[3])]
        op = Op(match[2], match.start(2), [(match[1], 0)], uses, types_pos=start, line_pos=match.start())
        self._typed(op, types, results)
        return op

    def _op(self, pos: int) -> Op:
        scanner = self.scanner
        names: List[Key] = []
        if scanner.text[pos] == "%":
            while True:
                place = scanner.skip()
                match = scanner.match(_RESULTS, "the name of a result")
                count = scanner.small(match[2], place) if match[2] else 1
                if not 0 < count <= 1 << 16:
                    scanner.fail(place, f"expected a number of results from 1 to {1 << 16}, found {count}")
                names += [(match[1], number) for number in range(count)]
                if not scanner.accept(","):
                    break
            scanner.need("=", "after the names of the results")
        at = scanner.skip()
        match = scanner.match(_OP, "an op: [%NAME =] DIALECT.OP ..")
        op = Op(match[1] or match[2], at, names, line_pos=pos)
        if match[1]:
            self._generic(op)
        else:
            if op.name in _UNQUALIFIED:
                op.name = "func." + op.name
            self._short(op)
        scanner.location()
        if len(op.names) != len(op.results) and (op.names or op.results):
            scanner.fail(pos, f"{op.name}: expected names of {len(op.results)} result{'s' * (len(op.results) != 1)}, "
                              f"found {len(op.names)}") if op.names else None
        return op

    def _use(self) -> Use:
        pos = self.scanner.skip()
        match = self.scanner.match(SSA, "an operand: %NAME")
        return Use((match[1], int(match[2][:9]) if match[2] else 0), pos)

    def _uses(self, close: str = "") -> List[Use]:
        """Read operands separated by commas.

        close: also read this closing bracket; the list may then be empty
        """
        found: List[Use] = []
        if not close or self.scanner.peek() != close:
            found.append(self._use())
            while self.scanner.accept(","):
                found.append(self._use())
        if close:
            self.scanner.need(close, "or ',' after an operand")
        return found

    def _properties(self) -> Attributes:
        """Read the properties `<{..}>` of the generic form."""
        scanner = self.scanner
        if not scanner.accept("<{"):
            return Attributes()
        found = scanner.dictionary()
        scanner.need(">", "to close the properties")
        return found

    def _generic_attributes(self, into: Attributes) -> None:
        scanner = self.scanner
        if scanner.accept("{"):
            more = scanner.dictionary()
            for key, value in more.items():
                if key in into:
                    scanner.fail(more.places[key], f"expected each attribute once, found '{key}' again")
                into.put(key, value, more.places[key], *more.values_at(key))

    def _generic(self, op: Op) -> None:
        """Read `"stablehlo.add"(%0, %1) <{..}> ({ regions }) {..} : (..) -> ..`."""
        scanner = self.scanner
        scanner.need("(", f"and the operands of '{op.name}'")
        op.operands = self._uses(")")
        if scanner.peek() == "[":
            scanner.expected("an op without successors")
        op.attributes = self._properties()
        if scanner.peek() == "(":
            op.regions = self._regions(op.pos)
        self._generic_attributes(op.attributes)
        scanner.need(":", f"and the types of '{op.name}'")
        op.types_pos = scanner.skip()
        op.types, results = scanner.types_in()
        if results is None:
            scanner.expected("'->' and the types of the results")
        op.results = results
        if len(op.types) != len(op.operands):
            scanner.fail(op.types_pos, f"expected the types of {len(op.operands)} operands, found {len(op.types)}")

    def _short(self, op: Op) -> None:
        fault = unknown(op.name)  # the op is unknown, so its short form is too
        if fault:
            self.scanner.fail(op.pos, fault)
        name = re.sub(r"^mhlo\.", "stablehlo.", op.name)  # ops of the dialect mhlo have the same short forms
        if name in _OWN:
            own: "Callable[[Op], None]" = getattr(self, "_" + name.replace(".", "_"))
            own(op)
            return
        self._items(op, SHORT.get(name, {}))
        self._braces(op)
        self._types(op)

    def _items(self, op: Op, keys: "Dict[str, str]") -> None:
        """Read operands, `key = value` and bare words separated by commas. The operands may be in parentheses.

        keys: the generic name of each attribute, by its name in the short form. Bare words and values without a key
            are named by their number: "0", "1", ..
        """
        scanner, words = self.scanner, 0
        bracket = scanner.accept("(")
        while True:
            pos = scanner.skip()
            char = scanner.text[pos:pos + 1]
            if char == "%":
                op.operands.append(self._use())
            elif keyed := _KEYED.match(scanner.text, pos):
                scanner.pos = keyed.end()
                self._keyed(op, keys.get(keyed[1], keyed[1]), pos)
            elif char in ":{)" or not char:
                if op.operands or op.attributes or char not in ":{)":
                    if not (bracket and char == ")" and not op.operands):
                        scanner.expected(f"an operand or an attribute of '{op.name}'")
                break
            else:
                self._positional(op, keys, words, pos)
                words += 1
            if not scanner.accept(","):
                # a value without a key may follow an operand without a comma: %0 [0:2], "name" %0
                follows = scanner.peek()
                if follows and (follows in '["' or (words and follows == "%" and not op.operands)):
                    continue
                break
        if bracket:
            scanner.need(")", f"or ',' in the operands of '{op.name}'")

    def _put(self, op: Op, key: str, value: Any, pos: int, start: int) -> None:
        if key in op.attributes:
            self.scanner.fail(pos, f"expected each attribute once, found '{key}' again")
        op.attributes.put(key, value, pos, start, self.scanner.pos)

    def _positional(self, op: Op, keys: "Dict[str, str]", number: int, pos: int) -> None:
        scanner = self.scanner
        if str(number) not in keys:
            scanner.expected(f"an operand or an attribute of '{op.name}'")
        value = scanner.attribute() if scanner.text[pos] != "[" else self._slices(op, keys[str(number)])
        self._put(op, keys[str(number)], value, pos, pos)

    def _slices(self, op: Op, key: str) -> Any:
        """Read the `[0:2, 1:9:4]` of a slice, or the index of a tuple's element."""
        scanner = self.scanner
        scanner.need("[")
        if key == "index":
            index = scanner.integer("the number of an element")
            scanner.need("]")
            return index
        found: List[Tuple[int, ...]] = []
        while scanner.peek() != "]":
            if found:
                scanner.need(",", "or ']' in the slices")
            place = scanner.skip()
            match = scanner.match(_SLICE, "START:LIMIT or START:LIMIT:STRIDE")
            found.append(tuple(scanner.small(text or "1", place) for text in match.groups()))
        scanner.need("]")
        for name, number in (("limit_indices", 1), ("strides", 2)):
            self._put(op, name, [part[number] for part in found], scanner.pos - 1, scanner.pos - 1)
        return [part[0] for part in found]

    def _keyed(self, op: Op, key: str, pos: int) -> None:
        scanner = self.scanner
        start = scanner.skip()
        if scanner.text.startswith("<", start):  # a structure, such as algorithm = <lhs_precision_type = tf32, ..>
            scanner.pos += 1
            value: Any = scanner.dictionary(close=">")
        else:
            value = scanner.attribute(typed=False)
        if isinstance(value, list) and key in ("batching_dims", "contracting_dims"):
            scanner.need("x", f"between the two lists of '{key}'")
            value = (value, scanner.attribute())
        self._put(op, key, value, pos, start)

    def _braces(self, op: Op) -> None:
        if self.scanner.peek() == "{":
            self._generic_attributes(op.attributes)

    def _types(self, op: Op) -> None:
        """Read `: (types) -> types`, or one type for all operands and results, or the types of the operands."""
        scanner = self.scanner
        if not scanner.accept(":"):
            scanner.expected(f"':' and the types of '{op.name}'")
        op.types_pos = scanner.skip()
        self._typed(op, *scanner.types_in())

    def _typed(self, op: Op, types: "List[Shape]", results: "Optional[List[Shape]]") -> None:
        op.types = types
        if results is not None:
            op.results = results
        elif len(op.names) == 1 and op.types:
            op.results = [op.types[-1]]
            op.types = [op.types[0]] * len(op.operands) if len(op.types) == 1 else []
        else:
            op.results = op.types if op.names else []
        if op.name.partition(".")[2] in ("complex", "tuple"):  # the short form gives the result's type only
            op.types = []

    # ---- short forms of single ops ----

    def _func_return(self, op: Op) -> None:
        if self.scanner.peek() == "%":
            op.operands = self._uses()
        self._braces(op)
        if op.operands:
            self.scanner.need(":", "and the types of what is returned")
            op.types_pos = self.scanner.skip()
            op.types = self.scanner.type_list()
            if len(op.types) != len(op.operands):
                self.scanner.fail(op.types_pos, f"expected {len(op.operands)} types, found {len(op.types)}")

    _stablehlo_return = _func_return

    def _stablehlo_constant(self, op: Op) -> None:
        self._braces(op)
        pos = self.scanner.skip()
        value = self.scanner.attribute()
        self._put(op, "value", value, pos, pos)
        op.types_pos = pos
        if isinstance(value, Dense):
            op.results = [value.of]
        else:
            self.scanner.fail(pos, "expected dense<..> : TYPE, the value of a constant")

    _chlo_constant = _stablehlo_constant

    def _func_call(self, op: Op) -> None:
        scanner = self.scanner
        pos = scanner.skip()
        self._put(op, "callee", scanner.symbol("the function's name"), pos, pos)
        scanner.need("(", "and the operands of the call")
        op.operands = self._uses(")")
        self._functional(op)

    def _functional(self, op: Op) -> None:
        """Read attributes and types: `{..} : (types) -> types`."""
        scanner = self.scanner
        self._braces(op)
        scanner.need(":", f"and the types of '{op.name}'")
        op.types_pos = scanner.skip()
        op.types, results = scanner.types_in()
        op.results = results if results is not None else []
        if len(op.types) != len(op.operands):
            scanner.fail(op.types_pos, f"expected the types of {len(op.operands)} operands, found {len(op.types)}")

    def _stablehlo_custom_call(self, op: Op) -> None:
        scanner = self.scanner
        pos = scanner.skip()
        self._put(op, "call_target_name", str(scanner.symbol("the target's name")), pos, pos)
        scanner.need("(", "and the operands of the call")
        op.operands = self._uses(")")
        self._functional(op)

    def _stablehlo_convolution(self, op: Op) -> None:
        """Read `(%a, %b) dim_numbers = [..]x[..]->[..], window = {stride = [..], ..} {..} : ..`."""
        scanner = self.scanner
        scanner.need("(", f"and the operands of '{op.name}'")
        op.operands = self._uses(")")
        pos = scanner.skip()
        if not scanner.word("dim_numbers"):
            scanner.expected("dim_numbers = [..]x[..]->[..]")
        scanner.need("=")
        start = scanner.skip()
        self._put(op, "dimension_numbers", scanner.labels(), pos, start)
        scanner.need(",", "and window = {..}")
        pos = scanner.skip()
        if not scanner.word("window"):
            scanner.expected("window = {..}")
        scanner.need("=")
        scanner.need("{", "to open the window")
        window = scanner.dictionary()
        for key, value in window.items():
            name = {"stride": "window_strides", "pad": "padding", "lhs_dilate": "lhs_dilation",
                    "rhs_dilate": "rhs_dilation", "reverse": "window_reversal"}.get(key)
            if name is None:
                scanner.fail(window.places[key], "expected stride, pad, lhs_dilate, rhs_dilate or reverse in the window, "
                                                 f"found '{key}'")
            op.attributes.put(name, value, window.places[key], *window.values_at(key))
        self._functional(op)

    _stablehlo_dynamic_conv = _stablehlo_convolution

    def _sdy_sharding_constraint(self, op: Op) -> None:
        """Read `%x <@mesh, [{}]> : type`."""
        scanner = self.scanner
        op.operands = [self._use()]
        pos = scanner.skip()
        if scanner.peek() != "<":
            scanner.expected("the sharding: <@MESH, [..]>")
        scanner.pos = scanner.skip_brackets(pos)
        self._put(op, "sharding", Raw(scanner.text[pos:scanner.pos]), pos, pos)
        self._braces(op)
        self._types(op)

    _sdy_reshard = _sdy_sharding_constraint

    def _stablehlo_while(self, op: Op) -> None:
        """Read `(%iter = %init, ..) : types attributes {..} cond { .. } do { .. }`."""
        scanner = self.scanner
        scanner.need("(", "and the values of the loop")
        arguments: List[Tuple[Key, int]] = []
        while scanner.peek() != ")":
            if arguments:
                scanner.need(",", "or ')' in the values of the loop")
            pos = scanner.skip()
            arguments.append(((scanner.match(SSA, "a value of the loop: %NAME = %INIT")[1], 0), pos))
            scanner.need("=", "and the first value")
            op.operands.append(self._use())
        scanner.need(")")
        if arguments:
            scanner.need(":", "and the types of the loop's values")
            op.types_pos = scanner.skip()
            op.types = op.results = scanner.type_list()
            if len(op.types) != len(arguments):
                scanner.fail(op.types_pos, f"expected {len(arguments)} types, found {len(op.types)}")
        if scanner.word("attributes"):
            self._braces(op)
        for word in ("cond", "do"):
            if not scanner.word(word):
                scanner.expected(f"'{word}' and a region")
            op.regions.append(self._region([Argument(key, of, pos)
                                            for (key, pos), of in zip(arguments, op.types)]))

    def _stablehlo_reduce(self, op: Op) -> None:
        """Read `(%x init: %c), .. [applies OP] across dimensions = [..] : types [reducer(..) (..) { .. }]`."""
        scanner = self.scanner
        inputs, inits = [], []
        while True:
            scanner.need("(", "and an input: (%x init: %c)")
            inputs.append(self._use())
            if not scanner.word("init"):
                scanner.expected("'init:' and the initial value")
            scanner.need(":")
            inits.append(self._use())
            scanner.need(")", "after the initial value")
            if not scanner.accept(","):
                break
        op.operands = inputs + inits
        applied, applied_pos = "", 0
        if scanner.word("applies"):
            applied_pos = scanner.skip()
            applied = scanner.match(_OP, "an op").group()
        pos = scanner.skip()
        if not (scanner.word("across") and scanner.word("dimensions")):
            scanner.expected("across dimensions = [..]", pos)
        scanner.need("=")
        start = scanner.skip()
        self._put(op, "dimensions", scanner.attribute(), pos, start)
        self._functional(op)
        if applied:
            op.regions.append(_applied(applied, applied_pos, op.types[-1]))
            return
        if not scanner.word("reducer"):
            scanner.expected("'reducer' and its arguments")
        arguments: List[Argument] = []
        for _ in inputs:
            scanner.need("(", "and two arguments of the reducer")
            arguments.append(self._argument(arguments))
            scanner.need(",", "and the second argument")
            arguments.append(self._argument(arguments))
            scanner.location()
            scanner.need(")", "after two arguments")
        op.regions.append(self._region(arguments[0::2] + arguments[1::2]))


def _applied(name: str, pos: int, of: Shape) -> Region:
    """Return a region that contains only the op named by `applies`."""
    arguments = [Argument(("lhs", 0), of, pos), Argument(("rhs", 0), of, pos)]
    uses = [Use(argument.key, pos) for argument in arguments]
    made = Op(name, pos, [("0", 0)], uses, types=[of, of], results=[of], types_pos=pos, line_pos=pos)
    end = Op("stablehlo.return", pos, [], [Use(("0", 0), pos)], types=[of], types_pos=pos, line_pos=pos)
    return Region(pos, arguments, [made, end])


# ops with a method of their own for the short form
_OWN = frozenset(("func.return", "func.call", "chlo.constant", "sdy.sharding_constraint", "sdy.reshard",
                  *(f"stablehlo.{name}" for name in (
    "return", "constant", "custom_call", "convolution", "dynamic_conv", "while", "reduce"))))
_UNQUALIFIED = frozenset(("return", "call"))


def read_text(text: str, filename: str) -> Text:
    """Parse a text; raise HloError at the first fault."""
    return Reader(text, filename).read()


def free_values(region: Region) -> "Dict[Key, int]":
    """Return the values that a region reads from outside, each with the position of one use."""
    if region.free is None:
        region.free = {}
        known = {argument.key for argument in region.arguments}
        for op in region.ops:
            for use in op.operands:
                if use.key not in known:
                    region.free.setdefault(use.key, use.pos)
            for inner in op.regions:
                for key, pos in free_values(inner).items():
                    if key not in known:
                        region.free.setdefault(key, pos)
            known.update(op.names)
    return region.free


__all__ = ["Argument", "Attributes", "Dense", "Function", "Key", "Op", "Raw", "Region", "Symbol", "Text", "Use", "Word",
           "free_values", "read_text", "type_text"]
