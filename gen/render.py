"""From kernels to the text of a target's file, through templates."""

from __future__ import annotations

import functools
import jinja2.ext
import jinja2.nodes
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Set

import jinja2

from gen.emit.helpers import Helpers
from gen.emit.statements import printed
from gen.heroes.kernel import Kernel, Table
from gen.hlo import Fusion, Shape, param_leaves, result_leaves
from gen.chains import Chain, Launch, launches
from gen.lower import tiled_layouts
from gen.schedule import Device
from gen.targets import TARGETS, Target
from gen.threads import threads

ROOT = Path(__file__).resolve().parent.parent


class _WholeLines(jinja2.ext.Extension):
    """A hole that is alone on its line stands for lines: a list or a text, printed at the hole's indentation; where
    there is nothing, no line."""

    tags = {"lines"}

    def preprocess(self, source: str, name: "Optional[str]", filename: "Optional[str]" = None) -> str:
        return re.sub(r"(?m)^( *)\$\{ ((?:(?!\$\{).)+) \}$", r'{% lines "\1", \2 %}', source)

    def parse(self, parser: Any) -> jinja2.nodes.Node:
        line, indentation = next(parser.stream).lineno, parser.parse_expression()
        parser.stream.expect("comma")
        return jinja2.nodes.Output([jinja2.nodes.Filter(parser.parse_expression(), "lines", [indentation], [], None,
                                                        None)], lineno=line)


def _lines(of: Any, indentation: str) -> str:
    lines = printed(of) if isinstance(of, list) else str(of).removesuffix("\n").split("\n") if of else []
    return "".join(indentation + line + "\n" if line else "\n" for line in lines)


def _check(condition: Any, what: str) -> str:
    """What a template relies on."""
    if not condition:
        raise AssertionError(f"a template relies on this: {what}")
    return ""


@functools.lru_cache(maxsize=None)
def environment() -> jinja2.Environment:
    """Templates stay readable as C: statements are //% lines, expressions ${ }, comments //#. What Jinja makes of them
    is kept.

    `check(condition, what)` asserts what a template relies on; `when(condition)` begins a block: `if (condition) `, or
    nothing where it always holds.
    """
    kept = ROOT / "build" / "templates"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        cache = jinja2.FileSystemBytecodeCache(str(kept), "whole_lines_%s.cache") if os.access(kept, os.W_OK) else None
    except OSError:
        cache = None
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(ROOT / "templates"), undefined=jinja2.StrictUndefined,
                                   bytecode_cache=cache, line_statement_prefix="//%", line_comment_prefix="//#",
                                   variable_start_string="${", variable_end_string="}", trim_blocks=True,
                                   lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
                                   extensions=["jinja2.ext.do", _WholeLines])
    templates.filters["lines"] = _lines
    templates.filters["c_string"] = _c_string
    templates.globals["check"] = _check
    templates.globals["when"] = lambda condition: f"if ({condition}) " if condition else ""
    return templates


def _c_string(line: str) -> str:
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


@dataclass
class Emitted:
    """A fusion's kernels in one language before they are text, with the functions and tables that they need, and the
    buffers between them."""

    target: Target
    helpers: Helpers
    kernels: List[Kernel]
    scratch: List[Shape]


@dataclass
class Program:
    """A fusion's kernels in one language, and the text of its file. scratch: buffers between kernels."""

    target: Target
    device: Device
    kernels: List[Kernel]
    launches: List[Launch]
    text: str
    scratch: List[Shape]

    @property
    def tables(self) -> "List[Table]":
        return [kernel.table for kernel in self.kernels if kernel.table]


@dataclass
class Rendered:
    """A fusion's kernels and their text in one dialect, before the head of its file. scratch: the buffers between
    kernels. threads: that each kernel is worth on a CPU."""

    target: Target
    kernels: List[Kernel]
    threads: List[int]
    launches: List[Launch]
    body: str
    used: "Set[str]"      # names that the text has, and that the template of its file declares
    scratch: List[Shape]

    @property
    def tables(self) -> "List[Table]":
        return [kernel.table for kernel in self.kernels if kernel.table]

    def offset(self, number: int) -> int:
        """Where a scratch buffer begins in C's one block of memory, after the tables; after the last, where the block
        ends."""
        return len(self.tables) * 2 * 65536 + sum(-(-shape.bytes // 64) * 64 for shape in self.scratch[:number])

    def about(self) -> str:
        """The kernels' schedules and maps, as comment lines."""
        lines = []
        for kernel in self.kernels:
            for walk in kernel.scheduled:
                lines += [f"{walk.name}: {walk.loop.text()}", f"  index: {walk.thread}"]
                lines += [f"  {access.words}: {access.position}" for access in walk.accesses]
        return "\n".join("// " + line for line in lines)


def _preamble(fusion: Fusion, device: Device, rendered: Rendered, excess: bool) -> str:
    through = ", ".join(dict.fromkeys(f"templates/{k.template}.j2" for k in rendered.kernels))
    lines = [f"// generated by sett from fusion {fusion.name} through {through} for {device.name}: do not edit"]
    lines += [f"// {fusion.filled}"] if fusion.filled else []
    lines += [f"// padding of result {n}, {shape.text}, is written with zeros"
              for n, shape, _, _ in result_leaves(fusion.computation)
              if tiled_layouts.positions(shape) > shape.elements]
    if device.cpu and any(k.nest.layout for k in rendered.kernels):
        lines.append("// sett_distribute is for GPUs: the walk is this device's own")
    if excess:
        lines.append("// f16 and bf16 are kept as f32 between ops (--excess-precision)")
    return "\n".join([*lines, rendered.about()]).rstrip("\n")


def rendered(emitted: Emitted, fusion: Fusion, device: Device) -> Rendered:
    """The kernels through their heroes' templates, after the tables, types and functions that they need."""
    d, kernels = emitted.target, emitted.kernels
    for number, table in enumerate(kernel.table for kernel in kernels if kernel.table):
        table.number = number
    counts = threads(kernels, device) if device.cpu else []
    launched = launches(fusion.name, kernels, counts, d) if counts and d.chains else list(kernels)
    texts = [text for launch in launched for text in _texts(launch, d)]
    body = "\n".join([text for _, text in emitted.helpers.tables.values()] + list(emitted.helpers.texts.values())
                     + texts)
    structs = [f"typedef struct {{ {d.types[part]} re, im; }} {name};\n"
               for name, part in (("c64", "f32"), ("c128", "f64")) if name in d.used]
    body = "\n".join([*structs, body])
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in body.splitlines())).strip("\n") + "\n"
    return Rendered(d, kernels, counts, launched, body,
                    d.used | {"table" for kernel in kernels if kernel.table}, emitted.scratch)


def _texts(launch: Launch, d: Target) -> List[str]:
    """A launch's kernels through their templates."""
    def text(kernel: Kernel, language: Target) -> str:
        template = environment().get_template(f"{kernel.template}.j2")
        return template.render(d=language, kernel=kernel, t=d.index[kernel.index])

    if not isinstance(launch, Chain):
        return [text(launch, d)]
    functions = [text(kernel, d.of_functions()) for kernel in launch.functions()]
    return functions + [environment().get_template("parts/chain.j2").render(d=d, chain=launch)]


def program(fusion: Fusion, device: Device, halves: "Sequence[Rendered]", excess: bool) -> Program:
    """A target's file: its preamble, the kernels (the first of the halves, and those of compilers without vectors), and
    what launches them."""
    first, params = halves[0], param_leaves(fusion)
    results = [leaf.shape for leaf in result_leaves(fusion.computation)]
    text = (
        environment()
        .get_template(first.target.template)
        .render(
            d=first.target,
            preamble=_preamble(fusion, device, first, excess),
            aliases=[(result.number, parameter.number) for kernel in first.kernels
                     for result, parameter in kernel.nest.aliases.items()],
            used=first.used,
            used_anywhere=set().union(*(half.used for half in halves)),
            body=first.body,
            name=fusion.name,
            kernels=first.kernels,
            scratch=first.scratch,
            params=len(params),
            results=len(results),
            halves=halves,
            aligned=[min(64, 1 << shape.bytes.bit_length() - 1) if shape.bytes else 1 for shape in [*params, *results]],
            words=first.target.vectors(),
        )
        .lstrip()
    )
    return Program(first.target, device, first.kernels, first.launches, text, first.scratch)


def header(fusion: Fusion, about: "Dict[str, Any]", programs: "Sequence[Program]") -> str:
    """The C API of all targets, in the order of these."""
    return (
        environment()
        .get_template("files/api.h.j2")
        .render(
            name=fusion.name,
            filled=fusion.filled,
            guard=f"SETT_FUSION_{fusion.name.upper()}_H",
            aliases=about["aliases"],
            params=about["params"],
            results=about["results"],
            programs=sorted(programs, key=lambda program: list(TARGETS).index(program.target.name)),
        )
    )
