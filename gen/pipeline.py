"""gen build: a fusion's kernels, its C API, its scalar reference and its manifest, written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import reference
from gen.hlo import Fusion
from gen.manifest import manifest
from gen.render import ROOT, environment, program
from gen.targets import TARGETS


def files(fusion: Fusion, targets: Sequence[str], device: Optional[str] = None, excess: bool = False) -> "Tuple[Dict[str, str], Dict[str, Any]]":
    """The text of every file of a fusion by its name, and the manifest."""
    name = fusion.name
    made: Dict[str, str] = {}
    programs = [program(fusion, target, device, excess) for target in targets]
    about = manifest(fusion, programs, excess)
    for one in programs:
        made[name + one.dialect.suffix] = one.text
    by_target = {one.dialect.name: one for one in programs}
    opencl = by_target.get("opencl")
    made[f"{name}.h"] = environment().get_template("files/api.h.j2").render(
        name=name, filled=fusion.filled, guard=f"SETT_FUSION_{name.upper()}_H", aliases=about["aliases"], params=about["params"], results=about["results"], targets=list(by_target), gpus=[one.dialect for one in programs if one.dialect.headers],
        kernels=opencl.kernels if opencl else [], scratch=opencl.scratch if opencl else [],
        tables=[k.table for k in opencl.kernels if k.table] if opencl else [], source=opencl.text.splitlines() if opencl else [])
    made[f"{name}_ref.c"] = reference.reference(fusion.computation, name)
    about["files"] = {"header": f"{name}.h", "reference": f"{name}_ref.c", "bound": f"{name}_bound.c",
                      **{one.dialect.name: name + one.dialect.suffix for one in programs}}
    made[f"{name}.json"] = json.dumps(about, indent=2) + "\n"
    return made, about


def write(path: Path, text: str) -> None:
    """Whole or not at all, and only when changed."""
    if path.exists() and path.read_text() == text:
        return
    handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.parent)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def build_fusion(fusion: Fusion, out_dir: str, targets: Iterable[str], device: Optional[str] = None,
                 excess_precision: bool = False) -> Dict[str, Any]:
    """All files of one fusion, with the bound for a check; the manifest."""
    made, about = files(fusion, list(targets), device, excess_precision)
    made[f"{fusion.name}_bound.c"] = reference.bound(fusion.computation, fusion.name, excess_precision=excess_precision, flushes=any(TARGETS[target].flushes for target in about["targets"]))
    for name, text in made.items():
        write(Path(out_dir) / name, text)
    return about


def sources() -> List[Path]:
    """What generated text depends on: the generator, its templates, the headers."""
    return sorted([*ROOT.glob("gen/**/*.py"), *ROOT.glob("templates/**/*.j2"), *ROOT.glob("include/*.h"), *ROOT.glob("gen/command/*.c"), *ROOT.glob("gen/reference/*.c")])
