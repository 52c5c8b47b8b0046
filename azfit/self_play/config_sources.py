"""Where the options of a run come from: presets, a TOML file, the command line, the network to
begin with, or the folder of a run that exists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from azfit.games import GAME_NUMBERS, full_name, game_by_name
from azfit.network import Network
from azfit.network_config import SHAPE, NetworkConfig, refuse_other_shape, shown
from azfit.self_play.config import SelfPlayConfig, by_game, options, settled
from azfit.self_play.defaults import Choice, Wish, choices
from solver import storage
from solver.errors import InputError, MissingTableError
from solver.machine import available_cores
from solver.wording import quoted

# A file of options has a few hundred bytes.
MOST_BYTES = 1_000_000

HISTORICAL = "historical"

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"iterations": 10, "games_per_iteration": 20},
    "strong": {"iterations": 100, "games_per_iteration": 300, "sims": 400, "blocks": 6},
    HISTORICAL: {},
}
"""``quick`` and ``strong`` change a few of the options that are otherwise chosen by game, budget
and cores (see ``defaults``). With ``historical`` nothing is chosen: the fields of the config, the
table of defaults that the project began with, apply."""


@dataclass(frozen=True)
class Combined:
    """The options of a new run, and those of them that were chosen for it, with the reasons."""

    config: SelfPlayConfig
    choices: list[Choice]


def read_toml(path: Path) -> dict[str, Any]:
    """Options from a TOML file, spelt with - or _; ``preset = "..."`` may be one of them."""
    settings = storage.read_toml(path, MOST_BYTES, "--config")
    known = {declared.name for declared in options()} | {"preset", *GAME_NUMBERS}
    spelt: dict[str, str] = {}
    for spelling, value in settings.items():
        name = spelling.replace("-", "_")
        if name not in known:
            raise InputError(f"--config '{path}': unknown option {quoted(spelling)}; see --help")
        if name in spelt:
            raise InputError(
                f"--config '{path}': {quoted(spelt[name])} and {quoted(spelling)} are the same "
                "option; remove one of them"
            )
        if name in GAME_NUMBERS and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"--config '{path}': {name}={shown(value)}: use a whole number")
        spelt[name] = spelling
    return {name: settings[spelling] for name, spelling in spelt.items()}


def combine(
    preset: str | None,
    config_file: Path | None,
    typed: dict[str, Any],
    init: NetworkConfig | None = None,
) -> Combined:
    """The preset, then the game and the shape of the network to begin with, then the file, then
    what was typed; the last one counts. What none of them says is chosen by game, budget and cores
    or, with ``historical``, has its historical default."""
    from_file = read_toml(config_file) if config_file is not None else {}
    named = preset or from_file.pop("preset", None)
    from_file.pop("preset", None)
    if named is not None and (not isinstance(named, str) or named not in PRESETS):
        raise InputError(f"preset {shown(named)}: use {', '.join(PRESETS)}, or none")
    budget = {"iterations", "minutes"}
    base = dict(PRESETS[named]) if named is not None else {}
    if init is not None:
        base |= {name: getattr(init, name) for name in SHAPE}
        if not {"game", *GAME_NUMBERS} & (from_file.keys() | typed.keys()):
            base["game"] = init.game
    for layer in (from_file, typed):
        if init is not None:
            refuse_other_shape(init, layer)
        if budget & set(layer):  # a budget replaces the other kind of budget
            base = {name: value for name, value in base.items() if name not in budget}
        if layer.get("game", base.get("game")) != base.get("game"):  # numbers of another game
            base = {name: value for name, value in base.items() if name not in GAME_NUMBERS}
        base |= layer
    numbers = {name: base.pop(name) for name in GAME_NUMBERS if name in base}
    if numbers or "game" in base:
        base["game"] = full_name(base.get("game"), numbers)
    if named == HISTORICAL:
        return Combined(settled(base), [])
    settled(base)  # refuses what is out of range, before anything is chosen by it
    chosen = [choice for choice in choices_for(base) if choice.option not in base]
    return Combined(settled({choice.option: choice.value for choice in chosen} | base), chosen)


def choices_for(given: dict[str, Any]) -> list[Choice]:
    """What is chosen for a run of these options, among them its game and budget."""
    minutes, iterations = given.get("minutes"), given.get("iterations")
    if minutes is None and iterations is None:
        iterations = SelfPlayConfig.iterations
    workers = given.get("workers")
    wish = Wish(
        minutes=minutes,
        iterations=iterations,
        cores=workers if isinstance(workers, int) and workers > 0 else available_cores(),
        games_per_iteration=given.get("games_per_iteration"),
        gate=given.get("gate", False),
        max_plies=given.get("max_plies"),
        search=given.get("search"),
    )
    return choices(game_by_name(given.get("game", SelfPlayConfig.game)), wish)


def read_config(folder: str | Path) -> SelfPlayConfig:
    """The config of a run that exists."""
    path = Path(folder) / "config.json"
    try:
        entries = storage.read_json(path, MOST_BYTES, "config", "restore it")
    except MissingTableError:
        raise InputError(
            f"'{folder}' is not a self-play run: it has no config.json; give another folder"
        ) from None
    try:
        if not isinstance(entries, dict):
            raise InputError(f"{shown(entries)} is not a list of options")
        return settled(entries)
    except InputError as error:
        raise InputError(
            f"'{path}' is not a self-play config ({error}): restore it, or give another folder"
        ) from None


def fitted(config: SelfPlayConfig, init: Network) -> SelfPlayConfig:
    """The config of a run that begins with this network: it says what the network is."""
    given = init.config
    if given.game != config.game:
        raise InputError(
            f"--init plays {given.game}, not {config.game}: give a network of that game"
        )
    defaults = by_game(game_by_name(config.game))
    wanted = {name: getattr(config, name) for name in SHAPE}
    refuse_other_shape(given, {n: value for n, value in wanted.items() if value != defaults[n]})
    if given.max_plies > (config.max_plies or given.max_plies):
        raise InputError(
            f"max_plies={config.max_plies}: the network of --init counts up to {given.max_plies} "
            "plies; use at least as many"
        )
    return replace(config, **{name: getattr(given, name) for name in SHAPE})
