"""gen/errors.md: every example is refused as the page says, and every refusal of gen/hlo/refusals.py has an example.

`ninja bless` writes the examples, from the modules of tests/hlo that the page names."""

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
    """A module of tests/hlo and what `gen explain` says of it, as the page has them."""
    path = folder / "m.hlo"
    path.write_text(re.sub(r"\A// expect: .*\n", "", (ROOT / "tests" / "hlo" / name).read_text()))
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()) as printed:
        status = main(["explain", str(path)])
    assert (status, printed.getvalue()) == (2, ""), name
    return f"```hlo {name}\n{path.read_text()}```\n```text\n{said.getvalue().replace(str(path), path.name)}```\n"


def test_form() -> None:
    """Each heading has an example. A refusal names the op, says why, and what to do instead."""
    assert {name for _, name, _, _ in EXAMPLES} >= {f"refused/{path.name}" for path in (ROOT / "tests" / "hlo" / "refused").iterdir()}
    assert len(EXAMPLES) == len(re.findall(r"^```hlo", PAGE, re.M)) > 40 and len({title for title, *_ in EXAMPLES}) == len(EXAMPLES)
    for title, name, _, said in EXAMPLES:
        assert re.fullmatch(r"error: m\.hlo:\d+:\d+: .+\n", said), title
        assert re.search(r": ('[a-z-]+'|expected sett_distribute).*; instead, ", said) if name.startswith("refused/") else "instead" not in said, title


@pytest.mark.parametrize("name", [name for _, name, _, _ in EXAMPLES])
def test_example(name: str, tmp_path: Path) -> None:
    assert example(name, tmp_path) in PAGE, "ninja bless"


def test_cutting_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The page's way to cut a function in JAX gives two modules with kernels, of one that is refused."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    code = re.search(r"^### Cutting a module\n.*?^```python\n(.*?)^```$", PAGE, re.M | re.S)
    assert code
    (tmp_path / "cut.py").write_text(code[1] + 'open("whole.hlo", "w").write(jax.jit(whole).lower(x).as_text("hlo"))\n')
    subprocess.run([sys.executable, "cut.py"], check=True, capture_output=True)
    assert main(["explain", "before.hlo", "after.hlo", "--stage", "schedule", "--target", "c", "--jobs", "1"]) == 0
    assert "whole" not in capsys.readouterr().out
    assert main(["explain", "whole.hlo"]) == 2 and "'sort' is for a library" in capsys.readouterr().err


def test_cutting_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The body of a loop, and a loop that is unrolled, have kernels; the loop is refused."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[1]
    (tmp_path / "cut.py").write_text(code + 'open("steps.hlo", "w").write(jax.jit(steps).lower(x).as_text("hlo"))\n')
    subprocess.run([sys.executable, "cut.py"], check=True, capture_output=True)
    assert main(["explain", "body.hlo", "few_steps.hlo", "--stage", "schedule", "--target", "c", "--jobs", "1"]) == 0
    capsys.readouterr()
    assert main(["explain", "steps.hlo"]) == 2 and "'while' is control flow" in capsys.readouterr().err


def test_loops_of_jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A loop of jax.random is said to be one; that of interp and of fori_loop is not; one of a single step is none."""
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loops.py").write_text("""
import jax
import jax.numpy as jnp
x = jnp.zeros(8)
for name, f, given in (("uniform", lambda k: jax.random.uniform(k, (4,)), [jax.random.key(0)]),
                       ("interp", lambda x: jnp.interp(x, x, x), [x]),
                       ("seven", lambda x: jax.lax.fori_loop(0, 7, lambda i, v: jnp.sin(v), x), [x]),
                       ("once", lambda x: jax.lax.fori_loop(0, 1, lambda i, v: jnp.sin(v), x), [x]),
                       ("until", lambda x: jax.lax.while_loop(lambda v: v[0] < 1, lambda v: v + 1, x), [x])):
    open(name + ".hlo", "w").write(jax.jit(f).lower(*given).as_text("hlo"))
""")
    subprocess.run([sys.executable, "loops.py"], check=True, capture_output=True)
    said = {}
    assert main(["explain", "once.hlo", "--stage", "schedule", "--target", "c"]) == 0
    capsys.readouterr()
    for name in ("uniform", "interp", "seven", "until"):
        assert main(["explain", f"{name}.hlo"]) == 2
        said[name] = capsys.readouterr().err
    assert re.search(r"'while' is control flow, of the generator of jax\.random \('threefry2x32[\w.]*'\); instead, pass the random numbers", said["uniform"])
    assert "jax.random" not in said["interp"] + said["seven"] + said["until"]
    assert "a loop of 7 steps; instead, make its body a module of its own" in said["seven"] and "unroll=True" in said["seven"]
    assert "a loop of 4 steps" in said["interp"]        # a search by halves of eight places
    assert "'while' is control flow; instead, make its body a module of its own" in said["until"]


def test_every_refusal_has_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The statements that make a refusal are all reached by the examples; of the ops that no kernel is for, one of each kind."""
    path = refusals.__file__
    wanted = {node.lineno for function in ast.parse(Path(path).read_text()).body if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
              if isinstance(node, (ast.Return, ast.Assign)) and isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "Refusal"}
    wanted -= {number for number, line in enumerate(Path(path).read_text().splitlines(), 1) if "is not supported yet" in line}     # there is no such op: tests/hlo/test_hlo.py
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
