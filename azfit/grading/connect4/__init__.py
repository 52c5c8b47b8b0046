"""Grades of Connect Four players, judged by the solver on sets of positions."""
