"""The questions about the calls of a program, in the order in which they run.

The order is read from the host's text: from the function that calls or launches the kernels, with its loops. The body
of a loop is followed twice, so that the second time shows what the first has overwritten.

- *read before written*: a call reads an array between kernels, or a result, and not all of the array was written
before. If another array that shares bytes with the array is written, the array counts as unwritten again.

- *read after overwritten*: a call reads an element of a parameter after a result in the same memory was written to the
element's place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from gen.certify import queries, terms
from gen.certify.queries import Failure, in_block, overlap
from gen.certify.reader import Reader
from gen.certify.smt import Solvers
from gen.certify.terms import Atom, Printer, Term
from gen.certify.text import Token, Unknown, scanned
from gen.certify.values import Access, Found


@dataclass
class Call:
    """A launch of a kernel. failures: the list to which failures of this launch are added."""

    found: "Optional[Found]"
    solvers: Solvers
    failures: "List[Failure]"


GIVEN = ("params", "table")    # buffers that have values before the first call
# the numbers of the launches in the order of their calls; the calls of a loop are a list in the list
Tree = List[Any]


def order_of(reader: Reader, target: str, names: "Sequence[str]", header: str) -> Tree:
    """Return the tree of the launches, in the order in which the host's functions run them.

    names: the kernel of each launch, in the manifest's order, which is the order of the text.
    header: the text of the header, which contains the host's function for OpenCL.
    """
    functions = {name: function.tokens for name, function in reader.functions.items()}
    if target == "opencl":
        functions, hosts = _opencl(header)
    elif target == "c":
        hosts = sorted(name for name in functions if re.fullmatch(r"(compute|run)(_\w+)?", name) and name not in names)
    else:
        hosts = [name for name in functions if name.endswith(f"_{target}") and name not in names]
    left = list(range(len(names)))
    tree: Tree = []
    for host in hosts:
        tree += _order(functions, functions[host], names, left)
    if left:
        raise Unknown(f"the host's text has no launch of {names[left[0]]}")
    return tree


def _opencl(header: str) -> "Tuple[Dict[str, List[Token]], List[str]]":
    """Find the function that runs a program on OpenCL. Return a dictionary from its name to its tokens, and a list with
    its name. In the tokens, the names of kernels replace their numbers.
    """
    names = dict(re.findall(r'kernel\[(\d+)\] = clCreateKernel\(\w+->program, "(\w+)"', header))
    found = re.search(r"^static inline cl_int (\w+_opencl_run)\(.*?^}", header, re.M | re.S)
    if found is None:
        return {}, []
    text = re.sub(r"self->kernel\[(\d+)\]", lambda number: names.get(number[1], "?"), found[0])
    return {found[1]: [token for line in scanned(text) for token in line]}, [found[1]]


def _order(functions: "Mapping[str, Sequence[Token]]", tokens: "Sequence[Token]", names: "Sequence[str]",
           left: "List[int]") -> Tree:
    """Return the tree of the launches in a function's text. Adjacent calls of a kernel count as one launch if they
    differ only in the last argument, the number of the part.
    """
    tree: Tree = []
    # for each block around the current token: the text that ends it, and the values of `tree` and `last` before it
    waiting: "List[Tuple[str, Tree, str]]" = []
    last, at = "", next((n for n, token in enumerate(tokens) if token.text == "{"), 0)
    while at < len(tokens):
        token = tokens[at]
        word = token.text
        if token.text in ("for", "while", "do", "if", "else", "switch"):
            at += 1
            if at < len(tokens) and tokens[at].text == "(":
                at = _closed(tokens, at)
            waiting.append((";" if tokens[at].text != "{" else "}", tree, last))
            if token.text in ("for", "while", "do"):
                inner: Tree = []
                tree.append(inner)
                tree = inner
            last = ""
            at += tokens[at].text == "{"
            continue
        if token.text == "{":
            waiting.append(("}", tree, last))
            last = ""
        elif token.text == "}" and waiting and waiting[-1][0] == "}" or token.text == ";" and waiting and waiting[-1][0] == ";":
            _, tree, last = waiting.pop()
            while waiting and waiting[-1][0] == ";":
                _, tree, last = waiting.pop()
        elif word in names:
            text = word + " ".join(of.text for of in _arguments(tokens, at))
            if text != last:
                if not left or names[left[0]] != word:
                    raise Unknown(f"the text runs {word} where the manifest has {names[left[0]] if left else 'no more launches'}", token)
                tree.append(left.pop(0))
                last = text
        elif token.kind == "name" and any(of.text in names for of in functions.get(word, ())):
            tree += _order(functions, functions[word], names, left)
        at += 1
    return tree


def _closed(tokens: "Sequence[Token]", at: int) -> int:
    """Return the position after the bracket that matches the bracket at a position."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].text in ("(", "[", "{")) - (tokens[at].text in (")", "]", "}"))
        at += 1
        if not depth:
            break
    return at


def _arguments(tokens: "Sequence[Token]", at: int) -> "Sequence[Token]":
    """Return the tokens of all arguments of a call except the last. Return () if no call begins at token `at`."""
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
        return ()
    end = _closed(tokens, at + 1) - 1
    inside = list(tokens[at + 2:end])
    commas = [n for n, token in enumerate(inside) if token.text == ","]
    return inside[:commas[-1]] if commas else inside


@dataclass
class Program:
    """Follows the calls of a program.

    A write to an array destroys the other arrays that share bytes with it.

    in_place: the numbers of the results that overwrite a parameter.
    writes: for each array, the writes since it was last destroyed.
    whole: the arrays of which every element is written.
    destroyed: for each array, the write that last destroyed it.
    missing: true after a call of a kernel that could not be walked.
    """

    calls: "Sequence[Call]"
    in_place: "Set[int]" = field(default_factory=set)
    writes: "Dict[int, List[Access]]" = field(default_factory=dict)
    whole: "Set[int]" = field(default_factory=set)
    destroyed: "Dict[int, Token]" = field(default_factory=dict)
    known: "Dict[object, bool]" = field(default_factory=dict)
    said: "Set[object]" = field(default_factory=set)
    missing: bool = False

    def follow(self, tree: Tree) -> None:
        """Follow the calls of a tree in order. The calls of a loop are followed twice."""
        for part in tree:
            if isinstance(part, list):
                self.follow(part)
                self.follow(part)
            elif self.calls[part].found is None:
                self.missing = True
            else:
                self._call(self.calls[part])

    def _call(self, call: Call) -> None:
        assert call.found is not None
        accesses = sorted((a for a in call.found.accesses if a.memory.space == "global"), key=lambda a: a.order)
        for access, first in _repeated(accesses, 0, ()):
            memory = access.memory
            if not access.write or access.atomic:
                self._read(call, access, first)
            if access.write:
                for other in memory.shares:
                    self.writes.pop(id(other), None)
                    self.whole.discard(id(other))
                    self.destroyed[id(other)] = access.at
                self.writes.setdefault(id(memory), []).append(access)

    def _read(self, call: Call, access: Access, first: "Tuple[Term, ...]") -> None:
        """Add a failure unless it is proved that every element of the read array was written before.

        first: for each loop that is in its first step, the term of its step.
        """
        memory = access.memory
        assert isinstance(memory.key, tuple)
        if memory.key[0] == "params":
            self._overwritten(call, access)
        if memory.key[0] in GIVEN or memory.key[:2] in {("results", n) for n in self.in_place} or id(memory) in self.whole:
            return
        writes = self.writes.get(id(memory), [])
        if any(w.offset == access.offset and (w.unit, w.width) == (access.unit, access.width)
               and set(w.path) <= set(access.path) for w in writes):
            return    # the same work-item wrote this element before
        key = id(memory), tuple(id(w) for w in writes), access.path if any(not w.known for w in writes) else ()
        if key not in self.known:
            self.known[key] = bool(writes) and self._all(call, access, writes)
        if self.known[key]:
            if all(w.known for w in writes):
                self.whole.add(id(memory))
            return
        if (access.at, memory.name) in self.said or first and self._later(call, access, first) \
                or _written_by_itself(call, access, writes):
            return
        self.said.add((access.at, memory.name))
        why = "before anything writes it" if not writes else "and not all of it is proved written before"
        if id(memory) in self.destroyed and not writes:
            why = f"after line {self.destroyed[id(memory)].line} wrote to another array in its bytes"
        real = not writes and access.known and not self.missing
        call.failures.append(Failure("refuted" if real else "unknown", f"{memory.name} is read {why}", access.at.line, access.at.column))

    def _overwritten(self, call: Call, read: Access) -> None:
        """A call reads an element of a parameter. Add a failure unless it is proved that no earlier call wrote a result
        to the element's place.
        """
        assert call.found is not None
        own = {id(access) for access in call.found.accesses}
        for write in [w for other in read.memory.shares for w in self.writes.get(id(other), []) if id(w) not in own]:
            if (id(read), id(write)) in self.said:
                continue
            self.said.add((id(read), id(write)))
            printer = Printer()
            lines = [overlap(printer, in_block(write), in_block(read), frozenset()), *(printer.condition(c, "@1") for c in write.path),
                     *(printer.condition(c, "@2") for c in read.path)]
            text = f"{read.memory.name} is read after an earlier call wrote {write.memory.name} to its place in line {write.at.line}"
            answer = call.solvers.ask(printer.lines + [f"(assert {line})" for line in lines], text)
            if answer.kind != "proved":
                free = terms.all_free([write.offset, read.offset, *write.path, *read.path])
                real = answer.kind == "refuted" and read.known and write.known and _meet(write, read, queries._by_copy(printer, answer))
                call.failures.append(Failure("refuted" if real else "unknown", text, read.at.line, read.at.column,
                                             queries._values(printer, answer, free)))

    def _later(self, call: Call, access: Access, first: "Tuple[Term, ...]") -> bool:
        """Return true if it is proved that a read does not happen in the first step of the given loops."""
        printer = Printer()
        lines = [f"(= {printer.term(step)} 0)" for step in first] + [printer.condition(c) for c in access.path]
        return call.solvers.ask(printer.lines + [f"(assert {line})" for line in lines],
                                f"{access.memory.name} is read in the first step", True).kind == "proved"

    def _all(self, call: Call, access: Access, writes: "Sequence[Access]") -> bool:
        """Return true if writes are proved to reach every element of the array whenever a read happens. Only those
        writes count that do not depend on the steps of the loops around the read.
        """
        given = set(access.path)
        inside = terms.all_free(access.loops)
        chosen = []
        for write in writes:
            path = tuple(c for c in write.path if c not in given)
            if not terms.all_free([write.offset, *path]) & inside:
                chosen.append(replace(write, path=path, atomic=False))
        if not chosen or access.memory.bytes is None:
            return False
        try:
            return not queries.all_written(chosen, access.memory.bytes, call.solvers)[1]
        except Unknown:
            return False


def _written_by_itself(call: Call, read: Access, writes: "Sequence[Access]") -> bool:
    """Return true if it is proved that the work-item that reads an element has written it before, in the same step of
    the loops around both accesses.
    """
    assert call.found is not None
    own, given = {id(access) for access in call.found.accesses}, set(read.path)
    earlier: "Dict[int, Tuple[Access, Set[Atom]]]" = {}
    for write in writes:
        if id(write) not in own or write.order >= read.order or write.atomic:
            continue
        path = tuple(c for c in write.path if c not in given)
        if all(atom.known for atom in terms.all_free([write.offset, *path])):
            around = terms.all_free(step for step, other in zip(write.loops, read.loops) if step == other)
            earlier[id(write)] = replace(write, path=path), call.found.groups | call.found.items | around
    try:
        return bool(earlier) and queries.reached(read, list(earlier.values()), call.solvers)
    except Unknown:
        return False


def _repeated(accesses: "Sequence[Access]", depth: int, first: "Tuple[Term, ...]") -> "Iterator[Tuple[Access, Tuple[Term, ...]]]":
    """Yield accesses in the order of the text. Those of a loop are yielded twice: for its first step, and for a later
    step. Each comes with the loops that are in their first step.
    """
    at = 0
    while at < len(accesses):
        access = accesses[at]
        if len(access.loops) <= depth:
            yield access, first
            at += 1
            continue
        end = at
        while end < len(accesses) and accesses[end].loops[:depth + 1] == access.loops[:depth + 1]:
            end += 1
        yield from _repeated(accesses[at:end], depth + 1, (*first, access.loops[depth]))
        yield from _repeated(accesses[at:end], depth + 1, first)
        at = end


def overwritten(call: Call) -> None:
    """Ask whether a launch reads an element of a parameter after it overwrote this element by a result."""
    if call.found is None:
        return
    for read in call.found.accesses:
        memory = read.memory
        if read.write or not memory.shares or not isinstance(memory.key, tuple) or memory.key[0] != "params":
            continue
        for write in call.found.accesses:
            if write.write and write.memory in memory.shares:
                _ask(call, read, write)


def _ask(call: Call, read: Access, write: Access) -> None:
    assert call.found is not None
    printer = Printer()
    group = frozenset(call.found.groups | call.found.common)
    one, two = "@1", "@2"
    # the cases in which a work-item writes before it reads: the write is in an earlier step of a loop that contains
    # both accesses, or earlier in the text of the same step
    before: "List[str]" = []
    equal: "List[str]" = []
    for a, b in zip(write.loops, read.loops):
        if a != b:
            break
        x, y = printer.term(a, one, group), printer.term(b, two, group)
        before.append(f"(and (< {x} {y}) {' '.join(equal)})" if equal else f"(< {x} {y})")
        equal.append(f"(= {x} {y})")
    if write.order < read.order:
        before.append(f"(and {' '.join(equal)} true)")
    same = [f"(= {printer.atom(atom, one, group)} {printer.atom(atom, two, group)})" for atom in call.found.items]
    phases = f"(< {printer.term(write.phase, one, group)} {printer.term(read.phase, two, group)})"
    earlier = f"(or {phases} (and {' '.join(same)} (or {' '.join(before)} false) true))"
    lines = [earlier, overlap(printer, in_block(write), in_block(read), group)]
    lines += [printer.condition(c, one, group) for c in write.path]
    lines += [printer.condition(c, two, group) for c in read.path]
    free = terms.all_free([write.offset, read.offset, *write.path, *read.path])
    text = f"{read.memory.name} is read after {write.memory.name} was written to its place in line {write.at.line}"
    answer = call.solvers.ask(printer.lines + [f"(assert {line})" for line in lines], text)
    if answer.kind != "proved":
        values = queries._by_copy(printer, answer)
        real = answer.kind == "refuted" and all(atom.known for atom in free) and _meet(write, read, values) \
            and _is_before(write, read, values, call.found.items)
        kind = "refuted" if real else "unknown"
        call.failures.append(Failure(kind, text, read.at.line, read.at.column, queries._values(printer, answer, free)))


def _meet(write: Access, read: Access, given: "queries.Values") -> bool:
    """Return true if a write and a read touch the same byte for given values of the variables, and the conditions of
    both hold.
    """
    one, two = in_block(write), in_block(read)
    x, y = (access.unit * terms.evaluate(access.offset, given[copy]) for access, copy in ((one, "@1"), (two, "@2")))
    return x < y + two.unit * two.width and y < x + one.unit * one.width and all(
        terms.holds(c, given[copy]) for access, copy in ((one, "@1"), (two, "@2")) for c in access.path)


def _is_before(write: Access, read: Access, given: "queries.Values", items: "Set[Atom]") -> bool:
    """Return true if a write happens before a read for given values of the variables. That is so if a barrier lies
    between them, or if the same work-item writes in an earlier step of a loop, or earlier in the text.
    """
    one, two = given["@1"], given["@2"]
    if terms.evaluate(write.phase, one) < terms.evaluate(read.phase, two):
        return True
    if any(one.get(atom, atom.lo) != two.get(atom, atom.lo) for atom in items):
        return False
    for a, b in zip(write.loops, read.loops):
        if a != b:
            break
        x, y = terms.evaluate(a, one), terms.evaluate(b, two)
        if x != y:
            return x < y
    return write.order < read.order
