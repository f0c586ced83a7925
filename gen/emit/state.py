"""The state of a body: its options, its statements, and the names that it has used."""

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
    """A form that is being written: its texts, its names, and its maps as C text. No other module sets an attribute.

    `before` has the loads of whole vectors, `text` the computation of one register, `after` the stores of whole
    vectors.
    """

    def __init__(self, target: Target, helpers: Helpers, form: Form, index_type: str, excess: bool = False) -> None:
        """excess: true if the body keeps excess precision."""
        vars(self).update(vars(form))
        self.d, self.helpers, self.index_type, self.excess = target, helpers, index_type, excess
        self.before, self.text, self.after = Code(), Code(), Code()
        # the prefetches of a step, by level, pointer and position
        self.prefetches: Dict[Tuple[int, str, str], List[str]] = {}
        self.index_rows: List[IndexRow] = []             # the rows that a step reads by an index
        self.touched: List[Touched] = []
        self._arrays: Set[str] = set()      # pointers to arrays of the work-item
        self._thread_guards = frozenset(conditions(self.thread, self.box, index_type)) if self.thread else frozenset()
        # named values: of instructions in regions; of loads by buffer, position and region; given values
        self._env: Dict[Tuple[Instruction, Region, str], List[Value]] = {}
        self._loads: Dict[Tuple[str, str, Region], Value] = {}
        self._given: Dict[Instruction, Given] = dict(form.given)
        # values of later entries that an earlier entry's function has already computed
        self._together: Dict[Tuple[Instruction, Region, str], Value] = {}
        self._printed: List[str] = []                    # maps printed as C text in this body
        self._tested: Set[str] = set()                   # variables of the conditions in this body
        self._names: Dict[str, int] = {}
        self._lanes_of: Dict[str, str] = {}  # runtime variables that differ between lanes, with their arrays
        # statements before the outermost open loop; None outside of loops
        self._before_loops: "Optional[List[Statement]]" = None
        self._zeros = ""        # name of the hidden zeros declared before that loop
        self._held: List[str] = []                       # conditions of the open guards

    def accessed(self, verb: str, buffer: Buffer, flat: str, word: int = 0) -> None:
        """Record an access for `touched`."""
        self.touched.append(Touched(verb, buffer, flat, word))
        if buffer.own:
            self._arrays.add(buffer.pointer)

    def space(self, pointer: str) -> str:
        """Return the address space of a buffer that has been accessed."""
        return self.d.space(pointer in self._arrays)

    # ---- names, maps ----

    def name(self, of: str, prefix: str = "v_") -> str:
        """Return a name that is new in this body."""
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
        """Return the C text of the address of the element at a map's only result."""
        return f"{pointer} + {self._c(index, known, 'added')[0]}"

    def first_address(self, pointer: str, index: str) -> str:
        """Return the C text of the same address at lane 0."""
        return self.address(pointer, index, lane=0) if self.lanes > 1 else self.address(pointer, index)

    def word_address(self, pointer: str, index: str, **known: int) -> str:
        """Return the address of several elements that are accessed at once. nvcc keeps a store of several elements
        whole if the index is a single factor.
        """
        return f"{pointer} + {self._c(index, known, 'added' if self.d.wide else 'factor')[0]}"

    def uses(self, variable: str) -> bool:
        """Return true if the body's text contains a variable of its maps."""
        return variable in self._tested or any(variable in result.variables for index in self._printed
                                               for result in algebra.info(index).results)

    def _first(self, index: str) -> str:
        """Return the only result of a map, at lane 0."""
        return self.c(index, lane=0)[0] if self.lanes > 1 else self.c(index)[0]

    def _own(self, index: str) -> "List[Statement]":
        """Return definitions of the runtime variables that differ from lane to lane and occur in the results of a map
        ("": no map)."""
        if not self._lanes_of or not index:
            return []
        t, named = self.d.index[self.index_type], {name for result in algebra.info(index).results
                                                   for name in result.variables}
        return [Let(t, name, f"{array}[lane]") for name, array in self._lanes_of.items() if name in named]

    def each_lane(self, statement: Statement, index: str = "", first: "Union[int, str]" = 0,
                  end: "Union[int, str]" = 0) -> For:
        """Return the loop that runs a statement for the lanes from `first` to `end` (0: the number of lanes). index:
        the map that the statement is printed from."""
        return For(self.d.index[self.index_type], "lane", str(end or self.lanes), [*self._own(index), statement],
                   str(first), brief=True)
