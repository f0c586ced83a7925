"""Launches of kernels on a program's arrays. OpenCL launches each kernel by itself, but on a CPU neighbours that are
too small for a second thread together: a launch of its own would take such a kernel longer than its work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Sequence

from gen.heroes.kernel import Argument, Kernel
from gen.plan.buffer import Buffer, Role
from gen.program.ir import Array, Program
from gen.program.steps import Launch
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

    def functions(self) -> List[Kernel]:
        """The kernels as functions of the file. They do not say `restrict`: clang makes an intrinsic of it where it
        inlines a function, and oclgrind 21.10 does not know that intrinsic."""
        return [replace(kernel, attribute="", arguments=[replace(a, restrict="") for a in kernel.arguments])
                for kernel in {kernel.name: kernel for kernel in self.kernels}.values()]


def chained(program: Program, launches: "Sequence[Launch]", d: Target) -> "List[Launch]":
    """The launches, with chains in place of small neighbours."""
    runs: List[List[Launch]] = []
    open_run = False        # whether the last run takes another launch
    for launch in launches:
        small = launch.threads == 1 and launch.kernel.threads == 1 and launch.kernel.table is None
        if not (small and open_run):
            runs.append([])
        runs[-1].append(launch)
        open_run = small
    buffers = {array: Buffer(role, n, array.shape, array.name)
               for role, arrays in ((Role.PARAMETER, program.params), (Role.RESULT, program.results))
               for n, array in enumerate(arrays)}
    between = dict.fromkeys(array for launch in launches for array in launch.arrays if array not in buffers)
    buffers.update((array, Buffer(Role.SCRATCH, n, array.shape, array.name)) for n, array in enumerate(between))
    inside = {launch.kernel.name for run in runs if len(run) > 1 for launch in run}    # functions of the file
    return [run[0] if len(run) == 1 and run[0].kernel.name not in inside
            else _chain(f"sett_{program.name}_launch{number}", run, buffers, d) for number, run in enumerate(runs)]


def _chain(name: str, run: "List[Launch]", buffers: "Dict[Array, Buffer]", d: Target) -> Launch:
    arguments: Dict[Array, Argument] = {}
    for launch in run:
        for array, argument in zip(launch.arrays, launch.kernel.arguments):
            if array not in arguments or arguments[array].read_only and not argument.read_only:
                arguments[array] = replace(argument, restrict="", buffer=buffers[array])
    steps = []
    for launch in run:
        passed = [buffers[array].pointer for array in launch.arrays]
        steps.append(f"for (size_t number = 0; number < {launch.kernel.blocks}; ++number) "
                     f"{launch.kernel.name}({', '.join([*passed, 'number'])});")
    chain = Chain(name, [launch.kernel for launch in run], list(arguments.values()), steps, d.launch_bounds(1))
    return Launch(chain, list(arguments))
