"""The CUDA text: run on the CPU beside the scalar reference (tests/cuda_on_cpu.h), and compiled by nvcc where it is found.

No GPU takes part. Every op of every type, the catalogue's small kernels and the walks with 16-byte accesses are run; nvcc then
sees the same ops and a dozen of the catalogue. Under pytest, or alone: python3 tests/test_cuda.py [NAME..]
"""

from __future__ import annotations

import atexit
import ctypes
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gen import build, dtypes, hlo, reference  # noqa: E402
from gen.dialect import CUDA  # noqa: E402

CATALOGUE = ROOT / "tests" / "kernels"
INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
TYPES = ["pred", *INTEGERS, *FLOATS]
FOLDER = Path(tempfile.mkdtemp(prefix="sett_cuda_"))
atexit.register(shutil.rmtree, FOLDER, True)

# ---- fusions -------------------------------------------------------------------------------------------------------

FLOAT_UNARY = """abs negate sign floor ceil round-nearest-even round-nearest-afz sqrt rsqrt cbrt exponential exponential-minus-one log
    log-plus-one tanh logistic sine cosine tan""".split()
FLOAT_BINARY = "add subtract multiply divide remainder maximum minimum power atan2".split()
INTEGER_UNARY = "abs negate sign not popcnt count-leading-zeros".split()
INTEGER_BINARY = """add subtract multiply divide remainder maximum minimum power and or xor shift-left shift-right-arithmetic
    shift-right-logical""".split()
PRED_BINARY = "add multiply maximum minimum and or xor".split()
DIRECTIONS = "EQ NE LT LE GT GE".split()


def bits(dtype: str) -> int:
    return 8 * dtypes.storage_bytes(dtype)


def constants(t: str) -> str:
    """Edges of a type, as the literal of an array of six."""
    if t == "pred":
        return "{true, false, false, true, true, false}"
    if t in FLOATS:
        quiet = {"f16": "0x201", "bf16": "0x43", "f32": "0x400123", "f64": "0x8000000000123"}[t]
        return "{1, -0.5, inf, -inf, nan, -nan(%s)}" % quiet
    low, high = (-(1 << (bits(t) - 1)), (1 << (bits(t) - 1)) - 1) if t.startswith("s") else (0, (1 << bits(t)) - 1)
    return "{%d, %d, 0, 1, %d, 7}" % (low, high, high // 2)


def ops(t: str) -> str:
    """Every op on type t: one fusion, one result an op."""
    shape, lines, results = f"{t}[6,40]", [], []

    def result(expression: str, of: str = shape) -> str:
        name = f"r{len(results)}"
        lines.append(f"  {name} = {of} {expression}")
        results.append((name, of))
        return name

    unary, binary = (FLOAT_UNARY, FLOAT_BINARY) if t in FLOATS else (["not"], PRED_BINARY) if t == "pred" else (INTEGER_UNARY, INTEGER_BINARY)
    for op in unary:
        if op in ("abs", "sign") and t.startswith("u"):   # XLA allows them on signed integers only
            continue
        result(f"{op}(x)")
    for op in binary:
        result(f"{op}(x, y)")
    for direction in DIRECTIONS:
        result(f"compare(x, y), direction={direction}", "pred[6,40]")
    for to in TYPES:
        result("convert(x)", f"{to}[6,40]")
    for to in TYPES:
        if bits(to) == bits(t) and "pred" not in (t, to):
            result("bitcast-convert(x)", f"{to}[6,40]")
    if t in FLOATS:
        result("compare(x, y), direction=LT, type=TOTALORDER", "pred[6,40]")
    if t in FLOATS:
        result("is-finite(x)", "pred[6,40]")
        for exponent, mantissa in ((4, 5), (5, 10), (8, 2), (11, 52)):
            result(f"reduce-precision(x), exponent_bits={exponent}, mantissa_bits={mantissa}")
    result("select(p, x, y)")
    result("clamp(y, x, z)")
    result("copy(x)")
    result("map(x, y), dimensions={0,1}, to_apply=mapped")
    if t != "pred":
        result("iota(), iota_dimension=1")
    result("broadcast(few), dimensions={0}")
    result("broadcast(one), dimensions={}")
    result("transpose(x), dimensions={1,0}", f"{t}[40,6]")
    result("reshape(x)", f"{t}[4,60]")
    result("reverse(x), dimensions={1}")
    result("slice(x), slice={[1:6:2], [3:40]}", f"{t}[3,37]")
    result("pad(x, one), padding=1_0_1x-2_3", f"{t}[12,41]")
    result("concatenate(x, y, x), dimensions={1}", f"{t}[6,120]")
    result("reduce(x, one), dimensions={1}, to_apply=combined", f"{t}[6]")
    result("reduce(x, y, one, one), dimensions={0}, to_apply=largest", f"({t}[40], {t}[40])")
    whole = "(" + ", ".join(of for _, of in results) + ")"
    both = "or" if t == "pred" else "add"
    return f"""HloModule ops_{t}
mapped {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  c = {t}[] {both}(a, b)
  ROOT d = {t}[] minimum(c, a)
}}
combined {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {both}(a, b)
}}
largest {{
  a = {t}[] parameter(0)
  i = {t}[] parameter(1)
  b = {t}[] parameter(2)
  j = {t}[] parameter(3)
  less = pred[] compare(a, b), direction=LT
  c = {t}[] select(less, b, a)
  k = {t}[] select(less, j, i)
  ROOT r = ({t}[], {t}[]) tuple(c, k)
}}
ENTRY every {{
  x = {shape} parameter(0)
  y = {shape} parameter(1)
  z = {shape} parameter(2)
  p = pred[6,40] parameter(3)
  one = {t}[] constant({'true' if t == 'pred' else 1})
  few = {t}[6] constant({constants(t)})
{chr(10).join(lines)}
  ROOT all = {whole} tuple({", ".join(name for name, _ in results)})
}}
"""


def walk(t: str, elements: int) -> str:
    """Long enough for whole words, and a step that is cut by the end where the count is odd."""
    shape = f"{t}[{elements}]"
    return (f"ENTRY walk {{\n  x = {shape} parameter(0)\n  y = {shape} parameter(1)\n  s = {shape} {'xor' if t == 'pred' else 'add'}(x, y)\n"
            f"  n = pred[{elements}] compare(x, y), direction=LT\n  ROOT r = ({shape}, pred[{elements}]) tuple(s, n)\n}}\n")


def chain(t: str) -> str:
    """a * b + c and its like: a fused multiply-add, or a missing rounding, would show."""
    s = f"{t}[4000]"
    return (f"ENTRY chain {{\n  a = {s} parameter(0)\n  b = {s} parameter(1)\n  c = {s} parameter(2)\n  p = {s} multiply(a, b)\n"
            f"  q = {s} add(p, c)\n  u = {s} subtract(c, p)\n  v = {s} divide(q, u)\n  ROOT w = {s} subtract(v, p)\n}}\n")


# ---- compiled for the CPU, and run ---------------------------------------------------------------------------------


def compiler(*names: str) -> str:
    found = next((name for name in names if name and shutil.which(name)), None)
    assert found, f"none of {', '.join(filter(None, names))}"
    return found


def call(command: "Sequence[str]", cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[:6000]}"
    return done.stdout


def written(text: str, stem: str, excess: bool = False, device: str = "sm_80") -> "Tuple[Path, List[hlo.Fusion]]":
    """A folder with the CUDA files of every fusion of a module."""
    module = hlo.parse(text, f"{stem}.hlo")
    problem = hlo.unsupported(module)
    assert problem is None, problem
    folder = Path(tempfile.mkdtemp(prefix=f"{stem}_", dir=FOLDER))
    fusions = hlo.fusions(module)
    for fusion in fusions:
        build.build_fusion(fusion, str(folder), ["cuda"], device, excess)
    return folder, fusions


def on_cpu(folder: Path, name: str, level: str = "-O0") -> ctypes.CDLL:
    """The kernels, their launches, the reference and the bound as one library."""
    for header in ("cuda_runtime.h", "cuda_fp16.h"):
        (folder / header).write_text('#include "cuda_on_cpu.h"\n')
    common = [level, "-ffp-contract=off", "-fPIC", "-I", ".", "-I", str(ROOT / "tests"), "-c"]
    cxx = compiler(os.environ.get("CXX", ""), "g++", "clang++", "c++")
    call([cxx, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", *common, f"{name}.cu", "-o", "cuda.o"], folder)
    c = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    for source in ("ref", "bound"):
        call([c, "-std=c11", "-w", *common, f"{name}_{source}.c", "-o", f"{source}.o"], folder)
    call([cxx, "-shared", "cuda.o", "ref.o", "bound.o", "-o", f"{name}.so", "-lm"], folder)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def special(t: str) -> "List[int]":
    """Bit patterns that break things."""
    width = bits(t)
    if t == "pred":
        return [0, 1]
    if t not in FLOATS:
        return [v & ((1 << width) - 1) for v in (0, 1, 2, 3, 7, width - 1, width, width + 1, -1, -2, -3, 1 << (width - 1), (1 << (width - 1)) - 1,
                                                  -(1 << (width - 2)))]
    values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 127.5, 128.0, 255.5, 32768.0, 65519.0, 65520.0, 2.0 ** 31, 2.0 ** 32, 2.0 ** 63, 2.0 ** 64, 1e-40, 5e-8,
              2.0 ** -24, 2.0 ** -25, 2.0 ** -14, 1.00390625, 1.0048828125, 3.0e38, 1e5, float("inf"), 88.7, 104.0, 1e-8, 1e300, 0.25, 10.0]
    for half in (2.0 ** -8, 2.0 ** -11):     # beside a tie of bf16, of f16: two roundings would meet it
        values += [1 + half + 2.0 ** -40, 1 + 3 * half - 2.0 ** -40]
    patterns = [dtypes.encode(v, t) for v in values] + [dtypes.quiet_nan(t)]
    return patterns + [p | 1 << (width - 1) for p in patterns]


def inputs(t: str, elements: int, draw: random.Random) -> bytes:
    """Special patterns, plain numbers and any bits at all, in that order of care."""
    size, edges = dtypes.storage_bytes(t), special(t)
    if t == "pred":
        return bytes(draw.choices((0, 1), k=elements))
    few = min(elements, 19997)   # a prime: strides do not bring back the same element
    made = bytearray()
    for _ in range(few):
        kind = draw.random()
        if kind < 0.3:
            pattern = draw.choice(edges)
        elif kind < 0.7:
            pattern = dtypes.encode(draw.uniform(-4, 4), t) if t in FLOATS else draw.randrange(-20, 20) & ((1 << bits(t)) - 1)
        else:
            pattern = draw.getrandbits(bits(t))
            if t in FLOATS and dtypes.is_nan(pattern, t):   # arithmetic may make a signalling one quiet, and a move may not
                pattern = dtypes.quiet_nan(t)
        made += pattern.to_bytes(size, "little")
    return bytes((made * (elements // max(1, few) + 1))[:elements * size])


GUARD = 64


class Buffer:
    """Bytes at a 64-byte address between two poisoned guards."""

    def __init__(self, size: int, data: "bytes | None" = None) -> None:
        self.size = size
        self._whole = ctypes.create_string_buffer(b"\xa5" * (size + 3 * GUARD), size + 3 * GUARD)
        start = ctypes.addressof(self._whole)
        self.address = (start + 2 * GUARD - 1) // GUARD * GUARD
        if data is not None:
            ctypes.memmove(self.address, data, size)

    def bytes(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def guarded(self) -> bool:
        return ctypes.string_at(self.address - GUARD, GUARD) == ctypes.string_at(self.address + self.size, GUARD) == b"\xa5" * GUARD


def pointers(buffers: "Sequence[Buffer]") -> "ctypes.Array[ctypes.c_void_p]":
    return (ctypes.c_void_p * max(1, len(buffers)))(*(b.address for b in buffers))


def differs(got: int, want: int, t: str, limit: float, bitwise: bool) -> bool:
    """Whether two bit patterns are further apart than the bound allows."""
    if got == want or limit == float("inf"):
        return False
    if bitwise:
        return True
    if t in FLOATS and (dtypes.is_nan(got, t) or dtypes.is_nan(want, t)):
        return not (dtypes.is_nan(got, t) and dtypes.is_nan(want, t))
    return not abs(dtypes.decode(got, t) - dtypes.decode(want, t)) <= limit * (1 + 1e-15)


def compare(text: str, stem: str, excess: bool = False, level: str = "-O0") -> int:
    """Runs a module's fusions through the CUDA text and through the reference; the number of elements compared."""
    folder, fusions = written(text, stem, excess)
    count = 0
    for fusion in fusions:
        library = on_cpu(folder, fusion.name, level)
        draw = random.Random(f"{stem}{fusion.name}")
        params = [Buffer(leaf.bytes, inputs(leaf.dtype, leaf.elements, draw)) for leaf in build.param_leaves(fusion)]
        leaves = [leaf for leaf, _, _ in build.result_leaves(fusion.computation)]
        given = [b.bytes() for b in params]
        got, want, limits = ([Buffer(leaf.elements * 8 if wide else leaf.bytes) for leaf in leaves] for wide in (False, False, True))
        assert getattr(library, f"{fusion.name}_ref")(pointers(params), pointers(want)) == 0
        assert getattr(library, f"{fusion.name}_bound")(pointers(params), pointers(limits)) == 0
        assert getattr(library, f"{fusion.name}_cuda")(pointers(params), pointers(got), None) == 0
        assert all(b.guarded() for b in [*params, *got]) and given == [b.bytes() for b in params], f"{fusion.name} wrote outside of its results"
        for number, (leaf, bitwise) in enumerate(zip(leaves, reference.bitwise(fusion.computation))):
            count += leaf.elements
            a, b = got[number].bytes(), want[number].bytes()
            if a == b:
                continue
            size = dtypes.storage_bytes(leaf.dtype)
            bound = (ctypes.c_double * leaf.elements).from_address(limits[number].address)
            for k in range(leaf.elements):
                x, y = (int.from_bytes(v[k * size:k * size + size], "little") for v in (a, b))
                assert not differs(x, y, leaf.dtype, bound[k], bitwise), (
                    f"{fusion.name}: result {number} ({leaf.text}) at {k}: {x:#x} ({dtypes.decode(x, leaf.dtype)}), reference {y:#x} "
                    f"({dtypes.decode(y, leaf.dtype)}), bound {bound[k]}, in {folder}")
    return count


def test_every_op_on_cpu() -> None:
    """Each op of each type agrees with the reference at the edges of its domain."""
    for t in TYPES:
        assert compare(ops(t), f"ops_{t}") > 6000


def test_chains_on_cpu() -> None:
    """No contraction, every rounding; f16 and bf16 kept wide stay within their bound."""
    for t in FLOATS:
        assert compare(chain(t), f"chain_{t}") == 4000
    for t in ("f16", "bf16"):
        assert compare(chain(t), f"wide_{t}", excess=True) == 4000


def test_walks_on_cpu() -> None:
    """16-byte accesses, a cut step at the end, and elements of unequal width."""
    for t, elements in (("f32", 1 << 18), ("bf16", (1 << 19) + 3), ("f64", (1 << 18) + 1), ("s8", 1 << 20)):
        folder, fusions = written(walk(t, elements), f"walk_{t}")
        assert "uint4 word[" in (folder / f"{fusions[0].name}.cu").read_text(), t
        assert compare(walk(t, elements), f"walk_{t}", level="-O2") == 2 * elements


def catalogue() -> "List[Path]":
    """Kernels whose buffers are small enough to compare here."""
    return [path for path in sorted(CATALOGUE.glob("*.hlo"))
            if all(leaf.elements <= 1 << 16 for f in hlo.fusions(hlo.read(str(path)))
                   for leaf in [*build.param_leaves(f), *(l for l, _, _ in build.result_leaves(f.computation))])]


def test_catalogue_on_cpu() -> None:
    names = [path.stem for path in catalogue()]
    assert len(names) >= 12, names
    for path in catalogue():
        assert compare(path.read_text(), path.stem) > 0


def test_launch_errors_on_cpu() -> None:
    """A launch that a device refuses is refused, and its code comes back."""
    folder, fusions = written(chain("f32"), "refused")
    file = folder / f"{fusions[0].name}.cu"
    file.write_text(re.sub(r"dim3\(\d+\), arguments", "dim3(2048), arguments", file.read_text()))
    library = on_cpu(folder, fusions[0].name)
    params, results = [Buffer(16000, bytes(16000)) for _ in range(3)], [Buffer(16000)]
    assert getattr(library, f"{fusions[0].name}_cuda")(pointers(params), pointers(results), None) == 9
    assert results[0].bytes() == b"\xa5" * 16000


# ---- compiled by nvcc ----------------------------------------------------------------------------------------------


def ptx(folder: Path, name: str, device: str) -> str:
    output = call(["nvcc", "-std=c++17", f"-arch={device}", "--ptx", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", f"{name}.cu",
                   "-o", f"{name}.ptx"], folder)
    assert not output.strip(), output
    return (folder / f"{name}.ptx").read_text()


def without_nvcc() -> bool:
    """Without nvcc: a skip under pytest, a line alone."""
    if shutil.which("nvcc"):
        return False
    if "pytest" in sys.modules:
        import pytest
        pytest.skip("no nvcc")
    print("SKIP nvcc: no nvcc")
    return True


def test_every_op_compiles() -> None:
    if without_nvcc():
        return
    for t in TYPES:
        folder, fusions = written(ops(t), f"ops_{t}")
        for fusion in fusions:
            ptx(folder, fusion.name, "sm_90" if t in ("bf16", "s64") else "sm_80")


VECTORS = {"add_f32": True, "add_bf16": True, "gelu_bf16": True, "log_transpose_add": False, "slice_pad_add": False, "softmax_f32": False,
           "weights_f64": False, "moves_u16": False, "convert_chain": False, "scalar_s64": False, "concatenate_bf16": False,
           "layouts_f32": False}


def test_catalogue_compiles() -> None:
    """No warning and no local memory; 16-byte accesses where neighbours are many and aligned."""
    if without_nvcc():
        return
    for number, (name, wide) in enumerate(VECTORS.items()):
        device = "sm_90" if number % 4 == 0 else "sm_80"
        folder, fusions = written((CATALOGUE / f"{name}.hlo").read_text(), name, device=device)
        for fusion in fusions:
            text = ptx(folder, fusion.name, device)
            assert ".local" not in text, name
            if wide:
                assert re.search(r"ld\.global(\.nc)?\S*\.v4\.\w32", text) and re.search(r"st\.global\S*\.v4\.\w32", text), name


def test_no_contraction() -> None:
    """nvcc fuses multiplications with additions where it may; here it may not, and quotients are rounded correctly."""
    if without_nvcc():
        return
    for t in FLOATS:
        folder, fusions = written(chain(t), f"chain_{t}")
        text = ptx(folder, fusions[0].name, "sm_80")
        assert "fma" not in text and "div.rn.f" in text and "div.full" not in text, t


def test_constant_text() -> None:
    """Infinities and NaNs are constant expressions, so that tables may hold them."""
    for pattern, t, text in ((0x7F800000, "f32", "INFINITY"), (0xFC00, "f16", "(-INFINITY)"), (0x7FC0, "bf16", "NAN"),
                             (0x7FF0 << 48, "f64", "(double)INFINITY"), (0xFFF8 << 48 | 5, "f64", '(-__builtin_nan("0x5"))'),
                             (1 << 31, "s32", "(-2147483647 - 1)"), (1 << 63, "s64", "(-9223372036854775807ll - 1)"),
                             ((1 << 64) - 1, "u64", "18446744073709551615ull"), (1, "f32", "1e-45f")):
        assert CUDA.literal(pattern, t) == text, (pattern, t, CUDA.literal(pattern, t))


if __name__ == "__main__":
    TESTS: "Dict[str, Callable[[], None]]" = {name: value for name, value in globals().items() if name.startswith("test_")}
    for title in sys.argv[1:] or TESTS:
        TESTS[title]()
        print(f"PASS {title}")
