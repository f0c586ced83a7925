"""Call C kernels of sett on NumPy arrays. Copy this file next to your program: it needs NumPy, and no other file of
sett.
"""

import ctypes
import json
from pathlib import Path

import numpy as np


class Kernel:
    """A generated function. Loading it needs only the shared library and the manifest."""

    def __init__(self, folder, name):
        library = ctypes.CDLL(str(Path(folder).resolve() / f"{name}.so"))
        self.about = json.loads((Path(folder) / f"{name}.json").read_text())
        self.run = library[f"{name}_c_run"]
        self.run.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p]
        scratch_bytes = library[f"{name}_c_scratch_bytes"]
        scratch_bytes.restype = ctypes.c_size_t
        self.scratch = empty((scratch_bytes(),), np.uint8)
        library[f"{name}_prepare"](None, ctypes.c_void_p(self.scratch.ctypes.data))

    def __call__(self, params, results):
        """Run the kernel on row-major arrays and write the row-major results. If the kernel has another layout for an
        array, such as {0,1}, the array is copied. The kernel does not check its arguments, so this method does.
        """
        _check("parameter", params, self.about["params"])
        _check("result", results, self.about["results"])
        laid = {}    # keyed by the array's identity, so that an array that is both parameter and result stays one buffer
        for array, entry in zip([*params, *results], [*self.about["params"], *self.about["results"]]):
            laid[id(array)] = _laid(array, entry)
        for array in params:
            if laid[id(array)] is not array:
                laid[id(array)][...] = array
        pointers = [(ctypes.c_void_p * len(arrays))(*(laid[id(array)].ctypes.data for array in arrays)) for arrays in (params, results)]
        if self.run(*pointers, self.scratch.ctypes.data):
            raise ValueError("a buffer is not aligned to its elements")
        for array in results:
            if laid[id(array)] is not array:
                array[...] = laid[id(array)]


# The HLO types that NumPy has. For other types an array contains the elements' bits.
_DTYPES = {"pred": "?", **{f"{kind}{8 * size}": f"{letter}{size}" for kind, letter, sizes in (
    ("s", "i", (1, 2, 4, 8)), ("u", "u", (1, 2, 4, 8)), ("f", "f", (2, 4, 8)), ("c", "c", (8, 16))) for size in sizes}}


def _check(what, arrays, expected):
    """Raise ValueError for the first array that does not match the kernel's parameter or result."""
    if len(arrays) != len(expected):
        raise ValueError(f"expected {len(expected)} {what}{'s' * (len(expected) != 1)}, found {len(arrays)}")
    for number, (array, entry) in enumerate(zip(arrays, expected)):
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{what} {number}: expected {entry['shape']}, found {type(array).__name__}: make arrays with empty()")
        dims = tuple(entry["dims"])
        whole = "strides" in entry    # tiled arrays, and arrays with two 4-bit elements per byte, are passed as bytes
        if (array.nbytes != entry["bytes"] or whole and array.shape != dims or not _holds(array.dtype, entry["dtype"])
                or not array.flags.c_contiguous or what == "result" and not array.flags.writeable):
            found = f"{array.dtype}{list(array.shape)}" + ", not in C order" * (not array.flags.c_contiguous) + ", read-only" * (not array.flags.writeable)
            raise ValueError(f"{what} {number}: expected {entry['shape']}, found {found}")


def _laid(array, entry):
    """Return the array itself if the kernel has the same layout for it, otherwise an array of the same shape whose
    memory has the kernel's layout.
    """
    if entry["row_major"] or "strides" not in entry:
        return array
    return np.ndarray(array.shape, array.dtype, empty((entry["bytes"],), np.uint8), strides=entry["strides"])


def _holds(found, dtype):
    """Return whether an array of NumPy type `found` can hold elements of the HLO type `dtype`. If NumPy
    lacks `dtype`, a type of the same name is right (ml_dtypes has bfloat16), and so are unsigned integers that hold the
    elements' bits.
    """
    if dtype in _DTYPES:
        return found == np.dtype(_DTYPES[dtype])
    return found.kind == "u" or found.name.replace("bfloat", "bf").replace("float8_", "f8").replace("_", "") == dtype


def empty(shape, dtype):
    """Return an array aligned to 64 bytes, which is fastest for kernels. NumPy itself only guarantees 16 bytes."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(count + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + count].view(dtype).reshape(shape)
