"""XLA's CPU backend beside ours, as gen/run/harness/serve.h says, for a whole fusion: OPERATION is "module", DTYPE the file of its HLO text.

XLA allocates its results. So that page faults are not what is timed, malloc is told to keep freed memory (rivals.py sets
GLIBC_TUNABLES), and the results of as many calls as there are sets of parameters stay alive: each result then takes the
memory of the oldest one.
"""

import os
import sys
import time
from typing import Any, List

try:
    import jax
    import numpy as np
    from jax._src.lib import _jax, xla_client
    from jaxlib import _hlo
except ImportError:
    jax = None

AHEAD = 16  # calls that are started before one must have ended: XLA runs no more than 32 at once


def compiled(text: str) -> Any:
    """The executable of an HLO module's text."""
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    devices = xla_client.DeviceList(tuple(jax.devices("cpu")[:1]))
    return proto, devices[0].client.compile_and_load(_jax.mlir.hlo_to_stablehlo(proto), devices, xla_client.CompileOptions())


def parameters(proto: bytes, source: str) -> List[Any]:
    """NumPy arrays of the file's bytes, parameter by parameter."""
    arrays, at = [], 0
    data = np.fromfile(source, np.uint8)
    for shape in _hlo.XlaComputation(proto).program_shape().parameter_shapes():
        kind = shape.numpy_dtype()
        size = int(np.prod(shape.dimensions(), dtype=np.int64)) * kind.itemsize
        arrays.append(data[at:at + size].view(kind).reshape(shape.dimensions()))
        at += size
    return arrays


def main(file: str, threads: int, footprint: int, source: str, result: str) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with open(file) as text:
        proto, program = compiled(text.read())
    given = parameters(proto, source)

    def start(set_: List[Any]) -> List[Any]:
        return [parts[0] for parts in program.execute_sharded(set_).disassemble_into_single_device_arrays()]

    first = start([jax.device_put(x) for x in given])
    with open(result, "wb") as to:
        for array in first:
            to.write(np.asarray(array).tobytes())
    moved = sum(x.nbytes for x in [*given, *first])
    count = int(footprint // max(1, moved)) + 1
    # Copies: device_put may keep the array it is given.
    sets = [[jax.device_put(np.array(x)) for x in given] for _ in range(count)]
    results: List[Any] = [None] * max(count, AHEAD + 1)

    def run(number: int) -> None:
        place = number % len(results)
        results[place] = None
        results[place] = start(sets[number % count])
        for array in results[place - AHEAD] or []:
            array.block_until_ready()

    number = 0
    for number in range(2 * len(results)):  # twice through the results' memory: its pages are there then
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
    if jax is None:
        print("skip no jax, or one without jaxlib._hlo", flush=True)
    else:
        try:
            main(sys.argv[2], int(sys.argv[5]), int(sys.argv[6]), *sys.argv[7:9])
        except Exception as error:  # XLA refuses what it cannot compile with many kinds of exceptions
            print(f"skip {str(error).splitlines()[0] if str(error) else type(error).__name__}", flush=True)
