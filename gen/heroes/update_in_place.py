"""The hero (kernel emitter) of dynamic-update-slice in place: a kernel over the update, which writes nothing but the
updated elements. gen/plan/update.py says when a result may overwrite the operand.
"""

from __future__ import annotations

from gen.heroes import loop
from gen.plan.update import Update


class UpdateInPlaceHero(loop.LoopHero):
    """A loop over the update. All reads of a step precede its writes, because a step may write elements that it reads.
    """

    name = "dynamic-update-slice"
    nest_class = Update


HERO = UpdateInPlaceHero()
