"""Compare generated text with golden files (tests/goldens): one per template and target, and one per kind of picture. So
a change of a template or of `sett draw` shows in a golden's diff.

`ninja bless` writes the goldens again. The golden of a template is the first kernel, in the modules below, that uses
it. The goldens file_* are all files that a build writes for a fusion of one op (scalar_s64.hlo), except the reference
and the manifest.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from gen import algebra, hlo, pipeline, run
from gen.statements import printed
from gen.emit.templates import environment
from gen.heroes.kernel import Kernel
from gen.emit.helpers import Helpers
from gen.plan.nests import planned
from gen.plan.whole import Whole
from gen.schedule import DEVICES
from gen.targets import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "goldens"
DEVICES_OF_GOLDENS = ("pocl-cpu", "opencl-gpu", "cpu", "sm_80", "sm_90a", "gfx90a")
# Modules that together use every template.
MODULES = ("tests/kernels/add_f32", "tests/kernels/gelu_bf16", "tests/kernels/concatenate_bf16", "tests/kernels/row_sum_f32", "tests/kernels/column_max_bf16",
           "tests/kernels/transpose_f32", "tests/kernels/update_bf16", "bench/row_sum_32_f32", "bench/full_sum_f32", "bench/scatter_f32", "bench/transpose_10_odd_f32",
           "bench/concatenate_f32", "bench/concatenate_200_f32", "bench/tiles_bf16", "bench/column_sum_100_f32", "bench/cumsum_f32",
           *(f"tests/goldens/{module.stem}" for module in sorted(GOLDENS.glob("*.hlo"))))


# Pictures of `sett draw`, each as text and as SVG.
PICTURES = {
    "tiles": ["f32[3,5]{1,0:T(2,2)}"],
    "fragment": ["NV_MMA_SYNC_F32_16x8x16_F16.acc"],
    "swizzle": ["S<3,0,3> o 0 o (8,8):(8,1)", "(8,8):(8,1)"],
    "pages": ["2x6x3@aBc4b"],
    "schedule": ["(th_x, bl_x)[vec] -> (bl_x floordiv 2, (bl_x mod 2) * 8 + th_x * 2 + vec), domain: th_x in [0, 3], bl_x in [0, 7], vec in [0, 1]"],
    "access": ["(t, b) -> (t * 2 + b), domain: t in [0, 31], b in [0, 1]", "f32"],
}


@lru_cache(maxsize=None)
def rendered() -> "List[Tuple[str, Target, Kernel, str]]":
    """Return the kernels of all modules as (module, target, kernel, text)."""
    kernels = []
    for module in MODULES:
        for fusion in hlo.fusions(run.load(str(ROOT / f"{module}.hlo"))):
            calls = any(i.opcode == "lapack" for i in fusion.computation.instructions)
            for device in (DEVICES[name] for name in DEVICES_OF_GOLDENS):
                target = TARGETS[device.language].of_file()
                if calls and not target.has_libraries:
                    continue
                emitted = pipeline.emit(planned(fusion, device.plan_class), target, device, Helpers(target), False)
                for number, table in enumerate(kernel.table for kernel in emitted.kernels if kernel.table):
                    table.number = number
                for kernel in emitted.kernels:
                    text = environment().get_template(f"{kernel.text.template}.j2").render(d=target, kernel=kernel, t=target.index[kernel.index])
                    text = "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"
                    kernels.append((module, target, kernel, text))
    return kernels


@lru_cache(maxsize=None)
def texts() -> "Dict[str, str]":
    """Return the expected text of each golden by its name."""
    goldens: "Dict[str, str]" = {}
    for module, target, kernel, text in rendered():
        goldens.setdefault(f"{Path(kernel.text.template).name}{target.suffix}", f"// {module}.hlo: {kernel.loop.text()}\n{text}")
    files, _ = pipeline.files(hlo.fusions(run.load(str(ROOT / "tests" / "kernels" / "scalar_s64.hlo")))[0], list(TARGETS))
    for name, words in PICTURES.items():
        goldens[f"draw_{name}.txt"] = algebra.call("draw", *words) + "\n"
        goldens[f"draw_{name}.svg"] = algebra.call("draw", *words, "--svg", "-") + "\n"
    goldens.update((f"file_{name}", text) for name, text in files.items() if not name.endswith(("_ref.c", ".json")))
    return goldens


def templates() -> "set[str]":
    return {path.stem for path in (ROOT / "templates" / "kernels").glob("*.j2")}


def test_every_template_has_one() -> None:
    of_modules = {Path(name).stem for name in texts() if not name.startswith(("file_", "draw_"))}
    missing = templates() - of_modules
    assert not missing, f"{missing}: no module of MODULES takes these templates; put one into tests/goldens"
    assert not of_modules - templates()
    written = {path.name for path in GOLDENS.iterdir() if path.suffix != ".hlo"}
    assert not set(texts()) ^ written, "`ninja bless` writes goldens; those of no module are to be deleted"


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDENS.glob("*") if path.suffix != ".hlo"))
def test_golden(name: str) -> None:
    assert texts()[name] == (GOLDENS / name).read_text(), f"{name} differs: `ninja bless` where that is meant, and show the difference in the commit"


def test_every_kernel_shows_its_code() -> None:
    """For every hero, the text of a kernel contains the step that `explain --stage vectorize` prints."""
    for module, target, kernel, text in rendered():
        lines = {line.strip() for line in text.splitlines()}
        for part in kernel.scheduled if type(kernel.nest) is not Whole else ():    # ops on whole arrays have no steps
            about = f"{part.name} of {module} for {target.name}"
            assert part.report.code, about
            shown = printed([*part.report.code.before, *part.report.code.text, *part.report.code.after])
            # a sum that is accumulated in the result's buffer has no statements here
            assert (shown or getattr(part.loop, "to", 0)) and lines >= {line.strip() for line in shown}, about


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for path in GOLDENS.iterdir():
        if path.suffix != ".hlo" and path.name not in texts():
            path.unlink()
    for name, text in texts().items():
        pipeline.write(GOLDENS / name, text)
