"""Discrete Fourier transforms, in long double: a dimension after the other, a row after the other."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from gen.hlo import Instruction
from gen.reference.emitter import Emitter, title
from gen.reference.loops import indices_of, loops_over, position_of, strides_of
from gen.reference.values import Array, Value

TWO_PI = "6.283185307179586476925286766559005768L"


def passes(i: Instruction, dims: Sequence[int]) -> "List[Tuple[int, int, bool]]":
    """The dimensions that are transformed, in their order: number, length, and whether the row is real before or after.
    That dimension is the first of RFFT and the last of IRFFT."""
    kind, lengths = i.attributes["fft_type"], i.attributes["fft_length"]
    first = len(dims) - len(lengths)
    order = [(first + k, length, kind in ("RFFT", "IRFFT") and k == len(lengths) - 1)
             for k, length in enumerate(lengths)]
    return order if kind == "IRFFT" else order[::-1]


def fft(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """The parts of the result, of the parts of the operand."""
    kind, dims = i.attributes["fft_type"], x[0].dims
    shapes = i.shape.leaves()
    outs = [e.array(f"{i.name}{part}", shape.dtype, shape.dims)
            for shape, part in zip(shapes, ("_re", "_im") if len(shapes) > 1 else ("",))]
    work = e.array(f"{i.name}_work", "long double", (*dims, 2))
    at = position_of(indices_of(dims), strides_of(dims))
    lines = loops_over(dims, [f"{work}[({at}) * 2] = {x[0]}[{at}];",
                              f"{work}[({at}) * 2 + 1] = {f'{x[1]}[{at}]' if len(x) > 1 else '0.0L'};"])
    arrays = [work]
    for d, n, halved in passes(i, dims):
        given, dims = dims, tuple(size if k != d or not halved else n // 2 + 1 if kind == "RFFT" else n
                                  for k, size in enumerate(dims))
        goal = e.array(f"{i.name}_work", "long double", (*dims, 2))
        roots, row, there, room = (e.array(f"{i.name}_{name}", "long double", (n, 2))
                                   for name in ("roots", "row", "there", "room"))
        rest = tuple(1 if k == d else size for k, size in enumerate(dims))
        index = [name if k != d else "k" for k, name in enumerate(indices_of(rest))]
        if len(rest) == 1:
            index = ["k"]
        inverse = kind in ("IFFT", "IRFFT")
        lines += [f"for (int64_t k = 0; k < {n}; ++k) {{",
                  f"  {roots}[2 * k] = cosl({TWO_PI} * (long double)k / {n});",
                  f"  {roots}[2 * k + 1] = {'' if inverse else '-'}sinl({TWO_PI} * (long double)k / {n});", "}"]
        body = read(work, given, index, row, n, halved and kind == "IRFFT")
        body += [f"{e.call('dft', str(n), str(roots), '1', str(row), '1', str(there), str(room))};",
                 f"for (int64_t k = 0; k < {dims[d]}; ++k)", "  for (int part = 0; part < 2; ++part)",
                 f"    {goal}[({position_of(index, strides_of(dims))}) * 2 + part] = "
                 f"{there}[2 * k + part]{f' / {n}' if inverse else ''};"]
        lines += loops_over(rest, body)
        arrays += [goal, roots, row, there, room]
        work = goal
    at = position_of(indices_of(dims), strides_of(dims))
    lines += loops_over(dims, [
        f"{out}[{at}] = ({out.kind}){work}[({at}) * 2 + {part}];" for part, out in enumerate(outs)])
    e.step(f"{title(i)}, fft_type={kind}, fft_length={i.attributes['fft_length']}", lines, [*outs, *arrays], x)
    return outs[0] if len(outs) == 1 else list(outs)


def read(work: Array, dims: Sequence[int], index: Sequence[str], row: Array, n: int, half: bool) -> List[str]:
    """Statements that bring a row of n elements together. half: of a spectrum n / 2 + 1 are given, and the others are
    their conjugates; what is its own conjugate is real."""
    def place(at: str) -> str:
        return position_of([at if name == "k" else name for name in index], strides_of(dims))

    if not half:
        return [f"for (int64_t k = 0; k < {n}; ++k)", "  for (int part = 0; part < 2; ++part)",
                f"    {row}[2 * k + part] = {work}[({place('k')}) * 2 + part];"]
    return [f"for (int64_t k = 0; k < {n}; ++k) {{",
            f"  const int64_t given = k <= {n // 2} ? k : {n} - k;",
            f"  {row}[2 * k] = {work}[({place('given')}) * 2];",
            f"  {row}[2 * k + 1] = 2 * given % {n} == 0 ? 0.0L : {work}[({place('given')}) * 2 + 1];",
            f"  if (given < k) {row}[2 * k + 1] = -{row}[2 * k + 1];", "}"]


