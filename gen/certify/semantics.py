"""The proof of semantics by queries: the text computes each element of a result from the same elements as HLO.

For each store of a kernel, at any step of any work-item, meaning.py gives the expression of each element that is
stored. ops.py gives HLO's expression of the result's element at this place. A query asks for a step at which one of
the two expressions reads an element that the other does not read. Padding, and selections by index, are conditions of
reads, and so part of the query.

If this proof fails, or if HLO has a sum, instances.py tries another proof.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen.certify import expressions, ops, terms
from gen.certify.expressions import Bound, Expression, Reads
from gen.certify.following import Following, Ordered
from gen.certify.instances import ONCE, SAMPLES, Comparison, Followed, Instances, Needs
from gen.certify.meaning import Meaning, Store
from gen.certify.ops import Element, Unsupported
from gen.certify.passing import NotFollowed, Passing, Place
from gen.certify.queries import Failure, _divisors, _relevant, _values
from gen.certify.reader import Reader
from gen.certify.smt import Answer, Solvers
from gen.certify.terms import Condition, Printer, Term, both, number
from gen.certify.text import FAULTS, Unknown, fault
from gen.certify.values import Memory
from gen.hlo.graph import Computation
from gen.hlo.leaves import Leaf, result_leaves

# Maximum number of elements of a store. An element counts once for each choice of stores through which its value may
# have passed.
MOST_LANES = 400
MOST_STEPS = 100_000  # maximum number of steps of a reduction that the check of a counterexample enumerates
MOST_PAIRS = 4_000  # maximum number of pairs of reads in a query
WALK_STATEMENTS = 30000  # maximum number of statements that the walk of a kernel visits
MOST_ADDRESSES = 32  # maximum number of pairs of addresses in a query
TOGETHER = 16  # maximum number of a store's elements in a query


@dataclass
class Meant:
    """The verdict on a launch's semantics. kind: proved, refuted or not proved. reason: the reason why they are not
    proved.
    """

    kind: str
    reason: str = ""
    failure: "Optional[Failure]" = None
    seconds: float = 0.0

    def text(self) -> str:
        return f"semantics {self.kind}" + (f" ({self.reason})" if self.reason else "")


class NotProved(Exception):
    """Raised if the semantics of a launch are not proved. The text is the reason."""


# exceptions after which the semantics of a launch are not proved
NOT_FOLLOWED = (NotProved, Unsupported, NotFollowed, Unknown, *FAULTS)


def reason_of(error: Exception) -> str:
    """Return the reason that an exception of NOT_FOLLOWED gives."""
    if isinstance(error, FAULTS):
        return fault(error)
    return error.message if isinstance(error, Unknown) else str(error)


@dataclass
class _Walked:
    """A launch and its stores.

    memories: the arrays of the kernel's pointers.
    groups: the variables that number the work-group.
    problem: the reason why the stores are not known, or "".
    """

    number: int
    launch: "Any"
    memories: "Set[Memory]"
    stores: "List[Store]" = field(default_factory=list)
    groups: "Set[terms.Atom]" = field(default_factory=set)
    problem: str = ""
    seconds: float = 0.0


@dataclass
class _Lane:
    """An element of a store.

    index: an index of the result, made of variables.
    at: the condition that the store writes the result's element at `index`.
    does: the elements that the text reads.
    says: the elements that HLO reads.
    """

    index: "ops.Index"
    at: Condition
    does: Reads
    says: Reads
    changed: bool  # true if a later store may overwrite the element


class Semantics:
    """Tries to prove the semantics of the launches of a program."""

    def __init__(self, computation: Computation, reader: Reader, target: str, aliases: "Sequence[Any]" = ()) -> None:
        Expression.clear()
        self.computation = computation
        self.meaning = Meaning(reader, target)
        self.following = Following(reader, target)
        self.followed: "List[Followed]" = []
        self.following_atoms: "Dict[terms.Atom, Expression]" = {}
        self.following_ends: "Dict[Expression, Tuple[Expression, Expression]]" = {}
        self.once = _counts(computation)
        self.leaves: "List[Leaf]" = result_leaves(computation)
        self.memories: "Dict[Tuple[str, int, int], Memory]" = {}
        self.walked: "List[_Walked]" = []
        self.of_atom: "Dict[terms.Atom, Expression]" = {}
        self.ends: "Dict[Expression, Tuple[Expression, Expression]]" = {}
        self.in_place = {alias["result"]: alias["parameter"] for alias in aliases}

    def memories_of(self, launch: "Any") -> "Dict[str, Memory]":
        """Return the memory behind each pointer of a launch's kernel. Here, a result that overwrites a parameter in
        place has a memory of its own.
        """
        found: "Dict[str, Memory]" = {}
        for argument in launch["arguments"]:
            key = argument["buffer"], 0 if argument["buffer"] == "scratch" else argument["number"], argument["offset"]
            if key not in self.memories:
                self.memories[key] = Memory(
                    argument["name"], "global", None if argument.get("lead") else argument["bytes"], key
                )
            found[argument["name"]] = memory = self.memories[key]
            if key[0] == "results" and not key[2] and key[1] in self.in_place:
                # the result overwrites this parameter: until the result is written, its memory contains the parameter
                before = "params", self.in_place[key[1]], 0
                if before not in self.memories:
                    self.memories[before] = Memory(argument["name"], "global", argument["bytes"], before)
                self.meaning.before[memory] = self.following.before[memory] = self.memories[before]
        return found

    def parameter(self, number_of: int, shape: "Any", index: "ops.Index") -> Expression:
        """Return an element of a parameter, as a read of the parameter's buffer."""
        key = "params", number_of, 0
        if key not in self.memories:
            self.memories[key] = Memory(f"p{number_of}", "global", shape.bytes, key)
        width = ops.bytes_of(shape)
        return expressions.read(self.memories[key], ops.position(shape, index).times(width), width)

    # ---- a launch ----

    def program(self, launches: "Sequence[Any]", solvers: "Callable[[Any], Solvers]") -> "List[Meant]":
        """Return the verdict on each launch of a program, in the order in which they run."""
        for launch in launches:
            self.walked.append(self._walked(launch))
        found = []
        for walked in self.walked:
            start = time.perf_counter()
            asked = solvers(walked.launch)
            found.append(self._verdict(walked, asked))
            if found[-1].kind == "not proved" or found[-1].kind == "proved" and self.once:
                reason = self._evaluated(walked, asked)
                if not reason:
                    found[-1] = Meant("proved")
                elif found[-1].kind == "proved":
                    found[-1] = Meant("not proved", f"how often a reduction reads an element: {reason}")
                elif reason != found[-1].reason:
                    found[-1] = Meant("not proved", f"{found[-1].reason}; by steps: {reason}")
            found[-1].seconds = time.perf_counter() - start + walked.seconds
        for n, meant in enumerate(found):
            if meant.kind == "in later kernels":
                proved = all(later.kind in ("proved", "in later kernels") for later in found[n + 1 :])
                found[n] = replace(
                    meant,
                    kind="proved" if proved else "not proved",
                    reason="" if proved else "those of a later kernel are not",
                )
        return found

    def _walked(self, launch: "Any") -> _Walked:
        """Walk a launch's kernel, and return its stores."""
        start, meaning = time.perf_counter(), self.meaning
        made = _Walked(len(self.walked), launch, set(self.memories_of(launch).values()))
        meaning.statements, meaning.most_statements = 0, WALK_STATEMENTS
        try:
            if _has_loops(self.computation):
                raise NotProved("a program with loops or branches")
            self._supported(launch)
            meaning.kernel(launch["kernel"], self.memories_of(launch), launch["blocks"], launch["threads"])
            stored = {(store.memory, store.at.line, store.at.column) for store in meaning.values_stored}
            for access in meaning.found.accesses:
                if (
                    access.write
                    and access.memory.space in ("global", "shared")
                    and (access.memory, access.at.line, access.at.column) not in stored
                ):
                    raise NotProved("a store that the walk does not follow")
            self.of_atom.update(meaning.of_atom)
            self.ends.update(meaning.ends)
            made.stores, made.groups = meaning.values_stored, meaning.found.groups
        except NOT_FOLLOWED as error:
            made.problem = reason_of(error)
        made.seconds = time.perf_counter() - start
        return made

    def _verdict(self, walked: _Walked, solvers: Solvers) -> Meant:
        if walked.problem:
            return Meant("not proved", walked.problem)
        results = [
            store for store in walked.stores if _key(store.memory)[0] == "results" and store.memory.space == "global"
        ]
        if not results:
            return Meant("in later kernels")
        stores: "Dict[Memory, List[Tuple[int, Store]]]" = {}
        for other in self.walked:
            for store in other.stores:
                if store.memory.space == "global" or other is walked:
                    stores.setdefault(store.memory, []).append((other.number, store))
        failed = [(other.number, other.memories) for other in self.walked if other.problem]
        passing = Passing(stores, failed, self.of_atom, self.ends)
        try:
            for store in results:
                failure = self._store(store, walked, passing, solvers)
                if failure is not None:
                    if any(n > walked.number and store.memory in memories for n, memories in failed):
                        raise NotProved("a result that a later kernel changes")
                    return Meant("refuted", failure=failure)
        except NOT_FOLLOWED as error:
            return Meant("not proved", reason_of(error))
        return Meant("proved")

    # ---- single work-items and steps ----

    def _evaluated(self, walked: _Walked, solvers: Solvers) -> str:
        """Return "" if evaluation (instances.py) proves the values that a launch stores; otherwise the reason why it
        does not.
        """
        if _has_loops(self.computation):
            return "a program with loops or branches"
        if not self.followed:
            self.followed = [self._follow(one) for one in self.walked]
        launch = self.followed[walked.number]
        if launch.problem:
            return launch.problem
        instances = Instances(self.followed, self.following_atoms, self.following_ends, solvers)
        wanted: "Set[terms.Atom]" = set()
        try:
            for memory, stores in launch.stores.items():
                if memory.space == "global" and _key(memory)[0] == "results":
                    for store in stores:
                        self._instances(store, launch, instances, wanted)
        except NOT_FOLLOWED as error:
            return reason_of(error)
        return ""

    def _follow(self, walked: _Walked) -> Followed:
        """Walk a launch's kernel. Return the stores to all arrays, each with the moment at which it happens."""
        walk, launch = self.following, walked.launch
        made = Followed(walked.number, memories=walked.memories)
        walk.statements, walk.most_statements, walk.launch = 0, WALK_STATEMENTS, walked.number
        try:
            walk.kernel(launch["kernel"], self.memories_of(launch), launch["blocks"], launch["threads"])
            stored = {(store.memory, store.at.line, store.at.column) for store in walk.values_stored}
            for access in walk.found.accesses:
                if (
                    access.write
                    and (access.memory, access.at.line, access.at.column) not in stored
                    # a store of a pointer is not in `values_stored`, but the walk knows the pointer
                    and access.at not in walk.pointers.get(access.memory, {})
                ):
                    raise NotProved("a store that the walk does not follow")
            self.following_atoms.update(walk.of_atom)
            self.following_ends.update(walk.ends)
            for store in walk.values_stored:
                assert isinstance(store, Ordered)
                made.stores.setdefault(store.memory, []).append(store)
                free = terms.all_free([store.offset, *store.path])
                made.templates |= {atom for atom in free if atom.known and "!" not in atom.name}
            made.groups, made.items, made.declared = walk.found.groups, walk.found.items, walk.declared
        except NOT_FOLLOWED as error:
            made.problem = reason_of(error)
        return made

    def _instances(self, store: Ordered, launch: Followed, instances: Instances, wanted: "Set[terms.Atom]") -> None:
        """Raise NotProved unless the values that a store writes are proved for all of its steps. The evaluation
        enumerates the values of the variables in `wanted`. If it needs the value of another variable, this variable is
        added to `wanted`.
        """
        while True:
            try:
                return self._each_instance(store, launch, instances, wanted)
            except Needs as need:
                if need.atom in wanted or need.atom not in self._own(store, launch):
                    raise NotProved(f"a value that depends on {need.atom.name.split('!')[0]} in another place") from None
                wanted.add(need.atom)

    @staticmethod
    def _own(store: Ordered, launch: Followed) -> "Set[terms.Atom]":
        """Return the variables on which a store depends: ids, template parameters, and the steps of the loops around
        it.
        """
        return launch.groups | launch.items | launch.templates | {a for step in store.loops for a in step.free}

    def _each_instance(self, store: Ordered, launch: Followed, instances: Instances, wanted: "Set[terms.Atom]") -> None:
        _, result, start = _key(store.memory)
        leaf = self.leaves[result]
        width = ops.bytes_of(leaf.shape)
        if start or store.value.size % width:
            raise NotProved("a part of a result's buffer" if start else "a store of a part of an element")
        atoms = sorted(self._own(store, launch) & wanted, key=lambda a: a.number)
        comparisons: "Dict[Tuple[Condition, ...], Comparison]" = {}
        element = Element(self.computation, self.parameter)
        for values in itertools.product(*(range(a.lo, a.hi + 1) for a in atoms)):
            env = {a: number(v) for a, v in zip(atoms, values)}
            instances.assumed = ()
            path = [instances.condition(expressions.certain(c, {}), env) for c in store.path]
            if any(c.kind == "false" for c in path):
                continue
            instances.assumed = tuple(sorted({c for c in path if c.kind != "true"}, key=repr))
            offset = instances.term(store.offset, env)
            if not all(a.known for a in offset.free):
                raise NotProved("an element that read integers select")
            if offset.constant % width or any(factor % width for _, factor in offset.parts):
                raise NotProved("a store beside the places of elements")
            place = Term(tuple((atom, factor // width) for atom, factor in offset.parts), offset.constant // width)
            if instances.assumed not in comparisons:
                steps = self._steps(instances.assumed, self._own(store, launch) - wanted)
                comparisons[instances.assumed] = Comparison(instances, steps)
            compared = comparisons[instances.assumed]
            for n in range(store.value.size // width):
                index = ops.element_at(leaf.shape, place + number(n))
                inside = both(*(terms.less(at, number(size)) for at, size in zip(index, leaf.shape.dims)))
                if instances.decide(inside).kind == "false":
                    continue  # padding
                if len(element.known) > 10_000:
                    element = Element(self.computation, self.parameter)
                says = element.of(leaf.value, index, leaf.output)
                instances.of_atom.update(element.of_atom)
                does = instances.value(expressions.part(store.value, n * width, width), env)
                if not compared.same(does, instances.value(says, {})):
                    raise NotProved(compared.lost or "a value with another multiset of elements")
        for assumed, compared in comparisons.items():
            different = compared.different()
            for first in range(0, len(different), MOST_ADDRESSES):
                some = different[first : first + MOST_ADDRESSES]
                digits = Digits([*some, *assumed])
                either = terms.either(*(digits.of(condition) for condition in some))
                if not instances.unsatisfiable([either, *(digits.of(condition) for condition in assumed), *digits.ranges], "addresses differ"):
                    raise NotProved("an address that differs at some step")

    @staticmethod
    def _steps(assumed: "Sequence[Condition]", atoms: "Set[terms.Atom]") -> "List[Dict[terms.Atom, int]]":
        """Return up to SAMPLES random assignments to variables for which the conditions hold."""
        atoms = atoms | terms.all_free(assumed)
        found: "List[Dict[terms.Atom, int]]" = []
        drawn = random.Random(1)
        ordered = sorted(atoms, key=lambda a: a.number)
        for attempt in range(2000):
            at = {a: drawn.choice((a.lo, a.hi, drawn.randint(a.lo, a.hi), drawn.randint(a.lo, a.hi))) for a in ordered}
            if all(terms.holds(c, at) for c in assumed):
                found.append(at)
                if len(found) == SAMPLES:
                    return found
        if not found:
            raise NotProved("no step of a store is found")
        return found

    def _supported(self, launch: "Any") -> None:
        """Raise Unsupported if gen/certify/ops.py does not have an op of the program. This is done before the kernel
        is walked.
        """
        for argument in launch["arguments"]:
            if argument["buffer"] == "results":
                leaf = self.leaves[argument["number"]]
                index = tuple(
                    terms.variable(f"i{d}", 0, max(size - 1, 0), True) for d, size in enumerate(leaf.shape.dims)
                )
                ops.position(leaf.shape, index)
                Element(self.computation, self.parameter).of(leaf.value, index, leaf.output)

    def _store(self, store: Store, walked: _Walked, passing: Passing, solvers: Solvers) -> "Optional[Failure]":
        buffer, result, start = _key(store.memory)
        if start:
            raise NotProved("a part of a result's buffer")
        leaf = self.leaves[result]
        width = ops.bytes_of(leaf.shape)
        if store.value.size % width:
            raise NotProved("a store of a part of an element")
        offset = store.offset
        if offset.constant % width or any(factor % width for _, factor in offset.parts):
            raise NotProved("a store beside the places of elements")
        place = Term(tuple((atom, factor // width) for atom, factor in offset.parts), offset.constant // width)
        element = Element(self.computation, self.parameter)
        later = list(self._later(store, walked))
        place_of = Place(walked.groups, store.loops, store.path)
        lanes: "List[_Lane]" = []
        for n in range(store.value.size // width):
            index = tuple(
                terms.variable(f"i{d}", 0, size - 1, True) if size > 1 else terms.ZERO
                for d, size in enumerate(leaf.shape.dims)
            )
            at = terms.equal(ops.position(leaf.shape, index), place + number(n))
            if at.kind == "false":
                continue  # padding
            known = [self._reached(other, store, n * width, width, near, self.of_atom) for other, near in later]
            hidden = [condition for condition in known if condition is not None]
            if any(condition.kind == "true" for condition in hidden):
                continue  # a later store overwrites this element
            says = Reads(element.of_atom)
            says.add(element.of(leaf.value, index, leaf.output))
            self.of_atom.update(element.of_atom)
            if says.lost:
                raise NotProved(says.lost)
            # the integers in memory that decide the places of this store and of later stores
            decide = [
                self.of_atom[atom]
                for atom in sorted(terms.all_free([store.offset, *store.path, *hidden]), key=lambda a: a.number)
                if atom in self.of_atom and self.of_atom[atom].kind == "read"
            ]
            for conditions, does in self._ways(
                [expressions.part(store.value, n * width, width), *decide], passing, walked.number, place_of
            ):
                # A read may return the value of one of several stores, and it is not known which of them is last. Then
                # a difference refutes nothing.
                doubtful = bool(conditions) and (passing.several or walked.number > 0)
                lanes.append(
                    _Lane(
                        index, both(at, *conditions, *map(terms.negated, hidden)), does, says,
                        len(hidden) < len(known) or doubtful
                    )
                )
            if len(lanes) > MOST_LANES:
                raise NotProved("a value with too many ways through memory")
        together = TOGETHER if not passing.known else 2
        for begin in range(0, len(lanes), together):
            failure = self._compared(lanes[begin : begin + together], [*store.path], store, solvers, result)
            if failure is not None:
                return failure
        return None

    def _ways(
        self, values: "Sequence[Expression]", passing: Passing, launch: int, place: Place
    ) -> "Iterator[Tuple[List[Condition], Reads]]":
        """Yield the elements of parameters from which values are computed. If an expression reads memory that kernels
        write, one of several stores may have written the value. One store is then chosen for each such read, and the
        read is replaced by the reads in the value of this store. Every possible choice is yielded, with the conditions
        under which it occurs. At least one of the choices describes what happens.
        """
        waiting: "List[Dict[Expression, Tuple[Condition, Expression]]]" = [{}]
        while waiting:
            chosen = waiting.pop()
            missing: "List[Expression]" = []

            def passed(
                read: Expression, chosen: "Any" = chosen, missing: "Any" = missing
            ) -> "Optional[List[Tuple[Condition, Expression]]]":
                kind, _, start = _key(read.parts[0]) if read.parts[0].space != "shared" else ("shared", 0, 0)
                if kind == "table":
                    return []  # a constant table is no parameter; only the index of the read may depend on one
                if kind == "params" and not start:
                    return None
                if kind not in ("shared", "scratch", "local", "state", "results"):
                    raise NotProved(f"a buffer of {kind}")
                if read not in chosen:
                    missing.append(read)
                    return []
                return [(terms.TRUE, chosen[read][1])]

            reads = Reads(self.of_atom, passed, self.ends)
            for value in values:
                reads.add(value)
            if reads.lost:
                raise NotProved(reads.lost)
            if missing:
                waiting += [{**chosen, missing[0]: way} for way in passing.values(missing[0], launch, place)]
                if len(waiting) > MOST_LANES:
                    raise NotProved("a value with too many ways through memory")
                continue
            yield [condition for condition, _ in chosen.values()], reads

    def _later(self, store: Store, walked: _Walked) -> "Iterator[Tuple[Store, bool]]":
        """Yield each later store to the same array, with a flag: true if that store is in the same kernel."""
        at = next(n for n, other in enumerate(walked.stores) if other is store)
        yield from ((other, True) for other in walked.stores[at + 1 :] if other.memory is store.memory)
        for later in self.walked[walked.number + 1 :]:
            yield from ((other, False) for other in later.stores if other.memory is store.memory)

    @staticmethod
    def _reached(
        later: Store, store: Store, first: int, width: int, near: bool, of_atom: "Dict[terms.Atom, Expression]"
    ) -> "Optional[Condition]":
        """Return a condition under which a later store overwrites the bytes first .. first + width - 1 of a store. The
        place of the bytes determines the step in which the later store would write them. Return None if this step
        cannot be computed.

        near: true if both stores are in one kernel. Then only the later store by the same work-item counts, in the
            same steps of the loops around both stores. Otherwise the stores of all work-items count.
        """
        common = 0
        for a, b in zip(later.loops, store.loops):
            if a != b:
                break
            common += 1
        own = (
            {atom for k in later.loops[common:] for atom in k.free}
            if near
            else {atom for atom in terms.all_free([later.offset, *later.path]) if "!" in atom.name and atom.known}
        )
        offset, path = later.offset, list(later.path)
        rest = (
            store.offset
            + number(first)
            - Term(tuple((atom, f) for atom, f in offset.parts if atom not in own), offset.constant)
        )
        conditions: "List[Condition]" = []
        for atom, factor in sorted(((a, f) for a, f in offset.parts if a in own), key=lambda part: -part[1]):
            if factor <= 0:
                return None
            step = terms.quotient(rest, factor)
            conditions += [terms.at_most(number(atom.lo), step), terms.at_most(step, number(atom.hi))]
            rest = rest - step.times(factor)
            path = [terms.substituted(c, atom, step) for c in path]
            own.discard(atom)
        conditions += [terms.at_most(terms.ZERO, rest), terms.at_most(rest + number(width), number(later.value.size))]
        free = terms.all_free([rest, *path])
        if free & own or not all(expressions.is_decided(atom, of_atom) for atom in free):
            return None
        return both(*conditions, *path)

    def _compared(
        self, lanes: "List[_Lane]", given: "List[Condition]", store: Store, solvers: Solvers, result: int
    ) -> "Optional[Failure]":
        """Return a failure if the text and HLO read different elements for one of these elements of a store. Otherwise
        return None.
        """
        undecided = False
        for own in (True, False):
            said = "is read, which HLO does not read" if own else "is not read, which HLO reads"
            about = f"result {result}: an element {said}"
            answer, *_ = self._ask(lanes, given, solvers, about, own)
            if answer.kind == "proved":
                continue
            for lane in lanes:
                answer, printer, free, digits = self._ask([lane], given, solvers, about, own)
                if answer.kind == "proved":
                    continue
                if answer.kind == "unknown":
                    raise NotProved("no solver decides it in time")
                if lane.changed:
                    raise NotProved("an element that another store may change")
                if own and lane.does.rough:
                    raise NotProved("a mask of lanes")
                if not all(expressions.is_decided(atom, self.of_atom) for atom in free):
                    raise NotProved("an element that read integers select")
                if not own and any(not atom.known for _, under, _ in lane.does.found for atom in under.free):
                    # HLO reads all operands of a select, and the text may read only the selected one
                    raise NotProved("alternatives between which read integers select")
                values = digits.values(
                    {atom: answer.values.get(name, 0) for name, (atom, _) in printer.variables.items()}
                )
                if any(bound for reads in (lane.does, lane.says) for *_, bound in reads.found):
                    missed = _missed(lane, values, own)
                    if missed is None:
                        undecided = True
                        continue
                    values = missed
                return self._failure(lane, values, store, result, _values(printer, answer, free))
        if undecided:
            raise NotProved("a reduction in another order")
        return None

    def _ask(
        self, lanes: "List[_Lane]", given: "List[Condition]", solvers: Solvers, about: str, own: bool
    ) -> "Tuple[Answer, Printer, Any, Digits]":
        """Ask the solvers if the kernel's text reads an element that HLO does not read, for any lane in `lanes`.

        own: if false, ask the opposite: if HLO reads an element that the text does not read.
        """
        sides = [(lane, *((lane.does, lane.says) if own else (lane.says, lane.does))) for lane in lanes]
        parts: "List[object]" = [*given]
        for lane, one, two in sides:
            if len(one.found) * len(two.found) > MOST_PAIRS:
                raise NotProved(f"an element of {len(one.found)} reads")
            parts += [
                lane.at,
                *(part for reads in (one, two) for read, under, _ in reads.found for part in (under, read.parts[1])),
            ]
        digits = Digits(parts)
        printer = Printer()
        cases: "List[str]" = []
        parts = []
        for lane, one, two in sides:
            misses: "List[str]" = []
            at = digits.of(lane.at)
            served: "Dict[Bound, List[Tuple[Expression, Term, Condition]]]" = {}
            for read, condition, bound in one.found:
                if bound not in served:
                    steps = [(other, under, _step_of(inner, bound)) for other, under, inner in two.found]
                    served[bound] = [
                        (other, digits.of(_moved(other.parts[1], step)), digits.of(_moved(under, step)))
                        for other, under, step in steps
                        if step is not None
                    ]
                place, condition = digits.of(read.parts[1]), digits.of(condition)
                words = [printer.condition(condition)]
                parts += [condition, place]
                for other, to, under in served[bound]:
                    if other.parts[0] is read.parts[0]:
                        parts += [under, to]
                        words.append(
                            f"(not (and {printer.condition(under)} {_same(printer, place, read.size, to, other.size)}))"
                        )
                misses.append(f"(and {' '.join(words)})")
            if misses:
                parts.append(at)
                cases.append(f"(and {printer.condition(at)} (or {' '.join(misses)} false))")
        free = terms.all_free(parts)
        if not cases:
            return Answer("proved"), printer, free, digits
        conditions = _relevant([*digits.ranges, *(digits.of(condition) for condition in given)], free)
        lines = [f"(or {' '.join(cases)} false)", *(printer.condition(c) for c in conditions)]
        free |= terms.all_free(conditions)
        lines += self._equal(printer, digits, free)
        return solvers.ask(printer.lines + [f"(assert {line})" for line in lines], about), printer, free, digits

    def _equal(self, printer: Printer, digits: Digits, free: "Any") -> "List[str]":
        """Return the conditions that integers from the same place in memory are equal."""
        known = [
            (terms.of(atom), self.of_atom[atom])
            for atom in sorted(free, key=lambda a: a.number)
            if not atom.known and atom in self.of_atom and self.of_atom[atom].kind == "read"
        ]
        lines = []
        for (x, a), (y, b) in itertools.combinations(known, 2):
            if a.parts[0] is b.parts[0] and a.size == b.size and terms.bounds(x) == terms.bounds(y):
                same = _same(printer, digits.of(a.parts[1]), a.size, digits.of(b.parts[1]), b.size)
                lines.append(f"(=> {same} (= {printer.term(x)} {printer.term(y)}))")
        return lines

    def _failure(self, lane: _Lane, values: "Any", store: Store, result: int, text: str) -> Failure:
        """Return a failure that names the element of the result, the elements that the kernel's text reads for it, and
        those that HLO reads.
        """
        at = ", ".join(str(terms.evaluate(i, values)) for i in lane.index)
        question = (
            f"element [{at}] of result {result} is computed from {_listed(lane.does, values)}, "
            f"but HLO says {_listed(lane.says, values)}"
        )
        return Failure("refuted", question, store.at.line, store.at.column, text)


def _has_loops(computation: Computation) -> bool:
    """Return true if a computation, or a computation that it calls, has a loop or a branch."""
    waiting, seen = [computation], set()  # type: List[Computation], Set[int]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            if any(i.opcode in ("while", "conditional") for i in one.instructions):
                return True
            waiting += [called for i in one.instructions for called in i.called]
    return False


def _counts(computation: Computation) -> bool:
    """Return true if a result depends on how often a reduction reads an element. This is so for a sum, but not for a
    maximum.
    """
    waiting, seen = [computation], set()  # type: List[Computation], Set[int]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for i in one.instructions:
            if i.opcode in ("dot", "convolution", "scatter", "select-and-scatter"):
                return True
            if i.opcode in ("reduce", "reduce-window"):
                count = len(i.called[0].parameters) // 2
                if any(ops.combiner(i.called[0], n)[0] in ONCE for n in range(count)):
                    return True
            elif i.called:
                waiting += i.called
    return False


def _key(memory: Memory) -> "Tuple[str, int, int]":
    """Return the kind of an array's buffer, the buffer's number, and the offset of the array in it in bytes."""
    assert isinstance(memory.key, tuple)
    return memory.key


def _name(memory: Memory) -> str:
    buffer, count, _ = _key(memory)
    return f"{'parameter ' if buffer == 'params' else buffer}{count}"


def _listed(reads: Reads, values: "Any") -> str:
    words = []
    for read, condition, _ in reads.found:
        if terms.holds(condition, values):
            words.append(f"{_name(read.parts[0])} at {terms.evaluate(read.parts[1], values) // read.size}")
    words = list(dict.fromkeys(words))
    return "nothing" if not words else ", ".join(words[:6]) + (", .." if len(words) > 6 else "")


def _step_of(inner: Bound, outer: Bound) -> "Optional[Dict[terms.Atom, Term]]":
    """Return a step of the reduction `inner` that may read the same element as a given step of the reduction `outer`:
    the one with the same number. Return None if the reductions have different numbers of steps. This is only a
    guess, which the solver checks.
    """
    if not inner:
        return {}
    if math.prod(a.hi + 1 for a in inner) != math.prod(a.hi + 1 for a in outer):
        return None
    count = terms.ZERO
    for atom in outer:
        count = count.times(atom.hi + 1) + terms.of(atom)
    step: "Dict[terms.Atom, Term]" = {}
    for n, atom in reversed(list(enumerate(inner))):
        step[atom] = terms.modulo(count, atom.hi + 1) if n else count
        count = terms.quotient(count, atom.hi + 1)
    return step


def _moved(part: "Any", step: "Dict[terms.Atom, Term]") -> "Any":
    for atom, by in step.items():
        part = terms.substituted(part, atom, by)
    return part


def _missed(lane: _Lane, values: "Dict[terms.Atom, int]", own: bool) -> "Optional[Dict[terms.Atom, int]]":
    """Return a counterexample: values of all variables for which one side (the text or HLO) reads a byte that no step
    of the other side reads. Return None if there is none, or if there are too many steps to try.

    values: the values of all variables except the steps of reductions.
    """
    one, two = (lane.does, lane.says) if own else (lane.says, lane.does)
    served: "Set[Tuple[int, int]]" = set()
    for reads in (one, two):
        if sum(math.prod(a.hi + 1 for a in bound) for _, _, bound in reads.found) > MOST_STEPS:
            return None
    for read, condition, bound in two.found:
        for given in _steps(values, bound):
            if terms.holds(condition, given):
                place = terms.evaluate(read.parts[1], given)
                served.update((id(read.parts[0]), byte) for byte in range(place, place + read.size))
    for read, condition, bound in one.found:
        for given in _steps(values, bound):
            place = terms.evaluate(read.parts[1], given)
            if terms.holds(condition, given) and not any(
                (id(read.parts[0]), byte) in served for byte in range(place, place + read.size)
            ):
                return given
    return None


def _steps(values: "Dict[terms.Atom, int]", bound: Bound) -> "Iterator[Dict[terms.Atom, int]]":
    for at in itertools.product(*(range(a.hi + 1) for a in bound)):
        yield {**values, **dict(zip(bound, at))}


def _same(printer: Printer, x: Term, size: int, y: Term, other: int) -> str:
    """Return the condition that two pieces of memory are equal, or that the smaller one lies in the larger one."""
    if size == other:
        return printer.condition(split(terms.equal(x, y)))
    if size > other:
        x, size, y, other = y, other, x, size
    last = terms.at_most(x + number(size), y + number(other))
    return f"(and {printer.condition(terms.at_most(y, x))} {printer.condition(last)})"


def split(condition: Condition) -> Condition:
    """Return an equivalent condition with shorter equations: an equation m A + B = 0, where A and B are terms and m is
    a constant, is replaced by A = 0 and B = 0 if |B| < m for all values of its variables.
    """
    if condition.kind in ("and", "or", "not"):
        parts = [split(part) for part in condition.of if isinstance(part, Condition)]
        return (
            both(*parts)
            if condition.kind == "and"
            else terms.either(*parts)
            if condition.kind == "or"
            else terms.negated(parts[0])
        )
    if condition.kind != "eq":
        return condition
    (term,) = condition.of
    assert isinstance(term, Term)
    if term.is_constant:
        return terms.FALSE if term.constant else terms.TRUE
    step = math.gcd(*(f for _, f in term.parts))
    if term.constant % step:
        return terms.FALSE
    term = Term(tuple((atom, f // step) for atom, f in term.parts), term.constant // step)
    for m in sorted({abs(f) for _, f in term.parts if abs(f) > 1}, reverse=True):
        for constant in (term.constant % m, term.constant % m - m):
            rest = Term(tuple((atom, f) for atom, f in term.parts if f % m), constant)
            lo, hi = terms.bounds(rest)
            if -m < lo and hi < m and rest.parts != term.parts:
                whole = Term(
                    tuple((atom, f // m) for atom, f in term.parts if f % m == 0), (term.constant - constant) // m
                )
                return both(split(terms.equal(rest, terms.ZERO)), split(terms.equal(whole, terms.ZERO)))
    return Condition("eq", term)


class Digits:
    """Replaces variables by sums of digits of a mixed-radix number, if terms divide the variables by constants. Most
    of the divisions then vanish.
    """

    def __init__(self, parts: "Sequence[object]") -> None:
        self.sums: "Dict[terms.Atom, Term]" = {}
        self.known: "Dict[object, Any]" = {}
        for atom in sorted(terms.all_free(parts), key=lambda a: a.number):
            by = [1, *_divisors(parts, atom)]
            if len(by) == 1 or atom.lo or not atom.known or any(b % a for a, b in zip(by, by[1:])):
                continue
            total = terms.ZERO
            for at, divisor in enumerate(by):
                most = atom.hi // divisor if at + 1 == len(by) else by[at + 1] // divisor - 1
                total = total + terms.variable(atom.name.split("!")[0], 0, most, True).times(divisor)
            self.sums[atom] = total
        # Digits can stand for a number above the variable's maximum. These conditions exclude this.
        self.ranges = [terms.at_most(total, number(atom.hi)) for atom, total in self.sums.items()]

    def of(self, part: "Any") -> "Any":
        """Return a term or a condition with variables replaced by their digits."""
        if part not in self.known:
            made = part
            for atom in sorted(part.free, key=lambda a: a.number):
                if atom in self.sums:
                    made = terms.substituted(made, atom, self.sums[atom])
            self.known[part] = split(made) if isinstance(made, Condition) else made
        return self.known[part]

    def values(self, values: "Dict[terms.Atom, int]") -> "Dict[terms.Atom, int]":
        """Return the values of the variables, given those of their digits."""
        return {**values, **{atom: terms.evaluate(total, values) for atom, total in self.sums.items()}}
