"""The heroes: which there are, and which one writes a nest."""

from __future__ import annotations

from typing import List, Sequence

from gen.emit.values import NotWide
from gen.heroes import (concatenate, concatenate_cpu, distribute, loop, pad_cpu, reduction_cpu, reduction_gpu,
                        rows_cpu, rows_gpu, scan_cpu, scan_gpu, scatter, table, transpose_cpu, transpose_gpu,
                        transpose_lines, update_in_place, window_cpu, window_scatter)
from gen.heroes.hero import Context, Hero, Refused
from gen.heroes.kernel import Kernel
from gen.plan.nest import BuildError, Nest

# The first that takes a nest and has a schedule that its maps allow writes it; loop takes every nest.
HEROES: Sequence[Hero] = (scatter.HERO, concatenate_cpu.HERO, concatenate.HERO, update_in_place.HERO, distribute.HERO,
                          rows_cpu.HERO, rows_gpu.HERO, reduction_cpu.HERO, reduction_gpu.HERO, scan_cpu.HERO,
                          scan_gpu.HERO, transpose_gpu.HERO, transpose_lines.HERO, transpose_cpu.HERO, window_cpu.HERO,
                          window_scatter.HERO, pad_cpu.HERO, table.HERO, loop.HERO)


def kernels(nest: Nest, context: Context) -> List[Kernel]:
    """The nest's kernels by the first hero and schedule that its maps allow, then those of side results that are not
    among them. Where no hero takes a nest that is made of others: the kernels of these."""
    refusals: List[str] = []
    for hero in HEROES:
        if hero.members != bool(nest.members):
            continue
        try:
            written = _by(hero, nest, context)
        except Refused as reason:
            refusals.append(f"{hero.__module__.rpartition('.')[2]}: refused, {reason}")
            continue
        if written:
            others = [] if hero.sides else nest.sides
            break
    else:
        if not nest.members:
            raise BuildError(f"{nest.name}: {hero.refusal(nest)}")
        written, others = [], nest.members
    written += [kernel for other in others for kernel in kernels(other, context)]
    written[0].refusals[:0] = refusals
    return written


def _by(hero: Hero, nest: Nest, context: Context) -> List[Kernel]:
    """The nest's kernels by a hero; [] where it does not take it, or has no schedules."""
    tried = 0
    for schedule in hero.schedules(nest, context) if hero.takes(nest, context) else []:
        tried += 1
        try:
            written = hero.attempt(nest, schedule, context)
        except NotWide:
            continue
        if written:
            for kernel in written:
                kernel.by = kernel.by or hero
            return written
    if tried:
        raise Refused(f"the maps allow none of its schedules ({tried})")
    return []
