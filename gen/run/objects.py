"""A file's fusions as files in private folders and as shared objects that the harness loads; the harness itself."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from gen import child, hlo, jobs, pipeline
from gen.hlo import dtypes, fill
from gen.run import cost as costs
from gen.run.options import MOST_ROUNDS, Options, runner_of
from gen.schedule import DEVICES
from gen.targets import RUNNERS, RunError, Runner, c_compiler

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = Path(__file__).resolve().parent / "harness"
Manifest = Dict[str, Any]


def call(command: Sequence[str], what: str) -> None:
    """Runs a compiler; its diagnostics become the error."""
    done = child.compiler(command)
    if done.status == 0:
        return
    said = done.out + done.err
    for word, missing in (item for runner in RUNNERS.values() for item in runner.missing.items()):
        if re.search(re.escape(word) + r"\b.*(No such file|not found)|cannot find " + re.escape(word), said):
            raise RunError(missing, 3)
    raise RunError(f"{what} does not compile\n{said.strip()[:4000]}", 1)


HARNESS_SOURCES = ("harness.c", "say.c", "data.c", "bench.c", "copies.c", "worker.c")


def harness(target: str) -> Path:
    """The harness that speaks to a target's runtime, compiled into build/ when missing or older than its sources."""
    runner = runner_of(target)
    output = ROOT / "build" / f"harness_{runner.harness_name}"
    sources = [str(HARNESS / name) for name in (*HARNESS_SOURCES, runner.harness_source)]
    newest = max(path.stat().st_mtime_ns for path in HARNESS.iterdir() if path.suffix in (".c", ".h", ".cu"))
    if output.exists() and output.stat().st_mtime_ns >= newest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=output.name, dir=output.parent)
    os.close(handle)
    try:
        try:
            call(runner.harness(Path(name), sources, ["-O3", "-march=native"]), "the harness")
        except RunError as error:
            if error.status == 3:
                raise
            call(runner.harness(Path(name), sources, ["-O3"]), "the harness")
        os.chmod(name, 0o755)
        os.replace(name, output)
    finally:
        if os.path.exists(name):
            os.unlink(name)
    return output


BITS_AND_KIND = {
    "pred": (8, "PRED"),
    **{f"s{b}": (b, "SINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"u{b}": (b, "UINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"f{b}": (b, "FLOAT") for b in (16, 32, 64)},
    "bf16": (16, "BFLOAT"),
    **{name: (dtypes.TABLE[name].bits, name.upper()) for name in dtypes.TABLE if re.match(r"f[48]", name)},
    "c64": (32, "FLOAT"), "c128": (64, "FLOAT"),
}


@dataclass
class Built:
    """A fusion's files, as gen build wrote them: its folder and its manifest."""

    folder: Path
    manifest: Manifest
    source: Any = None  # the Fusion it was made from
    problem: str = ""  # why there is nothing to run
    library: Optional[Path] = None

    @property
    def name(self) -> str:
        return self.manifest["name"]

    @property
    def hero(self) -> str:
        return self.manifest.get("hero", "")

    def count(self, side: str) -> int:
        return len(self.manifest[side])


def _buffer_table(name: str, entries: Sequence[Dict[str, Any]]) -> str:
    rows = []
    for entry in entries:
        if entry["dtype"] not in BITS_AND_KIND:
            raise RunError(f"the harness does not know dtype {entry['dtype']}")
        bits, kind = BITS_AND_KIND[entry["dtype"]]
        elements = entry["positions"] * (2 if dtypes.is_complex(entry["dtype"]) else 1)     # the parts, one by one
        rows.append(
            f"  {{ {entry['bytes']}u, {elements}u, {bits}, SETT_{kind}, {int(bool(entry.get('exact')))}, {entry.get('index_below', 0)}u, "
            f"{{ {', '.join(f'{n}u' for n in entry.get('distinct', [0]))} }}, {{ {', '.join(f'{n}u' for n in entry.get('sorted', [0]))} }}, "
            f"{int('varies' in entry)} }},\n"
        )
    return f"static const struct sett_buffer {name}[] = {{\n{''.join(rows) or '  { 0, 0, 8, SETT_UINT, 0, 0, { 0 }, { 0 }, 0 },' + chr(10)}}};\n"


def glue(manifest: Manifest, runner: Runner, has_reference: bool, has_bound: bool) -> str:
    """The C text that hands a fusion to the harness, with its reference and bound where these are linked to it."""
    name = manifest["name"]
    text = f'{runner.head}#include <stdlib.h>\n#include "fusion.h"\n#include "{name}.h"\n'
    if has_bound:
        text += f"int {name}_bound(const void *const *params, double *const *bounds);\n"
    text += _buffer_table("param", manifest["params"]) + _buffer_table("result", manifest["results"])
    text += runner.glue.format(name=name)
    of_result = {alias["result"]: alias["parameter"] for alias in manifest.get("aliases", ())}
    text += f"static const int alias[] = {{{', '.join(str(of_result.get(k, -1)) for k in range(max(1, len(manifest['results']))))}}};\n"
    ref, bound = f"{name}_ref" if has_reference else "0", f"{name}_bound" if has_bound else "0"
    return text + (
        f"extern const struct sett_fusion sett_entry;\nconst struct sett_fusion sett_entry = {{\n"
        f'  SETT_FUSION_ABI, "{name}", {len(manifest["params"])}, {len(manifest["results"])}, param, result, alias,\n'
        f"  {ref}, {bound}, create, program, run, release\n}};\n"
    )


LONG_SOURCE = 1 << 20  # bytes of C beyond which one long function is optimised less


def _compiled(command: Sequence[str], source: Path, alone: bool = False) -> str:
    """The object of a source. One that stands alone is kept in $SETT_OBJECTS, where that names a folder, for all of the
    same text."""
    output = Path(f"{source}.o")
    kept: Optional[Path] = None
    if alone and os.environ.get("SETT_OBJECTS"):
        kept = Path(os.environ["SETT_OBJECTS"]) / hashlib.sha256(
            "\0".join([*command, source.read_text()]).encode()).hexdigest()
        if kept.exists():
            return str(kept)
    call([*command, "-o", str(output), str(source)], source.name)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(output, f"{kept}.{os.getpid()}"), kept)
    return str(output)


SHORT_SECONDS = 0.03    # of all rounds of a reference and its bound; gcc -O2 takes longer than it would save


def _reference_level(built: Built, rounds: int) -> str:
    """The optimisation level of a reference and its bound; their values do not depend on it."""
    seconds = costs.cost(built.source).check_seconds(False) * (abs(rounds) or MOST_ROUNDS) if built.source else math.inf
    return "-O0" if seconds < SHORT_SECONDS else "-O2"


def compile_fusion(built: Built, target: str, with_reference: bool = False, rounds: int = 0) -> Path:
    """The shared object of a fusion, in its folder; with its reference and bound where it is to be compared with them
    in `rounds` rounds (0: as many as its size asks for)."""
    name, folder, runner = built.name, built.folder, runner_of(target)
    sources = [file for file in (f"{name}_ref.c", f"{name}_bound.c") if with_reference and (folder / file).exists()]
    glue_file = f"{name}_glue_{target}.c"
    (folder / glue_file).write_text(glue(built.manifest, runner, f"{name}_ref.c" in sources,
                                         f"{name}_bound.c" in sources))
    output = folder / f"{name}_{target}.so"
    command = [c_compiler(), "-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-c"]
    level = _reference_level(built, rounds) if sources else ""
    steps: List[Callable[[], str]] = [partial(_compiled, [*command, level], folder / source, True)
                                      for source in sources]
    steps.append(lambda: _compiled([*command, "-O2", "-I", str(HARNESS), "-I", str(folder)], folder / glue_file))
    for header, text in runner.headers().items():
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(text)
    kernels = runner.kernels(name)
    if kernels:
        long = (folder / kernels).stat().st_size >= LONG_SOURCE
        device = DEVICES[built.manifest["targets"][runner.target.name]["device"]]
        steps.append(lambda: _compiled(runner.compile(folder, name, long, device), folder / kernels))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            with jobs.held():   # a thread that was just started would not be waited for
                answers = pool.map(lambda step: step(), steps)
            objects = list(answers)
        except KeyboardInterrupt:
            child.end_all()
            raise
    call([runner.linker(), "-shared", "-o", str(output), *objects, *runner.libraries, "-lm"], f"{name} for {target}")
    built.library = output
    return output


def load(file: str, fill_constants: Optional[int] = None) -> Any:
    """The module of a file that the generator supports. HloError for anything else."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{file}: {getattr(error, 'strerror', None) or 'is not text'}") from None
    module = hlo.parse(text, hlo.STANDARD_INPUT if file == "-" else file)
    if fill_constants is not None:
        fill.fill_constants(module, fill_constants)
    hlo.without_single_steps(module)
    unsupported = hlo.unsupported(module) or hlo.misplaced(module)
    if unsupported:
        raise unsupported
    return module


def build(fusion: Any, folder: Path, target: str, options: Options) -> Built:
    """gen build of one fusion into a folder of its own."""
    options.step(f"generate {fusion.name} ({len(fusion.computation.instructions)} ops)")
    folder.mkdir(parents=True, exist_ok=True)
    about = pipeline.build_fusion(fusion, str(folder), [runner_of(target).target.name], options.schedule,
                                 options.excess_precision)
    manifest = about if "params" in about else about.get("manifest", about)
    if not isinstance(manifest, dict):
        manifest = json.loads(Path(manifest).read_text())
    return Built(folder, manifest, fusion)
