"""C kernels of sett on NumPy arrays. Copy this file beside a program: it needs NumPy, and nothing of sett."""

import ctypes
import json
from pathlib import Path

import numpy as np


class Kernel:
    """A built function. Loading it needs the library and the manifest, nothing else."""

    def __init__(self, folder, name):
        library = ctypes.CDLL(str(Path(folder).resolve() / f"{name}.so"))
        self.about = json.loads((Path(folder) / f"{name}.json").read_text())
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
