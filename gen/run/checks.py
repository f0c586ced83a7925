"""Compare fusions with their references, on inputs drawn from a seed."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

from gen import algebra, bounds, jobs, pipeline
from gen.hlo import Fusion, dtypes
from gen.hlo.opcodes import is_whole
from gen.program import build as programs
from gen.run import cost as costs, objects
from gen.run.objects import Built, compile_fusion, compile_fusions
from gen.run.options import (LONG_SECONDS, MOST_ROUNDS, Options, launch_limit, longest, process_limit, runner_of,
                             seconds_of)
from gen.run.process import Event, call_harness, ending, find_device, known_cost, raise_for_start
from gen.run.results import CheckResult, counted
from gen.run.sources import load
from gen.targets import RunError

TOGETHER = 16  # maximum number of fusions compiled into one shared library


def _with_indices(reason: str, results: "Sequence[Dict[str, Any]]") -> str:
    """Append the element's logical index to a message `result R, element E`, if the algebra can compute it.

    results: the manifest's results
    """
    match = re.match(r"result (\d+), element (\d+)", reason)
    if not match or int(match[1]) >= len(results):
        return reason
    result = results[int(match[1])]
    try:
        element = int(match[2]) // (2 if dtypes.is_complex(result["dtype"]) else 1)
        index = algebra.call("shape", "element", result["shape"], str(element))
    except algebra.AlgebraError:
        return reason
    return f"result {match[1]}, element {match[2]} [{index}]{reason[match.end():]}"


def _result(name: str, hero: str, event: Event, results: "Sequence[Dict[str, Any]]", device: str,
            unknown: "Callable[[], List[str]]") -> CheckResult:
    """Return the result of one comparison.

    unknown: returns the names of ops whose error gen/bounds cannot limit
    """
    free, nan, integers, moderate = (int(event.get(name, 0)) for name in ("unbounded", "unbounded_nan",
                                                                          "unbounded_integers", "unbounded_moderate"))
    return CheckResult(name, hero, event["status"], _with_indices(event["reason"], results), event.get("max_abs", 0.0),
                       event.get("max_ulp", 0.0), event.get("max_share", 0.0),
                       _with_indices(event.get("nearest", ""), results), int(event.get("compared", 0)), free, nan,
                       integers, moderate, unknown() if free > nan + integers else (), int(event.get("rounds", 0)),
                       device)


def _results(built: Built, calls: "Sequence[Event]", event: Event, device: str, excess: bool) -> List[CheckResult]:
    """Return the results of a check. A program of several calls has a result for each call, and one more for faults
    outside all calls; any other program has one result.
    """
    def unknown(fusion: Optional[Fusion]) -> List[str]:
        return bounds.unknown(fusion.computation, excess) if fusion else []

    whole = _result(built.name, built.hero, event, built.manifest["results"], device, partial(unknown, built.source))
    if not calls:
        return [whole]
    assert built.trace
    heroes = {about["fusion"]: about["hero"] for about in built.manifest.get("calls", ())}
    results = [_result(seen.fusion.name, heroes.get(seen.of.name, built.hero), each,
                       [{"shape": array.shape.text, "dtype": array.shape.dtype} for array in seen.results], device,
                       partial(unknown, seen.fusion)) for seen, each in zip(built.trace.seen, calls)]
    for result in results:
        if whole.status != "PASS" and result.status == "PASS" and not result.rounds:
            result.status, result.reason = "SKIP", "not compared: what is wrong ended the check"
        elif result.status == "PASS" and not result.rounds:
            result.reason = f"the inputs of {counted(whole.rounds, 'round')} do not reach it"
    of_no_call = whole.status == "FAIL" and all(result.status != "FAIL" for result in results)
    return [*results, whole] if of_no_call else results


def check_built(fusions: Sequence[Built], target: str, options: Options, round_seconds: float = 0,
                all_seconds: float = 0) -> List[CheckResult]:
    """Compile and check fusions and programs whose files are already generated."""
    return [result for of in _checked(fusions, target, options, round_seconds, all_seconds) for result in of]


def _groups(fusions: "Dict[int, Built]") -> "Iterator[Dict[int, Built]]":
    """Split fusions into groups that fit one library, so that no two fusions of a group define the same function."""
    group: Dict[int, Built] = {}
    names: Set[str] = set()
    for number, built in fusions.items():
        own = {built.name, *([built.traced.name] if built.traced else []),
               *(oracle.name for oracle in built.oracles)}
        if names & own or len(group) == TOGETHER:
            yield group
            group, names = {}, set()
        group[number] = built
        names |= own
    if group:
        yield group


def _compiled(group: "Dict[int, Built]", target: str, options: Options) -> "Dict[int, str]":
    """Compile fusions into one library. Return the errors of the fusions that do not compile, by the fusion's number.
    """
    options.step(f"compile {', '.join(built.name for built in group.values())}")
    try:
        compile_fusions(list(group.values()), target, True, options.rounds)
        return {}
    except RunError as error:
        if error.status == 3:
            raise
        if len(group) == 1:
            return dict.fromkeys(group, error.message)
    numbers = list(group)
    halves = numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]
    return {number: why for half in halves
            for number, why in _compiled({n: group[n] for n in half}, target, options).items()}


def _checked(fusions: Sequence[Built], target: str, options: Options, round_seconds: float,
             all_seconds: float) -> "List[List[CheckResult]]":
    """Return the results of each fusion. One process checks all fusions; if it crashes, a new process checks the
    remaining ones.

    round_seconds, all_seconds: the expected time of the longest round and of all rounds
    """
    results: Dict[int, List[CheckResult]] = {}
    waiting: List[int] = []
    compiled = {number: built for number, built in enumerate(fusions) if not built.problem}
    wrong = {number: built.problem for number, built in enumerate(fusions) if built.problem}
    for group in _groups(compiled):
        wrong.update(_compiled(group, target, options))
    for number, built in enumerate(fusions):
        if number in wrong:
            results[number] = [CheckResult(built.name, built.hero, "FAIL", wrong[number])]
        else:
            waiting.append(number)
    launch, process = launch_limit(target, options, round_seconds), process_limit(options, all_seconds)
    while waiting:
        options.step(f"run {', '.join(fusions[n].name for n in waiting)} beside the reference")
        answer = call_harness(target, ["check", options.device, options.seed, options.rounds, *seconds_of(launch),
                                       *(fusions[n].library for n in waiting)], process)
        raise_for_start(answer)
        device = next((e["name"] for e in answer.of("device")), "")
        calls: List[Event] = []
        for event in answer.of("call", "result"):
            calls += [event] if event["event"] == "call" else []
            if event["event"] == "result":
                number = waiting.pop(0)
                built = fusions[number]
                if event.get("cut"):
                    options.say(f"{built.name}: a loop was ended early in {event['cut']:.0f} of "
                                f"{counted(int(event['rounds']), 'round')}: these compare calls, not results")
                if event.get("nan_bits"):
                    options.say(f"{built.name}: the bits of a computed NaN decide results in "
                                f"{event['nan_bits']:.0f} of {counted(int(event['rounds']), 'round')}: these compare "
                                "calls, not results")
                results[number] = _results(built, calls, event, device, options.excess_precision)
                calls = []
                said = [line for line in answer.errors.splitlines() if _named_in(line, fusions) is built]
                for result in results[number]:
                    result.reason += f": {said[0]}" if result.status == "FAIL" and said else ""
        if waiting:
            broken = fusions[waiting[0]]
            known = known_cost(broken, not runner_of(target).timed, any(e["on_host"] for e in answer.of("device")))
            results[waiting.pop(0)] = [CheckResult(broken.name, broken.hero, "FAIL",
                                                   ending(answer, process, launch, known))]
    return [results[n] for n in range(len(fusions))]


def _named_in(line: str, fusions: "Sequence[Built]") -> "Optional[Built]":
    """Return the fusion whose kernel a line of an error message names, or None. If one fusion's name is a prefix of
    another's, the longest matching name counts.
    """
    named = re.match(r"cuda_on_cpu: (?:after )?sett_(\w+)", line)
    return max((built for built in fusions if named and named[1].startswith(built.name)),
               key=lambda built: len(built.name), default=None)


def compile_only(built: Built, target: str, options: Options, why: str = "too large for memory") -> CheckResult:
    """Compile a fusion that is too large or too slow to run, and check its maps."""
    compile_fusion(built, target)
    answer = call_harness(target, ["compile", options.device, built.library], process_limit(options))
    raise_for_start(answer)
    done = answer.of("result")
    if not done or done[0]["status"] != "PASS":
        reason = done[0]["reason"] if done else ending(answer, process_limit(options), launch_limit(target, options))
        return CheckResult(built.name, built.hero, "FAIL", reason)
    fusions = built.program.fusions if built.program else [built.source]
    wrong = next(filter(None, map(options.check_maps, fusions)), None) if options.check_maps else None
    if wrong:
        return CheckResult(built.name, built.hero, "FAIL", wrong)
    alone = dict.fromkeys(i.opcode for fusion in fusions for i in fusion.computation.instructions if is_whole(i.opcode))
    how = "checked by its maps and by compiling" if options.check_maps else "checked by compiling"
    how += f" ({', '.join(alone)} by compiling alone)" if options.check_maps and alone else ""
    return CheckResult(built.name, built.hero, "PASS", f"{why}: {how}")


def check_what_fits(fusions: Sequence[Built], target: str, options: Options) -> List[CheckResult]:
    """Check fusions against their references, in as many rounds as fit into MOST_SECONDS. A fusion that needs too much
    memory or time is compiled only, and its maps are checked.
    """
    return [result for of in check_each(fusions, target, options) for result in of]


def check_each(fusions: Sequence[Built], target: str, options: Options) -> "List[List[CheckResult]]":
    """Check each fusion under the rules of check_what_fits, and return the results of each."""
    limit = options.memory if options.memory is not None else costs.machine_memory() // 3
    results: Dict[int, List[CheckResult]] = {}
    # number of rounds (negative: a maximum) -> the indices of the fusions that one process checks with that number
    alike: Dict[int, List[int]] = {}
    seconds = {number: 0.0 for number in range(len(fusions))}
    for number, built in enumerate(fusions):
        traced = built.trace.program if built.trace else None
        cost = costs.of_program(built.program, traced) if built.program else costs.cost(built.source)
        seconds[number] = cost.check_seconds(not runner_of(target).timed)
        if cost.bytes > limit:
            results[number] = [compile_only(built, target, options)]
        elif seconds[number] > longest(options):
            why = f"{cost.text()} are too many to run, about {costs.duration(seconds[number])} beside the reference " \
                "(--limit SECONDS allows more)"
            results[number] = [compile_only(built, target, options, why)]
        else:
            rounds = (
                1
                if cost.steps > costs.MUCH_STEPS
                else -max(1, min(MOST_ROUNDS, int(costs.MOST_SECONDS / max(0.1, seconds[number]))))
            )
            alike.setdefault(options.rounds or rounds, []).append(number)
            if seconds[number] > LONG_SECONDS:
                options.say(
                    f"{built.name}: {cost.text()}, about {costs.duration(seconds[number])} beside the reference"
                )
    for rounds, numbers in alike.items():
        most, all_ = max(seconds[n] for n in numbers), sum(seconds[n] * max(1, abs(rounds)) for n in numbers)
        some = replace(options, rounds=rounds)
        results.update(zip(numbers, _checked([fusions[n] for n in numbers], target, some, most, all_)))
    return [results[number] for number in range(len(fusions))]


def check(file: str, target: str, options: Optional[Options] = None) -> List[CheckResult]:
    """Run `gen check`: compare every call of a file's program with its reference. Raise HloError for faulty text,
    RunError if the comparison is impossible.
    """
    options = options or Options()
    program = pipeline.with_leads(programs.program(load(file, options.fill_constants, options.sizes)), options.leads)
    find_device(target, options)
    with jobs.temporary_folder("sett_check_") as work:
        built = objects.build(program, Path(work), target, options)
        return check_what_fits([built], target, options)
