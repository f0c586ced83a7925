"""Commands that compile and run the kernels of a target, on the target's own device or on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from gen.schedule import Device
from gen.targets.target import Target
from gen.targets.tools import c_compiler


class Runner:
    """A runner, which is one word of --target.

    template: of the C text between the harness and the API of a fusion. head: the lines before its includes.
    harness_name, harness_source: the harness, and its file that calls the runtime. missing: words in messages of
    compilers and linkers, with what is missing if they appear. patience: the factor by which a launch may take longer
    than on a device. timed: true if times mean anything.
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
        """Return the command that compiles the kernels' file to an object, without `-o OBJECT FILE`. long: true for a
        long text, which compilers should optimise less. device: the device class (gen.schedule) of the kernels."""
        raise NotImplementedError

    def kernels(self, name: str) -> str:
        """Return the name of the kernels' file, or "" if the kernels are a string in the header."""
        return f"{name}{self.target.suffix}"

    def headers(self) -> "Dict[str, str]":
        """Return the files, other than the system's, that the kernels include, with their text."""
        return {}

    def together(self, sources: "Sequence[Path]") -> str:
        """Return the text of one file with the kernels of several, or "" if they cannot be compiled together."""
        return ""

    def slow_header(self, about: "Dict[str, Any]") -> "Tuple[str, int]":
        """Return a line of the kernels' file that makes compilers slow, and the modification time, in nanoseconds, of
        the header that it includes; ("", 0) if there is none. about: the target's part of the manifest."""
        return "", 0

    def linker(self) -> str:
        return c_compiler()

    def harness(self, output: Path, sources: Sequence[str], flags: Sequence[str]) -> List[str]:
        """Return the command that links the harness."""
        return [c_compiler(), "-std=c11", "-pthread", *flags, "-o", str(output), *sources, *self.libraries, "-ldl",
                "-lm"]
