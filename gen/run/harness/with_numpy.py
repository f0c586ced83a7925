"""NumPy as a rival of a kernel, with the protocol of gen/run/harness/serve.h. Each thread writes a slab of the result.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, List

try:
    import numpy as np
except ImportError:
    print("skip no NumPy", flush=True)
    sys.exit()

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "s32": "int32", "s8": "int8", "u8": "uint8"}


def slabs(length: int, count: int) -> List[slice]:
    """Split a dimension into `count` slices of nearly equal length."""
    return [slice(length * i // count, length * (i + 1) // count) for i in range(count)]


def calls(name: str, x: Any, y: Any, order: List[int], threads: int) -> List[Callable[[], Any]]:
    """Return the functions that the threads run to compute y from x. For a full reduction, each function returns a
    partial value, and the caller combines the values.
    """
    if name == "transpose":
        return [partial(np.copyto, y[s], x.transpose(order)[s]) for s in slabs(y.shape[0], threads)]
    function, axis = getattr(np, name), order[0] if name.startswith("arg") else tuple(order)
    kept = next((d for d in range(x.ndim) if d not in order), None)
    if kept is None:
        return [partial(function, x.reshape(-1)[s]) for s in slabs(x.size, threads)]
    at = [(slice(None),) * kept + (s,) for s in slabs(x.shape[kept], threads)]
    return [partial(function, x[s], axis=axis, out=y[s[kept:]]) for s in at]


def main(name: str, dtype: str, dims: List[int], order: List[int], threads: int, footprint: int, source: str,
         result: str) -> None:
    if name == "transpose" and dtype == "bf16":
        dtype = "f16"  # NumPy has no bf16; f16 has the same size, so it is moved in the same way
    if dtype not in TYPES:
        print(f"skip NumPy has no {dtype}", flush=True)
        return
    first = np.fromfile(source, TYPES[dtype]).reshape(dims)
    shape = [dims[d] for d in order] if name == "transpose" else [n for d, n in enumerate(dims) if d not in order]
    kind = np.intp if name.startswith("arg") else TYPES[dtype]
    sets = int(footprint // (first.nbytes + np.empty(shape, kind).nbytes)) + 1
    x = [np.array(first) for _ in range(sets)]
    y = [np.ones(shape, kind) for _ in range(sets)]
    work = [calls(name, a, b, order, threads) for a, b in zip(x, y)]
    with ThreadPoolExecutor(threads) as pool:

        def run(number: int) -> None:
            parts = list(pool.map(lambda call: call(), work[number % sets]))
            if not shape:
                y[number % sets][...] = getattr(np, name)(parts)

        run(0)
        (y[0].astype(np.int32) if name.startswith("arg") else y[0]).tofile(result)
        what = "copyto of the transpose" if name == "transpose" else name
        print(f"ready NumPy {np.__version__} {what} on {len(work[0])} threads", flush=True)
        number = 0
        for line in sys.stdin:
            start = time.perf_counter()
            for _ in range(int(line)):
                run(number)
                number += 1
            print(f"{time.perf_counter() - start:.9f}", flush=True)


if __name__ == "__main__":
    dims, order = ([int(n) for n in words.split(",")] for words in sys.argv[3:5])
    main(sys.argv[1], sys.argv[2], dims, order, int(sys.argv[5]), int(sys.argv[6]), sys.argv[7], sys.argv[8])
