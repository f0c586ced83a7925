"""The options of check, run and bench, and the time limits of processes that follow from them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Sequence

from gen import child
from gen.hlo import Fusion
from gen.run import cost as costs
from gen.targets import RUNNERS, RunError, Runner

MOST_ROUNDS = 24    # rounds of a check, as in gen/run/harness/harness.c
LONG_SECONDS = 10   # work that is expected to take longer is announced before it begins
# seconds of processor time that a launch may take on each processor, if at most a tenth of it is expected
LAUNCH_SECONDS = 30
PROCESS_LAUNCHES = 20   # time limit of a process with its reference, in multiples of the longest launch
START = child.Limit.of(60)      # time limit of a runtime that describes its device


@dataclass
class Options:
    """The options of check, run and bench. seed, rounds: of check (0 rounds: enough for the size; negative: at most
    that number)."""

    seed: int = 1
    rounds: int = 0
    device: str = ""  # a part of the name of the device or runtime; "": the first device
    schedule: Optional[str] = None  # the device class to generate for, as in gen build --device
    excess_precision: bool = False
    # bytes of scratch and stack that a program for small machines may need; None: its device's limit
    most_bytes: Optional[int] = None
    fill_constants: Optional[int] = None  # seed for the values of constants that the text leaves out; None: refuse them
    leads: Sequence[str] = ()  # arrays whose leading dimensions are given at run time
    larger: bool = True     # place these inside larger arrays; otherwise their rows are contiguous
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # sizes of open dimensions, as in gen build --dims
    limit: Optional[int] = None  # seconds of processor time that a launch may take; None: see launch_limit
    row_major: bool = False  # files of run are row-major, whatever the layouts
    memory: Optional[int] = None  # bytes that a check may use; None: a third of the machine's
    # for fusions that are too large: returns a fault of the maps, or None
    check_maps: Optional[Callable[[Fusion], Optional[str]]] = None
    say: Callable[[str], None] = lambda text: None  # called before slow work, with a description
    step: Callable[[str], None] = lambda text: None  # called when a step begins, for a progress line


def runner_of(target: str) -> Runner:
    if target not in RUNNERS:
        raise RunError(f"expected a target that can be run, one of {', '.join(RUNNERS)}, found {target}")
    return RUNNERS[target]


def seconds_of(limit: child.Limit) -> List[int]:
    """Return a limit of launches as words of the harness."""
    return [math.ceil(limit.processor), math.ceil(limit.passing)]


def launch_limit(target: str, options: Options, expected: float = 0) -> child.Limit:
    """Return the limit of one launch: the user's limit; else LAUNCH_SECONDS on each processor, or ten times the
    expected time if that is more."""
    if options.limit:
        return child.Limit.of(options.limit)
    seconds = max(LAUNCH_SECONDS * runner_of(target).patience, int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def process_limit(options: Options, expected: float = 0) -> child.Limit:
    """Return the limit of a process with all its launches and the reference."""
    seconds = max(PROCESS_LAUNCHES * max(LAUNCH_SECONDS, options.limit or 0), int(10 * expected))
    return child.Limit.of(seconds, os.cpu_count() or 1)


def longest(options: Options) -> int:
    """Return the maximum expected time of a round of a check, or of a bench of a kernel, in seconds."""
    return max(costs.MOST_SECONDS, options.limit or 0)
