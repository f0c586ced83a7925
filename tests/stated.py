"""Compile many fusions into one library and run each on a file with its parameters, all in one process. The tests that
use this state the expected results, so no reference is compiled.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from drawn import device_or_skip, fusions
from gen import hlo, pipeline, run
from gen.run.objects import KernelFile, compiled_kernels
from gen.targets import c_compiler

TOGETHER = 40  # number of kernels in a GPU's language that one run of the compiler takes


def built(source: pipeline.Source, folder: Path, target: str) -> run.Built:
    """Write the files of a fusion or a program except its reference, which is not needed because the test states the
    results.
    """
    texts, about = pipeline.files(source, [run.runner_of(target).target.name])
    for name, text in texts.items():
        if not name.endswith("_ref.c"):
            pipeline.write(folder / name, text)
    return run.Built(folder, about, source)


def compiled(all_: Sequence[run.Built], folder: Path, target: str, flags: Sequence[str] = ()) -> Path:
    """Compile all fusions, whose files are in one folder, into a library and return its path. flags: more flags for the
    compiler of the kernels.
    """
    runner, threads = run.runner_of(target), os.cpu_count() or 1
    for name, text in runner.headers().items():
        pipeline.write(_made(folder / name), text)
    (folder / "glue.c").write_text(run.glue(all_, runner))
    glue_object = folder / "glue.o"
    run.call([c_compiler(), "-O1", "-std=c11", "-fPIC", "-w", "-I", str(run.HARNESS), "-I", str(folder), "-c",
              str(folder / "glue.c"), "-o", str(glue_object)], "glue.c")
    sources = [KernelFile(folder / file, False, each.manifest["targets"][runner.target.name])
               for each in all_ for file in [runner.kernels(each.name)] if file]
    if runner.headers():    # C++
        groups, sources = [sources[at:at + TOGETHER] for at in range(0, len(sources), TOGETHER)], []
        for number, group in enumerate(groups):
            path = folder / f"together{number}{group[0].path.suffix}"
            path.write_text(runner.together([source.path for source in group]))
            sources.append(group[0]._replace(path=path))
    with ThreadPoolExecutor(threads) as pool:
        objects = list(pool.map(partial(compiled_kernels, runner, folder, "", flags=flags), sources))
    library = folder / "all.so"
    run.call([runner.linker(), *flags, "-shared", "-o", str(library), str(glue_object), *objects, *runner.libraries,
              *dict.fromkeys(word for each in all_ for word in each.manifest.get("libraries", ())), "-lm"], str(library))
    return library


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def ran(library: Path, names: Sequence[str], target: str, given: Path, results: Path,
        options: run.Options) -> Dict[str, str]:
    """Run each fusion on the file of its parameters. Return the errors by the name of the fusion. After a crash a new
    process runs the remaining fusions.
    """
    wrong: Dict[str, str] = {}
    launch, process = run.launch_limit(target, options), run.process_limit(options)
    first = 0
    while first < len(names):
        answer = run.call_harness(target, ["each", options.device, *run.seconds_of(launch), library, first, given, results],
                                  process)
        run.raise_for_start(answer)
        done = answer.of("result")
        wrong.update({event["fusion"]: event["reason"] for event in done if event["status"] != "PASS"})
        first += len(done)
        if first < len(names):
            wrong[names[first]] = run.ending(answer, process, launch)
            first += 1
    return wrong


def results(cases: "Dict[str, Tuple[str, List[bytes]]]", target: str, folder: Path) -> "Dict[str, List[bytes]]":
    """Run the one fusion of each case (a module's text and the bytes of its parameters) and return its results. One
    library holds all fusions and one process runs them, because starting OpenCL takes longer than a kernel.
    """
    options, made = run.Options(), {}   # type: run.Options, Dict[str, hlo.Fusion]
    device_or_skip(target, options)
    for name, (text, params) in cases.items():
        (made[name],) = fusions(text, name)
        (folder / f"{made[name].name}.in").write_bytes(b"".join(params))
    (folder / "out").mkdir()
    library = compiled([built(fusion, folder, target) for fusion in made.values()], folder, target)
    wrong = ran(library, [fusion.name for fusion in made.values()], target, folder, folder / "out", options)
    assert not wrong, wrong
    return {name: list(_cut((folder / "out" / f"{fusion.name}.out").read_bytes(), [
        shape.bytes for _, shape, _, _ in hlo.result_leaves(fusion.computation)])) for name, fusion in made.items()}


def _cut(data: bytes, sizes: Sequence[int]) -> "Iterator[bytes]":
    for size in sizes:
        yield data[:size]
        data = data[size:]
    assert not data
