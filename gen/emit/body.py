"""Write the statements of a kernel's functions. The algebra composes and prints the map of every index.

A body is a class with several base classes. Each of them is in a file of its own and uses those before it:
- `Form` (form.py): what the body computes, known before the first statement;
- `State` (state.py): its statements, names and maps as C text;
- `Registers` (registers.py): values in registers;
- `Elementwise` (elementwise.py): ops on registers;
- `Accesses` (accesses.py): where the elements of a step are in memory;
- `Loads` and `Stores` (loads.py, stores.py);
- `Regions` (regions.py): the code of regions: values, calls, guards and loops.
"""

from __future__ import annotations

from copy import copy

from gen.emit.regions import Regions
from gen.emit.stores import Stores


class Body(Stores, Regions):
    """The code of a function in one form: the body of a kernel, for vectors or for single elements, or the body of a
    function that a kernel calls.
    """

    def with_excess(self) -> Body:
        """Return a copy of this body that does not round to small float types. Both bodies append to the same
        statements and share their names.
        """
        body = copy(self)
        body.excess = True
        return body
