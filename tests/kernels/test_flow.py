"""Test programs with loops and branches: random programs against an interpreter in plain Python, and difficult cases
from other projects.

The interpreter shares no code with the generator: a random program is a list of Python closures, and HLO text with
the same meaning. SETT_SEED selects other programs, SETT_COUNT their number; `ninja test-flow` runs 2,000 on each
target.
"""

from __future__ import annotations

import os
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

import pytest

import stated
from drawn import device_or_skip
from gen import hlo, pipeline, run
from gen.program import build
from gen.program.ir import Array, Branch, Loop, Program
from gen.run.sources import load

SEED = int(os.environ.get("SETT_SEED", "1"))
COUNT = int(os.environ.get("SETT_COUNT", "24"))
TARGETS = os.environ.get("SETT_TARGET", "c,opencl,cuda-on-cpu").split(",")
SIZES = (1, 4, 6)  # sizes of arrays; 1 is a scalar
SANITIZED = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

Value = Tuple[int, ...]
Env = Dict[str, Any]


def wrapped(n: int) -> int:
    return (n + 2 ** 31) % 2 ** 32 - 2 ** 31


def text_of(size: int) -> str:
    return "s32[]" if size == 1 else f"s32[{size}]"


class Drawer:
    """Draws a random program: HLO computations as text, and for each a Python function on lists of values."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.computations: List[str] = []
        self.count = 0

    def name(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}"

    def body(self, env: "Dict[str, int]", lines: List[str], depth: int, ops: int) -> "List[Callable[[Env], None]]":
        """Append random ops to `lines`, and return Python functions that compute these ops. env: the size of each value
        so far; new values are added.
        """
        steps: "List[Callable[[Env], None]]" = []
        for _ in range(ops):
            kind = self.draw.random()
            if depth > 0 and kind < 0.22:
                self.loop(env, lines, steps, depth - 1)
            elif depth > 0 and kind < 0.36:
                self.branch(env, lines, steps, depth - 1)
            else:
                self.op(env, lines, steps)
        return steps

    def pick(self, env: "Dict[str, int]", size: int) -> "str | None":
        names = [name for name, of in env.items() if of == size]
        return self.draw.choice(names) if names else None

    def scalar(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]") -> str:
        found = self.pick(env, 1)
        return found if found and self.draw.random() < 0.8 else self.constant(env, lines, steps)

    def constant(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]") -> str:
        name, value = self.name("c"), self.draw.randint(-3, 7)
        lines.append(f"{name} = s32[] constant({value})")
        steps.append(lambda e: e.__setitem__(name, (value,)))
        env[name] = 1
        return name

    def op(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]") -> None:
        size = self.draw.choice(SIZES)
        a, b = self.pick(env, size), self.pick(env, size)
        name, shape = self.name("v"), text_of(size)
        kind = self.draw.choice(("add", "subtract", "multiply", "maximum", "roll", "update", "slice", "broadcast", "reduce", "dot"))
        if kind == "broadcast" and size > 1 or a is None or b is None:
            of = self.scalar(env, lines, steps)
            if size == 1:
                return
            lines.append(f"{name} = {shape} broadcast({of}), dimensions={{}}")
            steps.append(lambda e: e.__setitem__(name, e[of] * size))
        elif kind == "roll" and size > 1:
            by = self.draw.randint(1, size - 1)
            lines.append(f"{name}a = s32[{size - by}] slice({a}), slice={{[{by}:{size}]}}")
            lines.append(f"{name}b = s32[{by}] slice({b}), slice={{[0:{by}]}}")
            lines.append(f"{name} = {shape} concatenate({name}a, {name}b), dimensions={{0}}")
            steps.append(lambda e: e.__setitem__(name, e[a][by:] + e[b][:by]))
        elif kind == "update" and size > 1:
            at, length = self.scalar(env, lines, steps), self.draw.randint(1, size)
            first = self.draw.randint(0, size - length)
            lines.append(f"{name}u = s32[{length}] slice({b}), slice={{[{first}:{first + length}]}}")
            lines.append(f"{name} = {shape} dynamic-update-slice({a}, {name}u, {at})")

            def update(e: Env) -> None:
                start = min(max(e[at][0], 0), size - length)
                e[name] = e[a][:start] + e[b][first:first + length] + e[a][start + length:]
            steps.append(update)
        elif kind == "slice" and size > 1:
            at = self.scalar(env, lines, steps)
            lines.append(f"{name}s = s32[1] dynamic-slice({a}, {at}), dynamic_slice_sizes={{1}}")
            lines.append(f"{name} = s32[] reshape({name}s)")
            steps.append(lambda e, last=size - 1: e.__setitem__(name, (e[a][min(max(e[at][0], 0), last)],)))  # type: ignore[misc]
            size = 1
        elif kind == "dot" and size > 1:
            rows, turned = size // 2, self.draw.random() < 0.5    # the shape of `b` is [rows, 2] or [2, rows]
            lines.append(f"{name}a = s32[2,{rows}] reshape({a})")
            lines.append(f"{name}b = s32[{'2,%d' % rows if turned else '%d,2' % rows}] reshape({b})")
            lines.append(f"{name}d = s32[2,2] dot({name}a, {name}b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{int(turned)}}}")
            lines.append(f"{name} = s32[4] reshape({name}d)")

            def multiply(e: Env) -> None:
                e[name] = tuple(wrapped(sum(e[a][i * rows + k] * e[b][j * rows + k if turned else k * 2 + j] for k in range(rows)))
                                for i in range(2) for j in range(2))
            steps.append(multiply)
            size = 4
        elif kind == "reduce" and size > 1:
            lines.append(f"{name}z = s32[] constant(0)")
            lines.append(f"{name} = s32[] reduce({a}, {name}z), dimensions={{0}}, to_apply=sum")
            steps.append(lambda e: e.__setitem__(name, (wrapped(sum(e[a])),)))
            size = 1
        else:
            opcode = kind if kind in ("add", "subtract", "multiply", "maximum") else "add"
            does: Callable[[int, int], int] = {"add": lambda p, q: p + q, "subtract": lambda p, q: p - q, "multiply": lambda p, q: p * q,
                                               "maximum": max}[opcode]
            lines.append(f"{name} = {shape} {opcode}({a}, {b})")
            steps.append(lambda e: e.__setitem__(name, tuple(wrapped(does(p, q)) for p, q in zip(e[a], e[b]))))
        env[name] = size

    def parameter(self, sizes: "Sequence[int]", lines: List[str], word: str) -> "Tuple[Dict[str, int], str]":
        """Declare a parameter that is a tuple, sometimes with a nested tuple. Return its elements as values, and its
        shape.
        """
        name = self.name(word)
        parts = [text_of(size) for size in sizes]
        cut = self.draw.randint(1, len(sizes)) if self.nested else len(sizes)
        shape = f"({', '.join([*parts[:cut], f'({chr(44).join(parts[cut:])})'] if cut < len(sizes) else parts)})"
        lines.append(f"{name} = {shape} parameter(0)")
        env: Dict[str, int] = {}
        self.taken(name, sizes, cut, lines, env)
        self.cut, self.shape = cut, shape
        return env, name

    nested = False

    def tuple_of(self, names: "Sequence[str]", sizes: "Sequence[int]", cut: int, shape: str, lines: List[str], name: str, root: bool) -> None:
        operands = list(names)
        if cut < len(names):
            lines.append(f"{name}i = ({','.join(map(text_of, sizes[cut:]))}) tuple({', '.join(names[cut:])})")
            operands = [*names[:cut], f"{name}i"]
        lines.append(f"{'ROOT ' * root}{name} = {shape} tuple({', '.join(operands)})")

    def state(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]") -> List[str]:
        names = [self.draw.choice(list(env)) for _ in range(self.draw.randint(1, 4))] if env else []
        return [self.constant(env, lines, steps), *names]

    def loop(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]", depth: int) -> None:
        """Append a while loop. The first loop variable is a counter; the number of iterations is known or computed. The
        other variables are passed on, exchanged or computed.
        """
        self.nested = self.draw.random() < 0.4
        begins = self.state(env, lines, steps)
        sizes = [env[name] for name in begins]
        trips, by_value = self.draw.randint(0, 4), self.draw.random() < 0.5
        if by_value:
            begins[0] = self.scalar(env, lines, steps)
        text: List[str] = []
        inner, parameter = self.parameter(sizes, text, "p")
        cut, shape = self.cut, self.shape
        own = list(inner)
        does = self.body(inner, text, depth, self.draw.randint(0, 4))
        one = self.name("one")
        text.append(f"{one} = s32[] constant(1)")
        text.append(f"{one}n = s32[] add({own[0]}, {one})")
        ends = [f"{one}n", *(self.draw.choice([name for name, of in inner.items() if of == size]) for size in sizes[1:])]
        self.tuple_of(ends, sizes, cut, shape, text, self.name("t"), True)
        body = self.name("body")
        self.computations.append(f"{body} {{ {'  '.join(text)} }}")
        text = []
        bound, parameter = self.name("n"), self.name("q")
        text.append(f"{parameter} = {shape} parameter(0)")
        text.append(f"{parameter}_0 = s32[] get-tuple-element({parameter}), index=0")
        text.append(f"{bound} = s32[] constant({trips})")
        text.append(f"ROOT {bound}p = pred[] compare({parameter}_0, {bound}), direction=LT")
        condition = self.name("condition")
        self.computations.append(f"{condition} {{ {'  '.join(text)} }}")
        start = self.name("start")
        if not by_value:
            lines.append(f"{start}z = s32[] constant(0)")
            begins[0] = f"{start}z"
            steps.append(lambda e: e.__setitem__(f"{start}z", (0,)))
        self.tuple_of(begins, sizes, cut, shape, lines, start, False)
        name = self.name("w")
        lines.append(f"{name} = {shape} while({start}), condition={condition}, body={body}")

        def run_loop(e: Env) -> None:
            values = [e[begin] for begin in begins]
            while values[0][0] < trips:
                local = dict(zip(own, values))
                for step in does:
                    step(local)
                local[f"{one}n"] = (wrapped(local[own[0]][0] + 1),)
                values = [local[end] for end in ends]
            e.update((f"{name}_{k}", value) for k, value in enumerate(values))
        steps.append(run_loop)
        self.taken(name, sizes, cut, lines, env)

    def taken(self, name: str, sizes: "Sequence[int]", cut: int, lines: List[str], env: "Dict[str, int]") -> None:
        if cut < len(sizes):
            lines.append(f"{name}t = ({','.join(map(text_of, sizes[cut:]))}) get-tuple-element({name}), index={cut}")
        for k, size in enumerate(sizes):
            of, index = (f"{name}t", k - cut) if k >= cut else (name, k)
            lines.append(f"{name}_{k} = {text_of(size)} get-tuple-element({of}), index={index}")
            env[f"{name}_{k}"] = size

    def branch(self, env: "Dict[str, int]", lines: List[str], steps: "List[Callable[[Env], None]]", depth: int) -> None:
        """Append a conditional. The selector is a predicate, or a number that may be out of range."""
        selector = self.scalar(env, lines, steps)
        by_pred, name = self.draw.random() < 0.4, self.name("b")
        sizes = [self.draw.choice(SIZES) for _ in range(self.draw.randint(1, 3))]
        arms, functions, operands = 2 if by_pred else self.draw.randint(1, 4), [], []
        if by_pred:
            lines += [f"{name}k = s32[] constant(2)", f"{name}p = pred[] compare({selector}, {name}k), direction=LT"]
        for arm in range(arms):
            self.nested = self.draw.random() < 0.3
            given = self.state(env, lines, steps)
            of = [env[value] for value in given]
            text: List[str] = []
            inner, _ = self.parameter(of, text, "a")
            cut, shape, own = self.cut, self.shape, list(inner)
            does = self.body(inner, text, depth, self.draw.randint(0, 3))
            for size in sizes:
                if self.pick(inner, size) is None:
                    made = self.name("f")
                    scalar = self.scalar(inner, text, does)
                    text.append(f"{made} = {text_of(size)} broadcast({scalar}), dimensions={{}}")
                    does.append(lambda e, made=made, scalar=scalar, size=size: e.__setitem__(made, e[scalar] * size))  # type: ignore[misc]
                    inner[made] = size
            ends = [self.draw.choice([value for value, have in inner.items() if have == size]) for size in sizes]
            text.append(f"ROOT {self.name('r')} = ({', '.join(map(text_of, sizes))}) tuple({', '.join(ends)})")
            computation = self.name("arm")
            self.computations.append(f"{computation} {{ {'  '.join(text)} }}")
            self.tuple_of(given, of, cut, shape, lines, f"{name}g{arm}", False)
            functions.append((computation, given, own, does, ends))
            operands.append(f"{name}g{arm}")
        names = [function[0] for function in functions]
        called = (f"true_computation={names[0]}, false_computation={names[1]}" if by_pred
                  else f"branch_computations={{{', '.join(names)}}}")
        lines.append(f"{name} = ({', '.join(map(text_of, sizes))}) conditional({name + 'p' if by_pred else selector}, {', '.join(operands)}), {called}")

        def choose(e: Env) -> None:
            n = e[selector][0]
            chosen = (0 if n < 2 else 1) if by_pred else n if 0 <= n < arms else arms - 1
            _, given, own, does, ends = functions[chosen]
            local = dict(zip(own, (e[value] for value in given)))
            for step in does:
                step(local)
            e.update((f"{name}_{k}", local[end]) for k, end in enumerate(ends))
        steps.append(choose)
        self.taken(name, sizes, len(sizes), lines, env)

    def program(self) -> "Tuple[str, Callable[[Sequence[Value]], List[Value]], List[int]]":
        """Return the program's text, a Python function that computes it, and the sizes of its parameters."""
        sizes = [self.draw.choice(SIZES) for _ in range(3)]
        lines = [f"x{k} = {text_of(size)} parameter({k})" for k, size in enumerate(sizes)]
        env = {f"x{k}": size for k, size in enumerate(sizes)}
        steps = self.body(env, lines, 3, self.draw.randint(2, 6))
        given = [self.draw.choice(list(env)) for _ in range(self.draw.randint(1, 4))]
        lines.append(f"ROOT all = ({', '.join(text_of(env[name]) for name in given)}) tuple({', '.join(given)})")

        def does(values: "Sequence[Value]") -> List[Value]:
            local: Env = {f"x{k}": value for k, value in enumerate(values)}
            for step in steps:
                step(local)
            return [local[name] for name in given]
        add = "sum { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }"
        donated: Set[int] = set()
        aliases: List[str] = []
        for k, name in enumerate(given):
            free = [p for p, size in enumerate(sizes) if size == env[name] and p not in donated]
            if free and self.draw.random() < 0.7:
                chosen = self.draw.choice(free)
                donated.add(chosen)
                aliases.append(f"{{{k}}}: ({chosen}, {{}}, may-alias)")
        head = "HloModule m" + (f", input_output_alias={{ {', '.join(aliases)} }}" if aliases else "")
        return "\n".join([head, add, *self.computations, "ENTRY e {", *(f"  {line}" for line in lines), "}"]) + "\n", does, sizes


def program(text: str, name: str = "m") -> Program:
    parsed = hlo.parse(text, f"{name}.hlo")
    refused = hlo.unsupported(parsed)
    assert refused is None, f"{refused}\n{text}"
    return build.program(parsed)


def with_asan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the harness load ASan first, because the harness itself is compiled without ASan."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True)
    if found.returncode or not os.path.isabs(found.stdout.strip()) or not os.path.exists(found.stdout.strip()):
        pytest.skip("no libasan")
    monkeypatch.setenv("LD_PRELOAD", found.stdout.strip())
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


def packed(values: "Sequence[Value]") -> bytes:
    return b"".join(struct.pack(f"<{len(value)}i", *value) for value in values)


def drawn_programs(target: str, tmp_path: Path, count: int, flags: "Sequence[str]" = ()) -> None:
    """Check that random programs give the interpreter's results, also if results may use the parameters' buffers."""
    options = run.Options()
    device_or_skip(target, options)
    texts, wanted, builts = {}, {}, []
    for number in range(count):
        drawer = Drawer(SEED * 100003 + number)
        text, does, sizes = drawer.program()
        name = f"m{number}"
        values = [tuple(drawer.draw.randint(-9, 9) for _ in range(size)) for size in sizes]
        texts[name], wanted[name] = text, packed(does(values))
        (tmp_path / f"{name}.in").write_bytes(packed(values))
        builts.append(stated.built(program(text, name), tmp_path, target))
    (tmp_path / "results").mkdir()
    library = stated.compiled(builts, tmp_path, target, flags)
    failed = stated.ran(library, list(texts), target, tmp_path, tmp_path / "results", options)
    for name, text in texts.items():
        assert name not in failed, f"{failed[name]}\n{text}"
        got = (tmp_path / "results" / f"{name}.out").read_bytes()
        assert got == wanted[name], f"{name}: {got.hex()} in place of {wanted[name].hex()}\n{text}"


@pytest.mark.parametrize("target", [pytest.param(t, marks=[] if t == "c" else pytest.mark.peer) for t in TARGETS])
def test_drawn(target: str, tmp_path: Path) -> None:
    drawn_programs(target, tmp_path, COUNT)


# A dynamic-update-slice whose update is a part of the updated array: both reach the branch as parameters.
OVERLAPPING = """HloModule m

arm {
  s = (s32[6], s32[6]) parameter(0)
  from = s32[6] get-tuple-element(s), index=0
  to = s32[6] get-tuple-element(s), index=1
  two = s32[] constant(2)
  part = s32[4] slice(from), slice={[1:5]}
  ROOT moved = s32[6] dynamic-update-slice(to, part, two)
}

same {
  ROOT x = s32[6] parameter(0)
}

ENTRY m {
  x = s32[6] parameter(0)
  moves = pred[] parameter(1)
  y = s32[6] add(x, x)
  both = (s32[6], s32[6]) tuple(y, y)
  z = s32[6] conditional(moves, both, y), true_computation=arm, false_computation=same
  ROOT r = s32[6] negate(z)
}
"""


@pytest.mark.parametrize("target", [pytest.param(t, marks=[] if t == "c" else pytest.mark.peer) for t in TARGETS])
def test_update_by_a_part_of_itself(target: str, tmp_path: Path) -> None:
    """If an update reads other elements of the array that it updates, the array is copied first."""
    device_or_skip(target)
    (tmp_path / "m.hlo").write_text(OVERLAPPING)
    (tmp_path / "p0.bin").write_bytes(packed([(1, 2, 3, 4, 5, 6)]))
    (tmp_path / "p1.bin").write_bytes(bytes([1]))
    (made,) = run.run(str(tmp_path / "m.hlo"), target, str(tmp_path), str(tmp_path / "out"))
    assert made.read_bytes() == packed([(-2, -4, -4, -6, -8, -10)])


@pytest.mark.peer
@pytest.mark.skipif("c" not in TARGETS, reason="SETT_TARGET names other targets")
def test_drawn_with_sanitizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random programs run under ASan and UBSan without an access outside an array, an overflow or a shift out of range.
    """
    with_asan(monkeypatch)
    drawn_programs("c", tmp_path, COUNT, SANITIZED)


def test_sanitizers_see_the_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ASan finds a read one element beyond an array of a generated function."""
    with_asan(monkeypatch)
    built = stated.built(program(POWERS), tmp_path, "c")
    text = (tmp_path / "m.c").read_text()
    (tmp_path / "m.c").write_text(re.sub(r"= (p\d+)\[(.*chunk)\]", r"= \1[\2 + 1]", text))
    assert (tmp_path / "m.c").read_text() != text
    (tmp_path / "m.in").write_bytes(packed([(1, 2, 3, 4, 5)]))
    (tmp_path / "results").mkdir()
    library = stated.compiled([built], tmp_path, "c", SANITIZED)
    assert "m" in stated.ran(library, ["m"], "c", tmp_path, tmp_path / "results", run.Options())


POWERS = """HloModule m
body { p = (s32[], s32[5], s32[5], f16[]) parameter(0)  i = s32[] get-tuple-element(p), index=0  b = s32[5] get-tuple-element(p), index=2
  square = s32[5] multiply(b, b)  f = f16[] get-tuple-element(p), index=3
  g = f16[] tanh(f)  one = s32[] constant(1)  next = s32[] add(i, one)
  ROOT t = (s32[], s32[5], s32[5], f16[]) tuple(next, b, square, g) }
condition { p = (s32[], s32[5], s32[5], f16[]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(4)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = s32[5] parameter(0)
  zero = s32[] constant(0)
  nothing = f16[] constant(0)
  start = (s32[], s32[5], s32[5], f16[]) tuple(zero, x, x, nothing)
  w = (s32[], s32[5], s32[5], f16[]) while(start), condition=condition, body=body
  b = s32[5] get-tuple-element(w), index=2
  f = f16[] get-tuple-element(w), index=3
  ROOT all = (s32[5], s32[5], f16[]) tuple(b, b, f)
}
"""


def test_carried_squares(tmp_path: Path) -> None:
    """A loop that squares several variables gives x^16. gcc 12 with AVX2 would reorder its steps and give x^4, but the
    generated loop prevents this.

    The loop stays a loop of the program, because kernels do not round each value of an f16.
    """
    assert any(isinstance(node, Loop) for node in program(POWERS).body)
    values = [(3, 7, -2, 5, 11)]
    (tmp_path / "m.in").write_bytes(packed(values))
    library = stated.compiled([stated.built(program(POWERS), tmp_path, "c")], tmp_path, "c")
    (tmp_path / "results").mkdir()
    assert not stated.ran(library, ["m"], "c", tmp_path, tmp_path / "results", run.Options())
    powers = tuple(wrapped(n ** 16) for n in values[0])
    assert (tmp_path / "results" / "m.out").read_bytes() == packed([powers, powers]) + bytes(2)


UNREAD = """HloModule m
inner { p = (s32[], s32[4], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  a = s32[4] get-tuple-element(p), index=1
  b = s32[4] get-tuple-element(p), index=2  back = s32[4] reverse(a), dimensions={0}  c = s32[4] add(a, back)  d = s32[4] multiply(b, a)
  one = s32[] constant(1)  next = s32[] add(i, one)
  ROOT t = (s32[], s32[4], s32[4]) tuple(next, c, d) }
twice { p = (s32[], s32[4], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(2)
  ROOT less = pred[] compare(i, n), direction=LT }
yes { p = (s32[4], s32[4]) parameter(0)  a = s32[4] get-tuple-element(p), index=0  b = s32[4] get-tuple-element(p), index=1
  m = s32[4] multiply(b, b)  ROOT t = (s32[4], s32[4]) tuple(a, m) }
no { p = (s32[4], s32[4]) parameter(0)  a = s32[4] get-tuple-element(p), index=0  b = s32[4] get-tuple-element(p), index=1
  n = s32[4] negate(a)  m = s32[4] multiply(b, a)  ROOT t = (s32[4], s32[4]) tuple(n, m) }
body { p = (s32[], s32[4], s32[4], s32[4], pred[]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  a = s32[4] get-tuple-element(p), index=1  b = s32[4] get-tuple-element(p), index=2  c = s32[4] get-tuple-element(p), index=3
  way = pred[] get-tuple-element(p), index=4
  zero = s32[] constant(0)  start = (s32[], s32[4], s32[4]) tuple(zero, a, b)
  w = (s32[], s32[4], s32[4]) while(start), condition=twice, body=inner
  more = s32[4] get-tuple-element(w), index=1  other = s32[4] get-tuple-element(w), index=2
  both = (s32[4], s32[4]) tuple(more, c)  chosen = (s32[4], s32[4]) conditional(way, both, both), true_computation=yes, false_computation=no
  one = s32[4] get-tuple-element(chosen), index=0  two = s32[4] get-tuple-element(chosen), index=1
  step = s32[] constant(1)  next = s32[] add(i, step)  turned = pred[] not(way)
  ROOT t = (s32[], s32[4], s32[4], s32[4], pred[]) tuple(next, one, two, other, turned) }
condition { p = (s32[], s32[4], s32[4], s32[4], pred[]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = s32[4] parameter(0)
  zero = s32[] constant(0)
  way = pred[] constant(true)
  ones = s32[4] broadcast(zero), dimensions={}
  start = (s32[], s32[4], s32[4], s32[4], pred[]) tuple(zero, x, ones, x, way)
  w = (s32[], s32[4], s32[4], s32[4], pred[]) while(start), condition=condition, body=body
  ROOT a = s32[4] get-tuple-element(w), index=1
}
"""


def test_unread_state(tmp_path: Path) -> None:
    """A loop variable is neither carried nor computed if nothing reads it except the computation of its own next value.
    This holds through nested loops and branches, and for a counter if the number of iterations is known.
    """
    made = program(UNREAD)
    (loop,) = (node for node in made.body if isinstance(node, Loop))
    assert [array.shape.text for array in loop.state] == ["s32[4]{0}", "pred[]"]
    (inner,) = (node for node in loop.body if isinstance(node, Loop))
    (branch,) = (node for node in loop.body if isinstance(node, Branch))
    assert len(inner.state) == len(branch.results) == 1
    opcodes = {i.opcode for fusion in made.fusions for i in fusion.computation.instructions}
    assert "multiply" not in opcodes and "compare" not in opcodes
    library = stated.compiled([stated.built(made, tmp_path, "c")], tmp_path, "c")
    (tmp_path / "m.in").write_bytes(packed([(1, -2, 3, 4)]))
    (tmp_path / "results").mkdir()
    assert not stated.ran(library, ["m"], "c", tmp_path, tmp_path / "results", run.Options())
    assert (tmp_path / "results" / "m.out").read_bytes() == packed([(-160, -32, -32, -160)])


def test_unread_state_of_a_loop_in_a_kernel(tmp_path: Path) -> None:
    """A loop inside a kernel keeps all its variables, also those that nothing reads."""
    text = UNREAD.replace("reverse(a), dimensions={0}", "add(a, a)")
    values = [(3, -7, 2, 5)]
    (tmp_path / "m.in").write_bytes(packed(values))
    library = stated.compiled([stated.built(program(text), tmp_path, "c")], tmp_path, "c")
    (tmp_path / "results").mkdir()
    assert not stated.ran(library, ["m"], "c", tmp_path, tmp_path / "results", run.Options())
    assert (tmp_path / "results" / "m.out").read_bytes() == packed([tuple(-9 ** 3 * x for x in values[0])])


def test_empty_loop() -> None:
    """A loop that passes all its values on unchanged, with a known number of iterations, does not appear in the text.
    """
    text = """HloModule m
body { p = (s32[], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  a = s32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)  next = s32[] add(i, one)  ROOT t = (s32[], s32[4]) tuple(next, a) }
condition { p = (s32[], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(9)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e { x = s32[4] parameter(0)  zero = s32[] constant(0)  start = (s32[], s32[4]) tuple(zero, x)
  w = (s32[], s32[4]) while(start), condition=condition, body=body  a = s32[4] get-tuple-element(w), index=1
  ROOT n = s32[4] negate(a) }
"""
    texts = pipeline.files(program(text), ["c", "cuda", "opencl"])[0]
    assert not any("trip" in str(texts[name]) for name in ("m.c", "m.cu", "m.cl", "m.h"))


def test_scatter_in_a_loop() -> None:
    """A scatter whose result replaces its operand in a loop's state copies nothing: only its updates are launched."""
    text = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
body { p = (s32[], f32[1000], s32[8], f32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = f32[1000] get-tuple-element(p), index=1  k = s32[8] get-tuple-element(p), index=2  u = f32[8] get-tuple-element(p), index=3
  one = s32[] constant(1)  next = s32[] add(i, one)
  y = f32[1000] scatter(x, k, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  ROOT t = (s32[], f32[1000], s32[8], f32[8]) tuple(next, y, k, u) }
condition { p = (s32[], f32[1000], s32[8], f32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(9)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[1000] parameter(0)  k = s32[8] parameter(1)  u = f32[8] parameter(2)  zero = s32[] constant(0)
  start = (s32[], f32[1000], s32[8], f32[8]) tuple(zero, x, k, u)
  w = (s32[], f32[1000], s32[8], f32[8]) while(start), condition=condition, body=body  ROOT a = f32[1000] get-tuple-element(w), index=1 }
"""
    for target in ("c", "cuda", "opencl"):
        kernels = pipeline.target_file(program(text), target).kernels
        assert sum(kernel.hero == "scatter" for kernel in kernels) == 1, target
        assert sum(kernel.hero == "loop" for kernel in kernels) == 1, target        # x is copied before the loop


BOUND_BY_BRANCH = """HloModule m
few { n = s32[] parameter(0)  three = s32[] constant(3)  ROOT r = s32[] subtract(three, n) }
many { ROOT n = s32[] parameter(0) }
condition { p = (s32[], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  one = s32[] constant(1)  odd = s32[] and(i, one)
  seven = s32[] constant(7)  bound = s32[] conditional(odd, seven, seven), branch_computations={many, few}  ROOT less = pred[] compare(i, bound), direction=LT }
body { p = (s32[], s32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  a = s32[4] get-tuple-element(p), index=1
  b = s32[4] add(a, a)  three = s32[] constant(3)  next = s32[] add(i, three)  ROOT t = (s32[], s32[4]) tuple(next, b) }
twice { p = (s32[], s32[4]) parameter(0)  n = s32[] get-tuple-element(p), index=0  a = s32[4] get-tuple-element(p), index=1
  begin = s32[] negate(n)  start = (s32[], s32[4]) tuple(begin, a)  w = (s32[], s32[4]) while(start), condition=condition, body=body
  b = s32[4] get-tuple-element(w), index=1  one = s32[] constant(1)  next = s32[] add(n, one)  ROOT t = (s32[], s32[4]) tuple(next, b) }
again { p = (s32[], s32[4]) parameter(0)  n = s32[] get-tuple-element(p), index=0  two = s32[] constant(2)  ROOT less = pred[] compare(n, two), direction=LT }
ENTRY e {
  x = s32[4] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], s32[4]) tuple(zero, x)
  ROOT w = (s32[], s32[4]) while(start), condition=again, body=twice
}
"""


@pytest.mark.parametrize("target", [pytest.param(t, marks=[] if t == "c" else pytest.mark.peer) for t in TARGETS])
def test_condition_with_a_branch(target: str, tmp_path: Path) -> None:
    """The condition of a loop has a branch. A block of threads that runs the loop reads the branch's selector first,
    then the condition's predicate.
    """
    device_or_skip(target)
    of = run.build(program(BOUND_BY_BRANCH), tmp_path, target, run.Options())
    for result in run.check_built([of], target, run.Options(rounds=3)):
        assert result.status == "PASS", result.line()


def test_order_of_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generated text does not depend on the order of Python sets."""
    file, texts = Path(__file__).resolve().parents[1] / "hlo" / "kalman.hlo", []
    for sign in (1, -1):
        numbers: Dict[int, int] = {}
        monkeypatch.setattr(Array, "__hash__", lambda array: sign * (2 + numbers.setdefault(id(array), len(numbers))))
        texts.append(pipeline.files(build.program(load(str(file))), ["cuda"])[0])
    assert texts[0] == texts[1]


EMPTY = """HloModule m

cond { s = (s32[], f32[0,3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)  ROOT p = pred[] compare(i, n), direction=LT }

body {
  s = (s32[], f32[0,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[0,3] get-tuple-element(s), index=1
  j = s32[] add(i, i)
  y = f32[0,3] negate(x)
  ROOT r = (s32[], f32[0,3]) tuple(j, y)
}

ENTRY m {
  i = s32[] parameter(0)
  e = f32[0] constant({})
  x = f32[0,3] constant({})
  s = (s32[], f32[0,3]) tuple(i, x)
  l = (s32[], f32[0,3]) while(s), condition=cond, body=body
  j = s32[] get-tuple-element(l), index=0
  y = f32[0,3] get-tuple-element(l), index=1
  ROOT r = (s32[], f32[0], f32[0,3]) tuple(j, e, y)
}
"""


def test_arrays_without_elements(tmp_path: Path) -> None:
    """Arrays without elements may be used by a loop and be its variables, as in a scan of no steps."""
    (tmp_path / "m.hlo").write_text(EMPTY)
    (tmp_path / "p0.bin").write_bytes(struct.pack("i", 1))
    results = run.run(str(tmp_path / "m.hlo"), "c", str(tmp_path), str(tmp_path / "out"))
    assert [path.read_bytes() for path in results] == [struct.pack("i", 4), b"", b""]
