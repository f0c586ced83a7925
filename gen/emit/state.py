"""The state of a body while its statements are written: options, statements and names."""

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
    """A `Form` whose statements are being written. Only this module sets attributes of it.

    before: the loads of whole vectors.
    text: the computation of one register.
    after: the stores of whole vectors.
    """

    def __init__(self, target: Target, helpers: Helpers, form: Form, index_type: str, excess: bool = False) -> None:
        """excess: true if results of small float types are not rounded."""
        vars(self).update(vars(form))
        self.d, self.helpers, self.index_type, self.excess = target, helpers, index_type, excess
        self.before, self.text, self.after = Code(), Code(), Code()
        # the prefetches of a step, by cache level, pointer and C text of the address
        self.prefetches: Dict[Tuple[int, str, str], List[str]] = {}
        # rows of memory that a step reads at an index that is known only at run time
        self.index_rows: List[IndexRow] = []
        self.touched: List[Touched] = []
        self._arrays: Set[str] = set()      # pointers to arrays that each work-item has for itself
        self._thread_guards = frozenset(conditions(self.thread, self.box, index_type)) if self.thread else frozenset()
        # values of instructions, by instruction, region and map; loaded values, by pointer, position and region; values
        # that other code computes (Form.given), by instruction
        self._env: Dict[Tuple[Instruction, Region, str], List[Value]] = {}
        self._loads: Dict[Tuple[str, str, Region], Value] = {}
        self._given: Dict[Instruction, Given] = dict(form.given)
        # If a function computes the values of two entries at once, such as sine and cosine, this has the value of the
        # second entry until the code of that entry is written.
        self._together: Dict[Tuple[Instruction, Region, str], Value] = {}
        self._printed: List[str] = []                    # maps that are printed as C text in this body
        self._tested: Set[str] = set()                   # variables in conditions of this body
        self._names: Dict[str, int] = {}
        # runtime variables that differ between lanes, each with the array of its values
        self._lanes_of: Dict[str, str] = {}
        # statements to be put before the outermost open loop; None outside of loops
        self._before_loops: "Optional[List[Statement]]" = None
        self._zeros = ""        # name of the array of zeros that is declared before the outermost open loop
        self._held: List[str] = []                       # conditions of the guards that are open

    def accessed(self, verb: str, buffer: Buffer, flat: str, word: int = 0) -> None:
        """Record an access in `touched`. If each work-item has an array of its own, also record the array's pointer,
        for `space`.
        """
        self.touched.append(Touched(verb, buffer, flat, word))
        if buffer.own:
            self._arrays.add(buffer.pointer)

    def space(self, pointer: str) -> str:
        """Return the address space of a buffer that has been accessed, as C text."""
        return self.d.space(pointer in self._arrays)

    # ---- names, maps ----

    def name(self, of: str, prefix: str = "v_") -> str:
        """Return a name that is not yet used in this body."""
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
        """Return the C text of the address of an element. index: a map whose only result is the position."""
        return f"{pointer} + {self._c(index, known, 'added')[0]}"

    def first_address(self, pointer: str, index: str) -> str:
        """Return the C text of the address of the element at lane 0."""
        return self.address(pointer, index, lane=0) if self.lanes > 1 else self.address(pointer, index)

    def word_address(self, pointer: str, index: str, **known: int) -> str:
        """Return the C text of the address of a word that contains several elements. On GPUs, the index is printed as a
        single factor, because otherwise nvcc does not store the word at once.
        """
        return f"{pointer} + {self._c(index, known, 'added' if self.d.wide else 'factor')[0]}"

    def uses(self, variable: str) -> bool:
        """Return true if the statements contain a variable of the body's maps."""
        return variable in self._tested or any(variable in result.variables for index in self._printed
                                               for result in algebra.info(index).results)

    def _first(self, index: str) -> str:
        """Return the C text of a map's only result at lane 0."""
        return self.c(index, lane=0)[0] if self.lanes > 1 else self.c(index)[0]

    def _own(self, index: str) -> "List[Statement]":
        """Return definitions of those runtime variables that differ between lanes and occur in the results of a map.
        index: the map, or "".
        """
        if not self._lanes_of or not index:
            return []
        t, named = self.d.index[self.index_type], {name for result in algebra.info(index).results
                                                   for name in result.variables}
        return [Let(t, name, f"{array}[lane]") for name, array in self._lanes_of.items() if name in named]

    def each_lane(self, statement: Statement, index: str = "", first: "Union[int, str]" = 0,
                  end: "Union[int, str]" = 0) -> For:
        """Return a loop that runs a statement for each lane from `first` to before `end`; `end` 0 stands for the number
        of lanes. index: the map from which the statement was printed.
        """
        return For(self.d.index[self.index_type], "lane", str(end or self.lanes), [*self._own(index), statement],
                   str(first), brief=True)
