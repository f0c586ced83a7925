"""The options of check, run and bench, and the time limits of processes that follow from these options."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Sequence

from gen import child
from gen.hlo import Fusion
from gen.run import cost as costs
from gen.targets import RUNNERS, RunError, Runner

# maximum number of rounds of a check, as in gen/run/harness/harness.c
MOST_ROUNDS = 24
# work that is expected to take more seconds than this is announced before it begins
LONG_SECONDS = 10
# Limit of a launch, in seconds of processor time for each processor. A launch whose expected time is more than a tenth
# of this may take ten times its expected time instead.
LAUNCH_SECONDS = 30
PROCESS_LAUNCHES = 20  # time limit of a process that runs launches and references, in multiples of a launch's limit
START = child.Limit.of(60)    # time limit for a runtime to describe its device


@dataclass
class Options:
    """The options of check, run and bench.

    seed: seed of the random inputs of check
    rounds: number of rounds of check; 0: the size of the inputs decides; -n: the size decides, with a maximum of n
    """

    seed: int = 1
    rounds: int = 0
    device: str = ""  # part of the name of the device or its runtime; "": the first device
    schedule: Optional[str] = None  # the device class that kernels are generated for, as in gen build --device
    excess_precision: bool = False
    # maximum bytes of scratch and stack of a program for small machines; None: the limit of its device
    most_bytes: Optional[int] = None
    # seed for the values of constants that the text leaves out; None: refuse them
    fill_constants: Optional[int] = None
    # arrays whose leading dimensions are given at run time
    leads: Sequence[str] = ()
    # place arrays with leading dimensions inside larger arrays, so that their rows are not contiguous
    larger: bool = True
    # sizes of open dimensions, as in gen build --dims
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # seconds of processor time that a launch may take; None: see launch_limit
    limit: Optional[int] = None
    # `gen run` reads and writes row-major files, whatever the layouts
    row_major: bool = False
    # bytes that a check may use; None: a third of the machine's
    memory: Optional[int] = None
    # checks the maps of a fusion that is too large to run; returns the fault, or None
    check_maps: Optional[Callable[[Fusion], Optional[str]]] = None
    # called before slow work, with a description
    say: Callable[[str], None] = lambda text: None
    # called with the name of each step as it begins, for a progress line
    step: Callable[[str], None] = lambda text: None


def runner_of(target: str) -> Runner:
    if target not in RUNNERS:
        raise RunError(f"expected a target that can be run, one of {', '.join(RUNNERS)}, found {target}")
    return RUNNERS[target]


def seconds_of(limit: child.Limit) -> List[int]:
    """Return a limit of launches as arguments for the harness."""
    return [math.ceil(limit.processor), math.ceil(limit.passing)]


def launch_limit(target: str, options: Options, expected: float = 0) -> child.Limit:
    """Return the limit of one launch: the user's limit if there is one. Otherwise, each processor may take
    LAUNCH_SECONDS, multiplied by the runner's `patience`, or ten times the expected time if that is more.
    """
    if options.limit:
        return child.Limit.of(options.limit)
    seconds = max(LAUNCH_SECONDS * runner_of(target).patience, int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def process_limit(options: Options, expected: float = 0) -> child.Limit:
    """Return the limit of a process that runs all launches and the reference."""
    seconds = max(PROCESS_LAUNCHES * max(LAUNCH_SECONDS, options.limit or 0), int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def longest(options: Options) -> int:
    """Return a limit, in seconds. A round of a check, or the bench of a kernel, is not run if it is expected to take
    longer.
    """
    return max(costs.MOST_SECONDS, options.limit or 0)
