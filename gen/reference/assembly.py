"""Assemble a C file: the functions that its steps call, and the steps. The steps form one function. If there are many
steps, they form several functions, and steps with equal loops share a function.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Sequence

from gen.statements import Assign, Call, Declare, If, printed, Return, Statement
from gen.reference.library import statements
from gen.reference.values import Array, Step

MOST_STEPS = 64  # maximum number of steps in one function: a compiler's time grows faster than the length of a function
EXHAUSTED = "exhausted"     # the C variable that is 1 after a loop or a branch has run out of memory
HEAD, PARTS = (Path(__file__).with_name(name).read_text().strip() for name in ("head.c", "parts.c"))


@dataclass(frozen=True)
class Function:
    """A C function: its name, and its arguments with their types."""

    name: str
    arguments: Mapping[str, str]
    linkage: str = ""

    def head(self) -> str:
        return f"{self.linkage}int {self.name}({self.declared()})"

    def declared(self) -> str:
        return ", ".join(f"{kind}{name}" for name, kind in self.arguments.items())


def needed_steps(steps: List[Step], results: Sequence[Array]) -> List[Step]:
    """Return the steps on which the results depend."""
    needed = set(results)
    kept = []
    for step in reversed(steps):
        if needed.intersection(step.defines):
            needed.update(step.uses)
            kept.append(step)
    return kept[::-1]


def pointer(array: Array) -> List[Statement]:
    """Return the statements that define the pointer to an array."""
    if array.given is None:
        return list(array.literal)
    kind = "const " * (array.given.name == "params") + array.kind
    place = f"{array.given.name}[{array.given.number}]"
    if array.given.offset:
        place = f"({kind} *)((const char *){place} + {array.given.offset})"
    return [Declare(f"{kind} *const", array.name, place)]


def arrays_of(steps: Sequence[Step]) -> List[Array]:
    return list(dict.fromkeys(array for step in steps for array in step.arrays))


def size_of(array: Array) -> str:
    return f"{max(1, array.count)} * sizeof({array.kind})"


def comment(step: Step) -> List[str]:
    return ["", f"/* {step.title.replace('*/', '* /')} */"]


def in_one(function: Function, steps: List[Step]) -> str:
    """Return a reference as one function. Each array is allocated before the step that defines it, and freed after the
    last step that uses it.
    """
    arrays = arrays_of(steps)
    heap = [array for array in arrays if array.on_heap]
    last = {array: n for n, step in enumerate(steps) for array in step.arrays}
    read = {array.given.name for array in arrays if array.given}
    body = [line for array in arrays for line in pointer(array)]
    body += [*(Declare(array.kind, f"*{array.name}", "NULL") for array in heap), *[Declare("int", "status", "1")] * bool(heap)]
    body += [f"(void){name};" for name in function.arguments if name not in read]
    names = {array.name: array.name for array in arrays}
    for n, step in enumerate(steps):
        body += comment(step)
        for array in step.defines:
            if array.on_heap:
                body += statements("allocated", array=array.name, size=size_of(array))
        body += step.text(names)
        for array in heap:
            if last[array] == n:
                body += statements("freed", array=array.name)
    freed = [Call("free", array.name) for array in reversed(heap)]
    fine = EXHAUSTED if any(EXHAUSTED in step.calls for step in steps) else "0"
    text = definition(function.head(), [*body, "", Assign("status", fine)], [*freed, Return("status")]) if heap \
        else definition(function.head(), [*body, Return(fine)])
    return f"{function.head()};\n{text}"


class Loops:
    """Functions of single steps. Steps that differ only in their arrays share a function, so that the compiler has few
    loops to compile.
    """

    def __init__(self) -> None:
        self.names: Dict[str, str] = {}     # the name of each function; the key is the function's text after the name

    def call(self, step: Step, places: Mapping[Array, str]) -> Call:
        """Return the call of the function of a step."""
        names = {array.name: f"array_{n}" for n, array in enumerate(step.arrays)}
        arguments = [f"{'const ' * (array not in step.defines)}{array.kind} *restrict {names[array.name]}"
                     for array in step.arrays]
        body = "\n".join(f"  {line}" for line in step.text(names))
        name = self.names.setdefault(f"({', '.join(arguments)}) {{\n{body}\n}}", f"loop_{len(self.names)}")
        return Call(name, *(places.get(array, array.name) for array in step.arrays))

    def texts(self) -> List[str]:
        return [f"static APART void {name}{text}" for text, name in self.names.items()]


def in_parts(function: Function, steps: List[Step]) -> List[str]:
    """Return a long reference as functions of three kinds. A function of the first kind is a step; steps that differ
    only in their arrays share a function. A function of the second kind calls at most MOST_STEPS functions of the first
    kind. The last function calls all functions of the second kind. The pointers to allocated arrays are in x[..]; the
    last function frees the arrays that are still allocated.
    """
    last = {array: step for step in steps for array in step.arrays}
    loops, declared = Loops(), function.declared()
    parts: List[str] = []
    places: Dict[Array, str] = {}
    free: List[str] = []
    size = 0
    for first in range(0, len(steps), MOST_STEPS):
        part = steps[first:first + MOST_STEPS]
        lines: "List[Statement]" = [f"(void){word};" for word in (*function.arguments, "x")]
        lines += [line for array in arrays_of(part) if array.given for line in pointer(array)]
        for step in part:
            lines += comment(step)
            for array in step.defines:
                if array.on_heap:
                    if not free:
                        free.append(f"x[{size}]")
                        size += 1
                    places[array] = free.pop()
                    lines.append(If(f"take(&{places[array]}, {size_of(array)})", [Return("1")], brief=True))
            lines.append(loops.call(step, places))
            for array in step.arrays:
                if array.on_heap and last[array] is step:
                    free.append(places.pop(array))
                    lines.append(Call("drop", f"&{free[-1]}"))
        parts.append(definition(f"static int {function.name}_{len(parts)}({declared}, void **x)",
                                [*lines, Return("0")]))
    constants = [line for array in arrays_of(steps) for line in array.literal]
    calls = [f"{function.name}_{k}({', '.join([*function.arguments, 'x'])})" for k in range(len(parts))]
    may_exhaust = any(EXHAUSTED in step.calls for step in steps)
    whole = statements("parts", most=max(1, size), calls=[*(f"{call} ||" for call in calls[:-1]), f"{calls[-1]};"],
                       size=size, exhausted=f" | {EXHAUSTED}" * may_exhaust)
    return [PARTS, *(["\n".join(constants)] if constants else []), *loops.texts(), *parts,
            f"{function.head()};\n{definition(function.head(), whole)}"]


def definition(head: str, body: Sequence[Statement], done: Sequence[Statement] = ()) -> str:
    """Return the definition of a C function. done: the statements after the label `done`."""
    lines = ["  " + line if line else "" for line in printed(body)]
    return "\n".join([f"{head} {{", *lines, *["done:"] * bool(done), *("  " + line for line in printed(done)), "}"])


@dataclass(frozen=True)
class File:
    """A C file.

    library: the functions and tables that its functions use, by name.
    functions: its functions, in order.
    alone: true if its functions define names that functions of other files may define too.
    """

    titles: Sequence[str]
    library: Mapping[str, str]
    functions: Sequence[str]
    alone: bool = False

    @property
    def text(self) -> str:
        titles = "\n   ".join(self.titles)
        head = f"/* {titles}\n   Generated from HLO by sett (gen/reference): do not edit. Compile with -ffp-contract=off. */"
        return "\n\n".join([head, HEAD, *self.library.values(), *self.functions]) + "\n"

    def __add__(self, other: "File") -> "File":
        return File([*self.titles, *other.titles], {**self.library, **other.library},
                    [*self.functions, *other.functions])

    def agrees(self, other: "File") -> bool:
        """Return true if the functions of two files can be put into one file. Functions of the same name must have the
        same text.
        """
        return not self.alone and not other.alone and all(
            other.library.get(name, text) == text for name, text in self.library.items())


def joined(files: Sequence[File]) -> List[File]:
    """Return the functions of all files in as few files as possible. Most of the time to compile a small file is spent
    in starting the compiler and reading headers.
    """
    found: List[File] = []
    for file in files:
        number = next((n for n, other in enumerate(found) if other.agrees(file)), None)
        if number is None:
            found.append(file)
        else:
            found[number] += file
    return found


def assemble(title: str, function: Function, steps: List[Step], results: Sequence[Array],
             library: Mapping[str, str] = {}) -> File:
    """Return the C file with the steps on which the results depend. The functions of the library come before their
    callers.
    """
    steps = needed_steps(steps, results)
    called = {**library, **{name: text for step in steps for name, text in step.calls.items()}}
    is_long = len(steps) > MOST_STEPS
    functions = in_parts(function, steps) if is_long else [in_one(function, steps)]
    return File([title], called, functions, is_long or EXHAUSTED in called)
