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
from azfit.diagnosis.finding import Finding, Rule

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
    """What these rules find, what is wrong first."""
    everything = [finding for rule in rules for finding in rule(figures)]
    return sorted(everything, key=lambda finding: finding.level != "wrong")
