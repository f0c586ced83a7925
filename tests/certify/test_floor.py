"""Test that gen/certify shares no code with the generator whose kernels it judges. Of gen, it imports only itself and
gen/hlo.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FLOOR = sorted((ROOT / "gen/certify").glob("*.py"))


def imported(file: Path) -> "set[str]":
    """Return the modules that a file imports, including imports inside functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {of.name for of in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            found |= {f"{node.module}.{of.name}" if node.module == "gen" else str(node.module) for of in node.names}
    return found


def test_it_imports_itself_and_the_graph_alone() -> None:
    assert len(FLOOR) > 5
    for file in FLOOR:
        of_gen = {name for name in imported(file) if name.split(".")[0] == "gen"}
        assert all(name.startswith(("gen.certify", "gen.hlo")) for name in of_gen), (file, of_gen)


def test_nobody_below_the_command_imports_it() -> None:
    users = [file for file in (ROOT / "gen").rglob("*.py") if file.parent != ROOT / "gen/certify"
             and any(name.startswith("gen.certify") for name in imported(file))]
    assert users == [ROOT / "gen/__main__.py"]


def test_solvers_are_imported_only_for_a_proof() -> None:
    code = "import sys, gen.__main__; print(sorted({'z3', 'cvc5'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout == "[]\n", answer.stderr
