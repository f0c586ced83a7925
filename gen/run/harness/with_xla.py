"""XLA's CPU backend as a rival of a kernel, with the protocol of gen/run/harness/serve.h. It runs a whole fusion:
OPERATION is "module", and DTYPE is the file of its HLO text.

XLA allocates memory for its results. Page faults must not be part of the timing, so malloc is told to keep freed
memory (rivals.py sets GLIBC_TUNABLES), and the most recent results, one per set of parameters, are kept alive. Each
new result then reuses the memory of the oldest one.
"""

import os
import sys
import time
from typing import Any, List

try:
    import jax
    import numpy as np
    from jax._src.lib import _jax, xla_client
    from jax.experimental.layout import Format, Layout
    from jax.sharding import SingleDeviceSharding
    from jaxlib import _hlo
except ImportError:
    print("skip no jax, or one without jaxlib._hlo", flush=True)
    sys.exit()

MOST_SETS = 1024
MOST_ARRAYS = 1 << 16  # maximum number of arrays in all sets together
AHEAD = 4  # maximum number of calls in flight; XLA itself allows at most 32


def compiled(text: str) -> Any:
    """Return the executable of an HLO module's text, and the shapes of its parameters and results, with layouts."""
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    shape = _hlo.XlaComputation(proto).program_shape()
    options = xla_client.CompileOptions()
    options.argument_layouts = shape.parameter_shapes()
    options.executable_build_options.result_layout = shape.result_shape()
    devices = xla_client.DeviceList(tuple(jax.devices("cpu")[:1]))
    program = devices[0].client.compile_and_load(_jax.mlir.hlo_to_stablehlo(proto), devices, options)
    result = shape.result_shape()
    return program, shape.parameter_shapes(), result.tuple_shapes() if result.is_tuple() else [result]


def order(shape: Any) -> List[int]:
    """Return the dimensions in memory order, most major first."""
    return list(reversed(shape.layout().minor_to_major()))


def parameters(shapes: List[Any], source: str) -> List[Any]:
    """Read NumPy arrays from a file that holds the parameters one after another."""
    arrays, at = [], 0
    data = np.fromfile(source, np.uint8)
    for shape in shapes:
        kind, dims = shape.numpy_dtype(), shape.dimensions()
        size = int(np.prod(dims, dtype=np.int64)) * kind.itemsize
        stored = data[at:at + size].view(kind).reshape([dims[d] for d in order(shape)])
        arrays.append(stored.transpose(np.argsort(order(shape)).astype(int)))
        at += size
    return arrays


def main(file: str, threads: int, footprint: int, source: str, result: str) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with open(file) as text:
        program, shapes, result_shapes = compiled(text.read())
    given = parameters(shapes, source)
    sharding = SingleDeviceSharding(jax.devices("cpu")[0])
    formats = [Format(Layout(tuple(order(shape))), sharding) for shape in shapes]

    def put() -> List[Any]:
        """Return a fresh copy of each parameter on the device; without np.array, device_put might share the given
        array's memory.
        """
        return [jax.device_put(np.array(x), as_) for x, as_ in zip(given, formats)]

    def start(set_: List[Any]) -> List[Any]:
        return [parts[0] for parts in program.execute_sharded(set_).disassemble_into_single_device_arrays()]

    first = start(put())
    with open(result, "wb") as to:
        for array, shape in zip(first, result_shapes):
            to.write(np.asarray(array).transpose(order(shape)).tobytes())
    moved = sum(x.nbytes for x in [*given, *first])
    count = min(MOST_SETS, MOST_ARRAYS // len([*given, *first]) + 1, int(footprint // max(1, moved)) + 1)
    sets = [put() for _ in range(count)]
    results: List[Any] = [None] * max(count, AHEAD + 1)

    def run(number: int) -> None:
        place = number % len(results)
        results[place] = None
        results[place] = start(sets[number % count])
        for array in results[place - AHEAD] or []:
            array.block_until_ready()

    number = 0
    for number in range(2 * len(results)):  # these runs map the pages of all results
        run(number)
    jax.block_until_ready(results)
    print(f"ready XLA:CPU {jax.__version__} (jax) on {threads} threads", flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            run(number)
            number += 1
        jax.block_until_ready(results)
        print(f"{time.perf_counter() - begin:.9f}", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[2], int(sys.argv[5]), int(sys.argv[6]), *sys.argv[7:9])
    except Exception as error:  # XLA raises many types of exceptions for modules that it cannot compile
        said = [line.strip() for line in str(error).splitlines()] or [type(error).__name__]
        print("skip " + " ".join(said[:2] if said[0].endswith(":") else said[:1]), flush=True)
