"""Test trees of statements (gen/statements.py), and the cutting of C files into pieces (gen/emit/pieces.py)."""

import re

import pytest

from gen.emit.pieces import HERE, filled, needs, pieces, taken
from gen.statements import Assign, Block, Code, Declare, For, If, Let, interchange, printed, weight


def lines(text: str) -> "list[str]":
    return text.strip("\n").split("\n")


def test_leaves() -> None:
    assert printed([Let("float", "x", "1.0f"), Let("float", "y", "{1.0f, 2.0f}", 2), Declare("int", "n"), Declare("int", "m", "0"),
                    Declare("int", "a", count=3), Assign("n", "m"), Assign("n", "1", "|="), "f(n);"]) == lines("""
const float x = 1.0f;
const float y[2] = {1.0f, 2.0f};
int n;
int m = 0;
int a[3];
n = m;
n |= 1;
f(n);""")


def test_factors() -> None:
    """In the C files of small functions, the operands of MUL are primary expressions, because MUL(x, a - b) expands to x
    * a - b.
    """
    found = 0
    for file in ("complex.c", "scalars.c", "registers.c"):
        text = re.sub(r"/\*.*?\*/", "", (HERE / file).read_text(), flags=re.S)
        for call in re.finditer(r"\bMUL\(", text):
            depth, outside = 1, ""
            for character in text[call.end():]:
                depth -= character == ")"
                if not depth:
                    break
                outside += character if depth == 1 else ""
                depth += character == "("
            for operand in outside.split(","):
                found += 1
                assert " " not in operand.strip() and not operand.strip().startswith("MUL"), text[call.start():call.start() + 60]
    assert found > 100


def test_nested() -> None:
    """Statements are added to the innermost open block. Once all blocks are closed, they are added after the outermost
    block.
    """
    code = Code()
    code.add("a();")
    with code.nested(For("int", "i", "4"), If("i > 1")) as (around, number):
        code.add("b(i);")
    code.add("c();")
    assert around is code.lines and isinstance(around[number], For)
    with code.nested():
        code.add("d();")
    assert printed(code.lines) == lines("""
a();
for (int i = 0; i < 4; ++i) {
  if (i > 1) {
    b(i);
  }
}
c();
d();""")
    assert printed(code.take()) and code.lines == []
    code.add("e();")
    assert code.lines == ["e();"]


def test_cases() -> None:
    code = Code()
    code.cases([("x", lambda: code.add("a();")), ("y", lambda: code.add("b();")), ("", lambda: code.add("c();"))])
    code.cases([("", lambda: code.add("d();"))])
    code.cases([])
    code.add("e();")
    assert printed(code.lines) == lines("""
if (x) {
  a();
}
else if (y) {
  b();
}
else {
  c();
}
{
  d();
}
e();""")
    assert weight(code.lines) == 8    # five statements, two ifs, a block


def test_one_line() -> None:
    for_each = For("int", "lane", "n", [Let("int", "i", "at[lane]"), Assign("x[lane]", "f(i)")], "1", brief=True)
    assert printed([for_each, For("int", "i", "8", ["f(i);"], falling=True, brief=True),
                    If("x", ["a();"], ["b();"], brief=True)]) == lines("""
for (int lane = 1; lane < n; ++lane) { const int i = at[lane]; x[lane] = f(i); }
for (int i = 8; i-- > 0;) f(i);
if (x) a();
else {
  b();
}""")


def test_interchange() -> None:
    loops = [For("int", name, str(size)) for name, size in (("i", 2), ("j", 3), ("k", 4))]
    code = Code()
    with code.nested(*loops):
        code.add("f(i, j, k);")
    interchange(loops, [2, 0, 1])
    assert [line.strip() for line in printed(code.lines)][:4] == ["for (int k = 0; k < 4; ++k) {", "for (int i = 0; i < 2; ++i) {",
                                                                 "for (int j = 0; j < 3; ++j) {", "f(i, j, k);"]
    assert weight(code.lines) == 4 and printed([Block()]) == ["{", "}"]


CONDITIONS = """
#if FLOAT
a
#ifdef __clang__
b
#else
c
#endif
#elif !SIGNED
d
#else
e
#endif
"""


@pytest.mark.parametrize("facts, left", [({"FLOAT": True, "SIGNED": True}, "a #ifdef__clang__ b #else c #endif"),
                                         ({"FLOAT": False, "SIGNED": False}, "d"), ({"FLOAT": 0, "SIGNED": 1}, "e")])
def test_conditions(facts: "dict[str, bool]", left: str) -> None:
    """Conditions that are known at build time select lines. Conditions for the C compiler stay."""
    assert taken(CONDITIONS, facts).replace("#ifdef ", "#ifdef").split() == left.split()


def test_words() -> None:
    """`filled` replaces a word that stands alone or between underscores. It also replaces words in the arguments of a
    macro.
    """
    words = {"T": "f32", "TYPE": "float", "N": lambda x: f"{x}.0f", "MUL": lambda a, b: f"{a} * {b}", "NAN_OF": lambda: "nan"}
    assert filled("TYPE abs_T(TYPE The) { return MUL(N(2), f(The, N(MUL(3, 4)))) + NAN_OF() + NANT; }", words) == \
        "float abs_f32(float The) { return 2.0f * f(The, 3 * 4.0f) + nan + NANT; }"
    with pytest.raises(ValueError, match="no closing parenthesis"):
        filled("N(2", words)


@pytest.mark.parametrize("files", [("complex.c",), ("scalars.c",), ("registers.c",), ("vectors.c", "functions.c"), ("vectors.cl", "functions.c")])
def test_pieces(files: "tuple[str, ...]") -> None:
    """A piece is a declaration or function of a C file. If a piece needs another piece, the other piece exists. No
    piece needs itself, directly or indirectly.
    """
    known = pieces(*files)
    assert known

    def below(name: str, above: "tuple[str, ...]" = ()) -> None:
        assert name not in above, (name, above)
        for other in known[name].needs:
            below(other, (*above, name))
    for name in {piece.name for piece in known.values()}:
        below(name)
    assert needs("", "/* exp_T */ none(other)", known) == ()
