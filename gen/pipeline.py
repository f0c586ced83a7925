"""The way of a fusion from HLO text to files, a stage after the other. `gen explain` prints what each stage gives.

    read, check   gen/hlo        text -> Module -> Fusion: a graph that the generator supports
    lower         gen/lower      tiled layouts and bit widths become ops between plain arrays
    plan          gen/plan       what is one kernel: nests, in the order in which they run, with the maps of all that
                  they read and write
    choose        gen/heroes     the first hero that takes a nest, with the first of its schedules (gen/schedule) that
                  the maps allow
    emit          gen/emit       the code of a step, and the hero's record for its template
    render        gen/render.py  kernels through templates/kernels, files through templates/files
    write                        each file whole or not at all
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import bounds, heroes, reference, render
from gen.emit.helpers import Helpers
from gen.hlo import Fusion
from gen.manifest import manifest
from gen.plan.nest import Nest
from gen.plan.nests import planned
from gen.render import ROOT, Emitted, Program
from gen.schedule import Device, device_for
from gen.targets import TARGETS, Target


RECOMPUTED = 10     # times the operations of the graph above which `gen build` says so


def program(fusion: Fusion, target: str, device_name: Optional[str] = None, excess: bool = False) -> Program:
    """A fusion for one target."""
    language, device = TARGETS[target].of_file(), device_for(target, device_name)
    nests = planned(fusion, device.cpu).nests                                           # lower, plan
    emitted = emit(nests, language, device, excess)                         # choose, schedule, emit
    halves = [render.rendered(emitted, fusion, device)]
    # the same for compilers without vectors
    if language.plain and any(kernel.loop.lanes > 1 for kernel in emitted.kernels):
        halves.append(render.rendered(emit(nests, language.plain.of_file(), device.scalar(), excess), fusion, device))
    return render.program(fusion, device, halves, excess)


def emit(nests: Sequence[Nest], target: Target, device: Device, excess: bool) -> Emitted:
    """The kernels of all nests, each by the hero that takes it."""
    between = {root.buffer for nest in nests for member in nest.undivided()
               for root in member.partition.roots if root.scratch}
    context = heroes.Context(target, device, Helpers(target), excess, sorted(between), heroes.kernels)
    kernels = [kernel for nest in nests for kernel in heroes.kernels(nest, context)]
    used = {buffer for kernel in kernels for buffer in kernel.buffers}
    # a buffer that no kernel names has no bytes
    scratch = [buffer.shape if buffer in used else replace(buffer.shape, bytes=0) for buffer in context.scratch]
    return Emitted(target, context.helpers, kernels, scratch if any(shape.bytes for shape in scratch) else [])


def files(fusion: Fusion, targets: Sequence[str], device: Optional[str] = None,
          excess: bool = False) -> "Tuple[Dict[str, str], Dict[str, Any]]":
    """The text of every file of a fusion by its name, and the manifest."""
    name, programs = fusion.name, [program(fusion, target, device, excess) for target in targets]
    about = manifest(fusion, programs, excess)
    about["files"] = {"header": f"{name}.h", "reference": f"{name}_ref.c",
                      **{each.target.name: name + each.target.suffix for each in programs}}
    return {**{name + each.target.suffix: each.text for each in programs},
            f"{name}.h": render.header(fusion, about, programs),
            f"{name}_ref.c": reference.reference(fusion.computation, name),
            f"{name}.json": json.dumps(about, indent=2) + "\n"}, about


def recomputed(fusion: Fusion, targets: Sequence[str], device: Optional[str] = None) -> str:
    """A warning where a plan computes values again much more often than the graph has them, else ""."""
    storage = [planned(fusion, device_for(target, device).cpu).storage for target in targets]
    factor = max((plan.factor for plan in storage if plan), default=1.0)
    if factor <= RECOMPUTED:
        return ""
    return (f"{fusion.name}: {factor:.3g} times the operations of the graph are computed: "
            "gen explain --stage partition says why")


def build_fusion(fusion: Fusion, out_dir: str, targets: Iterable[str], device: Optional[str] = None,
                 excess_precision: bool = False) -> Dict[str, Any]:
    """All files of one fusion, with the bound for a check; the manifest."""
    texts, about = files(fusion, list(targets), device, excess_precision)
    flushes = any(TARGETS[target].flushes for target in about["targets"])
    texts[f"{fusion.name}_bound.c"] = bounds.bound(fusion.computation, fusion.name,
                                                   excess_precision=excess_precision, flushes=flushes)
    for name, text in texts.items():
        write(Path(out_dir) / name, text)
    return about


def write(path: Path, text: str) -> None:
    """Whole or not at all, and only when changed. What is no file (/dev/stdout, a link) is written to in its place."""
    if path.is_symlink() or path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text)
        return
    if path.exists() and path.read_text() == text:
        return
    try:
        handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.parent)
        try:
            with os.fdopen(handle, "w") as out:
                out.write(text)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None     # the temporary name says nothing to a user


def sources() -> List[Path]:
    """What generated text depends on: the generator, its templates, the headers."""
    return sorted([*ROOT.glob("gen/**/*.py"), *ROOT.glob("templates/**/*.j2"), *ROOT.glob("include/*.h"),
                   *ROOT.glob("gen/*/*.c*")])
