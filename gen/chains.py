"""Chains: OpenCL launches each kernel by itself, but on a CPU neighbours that are too small for a second thread together.

A launch of its own would take such a kernel longer than its work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Sequence, Union

from gen.heroes.kernel import Argument, Kernel, passed
from gen.plan.buffer import Buffer
from gen.targets import Target


@dataclass
class Chain:
    """Several kernels as one launch of one work-item, which does their groups one after another.

    steps: the lines that do each kernel's groups.
    """

    name: str
    kernels: List[Kernel]
    arguments: List[Argument]
    steps: List[str]
    attribute: str
    blocks = threads = 1
    table = None

    @property
    def buffers(self) -> List[Buffer]:
        return [argument.buffer for argument in self.arguments]

    def functions(self) -> List[Kernel]:
        """The kernels as functions of the file. They do not say `restrict`: clang makes an intrinsic of it where it
        inlines a function, and oclgrind 21.10 does not know that intrinsic."""
        return [replace(kernel, attribute="", arguments=[replace(a, restrict="") for a in kernel.arguments])
                for kernel in self.kernels]

    def passed(self, scratch: str) -> List[str]:
        return passed(self.buffers, scratch)


Launch = Union[Kernel, Chain]


def launches(name: str, kernels: "Sequence[Kernel]", worth: "Sequence[int]", d: Target) -> "List[Launch]":
    """The launches of a program. worth: number of threads that each kernel is worth (gen/threads.py)."""
    runs: List[List[Kernel]] = []
    open_run = False        # whether the last run takes another kernel
    for kernel, count in zip(kernels, worth):
        small = count == 1 and kernel.threads == 1 and kernel.table is None
        if not (small and open_run):
            runs.append([])
        runs[-1].append(kernel)
        open_run = small
    return [run[0] if len(run) == 1 else _chain(f"sett_{name}_launch{number}", run, d)
            for number, run in enumerate(runs)]


def _chain(name: str, kernels: "List[Kernel]", d: Target) -> Chain:
    arguments: Dict[Buffer, Argument] = {}
    for argument in (argument for kernel in kernels for argument in kernel.arguments):
        if not argument.read_only or argument.buffer not in arguments:
            arguments[argument.buffer] = replace(argument, restrict="")
    steps = [f"for (size_t number = 0; number < {kernel.blocks}; ++number) "
             f"{kernel.name}({''.join(f'{buffer.pointer}, ' for buffer in kernel.buffers)}number);" for kernel in kernels]
    return Chain(name, kernels, list(arguments.values()), steps, d.launch_bounds(1))
