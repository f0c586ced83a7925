"""`gen run`: run a module on files that hold its parameters."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import List, Optional, Sequence

from gen import hlo, jobs, pipeline
from gen.program import build as programs
from gen.run import cost as costs, objects
from gen.run.objects import Built, compile_fusion
from gen.run.options import LONG_SECONDS, Options, launch_limit, process_limit, runner_of, seconds_of
from gen.run.process import call_harness, ending, find_device, known_cost, raise_for_start
from gen.run.sources import load
from gen.targets import RunError


def run_built(built: Built, target: str, params: Sequence[Path], results: Sequence[Path], options: Options,
              expected: float = 0) -> None:
    """Launch a program once, on files. Raise RunError with status 2 for files of wrong size, 1 for a fault, 3 if there
    is no device.

    expected: the launch's expected seconds
    """
    if built.library is None:
        compile_fusion(built, target)
    launch, process = launch_limit(target, options, expected), process_limit(options, expected)
    given = list(params)
    if "weights" in built.manifest:
        given.insert(built.manifest["weights"]["pointer"], objects.weights_file(built.manifest, built.folder))
    answer = call_harness(target, ["run", options.device, *seconds_of(launch), built.library, *given, *results], process)
    raise_for_start(answer)
    done = answer.of("result")
    if not done:
        known = known_cost(built, not runner_of(target).timed, any(e["on_host"] for e in answer.of("device")))
        raise RunError(f"{built.name}: {ending(answer, process, launch, known)}", 1)
    if done[0]["status"] != "PASS":
        raise RunError(f"{built.name}: {done[0]['reason']}", 3 if done[0]["status"] == "SKIP" else 1)


def _check_sizes(files: Sequence[Path], shapes: Sequence[hlo.Shape]) -> None:
    for path, shape in zip(files, shapes):
        try:
            length = path.stat().st_size
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}: expected the {shape.bytes} bytes of {shape.text}") from None
        if length != shape.bytes:
            raise RunError(f"{path}: expected the {shape.bytes} bytes of {shape.text}, found {length}")


def parameter_files(module: hlo.Module, folder: Path) -> List[Path]:
    """Return the files of a module's parameters: p0.bin, or p0_0.bin, p0_1.bin, .. for a tuple. If none of a tuple's
    files exist, its arrays may also be in p0.bin, p1.bin, .., numbered over all arrays.
    """
    named = [folder / f"{name}.bin" for name in hlo.parameter_names(module)]
    counted = [folder / f"p{number}.bin" for number in range(len(named))]
    is_counted = all(path.exists() for path in counted) and not any(path.exists() for path in {*named} - {*counted})
    return counted if is_counted else named


def make_folder(folder: Path) -> None:
    """Make a folder if it does not exist. Raise RunError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise RunError(f"{folder}: expected a folder, found a file of this name") from None
    except OSError as error:
        raise RunError(f"{folder}: expected a folder that can be written: {error.strerror}") from None


def run(file: str, target: str, in_dir: str, out_dir: str, options: Optional[Options] = None) -> List[Path]:
    """Run `gen run`: read p0.bin, p1.bin, .. from in_dir and write r0.bin, .. to out_dir, in the module's layouts or
    row-major.
    """
    options = options or Options()
    module = load(file, options.fill_constants, options.sizes)
    program = pipeline.with_leads(programs.program(module), options.leads)
    files = parameter_files(module, Path(in_dir))
    _check_sizes(files, [hlo.row_major(array.shape) if options.row_major else array.shape for array in program.params])
    device, emulated = find_device(target, options), not runner_of(target).timed
    if not options.row_major and hlo.layout_note(module):
        options.say(f"{file}: {hlo.layout_note(module)}: --row-major reads and writes row-major files")
    make_folder(Path(out_dir))      # before the slow work, so that an error is reported early
    with jobs.temporary_folder("sett_run_") as work:

        def relaid(path: Path, name: str, source: hlo.Shape, target: hlo.Shape) -> Path:
            if not options.row_major or hlo.is_row_major(source) and hlo.is_row_major(target):
                return path
            moved = Path(work) / name
            moved.write_bytes(hlo.relaid(path.read_bytes(), source, target))
            return moved

        given = [relaid(path, path.name, hlo.row_major(array.shape), array.shape)
                 for path, array in zip(files, program.params)]
        built = objects.build(program, Path(work) / "files", target, options, checked=False)
        cost = costs.of_program(program)
        expected = cost.launch_seconds(emulated, bool(device["on_host"]))
        if expected > LONG_SECONDS:
            options.say(f"{program.name}: {cost.text()}, about {costs.duration(expected)}")
        results = [Path(work) / f"s{number}.bin" for number in range(len(program.results))]
        run_built(built, target, given, results, options, expected)
        final = [relaid(path, f"r{number}.bin", array.shape, hlo.row_major(array.shape))
                 for number, (path, array) in enumerate(zip(results, program.results))]
        outputs = [Path(out_dir) / f"r{number}.bin" for number in range(len(final))]
        for path, output in zip(final, outputs):
            publish(path, output)
    return outputs


def publish(source: Path, target: Path) -> None:
    """Copy a file to a temporary name in the target's folder, then rename it, so that the target is never incomplete.
    """
    with jobs.naming(target), jobs.replacing(target) as name:
        shutil.copyfile(source, name)
