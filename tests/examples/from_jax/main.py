"""A function written for JAX as a C kernel that NumPy arrays go through: no JAX, no XLA where it runs."""

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
    """What is to become one kernel: a masked softmax."""
    return jax.nn.softmax(jax.numpy.where(mask, scores, -1e9), axis=-1)


def by_column(scores, mask):
    """The same, transposed: JAX gives a transpose that comes last the layout {0,1}, in which it moves nothing."""
    return attention_weights(scores, mask).T


def build(function, name, *shapes):
    """The shared library of a function for arguments of these shapes and types. Only this half needs JAX, gen and a compiler."""
    BUILD.mkdir(exist_ok=True)
    # The text before XLA has fused anything: gen makes all of it one fusion. After .compile() it is what XLA's CPU backend left.
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
    Kernel(BUILD, "by_column")([scores, mask], [columns])       # row-major, although the kernel's result is f32[256,64]{0,1}

    expected = np.asarray(jax.jit(attention_weights)(scores, mask))
    print("rows sum to 1:", "yes" if abs(weights.sum(axis=1) - 1).max() < 1e-6 else "no")
    print("as JAX computes it:", "yes" if np.allclose(weights, expected, rtol=1e-5, atol=0) else "no")
    print("transposed:", "yes" if np.allclose(columns, np.asarray(jax.jit(by_column)(scores, mask)), rtol=1e-5, atol=0) else "no")


if __name__ == "__main__":
    main()
