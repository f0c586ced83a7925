"""Compare gen/README.md, and the manual at the top of gen/heroes/hero.py, with the code: files exist, names are defined
in the stated files, and the example is the output of `gen explain`.
"""

from __future__ import annotations

import ast
import graphlib
import functools
import inspect
import io
import re
import shlex
import shutil
import subprocess
import tokenize
from pathlib import Path
from typing import List, Set

import pytest

from gen.__main__ import arguments, main
from gen.explain import STAGES
from gen.heroes import HEROES
from gen.heroes.hero import Hero

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "gen" / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", TEXT, re.M | re.S)
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.M | re.S)
# The manual on adding a hero, at the top of hero.py.
OF_HERO = inspect.getmodule(Hero).__doc__
# Words in code type that are neither a file nor a name: template syntax, values, and names in the example's HLO text.
OTHER = {"//%", "${ }", "None", "gen", "gen explain", "...", " ..", "%bend", "%c"}


@functools.lru_cache(maxsize=None)
def names_of(path: Path) -> "Set[str]":
    """Return the names that a file defines. In Python these are functions, classes, variables, and members (alone and
    after their class); in other files all words.
    """
    if path.is_dir():
        return set().union(*(names_of(inner) for inner in path.iterdir() if inner.is_file() and inner.suffix in (".py", ".j2", ".c", ".cu", ".h")),
                           {inner.name for inner in path.iterdir()})
    if path.suffix != ".py":
        return set(re.findall(r"\w+", path.read_text()))
    found: Set[str] = set()

    def add(nodes: "List[ast.stmt]", prefix: str) -> None:
        for node in nodes:
            new: List[str] = []
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                new = [node.name]
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                new = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
                new += [n.attr for target in targets for n in ast.walk(target) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"]
            found.update(new, (prefix + name for name in new))
            if isinstance(node, ast.ClassDef):
                add(node.body, node.name + ".")
            elif isinstance(node, ast.FunctionDef) and prefix and node.name == "__init__":
                add(node.body, prefix)

    tree = ast.parse(path.read_text())
    add(tree.body, "")
    if path.name == "__init__.py":    # a package also defines the names that it exports
        found |= {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return found


def wrong(text: str) -> "List[str]":
    """Return the names in a text that are defined nowhere."""
    faults: List[str] = []
    place = None
    for word, after in re.findall(r"`([^`]+)`(?= \(`([^`]+)`\))?", " ".join(text.split())):
        if word in OTHER:
            continue
        if re.match("python3 |ninja |-|SETT_", word):
            if not is_command(word):
                faults.append(f"{word}: no such command or option")
        elif "/" in word or (ROOT / word).is_file():
            place = ROOT / word
            if not place.exists() or word.endswith("/") != place.is_dir():
                faults.append(f"{word}: no such file")
        else:
            where = ROOT / after if after else place
            if not where or (where.exists() and word not in names_of(where)):
                faults.append(f"{word}: not in {where.relative_to(ROOT) if where else 'any file that is named'}")
    return faults


def is_command(text: str) -> bool:
    words = [word for word in shlex.split(text) if not re.fullmatch(r"SETT_[A-Z]+=\d+", word)]
    if words[:2] == ["ninja", "-t"]:
        return subprocess.run(words, cwd=ROOT, capture_output=True).returncode == 0 if shutil.which("ninja") else words[2] in ("targets", "compdb")
    if words[1:3] == ["-m", "pytest"]:
        return (ROOT / words[3]).is_file()
    if words[0] == "ninja":
        built = re.findall(r"^build ([^:]+):", (ROOT / "build.ninja").read_text(), re.M)
        return set(words[1:]) <= set(" ".join(built).split())
    if words[1:3] == ["-m", "gen"]:
        return bool(arguments().parse_args(words[3:]))
    return (ROOT / words[1]).is_file() if words[0] == "python3" else f'"{text}"' in (ROOT / "gen" / "__main__.py").read_text()


@pytest.mark.parametrize("prose", [PROSE, OF_HERO], ids=["README.md", "hero.py"])
def test_names(prose: str) -> None:
    assert wrong(prose) == []


@pytest.mark.parametrize("text", [
    "`gen/hlo/parsers.py`", "`gen/hlo`", "`gen/hlo/parser.py` `parsed`", "`gen/heroes/hero.py` `Hero.take`", "`gen/hlo/parser.py` `Hero`", "`gen/schedule/` `Walks`",
    "`ninja tests`", "`--targets`", "`templates/kernels/loop.j2` `register_tile`", "`Hero`", "`gen/heroes/loop.py` `Context`", "`gen/plan/nest.py` `Nest.cuts`",
    "`gen/plan/nest.py` `Nest` (`gen/plan/nests.py`)", "`python3 tests/snapshots.py main`"])
def test_wrong_names_are_found(text: str) -> None:
    assert len(wrong(text)) == 1


def test_links() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PROSE):
        assert (ROOT / "gen" / target).exists(), target
    assert "(gen/README.md)" in (ROOT / "README.md").read_text()


def test_names_of_heroes() -> None:
    """The name of a hero (kernel emitter) is one word, because reports and manifests separate names by blanks."""
    assert all(len(hero.name.split()) == (hero.name != "") for hero in HEROES)


def test_interface() -> None:
    """The manual in gen/heroes/hero.py explains all members of a hero's interface. The guide, gen/README.md, has at
    most 310 lines of at most 120 columns.
    """
    members = {name for name, _ in inspect.getmembers(Hero) if not name.startswith("_")}
    assert members == set(re.findall(r"`Hero\.(\w+)`", OF_HERO))
    assert TEXT.count("\n") <= 310 and max(map(len, TEXT.split("\n"))) <= 120


def as_printed(shown: str, printed: str) -> "List[str]":
    """Return the lines in which `shown` and `printed` differ; [] if there are none. They are the first line of `shown`
    that does not follow in `printed`, or else the lines of `printed` after the end of `shown`. In `shown`, `...` stands
    for any lines, ` ..` for the rest of a line.
    """
    lines, at, gap = printed.rstrip("\n").split("\n"), 0, False
    for line in shown.rstrip("\n").split("\n"):
        if line == "...":
            gap = True
            continue
        fits = [k for k in range(at, len(lines)) if (lines[k].startswith(line[:-2]) if line.endswith(" ..") else lines[k] == line)]
        if not fits or (fits[0] != at and not gap):
            return [line]
        at, gap = fits[0] + 1, False
    return [] if gap or at == len(lines) else lines[at:]


def test_example(capsys: "pytest.CaptureFixture[str]", monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command in the example prints the lines below it. Together the commands show all stages."""
    monkeypatch.chdir(ROOT)
    stages = []
    for command, shown in (one for block in BLOCKS for one in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)):
        words = shlex.split(command)
        assert words[:4] == ["python3", "-m", "gen", "explain"] and main(words[3:]) == 0
        stages.append(words[-1])
        assert as_printed(shown, capsys.readouterr().out) == [], command
    assert tuple(dict.fromkeys(stages)) == STAGES


@pytest.mark.parametrize("shown", ["a\nc\n", "a\n...\nb\nd\n", "a\n...\nc\n", "b\n...\n", "a\n...\nx\n...\n", "a\n...\nc\n...\nb\n...\n"])
def test_wrong_examples_are_found(shown: str) -> None:
    assert as_printed(shown, "a\nb\nc\nd\n")
    assert not as_printed("a\n...\nc\nd\n", "a\nb\nc\nd\n")


def test_lines() -> None:
    """Lines of the generator have at most 120 columns, except for literal text."""
    long = []
    for path in sorted((ROOT / "gen").rglob("*.py")):
        text = path.read_text()
        literal = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                literal |= set(range(token.start[0], token.end[0] + 1))
        long += [f"{path}:{number}" for number, line in enumerate(text.split("\n"), 1) if len(line) > 120 and number not in literal]
    assert not long


@pytest.mark.parametrize("room", ["algebra", "hlo", "lower", "schedule"])
def test_brackets(room: str) -> None:
    """No line has only closing brackets, unless a comment or a multi-line text precedes it."""
    wrong = []
    for path in sorted((ROOT / "gen" / room).rglob("*.py")):
        text, opened = path.read_text(), []
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in (tokenize.NL, tokenize.NEWLINE)]
        for number, token in enumerate(tokens):
            if token.type == tokenize.OP and token.string in "([{":
                opened.append(number)
            elif token.type == tokenize.OP and token.string in ")]}":
                inside = tokens[opened.pop():number]
                if re.fullmatch(r"\s*[)\]}]+[,:]?\n?", token.line) and not any(
                        part.type == tokenize.COMMENT or part.type == tokenize.STRING and part.start[0] < part.end[0] for part in inside):
                    wrong.append(f"{path}:{token.start[0]}")
    assert not wrong


def test_no_circles() -> None:
    """The imports between the generator's files form no cycle; imports inside functions count, too. Imports between its
    folders form no cycle either.
    """
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in (ROOT / "gen").rglob("*.py")}
    imported = {name: {place for node in ast.walk(ast.parse(path.read_text())) for place in (
        [alias.name for alias in node.names] if isinstance(node, ast.Import) else
        [f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in files else node.module for alias in node.names]
        if isinstance(node, ast.ImportFrom) else []) if place in files} - {name} for name, path in files.items()}
    assert len(files) > 100 and "gen.hlo.scanner" in imported["gen.hlo.parser"]
    graphlib.TopologicalSorter(imported).prepare()
    room = {name: name.split(".")[min(1, name.count("."))] for name in files}
    of_rooms = {of: {room[place] for name in files if room[name] == of for place in imported[name]} - {of, "gen"} for of in set(room.values())}
    graphlib.TopologicalSorter(of_rooms).prepare()
