"""Lower functions of a Python file, model.py:step, to StableHLO text, and get the values of their example."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gen import child, jobs
from gen.suggest import did_you_mean
from gen.targets import RunError

HERE = Path(__file__).resolve().parent
MISSING = 3  # exit status of this folder's processes if jax is missing
INSTALL = "python3 -m pip install jax"
_FORM = re.compile(r"(.+\.py):(\w+(?:,\w+)*)")


class Functions(NamedTuple):
    """A Python file and the names of functions in it."""

    path: str
    names: List[str]


@dataclass(frozen=True)
class Lowered:
    """A lowered function of a Python file.

    left_out: the names of arrays that the function does not use
    signature: its parameters as Python text
    kept: the indices of the arrays that it uses, among all arrays in its arguments
    returned: a Python expression that builds its result from a list r of arrays
    example: the bytes of arguments and results, if requested
    files: the files that were imported from the user's folder
    """

    name: str
    text: str
    left_out: "Sequence[str]"
    signature: "Sequence[str]"
    kept: "Sequence[int]"
    returned: str
    example: bytes
    files: "Sequence[str]"


def split_functions(file: str) -> "Optional[Functions]":
    """Split model.py:step,.. into file and names; return None for other forms."""
    match = _FORM.fullmatch(file)
    return Functions(match[1], match[2].split(",")) if match else None


def pythons() -> List[str]:
    """Return the paths of Python interpreters: this one, then those in PATH."""
    found = (shutil.which("python3", path=folder) for folder in os.get_exec_path())
    return list(dict.fromkeys([sys.executable, *(python for python in found if python)]))


def with_jax(script: str, folder: str) -> child.Done:
    """Run a script of this folder with the first Python that has jax. The exit status is MISSING if none has it."""
    done = child.Done(MISSING, "", "")
    for python in pythons():
        done = child.run([python, str(HERE / script), folder], env={**os.environ, "JAX_PLATFORMS": "cpu"})
        if done.status != MISSING:
            break
    return done


_known: "Dict[Tuple[str, str], List[Lowered]]" = {}


def lowered(file: str, sizes: "Mapping[str, Sequence[int]]", example: bool = False) -> List[Lowered]:
    """Return the functions that `file` names, for example model.py:step,loss. Raise RunError for faults of the file.

    example: also return the values of arguments and results
    sizes: the sizes that --dims gives, by name
    """
    key = file, json.dumps(sorted(sizes.items()))
    if key not in _known or example and not all(of.example for of in _known[key]):
        _known[key] = _lowered(file, sizes, example)
    return _known[key]


def _lowered(file: str, sizes: "Mapping[str, Sequence[int]]", example: bool) -> List[Lowered]:
    functions = split_functions(file)
    assert functions
    path, names = functions
    if not Path(path).is_file():
        beside = sorted(other.name for other in Path(path).parent.glob("*.py"))
        raise RunError(f"{path}: No such file or directory{did_you_mean(Path(path).name, beside)}")
    with jobs.temporary_folder("sett_jax_") as folder:
        request = {"path": path, "names": names, "sizes": {name: list(of) for name, of in sizes.items()}, "example": example}
        (Path(folder) / "request.json").write_text(json.dumps(request))
        done = with_jax("lower.py", folder)
        if done.status == MISSING:
            raise RunError(f"{file}: expected JAX, which traces the function: {INSTALL}", 3)
        answer = Path(folder) / "answer.json"
        if not answer.exists():
            last = (done.err.strip().splitlines() or [""])[-1]
            raise RunError(f"{path}: Python ended with {f'signal {-done.status}' if done.status < 0 else f'status {done.status}'}"
                           + f": {last}" * bool(last))
        about = json.loads(answer.read_text())
        _raise(path, about)
        return [_read(Path(folder), of, about["files"]) for of in about["functions"]]


def _raise(path: str, about: "Dict[str, Any]") -> None:
    """Raise the fault that the process's answer reports."""
    if "no_function" in about:
        raise RunError(f"{path}: expected a function '{about['no_function']}' in this file"
                       f"{did_you_mean(about['no_function'], about['known'])}")
    if "fault" in about:
        raise RunError(f"{path}:{about['line']}: {about['fault']}" if about["line"] else f"{path}: {about['fault']}")


def _read(folder: Path, about: "Dict[str, Any]", files: "Sequence[str]") -> Lowered:
    example = folder / f"{about['name']}.example"
    return Lowered(about["name"], (folder / f"{about['name']}.mlir").read_text(), about["left_out"], about["signature"],
                   about["kept"], about["returned"], example.read_bytes() if example.exists() else b"", files)


_PLACE = re.compile(r'"([^"]+)":(\d+):\d+')
_REFERENCE = re.compile(r"#loc\d*\b")


def line_in(path: str, text: str, line: int) -> "Optional[int]":
    """Return the line of the Python file from which a line of lowered text comes; None if that line has
    no location in the file.
    """
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return None
    aliases = dict(of.split(" = ", 1) for of in lines if of.startswith("#loc") and " = " in of)
    waiting: List[str] = [lines[line - 1].rpartition("loc(")[2]]
    seen: "set[str]" = set()
    while waiting:
        place = waiting.pop()
        for file, number in _PLACE.findall(place):
            if os.path.abspath(file) == os.path.abspath(path):
                return int(number)
        references = [name for name in _REFERENCE.findall(place) if name not in seen]
        seen.update(references)
        waiting += [aliases[name] for name in reversed(references) if name in aliases]
    return None
