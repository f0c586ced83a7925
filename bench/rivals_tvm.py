"""Simplify the results of a map as TVM expressions (PyPI: apache-tvm), and write them in the notation of maps."""

from __future__ import annotations

import ast
import time

from tvm import ir, prim, sym, tirx

from test_indexing_map import Map


def read(node: ast.expr, variables: "dict[str, tirx.Var]") -> "prim.Expr":
    """Return a Python expression over the variables as a TVM expression."""
    if isinstance(node, ast.Constant):
        return tirx.const(node.value, "int64")
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.operand, ast.Constant):
            return tirx.const(-node.operand.value, "int64")
        return tirx.const(0, "int64") - read(node.operand, variables)
    if isinstance(node, ast.Call):
        first, *rest = (read(part, variables) for part in node.args)
        for part in rest:
            first = {"min": prim.Min, "max": prim.Max}[node.func.id](first, part)
        return first
    a, b = read(node.left, variables), read(node.right, variables)
    zero = tirx.const(0, "int64")
    if isinstance(node.op, ast.MatMult):    # ceildiv
        return prim.Sub(zero, prim.FloorDiv(prim.Sub(zero, a), b))
    return {ast.Add: prim.Add, ast.Sub: prim.Sub, ast.Mult: prim.Mul, ast.FloorDiv: prim.FloorDiv, ast.Mod: prim.FloorMod}[type(node.op)](a, b)


def expression(text: str, variables: "dict[str, tirx.Var]") -> "prim.Expr":
    for word, sign in (("floordiv", "//"), ("ceildiv", "@"), ("mod", "%")):
        text = text.replace(word, sign)
    return read(ast.parse(text, mode="eval").body, variables)


WORDS = {prim.Add: "+", prim.Sub: "-", prim.Mul: "*", prim.FloorDiv: "floordiv", prim.FloorMod: "mod"}


def written(e: "prim.Expr") -> str:
    """Return the text of a TVM expression, with all brackets."""
    if isinstance(e, prim.IntImm):
        return str(e.value)
    if isinstance(e, ir.Var):
        return e.name
    if isinstance(e, (prim.Min, prim.Max)):
        return f"{'min' if isinstance(e, prim.Min) else 'max'}({written(e.a)}, {written(e.b)})"
    if type(e) in WORDS:
        return f"({written(e.a)} {WORDS[type(e)]} {written(e.b)})"
    raise ValueError(f"no operation of maps: {e}")


def simplified(text: str, repeats: int = 1) -> "tuple[list[str], float, float]":
    """Return the texts of the simplified results, and two times in microseconds: that of TVM's calls of simplify, and
    that of these calls together with the creation of an analyzer that knows the domain. The expressions are made before
    the time is taken.
    """
    m = Map(text)
    variables = {name: tirx.Var(name, "int64") for name in m.names}
    results = [expression(result, variables) for result in m.results]
    ranges = [(variables[name], ir.Range.from_min_extent(tirx.const(lo, "int64"), tirx.const(hi - lo + 1, "int64"))) for name, (lo, hi) in m.bounds.items()]
    facts = []
    for constraint, lo, hi in m.constraints:
        inner = expression(constraint, variables)
        facts += [inner == tirx.const(lo, "int64")] if lo == hi else [inner >= tirx.const(lo, "int64"), inner <= tirx.const(hi, "int64")]
    best = whole = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        analyzer = sym.Analyzer()
        for variable, extent in ranges:
            analyzer.bind(variable, extent)
        scopes = [analyzer.constraint_scope(fact) for fact in facts]
        for scope in scopes:
            scope.__enter__()
        start = time.perf_counter()
        answers = [analyzer.simplify(result) for result in results]
        end = time.perf_counter()
        best, whole = min(best, end - start), min(whole, end - begin)
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)
    return [written(answer) for answer in answers], best * 1e6, whole * 1e6
