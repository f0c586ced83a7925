"""Test what gen certify proves about the calls of a program: their order, the arrays between them, and results that
overwrite parameters.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import pytest

from gen.certify import Verdict, certify, missing, programs
from gen.certify.text import Unknown
from tests.gen_run import gen

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

MOVE = """static void {name}(const float *restrict a, float *restrict b, size_t number)
{{
  b[number] = a[number];
}}

"""
RUN = """static void run(const void *const *params, void *const *results, unsigned char *scratch, const struct sett_share *share)
{{
{body}}}
"""


def program(calls: "List[Tuple[str, Tuple[str, int, int], Tuple[str, int, int]]]", body: str) -> "List[Verdict]":
    """Return the verdicts on a program in C whose kernels copy 8 floats each. calls: for each call, the name of the
    kernel, its source and its target. A source or target is (buffer, number, offset).
    """
    names = list(dict.fromkeys(name for name, _, _ in calls))
    text = "".join(MOVE.format(name=name) for name in names) + RUN.format(body=body)
    launches = [{"kernel": name, "blocks": 8, "threads": 1, "arguments": [
        {"name": pointer, "buffer": buffer, "number": number, "offset": offset, "bytes": 32}
        for pointer, (buffer, number, offset) in (("a", source), ("b", to))]} for name, source, to in calls]
    manifest: "Dict[str, Any]" = {"aliases": [], "results": [{"bytes": 32}], "files": {"c": "k.c"}, "targets": {"c": {"launches": launches}}}
    return certify({"k.c": text}, manifest, ["c"])


P, R, X, Y = ("params", 0, 0), ("results", 0, 0), ("scratch", 1, 0), ("scratch", 2, 32)
LATE = ("scratch", 3, 16)       # overlaps half of X and half of Y


def test_solvers_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the solvers have no time left for the calls of a program, no kernel is proved."""
    def late(*_: object) -> None:
        raise Unknown("7 queries took more than 60 s")
    monkeypatch.setattr(programs.Program, "_read", late)
    verdicts = program([("k0", P, X), ("k1", X, R)], "k0(0, 0, number); k1(0, 0, number);")
    assert [verdict.kind for verdict in verdicts] == ["UNKNOWN", "UNKNOWN"]
    assert "more than 60 s" in verdicts[1].line()


@pytest.mark.parametrize("calls, body, kinds, said", [
    ([("k0", P, X), ("k1", X, R)], "k0(0, 0, number); k1(0, 0, number);", "PP", ""),
    ([("k0", X, R), ("k1", P, X)], "k0(0, 0, number); k1(0, 0, number);", "RP", "a is read before anything writes it"),
    ([("k0", P, X), ("k1", P, LATE), ("k2", X, R)], "k0(0, 0, n); k1(0, 0, n); k2(0, 0, n);", "PPR", "wrote to another array in its bytes"),
    ([("k0", P, X), ("k1", P, Y), ("k2", X, R)], "k0(0, 0, n); k1(0, 0, n); k2(0, 0, n);", "PPP", ""),
    ([("k0", P, X), ("k1", X, Y), ("k2", P, LATE), ("k3", P, R)],
     "k0(0, 0, n); for (int t = 0; t < 4; ++t) { k1(0, 0, n); k2(0, 0, n); } k3(0, 0, n);", "PRPP", "wrote to another array in its bytes"),
    ([("k0", P, X), ("k1", X, Y), ("k2", P, LATE), ("k3", P, R)],
     "k0(0, 0, n); for (int t = 0; t < 4; ++t) k1(0, 0, n); k2(0, 0, n); k3(0, 0, n);", "PPPP", ""),
    ([("k0", P, X), ("k1", X, R)], "k1(0, 0, n); k0(0, 0, n);", "PU", "the text runs k1 where the manifest has k0"),
    ([("k0", P, X), ("k1", X, R)], "k0(0, 0, n);", "PU", "the host's text has no launch of k1"),
])
def test_order(calls: "Any", body: str, kinds: str, said: str) -> None:
    """A kernel is refuted if it reads an array before a kernel writes it, or after a kernel has written another array
    with the same bytes. Reads in the next step of a loop count, too.
    """
    found = program(calls, "  " + body + "\n")
    assert "".join(verdict.kind[0] for verdict in found) == kinds, [verdict.line() for verdict in found]
    assert said in " ".join(verdict.line() for verdict in found)


@pytest.mark.parametrize("stored, buffer, kind", [
    ("number < 4 ? 7 : (int)number - 4", "scratch", "PROVED"),
    ("(int)number + 1", "scratch", "UNKNOWN"),
    ("(int)number - 1", "scratch", "UNKNOWN"),
    ("p[number] & 7", "scratch", "PROVED"),
    ("p[number]", "scratch", "UNKNOWN"),
    ("p[number] & 7", "results", "PROVED"),
])
def test_integers_between_calls(stored: str, buffer: str, kind: str) -> None:
    """A kernel that reads an index from an array is proved if the kernel that wrote the array stored only valid
    indices.
    """
    text = f"""static void k0(const int *restrict p, int *restrict q, size_t number)
{{
  q[number] = {stored};
}}

static void k1(const int *restrict q, const float *restrict a, float *restrict b, size_t number)
{{
  const int n = q[number];
  b[number] = a[n];
}}

""" + RUN.format(body="  k0(0, 0, number); k1(0, 0, 0, number);\n")
    def launch(name: str, *arguments: "Tuple[str, str, int]") -> "Dict[str, Any]":
        return {"kernel": name, "blocks": 8, "threads": 1, "arguments": [
            {"name": pointer, "buffer": of, "number": number, "offset": 0, "bytes": 32} for pointer, of, number in arguments]}

    launches = [launch("k0", ("p", "params", 1), ("q", buffer, 1)),
                launch("k1", ("q", buffer, 1), ("a", "params", 0), ("b", "results", 0))]

    def kinds(aliases: "List[Dict[str, int]]") -> "List[str]":
        manifest = {"aliases": aliases, "results": [{"bytes": 32}] * (1 + (buffer == "results")), "files": {"c": "k.c"},
                    "targets": {"c": {"launches": launches}}}
        return [verdict.kind for verdict in certify({"k.c": text}, manifest, ["c"])]
    assert kinds([]) == ["PROVED", kind]
    if buffer == "results":     # the result may still hold the parameter's values
        assert kinds([{"result": 1, "parameter": 2}])[1] == "UNKNOWN"


@pytest.mark.parametrize("body, kind", [
    ("r0[g * 16 + t] = p0[g * 16 + t] + 1.0f;", "PROVED"),
    ("r0[g * 16 + t] = 1.0f; r0[g * 16 + t] = p0[g * 16 + t];", "REFUTED"),
    ("for (uint k = 0; k < 4; ++k) if (g == 0) r0[t * 4 + k] = p0[t * 4 + k];", "PROVED"),
    ("for (uint k = 0; k < 4; ++k) if (g == 0) r0[t * 4 + k] = p0[t * 4 + (k ? k - 1 : 3)];", "REFUTED"),
    ("if (g == 0) for (uint k = 0; k < 4; ++k) r0[k * 16 + t] = p0[k < 3 ? (k + 1) * 16 + t : k * 16 + t];", "PROVED"),
    ("const float x = p0[g * 16 + 15 - t]; barrier(CLK_LOCAL_MEM_FENCE); r0[g * 16 + t] = x;", "PROVED"),
    ("r0[g * 16 + t] = 1.0f; barrier(CLK_LOCAL_MEM_FENCE); r0[g * 16 + t] = p0[g * 16 + 15 - t];", "REFUTED"),
])
def test_in_place(body: str, kind: str) -> None:
    """If a result overwrites a parameter in place, an element of the parameter must not be read after it was
    overwritten.
    """
    head = "__kernel void k(__global const float *p0, __global float *r0)\n{\nconst uint g = get_group_id(0), t = get_local_id(0);\n"
    arguments = [{"name": name, "buffer": buffer, "number": 0, "offset": 0, "bytes": 256} for name, buffer in (("p0", "params"), ("r0", "results"))]
    launch = {"kernel": "k", "blocks": 4, "threads": 16, "arguments": arguments}
    manifest: "Dict[str, Any]" = {"aliases": [{"result": 0, "parameter": 0}], "results": [{"bytes": 256}], "files": {"opencl": "k.cl"},
                                  "targets": {"opencl": {"launches": [launch]}}}
    found = certify({"k.cl": head + body + "}\n"}, manifest, ["opencl"])
    assert [verdict.kind for verdict in found] == [kind], [verdict.line() for verdict in found]
    if kind == "REFUTED":
        assert any("p0 is read after r0 was written to its place" in failure.question for failure in found[0].failures), found[0].line()


@pytest.mark.peer
def test_a_program_of_several_calls_is_proved() -> None:
    """A fixture that passes arrays between its calls is proved for each target."""
    answer = gen("certify", "tests/kernels/softmax_f32.hlo", "--target", "c,opencl,cuda")
    assert answer.returncode == 0, answer.stdout
