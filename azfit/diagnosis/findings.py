"""What looks wrong in a diagnosis: sentences with the figure and the option that addresses it."""

from __future__ import annotations

from collections.abc import Sequence

from azfit.diagnosis import (
    course_rules,
    learning_rules,
    outcome_rules,
    search_rules,
    truth_rules,
)
from azfit.diagnosis.figures import Figures
from azfit.diagnosis.finding import SETTLED, Finding, Rule
from solver.wording import counted

ALL_RULES: tuple[Rule, ...] = (
    *search_rules.RULES,
    *learning_rules.RULES,
    *course_rules.RULES,
    *outcome_rules.RULES,
    *truth_rules.RULES,
)

BUFFER_RULES: tuple[Rule, ...] = (
    outcome_rules.balance,
    outcome_rules.one_outcome,
    search_rules.contradiction,
)
"""Those that need no more than the games of a run."""


def findings(figures: Figures, rules: Sequence[Rule] = ALL_RULES) -> list[Finding]:
    """What these rules find: what is wrong, then what is worth knowing; and whether it is too
    early to tell."""
    everything = [
        finding for rule in rules if rule.missing(figures) is None for finding in rule.look(figures)
    ]
    early = too_early(figures, rules)
    ordered = sorted(everything, key=lambda finding: finding.level != "wrong")
    return ordered if early is None else [*ordered, early]


def too_early(figures: Figures, rules: Sequence[Rule] = ALL_RULES) -> Finding | None:
    """What cannot be judged yet and what is missing; None once a run has settled."""
    iterations = figures.iterations
    if iterations is None or iterations >= SETTLED:
        return None
    waiting: dict[str, list[str]] = {}
    for rule in rules:
        if (missing := rule.missing(figures)) is not None:
            waiting.setdefault(missing, []).append(rule.subject)
    if not waiting:
        return None
    needs = ", ".join(f"{_rules_on(subjects)} {need}" for need, subjects in waiting.items())
    sentence = f"too early to tell after {counted(iterations, 'iteration')}: {needs}"
    return Finding("early", "iterations", None, float(iterations), sentence)


def _rules_on(subjects: Sequence[str]) -> str:
    """As in "the rule on the gate needs"; too many to name are "most rules"."""
    if len(subjects) == 1:
        return f"the rule on {subjects[0]} needs"
    if len(subjects) > 5:
        return "most rules need"
    return f"the rules on {', '.join(subjects[:-1])} and {subjects[-1]} need"
