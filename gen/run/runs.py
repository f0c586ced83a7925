"""A module's steps on files of its parameters."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from gen import algebra, hlo, jobs
from gen.hlo import dtypes
from gen.run import cost as costs, objects
from gen.run.objects import BITS_AND_KIND, Built, compile_fusion, load
from gen.run.options import LONG_SECONDS, Options, launch_limit, process_limit, runner_of, seconds_of
from gen.run.process import call_harness, ending, find_device, known_cost, raise_for_start
from gen.targets import RunError


def run_built(built: Built, target: str, params: Sequence[Path], results: Sequence[Path], options: Options,
              expected: float = 0) -> None:
    """One launch on files. expected: its seconds. RunError: wrong sizes (2), a fault (1), no device (3)."""
    if built.library is None:
        compile_fusion(built, target)
    launch, process = launch_limit(target, options, expected), process_limit(options, expected)
    answer = call_harness(target, ["run", options.device, *seconds_of(launch), built.library, *params, *results], process)
    raise_for_start(answer)
    done = answer.of("result")
    if not done:
        known = known_cost(built, not runner_of(target).timed, any(e["on_host"] for e in answer.of("device")))
        raise RunError(f"{built.name}: {ending(answer, process, launch, known)}", 1)
    if done[0]["status"] != "PASS":
        raise RunError(f"{built.name}: {done[0]['reason']}", 3 if done[0]["status"] == "SKIP" else 1)


def _check_sizes(files: Sequence[Path], shapes: Sequence[Any]) -> None:
    for path, shape in zip(files, shapes):
        try:
            length = path.stat().st_size
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}: expected the {shape.bytes} bytes of {shape.text}") from None
        if length != shape.bytes:
            raise RunError(f"{path}: expected the {shape.bytes} bytes of {shape.text}, found {length}")


def constant_bytes(shape: Any, literal: Sequence[int]) -> bytes:
    """The buffer of a constant: bit patterns in logical order, put where the shape's layout has them; padding is
    zero."""
    bits, _ = BITS_AND_KIND[shape.dtype]
    if shape.tiled and (bits < 8 or shape.bytes % (bits // 8)):
        raise RunError(f"a constant {shape.text} as an operand of a fusion cannot be written yet")
    per, plain = dtypes.per_byte(shape.dtype), tuple(reversed(range(len(shape.dims))))
    patterns = list(literal)

    def joined(patterns: "List[int]") -> bytes:
        if per == 1:
            return b"".join(value.to_bytes(dtypes.storage_bytes(shape.dtype), "little") for value in patterns)
        return bytes(sum(value << k * bits for k, value in enumerate(patterns[i:i + per]))
                     for i in range(0, len(patterns), per))

    if tuple(shape.minor_to_major) == plain and not shape.tiled:
        return joined(patterns)
    at = [int(algebra.call("shape", "index", shape.text, ",".join(map(str, index))))
          for index in itertools.product(*map(range, shape.dims))]
    placed = dict(zip(at, patterns))
    return joined([placed.get(i, 0) for i in range(shape.bytes * per // dtypes.storage_bytes(shape.dtype) if shape.tiled
                                                   else len(patterns))])


def parameter_files(module: Any, folder: Path) -> List[Path]:
    """The files of a module's parameters: p0.bin, of a tuple p0_0.bin, p0_1.bin, ..; where there are none of a tuple's,
    but files that count all arrays, p0.bin, p1.bin, .., those."""
    named = [folder / f"{name}.bin" for name in hlo.parameter_names(module)]
    counted = [folder / f"p{number}.bin" for number in range(len(named))]
    is_counted = all(path.exists() for path in counted) and not any(path.exists() for path in {*named} - {*counted})
    return counted if is_counted else named


def run(file: str, target: str, in_dir: str, out_dir: str, options: Optional[Options] = None) -> List[Path]:
    """`gen run`: p0.bin, p1.bin, .. of in_dir through all steps of a module to r0.bin, .. of out_dir, in the layouts of
    the module or row-major."""
    options = options or Options()
    module = load(file, options.fill_constants)
    steps = hlo.steps(module)
    values = hlo.module_parameters(module)
    files = dict(zip(values, parameter_files(module, Path(in_dir))))
    _check_sizes(list(files.values()), [hlo.row_major(value.shape) if options.row_major else value.shape
                                        for value in values])
    device, emulated = find_device(target, options), not runner_of(target).timed
    if not options.row_major and hlo.layout_note(module):
        options.say(f"{file}: {hlo.layout_note(module)}: --row-major reads and writes row-major files")
    with jobs.temporary_folder("sett_run_") as work:

        def relaid(path: Path, name: str, source: Any, target: Any) -> Path:
            if not options.row_major or hlo.is_row_major(source) and hlo.is_row_major(target):
                return path
            moved = Path(work) / name
            moved.write_bytes(hlo.relaid(path.read_bytes(), source, target))
            return moved

        for value in values:
            files[value] = relaid(files[value], files[value].name, hlo.row_major(value.shape), value.shape)

        def find(value: Any) -> Path:
            if value not in files:  # a constant of the entry
                files[value] = Path(work) / f"c{len(files)}.bin"
                files[value].write_bytes(constant_bytes(value.shape, value.producer.literal))
            return files[value]

        built: Dict[str, Built] = {}
        for number, step in enumerate(steps):
            name = step.fusion.name
            if name not in built:
                built[name] = objects.build(step.fusion, Path(work) / str(number), target, options)
            results = [Path(work) / f"s{number}_{k}.bin" for k in range(len(step.results))]
            cost = costs.cost(step.fusion)
            expected = cost.launch_seconds(emulated, bool(device["on_host"]))
            if expected > LONG_SECONDS:
                options.say(f"{name}: {cost.text()}, about {costs.duration(expected)}")
            run_built(built[name], target, [find(v) for v in step.operands], results, options, expected)
            files.update(zip(step.results, results))
        final = [relaid(find(value), f"r{number}.bin", value.shape, hlo.row_major(value.shape))
                 for number, value in enumerate(hlo.module_results(module))]
        Path(out_dir).mkdir(parents=True, exist_ok=True)
        outputs = [Path(out_dir) / f"r{number}.bin" for number in range(len(final))]
        for path, output in zip(final, outputs):
            publish(path, output)
    return outputs


def publish(source: Path, target: Path) -> None:
    """Copies under a temporary name in the target's folder, then renames."""
    handle, name = tempfile.mkstemp(prefix=target.name, dir=target.parent)
    os.close(handle)
    try:
        shutil.copyfile(source, name)
        os.chmod(name, 0o644)
        os.replace(name, target)
    finally:
        if os.path.exists(name):
            os.unlink(name)
