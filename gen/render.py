"""Render the kernels of a program to the text of a file in a target language, through templates."""

from __future__ import annotations

import re
from hashlib import sha256
from collections import Counter
from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Sequence, Set, Tuple, Union

from gen.emit.helpers import Helpers
from gen.emit.templates import environment
from gen.heroes.kernel import Kernel, Table
from gen.hlo import Fusion, Shape, dtypes, result_leaves
from gen.hlo.reserved import parameter_name, unique
from gen.lower import tiled_layouts
from gen.plan.buffer import Buffer
from gen.plan.buffers import leads_of
from gen.plan.nests import Planned
from gen.program.ir import Array, Program
from gen.program.stack import stack_bytes
from gen.program.steps import Chain, Launch, Step, deciding, all_steps, launches_of
from gen.program.storage import Place, Storage
from gen.schedule import Device
from gen.targets import TARGETS, Target
from gen.targets.target import VectorWord


OWN = ("scratch", "state")      # buffers of the program itself, whose alignment is known


@dataclass
class Unit:
    """The kernels of a fusion in one language.

    scratch: the buffers between the kernels.
    threads: for each kernel, the maximum number of threads that make it faster on a CPU.
    matrix_threads: that maximum for a CPU with matrix instructions, if the kernel uses these.
    """

    kernels: List[Kernel]
    scratch: List[Buffer]
    threads: List[int]
    matrix_threads: List[int]


@dataclass
class Dialect:
    """A program in one language, without the head of its file: the kernels, the functions and tables that they use,
    their launches, and the places of arrays.

    units: the kernels of each fusion.
    steps: the launches, loops and branches of a run.
    weights: the parameters that are large constants, each with its offset in the block of weights.
    first: the launches of NAME_prepare.
    given: the arrays whose leading dimensions the caller passes.
    before: the names of functions, tables and types that earlier programs of the file define.
    """

    target: Target
    helpers: Helpers
    units: Dict[Fusion, Unit]
    steps: List[Step]
    storage: Storage
    weights: "Collection[Array]" = ()
    first: "Sequence[Launch]" = ()
    given: "Sequence[Array]" = ()
    before: "Collection[str]" = ()

    def __post_init__(self) -> None:
        self.launches: List[Launch] = launches_of([*self.first, *self.steps])
        self.numbers = {launch: number for number, launch in enumerate(self.launches)}
        for number, table in enumerate(self.tables):
            table.number = number
        self.body = self._body()

    @property
    def kernels(self) -> List[Kernel]:
        """Return the kernels that the steps launch."""
        launched = {kernel.name for launch in self.launches
                    for kernel in (launch.kernel.kernels if isinstance(launch.kernel, Chain) else [launch.kernel])}
        return [kernel for unit in self.units.values() for kernel in unit.kernels if kernel.name in launched]

    @property
    def tables(self) -> "List[Table]":
        return [kernel.table for kernel in self.kernels if kernel.table]

    @property
    def used(self) -> "Set[Union[str, VectorWord]]":
        """Return the names that the text uses and that the template of its file must define."""
        return self.target.used | {"table" for _ in self.tables}

    @property
    def table_bytes(self) -> int:
        return len(self.tables) * 2 * 65536

    @property
    def parts(self) -> "Dict[Place, int]":
        """Return a number, from 0 on, for each place in the scratch block or in the block of weights that stores an
        array.
        """
        return {place: n for n, place in enumerate(dict.fromkeys(
            place for array, place in self.storage.places.items()
            if place.buffer == "scratch" or array in self.weights))}

    def places(self, launch: Launch) -> "List[Place]":
        return [self.storage.places[array] for array in launch.arrays]

    def leads(self, launch: Launch) -> "List[int]":
        """Return, for each leading dimension that a launch passes to its kernel, the index of its array in `given`."""
        numbers = {array.shape.lead: number for number, array in enumerate(self.given)}
        return [numbers[name] for name in launch.kernel.leads]

    def words(self, launch: Launch) -> "Dict[int, int]":
        """Return the sizes in bytes of the words with which a kernel accesses buffers of the caller. The keys are the
        indices of the arguments that point to these buffers.
        """
        passed = enumerate(zip(self.places(launch), launch.kernel.arguments))
        return {n: argument.word for n, (place, argument) in passed if argument.word and place.buffer not in OWN}

    @property
    def atomic(self) -> "Dict[Tuple[str, int], int]":
        """Return, for each buffer of the caller that atomic operations access, the largest size of their words in
        bytes. A key is the kind of the buffer (params or results) and its number.
        """
        found: "Dict[Tuple[str, int], int]" = {}
        for launch in self.launches:
            for place, argument in zip(self.places(launch), launch.kernel.arguments):
                if argument.atomic and place.buffer not in OWN:
                    buffer = place.buffer, place.number
                    found[buffer] = max(argument.atomic, found.get(buffer, 0))
        return found

    def _body(self) -> str:
        """Return the text of the kernels, after the tables, types and functions that they use."""
        d, texts = self.target, {}      # type: Target, Dict[str, str]
        for launch in self.launches:
            kernel = launch.kernel
            if not isinstance(kernel, Chain):
                texts.setdefault(kernel.name, _text(kernel, d))
                continue
            for function in kernel.functions():
                texts.setdefault(function.name, _text(function, d.of_functions()))
            texts[kernel.name] = environment().get_template("parts/chain.j2").render(d=d, chain=kernel)
        needed = [text for name, (_, text) in self.helpers.tables.items() if name not in self.before]
        needed += [text for name, text in self.helpers.texts.items() if name not in self.before]
        structs = [f"typedef struct {{ {d.types[part]} re, im; }} {name};\n"
                   for name, part in (("c64", "f32"), ("c128", "f64")) if name in d.used and name not in self.before]
        return "\n\n".join(text.strip("\n") for text in [*structs, *needed, *texts.values()]) + "\n"

    def about(self) -> str:
        """Return the schedules and maps of the kernels, as lines of comment."""
        lines = []
        for kernel in self.kernels:
            for walk in kernel.scheduled:
                lines += [f"{walk.name}: {walk.loop.text()}", f"  index: {walk.grid.thread}"]
                lines += [f"  {access.words}: {access.position}" for access in walk.report.touched]
        return "\n".join("// " + line for line in lines)


def _text(kernel: Kernel, d: Target) -> str:
    return environment().get_template(f"{kernel.text.template}.j2").render(d=d, kernel=kernel, t=d.index[kernel.index])


@dataclass
class TargetFile:
    """The file of a program in one language.

    dialects: the code of the program. If the code uses vectors, a second version for compilers without vectors follows.
    aliases: the indices of results that are stored in a parameter's buffer, with the index of the parameter.
    given: the arrays that are results of the program.
    alignment: the alignment of each pointer to params and to results, in bytes.
    """

    target: Target
    device: Device
    dialects: List[Dialect]
    plan: "Dict[Fusion, Planned]"
    aliases: Dict[int, int]
    text: str
    given: "Set[Array]"
    alignment: "Dict[str, List[int]]"

    @property
    def kernels(self) -> List[Kernel]:
        return self.dialects[0].kernels

    @property
    def launches(self) -> List[Launch]:
        return self.dialects[0].launches

    @property
    def tables(self) -> "List[Table]":
        return self.dialects[0].tables

    @property
    def storage(self) -> Storage:
        return self.dialects[0].storage

    @property
    def table_bytes(self) -> int:
        return max(dialect.table_bytes for dialect in self.dialects)

    @property
    def prepared_bytes(self) -> int:
        """Return the size in bytes of the values that NAME_prepare computes from weights. They are stored after the
        tables.
        """
        return max(dialect.storage.state_bytes for dialect in self.dialects)

    @property
    def state_bytes(self) -> int:
        """Return the size in bytes of all values that are computed once. They are stored before the block that a run
        writes.
        """
        return self.table_bytes + self.prepared_bytes

    @property
    def intrinsics(self) -> bool:
        """Return true if the file includes the header of the machine's vector instructions."""
        return len(self.dialects) > 1 and not self.dialects[0].used.isdisjoint(("stream", "intrinsics", "functions"))

    @property
    def word_bytes(self) -> int:
        """Return the size of the widest words in which kernels access buffers of the caller, in bytes. It is 0 if the
        kernels do not depend on the alignment of these buffers.
        """
        return max((size for launch in self.launches for size in self.dialects[0].words(launch).values()), default=0)

    @property
    def waits(self) -> bool:
        """Return true if the host must read a predicate of a loop or a selector of a branch while the program runs."""
        return any(deciding(dialect.steps) for dialect in self.dialects)

    @property
    def has_loops(self) -> bool:
        return any(step.kind == "repeat" for dialect in self.dialects for step in all_steps(dialect.steps))

    @property
    def symbols(self) -> "List[str]":
        """Return the names of the LAPACK functions that the file calls."""
        return sorted({kernel.text.record.symbol for kernel in self.kernels if kernel.hero == "lapack"})

    @property
    def local_bytes(self) -> int:
        """Return the size of the arrays that are local variables of the program's function, in bytes."""
        return max(sum(place.shape.bytes for place in dialect.storage.places.values() if place.buffer == "local")
                   for dialect in self.dialects)

    @property
    def stack_bytes(self) -> int:
        """Return an upper bound of the stack that a call needs, in bytes. It holds for the C of small machines."""
        first = self.dialects[0]
        return stack_bytes(first.kernels, sum(first.target.rooms), self.local_bytes)

    @property
    def scratch_bytes(self) -> int:
        """Return the size of the scratch block in bytes: the maximum over the dialects."""
        return max(map(self.block_bytes, self.dialects))

    def block_bytes(self, dialect: Dialect) -> int:
        """Return the size of the block that the caller passes, in bytes, for one dialect."""
        own = dialect.table_bytes + dialect.storage.state_bytes + dialect.storage.bytes
        return self.state_bytes + dialect.storage.bytes if own else 0


def _preamble(program: Program, device: Device, dialect: Dialect, excess: bool) -> str:
    through = ", ".join(dict.fromkeys(f"templates/{k.text.template}.j2" for k in dialect.kernels))
    fusion = program.whole
    kind = "fusion" if program.is_one else "module"
    lines = [f"// generated by sett from {kind} {program.name} through {through} for {device.name}: do not edit"]
    lines += [f"// {fusion.filled}"] if fusion.filled else []
    lines += [f"// padding of result {n}, {shape.text}, is written with zeros"
              for n, shape, _, _ in result_leaves(fusion.computation)
              if tiled_layouts.positions(shape) > shape.elements]
    if device.cpu and any(k.nest.layout for k in dialect.kernels):
        lines.append("// sett_distribute is for GPUs: the walk is this device's own")
    if excess:
        lines.append("// f16 and bf16 are kept as f32 between ops (--excess-precision)")
    return "\n".join([*lines, dialect.about()]).rstrip("\n")


def target_file(program: Program, plan: "Dict[Fusion, Planned]", aliases: "Dict[int, int]", device: Device,
                dialects: "List[Dialect]", excess: bool) -> TargetFile:
    """Return the file of a program: its preamble, the kernels of each dialect, and the function that launches the
    kernels.
    """
    file = unprinted(program, plan, aliases, device, dialects)
    file.text = printed([(program, file)], program.name, excess)
    return file


def unprinted(program: Program, plan: "Dict[Fusion, Planned]", aliases: "Dict[int, int]", device: Device,
              dialects: "List[Dialect]") -> TargetFile:
    """Return the file of a program, without its text, which is printed later."""
    atomic = dialects[0].atomic
    alignment = {side: [max(atomic.get((side, n), 1), *(_width(array.shape) for array in arrays))
                        for n, arrays in enumerate(of_side)]
                 for side, of_side in (("params", _pointed(program)), ("results", [[a] for a in program.results]))}
    return TargetFile(dialects[0].target, device, dialects, plan, aliases, "", set(program.results), alignment)


def _pointed(program: Program) -> "List[List[Array]]":
    """Return, for each pointer to parameters, the arrays to which it points. All weights share one pointer."""
    pointed: "Dict[int, List[Array]]" = {}
    for array, (number, _) in program.pointers.items():
        pointed.setdefault(number, []).append(array)
    return list(pointed.values())


def printed(of: "Sequence[Tuple[Program, TargetFile]]", stem: str, excess: bool) -> str:
    """Return the text of a file with these programs. The text of the first program includes the parts that all programs
    use. stem: the name of the header.
    """
    files = [file for _, file in of]
    dialects = [dialect for file in files for dialect in file.dialects]
    needs = {"loops": any(file.has_loops for file in files), "intrinsics": any(file.intrinsics for file in files),
             "apart": any(len(file.dialects[0].launches) > 1 and file.storage.bytes for file in files),
             "locals": any(place.buffer == "local" for file in files for place in file.storage.places.values())}
    texts: List[str] = []
    for program, file in of:
        first, alignment = file.dialects[0], file.alignment
        template = environment().get_template("files/c_program.j2" if texts else first.target.template)
        mark = sha256(f"{program.name} {file.state_bytes}".encode()).hexdigest()[:16]
        texts.append(template.render(
            mark=f"0x{mark}u", d=first.target, preamble=_preamble(program, file.device, first, excess), file=file, stem=stem,
            program=program, name=program.name, first=first, opens=True, own=f"_{program.name}" if len(of) > 1 else "",
            used=set().union(*(each.dialects[0].used for each in files)), needs=needs,
            used_anywhere=set().union(*(dialect.used for dialect in dialects)),
            widths=[*alignment["params"], *alignment["results"]], pointers=len(_pointed(program)),
            weights=next((program.pointers[array][0] for array in program.weights), None),
            words=first.target.vectors(), bounds=_bounds(program)).lstrip())
    return "\n".join(texts)


def _bounds(program: Program) -> "List[Tuple[int, int]]":
    """Return the minimum and the maximum of each leading dimension that the caller passes."""
    return [bounds for array in program.leads for bounds in leads_of([array.shape]).values()]


def _width(shape: Shape) -> int:
    """Return the size in bytes of an array's elements, or of their parts if they are complex. It is the alignment that
    C requires.
    """
    return dtypes.storage_bytes(dtypes.TABLE[shape.dtype].part if dtypes.is_complex(shape.dtype) else shape.dtype)


@dataclass(frozen=True)
class Named:
    """An array that the caller passes, with its name in the header.

    side: params, weights or results.
    length: the number of elements of its C type.
    lead: the name of its leading dimension; "" if the caller passes none.
    """

    name: str
    type: str
    side: str
    bytes: int
    length: int
    array: Array
    lead: str = ""

    @property
    def texts(self) -> "Tuple[str, ...]":
        """Return the C declarations of the function's arguments for the array: the pointer, and the leading dimension
        if the caller passes it.
        """
        pointer = f"{'const ' if self.side == 'params' else ''}{self.type} *{self.name}"
        return (pointer, f"size_t {self.lead}") if self.lead else (pointer,)


def named(program: Program) -> List[Named]:
    """Return the program's parameters and results, each with a different name. The names are those of the HLO text. The
    number that XLA appends to a name is removed if the name remains unique without it.
    """
    plain = Counter(_without_number(array.name) for array in (*program.params, *program.results))
    known = {"scratch", "params", "results", program.name, *(["weights"] if program.weights else [])}
    found: List[Named] = []
    for side, arrays in (("params", program.plain_params), ("weights", program.weights), ("results", program.results)):
        for array in arrays:
            short = _without_number(array.name)
            shape, own = array.shape, short if plain[short] == 1 and side != "weights" else array.name
            name = unique(parameter_name(own), known)
            lead = unique(f"{name}_lead", known) if shape.lead else ""
            found.append(Named(name, _api_type(shape), side, shape.bytes, shape.bytes // _width(shape), array, lead))
    return found


def _without_number(name: str) -> str:
    return re.sub(r"(?<=.)\.[0-9]+$", "", name)


def _api_type(shape: Shape) -> str:
    """Return the C type of an array's elements, or of their parts if they are complex. Types that C does not have
    become unsigned integers.
    """
    dtype = dtypes.TABLE[shape.dtype].part if dtypes.is_complex(shape.dtype) else shape.dtype
    if dtype in ("f32", "f64"):
        return {"f32": "float", "f64": "double"}[dtype]
    signed = dtypes.TABLE[dtype].kind == "sint" and dtype not in dtypes.PACKED
    return f"{'' if signed else 'u'}int{8 * dtypes.storage_bytes(dtype)}_t"


def header(program: Program, about: "Dict[str, Any]", files: "Sequence[TargetFile]", stem: str = "") -> str:
    """Return the C API of a program for all its targets. stem: the name of the files, if it is not that of the program.
    """
    return environment().get_template("files/api.h.j2").render(
        name=program.name, stem=stem or program.name, filled=program.whole.filled, guard=f"SETT_FUSION_{program.name.upper()}_H",
        arguments=[of for of in named(program) if of.side != "weights"], weights=about.get("weights"),
        constants=[(of, program.weights[of.array]) for of in named(program) if of.side == "weights"],
        leads=[(of, *bounds) for of, bounds in zip(
            [of for of in named(program) if of.lead], _bounds(program))], steps=not program.straight, donors=[(a["result"], a["parameter"]) for a in about.get("may_alias", ())],
        aliases=about["aliases"], params=about["params"], results=about["results"],
        files=sorted(files, key=lambda file: list(TARGETS).index(file.target.name)))


def library_header(of: "Sequence[Tuple[Program, Dict[str, Any], TargetFile]]", stem: str) -> str:
    """Return the C API of several programs in one file."""
    return environment().get_template("files/library.h.j2").render(
        headers=[header(program, about, [file], stem).rstrip("\n") for program, about, file in of], stem=stem,
        state=any(file.state_bytes for *_, file in of), scratch_bytes=max(file.scratch_bytes for *_, file in of))
