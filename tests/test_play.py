"""Games in the terminal, driven by lines of input as a pipe would drive them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fixed_players import Chosen, HashedNetwork, fixed, network_player, perfect

from azfit.players import Player
from azfit.playing import play
from azfit.playing.play import Played, play_game
from solver import InputError, Position, Rules, open_table
from solver.table import Table


@pytest.fixture(scope="module")
def table(solved33: Path, rules33: Rules) -> Table:
    return open_table(solved33, rules33)


def lowest(rules: Rules) -> Chosen:
    """Plays the lowest empty cell of the board."""
    return Chosen(rules, lambda position: position.legal_moves()[0])


def session(
    opponent: Player, typed: str, *, human: str = "x", table: Table | None = None,
    start: Position | None = None,
) -> tuple[Played, str]:  # fmt: skip
    out = io.StringIO()
    lines = io.StringIO(typed.replace(" ", "\n"))
    game = play_game(opponent, human=human, table=table, lines=lines, out=out, start=start)
    return game, out.getvalue()


def test_a_person_can_win(rules33: Rules) -> None:
    game, shown = session(lowest(rules33), "a3 b3 c3 this is not read")
    assert (game.result, game.how) == ("x", "line")
    assert game.to_dict()["moves"] == ["a3", "a1", "b3", "b1", "c3"]
    assert game.position.is_over and "you win" in shown and "Y plays b1." in shown


def test_a_person_can_lose(rules33: Rules) -> None:
    game, shown = session(lowest(rules33), "a3 c2 b2", human="y")
    assert (game.result, game.how) == ("x", "line")
    assert shown.index("X plays a1.") < shown.index("Y to move>") and "You have lost." in shown


def test_hints_followed_to_the_end_win_in_13(table: Table) -> None:
    """Typing what the table hints wins from the start exactly when it must."""
    typed: list[str] = []
    for _ in range(7):
        game, shown = session(perfect(table), " ".join([*typed, "hint"]), table=table)
        assert game.how == "end of input"
        typed.append(shown.rsplit("Best: ", 1)[1].split()[0])
    game, _ = session(perfect(table), " ".join(typed), table=table)
    assert (game.result, len(game.moves)) == ("x", 13)


def test_values_and_moves_are_exact_with_a_table(table: Table) -> None:
    start = Position.parse("a1b1/a2b2 x", table.rules)
    _, shown = session(perfect(table), "value moves", table=table, start=start)
    assert "is exactly a win in 1 ply" in shown
    for move in table.moves(start):
        assert f"{table.rules.cell_name(move.cell)}   {move.result}" in shown


def test_without_a_table_the_opponent_is_asked(rules33: Rules) -> None:
    network = network_player(HashedNetwork(9), rules33)
    _, shown = session(network, "value hint moves")
    assert "win 20 %, draw 50 %, loss 30 %" in shown
    assert f"network would play {rules33.cell_name(network.move(rules33.start()))}" in shown
    assert "You can play a1 b1 c1" in shown
    assert "gives no opinion" in session(fixed(rules33), "value")[1]


def test_undo_takes_back_the_move_and_the_reply(rules33: Rules) -> None:
    game, shown = session(lowest(rules33), "undo a3 b3 undo undo undo c3 quit")
    assert shown.count("no move to take back") == 2 and shown.count("Taken back.") == 2
    assert game.to_dict()["moves"] == ["c3", "a1"] and game.how == "quit"
    game, shown = session(lowest(rules33), "undo b3 undo c3 quit", human="y")
    assert "no move to take back" in shown
    assert game.to_dict()["moves"] == ["a1", "c3", "b1"]


def test_resigning_quitting_and_the_end_of_input(rules33: Rules) -> None:
    assert session(lowest(rules33), "a3 resign")[0].result == "y"
    assert session(lowest(rules33), "resign", human="y")[0].result == "x"
    game, shown = session(lowest(rules33), "exit")
    assert (game.result, game.how) == ("unfinished", "quit") and "Goodbye" in shown
    game, shown = session(lowest(rules33), "a3")
    assert (game.result, game.how) == ("unfinished", "end of input")
    assert shown.endswith("End of input: the game stops here, unfinished. Goodbye.\n")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("d4", "'d4' is neither a cell (a1 to c3) nor a command: try help."),
        ("a0", "'a0' is neither"),
        ("hinnt", "'hinnt' is neither"),
        ("-1", "'-1' is neither"),
        ("\x1b[A", "is neither"),
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
    start = Position.parse("a1b1c2/a2b2c1 x", rules33)
    game, shown = session(lowest(rules33), f"{typed} A3 quit", start=start)
    assert answer in shown
    assert game.to_dict()["moves"][0] == "a3"  # the game went on


def test_empty_lines_do_nothing(rules33: Rules) -> None:
    out = io.StringIO()
    game = play_game(lowest(rules33), lines=["\n", "  \n", " a3 \n", "quit\n"], out=out)
    assert len(game.moves) == 2


def test_a_draw_is_offered_and_can_be_declined(
    rules33: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "DRAW_OFFERED_AFTER", 4)
    game, shown = session(lowest(rules33), "a3 c2 maybe y")
    assert (game.result, game.how, len(game.moves)) == ("draw", "agreed", 4)
    assert "4 plies without a line" in shown and "Please answer y or n." in shown
    game, shown = session(lowest(rules33), "a3 c2 n c1 quit")
    assert game.how == "quit" and shown.count("Agree to a draw?") == 1
    assert play_game.__kwdefaults__ is not None


def test_impossible_wishes_are_refused(rules33: Rules, table: Table) -> None:
    with pytest.raises(InputError, match="'z'"):
        session(lowest(rules33), "", human="z")
    with pytest.raises(InputError, match="the table is for"):
        session(lowest(Rules()), "", table=table)
    with pytest.raises(InputError, match="the position is for"):
        session(lowest(rules33), "", start=Rules().start())
    over = Position.parse("a1b1c1/a2b2 y", rules33)
    with pytest.raises(InputError, match="over already"):
        session(lowest(rules33), "", start=over)
