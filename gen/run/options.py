"""The options of check, run and bench, and the limits of processes that follow from them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Sequence

from gen import child
from gen.hlo import Fusion
from gen.run import cost as costs
from gen.targets import RUNNERS, RunError, Runner

MOST_ROUNDS = 24    # of a check, as gen/run/harness/harness.c has it
LONG_SECONDS = 10   # what is expected to take longer is said before it begins
LAUNCH_SECONDS = 30     # that a launch may take of each processor, where it is not expected to take a tenth of that
PROCESS_LAUNCHES = 20   # of the longest launches allowed: what a process may take, with its reference
START = child.Limit.of(60)      # of a runtime that says what its device is


@dataclass
class Options:
    """seed and rounds of check (0 rounds: enough for the size; less than 0: at most that number)."""

    seed: int = 1
    rounds: int = 0
    device: str = ""  # part of the name of the device or runtime to run on; "": the first
    schedule: Optional[str] = None  # the device class to generate for, as gen build's --device
    excess_precision: bool = False
    # bytes of scratch and stack that a program for small machines may need; None: its device's limit
    most_bytes: Optional[int] = None
    fill_constants: Optional[int] = None  # the seed of values for constants that the text leaves out; None: refused
    leads: Sequence[str] = ()  # arrays whose leading dimensions are given at run time
    larger: bool = True     # these are put inside of larger arrays; else their rows lie one after the other
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)   # of open dimensions, as gen build's --dims
    limit: Optional[int] = None  # seconds of processor time that a launch may take; None: as launch_limit says
    row_major: bool = False  # files of run are row-major, whatever the layouts
    memory: Optional[int] = None  # bytes that a check may take; None: a third of the machine's
    # for fusions that are too large: what is wrong, or None
    check_maps: Optional[Callable[[Fusion], Optional[str]]] = None
    say: Callable[[str], None] = lambda text: None  # called before slow work, with what it is
    step: Callable[[str], None] = lambda text: None  # called where a step begins, for a line of progress


def runner_of(target: str) -> Runner:
    if target not in RUNNERS:
        raise RunError(f"target {target} cannot be run: {', '.join(RUNNERS)} can")
    return RUNNERS[target]


def seconds_of(limit: child.Limit) -> List[int]:
    """A limit of launches as words of the harness."""
    return [math.ceil(limit.processor), math.ceil(limit.passing)]


def launch_limit(target: str, options: Options, expected: float = 0) -> child.Limit:
    """The limit of one launch: what the user says, else LAUNCH_SECONDS on each processor, or ten times what is expected
    where that is more."""
    if options.limit:
        return child.Limit.of(options.limit)
    seconds = max(LAUNCH_SECONDS * runner_of(target).patience, int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def process_limit(options: Options, expected: float = 0) -> child.Limit:
    """The limit of a process with all its launches and the reference."""
    seconds = max(PROCESS_LAUNCHES * max(LAUNCH_SECONDS, options.limit or 0), int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def longest(options: Options) -> int:
    """Seconds that a round of a check, or a bench of a kernel, may be expected to take."""
    return max(costs.MOST_SECONDS, options.limit or 0)
