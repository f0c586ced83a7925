"""From a partition and a schedule to the text of a kernel's bodies: every index is a map that the algebra composes and
prints.

A body is built in layers, each a file and a class that says by its bases what it uses:
- `Form` (form.py): what the body computes, before it has a statement;
- `State` (state.py): its statements, names and maps as C text;
- `Registers` (registers.py): values in registers;
- `Elementwise` (elementwise.py): ops on them;
- `Accesses` (accesses.py): how a step's elements lie in memory;
- `Loads` and `Stores` (loads.py, stores.py);
- `Regions` (regions.py): entries, calls, guards, loops.
"""

from __future__ import annotations

from copy import copy

from gen.emit.regions import Regions
from gen.emit.stores import Stores


class Body(Stores, Regions):
    """One form of a function's body: the kernel's (through a thread map, scalar or wide), or a scalar function's."""

    def with_excess(self) -> Body:
        """A body that writes on with the same texts and names and keeps excess precision."""
        body = copy(self)
        body.excess = True
        return body
