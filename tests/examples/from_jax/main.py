"""A function written for JAX as a C kernel that NumPy arrays go through: no JAX, no XLA where it runs."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np

HERE = Path(__file__).resolve().parent
SETT = HERE.parent.parent.parent    # the folder that holds gen
BUILD = HERE / "build"


def attention_weights(scores, mask):
    """What is to become one kernel: a masked softmax."""
    return jax.nn.softmax(jax.numpy.where(mask, scores, -1e9), axis=-1)


def build(function, name, *shapes):
    """The shared library of a function for arguments of these shapes and types. Only this half needs JAX, gen and a compiler."""
    BUILD.mkdir(exist_ok=True)
    # The text before XLA has fused anything: gen makes all of it one fusion. After .compile() it is what XLA's CPU backend left.
    (BUILD / f"{name}.hlo").write_text(jax.jit(function).lower(*shapes).as_text("hlo"))
    subprocess.run([sys.executable, SETT / "gen", "build", BUILD / f"{name}.hlo", "-o", BUILD, "--target", "c"], check=True)
    subprocess.run(["cc", "-O2", "-march=native", "-shared", "-fPIC", BUILD / f"{name}.c", "-lm", "-o", BUILD / f"{name}.so"], check=True)


class Kernel:
    """A built function. Loading it needs the library and the manifest, nothing else."""

    def __init__(self, name):
        library = ctypes.CDLL(str(BUILD / f"{name}.so"))
        self.about = json.loads((BUILD / f"{name}.json").read_text())
        self.run = library[f"{name}_c_run"]
        self.run.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p]
        scratch_bytes = library[f"{name}_c_scratch_bytes"]
        scratch_bytes.restype = ctypes.c_size_t
        self.scratch = empty((scratch_bytes(),), np.uint8)
        library[f"{name}_c_prepare"](ctypes.c_void_p(self.scratch.ctypes.data))

    def __call__(self, params, results):
        """Arrays in, arrays filled. A kernel trusts its caller as any C function does, so sizes are looked at here."""
        for array, expected in zip([*params, *results], [*self.about["params"], *self.about["results"]], strict=True):
            assert array.nbytes == expected["bytes"] and array.flags.c_contiguous, expected["shape"]
        pointers = [(ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)) for arrays in (params, results)]
        if self.run(*pointers, self.scratch.ctypes.data):
            raise ValueError("a buffer begins at no multiple of 64 bytes")


def empty(shape, dtype):
    """An array whose memory begins at a multiple of 64 bytes, as kernels need it; NumPy itself promises 16."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(count + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + count].view(dtype).reshape(shape)


def main():
    scores, mask, weights = empty((64, 256), np.float32), empty((64, 256), np.bool_), empty((64, 256), np.float32)
    scores[...] = np.sin(np.arange(64 * 256)).reshape(64, 256)
    mask[...] = np.tri(64, 256, 100, dtype=bool)

    build(attention_weights, "attention_weights", scores, mask)
    Kernel("attention_weights")([scores, mask], [weights])

    expected = np.asarray(jax.jit(attention_weights)(scores, mask))
    print("rows sum to 1:", "yes" if abs(weights.sum(axis=1) - 1).max() < 1e-6 else "no")
    print("as JAX computes it:", "yes" if np.allclose(weights, expected, rtol=1e-5, atol=0) else "no")


main()
