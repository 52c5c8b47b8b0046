"""Games in the terminal, driven by lines of input as a pipe would drive them."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pytest
from command_line import Fadefour, run_script
from conftest import run_cli
from fixed_players import Chosen, HashedNetwork, fixed, network_player, perfect
from small_networks import save_small_network

from azfit import Connect4, Game, Gomoku, NetworkPlayer, Player, States
from azfit.drop_oldest_players import game_of
from azfit.players import Choices, Plies
from azfit.playing import play
from azfit.playing.advice import Adviser, SolverAdviser, TableAdviser
from azfit.playing.play import Played, play_game
from solver import InputError, Position, Rules, open_table
from solver.connect4 import Connect4Position, Connect4Solver
from solver.probing import Table


@pytest.fixture(scope="module")
def table(solved33: Path, rules33: Rules) -> Table:
    return open_table(solved33, rules33)


FULL_BOARD = "121221211212343443433434565665655656777777"
"""Connect Four without a winner."""


class Lowest(Player):
    """Plays the lowest legal action of any game."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, "lowest")

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        return Choices(self.game.legal_masks(states).argmax(axis=1).astype(np.int32))


def lowest(rules: Rules) -> Chosen:
    """Plays the lowest empty cell of the board."""
    return Chosen(rules, lambda position: position.legal_moves()[0])


def session(
    opponent: Player, typed: str, *, human: int = 0, adviser: Adviser | None = None,
    start: Position | Connect4Position | None = None,
) -> tuple[Played, str]:  # fmt: skip
    out = io.StringIO()
    lines = io.StringIO(typed.replace(" ", "\n"))
    state = None if start is None else opponent.game.state(start)
    game = play_game(opponent, human=human, adviser=adviser, lines=lines, out=out, start=state)
    return game, out.getvalue()


def knowing(table: Table) -> TableAdviser:
    return TableAdviser(game_of(table.rules), table)


def names(game: Game, played: Played) -> list[str]:
    return [game.action_name(action) for action in played.moves]


# ---- drop-oldest --------------------------------------------------------------------------------


def test_a_person_can_win(rules33: Rules) -> None:
    opponent = lowest(rules33)
    played, shown = session(opponent, "a3 b3 c3 this is not read")
    assert (played.winner, played.how) == (0, "line")
    assert names(opponent.game, played) == ["a3", "a1", "b3", "b1", "c3"]
    assert "you win" in shown and "Y plays b1." in shown
    assert game_of(rules33).position(played.state).is_over


def test_a_person_can_lose(rules33: Rules) -> None:
    played, shown = session(lowest(rules33), "a3 c2 b2", human=1)
    assert (played.winner, played.how) == (0, "line")
    assert shown.index("X plays a1.") < shown.index("Y to move>") and "You have lost." in shown


def test_hints_followed_to_the_end_win_in_13(table: Table) -> None:
    """Typing what the table hints wins from the start exactly when it must."""
    typed: list[str] = []
    for _ in range(7):
        played, shown = session(perfect(table), " ".join([*typed, "hint"]), adviser=knowing(table))
        assert played.how == "end of input"
        typed.append(shown.rsplit("Best: ", 1)[1].split()[0])
    played, _ = session(perfect(table), " ".join(typed), adviser=knowing(table))
    assert (played.winner, len(played.moves)) == (0, 13)


def test_values_and_moves_are_exact_with_a_table(table: Table) -> None:
    start = Position.parse("a1b1/a2b2 x", table.rules)
    _, shown = session(perfect(table), "value moves", adviser=knowing(table), start=start)
    assert "is exactly a win in 1 ply" in shown
    for move in table.moves(start):
        assert f"{table.rules.cell_name(move.cell)}   {move.result}" in shown


def test_a_hint_lists_all_best_moves_and_no_other(table: Table, rules33: Rules) -> None:
    _, shown = session(perfect(table), "hint", adviser=knowing(table))
    assert "Best: b1 a2 c2 b3 for a win in 13 plies." in shown


def test_of_equal_moves_those_that_ask_most_of_the_opponent_are_named(table: Table) -> None:
    """Three moves draw; after two of them five of six replies are mistakes."""
    start = Position.parse("a1/b2 x", table.rules)
    _, shown = session(perfect(table), "hint moves quit", adviser=knowing(table), start=start)
    assert (
        "Best: c1 a3 c3 for a draw (endless).\nAfter c1 a3, 5 of 6 replies are mistakes." in shown
    )
    assert "  c3   draw (endless)     2 of 6 replies are mistakes\n" in shown
    assert "  b1   loss in 10 plies   5 of 6 replies are mistakes\n" in shown


def test_without_a_table_the_opponent_is_asked(rules33: Rules) -> None:
    network = network_player(HashedNetwork(9), rules33)
    _, shown = session(network, "value hint moves")
    assert "win 20 %, draw 50 %, loss 30 %" in shown
    assert f"network would play {rules33.cell_name(network.move(rules33.start()))}" in shown
    assert "You can play a1 b1 c1" in shown
    assert "gives no opinion" in session(fixed(rules33), "value")[1]


def test_undo_takes_back_the_move_and_the_reply(rules33: Rules) -> None:
    opponent = lowest(rules33)
    played, shown = session(opponent, "undo a3 b3 undo undo undo c3 quit")
    assert shown.count("no move to take back") == 2 and shown.count("Taken back.") == 2
    assert names(opponent.game, played) == ["c3", "a1"] and played.how == "quit"
    played, shown = session(opponent, "undo b3 undo c3 quit", human=1)
    assert "no move to take back" in shown
    assert names(opponent.game, played) == ["a1", "c3", "b1"]


def test_resigning_quitting_and_the_end_of_input(rules33: Rules) -> None:
    assert session(lowest(rules33), "a3 resign")[0].winner == 1
    assert session(lowest(rules33), "resign", human=1)[0].winner == 0
    played, shown = session(lowest(rules33), "exit")
    assert (played.winner, played.how) == (None, "quit") and "Goodbye" in shown
    played, shown = session(lowest(rules33), "a3")
    assert (played.winner, played.how) == (None, "end of input")
    assert shown.endswith("End of input: the game stops here, unfinished. Goodbye.\n")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("d4", "'d4' is neither a cell (a1 to c3) nor a command: try help."),
        ("a0", "'a0' is neither"),
        ("hinnt", "'hinnt' is neither"),
        ("-1", "'-1' is neither"),
        ("\x1b[A", r"'\x1b[a' is neither"),  # an arrow key; the terminal is not disturbed
        ("a" * 500, "aaa' is neither a cell"),
        ("a1", "a1 is taken: your oldest piece is there until you have moved."),
        ("b1", "b1 is taken. Choose one of"),
        ("a2", "a2 is taken. Choose one of"),
        ("HELP", "take back your last move"),
        ("?", "take back your last move"),
        ("board", "1 is the oldest piece"),
    ],
)
def test_what_is_not_a_move_is_explained_and_asked_again(
    rules33: Rules, typed: str, answer: str
) -> None:
    start, opponent = Position.parse("a1b1c2/a2b2c1 x", rules33), lowest(rules33)
    played, shown = session(opponent, f"{typed} A3 quit", start=start)
    assert answer in shown
    assert names(opponent.game, played)[0] == "a3"  # the game went on


def test_empty_lines_do_nothing(rules33: Rules) -> None:
    out = io.StringIO()
    played = play_game(lowest(rules33), lines=["\n", "  \n", " a3 \n", "quit\n"], out=out)
    assert len(played.moves) == 2


def test_a_draw_is_offered_and_can_be_declined(
    rules33: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "DRAW_OFFERED_AFTER", 4)
    played, shown = session(lowest(rules33), "a3 c2 maybe y")
    assert (played.winner, played.how, len(played.moves)) == (None, "agreed", 4)
    assert "4 plies without a line" in shown and "Please answer y or n." in shown
    played, shown = session(lowest(rules33), "a3 c2 n c1 quit")
    assert played.how == "quit" and shown.count("Agree to a draw?") == 1


def test_a_finished_game_cannot_be_started_from(rules33: Rules) -> None:
    over = Position.parse("a1b1c1/a2b2 y", rules33)
    with pytest.raises(InputError, match="over already"):
        session(lowest(rules33), "", start=over)


# ---- Connect Four and Gomoku --------------------------------------------------------------------


def test_connect4_is_won_by_four_and_drawn_by_a_full_board() -> None:
    played, shown = session(Lowest(Connect4()), "4 4 4 4")
    assert (played.how, played.winner) == ("line", 0) and "you win" in shown
    assert names(Connect4(), played) == ["4", "1", "4", "1", "4", "1", "4"]
    assert "O plays 1." in shown and "Type a column to move there" in shown
    almost = Connect4Position.parse(FULL_BOARD[:-1])  # the last stone is O's
    typed = FULL_BOARD[-1]
    played, shown = session(Lowest(Connect4()), typed, human=1, start=almost)
    assert (played.how, played.winner) == ("full board", None) and "a draw" in shown


def test_a_full_column_is_explained() -> None:
    start = Connect4Position.parse("444444")
    played, shown = session(Lowest(Connect4()), "4 8 a1 help 1 quit", start=start)
    assert "4 is full. Choose one of 1 2 3 5 6 7." in shown
    assert "'8' is neither a column (1 to 7) nor a command" in shown
    assert "'a1' is neither a column" in shown
    assert "drop a stone into column 1" in shown
    assert names(Connect4(), played) == ["1", "1"]


def test_hints_of_connect4_are_the_solvers() -> None:
    game, position = Connect4(), Connect4Position.parse("44444226611")
    with Connect4Solver(4) as solver:
        adviser = SolverAdviser(game, solver)
        _, shown = session(
            Lowest(game), "hint moves value quit", human=1, adviser=adviser, start=position
        )
        moves, value = solver.moves(position), solver.value(position)
    best = sorted(str(move.column) for move in moves if move.score == moves[0].score)
    assert f"Best: {' '.join(best)} for a {value.result} in {value.plies} plies" in shown
    for move in moves:
        assert f"  {move.column}   {move.result}" in shown
    assert f"exactly a {value.result} in {value.plies} plies (score {value.score:+d})" in shown


def test_gomoku_is_played_on_cells_and_asks_the_network() -> None:
    game = Gomoku(9)
    network = NetworkPlayer(game, HashedNetwork(game.actions))
    played, shown = session(network, "e5 e5 z9 moves hint value quit")
    assert (played.how, names(game, played)[0]) == ("quit", "e5")
    assert "e5 is taken.\n" in shown  # 79 cells are not listed
    assert "'z9' is neither a cell (a1 to i9)" in shown
    assert "any of 79 cells" in shown and "network would play" in shown
    assert "win 20 %, draw 50 %, loss 30 %" in shown
    assert "   5 | " in shown and "a b c d e f g h i" in shown
    played, shown = session(Lowest(game), "a9 b9 c9 d9 e9")
    assert (played.how, played.winner, len(played.moves)) == ("line", 0, 9)


def test_an_opponent_that_takes_long_is_announced(
    rules33: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, before = threading.Event(), threading.active_count()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "is thinking" in text:
                said.set()
            return super().write(text)

    def slow(position: Position) -> int:
        assert said.wait(30), "nothing was said"
        return position.legal_moves()[0]

    monkeypatch.setattr(play, "PATIENCE", 0.01)
    out = Watched()
    play_game(Chosen(rules33, slow), lines=["a3\n", "quit\n"], out=out)
    assert out.getvalue().count("chosen is thinking; this may take a minute.") == 1
    monkeypatch.setattr(play, "PATIENCE", 1000.0)
    assert "thinking" not in session(lowest(rules33), "a3 hint quit")[1]
    assert threading.active_count() == before


# ---- the command --------------------------------------------------------------------------------


def play_script(typed: str, *arguments: str | Path) -> tuple[int, str, str]:
    ended = run_script("play", *arguments, input=typed.replace(" ", "\n") + "\n")
    return ended.returncode, ended.stdout, ended.stderr


def test_connect4_against_the_solver_from_a_position() -> None:
    """44444226: the first player wins in 31; after column 7 the second player's best is known."""
    position = "4444442266"
    code, out, err = play_script("hint quit", "--game", "connect4", "--position", position)
    assert (code, err) == (0, "")
    with Connect4Solver() as solver:
        move = solver.best_move(Connect4Position.parse(position))
    assert f"Best: {move.column}" in out and "You are X; solver is the other side." in out
    code, out, err = play_script("quit", "--against", "solver", "--as", "o", "--position", position)
    assert (code, err) == (0, "")
    assert f"X plays {move.column}." in out and "O to move> " in out


def test_each_game_against_a_network_with_simulations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, typed, move in (
        ("drop-3-3-3", "b2 quit", "b2"),
        ("connect4", "4 quit", "4"),
        ("gomoku-9", "e5 quit", "e5"),
    ):
        checkpoint = save_small_network(tmp_path / f"{name}.safetensors", name)
        monkeypatch.setattr("sys.stdin", io.StringIO(typed.replace(" ", "\n") + "\n"))
        code, out, err = run_cli("play", "--against", checkpoint, "--sims", "5")
        assert (code, err) == (0, ""), name
        assert f"{name} + 5 sims is the other side" in out and move
        assert "Goodbye." in out


def test_each_game_against_a_random_player(tmp_path: Path) -> None:
    for game, typed in (("drop", "a1 quit"), ("connect4", "4 quit"), ("gomoku", "h8 quit")):
        code, out, err = play_script(typed, "--game", game, "--against", "random")
        assert (code, err) == (0, ""), game
        assert " plays " in out and "Goodbye." in out
    variant = ("--game", "gomoku", "--size", "9", "--position", "e5 e6 d5")
    code, out, _ = play_script("quit", *variant, "--against", "random", "--as", "o")
    assert code == 0 and "   5 | · · · X X · · · ·" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--game", "gomoku"), ("no table and no solver", "--against")),
        (("--game", "gomoku", "--against", "solver"), ("no table and no solver",)),
        (("--game", "connect4", "--against", "table"), ("use --against solver",)),
        (("--game", "drop", "--against", "solver"), ("use --against table",)),
        (("--game", "connect4", "--sims", "5"), ("--sims 5", "--against")),
        (("--game", "connect4", "--n", "5"), ("n=5",)),
        (("--game", "connect4", "--size", "9"), ("size=9",)),
        (("--size", "9"), ("size=9",)),
        (("--game", "gomoku", "--against", "random", "--size", "7"), ("7 lines", "9, 11")),
        (("--game", "connect4", "--position", "48"), ("'8'", "1 to 7")),
        (("--game", "connect4", "--position", "4141414"), ("over already",)),
        (("--game", "gomoku", "--against", "random", "--data", "."), ("--data has no effect",)),
        (("--position", "a1a1/- x"), ("a1",)),
        (("--game", "gomoku", "--against", "random", "--position", "h8 h8"), ("h8", "taken")),
        (("--game", "gomoku", "--against", "random", "--position", "h8 ~"), ("~",)),
        (("--game", "go"), ("go", "drop")),
        (("--as", "z"), ("z",)),
    ],
)
def test_impossible_wishes_are_refused(
    table: Table, solved33: Path, fadefour: Fadefour, arguments: tuple[str, ...], words: list[str]
) -> None:
    drop = () if "--game" in arguments or "--data" in arguments else ("--data", solved33)
    variant = ("--n", 3, "--m", 3) if drop and "--size" not in arguments else ()
    ended = fadefour("play", *arguments, *variant, *drop)
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.count("\n") == 1
    for word in words:
        assert word in ended.err


def test_a_network_plays_its_own_game_and_size(tmp_path: Path, fadefour: Fadefour) -> None:
    gomoku = save_small_network(tmp_path / "gomoku.safetensors", "gomoku-9")
    for typed, words in (
        (("--game", "connect4"), "plays gomoku-9"),
        (("--size", 15), "--size 15"),
        (("--n", 4), "--n 4"),
    ):
        ended = fadefour("play", "--against", gomoku, *typed)
        assert ended.code == 2 and words in ended.err


def test_a_game_starts_from_the_position_asked_for(solved33: Path) -> None:
    variant = ("--n", "3", "--m", "3", "--data", solved33)
    code, out, _ = play_script("value quit", *variant, "--position", "a1b1/a2b2 x")
    assert code == 0 and "exactly a win in 1 ply" in out
