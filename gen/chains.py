"""What OpenCL launches at once: a kernel, or on a CPU neighbouring kernels that one thread does in less time than a launch
takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence, Union

from gen.heroes.kernel import Kernel, passed
from gen.hlo import Shape
from gen.targets import Target


@dataclass
class Chain:
    """Several kernels as one launch of one work-item, which does their groups one after another.

    arguments: the parameter list, as C text. steps: the lines that do each kernel's groups.
    """

    name: str
    kernels: List[Kernel]
    arguments: str
    pointers: List[str]
    steps: List[str]
    attribute: str
    blocks = threads = 1
    table = None

    def passed(self, scratch: str) -> List[str]:
        return passed(self.pointers, scratch)


Launch = Union[Kernel, Chain]


def launches(name: str, kernels: "Sequence[Kernel]", worth: "Sequence[int]", d: Target,
             buffers: "Dict[str, Sequence[Shape]]") -> "List[Launch]":
    """The launches of a program. worth: number of threads that each kernel is worth (gen/threads.py)."""
    runs: List[List[Kernel]] = []
    last = 0
    for kernel, count in zip(kernels, worth):
        alone = count > 1 or kernel.threads > 1 or kernel.table is not None
        if alone or not runs or last != 1:
            runs.append([])
        runs[-1].append(kernel)
        last = 0 if alone else 1
    return [run[0] if len(run) == 1 else _chain(f"sett_{name}_launch{number}", run, d, buffers)
            for number, run in enumerate(runs)]


def _chain(name: str, kernels: "List[Kernel]", d: Target, buffers: "Dict[str, Sequence[Shape]]") -> Chain:
    pointers = list(dict.fromkeys(p for kernel in kernels for p in kernel.pointers))
    arguments = [d.array(buffers[p[0]][int(p[1:])].dtype, p[0] == "p", False) + p for p in pointers]
    steps = [f"for (size_t number = 0; number < {kernel.blocks}; ++number) "
             f"{kernel.name}({', '.join([*kernel.pointers, 'number'])});" for kernel in kernels]
    return Chain(name, kernels, ", ".join(arguments), pointers, steps, d.launch_bounds(1))
