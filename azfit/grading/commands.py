"""The commands that judge networks."""

from __future__ import annotations

from azfit.grading.certify_command import certify_command
from azfit.grading.grade_command import grade_command

COMMANDS = [grade_command, certify_command]
