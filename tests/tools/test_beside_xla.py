"""Test bench/beside_xla.py: its table, its means, and its messages if XLA is missing or a file is refused."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict
from unittest import mock

from bench import beside_xla
from gen.run import rivals


def row(name: str, ahead: float, products: bool = False, size: int = 1 << 21, differs: str = "") -> Dict[str, Any]:
    library = {"name": "XLA:CPU", "status": "PASS", "median_s": 2e-3, "ahead": ahead, "differs": differs}
    return {"kernel": name, "status": "PASS", "median_s": 1e-3, "yardstick": "copy", "share": 0.5, "bytes": size,
            "matrix_products": products, "libraries": [library]}


def said(arguments: "list[str]") -> "tuple[int, str]":
    out = io.StringIO()
    with mock.patch.object(sys, "argv", ["beside_xla.py", *arguments]), contextlib.redirect_stdout(out):
        return beside_xla.main(), out.getvalue()


class BesideXla(unittest.TestCase):
    def test_table(self) -> None:
        widths = {len(line) for line in (*beside_xla.HEADING, beside_xla.line(row("a", 2)))}
        self.assertEqual(len(widths), 1)
        self.assertEqual([cell.strip() for cell in beside_xla.line(row("a", 2, differs="it is off")).split("|")],
                         ["", "a", "1 ms", "2 ms", "2.00*", "0.50", ""])
        absent = {**row("b", 1), "libraries": [{"name": "XLA:CPU", "status": "SKIP", "reason": "no such op"}]}
        self.assertRegex(beside_xla.line(absent), r"b +\| 1 ms +\| SKIP .* no such op$")
        self.assertRegex(beside_xla.line({"kernel": "c", "status": "SKIP", "reason": "why\nmore", "libraries": []}), r"SKIP .* why$")

    def test_means(self) -> None:
        rows = [row("a", 4), row("b", 0.25, size=4096), row("c", 9, products=True), row("d", 0.5)]
        self.assertEqual([line.split(None, 1) for line in beside_xla.means(rows)], [
            ["1.46", "times XLA:CPU, 4 kernels"], ["9.00", "times XLA:CPU, 1 with products"],
            ["0.79", "times XLA:CPU, 3 without"], ["1.41", "times XLA:CPU, of these above 1 MiB"], ["0.25", "b"], ["0.50", "d"]])

    def test_no_xla(self) -> None:
        with mock.patch.object(rivals, "find", lambda folder, names: [rivals.Library("XLA:CPU", missing="no jax here")]):
            self.assertEqual(said(["nothing.hlo"]), (0, "SKIP XLA:CPU: no jax here\n"))

    def test_each_file_has_its_row(self) -> None:
        """The table has a row for every file: a kernel next to a library that copies its input, a refused file, and a
        missing file.
        """
        rival = """
import sys
open(sys.argv[8], "wb").write(open(sys.argv[7], "rb").read())
print("ready Python 3", flush=True)
for line in sys.stdin: print(int(line) * 0.25, flush=True)
"""
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            (folder / "rival.py").write_text(rival)
            good, refused = folder / "good.hlo", folder / "refused.hlo"
            good.write_text("HloModule good\nENTRY e { x = f32[64] parameter(0)  ROOT y = f32[64] copy(x) }\n")
            refused.write_text("HloModule no\nENTRY e { x = f32[64] parameter(0)  ROOT y = f32[64] custom-call(x), custom_call_target=\"f\" }\n")
            library = rivals.Library("XLA:CPU", (sys.executable, str(folder / "rival.py")))
            with mock.patch.object(rivals, "find", lambda folder, names: [library]), mock.patch.object(
                    beside_xla, "FAST", beside_xla.bench.BenchOptions(rounds=1, slot_ms=1, footprint=1 << 20, with_check=False)):
                status, text = said(["--json", str(folder / "j"), str(good), str(refused), str(folder / "absent.hlo")])
            self.assertEqual(status, 0, text)
            self.assertRegex(text, r"(?m)^\| good +\| [0-9.]+ [num]s +\| 250 ms +\| [0-9]+\.[0-9]+ +\|")
            self.assertRegex(text, r"(?m)^\| refused +\| SKIP .*'custom-call' calls ")
            self.assertRegex(text, r"(?m)^\| absent +\| SKIP .*absent\.hlo")
            self.assertIn("times XLA:CPU, 1 kernels", text)
            rows = json.loads((folder / "j").read_text())["kernels"]
            self.assertEqual([r["status"] for r in rows], ["PASS", "SKIP", "SKIP"])


if __name__ == "__main__":
    unittest.main()
