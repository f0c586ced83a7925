"""The hero of dynamic-update-slice: a kernel over the update that writes it where it lies, and nothing else
(gen/plan/update.py says when)."""

from __future__ import annotations

from gen.heroes import loop
from gen.plan.update import Update


class UpdateInPlaceHero(loop.LoopHero):
    """A walk over the update. All of a step is read before anything is written: what it reads may be what it writes."""

    name = "dynamic-update-slice"
    nest_class = Update


HERO = UpdateInPlaceHero()
