"""Make an HTML page that runs the commands of build/sett as WebAssembly: `python3 gen/playground/make.py FILE.html`.
The exit status is 3 if clang or wasm-ld is missing.
"""

from __future__ import annotations

import base64
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

HERE = Path(__file__).resolve().parent
FLAGS = ["--target=wasm32", "-std=c11", "-ffreestanding", "-fno-builtin", "-nostdlib", "-Oz", "-Wall", "-Wextra",
         "-Werror", "-isystem", str(HERE / "libc"), "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=1048576"]
MOST = 400 << 10


def compiler() -> "Optional[str]":
    """Return a clang that can link WebAssembly: clang, else the newest clang-N. wasm-ld must have the same suffix."""
    for version in ("", *(f"-{n}" for n in range(30, 12, -1))):
        if shutil.which(f"clang{version}") and shutil.which(f"wasm-ld{version}"):
            return f"clang{version}"
    return None


def program(clang: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sett.wasm"
        subprocess.run([clang, *FLAGS, str(HERE / "wasm.c"), "-o", str(out)], check=True)
        return out.read_bytes()


def main(path: str) -> int:
    clang = compiler()
    if not clang:
        print("SKIP playground: no clang with its wasm-ld (Debian: clang lld)")
        return 3
    packed = base64.b64encode(gzip.compress(program(clang), 9, mtime=0)).decode()
    page = (HERE / "page.html").read_text().replace("@PROGRAM@", packed)
    if len(page) > MOST:
        print(f"error: the page has {len(page)} bytes, expected at most {MOST}", file=sys.stderr)
        return 2
    Path(path + ".new").write_text(page)
    os.replace(path + ".new", path)
    print(f"{path}: {len(page)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
