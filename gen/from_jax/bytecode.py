"""Convert MLIR bytecode to StableHLO text: .mlirbc files, portable artifacts, and files that jax.export serialises."""

from __future__ import annotations

from pathlib import Path

from gen import jobs
from gen.from_jax.functions import INSTALL, MISSING, with_jax
from gen.targets import RunError

MAGIC = b"ML\xefR"
LENGTH = 4  # size in bytes of the little-endian length that precedes a flatbuffer's vector


def is_bytecode(data: bytes) -> bool:
    """Return true if bytes are MLIR bytecode, or a file of jax.export with bytecode in it."""
    return bool(bytecode_in(data))


def bytecode_in(data: bytes) -> bytes:
    """Return the MLIR bytecode in a file: the file itself, or a vector in a flatbuffer of jax.export; b"" if there is
    none.
    """
    at = data.find(MAGIC)
    if at == 0:
        return data
    if at < LENGTH or data[:at].isascii() and b"\0" not in data[:at]:
        return b""
    return data[at:at + int.from_bytes(data[at - LENGTH:at], "little")]


def text_of(path: str, data: bytes) -> str:
    """Return the text of bytecode, printed by jaxlib. Raise RunError if jaxlib is missing or fails."""
    with jobs.temporary_folder("sett_bytecode_") as folder:
        (Path(folder) / "bytecode").write_bytes(bytecode_in(data))
        done = with_jax("printed.py", folder)
        if done.status == MISSING:
            raise RunError(f"{path}: MLIR bytecode, which JAX prints as text ({INSTALL}). Where JAX is, these two lines do: "
                           f"{two_lines(path, data)}", 3)
        text, fault = Path(folder) / "text", Path(folder) / "fault"
        if text.exists():
            return text.read_text()
        said = fault.read_text() if fault.exists() else (done.err.strip().splitlines() or ["it cannot be read"])[-1]
        raise RunError(f"{path}: MLIR bytecode: {said}")


def two_lines(path: str, data: bytes) -> str:
    """Return a short Python program that prints the text of the file; error messages suggest it to the user."""
    if not data.startswith(MAGIC):
        return (f"import jax.export; exported = jax.export.deserialize(bytearray(open({path!r}, 'rb').read())) / "
                "print(exported.mlir_module())")
    return (f"from jaxlib.mlir.dialects import stablehlo; from jax.interpreters import mlir / "
            f"print(stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), open({path!r}, 'rb').read()))")
