"""Test a JAX function in one command: the program, main.c with JAX's results, errors in the user's file, bytecode, and
calling the program from JAX.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from gen_run import gen

ROOT = Path(__file__).resolve().parents[2]
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="no jax")

MODEL = '''import jax
import jax.numpy as jnp
import numpy as np
from shapes import WIDTH

W = np.arange(12, dtype=np.float32).reshape(3, 4) / 12
b, = jax.export.symbolic_shape("b")

def step(params={"w": jax.ShapeDtypeStruct((4, WIDTH), jnp.float32), "b": jnp.ones(4)}, x=jnp.arange(5.0), n=3, unused=1.0, mode="fast"):
    assert mode == "fast"
    return {"y": jnp.tanh(params["w"] @ x + params["b"]), "l": [x.sum() * n, x.astype(int) * n]}

def jacobian(x):
    return jax.jacfwd(lambda v: jnp.sin(W @ v))(x)

def rows(x=jax.ShapeDtypeStruct((b, 2 * b + 1), jnp.bfloat16)):
    return jnp.exp(x).T, x > 0

def donated(state, add=jnp.ones((3,))):
    return state.at[1:].multiply(2), add + 1

donated = jax.jit(donated, donate_argnums=0)

@jax.jit
def wrong(x=jnp.ones(5)):
    y = x + 1
    return y @ jnp.ones(4)

def callback(x=jnp.ones(5)):
    y = x * 2
    return jax.pure_callback(lambda v: v, y, y)

def ends(x=1.0):
    import os
    os._exit(7)

def wide(x=jnp.arange(6.0).reshape(2, 3), lengths=jnp.array([1, 2], jnp.int4)):
    return x.T, jnp.cumsum(x, axis=1).astype(jnp.float16), lengths + 1, jnp.fft.fft(x), x.astype(jnp.float8_e4m3fn)

TABLE = [1, 2]
'''


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "shapes.py").write_text("WIDTH = 5\n")
    return tmp_path


def built(folder: Path, *words: str) -> Path:
    """Run `gen build` with these arguments and return the folder that it wrote."""
    done = gen("build", *words, "-o", "out", "--target", "c", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def compiled(out: Path, *names: str) -> "subprocess.CompletedProcess[str]":
    """Compile main.c with every warning as an error, run it, and return the outcome."""
    sources = [f"{name}.c" for name in names]
    subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "main.c", *sources, "-lm", "-o", "main"], cwd=out, check=True)
    return subprocess.run(["./main"], cwd=out, capture_output=True, text=True)


@needs_jax
def test_one_command(folder: Path) -> None:
    """The header names parameters after the leaves of the argument trees. The depfile has the imported Python files.
    main.c compares the program's results with JAX's.
    """
    out = built(folder, "model.py:step")
    assert {path.name for path in out.iterdir()} == {"main.c", "step.c", "step.d", "step.example", "step.h", "step.json", "step_ref.c"}
    assert "step(const float *params_b, const float *params_w, const float *x, const int32_t *n, " in (out / "step.h").read_text()
    depends = (out / "step.d").read_text().split("\n")[0].split()
    assert {"model.py", "shapes.py"} <= set(depends)
    done = compiled(out, "step")
    assert done.returncode == 0 and done.stdout.startswith("PASS step: result "), done.stdout
    assert "differs from JAX's by" in done.stdout, "an integer result is equal, which says nothing about the floats"
    assert "cc -O3 -march=native main.c step.c -lm && ./a.out" in (out / "main.c").read_text()
    example = bytearray((out / "step.example").read_bytes())
    for place, said in ((-64, "FAIL step: result 2"), (-128, "FAIL step: result 1"), (-192, "FAIL step: result 0")):
        changed = bytearray(example)
        changed[place + 3] ^= 0x41
        (out / "step.example").write_bytes(changed)
        done = subprocess.run(["./main"], cwd=out, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout.startswith(said), done.stdout
    (out / "step.example").write_bytes(example[:-1])
    done = subprocess.run([str(out / "main"), str(out)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and "step.example: expected 512 bytes" in done.stderr


@needs_jax
def test_a_function_that_writes_nothing(folder: Path) -> None:
    """main.c prints FAIL if a function writes no result, although all of JAX's results are zero."""
    (folder / "zero.py").write_text("import jax.numpy as jnp\ndef f(x=jnp.zeros((4, 5))):\n    return jnp.tanh(x), x.astype(int), x > 0\n")
    out = built(folder, "zero.py:f")
    assert compiled(out, "f").stdout.startswith("PASS f: "), "the function as it is"
    text = (out / "f.c").read_text()
    head, body = text.split("int f_c_run(", 1)
    (out / "f.c").write_text(f"{head}int f_c_run({body.replace('{', '{ if (results) return 0;', 1)}")
    done = compiled(out, "f")
    assert done.returncode == 1 and done.stdout.startswith("FAIL f: "), done.stdout


@needs_jax
@pytest.mark.peer
@pytest.mark.parametrize("name, dims", [("jacobian", ["0=4"]), ("rows", ["b=3"]), ("donated", ["0=3"])])
def test_examples(folder: Path, name: str, dims: "List[str]") -> None:
    """The example functions build: with sizes from --dims, symbolic sizes, 16-bit and boolean types, and buffers that a
    result reuses.
    """
    out = built(folder, f"model.py:{name}", *(word for of in dims for word in ("--dims", of)))
    done = compiled(out, name)
    assert done.returncode == 0 and done.stdout.startswith(f"PASS {name}: "), done.stdout


SEVERAL = '''import jax
import jax.numpy as jnp
import numpy as np

drawn = np.random.default_rng(1)
IN, OUT = (drawn.standard_normal(dims).astype(np.float32) / 8 for dims in ((64, 64), (64, 32)))
X = jax.ShapeDtypeStruct((16, 64), jnp.float32)

def step(x=X):
    return jnp.tanh(x @ IN) @ OUT, jnp.exp(x.astype(jnp.bfloat16))

def gradient(x=X):
    return jax.grad(lambda x: (step(x)[0] ** 2).sum())(x), jnp.exp(x.astype(jnp.bfloat16)) * 2

def swing(angle=0.5, speed=0.0, z=jnp.ones(5, jnp.complex64)):
    def ahead(_, at):
        return at[0] + 0.01 * at[1], at[1] - 0.01 * jnp.sin(at[0])
    return jax.lax.fori_loop(0, 1000, ahead, (angle, speed)), z * jnp.exp(z)

def large(x=jax.ShapeDtypeStruct((300, 1000), jnp.bfloat16), z=jnp.ones(5, jnp.complex64)):
    return jnp.exp(x), jnp.sort(x[:, :9].astype(jnp.float32)), z * z

def first_and(x=X, y=X):
    return jax.lax.cond(x[0, 0] > 0, lambda: jnp.cumsum(x, 1), lambda: y)
'''


@needs_jax
@pytest.mark.peer
@pytest.mark.parametrize("words", [["-std=c11", "-march=native"], ["-std=c11", "-DSETT_SCALAR", "-pedantic"]], ids=["vectors", "scalar"])
def test_several_functions(tmp_path: Path, words: "List[str]") -> None:
    """Several functions become one .c, one .h and one file of weights, which contains each matrix once. Functions that
    they share occur once.
    """
    (tmp_path / "model.py").write_text(SEVERAL)
    names = ["step", "gradient", "swing", "large", "first_and"]
    out = built(tmp_path, f"model.py:{','.join(names)}")
    assert {path.name for path in out.iterdir() if path.suffix in (".c", ".h", ".d", ".weights")} == {
        "main.c", "model.c", "model.h", "model.d", "model.weights", *(f"{name}_ref.c" for name in names)}
    assert (out / "model.weights").stat().st_size == 4 * (64 * 64 + 64 * 32)
    text = (out / "model.c").read_text()
    assert len(re.findall(r"^typedef struct \{ float re, im; \} c64;", text, re.M)) == 2    # once for compilers with vectors, once for compilers without
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler):
            subprocess.run([compiler, *words, "-O1", "-Wall", "-Wextra", "-Werror", "main.c", "model.c", "-lm", "-o", "main"], cwd=out, check=True)
            done = subprocess.run(["./main"], cwd=out, capture_output=True, text=True)
            assert done.returncode == 0 and [line.split(":")[0] for line in done.stdout.splitlines()] == [f"PASS {name}" for name in names]
    (out / "use.c").write_text('#include "model.h"\n' + "\n".join(
        f"_Static_assert({name}_c_SCRATCH_BYTES <= model_ALL_SCRATCH_BYTES, \"\");" for name in names))
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "use.c"], cwd=out, check=True)


@needs_jax
@pytest.mark.peer
def test_two_functions(folder: Path) -> None:
    """If the only target is C, two functions share one .c and one .h. With more targets, each function has separate
    files. `check` takes one function after the other.
    """
    assert compiled(built(folder, "model.py:step,wide"), "model").stdout.count("PASS ") == 2
    done = gen("build", "model.py:step,wide", "-o", "pairs", "--target", "c,opencl", cwd=folder)
    assert done.returncode == 0 and compiled(folder / "pairs", "step", "wide").stdout.count("PASS ") == 2
    done = gen("check", "model.py:step,wide", "--target", "c", cwd=folder)
    assert done.stdout.splitlines()[-1] == "2 files: 2 PASS"


@needs_jax
def test_leading_dimensions(folder: Path) -> None:
    """Each function of a file takes leading dimensions. main.c passes the leading dimensions of dense arrays."""
    out = built(folder, "model.py:rows,wide", "--dims", "b=2", "--lead", "x")
    assert (out / "model.h").read_text().count("const void *const *params, void *const *results, const size_t *leads, void *scratch)") == 2
    done = compiled(out, "model")
    assert done.returncode == 0 and done.stdout.count("PASS ") == 2, done.stdout


@needs_jax
@pytest.mark.peer
def test_same_values_each_time(folder: Path) -> None:
    out = built(folder, "model.py:step")
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    built(folder, "model.py:step")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


@needs_jax
@pytest.mark.peer
def test_other_verbs(folder: Path) -> None:
    done = gen("check", "model.py:jacobian", "--dims", "0=4", "--target", "c", cwd=folder)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("PASS model.py:jacobian c "), done.stderr
    done = gen("explain", "model.py:rows", "--dims", "b=2", "--stage", "parse", cwd=folder)
    assert done.returncode == 0 and "bf16[2,5]" in done.stdout, done.stderr


FAULTS = {    # gen/errors.md has more errors
    "model.py:TABLE": "model.py: expected a function 'TABLE' in this file",
    "model.py:rows": "model.py:16: expected the size of 'b' in an argument of 'rows': --dims b=8",
    "model.py:wrong": "model.py:27: TypeError: dot_general requires contracting dimensions to have the same shape, got (5,) and (4,).",
    "model.py:ends": "model.py: Python ended with status 7",
    "broken.py:step": "broken.py:2: SyntaxError: '(' was never closed",
    "imports.py:step": "imports.py:3: ModuleNotFoundError: No module named 'no_such_module'",
    "exits.py:step": "exits.py:1: SystemExit: 5",
}


@needs_jax
@pytest.mark.peer
@pytest.mark.parametrize("words", FAULTS)
def test_faults(folder: Path, words: str) -> None:
    """An error in the user's Python file is one line that gives the line number in this file."""
    (folder / "broken.py").write_text("x = 1\nstep = (\n")
    (folder / "imports.py").write_text("import jax\n\nimport no_such_module\n")
    (folder / "exits.py").write_text("raise SystemExit(5)\n")
    done = gen("build", *words.split(), "-o", "out", cwd=folder)
    assert (done.returncode, done.stderr) == (2, f"error: {FAULTS[words]}\n")


@needs_jax
def test_refused_op(folder: Path) -> None:
    """An op that is refused is reported at its line in the Python file."""
    done = gen("build", "model.py:callback", "-o", "out", cwd=folder)
    assert done.returncode == 2 and done.stderr.startswith("error: model.py:31: ") and "xla_ffi_python_cpu_callback" in done.stderr, done.stderr


def test_without_jax(folder: Path) -> None:
    """If JAX is missing, the error names the package and how to install it. For bytecode it also gives the Python lines
    that print the text.
    """
    (folder / "python3").symlink_to(sys.executable)
    (folder / "none").mkdir()
    (folder / "none" / "jax.py").write_text("raise ImportError\n")
    (folder / "m.mlirbc").write_bytes(b"ML\xefR\x0dSomething")
    (folder / "m.bin").write_bytes(b"\x08\0\0\0\0\0\0\0\x05\0\0\0ML\xefR\x0d")
    hidden = {"PYTHONPATH": str(folder / "none"), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    for file, said in (("model.py:step", "expected JAX, which traces the function: python3 -m pip install jax"),
                       ("m.mlirbc", "deserialize_portable_artifact"), ("m.bin", "jax.export.deserialize(")):
        done = gen("build", file, "-o", "out", cwd=folder, **hidden)
        assert done.returncode == 3 and done.stderr.startswith(f"error: {file}: ") and said in done.stderr, done.stderr


# ---- bytecode ------------------------------------------------------------------------------------------------------

WRITE = '''
import io, sys, struct
import jax, jax.numpy as jnp
from jaxlib.mlir.dialects import stablehlo
module = jax.jit(lambda p, x: jnp.tanh(p["w"] @ x)).lower({"w": jnp.ones((3, 4))}, jnp.ones(4)).compiler_ir()
plain = io.BytesIO()
module.operation.write_bytecode(plain)
open("plain.mlirbc", "wb").write(plain.getvalue())
portable = stablehlo.serialize_portable_artifact(module, "1.0.0")
open("portable.mlirbc", "wb").write(portable)
try:
    exported = jax.export.export(jax.jit(lambda p, x: jnp.tanh(p["w"] @ x)))({"w": jnp.ones((3, 4))}, jnp.ones(4)).serialize()
except ImportError:   # flatbuffers is not there: the same vector in a buffer by hand
    exported = b"\\x10\\0\\0\\0" + bytes(12) + struct.pack("<I", len(portable)) + portable + bytes(9)
open("exported.bin", "wb").write(exported)
'''


@needs_jax
@pytest.mark.peer
def test_bytecode(tmp_path: Path) -> None:
    """Bytecode, portable artifacts and files of jax.export give the same program as their text, also from standard
    input.
    """
    subprocess.run([sys.executable, "-c", WRITE], cwd=tmp_path, check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    for name in ("plain.mlirbc", "portable.mlirbc", "exported.bin"):
        done = gen("build", name, "-o", "out", "--target", "c", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        stem = name.partition(".")[0]
        assert f"int {stem}(const float *p_w, const float *x, float *tanh, void *scratch)" in (tmp_path / "out" / f"{stem}.h").read_text()
    done = gen("build", ".", "-o", "more", "--target", "c", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "more" / "portable.c").exists(), done.stderr
    (tmp_path / "cut.mlirbc").write_bytes((tmp_path / "plain.mlirbc").read_bytes()[:300])
    done = gen("build", "cut.mlirbc", "-o", "out", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: cut.mlirbc: MLIR bytecode: ") and len(done.stderr.splitlines()) == 1
    with open(tmp_path / "portable.mlirbc", "rb") as file:
        read = subprocess.run([sys.executable, str(ROOT / "gen"), "explain", "-", "--stage", "parse"], stdin=file, capture_output=True, text=True)
    assert read.returncode == 0 and "p_w = f32[3,4]" in read.stdout, read.stderr


# ---- calling the program from JAX
# --------------------------------------------------------------------------------------

NET = '''import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32) / 8

def net(params={"scale": 2.0, "shift": jax.ShapeDtypeStruct((64,), jnp.float32)}, x=jax.ShapeDtypeStruct((512, 64), jnp.bfloat16), unused=None):
    y = jnp.exp(x)
    return {"y": y, "sums": (jnp.tanh(x.astype(jnp.float32) @ W + params["shift"]).sum(axis=1) * params["scale"], [x > 0])}

def update(state=jnp.zeros(8), at=3):
    return state.at[at].add(1.0)

update = jax.jit(update, donate_argnums=0)
'''

CALL = '''
import sys
sys.path.insert(0, "out")
import jax, jax.numpy as jnp, numpy as np
import model, net_jax, update_jax
drawn = np.random.default_rng(2)
params = {"scale": 3.0, "shift": drawn.standard_normal(64).astype(np.float32)}
x = jnp.asarray(drawn.standard_normal((3, 512, 64)), jnp.bfloat16)
ours, theirs = jax.jit(net_jax.net), jax.jit(model.net)
for n in range(3):
    a, b = ours(params, x[n]), theirs(params, x[n])
    assert jax.tree.structure(a) == jax.tree.structure(b), a
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
        assert one.dtype == other.dtype and np.allclose(one.astype(float), other.astype(float), rtol=1e-2 if one.dtype == jnp.bfloat16 else 1e-4, atol=1e-4)
many = jax.vmap(lambda x: net_jax.net(params, x)["sums"][0])(x)
assert np.allclose(many[2], theirs(params, x[2])["sums"][0], rtol=1e-4, atol=1e-4)
state = jnp.arange(8.0)
assert np.array_equal(jax.jit(update_jax.update)(state, 2), model.update(jnp.arange(8.0), 2)) and np.array_equal(state, jnp.arange(8.0))
try:
    net_jax.net(params, x)
    print("taken")
except TypeError as error:
    print(error)
'''


@needs_jax
@pytest.mark.peer
def test_wrap(tmp_path: Path) -> None:
    """JAX can call the generated functions: with trees as arguments and results, on XLA's threads, with weights from a
    file, and in place.
    """
    (tmp_path / "model.py").write_text(NET)
    for name in ("net", "update"):
        out = built(tmp_path, f"model.py:{name}", "--wrap", "jax")
        (command,) = [line.strip() for line in (out / f"{name}_jax.py").read_text().splitlines() if line.strip().startswith("cc ")]
        done = subprocess.run(["sh", "-c", command.replace("-O3", "-O1 -Wall -Wextra")], cwd=out, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([sys.executable, "-c", CALL], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    assert (done.returncode, done.stdout) == (0, "net: expected array 2 of shape (512, 64), found (3, 512, 64)\n"), done.stderr


def test_wrap_is_refused(tmp_path: Path) -> None:
    """Arrays that JAX would pass in another form are refused, and so is a function that was built without C."""
    (tmp_path / "m.hlo").write_text("e {\n  a = f32[4,8]{0,1} parameter(0)\n  ROOT b = f32[4,8]{0,1} add(a, a)\n}\n")
    done = gen("build", "m.hlo", "-o", "out", "--wrap", "jax", "--target", "c", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2, "error: m.hlo: --wrap jax: expected row-major arrays with elements of whole bytes, found f32[4,8]{0,1} as parameter 0")
    done = gen("build", "m.hlo", "-o", "out", "--wrap", "jax", "--target", "hip", cwd=tmp_path)
    assert done.returncode == 2 and "expected --target c or cuda, no --apart and no --profile beside --wrap jax" in done.stderr


WIDE_CALL = '''
import sys
sys.path.insert(0, "out")
import jax, numpy as np
import m_jax
try:
    m_jax.m(np.ones(3))
except RuntimeError as error:
    print(error)
jax.config.update("jax_enable_x64", True)
print(m_jax.m(np.full(3, 1 / 3)).tolist() == [2 / 3] * 3)
'''


@needs_jax
@pytest.mark.peer
def test_wrap_of_64_bits(tmp_path: Path) -> None:
    """Without jax_enable_x64, JAX would pass buffers with half the bytes that a function of 64-bit types accesses, so
    such a function is refused.
    """
    (tmp_path / "m.hlo").write_text("HloModule m\nENTRY e {\n  a = f64[3]{0} parameter(0)\n  ROOT b = f64[3]{0} add(a, a)\n}\n")
    out = built(tmp_path, "m.hlo", "--wrap", "jax")
    (command,) = [line.strip() for line in (out / "m_jax.py").read_text().splitlines() if line.strip().startswith("cc ")]
    subprocess.run(["sh", "-c", command.replace("-O3", "-O1")], cwd=out, check=True)
    done = subprocess.run([sys.executable, "-c", WIDE_CALL], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "JAX_PLATFORMS": "cpu"})
    assert done.stdout == ("m: expected jax.config.update('jax_enable_x64', True): it has arrays of 64-bit elements\n"
                           "True\n"), done.stderr


FRAME = r'''
#include <stdio.h>
#include <string.h>
#include "xla/ffi/api/c_api.h"
XLA_FFI_Error *m_jax_cuda(XLA_FFI_CallFrame *frame);
static int stream;
static const char *said;
static XLA_FFI_Error *stream_of(XLA_FFI_Stream_Get_Args *of) { of->stream = &stream; return NULL; }
static XLA_FFI_Error *fault(XLA_FFI_Error_Create_Args *of) { said = of->message; return (XLA_FFI_Error *)&said; }
int main(void)
{
  float x[12] __attribute__((aligned(256))), y[12] __attribute__((aligned(256)));
  unsigned char scratch[256] __attribute__((aligned(256)));
  for (int n = 0; n < 12; ++n) x[n] = n, y[n] = -1;
  XLA_FFI_Buffer param = {sizeof param, NULL, XLA_FFI_DataType_F32, x, 1, (int64_t[]){12}};
  XLA_FFI_Buffer result = {sizeof result, NULL, XLA_FFI_DataType_F32, y, 1, (int64_t[]){12}};
  XLA_FFI_Buffer last = {sizeof last, NULL, XLA_FFI_DataType_U8, scratch, 1, (int64_t[]){256}};
  XLA_FFI_Api api;
  XLA_FFI_CallFrame frame;
  memset(&api, 0, sizeof api), memset(&frame, 0, sizeof frame);
  api.XLA_FFI_Stream_Get = stream_of, api.XLA_FFI_Error_Create = fault;
  frame.api = &api;
  frame.args.size = 1, frame.args.args = (void *[]){&param};
  frame.rets.size = 2, frame.rets.rets = (void *[]){&result, &last};
  if (m_jax_cuda(&frame)) return puts(said), 1;
  for (int n = 0; n < 12; ++n) if (y[n] != 2 * x[n]) return printf("%g at %d", y[n], n), 1;
  frame.args.size = 0;
  if (!m_jax_cuda(&frame)) return puts("taken"), 1;
  return puts(said), 0;
}
'''


@needs_jax
@pytest.mark.peer
def test_wrap_of_cuda(tmp_path: Path) -> None:
    """The handler for CUDA passes XLA's buffers and stream to the kernels. The test calls it with a call frame like
    XLA's, and the kernels run on the CPU.
    """
    import jax.ffi

    from gen.targets import RUNNERS
    from gen.targets.tools import cxx_compiler
    (tmp_path / "m.hlo").write_text("HloModule m\nENTRY e {\n  a = f32[12]{0} parameter(0)\n  ROOT b = f32[12]{0} add(a, a)\n}\n")
    done = gen("build", "m.hlo", "-o", "out", "--wrap", "jax", "--target", "cuda", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    out = tmp_path / "out"
    assert not (out / "m_jax.c").exists() and 'platform=_platform' in (out / "m_jax.py").read_text()
    for name, text in RUNNERS["cuda-on-cpu"].headers().items():
        (out / name).write_text(text)
    (out / "frame.c").write_text(FRAME)
    include = ["-I", ".", "-I", jax.ffi.include_dir()]
    for command in (["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *include, "-c", "m_jax_cuda.c", "frame.c"],
                    [cxx_compiler(), "-std=c++17", "-w", *include, "-x", "c++", "-c", "m.cu"],
                    [cxx_compiler(), "-o", "frame", "m.o", "m_jax_cuda.o", "frame.o", "-lpthread", "-lm"]):
        subprocess.run(command, cwd=out, check=True)
    done = subprocess.run(["./frame"], cwd=out, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "m: expected 1 arguments\n"), done.stdout


def test_wrap_of_cuda_with_weights(tmp_path: Path) -> None:
    """In CUDA a function with weights is refused, because the caller would have to copy them to the device."""
    values = ", ".join(str(n) for n in range(20000))
    (tmp_path / "m.hlo").write_text("HloModule m\nENTRY e {\n  a = f32[20000]{0} parameter(0)\n  c = f32[20000]{0} constant({" + values
                                    + "})\n  ROOT b = f32[20000]{0} add(a, c)\n}\n")
    done = gen("build", "m.hlo", "-o", "out", "--wrap", "jax", "--target", "cuda", cwd=tmp_path)
    assert done.returncode == 2 and "expected no --target cuda: m.weights has constants" in done.stderr
