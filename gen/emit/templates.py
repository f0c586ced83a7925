"""The syntax of the files in templates/, and the functions that they may call."""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Optional

import jinja2
import jinja2.ext
import jinja2.nodes

from gen.statements import printed
from gen.targets.tools import ROOT


class _WholeLines(jinja2.ext.Extension):
    """An expression ${ } alone on its line stands for lines: a list of lines or a text, printed with the expression's
    indentation. If the value is empty, no line is left. A comment alone on its line leaves no line either.
    """

    tags = {"lines"}

    def preprocess(self, source: str, name: "Optional[str]", filename: "Optional[str]" = None) -> str:
        source = re.sub(r"(?m)^ *//#(.*)$", r"{#\1 #}", source)
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
    """Raise an error if `condition`, on which a template relies, does not hold."""
    if not condition:
        raise AssertionError(f"a template relies on this: {what}")
    return ""


@functools.lru_cache(maxsize=None)
def environment() -> jinja2.Environment:
    """Return the environment of the templates. Statements are //% lines, expressions ${ } and comments //#, so that a
    template can be read as C. Compiled templates are cached in build/templates.

    check(condition, what): raises an error if a condition on which a template relies does not hold.
    when(condition): begins a block with `if (condition) `, or with nothing if the condition is "".
    """
    kept = ROOT / "build" / "templates"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        cache = jinja2.FileSystemBytecodeCache(str(kept), "no_comments_%s.cache") if os.access(kept, os.W_OK) else None
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


def macro(template: str, name: str, /, **values: Any) -> str:
    """Return the text of a macro of a template, with these arguments."""
    return str(getattr(environment().get_template(template).module, name)(**values))


def _c_string(line: str) -> str:
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
