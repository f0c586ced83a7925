"""Check every HLO file of other projects with `gen check`: it passes, or it is one of the refused files, with a place in
the file.

This takes long, so `ninja test-peer` checks only a quarter of the files. Each of them is checked in C. The files in the
folder `fusions` are many and similar, so each of these is checked in at most one more target. All other files are
checked in every target. If a check would take too long, the kernels are only compiled, and their maps proved.

`ninja test-files` checks every file in every target (SETT_ALL). SETT_TARGET selects targets. SETT_PART=n/m selects
every m-th file, beginning with file n (counted from 0).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Sequence, Tuple
from unittest import mock

import pytest

import refused
from gen import __main__ as gen, hlo, run
from gen.plan.nest import BuildError
from gen.program import build
from gen.run import cost, proofs

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
TARGETS = os.environ.get("SETT_TARGET", "c,opencl,cuda-on-cpu").split(",")
pytestmark = pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
Answer = Tuple[int, str]


def files() -> List[Path]:
    found = sorted(p for folder in ("seeds", "hlo", "fusions") for p in (PEER / folder).rglob("*.hlo"))
    part, parts = map(int, os.environ.get("SETT_PART", "0/1").split("/"))
    return found[part::parts]


ALL = os.environ.get("SETT_ALL", "") != ""
# The limit in seconds for the expected time of a check: in general, and on a device that is emulated here.
SECONDS, PLAYED_SECONDS = (cost.MOST_SECONDS, cost.MOST_SECONDS) if ALL else (10, 2)
TOGETHER = 12  # files per process
SHARED = [target for target in TARGETS if target != "c"]


def targets(path: Path) -> List[str]:
    """Return the targets in which a file is checked."""
    if ALL or "fusions" not in path.parts:
        return TARGETS
    number = zlib.crc32(path.name.encode()) % (len(SHARED) + 1)    # some of the files run in C only
    return [target for target in TARGETS if target == "c" or target in SHARED[number:number + 1]]


def said(*words: str) -> Answer:
    """Return a command's status and its last line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = gen.main(list(words))
    return status, (out.getvalue().strip().splitlines() or [""])[-1]


def together(paths: "Sequence[Path]", target: str) -> Dict[Path, Answer]:
    """Return the exit status and the last line of `gen check` for each file. One library and one process check all
    files.
    """
    options, answers = run.Options(check_maps=proofs.check), {}     # type: run.Options, Dict[Path, Answer]
    builts: Dict[Path, run.Built] = {}
    with tempfile.TemporaryDirectory(prefix="sett_peer_") as folder:
        for number, path in enumerate(paths):
            try:
                builts[path] = run.build(build.program(run.load(str(path))), Path(folder) / str(number), target, options)
            except (hlo.HloError, BuildError) as error:
                answers[path] = 2, f"error: {error}"
        try:
            run.find_device(target, options)
            with mock.patch.object(cost, "MOST_SECONDS", SECONDS if run.runner_of(target).timed else PLAYED_SECONDS):
                results = run.check_each(list(builts.values()), target, options)
        except run.RunError as error:
            return {**answers, **{path: (error.status, error.message) for path in builts}}
    for path, of in zip(builts, results):
        answers[path] = run.EXIT_STATUS[run.overall_status(of)], run.file_line(str(path), target, of)
    return answers


def check(paths: "Sequence[Path]") -> Dict[Path, Dict[str, Answer]]:
    """Return the answer for each target in which a file is checked. `gen explain` must succeed too."""
    answers: Dict[Path, Dict[str, Answer]] = {path: {} for path in paths}
    for target in TARGETS:
        for path, answer in together([path for path in paths if target in targets(path)], target).items():
            if answer[0] == 0:
                explained = said("explain", str(path), "--target", target.split("-")[0])
                answer = answer if explained[0] == 0 else explained
            answers[path][target] = answer
    return answers


@lru_cache(maxsize=None)
def checked() -> Dict[Path, Dict[str, Answer]]:
    parts = [files()[at:at + TOGETHER] for at in range(0, len(files()), TOGETHER)]
    with ProcessPoolExecutor(os.cpu_count() or 1) as pool:
        return {path: answer for part in pool.map(check, parts) for path, answer in part.items()}


@pytest.mark.parametrize("target", TARGETS)
def test_every_file(target: str) -> None:
    answers = {path: of[target] for path, of in checked().items() if target in of}
    why: Dict[str, str] = {}
    missing: List[str] = []
    wrong: List[str] = []
    for path, (status, line) in answers.items():
        place = re.match(rf"error: {re.escape(str(path))}:\d+:\d+: (.*)", line)
        if status == 2 and place:
            why[path.stem] = refused.reason(place[1])
        elif status:
            (missing if status == 3 else wrong).append(f"{path.name}: {status}: {line}")
    assert not wrong, "\n".join(wrong)
    if len(missing) + len(why) == len(answers) and missing:
        pytest.skip(f"SKIP: {missing[0]}")
    assert not missing, "\n".join(missing)
    assert why == refused.among(answers)


@pytest.mark.parametrize("target", TARGETS)
def test_no_file_of_a_hero_is_refused(target: str) -> None:
    """The example files, and the files with which XLA tests its emitters, are not refused."""
    answers = {path: of[target] for path, of in checked().items() if "fusions" not in path.parts}
    others = [f"{path.name}: {line}" for path, (status, line) in answers.items() if status not in (0, 3)]
    assert not others, "\n".join(others)
