"""Runners: the commands that compile and run the kernels of a target, on the target's own device or on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from gen.schedule import Device
from gen.targets.target import Target
from gen.targets.tools import c_compiler


class Runner:
    """One way to compile and run a target's kernels.

    name: its name in --target.
    template: template of the C text between the harness and the API of a fusion.
    head: lines before the includes of that text.
    harness_name, harness_source: name of the harness, and its file that calls the runtime.
    missing: words in a compiler's or linker's message -> the tool or library that is missing if they appear.
    patience: factor by which a launch may take longer than on a device.
    timed: true if measured times say something about the device.
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
        """Return the command that compiles the kernels' file to an object, except for `-o OBJECT FILE`.

        long: true for a long text, which is compiled with less optimisation.
        device: the device class (gen.schedule) of the kernels.
        """
        raise NotImplementedError

    def kernels(self, name: str) -> str:
        """Return the name of the kernels' file, or "" if the header contains the kernels as a string."""
        return f"{name}{self.target.suffix}"

    def headers(self) -> "Dict[str, str]":
        """Return the files that the kernels include, except system headers: name -> text."""
        return {}

    def together(self, sources: "Sequence[Path]") -> str:
        """Return the text of one file that contains the kernels of several files, or "" if that is impossible."""
        return ""

    def slow_header(self, about: "Dict[str, Any]") -> "Tuple[str, int]":
        """Return a line of the kernels' file that includes a header which compiles slowly, and the header's
        modification time in nanoseconds. Return ("", 0) if there is no such line. about: the target's part of the
        manifest.
        """
        return "", 0

    def linker(self) -> str:
        return c_compiler()

    def harness(self, output: Path, sources: Sequence[str], flags: Sequence[str]) -> List[str]:
        """Return the command that links the harness."""
        return [c_compiler(), "-std=c11", "-pthread", *flags, "-o", str(output), *sources, *self.libraries, "-ldl",
                "-lm"]
