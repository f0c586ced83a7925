"""Compare `sett indexing` with maps that other projects wrote down: examples in their documents, and XLA's own tests.
Maps are compared by meaning, not by text.

A map is right if a line of the output for the same instruction, direction and operand has the same domain and values.
A runtime variable is right if an `rt` line names the instruction that the variable is read from. One map of
XLA's tests and one of its documents are wrong; WRONG and WRONG_DOCUMENT have the correct maps.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest

from indexing_analysis_eval import PEER, ROOT, Index, box, read

from gen import algebra

# XLA's map is wrong: gather clamps its starts, so rows 33 to 41 of the iota read row 32 of the operand.
WRONG = {("FusionWithRTVarsSimplification_Iota#0", 0): "(d0, d1, d2) -> (min(d0, 32), 0), domain: d0 in [0, 41], d1 in [0, 0], d2 in [0, 0]"}
# The document's map from p1, f32[4,256,64], to the output is wrong: its last result is d1. But d1 is contracted and goes
# to 255. The last result must be d2, which goes to 63.
WRONG_DOCUMENT = {("Dot", "p1 -> output"): "(d0, d1, d2)[s0] -> (d0, s0, d2), domain: d0 in [0, 3], d1 in [0, 255], d2 in [0, 63], s0 in [0, 127]"}


class Line(NamedTuple):
    instruction: str
    direction: str
    operand: str
    kind: str
    map: str


def indexing(hlo: str, folder: Path) -> list[Line]:
    path = folder / "case.hlo"
    path.write_text(hlo)
    status, answer = algebra.run("indexing", str(path))
    assert status == 0, answer
    return [Line(*line.split("\t")) for line in answer.splitlines()]


def clean(text: str) -> str:
    """Bring a map of a document into a form that the parser reads."""
    text = " ".join(text.split()).rstrip(",")
    return "UNDEFINED" if text == "unknown indexing" else text


def same(a: str, b: str) -> bool:
    """Return whether two maps are equal by meaning. Variables that have a single value or are unused do not count,
    because one of the maps may leave them out.
    """
    a, b = clean(a), clean(b)
    if a == b or algebra.run("map", "equal", a, b)[1] == "equal":
        return True
    texts = [algebra.call("map", "unused", algebra.simplify(text), kind) for text in (a, b) for kind in ("ranges",)]
    texts = [algebra.call("map", "unused", text, "rts") for text in texts]
    return algebra.run("map", "equal", *texts)[1] == "equal"


def maps(lines: list[Line], instruction: str, directions: tuple[str, ...], operand: Optional[int] = None) -> list[str]:
    return [line.map for line in lines
            if line.instruction == instruction and line.direction in directions and (operand is None or line.operand == str(operand))]


def cases() -> list[dict[str, Any]]:
    path = PEER / "indexing_analysis_cases.json"
    if not path.exists():
        pytest.skip("the peer's cases are not here")
    return json.loads(path.read_text())


def check_operands(case: dict[str, Any], lines: list[Line]) -> None:
    forward = case["op"] == "output_to_input"
    direction = "output->operand" if forward else "operand->output"
    directions = (f"physical {direction}",) if case["physical_layout"] else (direction,)
    for expected in case.get("expect_operands") or []:
        operand = expected["operand"] if forward else None  # from operand to output, XLA numbers the outputs and `sett` the operands: these are not compared
        found = maps(lines, case["target"], directions, operand)
        for text in expected["maps"] if "maps" in expected else [expected["map"]]:
            text = WRONG.get((case["name"], expected["operand"]), text)
            assert any(same(text, one) for one in found), (case["name"], text, found)
        for runtime in expected.get("runtime_variables") or []:
            reader = runtime["instruction"].split("=")[0].strip().lstrip("%")
            spelled = [line for line in lines if line.instruction == case["target"] and line.direction == "rt" and line.kind == reader]
            host = expected["map"]
            if "{" in host:
                assert spelled or algebra.simplify(clean(host)) == algebra.simplify(found[0]) or constant(clean(host), runtime["name"]), (case["name"], runtime, lines)


def constant(text: str, name: str) -> bool:
    """Return whether the runtime variable has only one possible value."""
    return any(v.name == name and v.lo == v.hi for v in algebra.info(text).variables)


def test_upstream(tmp_path: Path) -> None:
    count = 0
    for case in cases():
        lines = indexing(case["hlo"], tmp_path)
        if case["kind"] == "hlo_indexing":
            check_operands(case, lines)
        elif case["kind"] == "hlo_grouped":
            for name, group in case["expect_groups"].items():
                found = [line.map for line in lines if line.direction in ("output->operand", f"output->{name}", "operand->output")]
                if name == case["target"]:
                    continue  # the start of the chain, whose map is the identity
                for expected in group:
                    assert any(same(expected["map"], one) for one in found), (case["name"], name, expected, lines)
                    if expected.get("replica_id"):
                        assert any(same(expected["replica_id"], line.map) for line in lines if line.direction == "replica"), (case["name"], lines)
        else:
            found = maps(lines, case["parent"], (f"operand->{case['root']}",))
            assert any(same(case["expect"], one) for one in found), (case["name"], lines)
        count += 1
    assert count >= 60


def test_documents(tmp_path: Path) -> None:
    path = PEER / "seeds" / "indexing_examples.json"
    if not path.exists():
        pytest.skip("the documents' examples are not here")
    for row in json.loads(path.read_text()):
        lines = indexing(row["hlo"], tmp_path)
        found = [line.map for line in lines if line.direction in ("output->operand", "operand->output")]
        text = WRONG_DOCUMENT.get((row["op"], row["direction"]), row["map"])
        assert any(same(text, one) for one in found), (row["op"], row["direction"], row["map"], lines)


def test_files(tmp_path: Path) -> None:
    """`sett indexing` reads every HLO file of other projects, and each line of its output has the documented form."""
    files = sorted(PEER.glob("fusions/*.hlo")) + sorted(PEER.glob("hlo/**/*.hlo"))
    if not files:
        pytest.skip("the peer's files are not here")
    command = ROOT / "build" / "sett"
    for path in files[::8]:
        done = subprocess.run([str(command), "indexing", str(path)], capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, (path, done.stderr)
        for line in done.stdout.splitlines():
            assert len(line.split("\t")) == 5, (path, line)


# ---- our own cases, which always run ----

RUNTIME = """HloModule m
f {
  table = f32[100,8] parameter(0)
  rows = s32[4] parameter(1)
  start = s32[] parameter(2)
  big = s32[] constant(70)
  zero = s32[] constant(0)
  part = f32[50,8] dynamic-slice(table, start, zero), dynamic_slice_sizes={50,8}
  last = f32[50,8] dynamic-slice(table, big, zero), dynamic_slice_sizes={50,8}
  both = f32[50,8] add(part, last)
  ROOT g = f32[4,8] gather(both, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
}
ENTRY e {
  a = f32[100,8] parameter(0)
  b = s32[4] parameter(1)
  c = s32[] parameter(2)
  ROOT r = f32[4,8] fusion(a, b, c), kind=kLoop, calls=f
}
"""


def test_runtime_variables(tmp_path: Path) -> None:
    """A constant start of 70 is clamped to 50 and is no variable. A runtime value has one name in all maps of a fusion.
    The map of a gather from a dynamic slice has the runtime variables of both.
    """
    lines = [line for line in indexing(RUNTIME, tmp_path) if line.instruction == "r"]
    domain = "d0 in [0, 3], d1 in [0, 7], "
    assert maps(lines, "r", ("output->operand",), 0) == [
        f"(d0, d1){{rt0}} -> (rt0 + 50, d1), domain: {domain}rt0 in [0, 49]",
        f"(d0, d1){{rt1, rt0}} -> (rt1 + rt0, d1), domain: {domain}rt1 in [0, 50], rt0 in [0, 49]"]
    spelled = {line.operand: (line.kind, line.map) for line in lines if line.direction == "rt"}
    assert spelled["rt1"] == ("start", "(d0, d1) -> (), domain: d0 in [0, 3], d1 in [0, 7]")
    assert spelled["rt0"] == ("rows", "(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 7]")


def move(rng: random.Random, name: str, of: str, value: dict[Index, set[Index]], dims: Index) -> tuple[str, dict[Index, set[Index]], Index]:
    """Apply a random op to an array of tags. Return the text of the op, the new tags and the new dimensions."""
    kind = rng.choice(["transpose", "reverse", "slice", "pad", "broadcast", "reduce", "reshape", "mix"])
    n = len(dims)
    if kind == "transpose":
        order = tuple(rng.sample(range(n), n))
        out = tuple(dims[d] for d in order)
        tags = {tuple(i[d] for d in order): t for i, t in value.items()}
        text = f"transpose({of}), dimensions={{{','.join(map(str, order))}}}"
    elif kind in ("reverse", "mix") and n:
        d, out = rng.randrange(n), dims
        tags = {i[:d] + (dims[d] - 1 - i[d],) + i[d + 1 :]: t for i, t in value.items()}
        text = f"reverse({of}), dimensions={{{d}}}"
        if kind == "mix":
            shape = f"f32[{','.join(map(str, dims))}]"
            text = f"add({of}, {name}_r)\n"
            before = f"  {name}_r = {shape} reverse({of}), dimensions={{{d}}}\n"
            return before + f"  {name} = {shape} {text}", {i: value[i] | tags[i] for i in tags}, out
    elif kind == "slice":
        start = [rng.randrange(d) for d in dims]
        step = [rng.randint(1, 2) for _ in dims]
        rows = [list(range(a, d, k)) for a, d, k in zip(start, dims, step)]
        out = tuple(map(len, rows))
        tags = {i: value[tuple(r[k] for r, k in zip(rows, i))] for i in box(out)}
        text = f"slice({of}), slice={{{', '.join(f'[{a}:{d}:{k}]' for a, d, k in zip(start, dims, step))}}}"
    elif kind == "pad" and n:
        low, gap = [rng.randint(0, 2) for _ in dims], [rng.randint(0, 1) for _ in dims]
        out = tuple(a + d + (d - 1) * g + 1 for a, d, g in zip(low, dims, gap))
        tags = {i: set() for i in box(out)}
        tags.update({tuple(a + k * (g + 1) for a, k, g in zip(low, i, gap)): t for i, t in value.items()})
        text = f"pad({of}, zero), padding={'x'.join(f'{a}_1_{g}' for a, g in zip(low, gap))}"
    elif kind == "broadcast" and n < 3:
        at, size = rng.randint(0, n), rng.randint(1, 3)
        out = dims[:at] + (size,) + dims[at:]
        tags = {i: value[i[:at] + i[at + 1 :]] for i in box(out)}
        text = f"broadcast({of}), dimensions={{{','.join(str(d) for d in range(n + 1) if d != at)}}}"
    elif kind == "reduce" and n:
        d = rng.randrange(n)
        out = dims[:d] + dims[d + 1 :]
        tags = {i: set().union(*(value[i[:d] + (k,) + i[d:]] for k in range(dims[d]))) for i in box(out)}
        text = f"reduce({of}, zero), dimensions={{{d}}}, to_apply=sum"
    else:
        total = len(value)
        inner = rng.choice([k for k in range(1, total + 1) if total % k == 0])
        out = (total // inner, inner)
        tags = dict(zip(box(out), (value[i] for i in box(dims))))
        text = f"reshape({of})"
    return f"  {name} = f32[{','.join(map(str, out))}] {text}\n", tags, out


def test_fusions(tmp_path: Path) -> None:
    """The maps of random fusions, in both directions, relate each output element to exactly the parameter elements that
    reach it.
    """
    rng = random.Random(7)
    for _ in range(40):
        first = dims = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
        tags = {i: {i} for i in box(dims)}
        shape = f"f32[{','.join(map(str, dims))}]"
        body, name = f"f {{\n  x = {shape} parameter(0)\n  zero = f32[] constant(0)\n", "x"
        for k in range(rng.randint(1, 5)):
            text, tags, dims = move(rng, f"v{k}", name, tags, dims)
            body, name = body + text, f"v{k}"
            if len(tags) > 300:
                break
        out = f"f32[{','.join(map(str, dims))}]"
        body += f"  ROOT last = {out} negate({name})\n}}\n"
        hlo = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n" + body
        hlo += f"ENTRY e {{\n  p = {shape} parameter(0)\n  ROOT z = {out} fusion(p), kind=kLoop, calls=f\n}}\n"
        lines = indexing(hlo, tmp_path)
        pairs = {(i, t) for i, found in tags.items() for t in found}
        forward = {(i, t) for text in maps(lines, "z", ("output->operand",), 0) for i in box(dims) for t in read(text).at(i)}
        back = {(i, t) for text in maps(lines, "z", ("operand->output",), 0) for t in box(first) for i in read(text).at(t)}
        assert forward == pairs and back == pairs, (hlo, lines)
        assert all(line.kind == "exact" for line in lines if line.instruction == "z" and line.operand == "0"), lines


def test_where_elements_are_parts_of_others(tmp_path: Path) -> None:
    """A bitcast that changes the number of elements has no indexing map. A bitcast that keeps the number has a map."""
    lines = indexing("f {\n  a = f32[4] parameter(0)\n  b = u8[16] bitcast(a)\n  ROOT c = s8[4,4] bitcast(b)\n}\n", tmp_path)
    assert {line.map for line in lines if line.instruction in "bf" and line.direction in ("output->operand", "operand->output")} == {"UNDEFINED"}
    assert all("d0 * 4 + d1" in text for text in maps(lines, "c", ("output->operand",)))


def test_a_scatter_into_nothing(tmp_path: Path) -> None:
    lines = indexing("s {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"
                     "f {\n  p = f32[0,2] parameter(0)\n  i = s32[3,1] parameter(1)\n  u = f32[3,2] parameter(2)\n  ROOT c = f32[0,2] scatter(p, i, u), "
                     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s\n}\n", tmp_path)
    assert set(maps(lines, "c", ("output->operand", "operand->output"))) == {"KNOWN EMPTY"}


GOOD = "f {\n  a = f32[4,8] parameter(0)\n  ROOT t = f32[8,4] transpose(a), dimensions={1,0}\n}\n"
FAULTS = [  # the text to replace, its replacement, and the line and column of the error
    ("f32[8,4]", "f32[4,8]", "3:21"), ("transpose", "transposes", "3:21"), ("(a)", "(b)", "3:31"), ("(a)", "(a, a)", "3:21"), ("(a)", "(a", "3:34"),
    ("{1,0}", "{1,1}", "3:21"), ("{1,0}", "{1,x}", "3:46"), (", dimensions={1,0}", "", "3:21"), ("}\n", "", "4:1"), ("f32[4,8]", "f99[4,8]", "2:7"),
    ("parameter(0)", "parameter(x)", "2:26"), ("parameter(0)", "parameter(1)", "2:26"), ("ROOT t", "ROOT a", "3:8"), ("f {", "{", "1:1"),
    ("dimensions={1,0}", "dimensions={1,0}, dimensions={1,0}", "3:53"), ("(a)", "(f32[8,8] a)", "3:31"), ("a = ", "/* ", "2:3"),
]


def test_faults(tmp_path: Path) -> None:
    path = tmp_path / "fault.hlo"
    for old, new, place in FAULTS:
        assert old in GOOD
        path.write_text(GOOD.replace(old, new) if old != "}\n" else GOOD[:-2])
        status, answer = algebra.run("indexing", str(path))
        found = re.match(rf"error: {re.escape(str(path))}:(\d+:\d+): ", answer)
        assert status == 2 and found, (old, new, answer)
        assert found[1] == place, (old, new, answer)
    for words in (("indexing",), ("indexing", str(tmp_path)), ("indexing", str(tmp_path / "none.hlo"))):
        status, answer = algebra.run(*words)
        assert status == 2 and answer.startswith("error: "), answer
