"""The list of heroes, which are the ways to write a nest (the plan of one kernel) as kernels, and the choice among
them.
"""

from __future__ import annotations

from typing import Any, List, Sequence

from gen.heroes import (concatenate, concatenate_cpu, contraction_cpu, contraction_gpu,
                        contraction_mfma, contraction_mma, contraction_wgmma, distribute, fft, fft_gpu, lapack, loop,
                        matrices, matrices_gpu,
                        pad_cpu, reduction_cpu, reduction_gpu, rows_cpu, rows_gpu, scan_cpu, scan_gpu, scatter,
                        small_products_cpu, sort_cpu, sort_gpu, strips_cpu, table, transpose_cpu, transpose_gpu,
                        transpose_lines, update_in_place, window_cpu, window_scatter)
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.plan.buffers import buffers_of
from gen.plan.nest import BuildError, Nest

# The first hero in this order that accepts a nest writes it, if a schedule fits the nest's maps. The loop hero accepts
# every nest.
HEROES: Sequence[Hero[Any, Any]] = (
    matrices_gpu.HERO, matrices.HERO, lapack.HERO, sort_cpu.HERO, sort_gpu.HERO, sort_gpu.ROWS, fft_gpu.HERO,
    fft.HERO, scatter.HERO,
    strips_cpu.HERO, contraction_cpu.HERO, small_products_cpu.HERO, contraction_wgmma.HERO, contraction_mma.HERO,
    contraction_mfma.HERO, contraction_gpu.HERO,
    concatenate_cpu.HERO, concatenate.HERO, update_in_place.HERO, distribute.HERO, rows_cpu.HERO, rows_gpu.HERO,
    reduction_cpu.HERO, reduction_gpu.HERO, scan_cpu.HERO, scan_gpu.HERO, transpose_gpu.HERO, transpose_lines.HERO,
    transpose_cpu.HERO, window_cpu.HERO, window_scatter.HERO, pad_cpu.HERO, table.HERO, loop.HERO)


def choose(nest: Nest, context: Context) -> List[Choice[Any, Any]]:
    """Return the choice of the first hero that accepts the nest, followed by the choices for the side results that this
    hero does not write. If no hero accepts a combined nest, return the choices for its members.
    """
    refusals: List[str] = []
    for hero in HEROES:
        if not isinstance(nest, hero.nest_class) or hero.members != bool(nest.members):
            continue
        if not hero.leads and _has_leads(nest):
            refusals.append(f"{hero.__module__.rpartition('.')[2]}: refused, a leading dimension is given at run time")
            continue
        try:
            choice = next(iter(hero.choices(nest, context)), None) if hero.takes(nest, context) else None
        except Refused as reason:
            refusals.append(f"{hero.__module__.rpartition('.')[2]}: refused, {reason}")
            continue
        if choice:
            choice.scratch = [context.new(shape) for shape in hero.scratch_shapes(nest, choice.schedule, context)]
            choice.grids = hero.grids(choice, context)
            chosen, others = [choice], () if hero.sides else nest.sides
            break
    else:
        if not nest.members:
            raise BuildError(f"{nest.name}: {hero.refusal(nest)}")
        chosen, others = [], nest.members
    chosen += [choice for other in others for choice in choose(other, context)]
    chosen[0].refusals[:0] = refusals
    return chosen


def _has_leads(nest: Nest) -> bool:
    """Return true if the nest or a side result accesses an array whose leading dimension the caller passes at run time.
    """
    partitions = [partition for each in (nest, *nest.sides) for partition in each.partitions]
    return any(root.shape.lead for partition in partitions for root in partition.roots) or any(
        buffer.shape.lead for partition in partitions for function in partition.functions
        for buffer in buffers_of(partition, function))
