"""The transpose hero: accesses that go on evenly along another digit than the output's minor one are exchanged tile by tile.

A tile is a box of `rows` positions along that digit times `lanes` along the minor one. On a CPU a source's part of the tile is
loaded along its own contiguous direction and turned in registers (gen/tiles.py), a result in the other order is turned back;
on a GPU the tile goes through local memory. Everything between is computed once, in the output's order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from gen import algebra, lines, staged
from gen.dialect import Dialect
from gen.emit import Body, Helpers, NotWide, buffer_of, buffers_of
from gen.kernel import Kernel, Nest, arguments, attribute, function_text, narrowest
from gen.partition import Partition, compose
from gen.schedule import Device, Schedule
from gen.walk import Walk, place, walk

INLINE = 256          # entries up to which a value wanted at several indices is computed at each of them
ALONG = 1024          # elements that a CPU's work-item goes along the source's contiguous digit


@dataclass(frozen=True)
class Tile(Schedule):
    """A CPU's tile: `vec` rows (along the source's contiguous digit) of `down` registers of `lanes` elements (along the output's):
    where down is 2, both lines of a row are stored one after another, so that a pair of lines goes to memory together."""

    tile: bool = True

    def text(self) -> str:
        words = [super().text(), f"tiles {self.chunks}", f"tile {self.vec} x {self.lanes * self.down} in registers"]
        return ", ".join(words + ["streamed"] * self.stream + ["moved as bits"] * self.moves)


def transposed(found: Walk) -> Optional[int]:
    """The digit, other than the minor one, along which most bytes are contiguous."""
    bytes_along: Dict[int, int] = {}
    for access in found.accesses:
        for k, stride in enumerate((access.strides or ())[:-1]):
            if stride == 1 and access.strides and access.strides[-1] > 1:
                bytes_along[k] = bytes_along.get(k, 0) + access.bytes
    return max(bytes_along, key=lambda k: bytes_along[k], default=None)


def kernel(d: Dialect, device: Device, helpers: Helpers, nest: Nest, excess: bool) -> Optional[Kernel]:
    """The nest as tiles; None where nothing is transposed, or no tile fits."""
    partition = Partition(nest.partition.computation, nest.partition.roots, nest.name, nest.partition.entry.dims, INLINE, nest.partition.cuts)
    nest, found = Nest(nest.name, nest.shape, partition), walk(partition, nest.shape)
    digit = transposed(found) if found else None
    if found and not device.cpu:
        return staged.kernel(d, device, helpers, nest, found, excess)
    if found is None or digit is None or not d.wide:
        return None
    carried = lines.kernel(d, device, helpers, nest, found, digit) if sum(a.bytes for a in found.accesses) > device.cache else None
    if carried:
        return carried
    for tile in _tiles(device, d, partition, found, digit):
        try:
            made = narrowest(helpers, lambda index_type, trial: _on_cpu(d, trial, nest, found, digit, tile, index_type, excess))
        except NotWide:
            return None
        if made:
            return made
    return None


def _tiles(device: Device, d: Dialect, partition: Partition, found: Walk, digit: int) -> Iterator[Tile]:
    """Tiles that fit, best first."""
    rows_size, lanes_size = found.sizes[digit], found.sizes[-1]
    turned = [a for a in found.accesses if a.strides and a.strides[digit] == 1 and a.strides[-1] > 1]
    widths = {a.width for a in found.accesses}
    moves = len(widths) == 1 and all(a.strides for a in found.accesses) and not partition.entry.body.entries \
        and all(buffer_of(partition, partition.root_read(root)) for root in partition.roots)
    width = max(a.width for a in turned)
    shapes = _shapes(width) if moves else [(n, n, down, 64) for n in (16, 8)[max(widths) // 8:] for down in (2, 1)]
    traffic = sum(a.bytes for a in found.accesses)
    threads = 16 if d.name == "opencl" else 1
    for lanes, rows, down, piece in [*shapes, (4, 4, 1, 64)]:
        if lanes * down <= lanes_size and rows <= rows_size:
            chunks = min(-(-rows_size // rows), ALONG // rows)
            while chunks > 1 and _items(found, digit, lanes * down, rows, chunks) < 16 * device.units:
                chunks = -(-chunks // 2)
            stream = traffic > device.cache and lanes * min(a.width for a in found.accesses if a.write) >= device.line
            items = _items(found, digit, lanes * down, rows, chunks)
            yield Tile(threads if items >= 64 * threads else 1, chunks, rows, lanes, down, piece, stream, moves)


def _shapes(width: int) -> Sequence[Tuple[int, int, int, int]]:
    """(lanes, rows, down, bytes of a load) for elements that are only moved: the best first. Measured, see bench/README.md."""
    if width >= 4:
        full = 64 // width
        return [(full, full, 2, 64), (full, full, 1, 64), (8, 8, 1, 64)]
    return [(32, 32, 1, 32)] * (width == 2) + [(64 // width, 16, 1, 16), (16, 16, 1, 64), (8, 8, 1, 64)]


def _grid(found: Walk, digit: int, lanes: int, rows: int, chunks: int) -> List[Tuple[str, int]]:
    """What a work-item's number counts, slowest first: the other digits, the part along rows, the tile along lanes. Neighbours go
    down the source's rows, so that they complete the output's. A tile that is moved back is the same work-item's as the one that it
    overlaps: where two write one element the order is fixed."""
    minor = len(found.sizes) - 1
    counts = [(f"g{k}", size) for k, size in enumerate(found.sizes) if k not in (digit, minor)]
    return counts + [("part", -(-(found.sizes[digit] // rows) // chunks)), ("strip", found.sizes[minor] // lanes)]


def _items(found: Walk, digit: int, lanes: int, rows: int, chunks: int) -> int:
    return math.prod(count for _, count in _grid(found, digit, lanes, rows, chunks))


def _origin(name: str, size: int, step: int) -> Tuple[str, str, int]:
    """A tile's first element along a digit: (its text in a map, C text of its name from the tile's number, the name's last value). Where
    tiles do not divide the digit the last one is moved back onto the one before, by as few units as both are made of."""
    unit = math.gcd(size, step)
    each, last = step // unit, (size - step) // unit
    return f"{name} * {unit}", f"{name}_tile < {size // step} ? {name}_tile * {each} : {last}" if size % step else "", last


def _on_cpu(d: Dialect, helpers: Helpers, nest: Nest, found: Walk, digit: int, tile: Tile, index_type: str, excess: bool) -> Kernel:
    t, minor = d.index[index_type], len(found.sizes) - 1
    weights, box, texts = found.weights(), {}, []
    origins: Dict[int, str] = {}
    for k, size in enumerate(found.sizes):
        step = {digit: tile.vec, minor: tile.lanes * tile.down}.get(k, 1)
        text, origin, last = _origin(f"g{k}", size, step)
        inner = {digit: " + vec", minor: " + lane" + f" + down * {tile.lanes}" * (tile.down > 1)}.get(k, "")
        texts.append(f"({text}{inner}) * {weights[k]}")
        box[f"g{k}"] = (0, last)
        if origin:
            origins[k] = f"const {t} g{k} = {origin};"
    names = list(box)
    box.update(vec=(0, tile.vec - 1), **({"down": (0, tile.down - 1)} if tile.down > 1 else {}), lane=(0, tile.lanes - 1))
    domain = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items())
    walked = algebra.simplify(f"({', '.join(names)})[{', '.join(v for v in box if v not in names)}] -> ({' + '.join(texts)}), domain: {domain}")
    thread = compose(walked, algebra.call("shape", "unmap", nest.shape.text))
    body = Body(d, helpers, nest.partition, nest.partition.entry, index_type, thread, tile, excess, box)
    body.region(nest.partition.entry.body)
    for root in nest.partition.roots:
        body.store(root)
    counts = _grid(found, digit, tile.lanes * tile.down, tile.vec, tile.chunks)
    placing, blocks = place(counts, tile.threads)
    placed = algebra.c_text(placing, index_type)
    lines = [f"if (!({' && '.join(placed.constraints)})) return;"] if placed.constraints else []
    tiles = -(-found.sizes[digit] // tile.vec)
    for (name, _), text in zip(counts, placed.results):
        lines.append(f"const {t} {name if name != 'strip' or minor in origins else f'g{minor}'} = {text};")
    strips = found.sizes[minor] // (tile.lanes * tile.down)
    around = f"for ({t} g{minor}_tile = strip; g{minor}_tile <= strip + (strip == {strips - 1}); ++g{minor}_tile)" if minor in origins else ""
    loop = f"g{digit}{'_tile' if digit in origins else ''}"
    first, last = f"part * {tile.chunks}", f"part * {tile.chunks} + {tile.chunks}"
    parts = dict(counts)["part"]
    if parts * tile.chunks != tiles:
        last = f"(part < {parts - 1} ? {last} : {tiles})" if parts > 1 else str(tiles)
    reads, writes = buffers_of(nest.partition, nest.partition.entry), {root.pointer: root.shape for root in nest.partition.roots}
    functions = [function_text(d, helpers, nest.partition, f, excess) for f in reversed(nest.partition.functions[1:])]
    made = Kernel(nest.name, nest, tile, index_type, blocks, ", ".join(arguments(d, reads, writes)),
                  functions, "", body.before.lines, body.text.lines, body.after.lines, [], "", attribute(d, tile.threads), thread,
                  [*reads, *sorted(writes)], body.flat, hero="transpose", place=lines)
    made.parts = {"loop": f"for ({t} {loop} = {first}; {loop} < {last}; ++{loop})", "origin": origins.get(digit, ""),
                  "around": around, "strip": origins.get(minor, ""), "walk": walked, "place": placing}
    return made
