"""From kernels to the text of a target's file, through templates."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Set

import jinja2
import jinja2.ext
import jinja2.nodes

from gen import heroes
from gen.emit.body import Helpers, Text
from gen.heroes.kernel import Kernel, Table
from gen.hlo import Fusion, Shape
from gen.lower import tiled_layouts
from gen.plan.nests import nests, param_leaves, result_leaves
from gen.schedule import Device, device_for
from gen.targets import TARGETS, Target

ROOT = Path(__file__).resolve().parent.parent


class _WholeLines(jinja2.ext.Extension):
    """A hole that is alone on its line stands for lines: a list or a text, printed at the hole's indentation; where there is nothing, no line."""

    tags = {"lines"}

    def preprocess(self, source: str, name: "Optional[str]", filename: "Optional[str]" = None) -> str:
        return re.sub(r"(?m)^( *)\$\{ ((?:(?!\$\{).)+) \}$", r'{% lines "\1", \2 %}', source)

    def parse(self, parser: Any) -> jinja2.nodes.Node:
        line, indentation = next(parser.stream).lineno, parser.parse_expression()
        parser.stream.expect("comma")
        return jinja2.nodes.Output([jinja2.nodes.Filter(parser.parse_expression(), "lines", [indentation], [], None, None)], lineno=line)


def _lines(of: Any, indentation: str) -> str:
    lines = of if isinstance(of, list) else str(of).removesuffix("\n").split("\n") if of else []
    return "".join(indentation + line + "\n" if line else "\n" for line in lines)


def _check(condition: Any, what: str) -> str:
    """What a template relies on."""
    if not condition:
        raise AssertionError(f"a template relies on this: {what}")
    return ""


@functools.lru_cache(maxsize=None)
def environment() -> jinja2.Environment:
    """Templates stay readable as C: statements are //% lines, expressions ${ }, comments //#. What Jinja makes of them is kept.

    `check(condition, what)` asserts what a template relies on; `when(condition)` begins a block: `if (condition) `, or nothing where it always holds.
    """
    kept = ROOT / "build" / "templates"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        cache = jinja2.FileSystemBytecodeCache(str(kept), "whole_lines_%s.cache") if os.access(kept, os.W_OK) else None
    except OSError:
        cache = None
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(ROOT / "templates"), undefined=jinja2.StrictUndefined, bytecode_cache=cache,
                              line_statement_prefix="//%", line_comment_prefix="//#", variable_start_string="${",
                              variable_end_string="}", trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                              autoescape=False, extensions=["jinja2.ext.do", _WholeLines])
    made.filters["indented"] = lambda lines, depth: "\n".join("  " * depth + line if line else line for line in lines)
    made.filters["lines"] = _lines
    made.filters["c_string"] = _c_string
    made.globals["check"] = _check
    made.globals["when"] = lambda condition: f"if ({condition}) " if condition else ""
    return made


def _c_string(line: str) -> str:
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


@dataclass
class Program:
    """A fusion's kernels in one language."""

    dialect: Target
    device: Device
    kernels: List[Kernel]
    text: str
    scratch: List[Shape]   # buffers between kernels


@dataclass
class Rendered:
    """A fusion's kernels and their text in one dialect, before the head of its file. scratch: the buffers between kernels."""

    dialect: Target
    kernels: List[Kernel]
    body: str
    used: "Set[str]"      # names that the text has, and that the template of its file declares
    scratch: List[Shape]

    @property
    def tables(self) -> "List[Table]":
        return [made.table for made in self.kernels if made.table]

    def offset(self, number: int) -> int:
        """Where a scratch buffer begins in C's one block of memory, after the tables; after the last, where the block ends."""
        return len(self.tables) * 4 * 65536 + sum(-(-shape.bytes // 64) * 64 for shape in self.scratch[:number])

    def about(self) -> str:
        """The kernels' schedules and maps, as comment lines."""
        lines = []
        for made in self.kernels:
            for one in made.walks:
                lines += [f"{one.name}: {one.loop.text()}", f"  index: {one.thread}"]
                lines += [f"  {what}: {index}" for what, index in one.accesses]
        return "\n".join("// " + line for line in lines)


def _step(d: Target, made: Kernel) -> List[str]:
    """One step: whole where it is, else element by element."""
    t, out = d.index[made.index], Text()

    def whole() -> None:
        out.add(*made.before)
        if made.vec > 1 and made.text:
            out.add(*d.unrolled(made.loop.lanes))
            with out.block(f"for ({t} vec = 0; vec < {made.vec}; ++vec)"):
                if made.loop.down > 1:
                    out.add(d.unroll)
                    with out.block(f"for ({t} down = 0; down < {made.loop.down}; ++down)"):
                        out.add(*made.text)
                else:
                    out.add(*made.text)
        else:
            out.add(*made.text)
        out.add(*made.after)

    if not made.guard:
        whole()
        return out.lines
    with out.block(f"if ({made.guard})"):
        whole()
    if made.tail:
        with out.block("else"):
            with out.block(f"for ({t} vec = 0; vec < {made.step} && {made.tail_guard}; ++vec)"):
                out.add(*made.tail)
    return out.lines


def _preamble(fusion: Fusion, device: Device, made: Rendered, excess: bool) -> str:
    through = ", ".join(dict.fromkeys(f"templates/{k.template or k.hero}.j2" for k in made.kernels))
    lines = [f"// generated by sett from fusion {fusion.name} through {through} for {device.name}: do not edit"]
    lines += [f"// {fusion.filled}"] if fusion.filled else []
    lines += [f"// padding of result {n}, {shape.text}, is written with zeros" for n, (shape, _, _) in enumerate(result_leaves(fusion.computation))
              if tiled_layouts.positions(shape) > shape.elements]
    if device.cpu and any(k.nest.layout for k in made.kernels):
        lines.append("// sett_distribute is for GPUs: the walk is this device's own")
    if excess:
        lines.append("// f16 and bf16 are kept as f32 between ops (--excess-precision)")
    return "\n".join([*lines, made.about()]).rstrip("\n")


def program(fusion: Fusion, target: str, device_name: Optional[str] = None, excess: bool = False) -> Program:
    d, device = TARGETS[target].of_file(), device_for(target, device_name)
    made = _rendered(d, device, fusion, excess)
    halves = [made]
    if d.plain and any(k.loop.lanes > 1 for k in made.kernels):
        halves.append(_rendered(d.plain.of_file(), device.scalar(), fusion, excess))
    text = environment().get_template(d.template).render(
        preamble=_preamble(fusion, device, made, excess), aliases=[alias for k in made.kernels for alias in k.nest.aliases.items()],
        used=made.used, used_anywhere=set().union(*(half.used for half in halves)), body=made.body, name=fusion.name, kernels=made.kernels, scratch=made.scratch,
        params=len(param_leaves(fusion)), results=len(result_leaves(fusion.computation)), halves=halves, words=d.vectors(made.body)).lstrip()
    return Program(d, device, made.kernels, text, made.scratch)


def _rendered(d: Target, device: Device, fusion: Fusion, excess: bool) -> Rendered:
    helpers = Helpers(d)
    made = nests(fusion)
    scratch = [root.shape for nest in made for root in nest.partition.roots if root.scratch]
    context = heroes.Context(d, device, helpers, excess, scratch)
    kernels = [kernel for nest in made for kernel in heroes.kernels(nest, context)]
    for number, looked_up in enumerate(k for k in kernels if k.table):
        looked_up.table.number = number  # type: ignore[union-attr]
    body = "\n".join([text for _, text in helpers.tables.values()] + list(helpers.texts.values()) + [
        environment().get_template(f"{made.template or made.hero}.j2").render(d=d, kernel=made, t=d.index[made.index], step=_step(d, made)) for made in kernels])
    structs = [f"typedef struct {{ {d.types[part]} re, im; }} {name};\n" for name, part in (("c64", "f32"), ("c128", "f64")) if name in d.used]
    body = "\n".join([*structs, body])
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in body.splitlines())).strip("\n") + "\n"
    return Rendered(d, kernels, body, d.used | {"table" for k in kernels if k.table}, scratch)
