"""Draw a placement of buffers. The horizontal axis is the step, and the vertical axis is the offset in bytes.

    >>> print("\\n".join(drawn(place([Live("a", 64, 0, 2), Live("b", 32, 1, 3), Live("c", 64, 2, 4)]))))
    step  0                1                2                3
       0  [a                               ][c                               ]
      64                   [b                               ]
      96
    96 bytes for 3 buffers; at least 96 are needed
"""

from __future__ import annotations

from typing import List, Sequence, Tuple
from xml.sax.saxutils import escape

from gen.program.arena import Live, Placement

_COLUMNS, _ROWS = 88, 36


def drawn(placement: Placement) -> List[str]:
    """Return the picture as lines of text, at most about 100 columns by 40 lines. A line stands for the bytes from one
    edge of a buffer to the next edge. If there are too many edges, all lines stand for equally many bytes, and each
    shows the buffers at its middle. Columns stand for steps in the same way.
    """
    boxes = _boxes(placement)
    edges = _axis([edge for live, offset in boxes for edge in (offset, offset + live.bytes)], _ROWS)
    steps = _axis([step for live, _ in boxes for step in (live.begin, live.end)], _COLUMNS)
    width = min(17, _COLUMNS // max(1, len(steps) - 1))
    margin = max(4, len(str(placement.bytes)))
    grid = [[" "] * (width * (len(steps) - 1)) for _ in edges]
    hidden = 0
    for live, offset in boxes:
        rows, columns = _covered(edges, offset, offset + live.bytes), _covered(steps, live.begin, live.end)
        hidden += not rows or not columns
        for row in rows if columns else ():
            text = _box(live.name if row == rows[0] else "", width * len(columns))
            grid[row][width * columns[0]:width * columns[0] + len(text)] = text
    lines = [f"{'step':>{margin}}  {_marks(steps, width)}"][:len(boxes)]
    lines += [f"{edge:>{margin}}  {''.join(cells)}".rstrip() for edge, cells in zip(edges, grid)]
    if hidden:
        lines.append(f"{hidden} buffers are too thin for this picture")
    return [*lines, _sizes(placement)]


def _boxes(placement: Placement) -> "List[Tuple[Live, int]]":
    """Return the buffers of at least one byte, with their offsets."""
    return [(live, placement.offsets[live.name]) for live in placement.lives if live.bytes]


def _sizes(placement: Placement) -> str:
    return f"{placement.bytes} bytes for {len(placement.lives)} buffers; at least {placement.bound} are needed"


def _axis(points: "Sequence[int]", most: int) -> List[int]:
    """Return the edges that divide an axis into at most `most` parts. They are the given points or, if these are too
    many, equally spaced.
    """
    edges = sorted(set(points))
    if len(edges) <= most + 1:
        return edges
    begin, length = edges[0], edges[-1] - edges[0]
    return [begin + length * part // most for part in range(most + 1)]


def _covered(edges: "Sequence[int]", begin: int, end: int) -> List[int]:
    """Return the indices of the parts of an axis whose middle is in begin <= middle < end."""
    return [part for part in range(len(edges) - 1) if begin <= (edges[part] + edges[part + 1]) // 2 < end]


def _box(name: str, width: int) -> str:
    """Return the text of a line of a box. It contains the name, or the end of the name, if there is room."""
    room = width - 2
    text = name if len(name) <= room else f"..{name[2 - room:]}" if room > 5 else ""
    return "[" if width == 1 else f"[{text:<{room}}]"


def _marks(steps: "Sequence[int]", width: int) -> str:
    """Return a line with the number of each step above the left edge of its column, where there is room."""
    text = ""
    for part, step in enumerate(steps[:-1]):
        if len(text) <= width * part:
            text = f"{text:<{width * part}}{step} "
    return text.rstrip()


# ---- as SVG ----------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _MARGIN, _LETTER = 1200, 600, 24, 7
_STYLE = """text{font:12px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}.right{text-anchor:end}
.bound{stroke-width:1.5;stroke-dasharray:6 4}
.paper{fill:#ffffff}text{fill:#1f2328}rect{stroke:#ffffff}.bound{stroke:#cf222e}
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}rect{stroke:#0d1117}.bound{stroke:#ff7b72}}"""
_COLOURS = ("#54a0ff", "#ff9f43", "#2ecc71", "#ff6ba0", "#f1d20f", "#9b6df5", "#1dc8c8", "#be8c6e")


def svg(placement: Placement) -> str:
    """Return the picture as SVG, to scale. A dashed line marks the lower bound. Tooltips show the name, bytes and steps
    of a buffer.
    """
    boxes = _boxes(placement)
    begin = min((live.begin for live, _ in boxes), default=0)
    end = max((live.end for live, _ in boxes), default=1)
    bytes_, title = max(placement.bytes, 1), _sizes(placement)
    left, top = 2 * _MARGIN + _LETTER * len(str(bytes_)), 2 * _MARGIN
    across, down = _WIDTH / (end - begin), _HEIGHT / bytes_
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + _WIDTH + _MARGIN}" height="{top + _HEIGHT + _MARGIN}"'
        f' role="img" aria-label="{title}">',
        f"<style>{_STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text x="{left}" y="{_MARGIN + 8}">{title}</text>',
    ]
    for number, (live, offset) in enumerate(boxes):
        x, y = left + (live.begin - begin) * across, top + offset * down
        width, height = (live.end - live.begin) * across, live.bytes * down
        name = live.name if height > 14 and width > _LETTER * (len(live.name) + 1) else ""
        what = f"{live.name}: bytes {offset} to {offset + live.bytes}, steps {live.begin} to {live.end - 1}"
        lines.append(f'<g><title>{escape(what)}</title><rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" '
                     f'height="{height:.2f}" fill="{_COLOURS[number % len(_COLOURS)]}" fill-opacity="0.6"/>'
                     f'<text x="{x + 4:.2f}" y="{y + min(height, 24) / 2 + 4:.2f}">{escape(name)}</text></g>')
    bound = top + placement.bound * down
    lines += [f'<text class="right" x="{left - 6}" y="{y + 4:.2f}">{text}</text>'
              for y, text in ((top, 0), (top + _HEIGHT, placement.bytes))]
    lines += [f'<text x="{left}" y="{top - 8}">step {begin}</text>',
              f'<text class="right" x="{left + _WIDTH}" y="{top - 8}">{end}</text>',
              f'<path class="bound" d="M{left} {bound:.2f}h{_WIDTH}"/>', "</svg>"]
    return "\n".join(lines) + "\n"
