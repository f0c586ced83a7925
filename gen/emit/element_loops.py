"""Code of an `element-loop` (gen/plan/element_loops.py), which runs a loop for each element in registers.

A register holds several elements. If each element has its own predicate, the loop of a register ends when all its
elements have finished. A finished element keeps its values. The registers of a step run in one loop, so that the
processor can overlap their instructions. A variable is then an array with one register for each row of the step.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set

from gen.emit.elementwise import Elementwise
from gen.emit.loads import Loads
from gen.statements import Assign, Declare, For, Forever, If
from gen.emit.values import Value
from gen.hlo import Computation, Instruction, order
from gen.hlo.graph import root_of
from gen.plan.partition import Entry


class ElementLoops(Loads, Elementwise):
    """Writes the op `element-loop` of gen/plan/element_loops.py."""

    def element_loop(self, entry: Entry) -> List[Value]:
        """Write the loop, and return the final values of its result variables."""
        instruction = entry.instruction
        step, held, count = instruction.called[0], instruction.attributes["held"], len(instruction.shape.leaves())
        reads = [self.partition.operand(entry, k) for k in range(len(instruction.operands))]
        x = [self.read(read, entry.region) for read in reads]
        alike = _alike(step, [not self.varies_in_steps or not read.source.shape.leaves()[read.output].dims
                              or read.source.opcode == "constant" and value.lanes == 1
                              for read, value in zip(reads, x)], held)
        if not self.rows:
            variables = [self._variable_of(parameter.name, value, same)
                         for parameter, value, same in zip(step.parameters, x[:len(held)], alike)]
            _Steps(self, step, held, alike, [*variables, *x[len(held):]]).write()
            return variables[:count]
        loads, kept, self.text = self.text.take(), self.text, self.before
        variables = [self._of_rows(parameter.name, value, same)
                     for parameter, value, same in zip(step.parameters, x, alike)]
        with self.each_row():
            self.text.add(*loads)
            self.assign(variables, x)
        _Steps(self, step, held, alike, variables).write()
        self._loads, self.text = {}, kept       # forget the loaded values: each belonged to one row
        return variables[:count]

    @property
    def varies_in_steps(self) -> bool:
        """Return true if a step computes several elements at once."""
        return self.lanes > 1 or self.rows is not None

    def _variable_of(self, wanted: str, first: Value, same: bool) -> Value:
        """Declare a variable of the loop with its first value. same: true if the value is the same for all lanes."""
        name, lanes = self.name(wanted), 1 if same else self.lanes
        self.text.add(Declare(self.type(first.dtype, lanes), name, first.text if lanes == 1 else self.splat(first)))
        return Value(name, first.dtype, lanes)

    def _of_rows(self, wanted: str, first: Value, same: bool) -> Value:
        """Declare a variable of the loop, to be assigned later. If it is the same for all elements, it is a single
        variable. Otherwise it is an array with one register for each row.
        """
        assert self.rows is not None
        name, lanes = self.name(wanted), 1 if same else self.lanes
        self.text.add(Declare(self.type(first.dtype, lanes), name, self.d.literal(0, first.dtype) if same else "",
                              0 if same else self.rows.most))
        return Value(name if same else f"{name}[vec]", first.dtype, lanes)

    def assign(self, to: "Sequence[Value]", values: "Sequence[Value]") -> None:
        """Write assignments of values to variables."""
        self.text.add(*(Assign(variable.text, value.text if variable.lanes == 1 else self.splat(value))
                        for variable, value in zip(to, values)))

    @contextmanager
    def each_row(self) -> "Iterator[None]":
        """Put a loop over the rows of a step around the statements that the `with` block writes, if there are rows."""
        if not self.rows:
            yield
            return
        self.text.add(*self.d.unrolled(self.lanes))
        with self.text.nested(For(self.d.index[self.index_type], "vec", self.rows.end)):
            yield

    def _settled(self, values: List[Value], names: List[str]) -> List[Value]:
        """Return values that can be assigned one after another. A value that is the name of an assigned variable is
        copied first.
        """
        return [self.declare("next", v.dtype, v.lanes, v.text) if v.text in names and len(names) > 1 else v
                for v in values]


class _Steps:
    """Writes one step of a loop. x: the values of the step's parameters, the loop's variables first. alike: for each
    parameter, true if its value is the same for all lanes.
    """

    def __init__(self, body: ElementLoops, step: Computation, held: "Sequence[bool]", alike: "Sequence[bool]",
                 x: "Sequence[Value]") -> None:
        self.body, self.step, self.held = body, step, held
        self.variables = x[:len(held)]
        self.predicate, *self.ends = root_of(step).operands
        self.same = _same(step, alike)
        self.env: Dict[Instruction, List[Value]] = {parameter: [value] for parameter, value in zip(step.parameters, x)}
        self.own = [k for k in range(len(held)) if not alike[k]]
        self.shared = [k for k in range(len(held)) if alike[k]]

    def write(self) -> None:
        body = self.body
        with body.text.nested(Forever()):
            parts = [self.predicate] if self.predicate in self.same else _conjuncts(self.predicate)
            tests = [part for part in parts if part in self.same]
            if not tests:
                parts = [self.predicate]
            for test in tests:
                self.compute(order.reached(test))
                body.text.add(If(f"!({self.env[test][0].text})", ["break;"], brief=True))
            self.compute(self.same)
            if self.predicate not in self.same:
                self.masked([part for part in parts if part not in self.same])
            else:
                if self.own:
                    with body.each_row():
                        self.compute(self.step.instructions)
                        self.assign(self.own)
                self.assign(self.shared)

    def masked(self, parts: "Sequence[Instruction]") -> None:
        """Write a step in which only the elements that continue change, and leave the loop when no element continues.
        parts: predicates; an element continues if all of them are true.
        """
        body, into, before, name = self.body, self.body.text.into, len(self.body.text.into), self.body.name("going")
        with body.each_row():
            self.compute(i for value in (*parts, *self.ends) for i in order.reached(value))
            mask = self.env[parts[0]][0]
            for part in parts[1:]:
                mask = body.apply("and", {}, "pred", ["pred", "pred"], [mask, self.env[part][0]], "both")
            text, dtype = (mask.mask, f"s{mask.mask_bits}") if mask.mask else (body.splat(mask), "pred")
            self.assign(self.own, mask)
            body.text.add(Assign(name, text, "|="))
        into.insert(before, Declare(body.type(dtype, body.lanes), name, body.d.zero(body.lanes)))
        self.assign(self.shared)
        going = name if body.lanes == 1 else body.d.any(dtype, body.lanes, name)
        body.text.add(If(f"!{going}", ["break;"], brief=True))

    def compute(self, instructions: "Iterable[Instruction]") -> None:
        """Write the computation of those instructions that are not computed yet."""
        wanted = set(instructions)
        for i in self.step.instructions:
            if i in wanted and i not in self.env and i is not self.step.root:
                self.env[i] = self.body.scalar_op(i, self.env)

    def assign(self, numbers: "Sequence[int]", mask: "Optional[Value]" = None) -> None:
        """Assign the next values to the variables with these indices. mask: the lanes that change; None if all lanes
        change.
        """
        body, variables = self.body, [self.variables[k] for k in numbers]
        values = [self.env[self.ends[k]][0] for k in numbers]
        if mask:
            values = [body.apply("select", {}, v.dtype, ["pred", v.dtype, v.dtype], [mask, value, v], "kept")
                      if self.held[k] else value for k, v, value in zip(numbers, variables, values)]
        body.assign(variables, body._settled(values, [v.text for v in variables]))


def _same(step: Computation, alike: "Sequence[bool]") -> "Set[Instruction]":
    """Return the instructions of a step whose values are the same for all lanes. alike: for each parameter, true if its
    value is the same for all lanes.
    """
    same = {parameter for parameter, is_same in zip(step.parameters, alike) if is_same}
    for i in step.instructions:
        if i.opcode != "parameter" and same.issuperset(i.operands):
            same.add(i)
    return same


def _alike(step: Computation, first: "Sequence[bool]", held: "Sequence[bool]") -> "List[bool]":
    """Return, for each parameter of a step, true if its value is the same for all lanes in every step. first: for each
    parameter, true if its value is the same for all lanes in the first step.
    """
    alike, (predicate, *ends) = list(first), root_of(step).operands
    while True:
        same = _same(step, alike)
        after = [is_same and end in same and (predicate in same or not keeps)
                 for is_same, end, keeps in zip(alike, ends, held)]
        if after == alike[:len(held)]:
            return alike
        alike[:len(held)] = after


def _conjuncts(predicate: Instruction) -> "List[Instruction]":
    """Return the predicates that a predicate combines by `and`."""
    if predicate.opcode != "and":
        return [predicate]
    return [part for operand in predicate.operands for part in _conjuncts(operand)]
