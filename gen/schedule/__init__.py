"""Maps say where, templates say how; a schedule only counts, with the numbers of a device."""

from gen.schedule.devices import DEFAULT, DEVICES, LANES, LINE, PIECE, PIECES, VECTOR_BITS, Device, device_for
from gen.schedule.loop import Loop, candidates, chunks_of, reversed_walk
from gen.schedule.schedule import Schedule
