"""Find the shapes of ops that are parsed but have no kernel, such as while and fft. Their attributes stay text. A shape
in the text is used as it is. If the text has none, a method here infers the shape; if there is no method for the op,
that is an error.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Tuple

from gen.hlo.checker import Check, bare
from gen.hlo.graph import Computation, Shape, array_shape, same_shape, shape

_NUMBER = re.compile(r"-?[0-9]+\Z")
_NUMBERS = re.compile(r"\{\s*(?:-?[0-9]+\s*(?:,\s*-?[0-9]+\s*)*)?\}\Z")


class Kept(Check):
    """Checks the operands and attributes of an op that gen has no kernel for, and infers the op's shape."""

    def result(self) -> Shape:
        return self.draft.written if self.draft.written is not None else super().result()

    def _needs(self) -> None:
        """Do nothing: the method of each op checks its operands and attributes itself."""

    def _rule(self) -> "Optional[Callable[[], Shape]]":
        name = "_" + self.i.opcode.replace("-", "_")
        rule: "Optional[Callable[[], Shape]]" = getattr(self, name) if name in vars(Kept) else None
        return rule

    # ---- attributes ----

    def text(self, key: str) -> str:
        value: Optional[str] = self.i.attributes.get("raw", {}).get(key)
        if value is None:
            self.fail(f"expected the attribute '{key}'")
        return value

    def number(self, key: str) -> int:
        text = self.text(key)
        if not _NUMBER.match(text):
            self.fail(f"expected an integer as '{key}', found '{text[:60]}'", attribute=key)
        return int(text)

    def numbers(self, key: str, default: str = "") -> Tuple[int, ...]:
        text = self.i.attributes.get("raw", {}).get(key, default) or self.text(key)
        if not _NUMBERS.match(text):
            self.fail(f"expected integers in braces as '{key}', found '{text[:60]}'", attribute=key)
        return tuple(map(int, re.findall(r"-?[0-9]+", text)))

    def below(self, key: str, number: int, of: Shape) -> int:
        if not 0 <= number < of.rank:
            self.fail(f"expected a dimension of {bare(of)}, found {number}", attribute=key)
        return number

    def dimension(self, key: str, of: Shape) -> int:
        """Return the dimension number that an attribute holds; the attribute must hold exactly one."""
        numbers = self.numbers(key)
        if len(numbers) != 1:
            self.fail(f"expected one dimension in '{key}', found {len(numbers)}", attribute=key)
        return self.below(key, numbers[0], of)

    def computations(self, key: str) -> List[Computation]:
        self.text(key)
        return self.draft.called[key]

    def computation(self, key: str) -> Computation:
        called = self.computations(key)
        if len(called) != 1:
            self.fail(f"expected one computation as '{key}', found {len(called)}", attribute=key)
        return called[0]

    # ---- operands ----

    def operands(self, count: int) -> None:
        if len(self.shapes) != count:
            self.fail(f"expected {count} operand{'' if count == 1 else 's'}, found {len(self.shapes)}")

    def takes(self, key: str, of: Computation, number: int) -> Shape:
        """Check that a computation has one parameter, whose shape is that of operand `number`; return the shape of the
        computation's result.
        """
        if len(of.parameters) != 1:
            self.fail(f"expected 1 parameter of '{of.name}', found {len(of.parameters)}", attribute=key)
        if not same_shape(of.parameters[0].shape, self.shapes[number]):
            self.fail(f"expected {self.shapes[number].text}, the shape of operand {number}, as the parameter of "
                      f"'{of.name}', found {of.parameters[0].shape.text}", attribute=key)
        assert of.root is not None
        return of.root.shape

    # ---- rules ----

    def _after_all(self) -> Shape:
        return shape("token[]")

    def _partition_id(self) -> Shape:
        self.operands(0)
        return array_shape("u32", ())

    def _replica_id(self) -> Shape:
        return self._partition_id()

    def _add_dependency(self) -> Shape:
        self.operands(2)
        return self.shapes[0]

    def _domain(self) -> Shape:
        self.operands(1)
        return self.shapes[0]

    def _get_dimension_size(self) -> Shape:
        self.operands(1)
        self.dimension("dimensions", self.array(0))
        return array_shape("s32", ())

    def _set_dimension_size(self) -> Shape:
        self.operands(2)
        of = self.array(0)
        self.scalar(1, "s32")
        along = self.dimension("dimensions", of)
        dims = ",".join("<=" * (d == along) + str(size) for d, size in enumerate(of.dims))
        return shape(f"{of.dtype}[{dims}]{of.text[of.text.index(']') + 1:]}")

    def _while(self) -> Shape:
        self.operands(1)
        condition = self.takes("condition", self.computation("condition"), 0)
        self.i.called = [self.computation("condition"), self.computation("body")]
        if not same_shape(condition, array_shape("pred", ())):
            self.fail(f"expected pred[] as the condition's result, found {condition.text}", attribute="condition")
        body = self.takes("body", self.computation("body"), 0)
        if not same_shape(body, self.shapes[0]):
            self.fail(f"expected {self.shapes[0].text}, the shape of operand 0, as the body's result, found {body.text}",
                      attribute="body")
        return self.shapes[0]

    def _conditional(self) -> Shape:
        keys: Tuple[str, ...] = ("branch_computations",)
        if keys[0] not in self.i.attributes.get("raw", {}):
            keys = ("true_computation", "false_computation")
        branches = [(key, of) for key in keys for of in self.computations(key)]
        if not branches:
            self.fail("expected a computation at least", attribute=keys[0])
        self.operands(1 + len(branches))
        selector = self.array(0)
        allowed = ("s32", "pred") if len(keys) == 1 else ("pred",)
        if selector.dims or selector.dtype not in allowed:
            self.fail(f"expected the scalar {' or '.join(d + '[]' for d in allowed)} as operand 0, found {bare(selector)}",
                      operand=0)
        results = [self.takes(key, of, 1 + number) for number, (key, of) in enumerate(branches)]
        self.i.called = [of for _, of in branches]
        for (key, of), result in zip(branches, results):
            if not same_shape(result, results[0]):
                self.fail(f"expected {results[0].text}, the result of '{branches[0][1].name}', as the result of "
                          f"'{of.name}', found {result.text}", attribute=key)
        return results[0]


    def _ragged_dot(self) -> Shape:
        """Return the shape of a dot whose rows come in groups. If the groups divide a dimension of the left factor that
        is neither batch nor contracted, each group is multiplied by its own right factor. If they divide a contracted
        dimension, each group gives its own result. If they divide a batch dimension, they do not change the result.
        """
        self.operands(3)
        sizes, lists = self.kinds(2, "su"), self.i.attributes
        for key in ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims"):
            lists[key] = self.numbers(key, "{}")
        ragged = self.dimension("lhs_ragged_dims", self.array(0))
        groups = self.numbers("rhs_group_dims", "{}")
        whole = self._dot()
        if not sizes.dims:
            self.fail(f"expected a size for each group as operand 2, found {bare(sizes)}", operand=2)
        kept = ragged not in lists["lhs_batch_dims"] + lists["lhs_contracting_dims"]
        if len(groups) != kept:
            self.fail(f"expected {int(kept)} dimension{'' if kept else 's'} in 'rhs_group_dims', as dimension {ragged} "
                      f"of operand 0 is {'kept' if kept else 'a batch or contracted'}, found {len(groups)}",
                      attribute="rhs_group_dims")
        if ragged in lists["lhs_contracting_dims"]:
            return array_shape(whole.dtype, (sizes.dims[-1], *whole.dims))
        if not kept:
            return whole
        b, group = self.array(1), self.below("rhs_group_dims", groups[0], self.array(1))
        bound = lists["rhs_batch_dims"] + lists["rhs_contracting_dims"]
        if group in bound or b.dims[group] != sizes.dims[-1]:
            self.fail(f"expected a dimension of {sizes.dims[-1]} groups, as operand 2 {bare(sizes)} has, that is no batch "
                      f"and not contracted, found {group} of {bare(b)}", attribute="rhs_group_dims")
        free = [d for d in range(b.rank) if d not in bound]
        at = whole.rank - len(free) + free.index(group)
        return array_shape(whole.dtype, whole.dims[:at] + whole.dims[at + 1:])
