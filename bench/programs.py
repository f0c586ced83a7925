"""Time whole programs in C alternately with XLA:CPU, in one process. Print a row for each program, then the geometric
mean.
    python3 bench/programs.py [--json F] FILE.hlo|FOLDER ..

A folder may contain the inputs p0.bin, .. and the expected results r0.bin, .. next to its HLO text; otherwise inputs
are random. The columns of the table:
    time     time of one call of the generated function on the machine's threads
    XLA:CPU  time of one call from Python, minus the time of a call of an empty function, which is printed first
    times    XLA:CPU's time divided by ours, as the ratio of the medians
    arena    bytes of our scratch, as compiled here
    XLA      bytes of XLA's temporaries
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "gen" / "run" / "harness")]

import jax
import numpy as np
import with_xla

from gen import algebra, pipeline
from gen.hlo import Shape, is_row_major
from gen.program import build
from gen.program.ir import Program
from gen.run import bench
from gen.run.sources import load
from gen.targets.tools import c_compiler, native

TURNS, TURN = 7, 0.05  # the number of turns for each program, and the seconds of one turn
REST = 0.05  # pause in seconds before a turn: threads of the previous turn look for work for up to 10 ms before they sleep
EMPTY = "HloModule empty\nENTRY e { ROOT x = f32[] parameter(0) }\n"
NUMPY = {"pred": np.uint8, "bf16": np.uint16, "c64": np.complex64, "c128": np.complex128}


def numpy_type(shape: Shape) -> Any:
    return np.dtype(NUMPY.get(shape.dtype) or {"s": "int", "u": "uint", "f": "float"}[shape.dtype[0]] + shape.dtype[1:])


def inputs(program: Program, folder: Optional[Path]) -> List[Any]:
    """Return the parameters as row-major arrays: from the folder, or random."""
    draw, given = np.random.default_rng(1), []
    for n, array in enumerate(program.params):
        path, dtype = folder / f"p{n}.bin" if folder else Path(), numpy_type(array.shape)
        if path.is_file():
            given.append(np.fromfile(path, dtype).reshape(array.shape.dims))
        elif array.shape.dtype == "bf16":
            drawn = draw.standard_normal(array.shape.dims).astype(np.float32)
            given.append((drawn.view(np.uint32) >> 16).astype(dtype))
        elif dtype.kind in "fc":
            given.append(draw.standard_normal(array.shape.dims).astype(dtype))
        else:
            given.append(draw.integers(0, 2 if array.shape.dtype == "pred" else 7, array.shape.dims).astype(dtype))
    return given


def in_layout(array: Any, shape: Shape) -> Any:
    """Return the bytes of a row-major array, rearranged to the shape's layout."""
    return np.ascontiguousarray(array if is_row_major(shape) else array.transpose(tuple(reversed(shape.minor_to_major))))


def aligned(array: Any) -> Any:
    """Return a copy of the array at a multiple of 64 bytes. XLA aligns its arrays in this way, so that a vector is
    within one cache line.
    """
    space = np.zeros(array.nbytes + 64, np.uint8)
    at = -space.ctypes.data % 64
    moved = space[at:at + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


class Ours:
    """The generated function, compiled and loaded."""

    def __init__(self, program: Program, folder: Path, given: List[Any]) -> None:
        about = pipeline.build_all(program, str(folder), ["c"])
        library = folder / f"{program.name}.so"
        subprocess.run([c_compiler(), "-std=c11", "-O3", *native(), "-fno-math-errno", "-fPIC", "-shared", "-w", "-o",
                        str(library), str(folder / f"{program.name}.c"), *about.get("libraries", ()), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
        self.run, needed = loaded[f"{program.name}_c_run_on"], loaded[f"{program.name}_c_scratch_bytes"]
        needed.restype = ctypes.c_size_t
        self.bytes = needed()
        self.kept = [aligned(in_layout(array, of.shape)) for array, of in zip(given, program.plain_params)]
        if program.weights:
            self.kept.append(np.fromfile(folder / about["files"]["weights"], np.uint8))
        self.results = [aligned(np.zeros(max(1, array.shape.bytes), np.uint8)) for array in program.results]
        self.scratch = np.zeros(self.bytes + 128, np.uint8)
        self.params = (ctypes.c_void_p * max(1, len(self.kept)))(*(a.ctypes.data for a in self.kept))
        self.outs = (ctypes.c_void_p * max(1, len(self.results)))(*(a.ctypes.data for a in self.results))
        self.at = ctypes.c_void_p(-(-self.scratch.ctypes.data // 64) * 64)
        loaded[f"{program.name}_prepare"](None, self.at)

    def spend(self, calls: int) -> float:
        seconds = timer().spend(self.run, self.params, self.outs, self.at, ctypes.c_long(calls))
        assert seconds >= 0, "a call failed"
        return float(seconds)


@functools.lru_cache(maxsize=None)
def timer() -> Any:
    """Return a C function that calls another function repeatedly."""
    library = Path(tempfile.mkdtemp()) / "programs.so"
    subprocess.run([c_compiler(), "-O2", "-fPIC", "-shared", "-pthread", "-o", str(library),
                    str(ROOT / "bench" / "programs.c")], check=True)
    made = ctypes.CDLL(str(library))
    made.spend.restype = ctypes.c_double
    return made


class Theirs:
    """XLA:CPU's executable with its arguments."""

    def __init__(self, text: str, given: List[Any]) -> None:
        self.program, shapes, _ = with_xla.compiled(text)
        sharding = with_xla.SingleDeviceSharding(jax.devices("cpu")[0])
        formats = [with_xla.Format(with_xla.Layout(tuple(with_xla.order(shape))), sharding) for shape in shapes]
        self.given = [jax.device_put(np.array(x).view(shape.numpy_dtype()), as_)
                      for x, shape, as_ in zip(given, shapes, formats)]
        self.bytes = self.program.get_compiled_memory_stats().temp_size_in_bytes

    def call(self) -> "List[Any]":
        return [parts[0] for parts in self.program.execute_sharded(self.given).disassemble_into_single_device_arrays()]

    def spend(self, calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            last = self.call()
        jax.block_until_ready(last)
        return time.perf_counter() - begin


def often(of: Any) -> int:
    """Return the number of calls that take as long as one turn (TURN seconds)."""
    calls, seconds = 1, of.spend(1)
    seconds = min(seconds, of.spend(1))
    while seconds < TURN / 4:
        calls *= 2
        seconds = of.spend(calls)
    return max(1, int(calls * TURN / seconds))


def turns(*all_: Any) -> "List[float]":
    """Run the programs alternately. Return the median seconds of one call of each."""
    calls = [often(of) for of in all_]
    seconds: "List[List[float]]" = [[] for _ in all_]
    for _ in range(TURNS):
        for of, count, times in zip(all_, calls, seconds):
            time.sleep(REST)
            times.append(of.spend(count) / count)
    return [median(times) for times in seconds]


def wrong(ours: Ours, program: Program, folder: Optional[Path], theirs: "Optional[List[Any]]") -> str:
    """Return, as text, the maximum difference between results and expected results."""
    ours.spend(1)
    worst = 0.0
    for n, array in enumerate(program.results):
        shape, dtype = array.shape, numpy_type(array.shape)
        path = folder / f"r{n}.bin" if folder else Path()
        if path.is_file():
            wanted = np.fromfile(path, dtype).reshape(shape.dims)
        elif theirs:
            wanted = np.asarray(theirs[n]).view(dtype)
        else:
            continue
        got = ours.results[n].view(dtype)[:shape.elements]
        got = got.reshape([shape.dims[d] for d in reversed(shape.minor_to_major)]).transpose(
            np.argsort(tuple(reversed(shape.minor_to_major))).astype(int)) if shape.dims else got.reshape(())
        if dtype.kind in "fc":
            scale = float(np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1e-30))
            worst = max(worst, float(np.nanmax(np.abs(np.where(np.isfinite(wanted), got - wanted, 0)), initial=0)) / scale)
        elif (got != wanted).any():
            return f"result {n} is another"
    return f"{worst:.0e}" if worst > 1e-3 else ""


def row_of(file: Path, folder: Optional[Path], empty: float) -> "Dict[str, Any]":
    text = file.read_text()
    row: Dict[str, Any] = {"program": file.stem}
    try:
        program = build.program(load(str(file)))
        given = inputs(program, folder)
        with tempfile.TemporaryDirectory() as work:
            ours = Ours(program, Path(work), given)
            row["arena"] = ours.bytes
            try:
                theirs: Optional[Theirs] = Theirs(text, given)
            except Exception as error:  # XLA reports refusals by many kinds of exceptions
                theirs, row["reason"] = None, f"XLA: {(str(error).splitlines() or [''])[0][:80]}"
            row["differs"] = wrong(ours, program, folder, theirs.call() if theirs else None)
            if theirs:
                row["ours"], row["xla"] = turns(ours, theirs)
                row["xla"], row["temporaries"] = max(row["xla"] - empty, 1e-9), theirs.bytes
                row["times"] = row["xla"] / row["ours"]
            else:
                row["ours"], = turns(ours)
    except Exception as error:  # whatever is wrong with one program, the others are still measured
        row["reason"] = (str(error).splitlines() or [type(error).__name__])[0][:160]
    return row


def files(paths: "List[str]") -> "List[Tuple[Path, Optional[Path]]]":
    """Return the HLO texts, each with the folder of its inputs."""
    found: "List[Tuple[Path, Optional[Path]]]" = []
    for path in map(Path, paths):
        inside = sorted([*path.glob("*.hlo"), *path.glob("*/*.hlo")]) if path.is_dir() else [path]
        found += [(file, file.parent if (file.parent / "about.json").exists() else None) for file in inside]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    sys.setrecursionlimit(10000)
    jax.numpy.linalg.cholesky(np.eye(2))    # makes JAX find LAPACK's functions, which XLA then calls
    empty, = turns(Theirs(EMPTY, [np.float32(1)]))
    print(f"jax {jax.__version__}; a call of an empty function takes {bench.seconds_text(empty)}, which is taken off XLA's times")
    print("| program | ours | XLA:CPU | times | arena | XLA's |\n|---|---|---|---|---|---|", flush=True)
    rows = []
    for file, folder in files(given.files):
        rows.append(row := row_of(file, folder, empty))
        print(f"| {row['program']} | " + " | ".join([
            *(bench.seconds_text(row[k]) if k in row else "-" for k in ("ours", "xla")),
            f"{row['times']:.2f}" if "times" in row else "-", *(str(row.get(k, "-")) for k in ("arena", "temporaries"))])
            + f" | {row.get('reason', '')}{row.get('differs', '')}", flush=True)
    ahead = [row["times"] for row in rows if "times" in row]
    if ahead:
        print(f"{len(ahead)} programs, {geometric_mean(ahead):.2f} times as fast (geometric mean); below 1: "
              f"{', '.join(row['program'] for row in rows if row.get('times', 1) < 1) or 'none'}")
    if given.json:
        Path(given.json).write_text(json.dumps({"empty_s": empty, "programs": rows}, indent=1))


if __name__ == "__main__":
    algebra.call("shape", "fields", "f32[]")
    main()
