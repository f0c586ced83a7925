"""Turn a partition and a schedule into the text of a kernel's bodies. The algebra composes and prints every index as a
map.

A body is built in layers; each is a file with a class, whose bases are the layers that it uses:
- `Form` (form.py): what the body computes, known before its first statement;
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
    """One form of a function's body: the kernel's body, scalar or wide, reached through a thread map, or the body of a
    scalar function."""

    def with_excess(self) -> Body:
        """Return a body that appends to the same texts, shares the names, and keeps excess precision."""
        body = copy(self)
        body.excess = True
        return body
