"""One player for every game: what it promises whatever the game and whatever thinks behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators import Hashed
from fixed_players import HashedNetwork, fixed

import azfit
from azfit import (
    NetworkPlayer,
    Player,
    RandomPlayer,
    Result,
    SearchConfig,
    SearchPlayer,
    game_by_name,
)
from azfit.connect4_players import SolverPlayer
from azfit.drop_oldest_players import CanonicalPlayer, game_of, nodes_of_states
from azfit.games import Game, States
from solver import InputError, MissingTableError, Position, Rules
from solver.connect4 import Connect4Position, Connect4Solver
from solver.index import node_count, position_of, symmetry_of
from solver.values import RESULTS

ROOT = Path(__file__).resolve().parent.parent
NAMES = ["drop-3-3-3", "drop-4-4-4", "connect4", "gomoku-9"]
every_game = pytest.mark.parametrize("name", NAMES)
every_kind = pytest.mark.parametrize("kind", ["network", "search", "random"])


def some_states(game: Game, count: int, seed: int = 0) -> States:
    """States in play from random games."""
    rng, states = np.random.default_rng(seed), []
    while len(states) < count:
        state = game.start()
        for _ in range(int(rng.integers(0, 8))):
            if game.result(state) == Result.GOING_ON:
                state = game.play(state, int(rng.choice(game.legal_moves(state))))
        if game.result(state) == Result.GOING_ON:
            states.append(state)
    return np.stack(states)


def player_of(kind: str, game: Game) -> Player:
    if kind == "random":
        return RandomPlayer(game, np.random.default_rng(1))
    network = HashedNetwork(game.actions)
    if kind == "network":
        return NetworkPlayer(game, network)
    return SearchPlayer(game, network, SearchConfig(sims=12, max_plies=200))


@every_game
@every_kind
def test_moves_are_legal_and_every_state_has_one(name: str, kind: str) -> None:
    game = game_by_name(name)
    states = some_states(game, 40)
    choices = player_of(kind, game).choose(states)
    assert choices.actions.dtype == np.int32
    assert game.legal_masks(states)[np.arange(40), choices.actions].all()
    assert (choices.chances is not None) == (kind == "random")
    if kind != "random":
        assert (
            choices.wdl is not None
            and choices.wdl.tolist() == [pytest.approx([0.2, 0.5, 0.3])] * 40
        )
        assert choices.steps is not None and choices.steps.tolist() == [5.0] * 40
        assert choices.margin is not None and (choices.margin >= 0).all()
    empty = player_of(kind, game).choose(states[:0])
    assert empty.actions.shape == (0,)


@every_game
@pytest.mark.parametrize("kind", ["network", "search"])
def test_a_move_depends_on_its_state_alone(name: str, kind: str, monkeypatch: Any) -> None:
    game = game_by_name(name)
    states = some_states(game, 30)
    player = player_of(kind, game)
    together = player.choose(states).actions
    assert [player.move(state) for state in states] == together.tolist()
    monkeypatch.setattr("azfit.players.TREES", 7)
    monkeypatch.setattr("azfit.players.BATCH", 7)
    choices = player.choose(states)
    assert (choices.actions == together).all()
    assert choices.wdl is not None and choices.wdl.shape == (30, 3)


@every_game
@pytest.mark.parametrize("kind", ["network", "search"])
def test_a_finished_game_has_no_move(name: str, kind: str) -> None:
    game = game_by_name(name)
    rng, state = np.random.default_rng(3), game.start()
    while game.result(state) == Result.GOING_ON:
        state = game.play(state, int(rng.choice(game.legal_moves(state))))
    player = player_of(kind, game)
    with pytest.raises(InputError, match="over"):
        player.move(state)
    with pytest.raises(InputError, match="over"):
        player.choose(np.stack([game.start(), state]))


def test_an_evaluator_may_give_one_value_and_no_steps() -> None:
    game = game_by_name("connect4")
    for player in (
        NetworkPlayer(game, Hashed(game, steps=False)),
        SearchPlayer(game, Hashed(game, steps=False), SearchConfig(sims=5)),
    ):
        choices = player.choose(some_states(game, 3))
        assert choices.wdl is None and choices.steps is None


def test_a_search_has_no_noise_whatever_its_config_says() -> None:
    game = game_by_name("connect4")
    noisy = SearchConfig(sims=20, noise_eps=0.9, temperature=5.0)
    quiet = SearchConfig(sims=20, noise_eps=0.0, temperature=0.0, reuse=False)
    states = some_states(game, 50)
    first, second = (SearchPlayer(game, Hashed(game), config) for config in (noisy, quiet))
    assert (first.choose(states).actions == second.choose(states).actions).all()


def test_memory_of_a_search_is_bounded(monkeypatch: Any) -> None:
    """Fewer trees side by side where each is large."""
    game, made = game_by_name("connect4"), []
    plain = azfit.Search.__init__

    def counted(self: Any, game: Any, trees: int, *rest: Any) -> None:
        made.append(trees)
        plain(self, game, trees, *rest)

    monkeypatch.setattr(azfit.Search, "__init__", counted)
    monkeypatch.setattr("azfit.players.NODES", 100)
    SearchPlayer(game, Hashed(game), SearchConfig(sims=20)).choose(some_states(game, 12))
    assert set(made) == {5, 2}


# ---- positions of the solvers -------------------------------------------------------------------


def test_a_move_is_asked_for_by_state_or_by_position() -> None:
    rules = Rules(3, 3, 3)
    player, position = fixed(rules), Position.parse("a1b2/c3 y", rules)
    assert player.move(position) == player.move(game_of(rules).state(position))
    four = player_of("network", game_by_name("connect4"))
    played = Connect4Position.parse("4435")
    assert four.move(played) == four.move(four.game.play_all([3, 3, 2, 4]))
    gomoku = player_of("random", game_by_name("gomoku-9"))
    for asked, other in ((player, played), (four, position), (gomoku, played)):
        with pytest.raises(InputError):
            asked.move(other)


def test_the_solver_as_a_player_of_connect4() -> None:
    with Connect4Solver(4) as solver:
        player = SolverPlayer(solver)
        # X wins at once in column 4, then in column 7; the third takes a search.
        positions = [
            Connect4Position.parse(text) for text in ("414141", "435362", "4444447112233556")
        ]
        states = np.stack([player.game.state(position) for position in positions])
        choices = player.choose(states)
        for row, position in enumerate(positions):
            best = solver.moves(position)[0]
            assert choices.actions[row] == best.column - 1 == player.move(position)
            assert choices.wdl is not None and choices.steps is not None
            assert choices.wdl[row].tolist() == [best.result == r for r in RESULTS]
            assert choices.steps[row] == best.plies
        assert choices.actions[0] == 3 and choices.steps is not None and choices.steps[0] == 1
        with pytest.raises(InputError, match="over"):
            player.choose(player.game.state(Connect4Position.parse("4141414"))[None])


# ---- symmetry -----------------------------------------------------------------------------------


def test_nodes_and_states_are_each_others_inverse() -> None:
    game = game_of(Rules(3, 3, 3))
    nodes = np.array(
        [
            node
            for node in range(node_count(game.rules))
            if not position_of(node, game.rules).is_impossible
        ],
        np.uint64,
    )
    again, transforms = nodes_of_states(game, game.states_of_nodes(nodes))
    assert (again == nodes).all() and not transforms.any()


def test_canonical_players_carry_moves_and_chances_back() -> None:
    """On every image of a board the move and the chances are the images of those on the board."""
    rules = Rules(3, 3, 3)
    game = game_of(rules)
    states = some_states(game, 30)

    class Skewed(Player):
        """The lower of two legal cells is twice as likely as the next, and so on."""

        def choose(self, states: States, plies: Any = None) -> azfit.Choices:
            weights = np.where(self.game.legal_masks(states), 0.5 ** np.arange(9), 0)
            chances = weights / weights.sum(axis=1, keepdims=True)
            return azfit.Choices(chances.argmax(axis=1).astype(np.int32), chances=chances)

    player = CanonicalPlayer(Skewed(game, "skewed"))
    chosen = player.choose(states)
    assert chosen.chances is not None
    for t in range(8):
        turned = np.stack(
            [game.state(symmetry_of(rules).apply(t, game.position(state))) for state in states]
        )
        images = player.choose(turned)
        assert images.chances is not None
        for row in range(len(states)):
            # a board with a symmetry of its own has several canonical moves: compare what follows
            after = game.play(states[row], int(chosen.actions[row]))
            other = game.play(turned[row], int(images.actions[row]))
            nodes, _ = nodes_of_states(game, np.stack([after, other]))
            assert nodes[0] == nodes[1]
            assert sorted(images.chances[row]) == pytest.approx(sorted(chosen.chances[row]))
            legal = game.legal_masks(turned[row : row + 1])[0]
            assert ((images.chances[row] > 0) == legal).all()
            assert images.chances[row].argmax() == images.actions[row]


# ---- loading ------------------------------------------------------------------------------------


def test_a_network_is_loaded_and_asked_for_a_move_as_documented() -> None:
    pytest.importorskip("torch")
    player = azfit.load_player("shipped")
    position = Position.parse("a1b2/c3 y")
    assert player.move(position) in position.legal_moves()
    assert player.canonical and player.sims == 0 and player.game.name == "drop-4-4-4"
    assert player.info.to_dict() == {
        "player": "network_4x4_m4",
        "sims": 0,
        "proves": False,
        "canonical": True,
        "checkpoint_sha256": player.sha256,
    }
    searching = azfit.load_player("shipped", sims=8, threads=1)
    assert searching.name == "network_4x4_m4 + 8 sims" and searching.info.proves
    with pytest.raises(InputError, match="sims=0"):
        azfit.load_player("shipped", sims=0)


def test_the_folder_of_a_run_means_its_best_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from small_networks import save_small_network

    run = tmp_path / "four"
    with pytest.raises(MissingTableError, match="does not exist"):
        azfit.load_player(run)
    run.mkdir()
    with pytest.raises(MissingTableError, match=r"has no best\.safetensors: give"):
        azfit.load_player(run)
    saved = save_small_network(run / "checkpoints" / "step-000000001.safetensors", "connect4")
    with pytest.raises(MissingTableError, match=r"yet: give '.*step-000000001"):
        azfit.load_player(run)
    save_small_network(run / "best.safetensors", "connect4")
    player = azfit.load_player(run)
    assert player.name == "four" and player.game.name == "connect4" and not player.canonical
    assert player.sha256 == azfit.load_player(saved).sha256
    assert azfit.load_player(saved).name == "step-000000001"
    monkeypatch.chdir(run)
    assert azfit.load_player(".").name == "four"


@pytest.mark.parametrize(("sims", "boards"), [(None, 1 << 12), (5, 1 << 10)])
def test_threads_are_measured_unless_they_are_given(
    monkeypatch: pytest.MonkeyPatch, sims: int | None, boards: int
) -> None:
    pytest.importorskip("torch")
    from azfit.inference import NetworkEvaluator
    from solver.machine import available_cores

    measured: list[tuple[int, int]] = []
    monkeypatch.setattr(
        NetworkEvaluator,
        "choose_threads",
        lambda self, boards, most: measured.append((boards, most)),
    )
    azfit.load_player("shipped", sims, threads=1)
    assert measured == []
    azfit.load_player("shipped", sims)
    assert measured == [(boards, available_cores())]


def test_importing_azfit_does_not_import_torch() -> None:
    code = "import sys, azfit; azfit.load_player; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
