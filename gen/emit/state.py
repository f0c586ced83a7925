"""The state of a body: what it is made for, what it has written, the names that it has given."""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple, Union

from gen import algebra
from gen.emit.form import Form, Given
from gen.emit.helpers import Helpers
from gen.emit.maps import conditions
from gen.statements import Code, For, Let, Statement
from gen.emit.values import IndexRow, Touched, Value
from gen.hlo import Instruction, c_identifier
from gen.plan.buffer import Buffer
from gen.plan.partition import Region
from gen.targets import Target


class State(Form):
    """A form that is written: its texts, its names, and its maps as C text. No other module sets an attribute.

    `before`, `text` and `after` are the loads of whole vectors, the computation of one register, and the stores of
    whole vectors.
    """

    def __init__(self, target: Target, helpers: Helpers, form: Form, index_type: str, excess: bool = False) -> None:
        """excess: excess precision is kept."""
        vars(self).update(vars(form))
        self.d, self.helpers, self.index_type, self.excess = target, helpers, index_type, excess
        self.before, self.text, self.after = Code(), Code(), Code()
        # of a step, by number of the level, pointer and position
        self.prefetches: Dict[Tuple[int, str, str], List[str]] = {}
        self.index_rows: List[IndexRow] = []             # that a step reads
        self.touched: List[Touched] = []
        self._arrays: Set[str] = set()      # pointers to arrays of the work-item
        self._thread_guards = frozenset(conditions(self.thread, self.box, index_type)) if self.thread else frozenset()
        # values with names: of instructions in regions; of loads, by buffer, position and region; given ones
        self._env: Dict[Tuple[Instruction, Region, str], List[Value]] = {}
        self._loads: Dict[Tuple[str, str, Region], Value] = {}
        self._given: Dict[Instruction, Given] = dict(form.given)
        # of entries still to come, computed together with another entry
        self._together: Dict[Tuple[Instruction, Region, str], Value] = {}
        self._printed: List[str] = []                    # maps that are C text here
        self._tested: Set[str] = set()                   # variables of the conditions here
        self._names: Dict[str, int] = {}
        self._lanes_of: Dict[str, str] = {}              # runtime variables that differ between lanes, as arrays
        self._before_loops: "Optional[List[Statement]]" = None    # of the outermost loop that is open; None: none is
        self._zeros = ""        # the name of zeros before that loop that the compiler does not know
        self._held: List[str] = []                       # the conditions of their guards

    def accessed(self, verb: str, buffer: Buffer, flat: str, word: int = 0) -> None:
        """Keeps an access for `touched`."""
        self.touched.append(Touched(verb, buffer, flat, word))
        if buffer.own:
            self._arrays.add(buffer.pointer)

    def space(self, pointer: str) -> str:
        """The address space of a buffer that has been accessed."""
        return self.d.space(pointer in self._arrays)

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

    def c(self, index: str, **known: int) -> Tuple[str, ...]:
        return self._c(index, known, "")

    def _c(self, index: str, known: "Dict[str, int]", place: str) -> Tuple[str, ...]:
        index = algebra.substitute(index, **known) if known else index
        self._printed.append(index)
        return algebra.c_text(index, self.index_type, place).results

    def address(self, pointer: str, index: str, **known: int) -> str:
        """C text: the address of the element at the one result of a map."""
        return f"{pointer} + {self._c(index, known, 'added')[0]}"

    def first_address(self, pointer: str, index: str) -> str:
        """That address at lane 0."""
        return self.address(pointer, index, lane=0) if self.lanes > 1 else self.address(pointer, index)

    def word_address(self, pointer: str, index: str, **known: int) -> str:
        """The address of several elements that are accessed at once: nvcc keeps a store of them one where the index is
        one number."""
        return f"{pointer} + {self._c(index, known, 'added' if self.d.wide else 'factor')[0]}"

    def uses(self, variable: str) -> bool:
        """Whether the body's text names a variable of its maps."""
        return variable in self._tested or any(variable in result.variables for index in self._printed
                                               for result in algebra.info(index).results)

    def _first(self, index: str) -> str:
        """The one result of a map at lane 0."""
        return self.c(index, lane=0)[0] if self.lanes > 1 else self.c(index)[0]

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
