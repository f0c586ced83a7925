"""Schedules: how many threads, steps, vector lanes and registers a kernel has, computed from the numbers of a device.
Maps give the addresses, and templates give the text.
"""

from gen.schedule.devices import (CALLED_COST, CPU_COSTS, DEFAULT, DEVICES, DIVISION_COST, EMBEDDED, FEW_ROWS,
                                  GPU_COSTS, GUARD_REGISTERS, KEPT_COST, LANES, LAUNCH_BYTES, LINE, MOST_DIVISIONS,
                                  Panels, PICKED_STRIDE, PlanClass, PIECE, PIECES, SHORT_SUM, SMALL_BYTES, SMALL_COSTS,
                                  SCATTERED_COST,
                                  SIDES_COST, SPREAD_ELEMENTS, SPREAD_ROW, STEP_COST, STRIDED_COST,
                                  TILED_ELEMENTS, UNROLLED_STATEMENTS, VECTOR_BITS, WINDOW_ELEMENTS, WINDOW_OVERLAP,
                                  WINDOW_STRIDE, Costs, Device, GpuTile, SharedTiles, device_for)
from gen.schedule.loop import Interleaving, LoopSchedule, candidates, chunks_of, narrowed_walk, reversed_walk
from gen.schedule.schedule import Schedule
