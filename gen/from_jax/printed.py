"""A separate process that prints MLIR bytecode as StableHLO text with locations (which contain the arguments' names).

    python3 printed.py FOLDER

It reads FOLDER/bytecode and writes FOLDER/text. If jaxlib cannot read the bytecode, it writes jaxlib's message to
FOLDER/fault.
"""

from __future__ import annotations

import sys
from pathlib import Path

MISSING = 3     # exit status if jaxlib is missing


def main(folder: Path) -> int:
    try:
        from jax.interpreters import mlir
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
    except ImportError:
        return MISSING
    data = (folder / "bytecode").read_bytes()
    try:
        with mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = True
            try:
                module = stablehlo.deserialize_portable_artifact(context, data)
            except (ir.MLIRError, ValueError):
                module = ir.Module.parse(data)
            (folder / "text").write_text(module.operation.get_asm(enable_debug_info=True))
    except (ir.MLIRError, ValueError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or ["it cannot be read"]
        (folder / "fault").write_text(lines[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
