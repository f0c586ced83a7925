"""The hero of dynamic-update-slice: a kernel over the update, which writes it in place and does nothing else
(gen/plan/update.py says when)."""

from __future__ import annotations

from gen.heroes import loop
from gen.plan.update import Update


class UpdateInPlaceHero(loop.LoopHero):
    """A walk over the update. All reads of a step precede its writes, as both may access the same elements."""

    name = "dynamic-update-slice"
    nest_class = Update


HERO = UpdateInPlaceHero()
