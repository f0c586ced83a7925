"""rng-bit-generator as integer ops, with the bits that XLA's CPU backend and JAX generate for a state.

The state is u64[2], a key and a 64-bit counter; for Philox it may also be u64[3], a key and a 128-bit counter, lower
half first. The generator encrypts the counter, then the counter plus 1, and so on; in the resulting state, the counter
has advanced by the number of blocks.

- Threefry-2x32, 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a block is two 32-bit
  words. A 64-bit element is one block, low word first. Any other element is one word, or the low bits of one word.
  Elements 2k and 2k + 1 along one dimension get the two words of one block. This dimension is the first one of even
  size or, if there is none, the first one of the largest size. Blocks are numbered in row-major order.
- Philox-4x32, 10 rounds (same paper): a block is four words. The words of all blocks, in row-major order, are the
  elements; a 64-bit element takes two words. If the state has a 64-bit counter, the upper half of the block's counter
  starts as the key.

rng_default is Philox.
"""

from __future__ import annotations

import math
from typing import List, Sequence, Tuple

from gen.hlo import dtypes
from gen.hlo.expansion import Expander
from gen.hlo.graph import Instruction, array_shape

_PARITY, _ROTATIONS = 0x1BD11BDA, ((13, 15, 26, 6), (17, 29, 16, 24))
_MULTIPLIERS, _BUMPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)

Words = Sequence[Instruction]  # arrays of u32, all of one shape


def random_bits(x: Expander, instruction: Instruction) -> Instruction:
    """Return the integer ops of an rng-bit-generator."""
    state, to = instruction.operands[0], instruction.shape.children[1]
    key = _number(x, state, 0)
    if instruction.attributes["algorithm"] == "rng_three_fry":
        bits, counter = _threefry(x, key, _number(x, state, 1), to.dims, dtypes.TABLE[to.dtype].bits)
        after = [key, counter]
    else:
        high = _number(x, state, 2) if state.shape.dims == (3,) else key
        bits, counters = _philox(x, key, (_number(x, state, 1), high), to.dims, dtypes.TABLE[to.dtype].bits)
        after = [key, *counters][:state.shape.dims[0]]
    values = x.convert(x.convert(bits, f"u{dtypes.TABLE[to.dtype].bits}"), to.dtype, "bitcast-convert")
    joined = x.concatenate([x.reshape(number, (1,)) for number in after], 0)
    return x.tuple([x.laid_out(joined, instruction.shape.children[0]), x.laid_out(values, to)])


def _number(x: Expander, state: Instruction, number: int) -> Instruction:
    """Return element `number` of the state, as a scalar."""
    return x.reshape(x.slice(state, 0, number, number + 1), ())


def _words(x: Expander, value: Instruction) -> List[Instruction]:
    """Return the low and the high 32 bits of a u64."""
    return [x.convert(value, "u32"), x.convert(x.op("shift-right-logical", value, x.splat(32, value.shape)), "u32")]


def _joined(x: Expander, low: Instruction, high: Instruction) -> Instruction:
    """Return the u64 with the given low and high word."""
    low, high = x.convert(low, "u64"), x.convert(high, "u64")
    return x.op("or", low, x.op("shift-left", high, x.splat(32, high.shape)))


def _counters(x: Expander, start: Instruction, dims: "Tuple[int, ...]") -> Instruction:
    """Return the counter of each block; blocks are numbered in row-major order."""
    numbers = x.add("iota", array_shape("u64", (math.prod(dims),)), iota_dimension=0)
    return x.op("add", x.reshape(numbers, dims), x.broadcast(start, array_shape("u64", dims)))


def _threefry(x: Expander, key: Instruction, counter: Instruction, dims: "Tuple[int, ...]",
              bits: int) -> "Tuple[Instruction, Instruction]":
    """Return two values: the random elements, and the advanced counter. If `bits` is less than 64, elements are 32-bit
    words, and the caller uses their low `bits` bits.
    """
    along, blocks = 0, dims
    if bits < 64:
        of = dims or (1,)
        even = [d for d, size in enumerate(of) if size % 2 == 0]
        along = even[0] if even else of.index(max(of))
        blocks = of[:along] + (-(-of[along] // 2),) + of[along + 1:]
    after = x.op("add", counter, x.constant("u64", math.prod(blocks)))
    low, high = _threefry_blocks(x, _words(x, key), _words(x, _counters(x, counter, blocks)))
    if bits == 64:
        return _joined(x, low, high), after
    if not dims:
        return x.reshape(low, ()), after
    both = x.reshape(x.interleaved((low, high), along + 1), blocks[:along] + (2 * blocks[along],) + blocks[along + 1:])
    return x.slice(both, along, 0, dims[along]), after


def _threefry_blocks(x: Expander, key: Words, words: Words) -> Words:
    a, b = words
    keys = [*key, x.op("xor", x.op("xor", *key), x.constant("u32", _PARITY))]

    def with_key(word: Instruction, number: int, more: int) -> Instruction:
        added = keys[number % 3]
        if more:
            added = x.op("add", added, x.constant("u32", more))
        return x.op("add", word, x.broadcast(added, word.shape))

    a, b = with_key(a, 0, 0), with_key(b, 1, 0)
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            a = x.op("add", a, b)
            b = x.op("xor", a, x.op("or", x.op("shift-left", b, x.splat(rotation, b.shape)),
                                    x.op("shift-right-logical", b, x.splat(32 - rotation, b.shape))))
        a, b = with_key(a, step + 1, 0), with_key(b, step + 2, step + 1)
    return a, b


def _philox(x: Expander, key: Instruction, counter: "Tuple[Instruction, Instruction]", dims: "Tuple[int, ...]",
            bits: int) -> "Tuple[Instruction, List[Instruction]]":
    """Return two values: the random elements, and the low and high half of the advanced counter. If `bits` is less than
    64, elements are 32-bit words, and the caller uses their low `bits` bits.
    """
    count, per = math.prod(dims), 2 if bits == 64 else 4
    blocks = -(-count // per)

    def carried(low: Instruction) -> Instruction:
        """Return the upper halves of counters whose lower halves are `low`. They are the upper half of the initial
        counter, plus 1 if the lower half has wrapped around.
        """
        start, high = (x.broadcast(half, low.shape) for half in counter)
        passed = x.add("compare", array_shape("pred", low.shape.dims), [low, start], direction="LT")
        return x.op("add", high, x.convert(passed, "u64"))

    low = _counters(x, counter[0], (blocks,))
    words = _philox_blocks(x, _words(x, key), [*_words(x, low), *_words(x, carried(low))])
    if bits == 64:
        words = [_joined(x, *words[:2]), _joined(x, *words[2:])]
    values = x.slice(x.reshape(x.interleaved(words, 1), (blocks * per,)), 0, 0, count)
    after = x.op("add", counter[0], x.constant("u64", blocks))
    return x.reshape(values, dims), [after, carried(after)]


def _philox_blocks(x: Expander, key: Words, words: Words) -> Words:
    a, b, c, d = words
    of = a.shape

    def product(word: Instruction, number: int) -> List[Instruction]:
        wide = x.convert(word, "u64")
        return _words(x, x.op("multiply", wide, x.splat(_MULTIPLIERS[number], wide.shape)))

    for step in range(10):
        first, second = (x.broadcast(x.op("add", of_key, x.constant("u32", bump * step)) if step else of_key, of)
                         for of_key, bump in zip(key, _BUMPS))
        (low, high), (low2, high2) = product(a, 0), product(c, 1)
        a, b, c, d = (x.op("xor", x.op("xor", high2, b), first), low2, x.op("xor", x.op("xor", high, d), second), low)
    return a, b, c, d
