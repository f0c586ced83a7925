"""Test the part of gen/errors.md about the command and the headers: every example is refused with the text on the page,
and the page has every error of every header.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "gen" / "errors.md").read_text().split("\n## The `sett` command\n")[1]
EXAMPLES = [pair for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S) for pair in re.findall(r"\$ sett (.*)\n(.*)\n", block)]
IN_C = re.findall(r"^(\S.*)\n  // (.*)$", re.search(r"^```c\n(.*?)^```$", PAGE, re.M | re.S)[1], re.M)
# The texts of the errors in the headers' tables. `@` stands for a number or a name.
TEXTS = {(path.name, name): "".join(re.findall(r'"([^"]*)"', text)) for path in sorted((ROOT / "include").glob("*.h"))
         for table in re.findall(r"#define SETT_\w*ERRORS\(X\)(.*?)\n\n", path.read_text(), re.S)
         for name, text in re.findall(r'X\((\w+),\s*((?:"[^"]*"\s*\\?\s*)+)\)', table) if name != "OK"}


def test_form() -> None:
    lines = [line for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]
    assert len(lines) == 2 * len(EXAMPLES) > 300 and len({command for command, _ in EXAMPLES}) == len(EXAMPLES) and len(IN_C) > 10


def test_examples(tmp_path: Path) -> None:
    """Each example exits with status 2, prints nothing on standard output, and prints the line on the page as its error.
    """
    sett = ROOT / "build" / "sett"
    if not sett.exists():
        pytest.skip("build/sett is not built")
    wrong = []
    for command, said in EXAMPLES:
        done = subprocess.run([str(sett), *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True, timeout=900)
        if (done.returncode, done.stdout, done.stderr) != (2, "", said + "\n"):
            wrong.append((command, said, done.returncode, done.stderr))
    assert not wrong


def test_examples_in_c(tmp_path: Path) -> None:
    calls = "".join(f"  puts({call});\n" for call, _ in IN_C)
    (tmp_path / "say.c").write_text(f"""#include <stdio.h>
#include <string.h>
#include "sett.h"
static sett_tile_shape shapes[64];
static sett_tile_plan plans[64];
static sett_nested_layout layouts[64];
static sett_relayout_plan move;
static int used;
static const sett_tile_shape *shape(const char *text) {{ return shapes[used] = sett_tile_parse(text, strlen(text)), &shapes[used++]; }}
static const sett_tile_plan *plan(const char *text) {{ const sett_tile_shape *it = shape(text); return plans[used] = sett_tile_prepare(it), &plans[used]; }}
static const sett_nested_layout *layout(const char *text) {{
  const char *dot = strrchr(text, '.');
  layouts[used] = sett_mma_layout(sett_mma_find(text, (size_t)(dot - text)), SETT_MMA_ACC);
  return &layouts[used++];
}}
static const char *explain(sett_nested_layout it) {{ static char text[256]; sett_nested_explain(&it, text, sizeof text); return text; }}
int main(void) {{
{calls}  return 0;
}}
""")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'include'}", "say.c", "-o", "say"], cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "say")], check=True, capture_output=True, text=True).stdout.splitlines()
    assert said == [text for _, text in IN_C]


def test_every_error_of_the_headers_is_here() -> None:
    said = "\n".join([text for _, text in EXAMPLES] + [text for _, text in IN_C] + re.findall(r"^\| (.*?) \|", PAGE, re.M))
    assert len(TEXTS) > 130
    assert [key for key, text in TEXTS.items() if not re.search(re.escape(text).replace("@", r"[-\w@]+"), said)] == []
