"""The state of a body: what it is made for, what it has written, the names that it has given."""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Set, Tuple, Union

from gen import algebra
from gen.emit.helpers import Helpers
from gen.emit.maps import conditions
from gen.emit.statements import Code, For, Let, Statement
from gen.emit.values import IndexRow, Touched, Value
from gen.hlo import Instruction, Shape, c_identifier
from gen.plan.buffer import Buffer
from gen.plan.partition import Function, Partition, Region, compose
from gen.schedule import Schedule
from gen.targets import Target

# The values of an instruction, one an output, or the function that computes them in a body.
Given = Union[List[Value], Callable[[Any], List[Value]]]


class State:
    """What a body is made for, the texts that it writes, its names, and its maps as C text. No other module sets an
    attribute.

    `before`, `text` and `after` are the loads of whole vectors, the computation of one register, and the stores of
    whole vectors.
    """

    def __init__(self, target: Target, helpers: Helpers, partition: Partition, function: Function, index_type: str,
                 thread: Optional[str] = None, loop: Optional[Schedule] = None, excess: bool = False,
                 box: "Optional[Dict[str, Tuple[int, int]]]" = None, *, lanes: "Optional[int]" = None,
                 steady: bool = False, strip: str = "", walked: "Optional[Shape]" = None,
                 staged: "Optional[Dict[Tuple[str, str], str]]" = None,
                 given: "Optional[Mapping[Instruction, Given]]" = None, shared: "Collection[Buffer]" = (),
                 stored: "Optional[Tuple[str, str]]" = None) -> None:
        """thread: the map from a work-item's step to the element; None: the function's own indices. box: the bounds of
        its variables.
        lanes: of a register, where the schedule does not say. excess: excess precision is kept. steady: runtime
        variables that are the same for all of a step are bound before it. strip: the variable that counts tiles along
        the lanes. walked: the shape in whose memory order steps follow one another. staged: C text of elements that lie
        in a shared-memory tile, by pointer and position. given: values of instructions that the partition takes as
        given, or how they are computed when first read. shared: buffers that other pointers lead to. stored: the first
        lane of a register that is stored and the one after the last, as C texts, where not all are."""
        self.d, self.helpers, self.partition, self.function = target, helpers, partition, function
        self.index_type, self.thread, self.loop, self.excess = index_type, thread, loop or Schedule(), excess
        self.lanes = self.loop.lanes if lanes is None else lanes
        self.shared, self.stored_lanes = frozenset(shared), stored
        self.moves = self.loop.moves    # elements are unsigned integers of their width, whatever they mean
        self.steady, self.strip, self.walked, self.staged = steady, strip, walked, dict(staged or {})
        self.before, self.text, self.after = Code(), Code(), Code()
        # of a step, by number of the level, pointer and position
        self.prefetches: Dict[Tuple[int, str, str], List[str]] = {}
        self.index_rows: List[IndexRow] = []             # that a step reads
        self.accesses: List[Touched] = []
        self.box = {**(box or {f"i{k}": (0, size - 1) for k, size in enumerate(function.dims)}),
                    **{name: (0, size - 1) for name, size in partition.ranges.items()}}
        self._thread_guards = frozenset(conditions(thread, self.box, index_type)) if thread else frozenset()
        # values with names: of instructions in regions; of loads, by buffer, position and region; given ones
        self._env: Dict[Tuple[Instruction, Region, str], List[Value]] = {}
        self._loads: Dict[Tuple[str, str, Region], Value] = {}
        self._given: Dict[Instruction, Given] = dict(given or {})
        # of entries still to come, computed together with another entry
        self._together: Dict[Tuple[Instruction, Region, str], Value] = {}
        self._printed: List[str] = []                    # maps that are C text here
        self._tested: Set[str] = set()                   # variables of the conditions here
        self._names: Dict[str, int] = {}
        self._lanes_of: Dict[str, str] = {}              # runtime variables that differ between lanes, as arrays
        # regions
        self._open: "set[Region]" = set()                # those of steady runtime variables: read as the body's own are
        self._before_loops: "Optional[List[Statement]]" = None    # of the outermost loop that is open; None: none is
        self._held: List[str] = []                       # the conditions of their guards

    def accessed(self, verb: str, buffer: Buffer, flat: str) -> None:
        """Keeps an access for `accesses`."""
        self.accesses.append(Touched(verb, buffer, flat))

    # ---- names, maps ----

    def name(self, of: str, prefix: str = "v_") -> str:
        """A name that nothing else in this body has."""
        base = name = prefix + c_identifier(of)
        count = self._names.get(base, 0)
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names[base] = count
        self._names.setdefault(name, 0)
        return name

    def mapped(self, index: str) -> str:
        return compose(self.thread, index) if self.thread else index

    def c(self, index: str, **known: int) -> Tuple[str, ...]:
        index = algebra.substitute(index, **known) if known else index
        self._printed.append(index)
        return algebra.c_text(index, self.index_type).results

    def uses(self, variable: str) -> bool:
        """Whether the body's text names a variable of its maps."""
        return variable in self._tested or any(variable in result.variables for index in self._printed
                                               for result in algebra.info(index).results)

    def _first(self, index: str) -> str:
        """The one result of a map at lane 0."""
        return self.c(index, lane=0)[0] if self.lanes > 1 else self.c(index)[0]

    def stride(self, index: str, variable: str) -> "Tuple[Optional[int], int]":
        if variable == "lane" and self._by_lane(index):
            return None, 1
        access = algebra.access(index, variable)[0]
        return access.stride, access.align

    def _by_lane(self, index: str) -> "List[str]":
        """The runtime variables of a map that each lane has for itself."""
        return [v.name for v in algebra.info(index).variables if v.name in self._lanes_of] if self._lanes_of else []

    def _own(self, index: str) -> "List[Statement]":
        """The definitions of the runtime variables that a lane has for itself, of those that the results of a map name
        ("": of no map)."""
        if not self._lanes_of or not index:
            return []
        t, named = self.d.index[self.index_type], {name for result in algebra.info(index).results
                                                   for name in result.variables}
        return [Let(t, name, f"{array}[lane]") for name, array in self._lanes_of.items() if name in named]

    def each_lane(self, statement: Statement, index: str = "", first: "Union[int, str]" = 0,
                  end: "Union[int, str]" = 0) -> For:
        """The loop that does a statement for each lane from `first` to `end` (0: the last). index: the map whose C text
        is in it."""
        return For(self.d.index[self.index_type], "lane", str(end or self.lanes), [*self._own(index), statement],
                   str(first), brief=True)
