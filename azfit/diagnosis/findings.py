"""What looks wrong in a diagnosis, in sentences with the figure and the option that addresses it.

Each rule looks at one part of the figures (``azfit.diagnosis.diagnose``); its threshold and the
reason for it stand beside it. ``wrong`` asks for something to be done; ``note`` is worth knowing.
"""

from __future__ import annotations

from collections.abc import Sequence

from azfit.diagnosis import learning_findings, outcome_findings, search_findings
from azfit.diagnosis.finding import Finding, Rule, Told

ALL_RULES: tuple[Rule, ...] = (
    *search_findings.RULES,
    *learning_findings.RULES,
    *outcome_findings.RULES,
)


def findings(told: Told, rules: Sequence[Rule] = ALL_RULES) -> list[Finding]:
    """What these rules find, what is wrong first."""
    found = [finding for rule in rules for finding in rule(told)]
    return sorted(found, key=lambda one: one.level != "wrong")
