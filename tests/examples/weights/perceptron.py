"""A network whose weights are constants in the text. It writes perceptron.hlo, which is all that the C program needs of
JAX.
"""

import jax
import jax.numpy as jnp
import numpy as np

drawn = np.random.default_rng(0)
INNER, OUTER, SHIFT = (jnp.array(np.round(drawn.normal(0, 0.3, dims), 2), jnp.float32) for dims in ((16, 80), (80, 4), (80,)))


def perceptron(x):
    return jnp.maximum(x @ INNER + SHIFT, 0) @ OUTER


if __name__ == "__main__":
    lowered = jax.jit(perceptron).lower(jax.ShapeDtypeStruct((16,), jnp.float32))
    open("perceptron.hlo", "w").write(lowered.compiler_ir("hlo").as_hlo_text(True))  # True: print large constants
