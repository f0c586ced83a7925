"""Test `sett layout move`: run the code that it writes, as C and as CUDA compiled for the CPU. The tables of the
layouts come from models that share no code with the headers.

Every element must reach all registers that have it in the second layout. The numbers of shuffles, selects, bytes,
barriers and bank conflicts in the answer equal those counted while the code runs.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest

from test_convert import Table, canonical, iree_table, linear_table, table_of
from test_notation import ROOT, chain_of, model, one, product

COUNT = int(os.environ.get("SETT_COUNT", "60"))


# ---- the contents of registers, by the models
# ---------------------------------------------------------------------------

class Side(NamedTuple):
    text: str    # the layout's text, an argument of the command
    table: Table
    lanes: int  # size of the subgroup, stated only by fragments; 0 in other layouts
    dims: "Tuple[int, ...]" = ()  # sizes of the array if they are not powers of two: indices beyond them have no element


def size_of(side: Side, k: int) -> int:
    return side.table.inputs[k] if k < len(side.table.inputs) else 1


def lanes_of(a: Side, b: Side) -> int:
    """Return the number of lanes of a warp: the number that a layout states; else the larger of the fragments'
    subgroups; else 32, or 64 if a layout has 33 to 64 threads.
    """
    for side in (a, b):
        if not side.table.wraps:
            return size_of(side, 1)
    if a.lanes or b.lanes:
        return max(a.lanes, b.lanes)
    return 64 if any(32 < size_of(side, 1) <= 64 for side in (a, b)) else 32


def warps_of(side: Side, lanes: int) -> int:
    return max(size_of(side, 2), -(-size_of(side, 1) // lanes) if side.table.wraps else 1)


Index = Optional[Tuple[int, ...]]  # None: the layout does not have this thread


def held(side: Side, lanes: int, warps: int) -> "List[List[Index]]":
    """Return the index of the element in each register of each thread."""
    rows: "List[List[Index]]" = []
    for t in range(lanes * warps):
        if not side.table.wraps and (t % lanes >= size_of(side, 1) or t // lanes >= size_of(side, 2)):
            rows.append([None] * side.table.inputs[0])
            continue
        ids = (t if side.table.wraps else t % lanes, t // lanes)
        row = [side.table.value(((r, *ids) + (0,) * 8)[:max(len(side.table.inputs), 3 if side.table.wraps else 0)]) for r in range(side.table.inputs[0])]
        rows.append([at if all(i < size for i, size in zip(at, side.dims)) else None for at in row])
    return rows


class Case(NamedTuple):
    a: Side
    b: Side
    bits: int
    lanes: int
    warps: int
    rows: "List[List[List[Index]]]"


def case_of(a: Side, b: Side, bits: int) -> Case:
    lanes = lanes_of(a, b)
    warps = max(warps_of(a, lanes), warps_of(b, lanes))
    return Case(a, b, bits, lanes, warps, [held(a, lanes, warps), held(b, lanes, warps)])


# ---- the answer of the command
# ------------------------------------------------------------------------------------------

def asked(rows: "List[List[str]]", *options: str) -> "List[str]":
    given = "".join("\t".join(row) + "\n" for row in rows)
    done = subprocess.run([str(ROOT / "build" / "sett"), "layout", "move", *options, "-"], input=given, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 2), done.stderr
    said = [re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), line) for line in done.stdout.splitlines()]
    assert len(said) == len(rows)
    return said


class Said(NamedTuple):
    kind: str
    shuffles: int
    selects: int    # -1: not stated
    bytes: int
    barriers: int
    conflicts: int
    least: int    # lower bound on the number of shuffles; -1: not stated


def parsed(text: str) -> Said:
    head, rest = text.split("\n", 1)
    selects = re.search(r"(\d+) selects?", rest)
    chosen = int(selects[1]) if selects else 0
    if head == "registers":
        return Said("registers", 0, chosen, 0, 0, 0, 0)
    if head.startswith("shuffles "):
        count = int(head.split()[1])
        fewer = re.match(r"no plan has fewer( than (\d+))?; ", rest)
        return Said("shuffles", count, chosen, 0, 0, 0, int(fewer[2]) if fewer[1] else count)
    numbers = re.fullmatch(r"shared (\d+), barriers (\d+), conflicts (\d+)", head)
    return Said("shared", 0, -1, *map(int, numbers.groups()), -1)


# ---- one program that runs all functions
# --------------------------------------------------------------------------------

HARNESS = r"""
#define SETT_LANES %(lanes)d
#include "cuda_on_cpu.h"
#include <map>
#include <set>
#include <vector>
struct access { long at; int bytes; };
typedef std::map<int, std::map<unsigned, access>> accesses; // by the line of the code, then by the thread
static accesses stores, loads;
static long shuffles, barriers, limit, outside;
static unsigned now; // the thread, in CUDA
alignas(16) static unsigned char shared_memory[1 << 22];
static long note(accesses &all, int line, unsigned t, long at, int bytes) {
  all[line][t] = access{ at, bytes };
  outside += at < 0 || at + bytes > limit || at %% bytes;
  return 0;
}
// A group of lanes that moves 128 bytes takes as many turns as the most words of one bank.
static long conflicts(const accesses &all, unsigned lanes, unsigned threads) {
  long sum = 0;
  for (const auto &line : all) {
    const unsigned bytes = (unsigned)line.second.begin()->second.bytes, group = 128 / (bytes < 4 ? 4 : bytes);
    for (unsigned warp = 0; warp < threads; warp += lanes)
      for (unsigned first = warp; first < warp + lanes; first += group) {
        std::map<long, std::set<long>> banks;
        size_t most = 0;
        for (unsigned t = first; t < first + group && t < warp + lanes; ++t) {
          const auto found = line.second.find(t);
          if (found == line.second.end()) continue;
          for (long word = found->second.at / 4; word <= (found->second.at + found->second.bytes - 1) / 4; ++word) banks[word %% 32].insert(word);
        }
        for (const auto &bank : banks) most = bank.second.size() > most ? bank.second.size() : most;
        sum += most > 1 ? (long)most - 1 : 0;
      }
  }
  return sum;
}
static uint64_t mixed(uint64_t element, int pass) { return (element + 1) * 0x9e3779b97f4a7c15u >> pass * 7; }
struct job {
  int index, bits, lanes, threads, from, to, shared, cuda;
  std::vector<int> a, b;
};
template <class T> static void fill(const job &j, int pass, std::vector<T> &a, std::vector<T> &b) {
  for (int k : j.a) a.push_back((T)mixed((uint64_t)k, pass));
  for (int k : j.b) b.push_back((T)~mixed((uint64_t)k, pass));
  memset(shared_memory, 0xa5, sizeof shared_memory);
  stores.clear();
  loads.clear();
  shuffles = barriers = outside = 0;
  limit = j.shared;
}
template <class T> static void check(const job &j, int pass, const char *form, const std::vector<T> &b) {
  size_t wrong = 0, k;
  for (k = 0; k < b.size(); ++k) wrong += j.b[k] >= 0 && b[k] != (T)mixed((uint64_t)j.b[k], pass);
  if (pass == 2)
    printf("%%d %%s %%ld %%ld %%ld %%ld\n", j.index, form, shuffles, barriers, conflicts(stores, (unsigned)j.lanes, (unsigned)j.threads) +
           conflicts(loads, (unsigned)j.lanes, (unsigned)j.threads), outside);
  if (wrong) printf("%%d %%s WRONG %%zu of %%zu\n", j.index, form, wrong, b.size());
}
template <class T, class F> static void run_c(const job &j, F *function) {
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<T> a, b;
    fill(j, pass, a, b);
    function(a.data(), b.data());
    check(j, pass, "c", b);
  }
}
template <class T> static void run_cuda(const job &j, void (*kernel)(const T *, T *)) {
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<T> a, b;
    fill(j, pass, a, b);
    const T *from = a.data();
    T *to = b.data();
    void *arguments[] = { &from, &to };
    if (sett_launch("kernel", kernel, dim3(1), dim3((unsigned)j.threads), arguments, 0, NULL) != cudaSuccess) printf("%%d cuda WRONG fault\n", j.index);
    check(j, pass, "cuda", b);
  }
}
#define SETT_MOVE_SHUFFLE(words, thread) (++shuffles, (words)[thread])
#define SETT_MOVE_STORE(thread, place, count) note(stores, __LINE__, thread, (long)(place) * (long)sizeof memory[0], (int)(count) * (int)sizeof memory[0])
#define SETT_MOVE_LOAD(thread, place, count) note(loads, __LINE__, thread, (long)(place) * (long)sizeof memory[0], (int)(count) * (int)sizeof memory[0])
#define SETT_MOVE_BARRIER() ((void)0)
%(c)s
#undef SETT_MOVE_SHUFFLE
#undef SETT_MOVE_STORE
#undef SETT_MOVE_LOAD
#define SETT_MOVE_SHUFFLE(word, lane) (++shuffles, sett_shfl(__LINE__, SETT_LANES == 64 ? ~(uint64_t)0 : 0xffffffffu, word, (int)(lane)))
#define SETT_MOVE_STORE(type, address, value) (note(stores, __LINE__, now = threadIdx.x, (long)((address) - shared_memory), (int)sizeof(type)), *(type *)(address) = (value))
#define SETT_MOVE_LOAD(type, address) (note(loads, __LINE__, now = threadIdx.x, (long)((address) - shared_memory), (int)sizeof(type)), *(const type *)(address))
#define SETT_MOVE_WARP_BARRIER() sett_syncwarp{ __LINE__ }()
#undef __syncthreads
#define __syncthreads() (++barriers, sett_barrier(__LINE__))
%(cuda)s
int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  int head[8];
  while (file && fread(head, sizeof head, 1, file) == 1) {
    job j = { head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7], std::vector<int>((size_t)(head[3] * head[4])), std::vector<int>((size_t)(head[3] * head[5])) };
    if (fread(j.a.data(), sizeof(int), j.a.size(), file) != j.a.size() || fread(j.b.data(), sizeof(int), j.b.size(), file) != j.b.size()) return 1;
    switch (j.index) {
%(calls)s
    }
  }
  return file ? fclose(file) : 1;
}
"""
TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}


def program(jobs: "Dict[int, Tuple[Case, Said, str, str]]", lanes: int, folder: Path) -> str:
    """Run the code of all jobs. Return its output: one line per job with the numbers that the code counted. lanes: the
    warp size of the CUDA code.
    """
    calls, data, cuda = [], [], []
    for index, (case, said, c, d) in jobs.items():
        kind, to, start = TYPES[case.bits], len(case.rows[1][0]), len(case.rows[0][0])
        name = f"move_{'d' if d else 'c'}{index}"
        call = f"run_c<{kind}>(j, +[](const {kind} *a, {kind} *b) {{ move_c{index}((const {kind} (*)[{start}])a, ({kind} (*)[{to}])b); }});"
        if d:
            cuda.append(d.replace("sett_move", name) + f"""__global__ void kernel_{index}(const {kind} *a, {kind} *b) {{
  {kind} x[{start}], y[{to}];
  for (int r = 0; r < {start}; ++r) x[r] = a[threadIdx.x * {start} + (unsigned)r];
  {name}(x, y, threadIdx.x, shared_memory);
  for (int r = 0; r < {to}; ++r) b[threadIdx.x * {to} + (unsigned)r] = y[r];
}}
""")
            call += f" run_cuda<{kind}>(j, kernel_{index});"
        calls.append(f"      case {index}: {call} break;")
        names: Dict[Tuple[int, ...], int] = {}
        numbers = [[-1 if at is None else names.setdefault(at, len(names)) for row in rows for at in row] for rows in case.rows]
        flat = [index, case.bits, case.lanes, case.lanes * case.warps, start, to, said.bytes, int(bool(d)), *numbers[0], *numbers[1]]
        data.append(struct.pack(f"{len(flat)}i", *flat))
    source = HARNESS % {"lanes": lanes, "c": "\n".join(c.replace("sett_move", f"move_c{index}") for index, (_, _, c, _) in jobs.items()),
                        "cuda": "\n".join(cuda), "calls": "\n".join(calls)}
    (folder / "moves.cpp").write_text(source)
    (folder / "moves.bin").write_bytes(b"".join(data))
    done = subprocess.run(["g++", "-std=c++17", "-O0", "-w", f"-I{ROOT / 'tests'}", "moves.cpp", "-o", "moves"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run(["./moves", "moves.bin"], cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def missing(case: Case) -> "set":
    return {at for row in case.rows[1] for at in row} - {at for row in case.rows[0] for at in row} - {None}


def ran(cases: "List[Case]", folder: Path) -> "List[Said]":
    """Call `sett layout move` for all cases, run the code that it writes, and check the results. Return the answers
    that are not "no".
    """
    jobs: Dict[int, Tuple[Case, Said, str, str]] = {}
    for bits in sorted({case.bits for case in cases}):
        chosen = [k for k, case in enumerate(cases) if case.bits == bits]
        words = [[cases[k].a.text, cases[k].b.text] for k in chosen]
        texts, c, cuda = (asked(words, "--element", str(bits), *more) for more in ([], ["--emit", "c"], ["--emit", "cuda"]))
        for k, text, in_c, in_cuda in zip(chosen, texts, c, cuda):
            case = cases[k]
            assert not text.startswith("error"), (text, case.a.text, case.b.text)
            if text.startswith("no: "):
                found = re.match(r"no: no register holds the element at \(?([\d,]+)\)?, which register (\d+) of lane (\d+)(?: of warp (\d+))? wants", text)
                assert found, (text, case.a.text, case.b.text)
                at = tuple(map(int, found[1].split(",")))
                thread = int(found[3]) + case.lanes * int(found[4] or 0)
                assert at in missing(case) and case.rows[1][thread][int(found[2])] == at, (text, case.a.text, case.b.text)
                continue
            assert not missing(case), (text, case.a.text, case.b.text)
            said = parsed(text)
            assert f"a[{case.lanes * case.warps}][" in in_c and f"% {case.lanes}u" in in_c, (case.a.text, case.b.text)
            assert in_cuda.startswith("error") == (case.lanes not in (32, 64)) and in_cuda.count("__syncthreads()") in (said.barriers, 0 if in_cuda.startswith("error") else -1)
            assert said.selects in (-1, in_c.count(" ? ")), (text, in_c)
            jobs[k] = (case, said, in_c, "" if in_cuda.startswith("error") else in_cuda)
    lines: Dict[Tuple[int, str], List[str]] = {}
    for lanes in sorted({64 if case.lanes == 64 else 32 for case, *_ in jobs.values()}):
        part = {k: job for k, job in jobs.items() if (64 if job[0].lanes == 64 else 32) == lanes}
        (folder / str(lanes)).mkdir(parents=True)
        for line in program(part, lanes, folder / str(lanes)).splitlines():
            index, form, *rest = line.split()
            assert rest[0] != "WRONG", (line, cases[int(index)].a.text, cases[int(index)].b.text)
            lines[int(index), form] = rest
    for k, (case, said, _, cuda) in jobs.items():
        for form in ("c", "cuda") if cuda else ("c",):
            shuffles, barriers, conflicts, outside = map(int, lines[k, form])
            threads = case.lanes * case.warps
            assert (shuffles, conflicts, outside) == (said.shuffles * threads, said.conflicts, 0), (form, said, lines[k, form], case.a.text, case.b.text)
            assert form == "c" or barriers == said.barriers * threads
    return [said for _, said, _, _ in jobs.values()]


# ---- fragments ----------------------------------------------------------------------------------------------------------------------------------------

def fragments() -> "Dict[Tuple[int, ...], List[Side]]":
    """Return all operands of all matrix instructions by their shape, each layout once."""
    sett = str(ROOT / "build" / "sett")
    rows = [line.split("\t") for line in subprocess.run([sett, "nested", "mma"], capture_output=True, text=True, check=True).stdout.splitlines()]
    names = [(f"{row[0]}.{operand}", int(row[2])) for row in rows for operand in ("lhs", "rhs", "acc", "lhs_scale", "rhs_scale")]
    said = subprocess.run([sett, "nested", "-"], input="".join(f"{name}\n" for name, _ in names), capture_output=True, text=True).stdout.splitlines()
    assert len(rows) == 132 and len(said) == len(names)
    shapes: Dict[Tuple[int, ...], Dict[Tuple[str, int], Side]] = {}
    for (name, lanes), line in zip(names, said):
        if line.startswith("error"):
            continue
        text, shape, _ = line.split("\t")
        shapes.setdefault(tuple(map(int, shape.split(","))), {}).setdefault((text, lanes), Side(name, iree_table(text), lanes))
    return {shape: list(sides.values()) for shape, sides in shapes.items()}


def fragment_pairs() -> "List[Tuple[Side, Side]]":
    return [pair for sides in fragments().values() for pair in itertools.product(sides, sides)]


@pytest.mark.peer
def test_fragments_quick(tmp_path: Path) -> None:
    """Moves between some fragments of matrix instructions with the same shape are right."""
    pairs = random.Random(1).sample(fragment_pairs(), 12)
    kinds = {said.kind for said in ran([case_of(a, b, bits) for (a, b), bits in zip(pairs, itertools.cycle([32, 16, 8, 64]))], tmp_path)}
    assert {"registers", "shuffles"} <= kinds


@pytest.mark.peer
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_fragments_all(bits: int, tmp_path: Path) -> None:
    """Moves between all operands of matrix instructions with the same shape are right. Each move is tested with two of
    the four element widths.
    """
    pairs = fragment_pairs()[bits in (8, 32)::2]
    assert len(pairs) > 150
    assert len(ran([case_of(a, b, bits) for a, b in pairs], tmp_path)) == len(pairs)


# ---- random layouts
# -----------------------------------------------------------------------------------------------------

def draw_linear(rng: random.Random, dims: "Tuple[int, ...]", lanes: int, warps: int) -> str:
    """Return a random linear layout. Its bases are the bits of the dimensions, in any order. Some bases are XORed with
    another basis, and some are 0.
    """
    bases = [[1 << k if e == d else 0 for e in range(len(dims))] for d, size in enumerate(dims) for k in range(size.bit_length() - 1)]
    if rng.random() < 0.7:
        rng.shuffle(bases)
    for _ in range(rng.choice([0, 0, 1, 3])):
        if len(bases) > 1:
            i, j = rng.sample(range(len(bases)), 2)
            bases[i] = [x ^ y for x, y in zip(bases[i], bases[j])]
    for _ in range(max(0, lanes + warps - len(bases)) + rng.choice([0, 0, 1])):
        bases.insert(rng.randrange(len(bases) + 1), [0] * len(dims))
    cut = len(bases) - lanes - warps
    spans = [bases[:cut], bases[cut:cut + lanes], bases[cut + lanes:], []]
    return "{" + ", ".join(f"{name} = {span}" for name, span in zip(("register", "lane", "warp", "block"), spans)) + "} -> {" + ", ".join(
        f"dim{d} = {size}" for d, size in enumerate(dims)) + "}"


def draw_encoding(rng: random.Random, dims: "Tuple[int, ...]", warps: int) -> str:
    """Return a random encoding of Triton for two dimensions and 32 lanes."""
    shape, w = "x".join(map(str, dims)), 1 << warps
    split = 1 << rng.randint(0, warps)
    mma = f"#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = [{split}, {w // split}], instrShape = [16, 8]}}>"
    threads = 1 << rng.randint(0, 5)
    blocked = (f"#ttg.blocked<{{sizePerThread = [{rng.choice([1, 1, 2])}, {rng.choice([1, 2, 4])}], threadsPerWarp = [{threads}, {32 // threads}], "
               f"warpsPerCTA = [{split}, {w // split}], order = {rng.choice(['[0, 1]', '[1, 0]'])}}}>")
    kind = rng.randrange(4)
    if kind == 0:
        return f"{shape}@{mma}"
    if kind == 1:
        return f"{shape}@#ttg.dot_op<{{opIdx = {rng.randrange(2)}, parent = {mma}, kWidth = {rng.choice([2, 4])}}}>"
    return f"{shape}@{blocked}"


def draw_nested(rng: random.Random, dims: "Tuple[int, ...]", threads: int, groups: int) -> str:
    """Return a random nested layout: each dimension is split into subgroups, batches, outers, threads and elements."""
    keys = ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")
    field: Dict[str, List[int]] = {key: [] for key in keys}
    for size in dims:
        part = {key: 1 for key in keys}
        while size > 1:
            p = next(p for p in range(2, size + 1) if size % p == 0)
            size //= p
            key = rng.choice(keys)
            if key == "thread_tile" and p * part[key] * math.prod(field[key]) > threads or key == "subgroup_tile" and p * part[key] * math.prod(field[key]) > groups:
                key = "batch_tile"
            part[key] *= p
        for key in keys:
            field[key].append(part[key])
    for key in ("subgroup", "thread"):
        step, steps = 1, [0] * len(dims)
        for d in rng.sample(range(len(dims)), len(dims)):
            steps[d] = step if field[f"{key}_tile"][d] > 1 else 0
            step *= field[f"{key}_tile"][d]
        field[f"{key}_strides"] = steps
    return "#iree_vector_ext.nested_layout<" + ", ".join(f"{key} = {numbers}" for key, numbers in field.items()) + ">"


def draw_pair(rng: random.Random) -> "Tuple[str, str]":
    """Return two random distributions of one array to threads."""
    kind = rng.randrange(5)
    if kind == 4:  # sizes that are not powers of two
        dims = tuple(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]) for _ in range(rng.randint(1, 3)))
        most, groups = rng.choice([(32, 1), (64, 1), (32, 3), (128, 2)])
        if math.prod(dims) > 1024:
            return draw_pair(rng)
        return draw_nested(rng, dims, most, groups), draw_nested(rng, dims, most, groups)
    warps, lanes = rng.choice([0, 0, 1, 2]), 5 if kind else rng.choice([2, 3, 4, 5, 6])
    others = rng.choice([warps, warps, 0, 1, 2])  # number of bits of the second layout's warp number; if the layouts differ in it, one of them has no elements in some warps
    dims = tuple(rng.choice([4, 8, 16, 32]) for _ in range(2))
    while math.prod(dims) > 1 << (lanes + warps + 5):
        dims = tuple(max(size // 2, 1) for size in dims)
    makers = [lambda warps: draw_linear(rng, dims, lanes, warps)] + ([lambda warps: draw_encoding(rng, dims, warps)] * 2 if kind else []) + [
        lambda warps: draw_nested(rng, dims, 1 << lanes, 1 << warps)] * (kind > 1)
    first = rng.choice(makers)(warps)
    return first, rng.choice(makers)(others)


def drawn(seed: int, count: int) -> "List[Case]":
    rng = random.Random(seed)
    pairs = [draw_pair(rng) for _ in range(count)]
    texts = canonical([text for pair in pairs for text in pair])
    sides = [Side(text, (iree_table if shown.startswith("#iree") else linear_table)(shown), 0) for text, shown in zip([text for pair in pairs for text in pair], texts)]
    return [case_of(a, b, rng.choice([8, 16, 32, 32, 64])) for a, b in zip(sides[::2], sides[1::2])]


@pytest.mark.peer
def test_drawn(tmp_path: Path) -> None:
    """Moves between random linear layouts, encodings and nested layouts are right, with copies, several warps, and
    sizes that are not powers of two.
    """
    said = ran(drawn(7, COUNT // 4), tmp_path)
    assert len(said) > COUNT // 8 and {it.kind for it in said} == {"registers", "shuffles", "shared"}


@pytest.mark.peer
@pytest.mark.parametrize("seed", range(2))
def test_many_drawn(seed: int, tmp_path: Path) -> None:
    """Moves between more random layouts are right."""
    cases = drawn(100 + seed, 300)
    assert len(cases) >= 250 and len(ran(cases, tmp_path)) > 150


CUTE = "((4,8),(2,2)):((32,1),(16,8))"


def test_threads_and_values() -> None:
    """CuTe's (thread, value) layout of an accumulator is the same distribution as IREE's, whether its values are
    integers m + 16 n or coordinates. A nested layout of IREE, whose threads are divided into warps, is the same
    distribution as a linear layout of Triton.
    """
    acc = "NV_MMA_SYNC_F32_16x8x16_F16.acc"
    assert one("move", CUTE, acc) == (0, "registers\nthe same registers: nothing moves") == one("move", acc, CUTE)
    assert one("move", acc, one("convert", acc, "cute")[1]) == (0, "registers\nthe same registers: nothing moves")
    nested = ("#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [128], element_tile = [2], subgroup_strides = [0], "
              "thread_strides = [1]>")
    assert one("move", nested, "{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]} -> {dim0 = 256}") == (0, "registers\nthe same registers: nothing moves")
    assert one("move", nested, nested, "--subgroup", "16")[0] == 0


def masked_side(text: str, shown: str) -> Side:
    """Return an encoding of an array whose sizes are not powers of two. `sett` prints it as 24x16@#ttg.linear<{..}>, the
    layout of the next larger powers of two.
    """
    shape, bases = re.fullmatch(r"([\dx]+)@#ttg\.linear<(\{.*\})>", shown).groups()
    dims = tuple(map(int, shape.split("x")))
    sizes = ", ".join(f"dim{d} = {1 << (size - 1).bit_length()}" for d, size in enumerate(dims))
    return Side(text, linear_table(f"{bases} -> {{{sizes}}}"), 0, dims)


def of_no_powers_of_two(count: int) -> "List[Case]":
    """Return random moves of arrays whose sizes are not powers of two, between Triton's encodings, and between these and
    IREE's layouts.
    """
    rng = random.Random(12)
    pairs = []
    while len(pairs) < count:
        dims = (rng.choice([3, 5, 6, 12, 16, 24, 33]), rng.choice([3, 7, 8, 12, 20, 48]))
        if math.prod(dims) <= 600 and any(size & (size - 1) for size in dims):
            pairs.append([dims, *(draw_encoding(rng, dims, rng.choice([0, 1, 2])) for _ in range(2))])
            if rng.random() < 0.4:
                pairs[-1][rng.choice([1, 2])] = draw_nested(rng, dims, 32, 2)
    texts = [text for _, *both in pairs for text in both]
    sides = [Side(text, iree_table(shown), 0) if shown.startswith("#iree") else masked_side(text, shown) for text, shown in zip(texts, canonical(texts))]
    return [case_of(a, b, rng.choice([8, 16, 32, 64])) for a, b in zip(sides[::2], sides[1::2])]


def test_sizes_that_differ() -> None:
    """A move from a layout to the same layout moves nothing. If the sizes of the arrays differ, the answer is no."""
    blocked = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>"
    assert one("move", f"24x16@{blocked}", f"24x16@{blocked}") == (0, "registers\nthe same registers: nothing moves")
    assert one("move", f"24x16@{blocked}", f"32x16@{blocked}") == (1, "no: the sizes of the arrays differ: 24 and 32")


def cute_side(text: str) -> Side:
    """Return CuTe's layout from (thread, value) to the index of a one-dimensional array. Its threads are not divided
    into warps.
    """
    chain = chain_of(text)
    threads, values = (product(mode) for mode in chain[0][0])
    return Side(text, Table("cute", True, True, [values, threads, 1, 1], lambda at: (model(chain, (at[1], at[0])),)), 0)


def of_other_warps() -> "List[Case]":
    """Return moves between blocked layouts with different numbers of warps (1, 2, 4 and 8)."""
    text = "32x16@#ttg.blocked<{{sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [{}, {}], order = [1, 0]}}>"
    texts = [text.format(*warps) for warps in ((1, 1), (2, 1), (4, 1), (2, 4))]
    sides = [Side(text, linear_table(shown), 0) for text, shown in zip(texts, canonical(texts))]
    pairs = [(a, b) for a in sides for b in sides if size_of(a, 2) != size_of(b, 2)]
    assert len(pairs) == 12
    return [case_of(a, b, bits) for (a, b), bits in zip(pairs, itertools.cycle([32, 16, 8, 64]))]


def of_no_whole_warps() -> "List[Case]":
    """Return moves of CuTe's layouts with 48 or 20 threads, which are not whole warps. Threads 48 to 63 hold nothing.
    If the other layout has 32 lanes, lanes 20 to 31 hold nothing.
    """
    whole = "{register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = []} -> {dim0 = 256}"
    few = "(20,8):(1,20)"
    pairs = [("(48,4):(4,1)", "(48,4):(1,48)"), ("(48,4):(4,1)", "(64,3):(1,64)"), ("(64,3):(3,1)", "(48,4):(4,1)"), (whole, "(48,5):(5,1)"), (whole, few)]
    cases = []
    for a, b in pairs:
        side = [Side(text, linear_table(text), 0) if text[0] == "{" else cute_side(text) for text in (a, b)]
        warps = max(-(-size_of(it, 1) // 32) for it in side)
        rows = []
        for it in side:
            threads, values = size_of(it, 1), it.table.inputs[0]
            rows.append([[it.table.value((r, t, 0, 0)) if t < threads else None for r in range(values)] for t in range(32 * warps)])
        cases.append(Case(side[0], side[1], 32, 32, warps, rows))
    return cases


@pytest.mark.peer
@pytest.mark.parametrize("count", [COUNT // 3])
def test_registers_that_hold_nothing(count: int, tmp_path: Path) -> None:
    """Every element arrives. Threads that only one layout has, and registers outside the array, take no part."""
    cases = of_other_warps() + of_no_whole_warps() + of_no_powers_of_two(count)
    said = ran(cases, tmp_path)
    assert len(said) > len(cases) * 3 // 4 and {it.kind for it in said} == {"registers", "shuffles", "shared"}


# ---- from memory to memory ----------------------------------------------------------------------------------------------------------------------------

def draw_array(rng: random.Random, dims: "List[int]", cute: bool) -> "Tuple[str, int]":
    """Return a random layout in memory, and a number: for a oneDNN tag the number of offsets, padding included (a
    reorder sets the padding to 0), for other layouts 0.
    """
    order, shape = rng.sample(range(len(dims)), len(dims)), "x".join(map(str, dims))
    kind = rng.randrange(4 if cute else 3)
    if kind == 0:
        blocks = [(d, rng.choice([2, 4, 16])) for d in rng.sample(range(len(dims)), rng.randint(0, len(dims)))] + [(d, 2) for d in range(len(dims)) if rng.random() < 0.1]
        padded = list(dims)
        for d in range(len(dims)):
            block = math.prod(size for e, size in blocks if e == d)
            padded[d] = -(-dims[d] // block) * block
        blocked = {d for d, _ in blocks}
        tag = "".join(chr((65 if d in blocked else 97) + d) for d in order) + "".join(f"{size}{chr(97 + d)}" for d, size in blocks)
        return f"{shape}@{tag}", math.prod(padded)
    steps, step = [0] * len(dims), 1
    for d in reversed(order):
        steps[d], step = step, step * dims[d] + (rng.choice([0, 0, 3]) * step if kind == 1 else 0)
    if kind == 1:
        return f"{shape}@strides({','.join(map(str, steps))})+0", 0
    if kind == 2:
        tile = rng.choice(["", ":T(8,128)", ":T(2)", ":T(4,4)(2,1)"]) if len(dims) > 1 else ""
        return f"u32[{','.join(map(str, dims))}]{{{','.join(map(str, reversed(order)))}{tile}}}", 0
    return f"({','.join(map(str, dims))}):({','.join(map(str, steps))})", 0


@pytest.mark.peer
def test_reorders(tmp_path: Path) -> None:
    """The C function of a reorder moves every element between random tags, strides, arrays of XLA and layouts of CuTe.
    It sets the padding of a tag to 0 and writes nothing else.
    """
    rng, pairs = random.Random(9), []
    while len(pairs) < COUNT:
        dims = [rng.choice([1, 2, 3, 4, 7, 16, 17, 20]) for _ in range(rng.randint(1, 4))]
        if math.prod(dims) > 3000:
            continue
        cute = rng.random() < 0.5
        pairs.append((dims, *draw_array(rng, dims, cute), *draw_array(rng, dims, not cute)))
    said = asked([[a, b] for _, a, _, b, _ in pairs])
    calls, functions, data, runs = [], [], [], 0
    for index, ((dims, a, held, b, zeroed), text) in enumerate(zip(pairs, said)):
        bits = (8, 16, 32, 64)[index % 4]
        tables = [table_of(a), table_of(b)]
        places = [[table.value(at) for at in itertools.product(*map(range, dims))] for table in tables]
        if not text.startswith("reorder "):
            assert text.startswith("not decided: expected"), (a, b, text)  # a layout with tiles that XLA's notation cannot express
            continue
        size = [max(places[0]) + 1, zeroed or max(places[1]) + 1]
        zeros = zeroed - len(places[1]) if zeroed else 0
        assert text.split("\n")[0] == f"reorder {len(places[0])}, zeros {zeros}", (a, b, text)
        assert not held or f": {held} place" in text.split("\n")[1], (a, b, text)
        pieces = sorted(zip(places[1], places[0]))
        split = [i for i in range(len(pieces)) if i == 0 or pieces[i] != (pieces[i - 1][0] + 1, pieces[i - 1][1] + 1)]
        longest = max(end - start for start, end in zip(split, [*split[1:], len(pieces)]))
        assert text.split("\n")[-1] == f"{len(split)} run{'s' * (len(split) > 1)} of at most {longest} element{'s' * (longest > 1)} that lie together in both", (a, b, text)
        code = asked([[a, b]], "--element", str(bits), "--emit", "c")[0]
        functions.append(code.replace("sett_move(", f"move_{index}(").replace("static inline int", "static int"))
        calls.append(f"    case {index}: bad = RUN({TYPES[bits]}, move_{index}); break;")
        flat = [index, len(places[0]), *size, int(bool(zeroed)), *places[0], *places[1]]
        data.append(struct.pack(f"{len(flat)}i", *flat))
        runs += 1
    source = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%s
enum { MOST = 1 << 20 };
static int head[5], from[MOST], to[MOST];
static unsigned char a[8 * MOST], b[8 * MOST], want[8 * MOST];
/* Elements are their numbers; b is full of 0xa5, also behind its end. */
#define RUN(T, F) (make(sizeof(T)), F((const T *)a, (T *)b) || memcmp(b, want, ((size_t)head[3] + 64) * sizeof(T)))
static void put(unsigned char *at, int place, unsigned long long value, size_t size) { memcpy(at + (size_t)place * size, &value, size); }
static void make(size_t size) {
  memset(a, 0x5a, ((size_t)head[2] + 64) * size);
  memset(b, 0xa5, ((size_t)head[3] + 64) * size);
  memset(want, 0xa5, ((size_t)head[3] + 64) * size);
  if (head[4]) memset(want, 0, (size_t)head[3] * size);
  for (int i = 0; i < head[1]; ++i) {
    const unsigned long long value = ((unsigned long long)i + 1) * 0x9e3779b97f4a7c15u >> 7;
    put(a, from[i], value, size);
    put(want, to[i], value, size);
  }
}
int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  int runs = 0, wrong = 0;
  while (file && fread(head, sizeof head, 1, file) == 1) {
    int bad = 1;
    if (fread(from, sizeof(int), (size_t)head[1], file) + fread(to, sizeof(int), (size_t)head[1], file) != 2 * (size_t)head[1]) return 1;
    switch (head[0]) {
%s
    }
    ++runs;
    wrong += bad;
    if (bad) printf("%%d WRONG\n", head[0]);
  }
  printf("%%d runs, %%d wrong\n", runs, wrong);
  return 0;
}
""" % ("\n".join(functions), "\n".join(calls))
    (tmp_path / "reorder.c").write_text(source)
    (tmp_path / "reorder.bin").write_bytes(b"".join(data))
    done = subprocess.run(["cc", "-std=c11", "-O0", "-Wall", "-Werror", "-Wno-unused-function", f"-I{ROOT / 'include'}", "reorder.c", "-o", "reorder"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run(["./reorder", "reorder.bin"], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    wrong = [pairs[int(line.split()[0])] for line in done.stdout.splitlines() if "WRONG" in line]
    assert done.stdout.splitlines()[-1] == f"{runs} runs, 0 wrong" and runs > COUNT // 2, wrong[:5]


def test_reorder() -> None:
    """`move` reorders an array between a blocked tag and a plain tag, in both directions. If a layout gives two indices
    the same offset, or does not begin at 0, the answer is "no" with a witness. An array in memory and a distribution to
    threads cannot be mixed.
    """
    assert one("move", "2x17x3x3@aBcd16b", "2x17x3x3@abcd") == (
        0, "reorder 306, zeros 0\nfrom u32[2,17,3,3]{3,2,1,0:T(16,1,1)}: 576 places, 270 of them not read\nto u32[2,17,3,3]{3,2,1,0}: 306 places\n"
        "304 runs of at most 2 elements that lie together in both")
    assert one("move", "2x17x3x3@nchw", "2x17x3x3@nChw16c")[1].splitlines()[::2] == [
        "reorder 306, zeros 270", "to u32[2,17,3,3]{3,2,1,0:T(16,1,1)}: 576 places, 270 of them padding, which gets 0"]
    assert one("move", "2x17@strides(0,1)+0", "2x17@ba") == (1, "no: two indices have one offset: at (0,0) 0, at (1,0) 0, in A")
    assert one("move", "2x17@ba", "2x17@strides(17,1)+3") == (1, "no: the first offset is not 0: at (0,0) 3, in B")
    assert one("move", "2x17@ba", "17x2@ba") == (1, "no: different sizes") and one("move", "2x17@ba", "34@a") == (1, "no: different numbers of dimensions")
    assert one("move", "0x4@ab", "0x4@ba") == (0, "reorder 0, zeros 0\nfrom u32[0,4]{1,0}: 0 places\nto u32[0,4]{0,1}: 0 places")
    assert one("move", "8x8@ab", "8x8@ba", "--emit", "cuda") == (2, "error: expected --emit c for arrays in memory")
    assert one("move", "8x8@ab", "8x8@ba", "--element", "12") == (2, "error: expected elements of 8, 16, 32 or 64 bits")
    assert one("move", "8x8@ab", CUTE) == (1, "no: different sizes")
    assert one("move", "8x8@ab", "{register = [[1]], lane = [[2]]} -> {d = 4}")[1].startswith("error: expected layouts from (register")


def test_no() -> None:
    """An answer "no" names the difference, also if the layouts have blocks."""
    a = "{register = [[1]], lane = [[2]], block = [[4]]} -> {d = 8}"
    assert one("move", a, "{register = [[1]], lane = [[2], [4]], block = []} -> {d = 8}") == (1, "no: the numbers of lanes differ: 2 and 4")
    assert one("move", a, "{register = [[1]], lane = [[4]], block = [[2]]} -> {d = 8}") == (
        1, "no: no register of the block holds the element at (4), which register 0 of lane 1 wants")
    assert one("move", a, "{register = [[2]], lane = [[1]], block = [[4]]} -> {d = 8}")[1].startswith("shuffles 1\nno plan has fewer; ")
    assert one("move", "NV_MMA_SYNC_F32_16x8x16_F16.acc", "NV_MMA_SYNC_F32_16x8x16_F16.lhs") == (1, "no: the sizes of the arrays differ: 8 and 16")
