"""Compare the text of every generated file with that of another commit, to show the effect of a change to the generator.
    python3 tests/snapshot.py [COMMIT] [--only PART]
    ninja snapshot                                      (compares with $SETT_COMMIT, default: HEAD)

The generators of this tree and of the commit each build every module of tests/kernels, tests/tilings, tests/hlo and
bench, for every target and class of device, into build/snapshot/. The output lists each file that differs, with the
line numbers of the differences. For files in C and CUDA it also counts the compiled instructions. A class of device
that only one of the two generators has takes one line of the output. The exit status is 0 if no file differs,
otherwise 1.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "build" / "snapshot"
FOLDERS = ("tests/kernels", "tests/tilings", "tests/hlo", "bench")
# Runs the command line of one tree's generator in one process. argv: the root of the tree, the folder to write to, the
# files.
DRIVER = """
import sys
from pathlib import Path
root, out, part, parts, *files = sys.argv[1:]
sys.path.insert(0, root)
from gen.__main__ import main
try:
    from gen.schedule import DEVICES
except ImportError:
    from gen.schedule.devices import DEVICES
jobs = [(file, device) for file in files for device in DEVICES.values()]
for file, device in jobs[int(part)::int(parts)]:
    target = device.language if hasattr(device, 'language') else device.target
    folder = Path(out) / device.name / Path(file).parent.name / Path(file).stem
    options = (["--profile", device.name, "--most-bytes", str(1 << 40)] if getattr(device, "most_bytes", 0)
               else ["--target", target, "--device", device.name])
    if main(["build", file, "-o", str(folder), *options]):
        sys.exit(f"{file} for {device.name}: gen build failed")
    for depfile in folder.glob("*.d"):
        depfile.unlink()
"""


def modules(only: str) -> List[str]:
    found = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.hlo") if not only or only in str(path.relative_to(ROOT)))
    return [str(path.relative_to(ROOT)) for path in found]


def generate(tree: Path, out: Path, files: Sequence[str]) -> None:
    """Run the generator of `tree` on the modules `files`, which are in this tree. Write all generated files to
    `out`.
    """
    shutil.rmtree(out, ignore_errors=True)
    parts = os.cpu_count() or 1
    subprocess.run([sys.executable, "-m", "gen", "--help"], cwd=tree, check=True, stdout=subprocess.DEVNULL)

    def part(number: int) -> None:
        done = subprocess.run([sys.executable, "-c", DRIVER, str(tree), str(out), str(number), str(parts), *files], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        if done.returncode:    # a successful build's messages are not shown
            raise SystemExit(done.stderr)
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(part, range(parts)))


def tree_of(commit: str) -> Path:
    """Return the folder with the tree of a commit. Check the commit out if it is not there yet."""
    name = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    tree = HERE / "trees" / name
    if not tree.exists():
        new = tree.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", name], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(new)], input=archive, check=True)
        new.rename(tree)
    return tree


def texts(folder: Path) -> Dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def instructions(path: Path) -> Optional[int]:
    """Return the number of instructions in the compiled kernels of a file, or None if the file cannot be compiled here.
    """
    if path.suffix == ".c" and not path.name.endswith("_ref.c"):
        made = subprocess.run(["cc", "-O3", "-march=native", "-w", "-S", "-o", "-", str(path)], capture_output=True, text=True)
        return None if made.returncode else len(re.findall(r"^\t[a-z]", made.stdout, re.M))
    if path.suffix == ".cu" and shutil.which("nvcc"):
        ptx = path.with_suffix(".ptx")    # nvcc cannot write to a pipe
        made = subprocess.run(["nvcc", "-arch=sm_90", "-w", "-ptx", "-o", str(ptx), str(path)], capture_output=True)
        return None if made.returncode else len(re.findall(r"^\t(?!\.)[@a-z]", ptx.read_text(), re.M))
    return None


def compare(old: Path, new: Path, show: bool) -> int:
    before, after = texts(old), texts(new)
    changed: List[Tuple[str, int]] = []
    devices = [{name.split("/")[0] for name in files if "/" in name} for files in (before, after)]
    alone = devices[0] ^ devices[1]
    for device in sorted(alone):
        print(f"{device}: {sum(name.startswith(device + '/') for name in (before.keys() | after.keys()))} files, {'new' if device in devices[1] else 'gone'}")
    for name in sorted(before.keys() | after.keys()):
        if name.split("/")[0] in alone:
            continue
        a, b = before.get(name), after.get(name)
        if a == b:
            continue
        lines = list(difflib.unified_diff((a or "").splitlines(), (b or "").splitlines(), str(old / name), str(new / name), lineterm="", n=2))
        changed.append((name, sum(line[0] in "+-" and line[:3] not in ("+++", "---") for line in lines)))
        if show:
            print("\n".join(lines))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counted = [(name, pool.submit(instructions, old / name), pool.submit(instructions, new / name)) for name, _ in changed]
        code = {name: (a.result(), b.result()) for name, a, b in counted}
    for name, lines_changed in changed:
        a, b = code[name]
        compiled = f", {a} -> {b} instructions" if a is not None and b is not None else ""
        print(f"{name}: {lines_changed} lines differ{compiled}")
    print(f"{len(before)} files before, {len(after)} now, {len(changed)} differ")
    return bool(changed or alone)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("commit", nargs="?", default=os.environ.get("SETT_COMMIT", "HEAD"))
    given.add_argument("--only", default="", metavar="PART", help="modules whose path holds PART")
    given.add_argument("--diff", action="store_true", help="print the differences, too")
    asked = given.parse_args()
    files = modules(asked.only)
    tree = tree_of(asked.commit)
    old, new = HERE / f"of_{tree.name}", HERE / "now"
    stamp = old / "files"
    if not stamp.exists() or stamp.read_text() != "\n".join(files):
        generate(tree, old, files)
        stamp.write_text("\n".join(files))
    generate(ROOT, new, files)
    (new / "files").write_text("\n".join(files))
    return compare(old, new, asked.diff)


if __name__ == "__main__":
    sys.exit(main())
