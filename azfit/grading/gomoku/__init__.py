"""Grades of Gomoku players, judged by forced wins."""
