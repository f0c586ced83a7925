"""What a hero is: one way to write a nest as kernels. gen/heroes/__init__.py lists them in the order in which they are
asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence

from gen.algebra import TooNarrow
from gen.emit.helpers import Helpers
from gen.emit.maps import INDEX_TYPES
from gen.heroes.kernel import Kernel
from gen.hlo import Shape
from gen.plan.nest import TOO_LARGE, Nest
from gen.schedule import Device
from gen.targets import Target


@dataclass
class Context:
    """What a hero is given beside a nest. helpers: functions and tables of the file so far. scratch: the buffers
    between kernels so far, whose pointers are q0, q1, ..; a hero may append to it. threads: of a block, where they are
    settled (0: the hero chooses): a schedule must then have that number."""

    target: Target
    device: Device
    helpers: Helpers
    excess: bool
    scratch: List[Shape]
    threads: int = 0

    def trial(self) -> "Context":
        """The same, with copies of what a hero adds to."""
        target = self.target.of_file(self.target.used)
        return Context(target, self.device, self.helpers.trial(target), self.excess, list(self.scratch), self.threads)

    def keep(self, trial: "Context") -> None:
        """Takes over what a trial has added."""
        self.helpers.keep(trial.helpers)
        self.scratch[:] = trial.scratch
        self.target.used.update(trial.target.used)


class Refused(Exception):
    """Why a hero does not write a nest of the kind that it is made for: a size, a type, the device. `gen explain` says
    it."""


class Hero:
    """The interface of all heroes.

    name: in reports and manifests; its kernels have it as their `hero`, and heroes may share a name.
    sides: whether its kernels write a nest's side results too (else each side is a nest of its own). members: whether
    it takes nests that are made of others, and these alone.
    """

    name = ""
    sides = False
    members = False

    def takes(self, nest: Nest, context: Context) -> bool:
        """Whether it may write this nest, which may be of any kind and type; it may still find that no schedule
        fits. Refused: it is of the hero's kind, but not for it."""
        raise NotImplementedError

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        """What may be tried, best first: a schedule, alone or in a record with what the hero has found out about the
        nest. Refused: as `takes`."""
        raise NotImplementedError

    def index_types(self, schedule: Any) -> "Sequence[str]":
        """The types that an index may have, the preferred one first."""
        return INDEX_TYPES

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        """The kernels of one schedule in one index type. None or NotWide: the maps do not allow this schedule;
        TooNarrow: nor this index type."""
        raise NotImplementedError

    def describe(self, kernel: Kernel) -> "List[str]":
        """Lines for people about a kernel's schedule, below the line that all have."""
        return [f"position: {kernel.position}"] * bool(kernel.position)

    def manifest(self, kernel: Kernel) -> "Dict[str, str]":
        """What a manifest says of a kernel beside its name, schedule and launch."""
        return {}

    def refusal(self, nest: Nest) -> str:
        """Why no schedule fits, where this hero is the last that may take the nest."""
        return TOO_LARGE

    def attempt(self, nest: Nest, schedule: Any, context: Context) -> "Optional[List[Kernel]]":
        """The kernels of one schedule in the first index type that holds; None where none holds."""
        for index_type in self.index_types(schedule):
            trial = context.trial()
            try:
                kernels = self.kernels(nest, schedule, index_type, trial)
            except TooNarrow:
                continue
            context.keep(trial)
            return kernels
        return None
