"""Run the harness as a process that launches kernels: find its device, read its events, and explain how it ended."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Optional

from gen import child
from gen.run import cost as costs
from gen.run.objects import Built, harness
from gen.run.options import START, Options, runner_of
from gen.targets import RunError

Event = Dict[str, Any]


@dataclass
class Answer:
    events: List[Event] = field(default_factory=list)
    status: int = 0
    exceeded: str = ""  # the time limit that ended the process, in words; "" if none did
    errors: str = ""

    def of(self, *kinds: str) -> List[Event]:
        return [e for e in self.events if e["event"] in kinds]


def _events(text: str) -> List[Event]:
    events = []
    for line in text.splitlines():
        if line.startswith('{"event"'):
            try:
                events.append(json.loads(line))
            except ValueError:
                continue  # an incomplete last line: the process ended while it wrote the line
    return events


def call_harness(target: str, arguments: Iterable[object], limit: child.Limit) -> Answer:
    """Run the harness and return its answer. If the harness fails, the answer says so; no exception is raised."""
    done = child.run([str(harness(target)), *(str(a) for a in arguments)], limit,
                     {"POCL_AFFINITY": "1", **os.environ})
    return Answer(_events(done.out), done.status, done.exceeded, done.err.strip())


def raise_for_start(answer: Answer) -> None:
    if answer.status == 3 or answer.status == 2:
        reasons = [e["reason"] for e in answer.of("error")]
        raise RunError(reasons[0] if reasons else answer.errors or "the harness did not start", answer.status)


def find_device(target: str, options: Options) -> Event:
    """Return the harness's description of its device: name, runtime, compute units, cache, memory. Raise RunError with
    status 3 if there is no device.
    """
    return dict(found_device(target, options.device))


@lru_cache(maxsize=None)
def found_device(target: str, device: str) -> Event:
    runner = runner_of(target)
    runner.headers(), runner.linker()    # report missing tools before missing devices
    answer = call_harness(target, ["device", device], START)
    raise_for_start(answer)
    devices = answer.of("device")
    if not devices:
        raise RunError(f"the {target} runtime: {ending(answer, START)}", 3)
    return devices[0]


HOW = "--limit SECONDS sets what a launch may take"


def ending(answer: Answer, process: child.Limit, launch: Optional[child.Limit] = None, known: str = "") -> str:
    """Describe the end of a process that gave no complete answer.

    process: the time limit of the process
    launch: the time limit of each launch, which the user can set
    known: the cost of a launch, in words
    """
    known = (f"; {known}" if known else "") + (f"; {HOW}" if launch else "")
    for event in answer.of("fault"):
        return f"{event['reason']} (in {event['phase']})"
    for event in answer.of("limit"):
        used = f"{event['processor']:g} s of processor time"
        if event["of"] == "wait" and launch:
            return (f"the {event['phase']} did not end within {launch.passing:g} s, in which it had {used}: it waits for "
                    f"ever, or the machine is busy{known}")
        limit = process if event["of"] == "process" or not launch else launch
        whose = ", the limit of the whole process" if limit is process else ""
        return f"the {event['phase']} did not end within {limit.processor:g} s of processor time{whose}{known}"
    if answer.exceeded:
        return f"no answer within {answer.exceeded}{known}"
    if answer.status < 0:
        return f"signal {-answer.status}"
    last = answer.errors.splitlines()[-1:] or [""]
    return f"exit status {answer.status} {last[0]}".strip()


def known_cost(built: Built, emulated: bool, on_host: bool) -> str:
    """Describe the cost of a fusion's launch; "" if its graph is unknown."""
    if built.source is None:
        return ""
    cost = costs.of_program(built.program) if built.program else costs.cost(built.source)
    seconds = costs.duration(cost.launch_seconds(emulated, on_host))
    return f"the graph has {cost.text()}, about {seconds} for a launch that does each once"
