"""Test `gen check` on the catalogue of kernels (tests/kernels/*.hlo), and that the generated files compile."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import List, Sequence

import pytest

from drawn import device_or_skip
from gen import run
from gen.program import build
from gen.run.objects import precompiled
from gen.targets.c import INTRINSICS
from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "kernels"
LARGE = {"add_f32", "add_bf16", "gelu_bf16", "transpose_f32", "row_sum_f32"}  # the demo checks their results before it measures their time
POSITIONS = {"bf16[9,5]{1,0:T(8,128)(2,1)}": 16 * 128, "f32[9,5]{0,1:T(4,8)}": 8 * 16}    # number of positions of shapes with padding
MOVES = {"concatenate_bf16", "triangle_f32", "hash_u32", "integers_s8", "moves_u16", "finite_pred", "scalar_s64", "column_max_bf16",
         "slice_pad_add", "layouts_f32"}  # kernels whose results must equal the reference exactly
HEROES = {"column_max_bf16": "reduction", "layouts_f32": "transpose", "log_transpose_add": "loop transpose", "row_sum_f32": "reduction",
          "softmax_f32": "rows", "transpose_f32": "transpose", "update_bf16": "dynamic-update-slice", "concatenate_bf16": "concatenate",
          "slice_pad_add": "loop pad"}  # heroes (kernel emitters) on CPUs; kernels that are not listed have the hero `loop`
GPU_HEROES = {**HEROES, "moves_u16": "transpose", "softmax_f32": "rows", "log_transpose_add": "transpose", "concatenate_bf16": "loop",
              "slice_pad_add": "loop"}
NAMES = sorted(path.stem for path in CATALOGUE.glob("*.hlo"))
C_WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror"]


def files_below(folder: Path) -> "list[str]":
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def skip_without_device(done: "subprocess.CompletedProcess[str]") -> None:
    if done.returncode == 3:
        pytest.skip(done.stdout.strip() or done.stderr.strip())


@pytest.mark.peer    # only in `ninja test-peer`: in `ninja test`, all tests compile kernels with warnings as errors (conftest.py)
@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=x86-64-v3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_say_nothing(compiler: str, flags: str, tmp_path: Path) -> None:
    """If registers are narrower than vectors, compilers print no warning and no note (such as for functions that are not
    inlined).
    """
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (tmp_path / "sum.hlo").write_text("add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
                                      "ENTRY sum { x = f32[3000,64] parameter(0)\n z = f32[] constant(0)\n"
                                      " ROOT y = f32[3000] reduce(x, z), dimensions={1}, to_apply=add }\n")
    assert gen("build", tmp_path / "sum.hlo", CATALOGUE / "gelu_bf16.hlo", "-o", tmp_path, "--target", "c").returncode == 0
    assert " even_f32(" in (tmp_path / "sum.c").read_text()
    for name in ("sum", "gelu_bf16"):
        done = subprocess.run([compiler, *flags.split(), "-c", str(tmp_path / f"{name}.c"), "-o", os.devnull], capture_output=True, text=True)
        if "unknown target CPU" in done.stderr or "bad value" in done.stderr:
            pytest.skip(f"{compiler} is for another processor")
        assert done.returncode == 0 and not done.stdout + done.stderr, done.stderr


NARROW = """
less { a = f32[] parameter(0)
 ai = s32[] parameter(1)
 b = f32[] parameter(2)
 bi = s32[] parameter(3)
 c = pred[] compare(a, b), direction=GE
 v = f32[] select(c, a, b)
 i = s32[] select(c, ai, bi)
 ROOT r = (f32[], s32[]) tuple(v, i) }
ENTRY rows { x = f32[40,1000] parameter(0)
 n = s32[40,1000] iota(), iota_dimension=1
 low = f32[] constant(-inf)
 zero = s32[] constant(0)
 ROOT y = (f32[40], s32[40]) reduce(x, n, low, zero), dimensions={1}, to_apply=less }
===
ENTRY chosen { x = TYPE[70,64] parameter(0)
 y = TYPE[70,64] parameter(1)
 c = pred[70,64] compare(x, y), direction=LT
 s = TYPE[70,64] select(c, y, x)
 m = TYPE[70,64] maximum(s, x)
 t = TYPE[70,64] sign(m)
 ROOT r = (TYPE[70,64], s8[70,64]) tuple(t, converted) }
===
ENTRY moved { x = TYPE[256,384]{ROWS} parameter(0)
 ROOT y = TYPE[256,384]{1,0:T(8,128)(PACKED,1)} copy(x) }
"""


@pytest.mark.peer
@pytest.mark.parametrize("machine", ["x86-64", "x86-64-v3"])
def test_narrow_registers(machine: str, tmp_path: Path) -> None:
    """If registers are narrower than vectors, comparisons, shuffles and tiles are right, and gcc computes none of them
    element by element.
    """
    flags = (Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else "").split()
    if platform.machine() != "x86_64" or not shutil.which("gcc") or (machine == "x86-64-v3" and not {"avx2", "fma"} <= set(flags)):
        pytest.skip(f"not a processor of {machine}, or no gcc")
    rows, chosen, moved = NARROW.split("===\n")
    texts = {"rows": rows}
    for dtype, packed in (("s8", "4"), ("bf16", "2"), ("f32", "1")):
        for order, name in (("1,0", "rows"), ("0,1", "columns")):
            texts[f"moved_{dtype}_{name}"] = moved.replace("TYPE", dtype).replace("ROWS", order).replace("PACKED", packed).replace("(1,1)", "")
    for dtype in ("f32", "f64", "bf16", "s32", "s64", "s8"):
        texts[f"chosen_{dtype}"] = chosen.replace("ROOT r", "converted = s8[70,64] convert(t)\n ROOT r").replace("TYPE", dtype)
    for name, text in texts.items():
        (tmp_path / f"{name}.hlo").write_text(text)
    compiler = tmp_path / "narrow-gcc"
    compiler.write_text(f'#!/bin/sh\ncase " $* " in *" -march=native "*) set -- "$@" -march={machine};; esac\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    done = gen("check", "--target", "c", *sorted(tmp_path.glob("*.hlo")), CC=str(compiler))
    assert done.returncode == 0 and done.stdout.endswith(f"{len(texts)} files: {len(texts)} PASS\n"), done.stdout + done.stderr
    def assembly(name: str) -> str:
        built = gen("build", tmp_path / f"{name}.hlo", "-o", tmp_path, "--target", "c")
        assert built.returncode == 0, built.stderr
        made = subprocess.run(["gcc", "-O3", f"-march={machine}", "-w", "-S", "-o", "-", str(tmp_path / f"{name}.c")], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        return made.stdout

    for dtype in ("f32", "f64"):
        text = assembly(f"chosen_{dtype}")
        assert re.search(r"\tv?cmp\w+p[sd]", text) and not re.search(r"\tv?u?comis[sd]", text)
    for name in ("s8_rows", "s8_columns", "bf16_rows", "bf16_columns"):
        assert re.search(r"\tv?punpckl", assembly(f"moved_{name}")), name


def test_vectors_are_loaded_whole(tmp_path: Path) -> None:
    """gcc loads and stores 64 bytes as one register. (Moving two halves through the stack took twice as long for rows of
    1000 elements.)
    """
    if platform.machine() != "x86_64" or not shutil.which("gcc"):
        pytest.skip("SKIP: no gcc for x86-64")
    file = CATALOGUE.parent.parent / "bench" / "row_sum_1000_f32.hlo"
    built = gen("build", file, "-o", tmp_path, "--target", "c")
    assert built.returncode == 0, built.stderr
    made = subprocess.run(["gcc", "-O2", "-march=skylake-avx512", "-w", "-S", "-o", "-", str(tmp_path / f"{file.stem}.c")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert re.search(r"\tvaddps.*%zmm", made.stdout)
    assert not re.findall(r"\tvmov\w+\t%ymm\d+, 32\(", made.stdout), "halves of vectors are stored and loaded again"


def right(name: str, lines: "Sequence[str]", file: str) -> None:
    """Check that `gen check` passes a kernel of the catalogue."""
    hero = HEROES.get(name, "loop")
    assert re.fullmatch(rf"  PASS {name} {hero} (0|\S+ of the allowed error), \d+ rounds", lines[0]), lines
    assert re.match(rf"PASS {re.escape(file)} opencl 1/1 {hero} \S.*\(\d+ values compared", lines[-1]), lines
    if name in MOVES:
        assert re.search(rf" opencl 1/1 {hero} 0 \(\d+ values compared, all equal\)$", lines[-1]), lines


def test_catalogue(tmp_path: Path) -> None:
    """Every small kernel agrees with its reference."""
    device_or_skip("opencl")
    names = [name for name in NAMES if name not in LARGE]
    builts = [run.build(build.program(run.load(str(CATALOGUE / f"{name}.hlo"))), tmp_path / name, "opencl", run.Options()) for name in names]
    results = run.check_built(builts, "opencl", run.Options())
    assert [result.fusion for result in results] == names
    for name, result in zip(names, results):
        right(name, [result.line(), run.file_line(f"{name}.hlo", "opencl", [result])], f"{name}.hlo")


def test_check_leaves_nothing(tmp_path: Path) -> None:
    """`gen check` leaves no files behind."""
    (tmp_path / "temporary").mkdir()
    file = CATALOGUE / "layouts_f32.hlo"
    done = gen("check", file, "--target", "opencl", cwd=tmp_path, TMPDIR=str(tmp_path / "temporary"))
    skip_without_device(done)
    assert done.returncode == 0, done.stdout + done.stderr
    right("layouts_f32", done.stdout.splitlines(), str(file))
    assert files_below(tmp_path) == []


def test_names(tmp_path: Path) -> None:
    """The header and the manifest have the parameters' names from the text. A file name that is not a C identifier is
    changed, with a note.
    """
    text = "ENTRY e {\n  g.1 = (f32[3], f32[4]) parameter(0)\n  w = f32[5] parameter(1)\n  ROOT n = f32[5] negate(w)\n}\n"
    for name, written, said in (("2d", "k_2d", "note: 2d.hlo: written as k_2d, a name that C leaves free\n"), ("two", "two", "")):
        (tmp_path / f"{name}.hlo").write_text(text)
        done = gen("build", f"{name}.hlo", "-o", ".", "--target", "c", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
        assert [p["name"] for p in json.loads((tmp_path / f"{written}.json").read_text())["params"]] == ["g.1_0", "g.1_1", "w"]
        assert "parameter 1 (g.1_1): f32[4]{0}, 16 bytes" in (tmp_path / f"{written}.h").read_text()


@pytest.mark.peer
def test_seed_of_inputs() -> None:
    """Another seed gives other inputs: the largest errors differ, and stay within the bound."""
    answers = [gen("check", CATALOGUE / "softmax_f32.hlo", "--target", "c", "--seed", seed) for seed in (1, 1, 2, 3)]
    skip_without_device(answers[0])
    assert [a.returncode for a in answers] == [0] * 4, [a.stdout for a in answers]
    assert answers[0].stdout == answers[1].stdout
    assert len({a.stdout for a in answers}) > 1


def test_excess_precision(tmp_path: Path) -> None:
    """With --excess-precision, bf16 arithmetic is computed in f32. Its results, and integers converted from them, are
    within their bounds. Moves keep every bit.
    """
    file = tmp_path / "chain.hlo"
    file.write_text("e {\n  a = bf16[777] parameter(0)\n  b = bf16[777] parameter(1)\n  s = bf16[777] add(a, b)\n"
                    "  p = bf16[777] multiply(s, b)\n  t = bf16[777] subtract(p, a)\n"
                    "  n = s8[777] convert(t)\n  ROOT r = (bf16[777], s8[777]) tuple(t, n)\n}\n")
    for path in (file, CATALOGUE / "concatenate_bf16.hlo"):
        done = gen("check", path, "--target", "c", "--excess-precision")
        skip_without_device(done)
        assert done.returncode == 0, done.stdout + done.stderr


# ---- generated files ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    done = gen("build", CATALOGUE, "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_written_files(built: Path) -> None:
    """A build writes exactly these files for each module: kernels, C API, reference, manifest and depfile."""
    suffixes = (".c", ".cl", ".cu", ".d", ".h", ".hip", ".json", "_ref.c")
    assert files_below(built) == sorted(name + suffix for name in NAMES for suffix in suffixes)
    for name in NAMES:
        manifest = json.loads((built / f"{name}.json").read_text())
        assert manifest["name"] == name and manifest["hero"] == GPU_HEROES.get(name, "loop")
        assert sorted([*manifest["files"].values(), f"{name}.json", f"{name}.d"]) == sorted(name + suffix for suffix in suffixes)
        for entry in manifest["params"] + manifest["results"]:
            dtype, dims = re.match(r"(\w+)\[([\d,]*)\]", entry["shape"]).groups()  # type: ignore[union-attr]
            elements = math.prod(int(n) for n in dims.split(",") if n)
            width = 1 if dtype == "pred" else int(re.sub(r"\D*(\d+).*", r"\1", dtype)) // 8
            assert (entry["elements"], entry["bytes"]) == (elements, POSITIONS.get(entry["shape"], elements) * width), entry
        assert str(ROOT) not in "".join((built / f"{name}{suffix}").read_text() for suffix in suffixes if suffix != ".d")


def test_same_bytes(built: Path, tmp_path: Path) -> None:
    """The same input gives the same bytes. A file that would not change is not written again."""
    again = gen("build", CATALOGUE / "slice_pad_add.hlo", "-o", tmp_path)
    assert again.returncode == 0, again.stderr
    before = {name: ((tmp_path / name).read_bytes(), (tmp_path / name).stat().st_mtime_ns) for name in files_below(tmp_path)}
    for name, (text, _) in before.items():
        if not name.endswith(".d"):
            assert text == (built / name).read_bytes(), name
    assert gen("build", CATALOGUE / "slice_pad_add.hlo", "-o", tmp_path).returncode == 0
    assert before == {name: ((tmp_path / name).read_bytes(), (tmp_path / name).stat().st_mtime_ns) for name in files_below(tmp_path)}


@pytest.mark.parametrize("compiler, more", [("gcc", []), pytest.param("gcc", ["-DSETT_SCALAR"], marks=pytest.mark.peer),
                                            *(pytest.param("clang", more, marks=pytest.mark.peer) for more in ([], ["-DSETT_SCALAR"])), pytest.param("g++", [], marks=pytest.mark.peer)])
def test_written_c_compiles(built: Path, compiler: str, more: "List[str]") -> None:
    """The C API, the kernels in C and the reference compile with the project's warnings. Any number of them link into
    one program.
    """
    found = [name for name in (compiler, *(f"{compiler}-{version}" for version in range(19, 13, -1))) if shutil.which(name)]
    if not found:
        pytest.skip(f"no {compiler}")
    source = built / "all.c"
    source.write_text("#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n"
                      + "".join(f'#include "{name}.h"\n' for name in NAMES) + "int one;\n")
    flags = [f for f in C_WARNINGS if "std" not in f and "prototypes" not in f] + ["-x", "c++", "-std=c++17"] \
        if compiler == "g++" else C_WARNINGS
    sources = [source] if compiler == "g++" else [built / f"{name}.c" for name in NAMES] if more else [
        source, *(built / f"{name}{suffix}.c" for name in NAMES for suffix in ("", "_ref"))]
    command = [found[0], *flags, *more, "-c"]
    header = precompiled(tuple(command), INTRINSICS, 0) if compiler == "gcc" else ()
    try:
        for path in sources:
            done = subprocess.run([*command, *(header if INTRINSICS in path.read_text() else ()), str(path), "-o", os.devnull], capture_output=True, text=True)
            if "CL/cl.h" in done.stderr and "No such file" in done.stderr:
                pytest.skip("no OpenCL headers")
            assert done.returncode == 0, done.stderr
    finally:
        source.unlink()


@pytest.fixture(scope="module")
def old_compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a compiler without __builtin_shufflevector: gcc 11 or 10, otherwise cc with the builtin hidden."""
    found = [name for name in ("gcc-11", "gcc-10") if shutil.which(name)]
    if found:
        return found[0]
    compiler = tmp_path_factory.mktemp("old") / "cc"
    compiler.write_text('#!/bin/sh\nexec cc -U__has_builtin -w "$@"\n')
    compiler.chmod(0o755)
    return str(compiler)


@pytest.mark.peer
def test_without_shuffles_compiles(old_compiler: str, tmp_path: Path) -> None:
    """The catalogue, and modules that use every C template, compile without __builtin_shufflevector."""
    from test_goldens import MODULES

    files = {Path(name).name: f"{name}.hlo" for name in (*MODULES, *(f"tests/kernels/{name}" for name in NAMES))}
    done = gen("build", *files.values(), "-o", tmp_path, "--target", "c", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    sources = [path for path in sorted(tmp_path.glob("*.c")) if not path.name.endswith("_ref.c")]
    templates = {name for path in sources for name in re.findall(r"templates/kernels/(\w+)\.j2", path.read_text())}
    assert templates == {path.stem for path in (ROOT / "tests" / "goldens").glob("*.c")} - {"file_scalar_s64"}
    done = subprocess.run([old_compiler, "-std=c11", "-march=native", "-fsyntax-only", "-w", *map(str, sources)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.peer
def test_without_shuffles(old_compiler: str) -> None:
    """Without __builtin_shufflevector, the replacement gives the same values: rows, a scan, a transpose, register tiles.
    """
    files = ("tests/goldens/row_sum_8_f32", "tests/goldens/column_cummax_f32", "tests/kernels/softmax_f32", "tests/kernels/layouts_f32",
             "tests/kernels/log_transpose_add")
    done = gen("check", *(f"{file}.hlo" for file in files), "--target", "c", "--jobs", "2", CC=old_compiler)
    assert done.returncode == 0 and f"{len(files)} files: {len(files)} PASS" in done.stdout, done.stdout + done.stderr


@pytest.mark.peer
@pytest.mark.parametrize("device", ["sm_80", "sm_90"])
def test_cuda_compiles(device: str, tmp_path: Path) -> None:
    """nvcc compiles the kernels without a warning and without local memory, with 16-byte accesses where expected."""
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    for name, wide in (("add_f32", True), ("add_bf16", True), ("gelu_bf16", True), ("softmax_f32", False)):
        assert gen("build", CATALOGUE / f"{name}.hlo", "-o", tmp_path, "--target", "cuda", "--device", device).returncode == 0
        done = subprocess.run(["nvcc", f"-arch={device}", "-ptx", "-o", f"{name}.ptx", f"{name}.cu"], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
        text = (tmp_path / f"{name}.ptx").read_text()
        assert ".local" not in text, name
        if wide:
            assert re.search(r"ld\.global\S*\.v4\.\w32", text) and re.search(r"st\.global\S*\.v4\.\w32", text), name
