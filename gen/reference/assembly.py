"""The text of a reference's file: steps as one function, or as parts that share their loops; then the library that they
call."""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Mapping, Sequence, Tuple

from gen.reference.emitter import Emitter
from gen.reference.library import Library
from gen.reference.types import STORAGE
from gen.reference.values import Array, Step

_POINTER = re.compile(r"\b(?:v|lo|hi)_\w+")
MOST_STEPS = 64    # in one function of a reference: optimising a function takes longer than in proportion to its length


def pointers_of(emitter: Emitter, array: Array) -> List[Tuple[str, str]]:
    """The C pointers of an array, each with its type."""
    ends = [] if array.exact else [(f"{end}_{array.name}", emitter.interval_type(array.dtype)) for end in ("lo", "hi")]
    return [(f"v_{array.name}", STORAGE[array.dtype]), *ends]


class Loops:
    """Functions of steps: one for all steps that differ in their arrays alone, so that a long reference has few loops
    to compile."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.names: Dict[str, str] = {}     # by what follows the name

    def call(self, step: Step, place: Callable[[str], str]) -> str:
        """The call of a step's function; place: the C text of a pointer."""
        kinds = {pointer: kind for array in (*step.uses, *step.defines)
                 for pointer, kind in pointers_of(self.emitter, array)}
        written = {pointer for array in step.defines for pointer, _ in pointers_of(self.emitter, array)}
        known: Dict[str, str] = {}
        lines = [_POINTER.sub(lambda match: known.setdefault(match[0], f"array_{len(known)}") if match[0] in kinds
                              else match[0], line) for line in step.lines]
        body = "\n".join(f"  {line}" for line in lines)
        given = [(name, f"{kind}{name}")
                 for name, kind in (("params", "const void *const *"), ("results", "void *const *"),
                                    ("bounds", "double *const *")) if re.search(rf"\b{name}\[", body)]
        arguments = [f"{'' if pointer in written else 'const '}{kinds[pointer]} *restrict {name}"
                     for pointer, name in known.items()]
        text = f"({', '.join([*arguments, *(argument for _, argument in given)]) or 'void'}) {{\n{body}\n}}"
        name = self.names.setdefault(text, f"loop_{len(self.names)}")
        return f"{name}({', '.join([*map(place, known), *(argument for argument, _ in given)])});"

    def texts(self) -> List[str]:
        return [f"static APART void {name}{text}" for text, name in self.names.items()]


def needed_steps(steps: List[Step], results: Sequence[Array]) -> List[Step]:
    """The steps that the results depend on."""
    needed = {a.name for a in results}
    kept = []
    for step in reversed(steps):
        if any(a.name in needed for a in step.defines):
            needed.update(a.name for a in step.uses)
            kept.append(step)
    return kept[::-1]


def in_one(emitter: Emitter, signature: str, steps: List[Step], given: Mapping[str, str], unused: Sequence[str]) -> str:
    """A reference as one function, with each array allocated before its step and freed after its last use."""
    heap = [a for step in steps for a in step.defines if a.home == "heap"]
    last = {a.name: n for n, step in enumerate(steps) for a in list(step.uses) + list(step.defines)}
    body: List[str] = []
    used = {a.name for step in steps for a in step.uses} | set(given)
    for name, line in emitter.parameters.items():
        if name in used:
            body.append(line)
    for name, lines in emitter.constants.items():
        if name in used:
            body += lines
    body += list(given.values())

    for array in heap:
        body += [f"{kind} *{pointer} = NULL;" for pointer, kind in pointers_of(emitter, array)]
    if heap:
        body.append("int status = 1;")
    body += [f"(void){name};" for name in unused]
    for n, step in enumerate(steps):
        body += ["", f"/* {step.title.replace('*/', '* /')} */"]
        for array in step.defines:
            if array.home == "heap":
                for pointer, kind in pointers_of(emitter, array):
                    body.append(f"{pointer} = malloc({max(1, array.count)} * sizeof({kind}));")
                    body.append(f"if ({pointer} == NULL) goto done;")
        body += step.lines
        for array in heap:
            if last[array.name] == n:
                for pointer, _ in pointers_of(emitter, array):
                    body += [f"free({pointer});", f"{pointer} = NULL;"]
    if heap:
        body += ["", "status = 0;"]
        body.append("done:")
        body += [f"free({pointer});" for array in reversed(heap) for pointer, _ in pointers_of(emitter, array)]
        body.append("return status;")
    else:
        body += ["return 0;"]
    return f"{signature};\n{function_text(signature, body)}"


def in_parts(emitter: Emitter, signature: str, steps: List[Step], given: Mapping[str, str]) -> List[str]:
    """The functions of a long reference: its loops, then MOST_STEPS steps in each, then the one that calls these.
    Arrays are at x[..], and what is still there in the end is freed then."""
    last = {array.name: step for step in steps for array in (*step.uses, *step.defines)}
    head = re.fullmatch(r"int (\w+)\((.*)\)", signature)
    assert head is not None
    name, parameters = head.groups()
    words = re.findall(r"\w+(?=,|$)", parameters)
    loops, parts = Loops(emitter), []
    at: Dict[str, int] = {}
    free: List[int] = []
    size = 0

    def place(pointer: str) -> str:
        return f"x[{at[pointer]}]" if pointer in at else pointer

    for first in range(0, len(steps), MOST_STEPS):
        part = steps[first:first + MOST_STEPS]
        here = {array.name for step in part for array in (*step.uses, *step.defines)}
        lines = [f"(void){word};" for word in (*words, "x")]
        lines += [line for array, line in (*emitter.parameters.items(), *given.items()) if array in here]
        for step in part:
            lines += ["", f"/* {step.title.replace('*/', '* /')} */"]
            for pointer, kind, count in ((*about, array.count) for array in step.defines if array.home == "heap"
                                         for about in pointers_of(emitter, array)):
                if not free:
                    free.append(size)
                    size += 1
                at[pointer] = free.pop()
                lines.append(f"if (take(&x[{at[pointer]}], {max(1, count)} * sizeof({kind}))) return 1;")
            lines.append(loops.call(step, place))
            for array in {array.name: array for array in (*step.uses, *step.defines)}.values():
                for pointer, _ in pointers_of(emitter,
                                              array) if array.home == "heap" and last[array.name] is step else []:
                    free.append(at.pop(pointer))
                    lines.append(f"drop(&x[{free[-1]}]);")
        parts.append(function_text(f"static int {name}_{len(parts)}({parameters}, void **x)", [*lines, "return 0;"]))
    constants = [f"static {line}" if line.startswith("const ") else line for array, lines in emitter.constants.items()
                 if array in last for line in lines]
    calls = [f"{name}_{k}({', '.join([*words, 'x'])})" for k in range(len(parts))]
    whole = [f"void *x[{max(1, size)}] = {{NULL}};", "const int status =", *(f"  {call} ||" for call in calls[:-1]),
             f"  {calls[-1]};", f"for (size_t k = 0; k < {size}; ++k) free(x[k]);", "return status;"]
    return [
        "/* not inlined: there are few loops and many calls */\n#ifdef __GNUC__\n#define APART __attribute__((noinline))\n#else\n#define APART\n#endif",
        "static APART int take(void **at, size_t bytes) { return (*at = malloc(bytes)) == NULL; }\n\n"
        "static APART void drop(void **at) {\n  free(*at);\n  *at = NULL;\n}",
        *(["\n".join(constants)] if constants else []),
        *loops.texts(),
        *parts,
        f"{signature};\n{function_text(signature, whole)}",
    ]


def function_text(head: str, body: Sequence[str]) -> str:
    return f"{head} {{\n" + "\n".join(line if line.endswith("done:") or not line else "  " + line
                                      for line in body) + "\n}"


def assemble(title: str, signature: str, emitter: Emitter, steps: List[Step], given: Mapping[str, str],
              unused: Sequence[str]) -> str:
    """The C file: helpers, then the function."""
    functions = [in_one(emitter, signature, steps, given, unused)] if len(steps) <= MOST_STEPS else in_parts(
        emitter, signature, steps, given)
    library = Library()
    library.scan("\n".join(functions))
    parts = [
        f"/* {title}\n   Generated from HLO by sett (gen/reference): do not edit. Compile with -ffp-contract=off. */",
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>",
        "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#elif defined(__GNUC__)\n"
        '#pragma GCC optimize("no-tree-slp-vectorize") /* gcc 12 vectorizes two neighbouring (double)(float)x to two x */\n#endif',
    ]
    return "\n\n".join([*parts, *library.texts.values(), *functions]) + "\n"
