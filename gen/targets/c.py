"""C11 with the vectors of GNU C, and a second program without them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Set, Tuple

from gen.targets.runner import Runner
from gen.targets.target import FLOATS, UNSIGNED, VECTOR, Target, bits
from gen.targets.tools import c_compiler, native


class C(Target):
    """C11 with the vectors of GNU C, and (wide: no) without. A work-group is one call with its `number`."""

    def reinterpret(self, text: str, source: str, to: str, lanes: int = 1) -> str:
        if lanes > 1:
            return f"as_{self.register(to, lanes)}({text})"
        real, number = (side in FLOATS for side in (source, to))
        if real:
            self.used.add(f"{self.register(source)}_bits")
            text = f"bits_of_{self.register(source)}({text})"
            return text if to in UNSIGNED else f"({self.register(to)}){text}"
        if number:
            self.used.add(f"{self.register(to)}_bits")
        return f"{self.register(to)}_of_bits({text})" if number else f"({self.register(to)})({text})"

    def splat(self, dtype: str, lanes: int, text: str) -> str:
        return f"splat_{self.register(dtype, lanes)}({text})"

    def zero(self, lanes: int) -> str:
        return "0" if lanes == 1 else "{0}"

    def choose(self, dtype: str, lanes: int, mask: str, a: str, b: str) -> str:
        return super().choose(dtype, lanes, mask, a,
                              b) if lanes == 1 else f"choose_{self.register(dtype, lanes)}({mask}, {a}, {b})"

    def compared(self, dtype: str, lanes: int, a: str, sign: str, b: str) -> str:
        if lanes == 1:
            return super().compared(dtype, lanes, a, sign, b)
        self.used.update(["register", "unroll"])
        return f"{COMPARISONS[sign]}_{self.register(dtype, lanes)}({a}, {b})"

    def gather(self, dtype: str, lanes: int, array: str) -> str:
        return f"load_{self.register(dtype, lanes)}({array})"

    def scatter(self, dtype: str, lanes: int, value: str, array: str) -> str:
        return f"store_{self.register(dtype, lanes)}({value}, {array});"

    def prefetch(self, word: str, at: str, distance: int, size: int) -> str:
        self.used.add("prefetch")
        return f"PREFETCH_{word}({at}, {distance});"

    def unrolled(self, lanes: int) -> List[str]:
        """C without vectors has no word for it."""
        return [self.unroll] if lanes > 1 else []

    def vectors(self, text: str) -> "List[Vector]":
        return vectors(text)


_C_TYPES = {**{f"s{b}": f"int{b}_t" for b in (8, 16, 32, 64)}, **{f"u{b}": f"uint{b}_t" for b in (8, 16, 32, 64)},
            "f32": "float", "f64": "double"}

_GNU_C = C(name="c", comment="GNU C11", suffix=".c", types=_C_TYPES,
           index={"uint": "uint32_t", "int": "int32_t", "long": "int64_t"}, kernel="static", function="static inline",
           inlined="static inline __attribute__((always_inline))", pointer="", restrict="restrict ",
           constant="static const", group="number", item="0", global_item="", unroll_word="UNROLL", wide=True,
           suffix64=("ll", "ull"), last=", size_t number", vector_test="__GNUC__",
           may_alias=", may_alias", declares_vectors=True, loads_anywhere=True, words=False, vector_functions=False,
           has_rsqrt=False, half_by_bits=True)
SCALAR_C = replace(_GNU_C, comment="C11", wide=False, inlined="")
TARGET = replace(_GNU_C, plain=SCALAR_C)

COMPARISONS = {"<": "less", ">": "greater", "<=": "at_most", ">=": "at_least", "==": "equal", "!=": "unequal"}
_WORDS = ("as", "convert", "splat", "choose", "load", "store", *COMPARISONS.values())
_VECTOR = re.compile(rf"\b(?:({'|'.join(_WORDS)})_)?(({'|'.join(VECTOR.values())})(\d+))\b")


@dataclass(frozen=True)
class Vector:
    """A vector type that a text in GNU C uses: its element, its bytes, the type of its comparisons and the element of
    that. words: the functions that the text uses on it."""

    name: str
    element: str
    lanes: int
    bytes: int
    mask: str
    mask_element: str
    words: FrozenSet[str]

    @property
    def comparisons(self) -> "List[Tuple[str, str]]":
        """Name and sign of those that the text uses."""
        return [(word, sign) for sign, word in COMPARISONS.items() if word in self.words]


def vectors(text: str) -> "List[Vector]":
    """The vectors of a text, and those that they need."""
    words: Dict[str, Set[str]] = {}
    for word, name, base, lanes in _VECTOR.findall(text):
        words.setdefault(name, set()).add(word)
        if word == "choose" or word in COMPARISONS.values():
            words.setdefault(_mask(base) + lanes, set())
    kinds = {base: dtype for dtype, base in VECTOR.items()}
    vectors = []
    for name in sorted(words):
        base, lanes = re.match(r"([a-z]+)(\d+)", name).groups()   # type: ignore[union-attr]
        dtype = kinds[base]
        vectors.append(Vector(name, TARGET.types[dtype], int(lanes), bits(dtype) // 8 * int(lanes), _mask(base) + lanes,
                           TARGET.types[f"s{bits(dtype)}"], frozenset(words[name])))
    return vectors


def _mask(base: str) -> str:
    """The signed integers as wide as an element."""
    dtype = next(dtype for dtype, name in VECTOR.items() if name == base)
    return VECTOR[f"s{bits(dtype)}"]


class _OnCpu(Runner):
    """The harness' threads share out the items of each stage, as many of them as it is worth."""

    name, target = "c", TARGET
    glue = """
struct object {{
  size_t bytes;
  void *scratch;
}};
static void *create(void *context, void *device, int *error)
{{
  struct object *self = calloc(1, sizeof *self);
  (void)context, (void)device;
  *error = 1;
  if (!self) return self;
  self->bytes = {name}_c_scratch_bytes();
  if (self->bytes) self->scratch = aligned_alloc(64, (self->bytes + 63) / 64 * 64);
  if (!self->bytes || self->scratch) *error = {name}_c_prepare(self->scratch);
  return self;
}}
static void *program(void *self) {{ (void)self; return 0; }}
static int run(void *self, void *queue, const void *params, const void *results)
{{
  int error = 0;
  for (int stage = 0; stage < {name}_c_stages() && !error; ++stage)
    error = ((const struct sett_threads *)queue)->share({name}_c, (const void *const *)params, (void *const *)results,
                                                       ((struct object *)self)->scratch, stage, {name}_c_items(stage),
                                                       {name}_c_threads(stage));
  return error;
}}
static void release(void *self)
{{
  free(((struct object *)self)->scratch);
  free(self);
}}
"""

    def compile(self, folder: Path, name: str, long: bool, device: Any) -> List[str]:
        return [c_compiler(), "-std=c11", "-O1" if long else "-O3", *native(), "-fno-math-errno", "-fPIC", "-I",
                str(folder), "-c"]


RUNNERS = [_OnCpu()]
