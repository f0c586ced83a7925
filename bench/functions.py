"""Measure the generated vector functions in C (functions.hlo): their maximum errors in ulp, and their times next to
those of other libraries.
    python3 bench/functions.py [--cc CC] [--flags=FLAGS] [--run EMULATOR] [--step N] [--only NAME,..] [--time]

The output has a line per function: the maximum error over every N-th float (1: all floats), and the argument with
this error. Functions of f64 and of two arguments have the same number of samples, but at most 2^26.
    --run    an emulator, if CC compiles for another machine
    --time   also prints nanoseconds per element on one core, with data in the cache: ours, libm, SLEEF and glibc's
             libmvec (if SLEEF's header and AVX-512 are available), and XLA:CPU (if jax is installed; with 2^18
             elements, the smallest arrays that hide its dispatch)
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gen.run.objects import precompiled
from gen.targets.c import INTRINSICS

NAMES = re.findall(r"^(\w+_f(?:32|64)) \{", (HERE / "functions.hlo").read_text(), re.M)


def compiled(folder: Path, names: List[str], cc: str, flags: List[str], cross: bool) -> Path:
    """Compile functions.c together with the kernels of some functions, and return the program's path."""
    generate = [sys.executable, "-m", "gen", "build", str(HERE / "functions.hlo"), "-o", str(folder), "--target", "c", "--apart"]
    subprocess.run(generate, check=True, cwd=HERE.parent)
    objects = []
    compile_ = [cc, "-std=c11", "-O2", "-w", *flags, "-c"]
    header = precompiled(tuple(compile_), INTRINSICS, 0) if not cross else ()
    for name in names:
        objects.append(str(folder / f"{name}.o"))
        command = [*compile_, *header, str(folder / f"functions_{name}.c"), "-o", objects[-1]]
        made = subprocess.run(command, capture_output=True, text=True)    # gcc prints notes on the ABI that no option disables
        if made.returncode:
            sys.exit(f"{' '.join(command)}\n{made.stderr}")
    program = folder / "functions"
    main = [cc if cross else "cc", "-std=gnu11", "-O2", "-I", str(folder), str(HERE / "functions.c"), *objects, "-o", str(program)]
    if cross:
        subprocess.run([*main, "-static", "-lm"], check=True)
        return program
    others = subprocess.run([*main, "-march=native", "-DSETT_OTHERS", "-lsleef", "-lmvec", "-lm"], capture_output=True)
    if others.returncode:
        subprocess.run([*main, "-lm"], check=True)
    return program


def of_xla(name: str) -> str:
    """Return XLA:CPU's nanoseconds per element, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})    # XLA's threads, which start later, stay on this core
    try:
        import jax
    except ImportError:
        return ""
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    function, kind = name.split("_")
    f = {"pow": jnp.power, "atan2": jnp.arctan2, "erf": jax.lax.erf, "logistic": jax.lax.logistic, "rsqrt": jax.lax.rsqrt}.get(function) \
        or getattr(jnp, function)
    x = jnp.linspace(0.5, 5, 1 << 18, dtype=kind.replace("f", "float"))
    compute, arguments, best = jax.jit(f), (x, x) if function in ("pow", "atan2") else (x,), 1.0
    for _ in range(200):
        start = time.perf_counter()
        compute(*arguments).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return f" XLA {best / x.size * 1e9:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--flags", default="-march=native")
    parser.add_argument("--run", default="")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = options.only.split(",")
        program = compiled(Path(folder), names, options.cc, options.flags.split(), bool(options.run))
        for name in names:
            words = ["time", name] if options.time else ["errors", name, "0", str(options.step)]
            line = subprocess.run([*options.run.split(), str(program), *words], check=True, capture_output=True, text=True).stdout.strip()
            print(line + (of_xla(name) if options.time else ""), flush=True)


if __name__ == "__main__":
    main()
