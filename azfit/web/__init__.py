"""``fadefour serve``: the tables, the solver, networks and runs behind HTTP.

A thin layer: parse, ask, answer. docs/http.md is the contract; nothing here knows a rule of a game.
"""
