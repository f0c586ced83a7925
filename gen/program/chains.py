"""Combine small kernels that follow each other into one launch of OpenCL on a CPU.

These kernels are too small for a second thread. Launching such a kernel takes longer than running it.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Dict, Iterator, List, Optional, Sequence, Set

from gen.heroes.kernel import Argument
from gen.plan.buffer import Buffer, Role
from gen.program.ir import Array, Program
from gen.program.steps import Chain, Launch, Repeat, Step, Switch, bodies, deciding, launches_of
from gen.schedule import Device
from gen.schedule.devices import BlockNumbers
from gen.targets import Target


def chained(program: Program, steps: "Sequence[Step]", d: Target, device: Device) -> "List[Step]":
    """Return the steps with small neighbouring kernels combined into chains. A chain may contain loops and branches."""
    arrays = dict.fromkeys(array for launch in launches_of(steps) for array in launch.arrays)
    buffers = {array: Buffer(role, n, array.shape, array.name)
               for role, of in ((Role.PARAMETER, program.params), (Role.RESULT, program.results))
               for n, array in enumerate(of)}
    between = [array for array in arrays if array not in buffers]
    buffers.update((array, Buffer(Role.SCRATCH, n, array.shape, array.name)) for n, array in enumerate(between))
    block = device.block if d.block_chains else None
    runs = _runs(steps, block, device.chain_kernels)
    inside = {launch.kernel.name for run in _chain_runs(runs, block, device.chain_kernels)
              for launch in launches_of(run)}
    names = (f"sett_{program.name}_launch{number}" for number in itertools.count())
    return _chained(runs, inside, buffers, names, d, block, device.chain_kernels)


Run = List[Step]


def _small(step: Step) -> bool:
    """Return true if a single work-item runs every kernel of a step."""
    return all(launch.threads == 1 and launch.kernel.threads == 1 and launch.kernel.table is None
               for launch in launches_of([step]))


def _is_chain(run: Run, block: "Optional[BlockNumbers]") -> bool:
    if block:
        return not isinstance(run[0], Launch) and fits(run[0], block)
    return _small(run[0]) and (len(run) > 1 or not isinstance(run[0], Launch))


def fits(step: Step, block: BlockNumbers) -> bool:
    """Return true if one block of threads can run a loop or a branch. The threads of the block wait for each other
    after each kernel. A kernel that has barriers must have as many threads as the block.
    """
    launches = launches_of([step])
    threads = max((launch.kernel.threads for launch in launches), default=1)
    return threads <= block.threads and all(
        launch.kernel.blocks <= block.groups and launch.kernel.table is None and not isinstance(launch.kernel, Chain)
        and not launch.kernel.dynamic_bytes and (launch.kernel.is_loop or launch.kernel.threads == threads)
        for launch in launches)


def _runs(steps: "Sequence[Step]", block: "Optional[BlockNumbers]", most: int) -> "List[Run]":
    """Group neighbouring steps that may become one launch. A group of several steps has at most `most` kernels. If
    `block` is given, a block of threads runs a chain, and each step is a group of its own.
    """
    if block:
        return [[step] for step in steps]
    runs: List[Run] = []
    room = -1       # number of kernels that may be added to the last group in `runs`; negative: no step may be added
    for step in steps:
        small, kernels = _small(step), len(launches_of([step]))
        if not small or kernels > room:
            runs.append([])
            room = most
        runs[-1].append(step)
        room = room - kernels if small else -1
    return runs


def _chain_runs(runs: "Sequence[Run]", block: "Optional[BlockNumbers]", most: int) -> "Iterator[Run]":
    """Yield the runs of neighbouring steps that become one launch (a chain). Runs inside loops and branches are
    included.
    """
    for run in runs:
        if _is_chain(run, block):
            yield run
            continue
        for step in run:
            for body in bodies(step) if isinstance(step, (Repeat, Switch)) else ():
                yield from _chain_runs(_runs(body, block, most), block, most)


def _chained(runs: "List[Run]", inside: "Set[str]", buffers: "Dict[Array, Buffer]", names: "Iterator[str]",
             d: Target, block: "Optional[BlockNumbers]", most: int) -> "List[Step]":
    """Return the steps, in which each group of neighbouring steps that becomes one launch is replaced by a Chain.
    inside: the names of kernels that a chain calls as functions.
    """
    made: List[Step] = []
    for run in runs:
        name = next(names)
        first = run[0]
        if _is_chain(run, block) or isinstance(first, Launch) and first.kernel.name in inside:
            made.append(_chain(name, run, buffers, d))
            continue
        for step in run:
            if isinstance(step, Repeat):
                step.condition, step.body = (_chained(_runs(of, block, most), inside, buffers, names, d, block, most)
                                             for of in (step.condition, step.body))
            elif isinstance(step, Switch):
                step.arms = [_chained(_runs(arm, block, most), inside, buffers, names, d, block, most)
                             for arm in step.arms]
            made.append(step)
    return made


def _chain(name: str, run: Run, buffers: "Dict[Array, Buffer]", d: Target) -> Launch:
    arguments: Dict[Array, Argument] = {}
    launches = launches_of(run)
    for launch in launches:
        for array, argument in zip(launch.arrays, launch.kernel.arguments):
            known = arguments.get(array, argument)
            arguments[array] = replace(argument if known.read_only else known, restrict="", buffer=buffers[array],
                                       word=max(known.word, argument.word), atomic=max(known.atomic, argument.atomic))
    for array in deciding(run):
        arguments.setdefault(array, Argument(d.array(array.shape.dtype, True), buffers[array], True))
    kernels = [launch.kernel for launch in launches if not isinstance(launch.kernel, Chain)]
    threads = max((kernel.threads for kernel in kernels), default=1)
    chain = Chain(name, kernels, list(arguments.values()), run, buffers, d.launch_bounds(threads), threads)
    return Launch(chain, list(arguments))
