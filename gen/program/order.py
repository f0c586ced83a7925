"""Order the launches of a program without loops and branches so that the arrays alive at the same time need less
memory.

The order differs from the program's order only if that reduces the peak. A read of an array remains between the same
two writes of the array.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable, Dict, List, Sequence, Set, Tuple

from gen.program.ir import Array, Program
from gen.program.steps import Launch


def ordered(program: Program, launches: "Sequence[Launch]", owner: "Callable[[Array], Array]") -> List[Launch]:
    """Return the launches in an order that needs less memory at its peak, or else in the given order. owner: returns
    the array that represents all arrays in the same memory.
    """
    uses = [{owner(array) for array in launch.arrays} for launch in launches]
    own = {owner(array) for array in (*program.params, *program.results)}
    sizes = {array: 0 if array in own else array.shape.bytes for arrays in uses for array in arrays}
    text = list(range(len(launches)))
    other = _greedy(_before(launches, owner), uses, sizes)
    return [launches[n] for n in min(text, other, key=lambda order: _most(order, uses, sizes))]


def _before(launches: "Sequence[Launch]", owner: "Callable[[Array], Array]") -> "List[Set[int]]":
    """Return, for each launch, the earlier launches that must stay before it. Two launches keep their order if both
    use the same array and at least one of them writes it.
    """
    before: "List[Set[int]]" = []
    written: Dict[Array, int] = {}
    read: Dict[Array, List[int]] = {}
    for n, launch in enumerate(launches):
        writes = {owner(array) for array in launch.writes}
        reads = {owner(array) for array in launch.reads} - writes
        needed = {written[array] for array in writes | reads if array in written}
        needed.update(earlier for array in writes for earlier in read.get(array, ()))
        before.append(needed)
        for array in writes:
            written[array], read[array] = n, []
        for array in reads:
            read.setdefault(array, []).append(n)
    return before


def _greedy(before: "List[Set[int]]", uses: "List[Set[Array]]", sizes: "Dict[Array, int]") -> List[int]:
    """Return an order that is chosen greedily: the next launch is the one after which the fewest bytes are alive. Ties
    are broken by the given order.
    """
    left = Counter(array for arrays in uses for array in arrays)
    waiting, after = [len(needed) for needed in before], [[] for _ in before]   # type: List[int], List[List[int]]
    for n, needed in enumerate(before):
        for earlier in needed:
            after[earlier].append(n)
    ready = [n for n, count in enumerate(waiting) if not count]
    begun, order = set(), []    # type: Set[Array], List[int]

    def growth(n: int) -> Tuple[int, int]:
        return sum(sizes[a] for a in uses[n] if a not in begun) - sum(sizes[a] for a in uses[n] if left[a] == 1), n

    while ready:
        n = min(ready, key=growth)
        ready.remove(n)
        order.append(n)
        begun |= uses[n]
        for array in uses[n]:
            left[array] -= 1
        for later in after[n]:
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    return order


def _most(order: "Sequence[int]", uses: "List[Set[Array]]", sizes: "Dict[Array, int]") -> int:
    """Return the largest number of bytes that are alive at the same time."""
    last = {array: at for at, n in enumerate(order) for array in uses[n]}
    alive: Set[Array] = set()
    held = most = 0
    for at, n in enumerate(order):
        held += sum(sizes[array] for array in uses[n] - alive)
        alive |= uses[n]
        most = max(most, held)
        ended = {array for array in uses[n] if last[array] == at}
        held -= sum(sizes[array] for array in ended)
        alive -= ended
    return most
