"""Test the page of `ninja playground` in headless Chromium: for every example its picture and answers equal those of
build/sett. The page is small and needs no network.
"""

from __future__ import annotations

import html
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "gen" / "playground"))

import make

CHROMIUM = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
EXAMPLES = re.findall(r'\["([^"]+)", "([^"]*)"\]', (ROOT / "gen" / "playground" / "page.html").read_text().split("const NOTATIONS")[0])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not make.compiler():
        pytest.skip("no clang with its wasm-ld")
    path = tmp_path_factory.mktemp("page") / "playground.html"
    assert make.main(str(path)) == 0
    return path


def shown(page: Path, folder: Path, a: str, b: str = "") -> str:
    """Return the page's document after its program has run."""
    if not CHROMIUM:
        pytest.skip("no chromium")
    address = f"file://{page}#" + urlencode({"a": a, **({"b": b} if b else {})})
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--dump-dom", address]
    for budget in (5000, 50000, 500000, 5000000):  # milliseconds of virtual time, which may end before the program is unpacked and compiled
        document = subprocess.run([*command, f"--virtual-time-budget={budget}"], capture_output=True, text=True, timeout=900).stdout
        if "<h2>" in document or re.search(r'role="alert">[^<]', document):
            break
    return document


def sett(*words: str) -> str:
    done = subprocess.run([str(ROOT / "build" / "sett"), *words], capture_output=True, text=True, timeout=900)
    return (done.stdout + done.stderr).rstrip("\n")


def texts(picture: str) -> "list[str]":
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]


def test_page(page: Path) -> None:
    """The page has at most 400 KB and always the same bytes, and fetches nothing."""
    text = page.read_text()
    assert len(text.encode()) <= 400 << 10
    assert not re.search(r"\bsrc=|\bhref=|@import|url\(|fetch\(", text)
    assert make.main(str(page)) == 0 and page.read_text() == text and not list(page.parent.glob("*.new"))


@pytest.mark.parametrize("a, b", EXAMPLES, ids=lambda text: text[:24])
def test_examples(page: Path, tmp_path: Path, a: str, b: str) -> None:
    """The page draws its input as `sett draw --svg` does, and each answer is the output of the command shown below it.
    """
    document = shown(page, tmp_path / "user", a, b)
    sett("draw", a, *([b] if b else []), "--svg", str(tmp_path / "x.svg"))
    picture = re.search(r"<svg.*</svg>", document, re.S)
    assert picture and texts(picture[0]) == texts((tmp_path / "x.svg").read_text()), document[-2000:]
    answers = re.findall(r"<h2>([^<]*)</h2><pre[^>]*>([^<]*)</pre><code>([^<]*)</code>", document)
    assert len(answers) >= (1 if b else 2)
    for title, answer, command in answers:
        assert html.unescape(answer) == sett(*shlex.split(html.unescape(command))[1:]).replace("\t", "\n"), title


def test_error(page: Path, tmp_path: Path) -> None:
    document = shown(page, tmp_path / "user", "f32[3,")
    said = re.search(r'<div id="error" role="alert">([^<]*)</div>', document)
    assert said and html.unescape(said[1]).split("\n") == [sett("draw", "f32[3,"), "f32[3,", " " * 6 + "^"]
