"""Ask the SMT solvers z3, then cvc5. They are imported at the first query."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

from gen.certify.text import Unknown

# limit of a query in units of z3's rlimit, about 2 s. Unlike a time, it does not depend on how busy the machine is.
Z3_STEPS = 7_000_000
QUICK_STEPS = 700_000    # limit of a quick query: if it stays undecided, the proof continues in another way
# time limit of a query. It is a time, because a unit of cvc5's own limit takes from 3 to 100 us, and some steps of z3
# (on equations with huge coefficients) do not count towards its limit.
LIMIT_MS = 30_000


@dataclass
class Answer:
    """The answer to a query.

    kind: proved (no values make the query true), refuted (`values` make it true), or unknown.
    by: the solver that decided it.
    """

    kind: str
    values: "Dict[str, int]" = field(default_factory=dict)
    by: str = ""


def solvers() -> "List[str]":
    """Return the names of the solvers that are installed, in the order in which they are asked."""
    found = []
    for name in ("z3", "cvc5"):
        try:
            __import__(name)
        except ImportError:
            continue
        found.append(name)
    return found


@dataclass
class Solvers:
    """Asks queries, and counts them.

    folder: the folder in which each query is kept; None: none is kept.
    limit: maximum time in seconds of all queries together.
    known: the answers to earlier queries, by their text.
    context: z3's context. Its answers depend on the earlier queries in the same context, so kernels do not share one.
    """

    folder: "Optional[Path]" = None
    prefix: str = ""
    limit: float = 60.0
    count: int = 0
    seconds: float = 0.0
    decided: "Dict[str, int]" = field(default_factory=dict)
    known: "Dict[str, Answer]" = field(default_factory=dict)
    names: "List[str]" = field(default_factory=solvers)
    context: Any = None

    def ask(self, lines: "List[str]", about: str, quick: bool = False) -> Answer:
        """Return proved if no values make all assertions true, refuted if some values do, and unknown otherwise.
        quick: ask only the first solver, for a short time.
        """
        text = "\n".join(lines)
        if text in self.known and (quick or self.known[text].kind != "unknown"):
            return self.known[text]
        if self.seconds > self.limit:
            raise Unknown(f"{self.count} queries took more than {self.limit:.0f} s")
        self.count += 1
        whole = f"; {about}\n; proved where this is unsat\n(set-logic ALL)\n(set-option :produce-models true)\n{text}\n(check-sat)\n"
        if self.folder is not None:
            path = self.folder / f"{self.prefix}_{self.count:04d}.smt2"
            path.write_text(whole)
        start = time.thread_time()
        answer = Answer("unknown")
        for name in self.names[:1] if quick else self.names:
            answer = self._z3(text, quick) if name == "z3" else _cvc5(text)
            if answer.kind != "unknown":
                self.decided[name] = self.decided.get(name, 0) + 1
                break
        self.seconds += time.thread_time() - start
        self.known[text] = answer
        return answer

    def _z3(self, text: str, quick: bool) -> Answer:
        """Ask z3. A quick query is asked with relevancy 0: z3 then decides all atoms, not only those on which the truth
        of the query depends. On 3,195 quick queries this took 0.6 of the time, and left 33 undecided; the default left
        29.
        """
        import z3
        self.context = self.context or z3.Context()
        solver = z3.SimpleSolver(ctx=self.context) if quick else z3.Solver(ctx=self.context)
        if quick:
            solver.set("relevancy", 0)
        solver.set("rlimit", QUICK_STEPS if quick else Z3_STEPS)
        solver.set("timeout", LIMIT_MS)
        solver.from_string(text)
        result = str(solver.check())
        if result == "unsat":
            return Answer("proved", by="z3")
        if result != "sat":
            return Answer("unknown")
        model = solver.model()
        values = {}
        for of in model.decls():
            value = model[of]
            if hasattr(value, "as_long"):
                values[f"|{of.name()}|"] = value.as_long()
        return Answer("refuted", values, "z3")


def _cvc5(text: str) -> Answer:
    import cvc5
    manager: Any = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("tlimit-per", str(LIMIT_MS))
    solver.setOption("produce-models", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "(set-logic ALL)\n" + text, "query")
    symbols = parser.getSymbolManager()
    while True:
        command = parser.nextCommand()
        if command.isNull():
            break
        command.invoke(solver, symbols)
    result = solver.checkSat()
    if result.isUnsat():
        return Answer("proved", by="cvc5")
    if not result.isSat():
        return Answer("unknown")
    values = {}
    for term in symbols.getDeclaredTerms():
        value = solver.getValue(term)
        if value.isIntegerValue():
            name = str(term)
            values[name if name.startswith("|") else f"|{name}|"] = int(re.sub(r"[() ]", "", str(value)))
    return Answer("refuted", values, "cvc5")
