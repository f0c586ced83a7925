"""Test gen certify: it proves the fixtures. Hand-written kernels, some of them with faults, get the right verdicts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from gen.certify import Verdict, certify, missing
from tests.certify import sets
from tests.gen_run import ROOT, gen

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

def verdicts_of(text: str) -> "List[re.Match[str]]":
    found = [re.match(r"(PROVED|REFUTED|UNKNOWN) (\w+) (\w+(?: plain)?) (\d+) queries ([0-9.]+) s", line)
             for line in text.splitlines()]
    return [each for each in found if each]


QUICK = {"gather_f32", "layouts_f32", "tuples_f32"}
FIXTURES = sorted(path.stem for path in (ROOT / "tests/kernels").glob("*.hlo"))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.whole) for name in FIXTURES])
def test_fixtures_are_proved(name: str) -> None:
    """All kernels of a fixture are proved in all targets, except those in not_proved.tsv. Arithmetic alone decides some
    kernels, but not all kernels of a fixture.
    """
    known = sets.listed()
    answer = gen("certify", f"tests/kernels/{name}.hlo")
    found = verdicts_of(answer.stdout)
    assert {each[3].split()[0] for each in found} == {"c", "cuda", "hip", "opencl"}, answer.stderr
    for each in found:
        assert each[1] == ("UNKNOWN" if ("fixtures", name, each[3], each[2]) in known else "PROVED"), answer.stdout
    assert any(int(each[4]) > 0 for each in found), answer.stdout
    assert answer.returncode == int(any(each[1] != "PROVED" for each in found))


def test_queries_are_kept(tmp_path: Path) -> None:
    """--smt keeps a file of SMT-LIB for each query, and a separate run of z3 finds the file unsat. There are queries about
    bounds and races, although arithmetic decides these questions without --smt.
    """
    z3 = pytest.importorskip("z3")
    answer = gen("certify", "tests/kernels/add_f32.hlo", "--target", "opencl", "--smt", tmp_path)
    assert answer.returncode == 0, answer.stdout
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) == int(verdicts_of(answer.stdout)[0][4])
    kept = "".join(file.read_text() for file in files)
    assert "is read outside of" in kept and "two work-groups meet" in kept
    for file in files:
        solver = z3.Solver()
        solver.from_string(file.read_text())
        assert str(solver.check()) == "unsat", file


@pytest.mark.parametrize("body, kind", [
    ("r0[g * 16 + t] = p0[g * 16 + t];", "PROVED"),
    ("r0[g * 16 + t] = p0[g * 16 + t + 1];", "REFUTED"),
    ("r0[g * 15 + t] = p0[g * 16 + t];", "REFUTED"),
    ("if (t < 8) barrier(CLK_LOCAL_MEM_FENCE); r0[g * 16 + t] = p0[0];", "REFUTED"),
])
def test_solvers_answer_alike(body: str, kind: str, tmp_path: Path) -> None:
    """z3 and cvc5 give the same answer for the file of each query. Each refuted kernel has a query that is sat."""
    z3, cvc5 = pytest.importorskip("z3"), pytest.importorskip("cvc5")
    assert verdict("opencl", IDS + body, folder=tmp_path).kind == kind
    answers: "List[str]" = []
    for file in sorted(tmp_path.glob("*.smt2")):
        solver = z3.Solver()
        solver.from_string(file.read_text())
        answers.append(str(solver.check()))
        other = cvc5.Solver()
        parser = cvc5.InputParser(other)
        parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
        said = []
        while not (command := parser.nextCommand()).isNull():
            said.append(command.invoke(other, parser.getSymbolManager()).strip())
        assert said[-1] == answers[-1], file.read_text()
    assert answers and ("sat" in answers) == (kind == "REFUTED"), answers


# ---- kernels by hand ----

HEAD = {
    "opencl": "__kernel void k(__global const float *restrict p0, __global float *restrict r0)\n{\n",
    "cuda": "static __global__ void k(const float *__restrict__ p0, float *__restrict__ r0)\n{\n",
    "c": "static void k(const float *restrict p0, float *restrict r0, size_t number)\n{\n",
}
SUFFIX = {"opencl": "cl", "cuda": "cu", "c": "c"}


def verdict(target: str, body: str, elements: int = 64, blocks: int = 4, threads: int = 16,
            before: str = "", read: "Optional[int]" = None, in_place: bool = False, folder: "Optional[Path]" = None) -> Verdict:
    """Return the verdict on a kernel that reads p0 and writes all of r0. in_place: true if r0 overwrites a second
    parameter. folder: the folder in which queries are kept.
    """
    arguments = [{"name": name, "buffer": buffer, "number": 0, "offset": 0, "bytes": 4 * count}
                 for name, buffer, count in (("p0", "params", read or elements), ("r0", "results", elements))]
    launch = {"kernel": "k", "blocks": blocks, "threads": threads, "arguments": arguments}
    manifest: "Dict[str, Any]" = {
        "aliases": [{"result": 0, "parameter": 1}] * in_place, "results": [{"bytes": 4 * elements}], "files": {target: f"k.{SUFFIX[target]}"},
        "targets": {target: {"launches": [launch]}},
    }
    found = certify({f"k.{SUFFIX[target]}": before + HEAD[target] + body + "}\n"}, manifest, [target], folder)
    assert len(found) == 1
    return found[0]


IDS = "const uint g = get_group_id(0), t = get_local_id(0);\n"
CUDA_IDS = "const unsigned g = blockIdx.x, t = threadIdx.x;\n"


@pytest.mark.parametrize("body, kind, said", [
    ("r0[g * 16 + t] = p0[g * 16 + t];", "PROVED", ""),
    ("r0[g * 16 + t] = p0[g * 16 + t + 1];", "REFUTED", "p0 is read outside of its 256 bytes"),
    ("r0[g * 17 + t] = p0[g * 16 + t];", "REFUTED", "r0 is written outside"),
    ("r0[g * 15 + t] = p0[g * 16 + t];", "REFUTED", "two work-groups meet"),
    ("r0[g * 16 + t / 2] = p0[g * 16 + t];", "REFUTED", "two work-items of a group meet"),
    ("if (t < 15) r0[g * 16 + t] = p0[g * 16 + t];", "REFUTED", "240 of 256 bytes are written at most"),
    ("if (g * 16 + t < 64) r0[g * 16 + t] = p0[63 - t - g * 16];", "PROVED", ""),
    ("r0[g * 16 + t] = p0[(t - g) % 64];", "REFUTED", "an index leaves [0, 4294967295]"),
    ("r0[(g ^ 1) * 16 + (t ^ 5)] = p0[0];", "PROVED", ""),
    ("r0[g * 16 + t] = p0[(t - g) & 63];", "PROVED", ""),
    ("r0[g * 16 + t] = p0[(t - g) & 64];", "REFUTED", "an index leaves [0, 4294967295]"),
    ("r0[g * 16 + t] = p0[1 + ((t - g) & 63)];", "REFUTED", "p0 is read outside"),
    ("const uint n = (-t & 3) + g * 16; if (t < 4) for (uint k = 0; k < 4; ++k) r0[n + k * 4] = 0.0f;", "PROVED", ""),
    ("const uint n = (-t & 3) + g * 16; if (t < 5) for (uint k = 0; k < 4; ++k) r0[n + k * 4] = 0.0f;", "REFUTED", "meet"),
    ("const uint n = (-t & 1) + g * 16; if (t < 4) for (uint k = 0; k < 4; ++k) r0[n + k * 4] = 0.0f;", "REFUTED", "meet"),
    ("for (uint k = t; k < 64; k += 16) if (g == 0) r0[k] = p0[k];", "PROVED", ""),
    ("for (uint k = t; k <= 64; k += 16) if (g == 0) r0[k] = p0[k];", "REFUTED", "outside"),
    ("for (uint k = 64; k-- > 0;) if (g == 0 && t == 0) r0[k] = p0[k];", "PROVED", ""),
    ("for (uint k = 65; k-- > 0;) if (g == 0 && t == 0) r0[k] = p0[k];", "REFUTED", "outside"),
    ("for (uint k = 64; k-- > 1;) if (g == 0 && t == 0) r0[k] = p0[k];", "REFUTED", "252 of 256 bytes are written at most"),
    ("for (uint k = 4; k-- > 0;) if (g == 0) r0[k * 16 + t] = p0[k];", "PROVED", ""),
    ("for (uint k = 4; k-- > 1;) if (g == 0) r0[k * 16 + t] = p0[k];", "REFUTED", "192 of 256 bytes are written at most"),
    ("switch (g) { case 0: case 1: r0[g * 16 + t] = 0.0f; break; case 2: { r0[g * 16 + t] = 1.0f; break; } default: r0[48 + t] = 2.0f; break; }",
     "PROVED", ""),
    ("switch (g) { case 0: r0[t] = 0.0f; break; default: r0[16 * (g - 1) + t] = 1.0f; break; }", "REFUTED", "meet"),
    ("switch (g) { case 0: r0[t] = 0.0f; case 1: r0[16 * g + t] = 1.0f; break; }", "UNKNOWN", "does not end with its only break"),
    ("switch (g) { case 0: if (t) break; r0[t] = 0.0f; break; }", "UNKNOWN", "does not end with its only break"),
    ("uint k = 0; for (; k < 64 && p0[k] > 0.0f; ++k) ; if (t == 0) r0[k] = 0.0f;", "UNKNOWN", "outside"),
    ("uint k = 0; for (; k < 63 && p0[k] > 0.0f; ++k) ; if (g == 0 && t == 0) r0[k] = 0.0f; r0[g * 16 + t] = 0.0f;", "UNKNOWN", "meet at"),
    ("uint k = 0; for (; k < 63 && p0[k] > 0.0f; ++k) ; r0[g * 16 + t] = p0[k];", "PROVED", ""),
    ("for (uint k = 0; k < 4 && k < g + 1; ++k) if (g == 3) r0[k * 16 + t] = p0[k];", "PROVED", ""),
    ("for (uint k = 0; k < 4 && k < g; ++k) if (g == 3) r0[k * 16 + t] = p0[k];", "REFUTED", "192 of 256"),
    ("for (uint k = 8; k < 8 - g * 16; ++k) r0[k] = p0[k]; r0[g * 16 + t] = p0[t];", "REFUTED", "an index leaves"),
    ("const uint n = 0; for (uint k = n; k < n - 8; ++k) r0[k] = p0[k];", "REFUTED", "an index leaves"),
    ("", "REFUTED", "nothing writes result 0"),
    ("for (uint k = t, n = 4; k < n; ++k) { n = 80; r0[k] = p0[k]; }", "UNKNOWN", "an index leaves"),
    ("float x[4]; x[g + 1] = 0.0f; r0[g * 16 + t] = x[g];", "REFUTED", "an index leaves [0, 3]"),
    ("const uchar x = (uchar)(t * 300); r0[g * 16 + t] = x;", "PROVED", ""),
    ("for (uint k = 0; k < 2; ++k) { if (k == 1) continue; r0[g * 16 + t] = p0[k]; }", "PROVED", ""),
    ("r0[g * 16 + t] = frobnicate(p0[0]);", "UNKNOWN", "unknown function frobnicate"),
    ("if (t < 8) barrier(CLK_LOCAL_MEM_FENCE); r0[g * 16 + t] = p0[0];", "REFUTED", "a barrier that not all"),
    ("if (g < 2) barrier(CLK_LOCAL_MEM_FENCE); r0[g * 16 + t] = p0[0];", "PROVED", ""),
    ("r0[g * 16 + t] = r0[(g * 16 + t + 1) % 64];", "REFUTED", "meet at an element of r0"),
    ("const uint n = ((__global const uint *)p0)[t]; r0[g * 16 + t] = p0[n < 63 ? n : 63];", "PROVED", ""),
    ("const uint n = ((__global const uint *)p0)[t]; r0[g * 16 + t] = p0[n < 64 ? n : 64];", "REFUTED", "p0 is read outside"),
])
def test_kernels_by_hand(body: str, kind: str, said: str) -> None:
    found = verdict("opencl", IDS + body)
    assert found.kind == kind and said in found.line(), found.line()


SUMS = """for (uint n = 0; n < 4; ++n) {
  for (uint k = 0; k < 16; ++k) r0[n * 16 + k] = 0.0f;
  for (uint k = 0; k < 4; ++k) vstore4(vload4(k, r0 + n * 16) + vload4(k, p0 + n * 16), k, r0 + n * 16);
}
"""


@pytest.mark.parametrize("was, now", [
    ("", ""),
    ("k < 16", "k < 15"),
    ("++k) r0", "++k) if (p0[k] > 0.0f) r0"),
    ("uint k = 0; k < 16", "uint k = n; k < 16"),
    ("n * 16 + k]", "n * 16 + k / 2]"),
    ("n * 16 + k]", "16 + k]"),
    ("vload4(k, r0 + n * 16)", "vload4(k, r0 + (3 - n) * 16)"),
    ("vload4(k, r0 + n * 16)", "vload4(k, r0 + n * 12)"),
    ("vload4(k, r0 + n * 16)", "vload4(0, r0 + n * 15 + k)"),
])
def test_sums_in_a_result(was: str, now: str) -> None:
    """A work-item may read an element of a result that it wrote in the same step of a loop."""
    assert not was or was in SUMS
    found = verdict("opencl", SUMS.replace(was, now, 1) if was else SUMS, blocks=1, threads=1)
    assert found.kind == ("UNKNOWN" if was else "PROVED") and (not was or "r0 is read and not all" in found.line()), found.line()


BLOCKS = "".join(f"r0[number * 16 + {n}] = p0[{n}];\n" for n in range(16)) + \
    "if (number == 3) for (int k = 0; k < 4; ++k) r0[64 + k] = p0[k];\n"


@pytest.mark.parametrize("was, now, kind", [
    ("", "", "PROVED"),
    ("number == 3", "number == 2", "PROVED"),
    ("number * 16 + 15]", "number * 16 + 16]", "REFUTED"),
    ("number * 16 + 0]", "number * 16 - 1]", "REFUTED"),
    ("number * 16 + 7]", "number * 15 + 7]", "REFUTED"),
    ("number == 3) for (int k = 0", "number == 2) for (int k = -1", "REFUTED"),
])
def test_regions_of_work_groups(was: str, now: str, kind: str) -> None:
    """An access that stays in the region of its work-group cannot race with another work-group. Accesses that leave the
    region are compared in pairs.
    """
    assert not was or was in BLOCKS
    found = verdict("c", BLOCKS.replace(was, now, 1) if was else BLOCKS, elements=68, blocks=4, threads=1)
    assert found.kind == kind, found.line()


PARTS = """struct part { int first, count; };
static const struct part parts[] = {{0, 3}, {3, 8}, {11, 5}};
static int end(struct part of) { return of.first + of.count; }
"""
MOVE_PARTS = """for (int n = 0; n < 3; ++n) {
  struct part own = parts[n];
  for (int k = own.first; k < end(own); ++k) r0[number * 16 + k] = p0[number * 16 + k];
}
"""


@pytest.mark.parametrize("was, now, kind", [
    ("", "", "PROVED"),
    ("{3, 8}", "{3, 9}", "PROVED"),
    ("{3, 8}", "{3, 7}", "REFUTED"),
    ("{3, 8}", "{4, 7}", "REFUTED"),
    ("{11, 5}", "{11, 6}", "REFUTED"),
    ("{0, 3}", "{-1, 4}", "REFUTED"),
    ("n < 3", "n < 4", "REFUTED"),
    (", {11, 5}", ", {11, 5}, {16}", "PROVED"),
    ("static const struct", "static struct", "UNKNOWN"),
    ("  for (int k", "  own.count = (int)number; for (int k", "UNKNOWN"),
    ("{ return of", "{ of.count = 0; return of", "UNKNOWN"),
    ("struct part own = parts[n];", "struct part own = parts[n], *any = &own; any->count = 6;", "UNKNOWN"),
    ("struct part own = parts[n];", "struct part own = parts[n]; own = parts[0];", "UNKNOWN"),
    ("struct part own = parts[n];", "struct part own = parts[n]; memcpy(&own, &parts[0], 8);", "UNKNOWN"),
])
def test_structs_from_a_table(was: str, now: str, kind: str) -> None:
    """The proof uses the integers in a constant table of structs, also through a copy of a struct. If a store may
    change the table or the copy, the values are not known, and the verdict is UNKNOWN.
    """
    assert not was or was in PARTS + MOVE_PARTS
    before, body = (text.replace(was, now, 1) if was else text for text in (PARTS, MOVE_PARTS))
    found = verdict("c", body, blocks=4, threads=1, before=before)
    assert found.kind == kind, found.line()


@pytest.mark.parametrize("more, kind", [(0, "PROVED"), (-4, "REFUTED")])
def test_copies_of_large_arrays(more: int, kind: str) -> None:
    """A few large writes are proved to cover an array even if it has too many elements to enumerate."""
    count = 1 << 27    # number of floats in each of the four parts
    body = f"memcpy(r0 + number * {count}, p0 + number * {count}, {4 * count + more});"
    found = verdict("c", body, elements=4 * count, threads=1)
    assert found.kind == kind, found.line()


BITS = "__constant__ unsigned long long bits[2] = {7ull, 13826050856027422720ull};\n"


@pytest.mark.parametrize("body, kind", [
    ("r0[g * 16 + t] = (float)__longlong_as_double((long long)(bits[t % 2]));", "PROVED"),
    ("r0[g * 16 + t + (long long)(bits[t % 2]) % 2] = 1.0f;", "UNKNOWN"),
    ("r0[g * 16 + t + (long long)(bits[0]) - 7] = 1.0f;", "PROVED"),
    ("r0[g * 16 + t + (long long)(bits[1]) - 7] = 1.0f;", "UNKNOWN"),
])
def test_bits_in_a_table(body: str, kind: str) -> None:
    """A table may hold the bits of a negative float. The proof accepts them as a float; as an index, they have no known
    value.
    """
    found = verdict("cuda", CUDA_IDS + body + "\n", before=BITS)
    assert found.kind == kind, found.line()


PLACES = """int place[4][2];
for (int k = 0; k < 4; ++k) {
  place[k][0] = (int)(t % 4) - k;
  place[k][1] = (int)(g * 4 + t / 4) - k * 2;
}
float total = 0.0f;
for (int k = 0; k < 4; ++k) total += p0[(place[k][1] + k * 2) * 4 + place[k][0] + k];
r0[g * 16 + t] = total;
"""


@pytest.mark.parametrize("was, now, kind", [
    ("", "", "PROVED"),
    ("[0] + k", "[0] + k + 1", "REFUTED"),
    ("(t % 4) - k", "(t % 5) - k", "REFUTED"),
    ("(t % 4) - k", "(t % 4) - k * 2", "REFUTED"),
    ("[k][1] = (int)", "[k][0] = (int)", "UNKNOWN"),
    ("k < 4; ++k) {", "k < 3; ++k) {", "UNKNOWN"),
    ("  place[k][1]", "  if (t > 3) place[k][1]", "UNKNOWN"),
    ("}\nfloat", "}\nplace[g][1] = 4;\nfloat", "UNKNOWN"),
])
def test_columns_of_an_array(was: str, now: str, kind: str) -> None:
    """If a loop over the rows of a work-item's array stores to each column, the proof uses the stored values. If a
    store leaves out some elements, or another store may change them, the verdict is UNKNOWN.
    """
    assert not was or was in PLACES
    found = verdict("cuda", CUDA_IDS + (PLACES.replace(was, now, 1) if was else PLACES))
    assert found.kind == kind, found.line()


TILE = """__shared__ float tile[16];
tile[t] = p0[g * 16 + t];
{barrier}
r0[g * 16 + t] = tile[15 - t];
"""
STEPS = """__shared__ float tile[2][16];
unsigned side = 0;
for (unsigned k = 0; k < 4; ++k) {
  tile[side][t] = p0[k * 16 + t];
  __syncthreads();
  if (k == g) r0[g * 16 + t] = tile[side][15 - t];
  %s
}
"""


CAS = """unsigned *const w = (unsigned *)r0 + (g * 16 + t) / 2;
unsigned seen = *w, was;
do {
  was = seen;
  seen = atomicCAS(w, was, was + 1);
} while (seen != was);
"""


@pytest.mark.parametrize("was, now, kind", [
    ("", "", "PROVED"),
    ("seen = atomicCAS(w, was, was + 1)", "atomicCAS(w, was, was + 1), seen = was", "REFUTED"),
    ("while (seen != was)", "while (seen < was)", "REFUTED"),
    ("was = seen;", "was = seen, w[0] = 1;", "REFUTED"),
    ("seen = *w", "seen = w[0]", "REFUTED"),
    ("  was = seen;\n", "  was = 0;\n", "REFUTED"),
])
def test_a_guess_before_a_compare_and_swap(was: str, now: str, kind: str) -> None:
    """A plain read `*w` before a loop around atomicCAS is no race, because atomicCAS checks the value that was read.
    Any other plain access to an element that is also accessed atomically is refuted as a race. So is the same read if
    it is written `w[0]`.
    """
    assert not was or was in CAS
    found = verdict("cuda", CUDA_IDS + CAS.replace(was, now, 1), in_place=True)
    assert found.kind == kind and (kind == "PROVED" or "meet at an element" in found.line()), found.line()
    found = verdict("cuda", CUDA_IDS + "atomicAdd(r0 + t / 2, 1.0f);\nr0[g * 16 + t] = p0[t];\n")
    assert found.kind == "REFUTED", found.line()


@pytest.mark.parametrize("body, kind, said", [
    (TILE.replace("{barrier}", "__syncthreads();"), "PROVED", ""),
    (TILE.replace("{barrier}", ""), "REFUTED", "two work-items of a group meet at an element of tile"),
    (STEPS % "__syncthreads();", "PROVED", ""),
    (STEPS % "", "REFUTED", "two work-items of a group meet at an element of tile"),
    ((STEPS % "side = side + 1;").replace("__syncthreads();\n", "__syncthreads();\n", 1), "UNKNOWN", "an index leaves [0, 1]"),
])
def test_shared_memory(body: str, kind: str, said: str) -> None:
    """A kernel that passes values through shared memory is proved if it has barriers, and refuted if one is missing,
    also in a loop.
    """
    found = verdict("cuda", CUDA_IDS + body)
    assert found.kind == kind and said in found.line(), found.line()


def test_places_are_those_of_the_text() -> None:
    """A failure names the line and the column of the access."""
    found = verdict("c", "  const uint32_t b = (uint32_t)number;\n  r0[b] = p0[b + 1];\n", elements=8, blocks=8, threads=1)
    assert found.kind == "REFUTED"
    assert found.line().endswith("k.c:4:13: p0 is read outside of its 32 bytes: group = 7"), found.line()


def test_a_macro_is_expanded_where_it_stands() -> None:
    before = "#define TWICE(x) ((x) + (x))\n#if defined(NO) || 2 * 3 == 7\n#error no\n#endif\n"
    found = verdict("c", "r0[TWICE(number) / 2] = p0[number];\n", elements=8, blocks=8, threads=1, before=before)
    assert found.kind == "PROVED", found.line()
    found = verdict("c", "r0[TWICE(number)] = p0[number];\n", elements=8, blocks=8, threads=1, before=before)
    assert found.kind == "REFUTED" and "k.c:7:19: r0 is written outside" in found.line(), found.line()


def test_no_solver_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gen.certify.smt.solvers", list)
    answer = gen("certify", "tests/kernels/add_f32.hlo")
    assert answer.returncode == 3 and "SKIP tests/kernels/add_f32.hlo: neither z3" in answer.stderr
