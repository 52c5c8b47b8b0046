"""The options of self-play: names and defaults as promised, TOML and command line, bad values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import run_cli

from azfit.loading import SHIPPED_FOLDER
from azfit.network import Network, NetworkConfig
from azfit.self_play.config import by_game, options, settled
from azfit.self_play.config_sources import HISTORICAL, PRESETS, combine
from azfit.self_play.defaults import IN_WORDS
from solver.errors import InputError
from solver.machine import available_cores

# The table of defaults that the project began with: --preset historical, as --help shows it.
PROMISED = {
    "--sims": "100",
    "--noise-eps": "0.25",
    "--noise-eps-min": "0.1",
    "--noise-steps": "0",
    "--c-init": "1.4",
    "--c-base-factor": "1000.0",
    "--dirichlet-alpha": "10 / typical legal moves",
    "--fpu-reduction": "0.2",
    "--fpu-clamp": "on",
    "--fpu-dynamic": "off",
    "--temperature": "1.0",
    "--temp-moves": "drop 10, others 12",
    "--buffer": "500000",
    "--lambda-steps": "0.1",
    "--replay-ratio": "0.1",
    "--epochs": "5",
    "--policy-lr-scale": "0.1",
    "--batch-size": "512",
    "--lr": "0.003",
    "--dropout": "0.2",
    "--games-per-iteration": "70",
    "--parallel-games": "100",
    "--eval-games": "50",
    "--accept": "0.52",
    "--workers": "cores - 1, at least 1",
    "--balance-sampling": "off",
}


@pytest.fixture(scope="module")
def help_texts() -> dict[str, str]:
    """By option, as --help shows it; an entry begins in the third column."""
    ended = run_cli("self-play", "--help")
    assert ended.code == 0
    entries = re.split(r"\n  (?=-)", ended.out)[1:]
    return {entry.split()[0]: " ".join(entry.split()) for entry in entries}


@pytest.mark.parametrize("name", PROMISED)
def test_help_shows_the_promised_options_and_defaults(
    help_texts: dict[str, str], name: str
) -> None:
    option = name.removeprefix("--").replace("-", "_")
    chosen = f"{IN_WORDS[option]}; historical: " if option in IN_WORDS else ""
    assert help_texts[name].endswith(f"[default: {chosen}{PROMISED[name]}]")


def test_what_help_shows_is_what_the_historical_preset_uses() -> None:
    config = combine(HISTORICAL, None, {}).config
    for name, shown in PROMISED.items():
        value = getattr(config, name.removeprefix("--").replace("-", "_"))
        if shown in ("on", "off"):
            assert value is (shown == "on")
        elif re.fullmatch(r"[0-9.]+", shown):
            assert value == float(shown)
    assert config.workers == max(1, available_cores() - 1)
    assert config.game == "drop-4-4-4"
    assert config.gate is True


def test_alpha_of_the_noise_is_10_over_the_typical_moves() -> None:
    from azfit.games import game_by_name

    for name in ("drop-4-4-4", "connect4", "gomoku-15"):
        game = game_by_name(name)
        c_options = settled({"game": name}).search_config.c_options(game)
        assert c_options.dirichlet_alpha == pytest.approx(10 / game.typical_moves)


@pytest.mark.parametrize("name", ["drop-3-3-3", "drop-4-4-4", "connect4", "gomoku-9", "gomoku-15"])
def test_every_game_has_a_network_and_a_schedule(name: str) -> None:
    config = settled({"game": name})
    network = Network(config.network)
    assert network.config.dropout == 0.2
    assert config.temp_moves is not None and config.temp_moves > 0
    assert network.config.max_plies == config.max_plies
    shape = {"kind", "width", "blocks", "threats"}
    assert set(by_game(network.game)) == {"temp_moves", "max_plies", *shape}
    assert not network.config.threats


def test_presets_change_a_few_of_the_choices() -> None:
    quick, usual, strong = (
        combine(name, None, {"game": "connect4"}).config for name in ("quick", None, "strong")
    )
    for name in ("iterations", "games_per_iteration"):
        sizes = [getattr(config, name) for config in (quick, usual, strong)]
        assert sizes == sorted(set(sizes)), name
    assert (strong.sims, strong.blocks) == (400, 6)
    assert (quick.width, usual.width, strong.width) == (32, 32, 32)
    assert set(PRESETS) == {"quick", "strong", HISTORICAL}
    for gone in ("balanced", "recipe"):
        with pytest.raises(InputError, match=f"preset '{gone}': use quick, strong, historical"):
            combine(gone, None, {})


def test_historical_is_the_table_and_chooses_nothing() -> None:
    for game in ("connect4", "drop-4-4-4", "gomoku-15"):
        combined = combine(HISTORICAL, None, {"game": game, "minutes": 60})
        assert combined.config == settled({"game": game, "minutes": 60})
        assert combined.choices == []


# ---- what is chosen ------------------------------------------------------------------


def chosen(**typed: Any) -> Any:
    return combine(None, None, typed).config


def test_the_defaults_of_an_hour_are_the_measured_ones() -> None:
    """docs/self_play.md, "What is chosen", by two workers."""
    hour = chosen(game="connect4", minutes=60, workers=2)
    documented = {
        **{"width": 48, "blocks": 4, "games_per_iteration": 500, "parallel_games": 125},
        **{"temp_moves": 42, "random_plies": 12, "buffer": 1_000_000, "epochs": 1, "dropout": 0.0},
        **{"value_mix": 0.5, "surprise_weight": 0.5},
        **{"policy_lr_scale": 1.0, "gate": False, "eval_games": 4, "pool_games": 2},
    }
    assert {name: getattr(hour, name) for name in documented} == documented
    assert hour.replay_ratio == pytest.approx(0.04, abs=0.005)
    half = chosen(minutes=30, workers=2)
    assert (half.games_per_iteration, half.replay_ratio, half.gate) == (300, 0.5, False)
    assert (half.parallel_games, half.epochs, half.eval_games, half.pool_games) == (150, 1, 2, 0)
    gomoku = chosen(game="gomoku", minutes=60, workers=2)
    assert (gomoku.search, gomoku.sims, gomoku.games_per_iteration) == ("gumbel", 32, 150)
    assert (gomoku.parallel_games, gomoku.buffer, gomoku.replay_ratio) == (38, 639_990, 0.0844)
    small = chosen(n=3, m=3, iterations=12)
    assert (small.sims, small.width, small.replay_ratio, small.workers) == (50, 64, 1.0, 1)


def test_a_larger_network_from_ninety_minutes_times_cores() -> None:
    towers = [chosen(game="connect4", minutes=minutes, workers=2) for minutes in (44, 45)]
    assert [(tower.width, tower.blocks) for tower in towers] == [(32, 3), (48, 4)]


def test_puct_in_gomoku_tries_every_move() -> None:
    gomoku = chosen(game="gomoku", minutes=60, search="puct")
    assert (gomoku.search, gomoku.sims, gomoku.fpu_at_noised_root) == ("puct", 300, False)


@pytest.mark.parametrize("game", ["connect4", "drop", "gomoku"])
@pytest.mark.parametrize("minutes", [0.01, 1, 8, 60, 600])
def test_a_short_budget_has_small_iterations_and_every_choice_its_reason(
    game: str, minutes: float
) -> None:
    combined = combine(None, None, {"game": game, "minutes": minutes, "workers": 2})
    config, longer = combined.config, chosen(game=game, minutes=2 * minutes, workers=2)
    assert config.games_per_iteration <= longer.games_per_iteration
    assert config.buffer <= longer.buffer and 0 < config.replay_ratio <= 1
    names = [choice.option for choice in combined.choices]
    assert len(set(names)) == len(names) > 8
    assert all(getattr(config, choice.option) == choice.value for choice in combined.choices)
    assert all(choice.reason and "\n" not in str(choice) for choice in combined.choices)


def test_help_has_words_for_every_option_that_is_chosen() -> None:
    games = ("drop-3-3-3", "drop-4-4-4", "drop-5-4-4", "connect4", "gomoku-9", "gomoku-15")
    budgets: tuple[dict[str, Any], ...] = (
        *({"minutes": 1}, {"minutes": 600}, {"iterations": 20}),
        {"iterations": 20, "search": "puct"},
    )
    runs = [combine(None, None, {"game": game, **budget}) for game in games for budget in budgets]
    assert {choice.option for run in runs for choice in run.choices} == IN_WORDS.keys()
    values = {name: {getattr(run.config, name) for run in runs} for name in IN_WORDS}
    alike = {name: words for name, words in IN_WORDS.items() if len(values[name]) == 1}
    alike.pop("workers", None)  # on a machine with one core
    assert alike == {"gate": "off", "dropout": "0.0", "policy_lr_scale": "1.0"}
    assert [values[name] for name in alike] == [{1.0}, {0.0}, {False}]


def test_what_is_typed_beats_the_choices_and_is_not_explained(tmp_path: Path) -> None:
    path = toml(tmp_path, 'game = "connect4"\nminutes = 8\nwidth = 48')
    combined = combine(None, path, {"gate": True})
    config = combined.config
    assert (config.width, config.gate, config.blocks) == (48, True, 3)
    assert not {"width", "gate"} & {choice.option for choice in combined.choices}
    assert config.eval_games == settled({}).eval_games, "a gate needs a match of some length"
    assert combine(HISTORICAL, path, {}).choices == []
    with pytest.raises(InputError, match="minutes=-1"):
        combine(None, None, {"minutes": -1})


def test_choices_follow_what_is_typed() -> None:
    """Each position is drawn four times, however many games an iteration has."""
    for games in (100, 1000):
        config = chosen(game="connect4", minutes=600, workers=2, games_per_iteration=games)
        drawn = config.replay_ratio * config.buffer / (18 * games)
        assert drawn == pytest.approx(4, rel=0.2)
    assert chosen(game="connect4", max_plies=20).random_plies == 10
    counted = combine(None, None, {"game": "connect4", "iterations": 25, "workers": 2})
    assert counted.config.buffer == 25 * 200 * 18, "what the run plays"
    assert counted.config.replay_ratio == pytest.approx(4 / 25)
    (buffer,) = (choice for choice in counted.choices if choice.option == "buffer")
    assert buffer.reason.startswith("all positions of the run")


# ---- layers --------------------------------------------------------------------------


def toml(folder: Path, text: str) -> Path:
    path = folder / "options.toml"
    path.write_text(text)
    return path


def test_typed_beats_file_beats_preset_beats_default(tmp_path: Path) -> None:
    path = toml(
        tmp_path, 'preset = "strong"\nsims = 33\ngames-per-iteration = 44\nfpu_clamp = false'
    )
    config = combine(None, path, {"games_per_iteration": 55}).config
    assert (config.games_per_iteration, config.sims) == (55, 33)
    assert config.blocks == PRESETS["strong"]["blocks"]
    assert config.c_init == 1.4
    assert config.fpu_clamp is False
    assert combine("quick", path, {}).config.iterations == PRESETS["quick"]["iterations"]
    assert combine(None, path, {"fpu_clamp": True}).config.fpu_clamp is True


def test_the_game_and_its_numbers_are_layered_one_by_one(tmp_path: Path) -> None:
    path = toml(tmp_path, 'game = "drop"\nn = 3\nm = 3')
    for typed, name in (
        ({}, "drop-3-3-3"),
        ({"game": "drop"}, "drop-3-3-3"),
        ({"m": 4}, "drop-3-4-3"),
        ({"game": "drop", "n": 4}, "drop-4-3-4"),
        ({"game": "connect4"}, "connect4"),
        ({"game": "gomoku", "size": 9}, "gomoku-9"),
    ):
        assert combine(None, path, dict(typed)).config.game == name
    assert combine(None, None, {"n": 3, "m": 3}).config.game == "drop-3-3-3"
    assert combine(None, None, {}).config.game == "drop-4-4-4"
    with pytest.raises(InputError, match="size=9"):
        combine(None, path, {"size": 9})


@pytest.mark.parametrize("preset", ["quick", "strong"])
def test_a_presets_network_gives_way_to_the_one_to_begin_with(preset: str) -> None:
    given = NetworkConfig("connect4", "tower", 16, 3, 42, False, False, False)
    config = combine(preset, None, {"game": "connect4"}, given).config
    assert (config.kind, config.width, config.blocks) == ("tower", 16, 3)
    # What was typed is not overruled in silence, be it the game's default or not.
    for blocks in (4, 5):
        with pytest.raises(InputError, match=f"blocks={blocks}: the network of --init has 3"):
            combine(preset, None, {"game": "connect4", "blocks": blocks}, given)


def test_a_budget_replaces_the_other_kind_of_budget(tmp_path: Path) -> None:
    path = toml(tmp_path, "iterations = 7")
    assert combine("strong", None, {}).config.iterations == 100
    for config in (
        combine("strong", None, {"minutes": 5.0}).config,
        combine(None, path, {"minutes": 5.0}).config,
    ):
        assert (config.iterations, config.minutes) == (None, 5.0)
    config = combine(None, toml(tmp_path, "minutes = 5"), {"iterations": 3}).config
    assert (config.iterations, config.minutes) == (3, None)
    with pytest.raises(InputError, match="exactly one"):
        combine(None, None, {"iterations": 3, "minutes": 1.0})
    with pytest.raises(InputError, match="exactly one"):
        combine(None, toml(tmp_path, "iterations = 3\nminutes = 1"), {})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('game = "drop"\nn = 3\nm = 3', "drop-3-3-3"),
        ('game = "drop"\nn = 4\nm = 5\nk = 3', "drop-4-5-3"),
        ('game = "drop"', "drop-4-4-4"),
        ('game = "gomoku"\nsize = 9', "gomoku-9"),
        ('game = "gomoku"', "gomoku-15"),
        ('game = "connect4"', "connect4"),
        ('game = "drop-3-3-3"', "drop-3-3-3"),
        ("", "drop-4-4-4"),
    ],
)
def test_a_file_names_games_as_the_command_line_does(tmp_path: Path, text: str, name: str) -> None:
    assert combine(None, toml(tmp_path, text), {}).config.game == name


def test_every_option_can_be_given_in_a_file(tmp_path: Path) -> None:
    config = settled({})
    lines = []
    for declared in options():
        value = getattr(config, declared.name)
        if value is not None:
            text = f'"{value}"' if isinstance(value, str) else str(value).lower()
            lines.append(f"{declared.name.replace('_', '-')} = {text}")
    assert combine(None, toml(tmp_path, "\n".join(lines)), {}).config == config


def test_a_stored_config_is_read_back_as_it_was() -> None:
    for given in ({}, {"minutes": 2.0}, {"game": "gomoku-9", "dirichlet_alpha": 0.3}):
        config = settled(given)
        assert settled(config.to_dict()) == config


# ---- what cannot be ------------------------------------------------------------------

BAD_FILES = {
    "simms = 5": "unknown option 'simms'",
    'sims = "5"': "sims='5'",
    "sims = 5.5": "sims=5.5",
    "sims = 0": "sims=0",
    "sims = true": "sims=True",
    "fpu-clamp = 1": "fpu_clamp=1",
    "lr = nan": "lr=nan",
    "accept = 1.5": "accept=1.5",
    "full-sims = 50": "full_sims=50 has no effect",
    "fast-sims = 50": "fast_sims=50 has no effect",
    "surprise-weight = 2": "surprise_weight=2",
    "eval-games = 7": "eval_games=7",
    "pool-games = 3": "pool_games=3",
    "noise-steps = 5\nnoise-eps = 0.05": "noise_eps_min=0.1",
    'lr-schedule = "wavy"': "lr_schedule='wavy'",
    'game = "chess"': "game 'chess'",
    "game = 5": "game=5",
    "game = []": "game=[]",
    'game = "drop"\nn = 3.5': "n=3.5",
    'game = "connect4"\nsize = 9': "size is for gomoku",
    'game = "connect4"\nn = 3': "n, m and k are for drop",
    "size = 9": "size is for gomoku",
    'preset = "huge"': "preset 'huge'",
    "preset = 3": "preset 3",
    "[search]\nsims = 5": "use one of puct, gumbel",
    "[network]\nwidth = 5": "unknown option 'network'",
    "sims = ": "is not valid TOML",
    "batch-size = 2\nbatch_size = 3": "'batch-size' and 'batch_size' are the same option",
    "noise_steps = 2\nnoise-steps = 2": "'noise_steps' and 'noise-steps' are the same option",
    "sims = " + "[" * 100_000: "nested too deeply",
    "sims = [" + "1," * 1000 + "]": "use a whole number",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files_get_one_line_and_exit_code_2(tmp_path: Path, text: str) -> None:
    run = tmp_path / "run"
    ended = run_cli("self-play", "--run", run, "--config", toml(tmp_path, text))
    assert_one_line(ended, BAD_FILES[text])
    assert not run.exists()


def assert_one_line(ended: Any, words: str) -> None:
    assert ended.code == 2, ended
    assert ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1
    assert words in ended.err, ended.err


DROP = str(SHIPPED_FOLDER / "network_4x4_m4.safetensors")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--sims", "0"), "sims=0"),
        (("--sims", "many"), "--sims"),
        (("--lr", "nan"), "lr=nan"),
        (("--eval-games", "5"), "eval_games=5"),
        (("--random-plies", "21"), "random_plies=21: games end after max_plies=40"),
        (("--opening-plies", "8", "--max-plies", "14"), "opening_plies=8"),
        (("--iterations", "0"), "iterations=0"),
        (("--iterations", "2", "--minutes", "1"), "exactly one"),
        (("--game", "gomoku", "--size", "10"), "Gomoku on 10 lines"),
        (("--game", "chess"), "--game"),
        (("--preset", "huge"), "--preset"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
        (("--config", ""), "--config '' is empty"),
        (("--run", ""), "--run '' is empty"),
        (("--init", "nowhere.safetensors"), "nowhere.safetensors"),
        (("--init", "FOREIGN", "--game", "drop"), "plays drop-3-3-3, not drop-4-4-4"),
        (("--init", "JUNK"), "junk.safetensors"),
        (("--game", "connect4", "--init", DROP), "--init plays drop-4-4-4, not connect4"),
        (("--resume",), "has no config.json"),
    ],
)
def test_bad_options_get_one_line_and_exit_code_2(
    tmp_path: Path, typed: tuple[str, ...], words: str
) -> None:
    from azfit.checkpoint import save_checkpoint

    foreign, junk = tmp_path / "foreign.safetensors", tmp_path / "junk.safetensors"
    junk.write_bytes(b"\0" * 99)
    if "FOREIGN" in typed:
        save_checkpoint(foreign, Network(NetworkConfig(game="drop-3-3-3", width=8)))
    named = {"FOREIGN": str(foreign), "JUNK": str(junk)}
    run = tmp_path / "run"
    ended = run_cli("self-play", "--run", run, *(named.get(word, word) for word in typed))
    assert_one_line(ended, words)
    assert not run.exists()


def test_a_folder_that_exists_and_resume_with_options_are_refused(tmp_path: Path) -> None:
    import json

    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(settled({}).to_dict()))
    assert_one_line(run_cli("self-play", "--run", run), "use --resume, or another folder")
    for extra in (("--sims", "5"), ("--game", "drop"), ("--preset", "quick"), ("--no-gate",)):
        ended = run_cli("self-play", "--run", run, "--resume", *extra)
        assert_one_line(ended, "give only --run")
    (run / "resume.safetensors").write_bytes(b"\0" * 99)
    assert_one_line(run_cli("self-play", "--run", run, "--resume"), "resume.safetensors")


def test_the_game_is_that_of_init_unless_another_is_given(tmp_path: Path) -> None:
    shape = {"kind": "mlp", "width": 8, "blocks": 1, "max_plies": 9}
    network = NetworkConfig(game="drop-3-3-3", **shape)  # type: ignore[arg-type]
    assert combine(None, None, {}, network).config.game == "drop-3-3-3"
    assert (
        combine("quick", toml(tmp_path, "sims = 5"), {"epochs": 2}, network).config.game
        == "drop-3-3-3"
    )
    assert combine(None, None, {"game": "drop"}, network).config.game == "drop-4-4-4"
    assert combine(None, None, {"m": 5}, network).config.game == "drop-4-5-4"
    assert combine(None, toml(tmp_path, 'game = "connect4"'), {}, network).config.game == "connect4"
