"""Write HLO modules for bench/beside_xla.py. Each has a function that was once slow: a pool, a stencil, an op on rows, a
concatenation, a gather or a transpose.
    python3 bench/kinds.py FOLDER      writes FOLDER/NAME.hlo for each function; needs JAX
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

import jax
import jax.numpy as jnp
from jax import lax

F32, BF16, S8, S32 = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32


def of(*dims: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, dtype)


def average(size: int, stride: int, padding: str = "VALID") -> "Callable[..., Any]":
    return lambda x: lax.reduce_window(x, 0., lax.add, (1, size, size, 1), (1, stride, stride, 1), padding) / size ** 2


def largest(size: int, padding: str = "VALID") -> "Callable[..., Any]":
    return lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, 2, 2, 1), padding)


def gradient(pool: "Callable[..., Any]") -> "Callable[..., Any]":
    return lambda x, g: jax.vjp(pool, x)[1](g)[0]


def box(x: Any) -> Any:
    rows = lax.reduce_window(x, 0., lax.add, (1, 5), (1, 1), "SAME")
    return lax.reduce_window(rows, 0., lax.add, (5, 1), (1, 1), "SAME") / 25


def blur(x: Any) -> Any:
    """Return a blurred image: a window along one dimension, then along the other, with repeated edges."""
    weights, (rows, columns) = [.0625, .25, .375, .25, .0625], x.shape
    wide = jnp.pad(x, ((0, 0), (2, 2)), mode="edge")
    x = sum(w * wide[:, k:k + columns] for k, w in enumerate(weights))
    high = jnp.pad(x, ((2, 2), (0, 0)), mode="edge")
    return sum(w * high[k:k + rows] for k, w in enumerate(weights))


def five(x: Any) -> Any:
    return x[1:-1, 1:-1] * .5 + .125 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])


def nine(x: Any) -> Any:
    rows, columns = x.shape
    return sum(x[a:rows - 2 + a, b:columns - 2 + b] * (.1 * a + .2 * b + .05) for a in range(3) for b in range(3))


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, -1)


def joined(*x: Any) -> Any:
    return jnp.concatenate(x, -1)


def taken(table: Any, index: Any) -> Any:
    return jnp.take(table, index, axis=0, mode="clip")


IMAGES = of(8, 112, 112, 64)
KINDS: "Dict[str, Tuple[Any, ...]]" = {
    "average 2x2": (average(2, 2), IMAGES),
    "average 3x3 stride 2": (average(3, 2, "SAME"), IMAGES),
    "average 3x3 stride 1": (average(3, 1, "SAME"), of(8, 56, 56, 64)),
    "maximum 2x2": (largest(2), IMAGES),
    "maximum 3x3": (largest(3, "SAME"), IMAGES),
    "gradient of maximum 2x2": (gradient(largest(2)), IMAGES, of(8, 56, 56, 64)),
    "gradient of maximum 3x3": (gradient(largest(3, "SAME")), IMAGES, of(8, 56, 56, 64)),
    "box 5x5": (box, of(2048, 2048)),
    "blur 2048": (blur, of(2048, 2048)),
    "blur 2000 x 1999": (blur, of(2000, 1999)),
    "stencil of five": (five, of(4096, 4096)),
    "stencil of nine": (nine, of(2048, 2048)),
    "softmax bf16 1024": (softmax, of(8192, 1024, dtype=BF16)),
    "softmax bf16 4096": (softmax, of(2048, 4096, dtype=BF16)),
    "softmax bf16 in f32": (lambda x: softmax(x.astype(F32)).astype(BF16), of(8192, 1024, dtype=BF16)),
    "rows of 300": (lambda x: x / jnp.sqrt((x * x).sum(-1, keepdims=True)), of(50000, 300)),
    "500 rows of 300": (softmax, of(500, 300)),
    "layer norm 1024": (layer_norm, of(8192, 1024), of(1024), of(1024)),
    "layer norm 768": (layer_norm, of(8192, 768), of(768), of(768)),
    "layer norm bf16": (layer_norm, of(8192, 1024, dtype=BF16), of(1024, dtype=BF16), of(1024, dtype=BF16)),
    "sine and cosine": (lambda x: (jnp.sin(x), jnp.cos(x)), of(1 << 22)),
    "rotation": (lambda x, y: x * jnp.cos(y) - jnp.sin(y), of(1 << 22), of(1 << 22)),
    "GELU": (jax.nn.gelu, of(1 << 23)),
    "GELU bf16": (jax.nn.gelu, of(1 << 23, dtype=BF16)),
    "GELU by erf": (lambda x: jax.nn.gelu(x, approximate=False), of(1 << 23)),
    "joined 200 and 312": (joined, of(65536, 200), of(65536, 312)),
    "joined 33, 70, 51 and 101": (joined, *(of(65536, n) for n in (33, 70, 51, 101))),
    "joined bf16 200 and 312": (joined, of(65536, 200, dtype=BF16), of(65536, 312, dtype=BF16)),
    "joined s8 201 and 311": (joined, of(65536, 201, dtype=S8), of(65536, 311, dtype=S8)),
    "joined s8 64, 60, 31 and 101": (joined, *(of(65536, n, dtype=S8) for n in (64, 60, 31, 101))),
    "taken rows of 2 KiB": (taken, of(100000, 512), of(16384, dtype=S32)),
    "taken s8 rows of 2 KiB": (taken, of(100000, 2048, dtype=S8), of(16384, dtype=S32)),
    "taken bf16 rows of 256 B": (taken, of(400000, 128, dtype=BF16), of(65536, dtype=S32)),
    "taken elements": (taken, of(1 << 20), of(1 << 22, dtype=S32)),
    "sums of segments": (jax.vmap(lambda x, s: jax.ops.segment_sum(x, s, 128)), of(64, 4096), of(64, 4096, dtype=S32)),
    "f32 to bf16": (lambda x: x.astype(BF16), of(1 << 23)),
    "bf16 to f32": (lambda x: x.astype(F32), of(1 << 23, dtype=BF16)),
}

# All of these transposes move elements. (If a transpose moves none, JAX only prints another layout of its result.)
TRANSPOSES = {
    "transposed 210": ("f32", (128, 256, 512), (2, 1, 0)),
    "transposed bf16": ("bf16", (4096, 4096), (1, 0)),
    "transposed bf16 odd": ("bf16", (4095, 4097), (1, 0)),
    "transposed s8": ("s8", (8192, 4096), (1, 0)),
    "transposed s8 odd": ("s8", (8191, 4097), (1, 0)),
}


def transpose(dtype: str, dims: "Tuple[int, ...]", order: "Tuple[int, ...]") -> str:
    given, to = (f"{dtype}[{','.join(str(n) for n in sizes)}]" for sizes in (dims, [dims[d] for d in order]))
    return (f"HloModule m\n\nENTRY main {{\n  x = {given} parameter(0)\n"
            f"  ROOT y = {to} transpose(x), dimensions={{{','.join(str(d) for d in order)}}}\n}}\n")


def main() -> int:
    if len(sys.argv) != 2:
        print(f"error: expected a folder\n{__doc__}", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name: jax.jit(function).lower(*shapes).as_text("hlo") for name, (function, *shapes) in KINDS.items()}
    texts.update((name, transpose(*words)) for name, words in TRANSPOSES.items())
    for name, text in texts.items():
        (folder / f"{name.replace(',', '').replace(' ', '_')}.hlo").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
