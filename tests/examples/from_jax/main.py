"""Compile a JAX function to a C kernel and call it on NumPy arrays. Running the kernel needs neither JAX nor XLA."""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
from kernel import Kernel, empty

HERE = Path(__file__).resolve().parent
SETT = HERE.parent.parent.parent    # the folder that holds gen
BUILD = HERE / "build"


def attention_weights(scores, mask):
    """The function to compile: a masked softmax."""
    return jax.nn.softmax(jax.numpy.where(mask, scores, -1e9), axis=-1)


def by_column(scores, mask):
    """attention_weights, transposed. JAX gives a final transpose the layout {0,1}, so it moves nothing."""
    return attention_weights(scores, mask).T


def build(function, name, *shapes):
    """Build a function for arguments with these shapes and types, and return the shared library. Only this part needs
    JAX, gen and a compiler.
    """
    BUILD.mkdir(exist_ok=True)
    # The text is taken before XLA fuses anything, so gen makes all of it one fusion. The text after .compile() would
    # have the fusions of XLA's CPU backend.
    (BUILD / f"{name}.hlo").write_text(jax.jit(function).lower(*shapes).as_text("hlo"))
    subprocess.run([sys.executable, SETT / "gen", "build", BUILD / f"{name}.hlo", "-o", BUILD, "--target", "c"], check=True)
    subprocess.run(["cc", "-O2", "-march=native", "-shared", "-fPIC", BUILD / f"{name}.c", "-lm", "-o", BUILD / f"{name}.so"], check=True)


def main():
    scores, mask, weights = empty((64, 256), np.float32), empty((64, 256), np.bool_), empty((64, 256), np.float32)
    scores[...] = np.sin(np.arange(64 * 256)).reshape(64, 256)
    mask[...] = np.tri(64, 256, 100, dtype=bool)

    build(attention_weights, "attention_weights", scores, mask)
    Kernel(BUILD, "attention_weights")([scores, mask], [weights])

    build(by_column, "by_column", scores, mask)
    columns = empty((256, 64), np.float32)
    Kernel(BUILD, "by_column")([scores, mask], [columns])    # columns is row-major, although the kernel's result is f32[256,64]{0,1}

    expected = np.asarray(jax.jit(attention_weights)(scores, mask))
    print("rows sum to 1:", "yes" if abs(weights.sum(axis=1) - 1).max() < 1e-6 else "no")
    print("as JAX computes it:", "yes" if np.allclose(weights, expected, rtol=1e-5, atol=0) else "no")
    print("transposed:", "yes" if np.allclose(columns, np.asarray(jax.jit(by_column)(scores, mask)), rtol=1e-5, atol=0) else "no")


if __name__ == "__main__":
    main()
