"""How the kernels of a target are compiled and run: on the target's own device, or on the CPU instead of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from gen.schedule import Device
from gen.targets.target import Target
from gen.targets.tools import c_compiler


class Runner:
    """One word of --target.

    template: of the C text between the harness and the API of a fusion. head: what stands before its includes.
    harness_name, harness_source: which harness, and its part that speaks to the runtime. missing: words of a linker or
    compiler that did not find something, and what that is. patience: how often longer a launch may take than on a
    device. timed: whether a bench says anything.
    """

    name = ""
    target: Target
    template = ""
    head = ""
    harness_name = "c"
    harness_source = "c.c"
    libraries: Sequence[str] = ()
    missing: Dict[str, str] = {}
    patience = 1
    timed = True

    def compile(self, folder: Path, name: str, long: bool, device: Device) -> List[str]:
        """The command that compiles the kernels' file to an object, but for `-o OBJECT FILE`. long: a text that
        compilers are to optimise less. device: the class of device (gen.schedule) that they are for."""
        raise NotImplementedError

    def kernels(self, name: str) -> str:
        """The file of the kernels; "": they are a string in the header."""
        return f"{name}{self.target.suffix}"

    def headers(self) -> "Dict[str, str]":
        """Files that the kernels include, and their text, where they are others than the system's."""
        return {}

    def together(self, sources: "Sequence[Path]") -> str:
        """The text of one file that has the kernels of several; "": there is no such text."""
        return ""

    def slow_header(self, about: "Dict[str, Any]") -> "Tuple[str, int]":
        """A line that the kernels' file has, which compilers take longer for than for most kernels, and the time in
        nanoseconds when a header behind it was last written; "" where there is none. about: the target's part of the
        manifest."""
        return "", 0

    def linker(self) -> str:
        return c_compiler()

    def harness(self, output: Path, sources: Sequence[str], flags: Sequence[str]) -> List[str]:
        """The command that makes the harness."""
        return [c_compiler(), "-std=c11", "-pthread", *flags, "-o", str(output), *sources, *self.libraries, "-ldl",
                "-lm"]
