"""Test the command: exit statuses, the form of errors, raw buffers in and out, and the stages as text."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import random
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gen.run import bench
from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "kernels"
PEER = ROOT.parent / "shared" / "peer"


def skip_without_device(done: "subprocess.CompletedProcess[str]") -> None:
    if done.returncode == 3:
        pytest.skip(done.stderr.strip() or done.stdout.strip())


def sett(*words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    command = ROOT / "build" / "sett"
    if not command.exists():
        pytest.skip("build/sett is not built")
    return subprocess.run([str(command), *words], input=text, capture_output=True, text=True, timeout=900)


# ---- malformed input -----------------------------------------------------------------------------------------------

ADD = "HloModule m\nENTRY e {\n  a = f32[4,8] parameter(0)\n  ROOT b = f32[4,8] add(a, a)\n}\n"
MALFORMED = {
    "truncated": (ADD[:-3], "4:30: expected an instruction or '}' to close the body of 'e', found the end of the file"),
    "truncated in a name": (ADD[:ADD.index("(a, a)") - 1], "4:21: expected an opcode of HLO, found 'ad', did you mean 'pad'? (the file ends here)"),
    "jaxpr": ("{ lambda ; a:f32[4]. let b:f32[4] = add a 1.0 in (b,) }\n",
              "1:1: expected HLO text, found a jaxpr: JAX prints StableHLO text by .lower(..).as_text()"),
    "empty": ("", "1:1: expected a computation: NAME { instructions }, found the end of the file"),
    "unknown op": (ADD.replace("add(", "sum("), "4:21: expected an opcode of HLO, found 'sum'"),
    "wrong rank": (ADD.replace("ROOT b = f32[4,8]", "ROOT b = f32[32]"), "4:12: expected f32[4,8]{1,0}, the result of 'add' here, found f32[32]{0}"),
    "unknown name": (ADD.replace("(a, a)", "(a, c)"), "4:28: expected the name of an instruction defined before, found 'c'"),
    "too few operands": (ADD.replace("(a, a)", "(a)"), "4:21: add: expected 2 operands, found 1"),
    "too few constants": ("e {\n  ROOT c = f32[3] constant({1, 2})\n}\n", "2:33: expected 3 values in dimension 0 of f32[3]{0}, found 2"),
    "too many constants": ("e {\n  ROOT c = f32[3] constant({1, 2, 3, 4})\n}\n", "2:38: expected 3 values in dimension 0 of f32[3]{0}, found more"),
    "tuple index": ("e {\n  a = f32[2] parameter(0)\n  t = (f32[2]) tuple(a)\n  ROOT g = f32[2] get-tuple-element(t), index=1\n}\n",
                    "4:41: get-tuple-element: expected an index from 0 to 0 into (f32[2]{0}), found 1"),
    "cycle": ("e {\n  a = f32[2] add(b, b)\n  ROOT b = f32[2] add(a, a)\n}\n",
              "2:18: expected an operand that is defined before its use: 'b' is not (a cycle)"),
    "huge dimension": (ADD.replace("4,8", "4,1" + "0" * 30), "3:13: expected an integer that fits in 64 bits, signed, found '1" + "0" * 30 + "'"),
    "huge array": (ADD.replace("4,8", "4294967296,4294967296,4294967296"), "3:11: expected a number of elements that fits in 64 bits, found '4294967296'"),
    "parameter twice": (ADD.replace("  ROOT", "  c = f32[4,8] parameter(0)\n  ROOT"),
                        "4:26: expected a number that no other parameter of 'e' has, from 0, found 0"),
    "not text": ("\x00\x01\x7f", "1:1: expected a computation: [ENTRY] NAME { instructions }, found the character U+0000"),
    "unsupported op": ("e {\n  a = f32[4,4] parameter(0)\n  ROOT d = f32[4,4] custom-call(a), custom_call_target=\"gemm\"\n}\n",
                       "3:8: 'custom-call' calls \"gemm\", code from elsewhere; instead, write ops of HLO, or cut the module before and after it (gen/errors.md shows how in JAX)"),
    "unsupported type": (ADD.replace("f32", "f6e2m3fn"),
                         "3:3: 'parameter': expected a type of which a byte holds a whole number of elements, found 'f6e2m3fn', in f6e2m3fn[4,8]{1,0}; "
                         "instead, write f8e4m3fn, which holds its values"),
}


FEW = ("truncated", "unknown op", "huge dimension", "unsupported op")


@pytest.mark.parametrize("verb, fault", [("build", fault) for fault in MALFORMED] +
                         [(verb, fault) for verb in ("check", "run", "explain", "bench") for fault in FEW])
def test_malformed(verb: str, fault: str, tmp_path: Path) -> None:
    """The error for malformed input names file, line, column and what was expected. The exit status is 2, and no output
    files remain.
    """
    text, said = MALFORMED[fault]
    file = tmp_path / "some file.hlo"
    file.write_text(text)
    words = {"build": ["-o", "out"], "run": ["--in", ".", "--out", "out"]}.get(verb, [])
    (tmp_path / "p0.bin").write_bytes(bytes(128))
    before = sorted(tmp_path.rglob("*"))
    done = gen(verb, file, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr == f"error: {file}:{said}\n" and done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_files_that_are_not_read(tmp_path: Path) -> None:
    """If a file cannot be read, the message says what a file should be, and which name was perhaps meant. A byte order
    mark is accepted.
    """
    (tmp_path / "wide.hlo").write_text(ADD, "utf-16")
    (tmp_path / "marked.hlo").write_text(ADD, "utf-8-sig")
    for name, said in (("wide.hlo", "expected HLO text or StableHLO text in UTF-8, found other bytes: JAX prints StableHLO text by .lower(..).as_text()"),
                       ("markd.hlo", "No such file or directory, did you mean 'marked.hlo'?"), ("none/other.hlo", "No such file or directory")):
        done = gen("build", name, "-o", "out", "--target", "c", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"error: {name}: {said}\n")
    assert gen("build", "marked.hlo", "-o", "out", "--target", "c", cwd=tmp_path).returncode == 0


def python(program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True, timeout=900)


def test_the_algebra_is_compiled_when_it_is_needed(tmp_path: Path) -> None:
    """The algebra library is loaded when a file is read, not before, so help comes at once. An error while loading it is
    one line.
    """
    done = python("import gen.__main__; from gen.algebra import library; print(library._library.cache_info().currsize)")
    assert done.stdout == "0\n", done.stdout + done.stderr
    (tmp_path / "m.hlo").write_text(ADD)
    done = python("import sys, pathlib; from gen.algebra import library; library.LIBRARY = library.ROOT / 'README.md' / 'libsett.so'\n"
                  "from gen.__main__ import main; sys.exit(main(sys.argv[1:]))", "build", str(tmp_path / "m.hlo"), "-o", str(tmp_path))
    assert done.returncode == 2 and re.search(r"^error: \S+README\.md/libsett\.so cannot be written: .*; instead, run `ninja build/libsett\.so` in ", done.stderr, re.M), done.stderr
    assert "Traceback" not in done.stderr


def test_a_compiler_that_is_not_there(tmp_path: Path) -> None:
    """If the compiler in CC is missing, gen uses no other compiler."""
    done = gen("check", CATALOGUE / "scalar_s64.hlo", "--target", "c", CC=str(tmp_path / "cc"))
    assert done.returncode == 3 and f"CC: expected the name or the path of a C compiler, found '{tmp_path}/cc'" in done.stdout, done.stdout + done.stderr


def test_earlier_output_survives(tmp_path: Path) -> None:
    """A build that fails leaves the files of an earlier build."""
    file = tmp_path / "m.hlo"
    file.write_text(ADD)
    assert gen("build", file, "-o", tmp_path / "out").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    file.write_text(ADD.replace("add(", "sum("))
    assert gen("build", file, "-o", tmp_path / "out").returncode == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before and before


@pytest.mark.parametrize("words", [
    [], ["frob"], ["check"], ["check", "absent.hlo"], ["check", CATALOGUE / "scalar_s64.hlo", "--target", "vulkan"],
    ["check", CATALOGUE / "scalar_s64.hlo", "--seed", "x"], ["build", CATALOGUE / "scalar_s64.hlo"],
    ["build", CATALOGUE / "scalar_s64.hlo", "-o", "out", "--target", "opencl,vulkan"],
    ["build", CATALOGUE / "scalar_s64.hlo", "-o", "out", "--device", "abacus"],
    ["explain", CATALOGUE / "scalar_s64.hlo", "--stage", "guess"], ["bench", CATALOGUE / "scalar_s64.hlo", "--rounds", "0"],
    ["bench", "absent.hlo"], ["run", CATALOGUE / "scalar_s64.hlo"], ["build", ROOT / "templates", "-o", "out"], ["run", CATALOGUE, "--in", ".", "--out", "out"],
], ids=lambda words: " ".join(getattr(w, "stem", str(w)) for w in words) or "nothing")
def test_arguments(words: "list[object]", tmp_path: Path) -> None:
    done = gen(*words, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: "), done.stdout + done.stderr
    assert "Traceback" not in done.stderr and not list(tmp_path.iterdir())


def test_module_and_folder(tmp_path: Path) -> None:
    """`python3 -m gen` from the root and `python3 PATH/TO/gen` from anywhere are the same command."""
    file = CATALOGUE / "scalar_s64.hlo"
    module = subprocess.run([sys.executable, "-m", "gen", "explain", str(file)], cwd=ROOT, capture_output=True, text=True)
    folder = gen("explain", file, cwd=tmp_path)
    assert module.returncode == folder.returncode == 0 and module.stdout == folder.stdout and module.stdout


# ---- gen run, compared with computations in Python
# ---------------------------------------------------------------------


def run(file: Path, folder: Path, inputs: "list[bytes]", count: int, target: str = "c") -> "list[bytes]":
    """Return the results of `gen run` on raw buffers."""
    (folder / "in").mkdir()
    for number, data in enumerate(inputs):
        (folder / "in" / f"p{number}.bin").write_bytes(data)
    done = gen("run", file, "--target", target, "--in", folder / "in", "--out", folder / "out")
    skip_without_device(done)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(f"r{k}.bin" for k in range(count))
    return [(folder / "out" / f"r{k}.bin").read_bytes() for k in range(count)]


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def test_run_hash(tmp_path: Path) -> None:
    inputs = [(k * 2654435761) % 2**32 for k in range(4096)]
    (result,) = run(CATALOGUE / "hash_u32.hlo", tmp_path, [struct.pack("<4096I", *inputs)], 1, "opencl")
    expected = []
    for x in inputs:
        x = (x ^ x >> 16) * 2146121005 % 2**32
        x = (x ^ x >> 15) * 2221713035 % 2**32
        expected.append(x ^ x >> 16)
    assert list(struct.unpack("<4096I", result)) == expected


def test_run_slice_pad(tmp_path: Path) -> None:
    """A fusion with two parameters and two results reads and writes the right files."""
    draw = random.Random(5)
    a, b = ([f32(draw.uniform(-9, 9)) for _ in range(30 * 46)] for _ in range(2))
    total = [f32(x + y) for x, y in zip(a, b)]
    cut, grown = run(CATALOGUE / "slice_pad_add.hlo", tmp_path, [struct.pack("<1380f", *a), struct.pack("<1380f", *b)], 2)
    assert list(struct.unpack("<220f", cut)) == [total[i * 46 + j] for i in range(1, 30, 3) for j in range(2, 46, 2)]
    expected = [-1.0] * (33 * 93)
    for i in range(30):
        for j in range(46):  # padding=1_2x2_0_1: one row before, two after; two columns before, none after, one between columns
            expected[(i + 1) * 93 + 2 + 2 * j] = total[i * 46 + j]
    assert list(struct.unpack(f"<{33 * 93}f", grown)) == expected


def test_run_layouts(tmp_path: Path) -> None:
    """A column-major parameter is read in its own layout."""
    a = [float(k) for k in range(960)]
    b = [k * 0.5 for k in range(960)]
    (result,) = run(CATALOGUE / "layouts_f32.hlo", tmp_path, [struct.pack("<960f", *a), struct.pack("<960f", *b)], 1)
    assert list(struct.unpack("<960f", result)) == [a[i + 40 * j] + b[i * 24 + j] for i in range(40) for j in range(24)]


ROW_MAJOR = """HloModule row_major
inner {
  x = f32[3,5]{0,1} parameter(0)
  ROOT t = f32[5,3]{0,1} transpose(x), dimensions={1,0}
}
ENTRY main {
  x = f32[3,5]{0,1} parameter(0)
  y = s4[3,5]{0,1} parameter(1)
  pair = (f32[9,5]{0,1:T(4,8)}, f32[0,4]{0,1}) parameter(2)
  s = c64[2,1,3]{0,2,1} parameter(3)
  z = f32[9,5]{0,1:T(4,8)} get-tuple-element(pair), index=0
  e = f32[0,4]{0,1} get-tuple-element(pair), index=1
  t = f32[5,3]{0,1} fusion(x), kind=kLoop, calls=inner
  n = s4[3,5]{0,1} negate(y)
  d = f32[9,5]{0,1:T(4,8)} add(z, z)
  c = c64[2,1,3]{0,2,1} add(s, s)
  nd = (s4[3,5]{0,1}, f32[9,5]{0,1:T(4,8)}) tuple(n, d)
  k = s16[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}})
  ROOT r = (f32[5,3]{0,1}, (s4[3,5]{0,1}, f32[9,5]{0,1:T(4,8)}), f32[0,4]{0,1}, c64[2,1,3]{0,2,1}, s16[2,3]{0,1}, f32[3,5]{0,1}) tuple(t, nd, e, c, k, x)
}
"""


def nibbles(values: "list[int]") -> bytes:
    """Return the elements of a file of 4-bit elements: two per byte, the first in the low bits."""
    padded = [*values, 0]
    return bytes(padded[k] % 16 | padded[k + 1] % 16 << 4 for k in range(0, len(values), 2))


def test_run_row_major(tmp_path: Path) -> None:
    """With --row-major every file is row-major, whatever the array's layout: transposed, tiled, packed, complex, empty,
    in tuples, a constant, a parameter that is also a result. Without it files have the layouts of the module, and a
    note says so.
    """
    file = tmp_path / "m.hlo"
    file.write_text(ROW_MAJOR)
    x, y, z, s = [float(k) for k in range(15)], [k % 8 for k in range(15)], [k / 2 for k in range(45)], [float(k) for k in range(12)]
    inputs = [struct.pack("<15f", *x), nibbles(y), struct.pack("<45f", *z), b"", struct.pack("<12f", *s)]
    words = ["run", file, "--target", "c", "--in", tmp_path / "in", "--out", tmp_path / "out"]
    (tmp_path / "in").mkdir()
    for number, data in enumerate(inputs):
        (tmp_path / "in" / f"p{number}.bin").write_bytes(data)
    done = gen(*words, "--row-major")
    skip_without_device(done)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    results = [(tmp_path / "out" / f"r{k}.bin").read_bytes() for k in range(7)]
    assert results == [struct.pack("<15f", *(x[i * 5 + j] for j in range(5) for i in range(3))), nibbles([-v for v in y]),
                       struct.pack("<45f", *(2 * v for v in z)), b"", struct.pack("<12f", *(2 * v for v in s)),
                       struct.pack("<6h", 1, 2, 3, 4, 5, 6), inputs[0]]

    done = gen(*words)    # p2.bin has the 45 elements, but not the bytes of the tiles
    assert done.returncode == 2 and "p2.bin: expected the 512 bytes of f32[9,5]{0,1:T(4,8)}, found 180\n" in done.stderr, done.stderr
    (tmp_path / "in" / "p2.bin").write_bytes(bytes(512))
    done = gen(*words)
    assert done.returncode == 0 and done.stderr == (
        f"note: {file}: not row-major: parameter 0 f32[3,5]{{0,1}}, parameter 1 s4[3,5]{{0,1}}, parameter 2 f32[9,5]{{0,1:T(4,8)}}, "
        "parameter 4 c64[2,1,3]{0,2,1}, result 0 f32[5,3]{0,1}, result 1 s4[3,5]{0,1}, result 2 f32[9,5]{0,1:T(4,8)}, "
        "result 4 c64[2,1,3]{0,2,1}, result 5 s16[2,3]{0,1}, result 6 f32[3,5]{0,1}: --row-major reads and writes row-major files\n"), done.stderr
    first = [x[i * 3 + j] for i in range(5) for j in range(3)]    # p0.bin has x column-major, r0.bin has x's transpose column-major
    assert (tmp_path / "out" / "r0.bin").read_bytes() == struct.pack("<15f", *(first[j * 3 + i] for i in range(3) for j in range(5)))


def test_run_row_major_of_all_types(tmp_path: Path) -> None:
    """Copies from one random layout to another leave the row-major files of operand and result equal, for every type.
    """
    from gen.hlo import dtypes

    draw, lines, results, given = random.Random(7), [], [], []
    for number, name in enumerate(sorted(dtypes.SUPPORTED)):
        dims = [draw.choice([1, 2, 3, 5, 9]) for _ in range(draw.randint(2, 3))]
        dims[0] *= number % 9 != 4      # some are empty
        bits = dtypes.TABLE[name].bits
        tiles = "" if name in dtypes.PACKED or dtypes.is_complex(name) else ":T(2,4)"
        texts = []
        for tiled in ("", tiles)[::draw.choice([1, -1])]:
            order = draw.sample(range(len(dims)), len(dims))
            texts.append(f"{name}[{','.join(map(str, dims))}]{{{','.join(map(str, order))}{tiled}}}")
        lines += [f"  p{number} = {texts[0]} parameter({number})", f"  r{number} = {texts[1]} copy(p{number})"]
        results.append(texts[1])
        count = math.prod(dims)
        if name == "pred":
            data = bytes(draw.randrange(2) for _ in range(count))
        elif name in dtypes.PACKED:
            data = b"".join(sum(draw.randrange(1 << bits) << bits * k for k in range(min(8 // bits, count - first))).to_bytes(1, "little")
                            for first in range(0, count, 8 // bits))
        else:
            data = draw.randbytes(count * dtypes.storage_bytes(name))
        given.append(data)
    names = ", ".join(f"r{k}" for k in range(len(given)))
    file = tmp_path / "m.hlo"
    file.write_text("ENTRY e {\n" + "\n".join(lines) + f"\n  ROOT r = ({', '.join(results)}) tuple({names})\n}}\n")
    (tmp_path / "in").mkdir()
    for number, data in enumerate(given):
        (tmp_path / "in" / f"p{number}.bin").write_bytes(data)
    done = gen("run", file, "--target", "c", "--in", tmp_path / "in", "--out", tmp_path / "out", "--row-major")
    skip_without_device(done)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / "out" / f"r{k}.bin").read_bytes() for k in range(len(given))] == given and len(given) > 20


TUPLES = """HloModule m
ENTRY e {
  state = (s32[], (s32[2], s32[3])) parameter(0)
  last = s32[3] parameter(1)
  n = s32[] get-tuple-element(state), index=0
  rest = (s32[2], s32[3]) get-tuple-element(state), index=1
  b = s32[3] get-tuple-element(rest), index=1
  nb = s32[3] broadcast(n), dimensions={}
  s = s32[3] subtract(b, last)
  ROOT r = s32[3] multiply(s, nb)
}
"""


@pytest.mark.parametrize("names", [["p0_0", "p0_1_0", "p0_1_1", "p1"], ["p0", "p1", "p2", "p3"]])
def test_run_tuples(names: "list[str]", tmp_path: Path) -> None:
    """The file of an array in a tuple parameter is named by the array's place in the tuple (p0_1.bin) or by its number
    among all arrays (p1.bin). The error for a missing file names the place. Header and manifest name each array after
    the parameter.
    """
    file = tmp_path / "m.hlo"
    file.write_text(TUPLES)
    (tmp_path / "in").mkdir()
    values = [[5], [0, 0], [7, 8, 9], [1, 2, 4]]
    for name, numbers in zip(names, values):
        (tmp_path / "in" / f"{name}.bin").write_bytes(struct.pack(f"<{len(numbers)}i", *numbers))
    words = ["run", file, "--target", "c", "--in", tmp_path / "in", "--out", tmp_path / "out"]
    done = gen(*words)
    skip_without_device(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "r0.bin").read_bytes() == struct.pack("<3i", 30, 30, 25)
    (tmp_path / "in" / f"{names[2]}.bin").unlink()
    done = gen(*words)
    missing = "p0_1_1" if names[2] == "p0_1_1" else "p0_0"
    assert done.returncode == 2 and done.stderr.startswith(f"error: {tmp_path}/in/{missing}.bin: No such file or directory: expected the "), done.stderr
    assert gen("build", file, "-o", tmp_path, "--target", "c").returncode == 0
    assert [entry["name"] for entry in json.loads((tmp_path / "m.json").read_text())["params"]] == ["state_0", "state_1_0", "state_1_1", "last"]
    assert "parameter 2 (state_1_1): s32[3]{0}, 12 bytes" in (tmp_path / "m.h").read_text()


def test_layouts_are_said(tmp_path: Path) -> None:
    """`build` notes the arrays that are not row-major. The header and the manifest give the position of an element, with
    strides in bytes.
    """
    file = tmp_path / "m.hlo"
    file.write_text("e {\n  x = f32[4,1,6]{0,1,2} parameter(0)\n  y = s4[3,5]{0,1} parameter(1)\n  z = f32[1,6]{0,1} parameter(2)\n"
                    "  t = f32[4,1,6]{2,1,0:T(2,4)} copy(x)\n"
                    "  ROOT r = (f32[4,1,6]{0,1,2}, s4[3,5]{0,1}, f32[1,6]{0,1}, f32[4,1,6]{2,1,0:T(2,4)}) tuple(x, y, z, t)\n}\n")
    done = gen("build", file, "-o", tmp_path / "out", "--target", "c")
    assert (done.returncode, done.stderr) == (0, f"note: {file}: not row-major: parameter 0 f32[4,1,6]{{0,1,2}}, parameter 1 s4[3,5]{{0,1}}, "
                                              "result 0 f32[4,1,6]{0,1,2}, result 1 s4[3,5]{0,1}, result 3 f32[4,1,6]{2,1,0:T(2,4)}: "
                                              "the header says where each element is\n")
    (tmp_path / "many.hlo").write_text("e {" + "".join(f" x{k} = f32[2,3]{{0,1}} parameter({k})" for k in range(30)) + " ROOT r = f32[2,3]{1,0} add(x0, x29) }")
    done = gen("build", tmp_path / "many.hlo", "-o", tmp_path / "out", "--target", "c")
    assert done.stderr.endswith(", parameter 9 f32[2,3]{0,1} and 20 more: the header says where each element is\n"), done.stderr
    header = (tmp_path / "out" / "m.h").read_text()
    assert "parameter 0 (x): f32[4,1,6]{0,1,2}, 96 bytes, not row-major: [d0, d1, d2] is element d2 * 4 + d0\n" in header
    assert "parameter 2 (z): f32[1,6]{0,1}, 24 bytes\n" in header
    about = json.loads((tmp_path / "out" / "m.json").read_text())
    laid = [(entry["dims"], entry["row_major"], entry.get("strides")) for entry in [*about["params"], *about["results"]]]
    assert laid == 2 * [([4, 1, 6], False, [4, 16, 16]), ([3, 5], False, None), ([1, 6], True, [4, 4])] + [([4, 1, 6], False, None)]
    element = about["results"][3]["element"].replace("/", "//")
    for d0, d1, d2 in itertools.product(range(4), range(1), range(6)):
        assert str(eval(element)) == sett("shape", "index", "f32[4,1,6]{2,1,0:T(2,4)}", f"{d0},{d1},{d2}").stdout.strip()


def bf16_bits(value: float) -> int:
    """Round a value that is exact in f32 to the nearest bf16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def bf16_value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def test_run_bf16_rounds(tmp_path: Path) -> None:
    """(a + b) * b is rounded after the sum and after the product."""
    file = tmp_path / "rounds.hlo"
    file.write_text("e {\n  a = bf16[501] parameter(0)\n  b = bf16[501] parameter(1)\n  s = bf16[501] add(a, b)\n"
                    "  ROOT p = bf16[501] multiply(s, b)\n}\n")
    draw = random.Random(6)
    a, b = ([bf16_bits(f32(draw.uniform(-4, 4))) for _ in range(501)] for _ in range(2))
    (result,) = run(file, tmp_path, [struct.pack("<501H", *a), struct.pack("<501H", *b)], 1)
    sums = [bf16_value(bf16_bits(f32(bf16_value(x) + bf16_value(y)))) for x, y in zip(a, b)]
    assert list(struct.unpack("<501H", result)) == [bf16_bits(f32(s * bf16_value(y))) for s, y in zip(sums, b)]


def test_run_several_fusions(tmp_path: Path) -> None:
    """A module of two fusions with an op between them runs: intermediate buffers, a constant operand, a computation that
    is used twice.
    """
    file = tmp_path / "several.hlo"
    file.write_text("""HloModule several
double {
  x = s32[10] parameter(0)
  ROOT y = s32[10] add(x, x)
}
ENTRY main {
  x = s32[10] parameter(0)
  a = s32[10] fusion(x), kind=kLoop, calls=double
  k = s32[10] constant({0, 1, 2, 3, 4, 5, 6, 7, 8, -9})
  b = s32[10] subtract(k, a)
  c = s32[10] fusion(b), kind=kLoop, calls=double
  ROOT t = (s32[10], s32[10]) tuple(c, a)
}
""")
    x = [3, -1, 4, 1, -5, 9, 2, -6, 5, 2**30]
    c, a = run(file, tmp_path, [struct.pack("<10i", *x)], 2)

    def wrap(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    k = [0, 1, 2, 3, 4, 5, 6, 7, 8, -9]
    doubled = [wrap(2 * v) for v in x]
    assert list(struct.unpack("<10i", a)) == doubled
    assert list(struct.unpack("<10i", c)) == [wrap(2 * wrap(n - v)) for n, v in zip(k, doubled)]


@pytest.mark.parametrize("sizes", [[8, 7], [8, 9], [8], []], ids=["short", "long", "one missing", "all missing"])
def test_run_refuses_buffers(sizes: "list[int]", tmp_path: Path) -> None:
    for number, size in enumerate(sizes):
        (tmp_path / f"p{number}.bin").write_bytes(bytes(size))
    done = gen("run", CATALOGUE / "scalar_s64.hlo", "--in", tmp_path, "--out", tmp_path / "out")
    assert done.returncode == 2 and re.match(rf"error: .*p{max(0, len(sizes) - 1) if sizes == [8, 7] or sizes == [8, 9] else len(sizes)}\.bin: ",
                                             done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


# ---- stages as text ----------------------------------------------------------------------------------------------------

STAGES = ("parse", "program", "partition", "maps", "schedule", "flatten", "vectorize", "kernel", "arena")


def test_explain_stages() -> None:
    """`explain` prints all stages in order, each with the text that it has when it is requested alone."""
    file = CATALOGUE / "log_transpose_add.hlo"
    whole = gen("explain", file).stdout
    assert re.findall(r"^==== (\w+) ====$", whole, re.M) == list(STAGES)
    for stage in STAGES:
        alone = gen("explain", file, "--stage", stage)
        assert alone.returncode == 0 and alone.stdout in whole and alone.stdout, stage
    partition = gen("explain", file, "--stage", "partition").stdout
    assert partition.startswith("on CPUs:\nlog_transpose_add: 1 function\n") and "\non GPUs:\nlog_transpose_add: 1 function\n" in partition, partition
    assert re.findall(r"^  l: read 2 times an element, (.*?):", partition, re.M) == ["stored", "computed 2 times an element"], partition
    for stage in ("schedule", "flatten", "vectorize"):    # each heading names the target
        headings = re.findall(r"^sett_log_transpose_add(?:_part1)? for (.*?):", gen("explain", file, "--stage", stage).stdout, re.M)
        assert headings == ["sm_80, target cuda", "gfx90a, target hip", "pocl-cpu, target opencl", "cpu, target c"], stage
    steps = gen("explain", ROOT / "bench" / "add_f32.hlo", "--stage", "vectorize").stdout
    assert re.search(r"\n  unrolled \d+ times:\n    const float", steps), steps


def test_explain_numbers_arrays_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text("""less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[9] parameter(0)
  i = s32[9] iota(), iota_dimension=0
  ROOT s = (f32[9], s32[9]) sort(x, i), dimensions={0}, to_apply=less
}
""")
    done = gen("explain", tmp_path / "m.hlo", "--target", "c", "--stage", "program")
    assert re.search(r"^  s, s#2 = .*\n  return s, s#2$", done.stdout, re.M), done.stdout + done.stderr


def test_explain_draws_the_arena(tmp_path: Path) -> None:
    """`explain` shows where the arrays that are passed between launches lie in memory: as numbers, as a text picture,
    and as SVG.
    """
    file, picture = CATALOGUE / "softmax_f32.hlo", tmp_path / "a.svg"
    command = ["explain", file, "--target", "c", "--device", "cpu-scalar", "--stage", "arena"]
    done = gen(*command, "--svg", picture)
    assert done.returncode == 0 and done.stdout == gen(*command).stdout
    names = re.findall(r"^  bytes \d+ to \d+, launches \d+ to \d+: (.*)$", done.stdout, re.M)
    assert names and all(f"[{name} " in done.stdout and f">{name}: bytes " in picture.read_text() for name in names), done.stdout
    assert re.search(r"\n\d+ bytes for 2 buffers; at least \d+ are needed\n$", done.stdout), done.stdout
    for wrong in (["--target", "c,cuda"], ["--stage", "program"], [CATALOGUE / "add_f32.hlo"]):
        assert gen(*command, "--svg", picture, *wrong).returncode == 2, wrong


def test_explain_says_what_a_nest_is(tmp_path: Path) -> None:
    """`explain` names the kind of a loop nest, such as Reduction, and the side results that the nest writes in the same
    pass.
    """
    file = tmp_path / "e.hlo"
    file.write_text("add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
                    "ENTRY e {\n  x = f32[8,64] parameter(0)\n  n = f32[8,64] negate(x)\n  z = f32[] constant(0)\n"
                    "  r = f32[8] reduce(n, z), dimensions={1}, to_apply=add\n  ROOT t = (f32[8,64], f32[8]) tuple(n, r)\n}\n")
    partition = gen("explain", file, "--stage", "partition").stdout
    assert partition.startswith("e: 1 function (Reduction)\n") and "\n  side result 0: %n = f32[8,64]{1,0} negate(%x)\n" in partition, partition


REFUSED = [    # kernel, its dims in the file, dims to replace them with, device, and the lines of `explain` about heroes (kernel emitters) that refuse it
    ("softmax_f32", "5,37", "5,3", "cpu", ["rows_cpu: refused, a row of 3 is shorter than 16", *["reduction_cpu: refused, 3 contiguous elements are fewer than 64"] * 2]),
    ("softmax_f32", "5,37", "5,37", "cpu", []),
    ("softmax_f32", "5,37", "5,37", "cpu-scalar", ["rows_cpu: refused, the device has no vectors", *["reduction_cpu: refused, the device has no vectors"] * 2]),
    ("softmax_f32", "5,37", "2,2000000", "cpu", ["rows_cpu: refused, a row of 16000000 bytes is longer than 524288"]),
    ("softmax_f32", "5,37", "2,2000000", "sm_80", ["rows_gpu: refused, a row of 2000000 is longer than a block's registers hold"]),
    ("gelu_bf16", "6,512,4096", "6,512,16", "cpu", ["table: refused, 49152 elements are fewer than 1048576"]),
    ("add_f32", "", "", "cpu-scalar", []),
]


@pytest.mark.parametrize("name, dims, other, device, lines", REFUSED, ids=lambda part: str(part).replace(",", "x") if isinstance(part, str) else "")
def test_explain_says_who_refused(name: str, dims: str, other: str, device: str, lines: "list[str]", tmp_path: Path) -> None:
    """Below the hero (kernel emitter) that writes a kernel, `explain` lists each hero that refused this loop nest, with
    the reason.
    """
    file = tmp_path / f"{name}.hlo"
    text = (CATALOGUE / f"{name}.hlo").read_text()
    file.write_text(text.replace(f"[{dims}]", f"[{other}]").replace("f32[5]", f"f32[{other.split(',')[0]}]") if dims else text)
    target = {"cpu": "c", "cpu-scalar": "c", "sm_80": "cuda"}[device]
    schedule = gen("explain", file, "--stage", "schedule", "--target", target, "--device", device).stdout
    assert re.findall(r"^sett_", schedule, re.M) and re.findall(r"^  (\w+: refused, .*)", schedule, re.M) == lines, schedule


@pytest.mark.parametrize("words, said", [
    (("--target", "c", "--device", "sm_80"), "note: --device sm_80 is of cuda and not used: c is scheduled for cpu\n"), (("--target", "c", "--device", "cpu"), ""),
    (("--device", "sm_80"), "")])
def test_a_device_of_another_language(words: "tuple[str, ...]", said: str) -> None:
    """If no target uses the language of the device, a note says that the device is not used. With several targets, the
    device applies to the targets of its language.
    """
    assert gen("explain", CATALOGUE / "add_f32.hlo", "--stage", "schedule", *words).stderr == said


def test_a_device_without_vectors(tmp_path: Path) -> None:
    """For the device without vectors, no kernel uses vectors, whatever its hero."""
    names = ["softmax_f32", "row_sum_f32", "transpose_f32", "column_max_bf16"]
    gen("build", *(CATALOGUE / f"{name}.hlo" for name in names), "-o", tmp_path, "--target", "c", "--device", "cpu-scalar")
    for name in names:
        text = (tmp_path / f"{name}.c").read_text()
        assert "vector_size" not in text and "without vectors" not in text and re.search(r"\bstatic void sett_", text), text


def test_a_reader_that_has_enough() -> None:
    """`gen explain FILE | head` is not an error, although head stops reading."""
    with subprocess.Popen([sys.executable, str(ROOT / "gen"), "explain", str(CATALOGUE / "softmax_f32.hlo")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as done:
        assert done.stdout and done.stderr
        done.stdout.close()
        assert (done.wait(timeout=900), done.stderr.read()) == (0, "")


def check_flat(text: str, elements: int) -> None:
    """Check that the map's only result is a sum of variable * stride, and that it takes each value in 0 .. elements - 1
    exactly once.
    """
    expression = re.search(r"-> \((.*)\), domain", text)
    assert expression and re.fullmatch(r"[\w *+]+", expression[1]), text
    bounds = {name: (int(lo), int(hi)) for name, lo, hi in re.findall(r"(\w+) in \[(\d+), (\d+)\]", text)}
    strides = {name: int(k or 1) for name, k in re.findall(r"([a-z_]+)(?: \* (\d+))?", expression[1])}
    assert "vec" in strides, text
    count = 1
    for name, stride in sorted(strides.items(), key=lambda entry: entry[1]):
        assert bounds[name][0] == 0 and stride == count, text
        count *= bounds[name][1] + 1
    assert count == elements, text


@pytest.mark.parametrize("device", ["pocl-cpu", "sm_90"])
def test_explain_flatten(device: str) -> None:
    """In gelu, the flattened maps of the read and of the write are equal: contiguous along the vector, over exactly the
    elements of the array.
    """
    file = PEER / "seeds" / "gelu.hlo"
    words = ["--target", "cuda"] if device.startswith("sm") else []
    done = gen("explain", file if file.exists() else CATALOGUE / "gelu_bf16.hlo", "--stage", "flatten", "--device", device, *words)
    assert done.returncode == 0, done.stderr
    reads, writes = (re.findall(rf"^  {what} \w+: (.*)$", done.stdout, re.M) for what in ("read", "write"))
    assert reads and reads == writes, done.stdout
    for text in reads:
        check_flat(text, 6 * 512 * 4096)


def test_depfile(tmp_path: Path) -> None:
    """The depfile makes the first output depend on all files that were read (Ninja and CMake want no other outputs). An
    empty rule for each of these files follows. Without the empty rule, Make would stop after the file is removed.
    """
    file = tmp_path / "m.hlo"
    file.write_text(ADD)
    assert gen("build", file, "-o", tmp_path / "out", "--target", "c,cuda").returncode == 0
    first, *others = (tmp_path / "out" / "m.d").read_text().splitlines()
    target, sources = first.split(": ")
    assert target == str(tmp_path / "out" / "m.c")
    assert {str(file), str(ROOT / "gen" / "__main__.py"), str(ROOT / "templates" / "files" / "c.j2"), str(ROOT / "include" / "sett_tile.h")} <= set(sources.split())
    assert others == [f"{source}:" for source in sources.split()]


def test_library(tmp_path: Path) -> None:
    """A kernel in C works as a shared library that is used only through its symbols. Results are right for buffers
    aligned to their elements, and other buffers are an error.
    """
    (tmp_path / "m.hlo").write_text("HloModule m\nENTRY e {\n  a = f32[4,8] parameter(0)\n  s = f32[] parameter(1)\n"
                                    "  t = f32[4,8] broadcast(s), dimensions={}\n  ROOT b = f32[4,8] add(a, t)\n}\n")
    assert gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "c").returncode == 0
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "m.c", "-lm", "-o", "m.so"], cwd=tmp_path, check=True)
    run = ctypes.CDLL(str(tmp_path / "m.so")).m_c_run

    def call(*offsets: int) -> "tuple[int, list[float]]":
        memory = [(ctypes.c_char * 512)() for _ in offsets]
        places = [ctypes.addressof(m) + -ctypes.addressof(m) % 64 + offset for m, offset in zip(memory, offsets)]
        a, s, b = (ctypes.c_float * 32).from_address(places[0]), ctypes.c_float.from_address(places[1]), (ctypes.c_float * 32).from_address(places[2])
        a[:], s.value, b[:] = range(32), 5, [-1] * 32
        return run((ctypes.c_void_p * 2)(*places[:2]), (ctypes.c_void_p * 1)(places[2]), None), list(b)

    right, untouched = [k + 5 for k in range(32)], [-1] * 32
    assert call(0, 0, 0) == call(64, 4, 128) == call(12, 0, 4) == (0, right)
    assert call(18, 0, 0) == call(0, 0, 33) == call(0, 2, 0) == (1, untouched)


def test_dump(tmp_path: Path) -> None:
    """`gen build --dump` writes the output of `explain`, one file per stage, and leaves other files in the folder
    alone. The file of the first stage is a module, whose build gives the same bytes.
    """
    file = CATALOGUE / "triangle_f32.hlo"
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "notes.txt").write_text("mine")
    assert gen("build", file, "-o", tmp_path / "out", "--dump", tmp_path / "dump", "--target", "opencl").returncode == 0
    names = [f"triangle_f32.{k}_{stage}.{'txt' if k else 'hlo'}" for k, stage in enumerate(STAGES)]
    assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["notes.txt", *names]
    for stage, name in zip(STAGES, names):
        assert (tmp_path / "dump" / name).read_text() == gen("explain", file, "--stage", stage, "--target", "opencl").stdout != "", stage
    again = tmp_path / "again" / "triangle_f32.hlo"
    again.parent.mkdir()
    again.write_text((tmp_path / "dump" / names[0]).read_text())
    assert gen("build", again, "-o", tmp_path / "second", "--target", "opencl").returncode == 0
    for path in (tmp_path / "out").iterdir():
        if path.suffix != ".d":
            assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_dump_of_nothing(tmp_path: Path) -> None:
    """If a build fails, neither the output folder nor the dump folder is made. If --dump names a file instead of a
    folder, the error names this file.
    """
    (tmp_path / "m.hlo").write_text(MALFORMED["unknown op"][0])
    assert gen("build", tmp_path / "m.hlo", "-o", tmp_path / "out", "--dump", tmp_path / "dump").returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m.hlo"]
    done = gen("build", CATALOGUE / "scalar_s64.hlo", "-o", tmp_path / "out", "--dump", tmp_path / "m.hlo", "--target", "c")
    assert done.returncode == 2 and done.stderr.startswith(f"error: {tmp_path / 'm.hlo'}: "), done.stderr


# ---- the shell command -------------------------------------------------------------------------------------------------


def test_sett_statuses() -> None:
    assert sett("map", "parse", "(d0)->(d0+1), domain: d0 in [0,3]").stdout == "(d0) -> (d0 + 1), domain: d0 in [0, 3]\n"
    bad = sett("map", "parse", "(d0) -> (d0 +")
    assert bad.returncode == 2 and re.match(r"error: \d+: \S", bad.stderr) and not bad.stdout
    for words in ([], ["map"], ["frob"], ["map", "frob"], ["map", "eval"]):
        done = sett(*words)
        assert done.returncode == 2 and done.stderr.startswith("error: "), words


def test_sett_help() -> None:
    """The usage names every group of verbs. If one of several arguments is wrong, the error names the argument."""
    done = sett("--help")
    assert done.returncode == 0 and not done.stderr
    for group in ("map", "shape", "nested", "layout", "op", "indexing", "coalescing", "banks", "utilisation", "reuse", "tile", "draw"):
        assert re.search(rf"\b{group}\b", done.stdout), group
    good, bad = "(d0) -> (d0), domain: d0 in [0, 3]", "(d0 -> (d0)"
    for words, argument in ((("map", "compose", good, bad), "SECOND"), (("map", "equal", bad, good), "A"), (("shape", "bitcast", "f32[4]", "f32["), "B"),
                            (("coalescing", bad, "f32"), "MAP"), (("tile", good, "x"), "SIZE,SIZE,.."), (("reuse", good, "f32["), "SHAPE")):
        done = sett(*words)
        assert done.returncode == 2 and re.match(r"error: \d+: ", done.stderr) and done.stderr.endswith(f", in {argument}\n"), (words, done.stderr)


def test_sett_lines() -> None:
    """Each line of input gives one line of output, in order. An error takes the place of its line's answer."""
    good = "(d0) -> (d0 floordiv 4), domain: d0 in [0, 3]"
    done = sett("map", "simplify", "-", text=f"{good}\nnonsense\n{good}\n")
    first, second, third = done.stdout.splitlines()
    assert first == third == "(d0) -> (0), domain: d0 in [0, 3]" and second.startswith("error: ") and done.returncode == 2
    done = sett("map", "eval", "-", text="(d0) -> (d0 * 7), domain: d0 in [0, 3]\t3\n(d0) -> (d0 * 7), domain: d0 in [0, 3]\t4\n")
    assert done.stdout == "21\noutside\n" and done.returncode == 0


GROUPS = ("map", "shape", "nested", "layout", "op", "indexing", "coalescing", "banks", "utilisation", "reuse", "tile", "draw")
NO = re.compile(r"(no|different|not decided)\b")


def examples() -> "list[list[str]]":
    return [shlex.split(line)[1:] for group in GROUPS for line in sett("help", group).stdout.splitlines() if line.startswith("    sett ")]


def test_sett_examples() -> None:
    """The help of each group has an example of every verb. Each example runs, alone and in a batch. A "no" shows in the
    exit status and the first word.
    """
    words = examples()
    assert len(words) > 100 and all(len(done) > 1 for done in words)
    named = {tuple(line.split()[:2]) for group in GROUPS for line in sett("help", group).stdout.splitlines() if line[0] != " "}
    for verb in ("mma", "ptx", "contract", "basis", "recombine", "bound"):
        assert ("nested", verb) in named
    for line in words:
        assert tuple(line[:2]) in named or line[0] in named or any(line[0] == group for group, _ in named), line
        done = sett(*line)
        assert done.returncode in (0, 1) and done.stdout.strip() and not done.stderr, (line, done)
        assert bool(NO.match(done.stdout)) == (done.returncode == 1), (line, done.stdout)
        if len(line) > 2:
            verb = 2 if (line[0], line[1]) in named else 1
            batch = sett(*line[:verb], "-", text="\t".join(line[verb:]) + "\n")
            assert batch.returncode == 0 and batch.stdout == done.stdout[:-1].replace("\\", "\\\\").replace("\n", "\\n") + "\n", line
    for group in GROUPS:
        text = sett("help", group).stdout
        assert text and sett(group, "--help").stdout == sett(group, "help").stdout == text, group
    assert sett("help").stdout == sett("--help").stdout and "map compose FIRST SECOND" in sett("map", "compose", "--help").stdout


def test_sett_no() -> None:
    """An answer "no" begins with "no", "different" or "not decided". The exit status is 1 for a single command with
    this answer, and 0 for a batch.
    """
    cases = [("map", "equal", "(d0) -> (d0), domain: d0 in [0, 3]", "(d0) -> (d0), domain: d0 in [0, 4]"), ("map", "inverse", "(d0) -> (d0 * 2), domain: d0 in [0, 3]"),
             ("map", "injective", "(d0) -> (d0 floordiv 2), domain: d0 in [0, 3]"), ("map", "covers", "(d0) -> (d0), domain: d0 in [0, 3]", "0..4"),
             ("shape", "bitcast", "f32[4]", "f32[5]"), ("shape", "strides", "f32[3,5]{1,0:T(2,2)}"), ("shape", "major", "f32[4,6]", "1"),
             ("nested", "same", "NV_MMA_SYNC_F32_16x8x16_F16.acc", "NV_MMA_SYNC_F32_16x8x16_F16.lhs"),
             ("coalescing", "(t) -> (t * 2), domain: t in [0, 31]", "f32"), ("banks", "(t) -> (t * 2), domain: t in [0, 31]", "f32"),
             ("tile", "(d0) -> (d0 * d0), domain: d0 in [0, 7]", "4")]
    for words in cases:
        done = sett(*words)
        assert done.returncode == 1 and NO.match(done.stdout), (words, done)
        verb = 1 if words[0] in ("coalescing", "banks", "tile") else 2
        batch = sett(*words[:verb], "-", text="\t".join(words[verb:]) + "\n")
        assert batch.returncode == 0 and batch.stdout.count("\n") == 1 and NO.match(batch.stdout), (words, batch)


def test_sett_long_line() -> None:
    """A line of a batch may have any number of words."""
    words = [f"in{k}=2" for k in range(400)]
    done = sett("op", "concatenate", "-", text="\t".join(["399", "out=800", "dimension=0", *words]) + "\n")
    assert done.stdout == "(d0) -> (d0 - 798), domain: d0 in [798, 799]\n", done.stdout[:200]


MISTYPED = {
    "": "expected a group and a verb: sett help lists them",
    "shpae info f32[3]": "unknown group 'shpae', did you mean 'shape'? sett help lists them",
    "coal x": "unknown group 'coal', did you mean 'coalescing'? sett help lists them",
    "utilization x f32": "unknown group 'utilization', did you mean 'utilisation'? sett help lists them",
    "owner x 0,0": "unknown group 'owner', did you mean 'nested owner'? sett help lists them",
    "bitcast a b": "unknown group 'bitcast', did you mean 'shape bitcast' or 'op bitcast'? sett help lists them",
    "qqqq": "unknown group 'qqqq': sett help lists them",
    "help qqqq": "unknown group 'qqqq': sett help lists them",
    "help shpae": "unknown group 'shpae', did you mean 'shape'? sett help lists them",
    "shape": "expected a verb: sett help shape lists them",
    "shape indx f32[3] 2": "unknown verb 'indx' of shape, did you mean 'index'? sett help shape lists them",
    "shape idnex f32[3] 2": "unknown verb 'idnex' of shape, did you mean 'index'? sett help shape lists them",
    "map compse a b": "unknown verb 'compse' of map, did you mean 'compose'? sett help map lists them",
    "map qqqqqqq a": "unknown verb 'qqqqqqq' of map: sett help map lists them",
    "shape help indx": "unknown verb 'indx' of shape, did you mean 'index'? sett help shape lists them",
    "shape indx --help": "unknown verb 'indx' of shape, did you mean 'index'? sett help shape lists them",
    "shape inof": "1: expected an element type (pred, s32, f32, bf16, ..), token[], opaque[], b( or a tuple, found 'inof'; did you mean 'shape info'?",
    "map eval x": "expected: map eval MAP VALUES, found 1 word: for example "
                  "sett map eval '(d0)[s0] -> (d0 floordiv 4, s0), domain: d0 in [0, 7], s0 in [0, 2]' 5,1",
    "shape f32[3] --svg x": "--svg is an option of draw alone: expected none here",
    "shape f32[3] --png x": "unknown option '--png', did you mean '--svg'? expected --lane NAME (of coalescing, banks and draw), --vector NAME (of coalescing, banks and draw), --svg FILE (of draw), "
                            "--element BITS (of layout move), --subgroup N (of layout move), --emit c|cuda (of layout move), --orders (of shape formats), "
                            "--help or --version",
    "draw --svgs x 4:2": "unknown option '--svgs', did you mean '--svg'? expected --lane NAME (of coalescing, banks and draw), --vector NAME (of coalescing, banks and draw), "
                         "--svg FILE (of draw), --element BITS (of layout move), --subgroup N (of layout move), --emit c|cuda (of layout move), --orders (of shape formats), --help or --version",
    "draw --svg=x --svg y 4:2": "expected one --svg, and after it the name of a file",
    "help shape index more": "expected: help [GROUP [VERB]]",
    f"{'x' * 100} y": f"unknown group '{'x' * 40}..': sett help lists them",
    "\u00e9" * 100 + " y": "unknown group '" + "\u00e9" * 20 + "..': sett help lists them",
}


@pytest.mark.parametrize("line", MISTYPED, ids=lambda line: line[:30] or "nothing")
def test_sett_mistyped(line: str) -> None:
    """A misspelt word gives one short line that names the word, the nearest known word, and where the list of words is.
    """
    done = sett(*line.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {MISTYPED[line]}\n")


def edits(a: str, b: str) -> int:
    """Return all texts that differ from a word by one inserted, removed, changed or swapped letter."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return edits(a[:-1], b[:-1])
    swapped = [edits(a[:-2], b[:-2])] if len(a) > 1 and len(b) > 1 and a[-1] == b[-2] and a[-2] == b[-1] else []
    return 1 + min(edits(a[:-1], b), edits(a, b[:-1]), edits(a[:-1], b[:-1]), *swapped)


def test_sett_nearest() -> None:
    """For a misspelt verb (one letter inserted, removed, changed or swapped), the suggested verb is one such edit away,
    or begins with the misspelt word.
    """
    named = {group: sorted({line.split()[1] for line in sett("help", group).stdout.splitlines() if re.match(r"\w+ [a-z]", line)}) for group in GROUPS}
    words = [(group, wrong) for group, names in named.items() for name in names if len(name) > 3
             for wrong in (name[:1] + name[2:], name[:1] + "q" + name[1:], name[:2] + "q" + name[3:], name[:1] + name[2:3] + name[1:2] + name[3:]) if wrong not in names]
    assert len(words) > 200
    for group, wrong in words[::5]:
        said = sett(group, wrong, *["x"] * 30).stderr
        found = re.search(r"did you mean '(?:\w+ )?([-\w]+)'\?", said)
        assert found and found[1] in named[group] and (edits(wrong, found[1]) == 1 or found[1].startswith(wrong)), (group, wrong, said)


def test_sett_version() -> None:
    """`sett --version` prints the version of every header. The version of `sett` itself is that of sett.h."""
    lines = sett("--version").stdout.splitlines()
    assert sett("version").stdout.splitlines() == lines and lines[0].startswith("sett ")
    assert sorted(line.split()[0] for line in lines[1:]) == sorted(path.name for path in (ROOT / "include").glob("sett_*.h"))
    for line in lines:
        name, version = line.split()
        first = (ROOT / "include" / ("sett.h" if name == "sett" else name)).read_text().splitlines()[0]
        assert f" - v{version[:-2]} - " in first and version.endswith(".0"), line


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_sett_full_disk() -> None:
    """An answer that cannot be written is an error."""
    for words in (["help"], ["shape", "-"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(ROOT / "build" / "sett"), *words], input="f32[3]\n", stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and done.stderr == "error: standard output cannot be written: is the disk full?\n", words


def test_sett_reads(tmp_path: Path) -> None:
    """A folder as standard input is an error. A byte order mark at the beginning of a file is skipped, as gen does."""
    folder = os.open(tmp_path, os.O_RDONLY)
    done = subprocess.run([str(ROOT / "build" / "sett"), "shape", "-"], stdin=folder, capture_output=True, text=True)
    os.close(folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: standard input cannot be read\n")
    text = (ROOT / "tests" / "kernels" / "transpose_f32.hlo").read_bytes()
    (tmp_path / "m.hlo").write_bytes(b"\xef\xbb\xbf" + text)
    done = sett("indexing", str(tmp_path / "m.hlo"))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == sett("indexing", "tests/kernels/transpose_f32.hlo").stdout


def test_sett_names() -> None:
    """If a command has several arguments, an error with a column names the argument."""
    for words, said in ((("op", "transpose", "0", "out=2,3", "in=3,2", "perm=1,0"),
                         "error: 1: unknown attribute, expected OPERAND out=I,J,.. in=I,J,.. dimensions=D,.., from=operand or all=1, in perm=1,0"),
                        (("op", "transpose", "0", "out=2,3", "in=3,2", "dimensions=1,x"), "error: 14: expected an integer, found 'x', in dimensions=1,x"),
                        (("op", "frob", "0"), "error: 1: unknown opcode, .*, in OPCODE"), (("op", "add", "2", "out=2", "in2=2"), "error: 1: .*, in OPERAND"),
                        (("shape", "index", "f32[3]", "x"), "error: 1: expected an integer, found 'x', in I,J,.."), (("shape", "index", "f32[", "0"), "error: 5: .*, found the end, in SHAPE"),
                        (("map", "eval", "(d0) -> (d0), domain: d0 in [0, 3]", "x"), "error: 1: .*, in VALUES"), (("map", "access", "(d0) -> (d0), domain: d0 in [0, 3]", "q"), ".*, in VARIABLE"),
                        (("nested", "owner", "NV_MMA_SYNC_F32_16x8x16_F16.acc", "99,0"), ".*, in I,J,.."), (("nested", "mma", "X", "lhs"), ".*, in INTRINSIC"),
                        (("map", "parse", "x"), "error: 1: (?!.*, in MAP).*"), (("map", "eval", "x"), "error: expected: map eval MAP VALUES, found 1 word: for example sett map eval .*"),
                        (("coalescing", "--lane", "q", "(a, b) -> (a), domain: a in [0, 3], b in [0, 3]", "f32"), "error: expected --lane and a dimension of the map: a, b"),
                        (("coalescing", "(a, b) -> (a), domain: a in [0, 3], b in [0, 3]", "f32"), "error: which dimension is the lane. Expected --lane and one of a, b"),
                        (("map", "parse", "(d0) -> (d0)", "--lane", "d0"), "error: --lane is an option of coalescing, banks and draw alone: expected none here"), (("banks", "--lane"), "error: expected one --lane.*")):
        done = sett(*words)
        assert done.returncode == 2 and re.fullmatch(said, done.stderr.strip()), (words, done.stderr)


def test_sett_opcodes() -> None:
    """`sett op` takes HLO's names of ops."""
    for name, count in (("add", 2), ("copy", 1), ("convert", 1), ("compare", 2), ("select", 3), ("negate", 1)):
        for operand in range(count):
            assert sett("op", name, str(operand), "out=4,3", f"in{operand}=4,3").stdout == sett("op", "elementwise", "0", "out=4,3", "in=4,3").stdout != ""
    for name in ("sort", "tuple", "fusion", "none", "frob"):
        assert sett("op", name, "0", "out=4", "in=4").returncode == 2, name


def long_map(dims: int) -> str:
    names = [f"d{i}" for i in range(dims)]
    return f"({', '.join(names)}) -> ({' + '.join(names)}), domain: " + ", ".join(f"{name} in [0, 9]" for name in names)


@pytest.mark.peer
def test_sett_memory() -> None:
    """`sett` takes more memory as needed. If there is no more memory, an error says so."""
    dims = long_map(3000)
    for text in (dims, f"(d0) -> ({' + '.join(f'd0 mod {k}' for k in range(2, 2202))}), domain: d0 in [0, 99999]"):
        done = sett("map", "simplify", "-", text=text + "\n")
        assert done.returncode == 0 and not done.stdout.startswith("error"), done.stdout[:200]
    assert sett("map", "simplify", "-", text=dims + "\n").stdout == dims + "\n"
    small = subprocess.run(["sh", "-c", f"ulimit -v 150000; exec {ROOT / 'build' / 'sett'} map simplify -"], input=dims + "\n", capture_output=True, text=True)
    assert small.returncode == 2 and small.stdout == "error: the arena is full: expected more memory\n"


def test_sett_threads() -> None:
    """Several threads that use the library at the same time get the answers of a single thread. The same holds after a
    command that made the library take more memory.
    """
    import ctypes
    import threading

    from gen.algebra.library import _library

    library = _library()

    def ask(*words: str) -> "tuple[int, str]":
        out = ctypes.create_string_buffer(1 << 18)
        status = library.sett_command(len(words), (ctypes.c_char_p * len(words))(*[word.encode() for word in words]), out, len(out))
        return status, out.value.decode()

    asked = [tuple(line) for line in examples()] + [("map", "simplify", long_map(3000)), ("op", "add", "0", "out=4"), ("shape", "f32[3")]
    alone = [ask(*words) for words in asked]
    wrong: "list[object]" = []

    def work(seed: int) -> None:
        order = list(range(len(asked)))
        random.Random(seed).shuffle(order)
        for k in order:
            if ask(*asked[k]) != alone[k]:
                wrong.append(asked[k])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


def test_bench_small_figures() -> None:
    """Throughputs below 1 GB/s are printed with two significant digits. Kernels on small arrays have such throughputs,
    because most of their time is the fixed time of a launch.
    """
    assert [bench._gbps({"GBps": number}) for number in (123.45, 1.04, 0.96, 0.0412)] == ["123.5", "1.0", "0.96", "0.041"]


@pytest.mark.peer
def test_bench_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gen bench` prints a row per kernel, and `--json` writes the measurements."""
    monkeypatch.setattr(bench, "footprint", lambda device, asked: 4 << 20)    # small arrays, because the test checks what is written, not the speed
    done = gen("bench", CATALOGUE / "triangle_f32.hlo", "--rounds", "2", "--no-libraries", "--json", tmp_path / "b.json")
    skip_without_device(done)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("opencl on ")
    header = next(i for i, line in enumerate(lines) if line.split()[:4] == ["kernel", "hero", "moved", "time"])
    assert lines[header + 1].split()[:2] == ["triangle_f32", "loop"]
    (row,) = json.loads((tmp_path / "b.json").read_text())["kernels"]
    assert row["bytes"] == 2 * 48 * 64 * 4 and row["median_s"] > 0 and row["GBps"] == pytest.approx(row["bytes"] / row["median_s"] / 1e9)


def test_every_test_is_built() -> None:
    """build.ninja names every test and every kernel of the catalogue."""
    text = (ROOT / "build.ninja").read_text().replace("$\n", " ")
    for path in [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("tests/algebra/*.c"), *ROOT.glob("tests/layouts/*.c")]:
        name = path.relative_to(ROOT).as_posix()
        assert re.search(rf": (pytest|ctest) [^|\n]*\b{re.escape(name)}\b", text), f"{name}: build.ninja has no line for it"
    for path in (ROOT / "tests").glob("*/*.py"):
        assert path.name.startswith("test_") or "\ndef test_" not in path.read_text(), f"{path}: expected test_*.py"
    assert not list((ROOT / "tests").glob("test_*")), "expected every test in a room"
    assert sorted(re.findall(r"^k = (\w+)$", text, re.M)) == sorted(path.stem for folder in ("kernels", "tilings") for path in ROOT.glob(f"tests/{folder}/*.hlo"))
    stamps = re.findall(r"^build (build/(?:tests|asan)/\S+): (?:pytest|ctest|alone|lines|maps_of|lint)", text, re.M)
    phony = " ".join(re.findall(r"^build (?:test|asan|portability|test-\w+): phony ((?:.*\$\n)*.*)", text, re.M)).split()
    assert sorted(stamps) == sorted(word for word in phony if word not in ("$", "portability"))
    edges = {name: (inputs.split(), settings) for name, inputs, settings in
             re.findall(r"^build build/tests/(\S+): pytest ([^|\n]*)[^\n]*\n((?:  .*\n)*)", text, re.M)}
    whole = {file for name, (files, _) in edges.items() if name.startswith("whole_") or name == "all_files" for file in files}
    shared = {file for files, settings in edges.values() if re.search(r"^  share = |SETT_PART", settings, re.M) for file in files}
    assert len(shared) > 20 and shared <= whole, f"no target runs all cases of {shared - whole}"


def test_no_device_is_status_3() -> None:
    """If a runtime finds no device, the result is SKIP with status 3, not FAIL."""
    done = subprocess.run([sys.executable, str(ROOT / "gen"), "check", str(CATALOGUE / "scalar_s64.hlo")], capture_output=True, text=True,
                          env={**os.environ, "OCL_ICD_VENDORS": os.devnull}, timeout=900)
    assert done.returncode == 3 and done.stdout.startswith("SKIP "), done.stdout + done.stderr


def test_no_jinja2_is_status_3() -> None:
    """If the package jinja2 is missing, gen says how to install it."""
    program = "import runpy, sys; sys.modules['jinja2'] = None; sys.argv = ['gen', '--version']; runpy.run_module('gen', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "error: Python's package jinja2 is missing: python3 -m pip install jinja2\n")
