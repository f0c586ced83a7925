"""Test gen/errors.md: every example is refused with the text on the page, and every refusal in gen/hlo/refusals.py has
an example. `ninja bless` writes the examples, from the modules in tests/hlo that the page names.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Set

import pytest

from gen.__main__ import main
from gen.hlo import refusals

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "gen" / "errors.md").read_text()
EXAMPLES = re.findall(r"^#### ([^\n]*)\n\n```hlo (\S+)\n(.*?)```\n```text\n(.*?)```\n", PAGE, re.M | re.S)


def example(name: str, folder: Path) -> str:
    """Return a module of tests/hlo and what `gen explain` prints for it, in the form of the page."""
    path = folder / "m.hlo"
    path.write_text(re.sub(r"\A// expect: .*\n", "", (ROOT / "tests" / "hlo" / name).read_text()))
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()) as printed:
        status = main(["explain", str(path)])
    assert (status, printed.getvalue()) == (2, ""), name
    return f"```hlo {name}\n{path.read_text()}```\n```text\n{said.getvalue().replace(str(path), path.name)}```\n"


def test_form() -> None:
    """Each heading has an example. A refusal names the op, says why it is refused, and what to do instead."""
    assert {name for _, name, _, _ in EXAMPLES} >= {f"refused/{path.name}" for path in (ROOT / "tests" / "hlo" / "refused").iterdir()}
    assert len(EXAMPLES) == len(re.findall(r"^```hlo", PAGE, re.M)) > 40 and len({title for title, *_ in EXAMPLES}) == len(EXAMPLES)
    for title, name, _, said in EXAMPLES:
        assert re.fullmatch(r"error: m\.hlo:\d+:\d+: .+\n", said), title
        assert re.search(r": ('[a-z-]+'|expected sett_distribute).*; instead, ", said) if name.startswith("refused/") else "instead" not in said, title


@pytest.mark.parametrize("name", [name for _, name, _, _ in EXAMPLES])
def test_example(name: str, tmp_path: Path) -> None:
    assert example(name, tmp_path) in PAGE, "ninja bless"


@pytest.mark.peer
def test_cutting_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The page shows how to cut a JAX function in two. Both halves of a refused module then have kernels."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    code = re.search(r"^### Cutting a module\n.*?^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert code
    (tmp_path / "cut.py").write_text(code[1] + 'open("whole.hlo", "w").write(jax.jit(whole).lower(x).as_text("hlo"))\n')
    subprocess.run([sys.executable, "cut.py"], check=True, capture_output=True)
    assert main(["explain", "before.hlo", "after.hlo", "--stage", "schedule", "--target", "c", "--jobs", "1"]) == 0
    assert "whole" not in capsys.readouterr().out
    assert main(["explain", "whole.hlo"]) == 2 and "'custom-call' calls" in capsys.readouterr().err


SECTION = PAGE[PAGE.index("### Functions of JAX, and bytecode"):]


@pytest.mark.parametrize("command, said", [pytest.param(*found, marks=pytest.mark.peer if n > 2 else []) for n, found in enumerate(
    re.findall(r"^\$ python3 -m gen (.*)\n(error: .*\n)", SECTION, re.M))])
def test_functions(command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """An error in the page's model.py prints the one line that the page shows."""
    pytest.importorskip("jax")
    code = re.search(r"^```python\n(.*?)^```$", SECTION, re.M | re.S)
    assert code
    (tmp_path / "model.py").write_text(code[1])
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2 and capsys.readouterr().err == said


def test_every_refusal_has_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The examples reach every statement that makes a refusal. For ops without a kernel one example of each kind is
    enough.
    """
    path = refusals.__file__
    wanted = {node.lineno for function in ast.parse(Path(path).read_text()).body if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
              if isinstance(node, (ast.Return, ast.Assign)) and isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "Refusal"}
    wanted -= {number for number, line in enumerate(Path(path).read_text().splitlines(), 1) if "is not supported yet" in line}    # no op has this refusal; tests/hlo/test_hlo.py tests it
    reached: Set[int] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != path:
            return None
        reached.add(frame.f_lineno)
        return trace

    monkeypatch.chdir(tmp_path)
    before = sys.gettrace()
    for _, _, module, _ in EXAMPLES:
        Path("m.hlo").write_text(module)
        sys.settrace(trace)
        try:
            main(["explain", "m.hlo"])
        finally:
            sys.settrace(before)
    assert len(wanted) > 20 and sorted(wanted - reached) == []
    for refusal in refusals._NOT_OURS:
        assert f"'{refusal.why}; instead, {refusal.instead}\n" in PAGE, refusal


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (ROOT / "gen" / "errors.md").write_text(re.sub(r"^```hlo (\S+)\n.*?^```\n```text\n.*?^```\n", lambda found: example(found[1], Path(folder)), PAGE, flags=re.M | re.S))
