"""Test `--profile embedded`. The result is plain C that strict compilers accept. It calls only functions of math.h and
string.h. The header states how much stack a call needs.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest

from gen import hlo, pipeline, run
from gen.plan.nest import BuildError
from gen.program import build
from gen.schedule import DEVICES, EMBEDDED
from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]
JAX = ROOT.parent / "shared" / "peer" / "jax"
OWN = [ROOT / "tests" / path for path in ("examples/controller/controller.hlo", "examples/weights/perceptron.hlo", "hlo/kalman.hlo", "kernels/softmax_f32.hlo")]
LAPACK = ROOT / "tests" / "goldens" / "schur_c64.hlo"    # calls a LAPACK library
FILES = [*OWN, *(path for folder in ("kernels", "goldens") for path in sorted((ROOT / "tests" / folder).glob("*.hlo")) if path not in (*OWN, LAPACK))]
PEERS = sorted(JAX.glob("programs/*/*.hlo")) + sorted(JAX.glob("loops/*/*.hlo"))
# The files that `ninja test` compiles. `ninja test-whole` compiles all files, `ninja test-peer` a third of the others.
SHORT = ["controller", "kalman", "softmax_f32", "topk_f32", "fft_60_c64", "cholesky_f32", "gather_f32"]
LARGE = "gelu_bf16"    # computing the results of this file takes as long as computing those of all other files
MARKED = [pytest.param(path, id=path.stem, marks=[] if path.stem in SHORT else pytest.mark.peer) for path in [*FILES, *PEERS]]

STRICT = """-std=c11 -pedantic -Wall -Wextra -Werror -Wdouble-promotion -Wfloat-conversion -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -ffreestanding""".split()
# The functions of C11 in string.h and math.h that the code may call.
STRING = "memcpy memmove memset memcmp".split()
MATH = """acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow
    sqrt erf erfc lgamma tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma""".split()


def built(path: Path, folder: Path, most_bytes: Optional[int] = None) -> str:
    """Write the files of a module for the embedded profile, without a limit on memory, and return the program's name.
    """
    program = build.program(run.load(str(path)))
    pipeline.build_all(program, str(folder), ["c"], EMBEDDED, False, most_bytes or 1 << 60)
    return program.name


def stated(folder: Path, name: str) -> int:
    found = re.search(rf"#define {name}_c_STACK_BYTES (\d+)", (folder / f"{name}.h").read_text())
    assert found
    return int(found[1])


def compiled(folder: Path, name: str, *flags: str, compiler: str = "gcc") -> Path:
    made = folder / f"{name}.o"
    done = subprocess.run([compiler, *flags, "-c", str(folder / f"{name}.c"), "-o", str(made)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return made


def stack(graph: str, name: str) -> int:
    """Return the maximum stack in bytes of a function and all that it calls, from the call graph that gcc writes with
    -fcallgraph-info=su.
    """
    sizes: Dict[str, int] = {}
    calls: Dict[str, List[str]] = {}
    for title, label in re.findall(r'node: \{ title: "([^"]+)" label: "([^"]*)"', graph):
        size = re.search(r"\\n(\d+) bytes \((static|dynamic,bounded)\)", label)
        sizes[title] = int(size[1]) if size else 0
        assert size or "bytes" not in label, label    # gcc must know a bound of every stack frame
    for caller, called in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', graph):
        calls.setdefault(caller, []).append(called)

    @functools.lru_cache(None)
    def most(function: str) -> int:
        return sizes.get(function, 0) + 8 + max((most(called) for called in calls.get(function, ())), default=0)

    return most(name)


@pytest.mark.parametrize("path", MARKED)
def test_plain(path: Path, tmp_path: Path) -> None:
    name = built(path, tmp_path)
    text, header = ((tmp_path / f"{name}{suffix}").read_text() for suffix in (".c", ".h"))
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    assert sorted(re.findall(r"#include <(.*)>", code)) == ["math.h", "stdint.h", "string.h"]
    assert not re.search(r"vector_size|__builtin|__asm__|_mm|sett_share", code + header)
    if not re.search(r"\b(f64|c128)\b", path.read_text()):
        assert "double" not in code
    undefined = subprocess.run(["nm", "-u", str(compiled(tmp_path, name, *STRICT, "-O2"))], capture_output=True, text=True, check=True).stdout
    functions = {word for word in undefined.split() if word not in ("U", "_GLOBAL_OFFSET_TABLE_")}
    assert functions <= {*STRING, *MATH, *(f"{function}f" for function in MATH)}, functions
    if shutil.which("clang"):
        compiled(tmp_path, name, *STRICT, "-Wno-unknown-pragmas", "-O2", compiler="clang")


@functools.lru_cache(maxsize=None)
def has_callgraph() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcc", "-fcallgraph-info=su", "-x", "c", "-c", "-o", "probe.o", "-"]
        return not subprocess.run(command, cwd=folder, input="", capture_output=True, text=True).returncode


@pytest.mark.parametrize("path, levels", [
    *(pytest.param(param.values[0], ("-O0", "-O2"), id=param.id, marks=param.marks) for param in MARKED),
    *(pytest.param(param.values[0], ("-O1", "-Os", "-O3"), id=f"{param.id} more", marks=pytest.mark.peer) for param in MARKED if not param.marks)])
def test_stack(path: Path, levels: "Tuple[str, ...]", tmp_path: Path) -> None:
    name = built(path, tmp_path)
    if not has_callgraph():
        pytest.skip("gcc has no -fcallgraph-info")
    for level in levels:
        compiled(tmp_path, name, "-std=c11", level, "-w", "-fcallgraph-info=su")
        needed = stack((tmp_path / f"{name}.ci").read_text(), f"{name}_c_run")
        assert 0 < needed <= stated(tmp_path, name), level


VALUES = run.Options(schedule=EMBEDDED, most_bytes=1 << 60, rounds=-6)


def of_part(part: str) -> "List[Path]":
    """Return the modules that `ninja test` runs ("sample"), or the given quarter of all other modules."""
    sample = [param.values[0] for param in MARKED if not param.marks and param.id != LARGE]
    return sample if part == "sample" else [path for path in [*FILES, *PEERS] if path not in sample][int(part)::4]


@pytest.mark.parametrize("part", ["sample", *(pytest.param(str(part), marks=pytest.mark.peer) for part in range(4))])
def test_values(part: str, tmp_path: Path) -> None:
    """The results are within the bounds of the normal profile."""
    paths = of_part(part)
    builts = [run.build(build.program(run.load(str(path))), tmp_path / str(number), "c", VALUES) for number, path in enumerate(paths)]
    results = run.check_each(builts, "c", VALUES)
    assert len(results) == len(paths)
    for path, of in zip(paths, results):
        assert of and not [result.line() for result in of if result.status != "PASS"], path


SORT = """HloModule m

less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }

ENTRY m {
  x = f32[70000] parameter(0)
  s = f32[70000] sort(x), dimensions={0}, is_stable=true, to_apply=less
  ROOT r = f32[70000] sort(s), dimensions={0}, is_stable=true, to_apply=less
}
"""


def test_limit() -> None:
    """If a program needs more memory (scratch and stack) than allowed, the error states both numbers. With exactly the
    needed memory it is built.
    """
    program = build.program(hlo.parse(SORT, "m.hlo"))
    about = pipeline.files(program, ["c"], EMBEDDED, False, 1 << 30)[1]["targets"]["c"]
    needed = about["scratch_bytes"] + about["stack_bytes"]
    assert about["stack_bytes"] >= 1024 and about["scratch_bytes"] >= 2 * 280000
    pipeline.files(program, ["c"], EMBEDDED, False, needed)
    with pytest.raises(BuildError, match=f"m: {needed} bytes are needed, {about['scratch_bytes']} of scratch and {about['stack_bytes']} of stack, where {needed - 1} are"):
        pipeline.files(program, ["c"], EMBEDDED, False, needed - 1)
    assert (needed > DEVICES[EMBEDDED].most_bytes) == bool(refusal(program))
    assert "stack_bytes" not in pipeline.files(program, ["c"], None, False, 1)[1]["targets"]["c"]  # other profiles have no limit


def test_library(tmp_path: Path) -> None:
    """Ops that only LAPACK computes are refused."""
    with pytest.raises(BuildError, match="expected no --profile embedded: .* is a routine of LAPACK"):
        built(LAPACK, tmp_path)
    with pytest.raises(BuildError, match="expected no --profile embedded"):
        pipeline.choices(build.program(run.load(str(LAPACK))), "c", EMBEDDED)


def refusal(program: build.Program) -> str:
    try:
        pipeline.files(program, ["c"], EMBEDDED)
    except BuildError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("words, status, said", [
    (["--profile", "embedded"], 0, ""), (["--profile", "embedded", "--target", "c"], 0, ""), (["--profile", "embedded", "--target", "c,opencl"], 2, "no other --target than c"),
    (["--profile", "embedded", "--device", "cpu"], 2, "expected no --device"), (["--most-bytes", "9"], 2, "expected --profile beside --most-bytes"),
    (["--profile", "small"], 2, "unknown profile 'small'"), (["--profile", "embedded", "--most-bytes", "600"], 2, "where 600 are allowed: --most-bytes N allows more")])
def test_command(words: List[str], status: int, said: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = gen("build", OWN[0], "-o", out, *words)
    assert done.returncode == status and said in done.stderr, done.stderr
    assert sorted(path.name for path in out.glob("*")) == ([] if status else [f"controller{end}" for end in (".c", ".d", ".h", ".json", "_ref.c")])
