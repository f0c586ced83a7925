"""The results of check: one line per fusion, and a last line for the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence


@dataclass
class CheckResult:
    """The result of a check of one fusion."""

    fusion: str
    hero: str
    status: str  # PASS, FAIL, SKIP
    reason: str = ""
    max_abs: float = 0.0
    max_ulp: float = 0.0
    # the largest error divided by the allowed error
    max_share: float = 0.0
    # the element with this error: its value, the reference's value, their distance and the allowed distance
    nearest: str = ""
    compared: int = 0
    # the number of compared elements whose allowed interval is unbounded
    unbounded: int = 0
    # unbounded elements that are NaN in the reference
    unbounded_nan: int = 0
    # unbounded elements that are integers or preds
    unbounded_integers: int = 0
    # the unbounded elements of the rounds with moderate inputs (gen/run/harness/data.h)
    unbounded_moderate: int = 0
    # the ops that make an interval unbounded, by their names in gen/bounds; overflow is not listed
    unknown: Sequence[str] = ()
    rounds: int = 0
    device: str = ""

    def share_text(self) -> str:
        """Return the largest relative error as text; 0 if all values are equal."""
        return f"{self.max_share:.2g} of the allowed error" if self.max_share else "0"

    def line(self) -> str:
        """Return one line about a fusion: its status, name and hero, and the largest error or the reason."""
        if self.status == "PASS" and not self.reason:
            return f"  PASS {self.fusion} {self.hero} {self.share_text() if self.compared else '-'}, {counted(self.rounds, 'round')}"
        return f"  {self.status} {self.fusion} {self.hero}" + (f": {self.reason}" if self.reason else "")


def of_fusions(results: Sequence[CheckResult]) -> List[CheckResult]:
    """Return one result per fusion: that of its worst call."""
    worst: Dict[str, CheckResult] = {}
    for result in results:
        known = worst.get(result.fusion)
        if not known or (result.status != "PASS", result.max_share) > (known.status != "PASS", known.max_share):
            worst[result.fusion] = result
    return list(worst.values())


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def error_text(results: Sequence[CheckResult]) -> str:
    """Return a text with the largest error relative to the allowed error, the number of values compared, the number of
    values not compared with the reasons, and the worst element.
    """
    if not any(r.compared for r in results):
        return "-"
    total, unbounded = sum(r.compared for r in results), sum(r.unbounded for r in results)
    worst = max(results, key=lambda r: r.max_share)
    bounded = total - unbounded
    text = f"{worst.share_text()} ({counted(bounded, 'value')} compared"
    if unbounded and not any(r.unbounded_moderate for r in results):
        text += ", among them all of ordinary inputs"
    text += ", all equal" if bounded and not worst.max_share else ""
    text += f"; {_unbounded_text(results, total)}" if unbounded else ""
    return text + (f"; worst: {f'{worst.fusion}, ' if len(results) > 1 else ''}{worst.nearest})" if worst.nearest
                   else ")")


def _unbounded_text(results: Sequence[CheckResult], total: int) -> str:
    """Return a text about the elements whose allowed interval is unbounded: their number, how many of them had
    ordinary inputs, and the reasons.
    """
    nans, integers, ordinary, unbounded = (sum(getattr(r, name) for r in results) for name in
                                           ("unbounded_nan", "unbounded_integers", "unbounded_moderate", "unbounded"))
    numbers = ["overflow or a pole", *dict.fromkeys(why for r in results for why in r.unknown)]
    reasons = [(nans, "NaN or a number"), (integers, "a comparison, a conversion or an index"),
               (unbounded - nans - integers, ", or where ".join(numbers))]
    counted = [(count, why) for count, why in reasons if count]
    whys = ", ".join(why + (f" ({count})" if len(counted) > 1 else "") for count, why in counted)
    share = f"{float('%.2g' % (100 * unbounded / total)):g}%"
    whose = (
        f" were not compared ({share}, {ordinary} of ordinary inputs)"
        if ordinary
        else f" of special inputs were not compared ({share})"
    )
    return f"{unbounded}{whose}: rounding decides {whys}"


def overall_status(results: Sequence[CheckResult]) -> str:
    """Return FAIL if any result failed, else SKIP if any was skipped, else PASS."""
    statuses = {r.status for r in results}
    return "FAIL" if "FAIL" in statuses else "SKIP" if "SKIP" in statuses else "PASS"


EXIT_STATUS = {"PASS": 0, "FAIL": 1, "SKIP": 3}


def file_line(file: str, target: str, results: Sequence[CheckResult]) -> str:
    """Return the last line of `gen check`: PASS|FAIL|SKIP FILE target n/n hero.. max-error."""
    status = overall_status(results)
    passed = [r for r in results if r.status == "PASS"]
    heroes = list(dict.fromkeys(hero for r in results for hero in r.hero.split()))
    parts = [status, file, target, f"{len(passed)}/{len(results)}", *heroes, error_text(passed)]
    why = next((r.reason for r in results if r.status == status and r.reason), "")
    return " ".join(parts) + (f": {why.splitlines()[0]}" if why else "")
