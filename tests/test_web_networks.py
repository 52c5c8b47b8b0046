"""Networks through HTTP think what the players of Python think."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from small_networks import save_small_network
from synthetic_runs import write_config
from web_server import InProcess

from azfit import load_player
from azfit.checkpoint_header import read_header
from azfit.grading.grade import grade
from azfit.loading import shipped_names
from azfit.notation import AnyPosition, after_action, read_position
from azfit.players import Player
from azfit.web import networks as module
from azfit.web.catalogue import id_of
from azfit.web.work import Workers
from solver import open_table

GAMES = {
    "shipped": ("drop-4-4-4", "-/- x"),
    "small:best": ("drop-3-3-3", "-/- x"),
    "four:best": ("connect4", "-"),
    "five:best": ("gomoku-9", "-"),
}


def checkpoint_of(network: str, runs: Path) -> str | Path:
    run, _, name = network.partition(":")
    return network if not name else runs / run / f"{name}.safetensors"


def walk(player: Player, start: str, count: int, seed: int = 1) -> list[AnyPosition]:
    """Positions in play of random games."""
    game, draw = player.game, random.Random(seed)
    position, found = read_position(game, start), []
    while len(found) < count:
        legal = game.legal_moves(game.state(position))
        if not legal:
            position = read_position(game, start)
            continue
        found.append(position)
        position = after_action(position, draw.choice(legal))
    return found


def test_networks_are_listed_without_torch_from_their_headers(
    web: InProcess, web_runs: Path
) -> None:
    listed = {entry["id"]: entry for entry in web.get("/api/networks").json["networks"]}
    assert set(GAMES) <= set(listed)
    assert next(iter(listed)) == "shipped"
    saved = (web_runs / "small" / "checkpoints").glob("*.safetensors")
    steps = {f"small:{path.stem}" for path in saved}
    assert steps and steps <= set(listed), "every checkpoint of a run has its id"
    for name, entry in listed.items():
        if name not in shipped_names():
            run, _, stem = name.partition(":")
            folder = web_runs / run / ("" if stem == "best" else "checkpoints")
            about = read_header(folder / f"{stem}.safetensors").about
            assert (entry["run"], entry["name"]) == (run, stem)
            assert (entry["game"], entry["sha256"]) == (about["game"], about["sha256"])
    assert web.get("/api/networks").json["remedy"] is None
    assert not any("resume" in name for name in listed), "the state of a run is no network"


@pytest.mark.parametrize("network", GAMES)
@pytest.mark.parametrize("sims", [0, 20])
def test_an_opinion_is_the_players(web: InProcess, web_runs: Path, network: str, sims: int) -> None:
    """The same move, win/draw/loss and plies; a policy of all legal moves."""
    game_name, start = GAMES[network]
    player = load_player(
        checkpoint_of(network, web_runs), sims or None, threads=1, prove=False if sims else None
    )
    game = player.game
    for position in walk(player, start, 150 if sims == 0 else 25):
        where = f"/api/networks/{network}/evaluate"
        answer = web.get(where, game=game_name, position=position, sims=sims)
        assert answer.status == 200, answer.body
        entry, state = answer.json, game.state(position)
        choices = player.choose(state[None])
        assert choices.wdl is not None and choices.steps is not None
        assert entry["move"] == game.action_name(int(choices.actions[0]))
        assert [*entry["wdl"].values()] == pytest.approx(choices.wdl[0].tolist(), abs=1e-6)
        assert entry["value"] == pytest.approx(choices.wdl[0, 0] - choices.wdl[0, 2], abs=1e-6)
        assert entry["plies"] == pytest.approx(float(choices.steps[0]), rel=1e-5)
        assert (entry["network"], entry["game"], entry["sims"]) == (network, game_name, sims)
        assert entry["position"] == str(position)
        legal = game.legal_moves(state)
        assert {move["move"] for move in entry["moves"]} == {*map(game.action_name, legal)}
        assert sum(move["policy"] for move in entry["moves"]) == pytest.approx(1, abs=1e-5)
        for move in entry["moves"]:
            after = after_action(position, game.action(move["move"]))
            assert move["position"] == str(after)
        check_search(entry, sims)


def check_search(entry: dict[str, Any], sims: int) -> None:
    visits = [move["visits"] for move in entry["moves"]]
    if sims == 0:
        assert set(visits) == {None} and {move["mean"] for move in entry["moves"]} == {None}
        shares = [move["policy"] for move in entry["moves"]]
        assert shares == sorted(shares, reverse=True)
        return
    assert sum(visits) == sims
    assert visits == sorted(visits, reverse=True)
    most = [move["move"] for move in entry["moves"] if move["visits"] == visits[0]]
    assert entry["move"] in most
    assert all(-1 <= move["mean"] <= 1 for move in entry["moves"])
    assert all(move["mean"] == 0 for move in entry["moves"] if not move["visits"])


def test_symmetric_boards_get_symmetric_opinions(web: InProcess) -> None:
    """Drop-oldest players are canonical: what they say travels with the board."""
    where = "/api/networks/small:best/evaluate"
    for position in ("a1c1/b2c3 x", "a1/b2 x"):
        images = web.get("/api/drop/3/3/3/images", position=position).json["images"]
        seen = set()
        for image in images:
            entry = web.get(where, position=image, sims=30).json
            after = [
                (
                    web.get("/api/drop/3/3/3", position=move["position"]).json["canonical"],
                    move["policy"],
                    move["visits"],
                    move["mean"],
                )
                for move in entry["moves"]
            ]
            seen.add(json.dumps([sorted(after), entry["wdl"], entry["plies"]]))
        assert len(seen) == 1


def test_a_network_that_was_trained_on_is_loaded_again(web_data: Path, tmp_path: Path) -> None:
    write_config(tmp_path / "run", game="drop-3-3-3")
    best = tmp_path / "run" / "best.safetensors"
    with InProcess(web_data, tmp_path) as web:
        answers = []
        for seed in (1, 2, 1):
            save_small_network(best, "drop-3-3-3", seed)
            answers.append(web.get("/api/networks/run:best/evaluate", position="-/- x").json)
        assert answers[0] == answers[2] != answers[1]
        best.unlink()
        assert web.get("/api/networks/run:best/evaluate", position="-/- x").status == 404


def test_only_the_last_few_networks_stay_in_memory(web_data: Path, tmp_path: Path) -> None:
    write_config(tmp_path / "run", game="drop-3-3-3")
    for step in range(7):
        path = tmp_path / "run" / "checkpoints" / f"step-{step:09d}.safetensors"
        path.parent.mkdir(exist_ok=True)
        save_small_network(path, "drop-3-3-3", seed=step)
    with InProcess(web_data, tmp_path) as web:
        for step in [*range(7), 0]:
            where = f"/api/networks/run:step-{step:09d}/evaluate"
            assert web.get(where, position="-/- x").status == 200
        assert len(web.service.networks.loaded) == 4


# ---- where it is wrong --------------------------------------------------------------------------


def test_blunders_of_a_network_without_a_grade_are_those_of_a_sample(
    web: InProcess, web_data: Path, web_runs: Path
) -> None:
    player = load_player(web_runs / "small", threads=1)
    with open_table(web_data, player.game.rules) as table:  # type: ignore[attr-defined]
        graded = grade(player, table, sample=100_000)
        for _ in range(2):
            entry = web.get("/api/networks/small:best/blunders").json
            assert entry["count"] == graded.overall.errors > 0
            assert entry["positions"] == graded.overall.positions == 8344
            expected = [blunder.to_dict() for blunder in graded.worst]
            assert entry["blunders"] == json.loads(json.dumps(expected))
        for blunder in entry["blunders"]:
            position = read_position(player.game, blunder["position"])
            opinion = web.get("/api/networks/small:best/evaluate", position=position).json
            assert opinion["move"] == blunder["move"]
            exact = web.get("/api/drop/3/3/3", position=position).json
            results = {move["cell"]: move["result"] for move in exact["moves"]}
            assert results[blunder["move"]] != exact["result"]


def test_blunders_come_from_the_grade_beside_a_checkpoint(
    web_data: Path, web_runs: Path, tmp_path: Path
) -> None:
    write_config(tmp_path / "run", game="drop-3-3-3")
    best = save_small_network(tmp_path / "run" / "best.safetensors", "drop-3-3-3")
    player = load_player(best, threads=1)
    with open_table(web_data, player.game.rules) as table:  # type: ignore[attr-defined]
        graded = grade(player, table, sample=500).to_dict()
    with InProcess(web_data, tmp_path) as web:
        beside = tmp_path / "run" / "best.grade.json"
        beside.write_text(json.dumps({"grades": [graded]}))
        entry = web.get("/api/networks/run:best/blunders").json
        assert entry["positions"] == 500 and entry["population"] == graded["population"]
        assert [b["position"] for b in entry["blunders"]] == [
            b["position"] for b in graded["worst_blunders"]
        ]
        beside.write_text(json.dumps({"grades": [graded | {"checkpoint_sha256": "another"}]}))
        entry = web.get("/api/networks/run:best/blunders").json
        assert entry["positions"] == 8344, "a grade of other weights is not believed"
        for damage in ("{}", "[]", '{"grades": [{"overall": 1}]}', "not JSON"):
            beside.write_text(damage)
            answer = web.get("/api/networks/run:best/blunders")
            assert answer.status == 409 and "grade" in answer.json["error"]


def test_the_shipped_network_has_no_known_blunder(web: InProcess) -> None:
    entry = web.get("/api/networks/shipped/blunders").json
    assert (entry["positions"], entry["count"], entry["blunders"]) == (72_113_641, 0, [])


def grade_for_ever(player: Player, table: Any) -> None:
    """A grade without an end, by a player that asks whether to go on."""
    state = player.game.state(read_position(player.game, "-/- x"))
    while True:
        player.choose(state[None])


def is_free(workers: Workers, seconds: float = 20) -> bool:
    ends = time.monotonic() + seconds
    while workers.busy and time.monotonic() < ends:
        time.sleep(0.01)
    return not workers.busy


def test_a_grade_keeps_nobody_waiting_and_ends_with_its_client(
    web_data: Path, web_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "sampled_blunders", grade_for_ever)
    blunders = "/api/networks/small:best/blunders"
    with InProcess(web_data, web_runs) as web:
        graders = web.service.network_routes.graders

        async def ask() -> list[Any]:
            graded = [asyncio.ensure_future(web.ask("GET", blunders, stays=2)) for _ in range(4)]
            await asyncio.sleep(0.1)
            where = "/api/networks/small:best/evaluate?position=-/-%20x&sims=5"
            quick = [await web.ask("GET", path) for path in (where, "/api/networks", "/api/runs")]
            assert [answer.status for answer in quick] == [200, 200, 200]
            assert not any(task.done() for task in graded) and graders.busy == 4
            return await asyncio.gather(*graded)

        web.run(ask())
        assert is_free(graders), "the clients have gone"
        monkeypatch.setattr(module, "MOST_SECONDS", 0.1)
        answer = web.get(blunders)
        assert answer.status == 422 and "0.1 s" in answer.json["error"]
        assert is_free(graders)


def test_a_table_too_large_is_not_graded_while_a_client_waits(
    web_data: Path, web_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_GRADED_BYTES", 1000)
    with InProcess(web_data, web_runs) as web:
        answer = web.get("/api/networks/small:best/blunders")
        assert answer.status == 404 and "fadefour grade" in answer.json["remedy"]


def test_only_drop_oldest_has_known_blunders(web: InProcess) -> None:
    answer = web.get("/api/networks/four:best/blunders")
    assert answer.status == 404 and "drop-oldest" in answer.json["remedy"]


# ---- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["shipped/../small", "..", "small:best/x", "small:resume", "/etc/passwd", "small", "a" * 500],
)
def test_an_id_is_looked_up_and_never_opened(web: InProcess, name: str) -> None:
    from urllib.parse import quote

    for address in ("evaluate?position=-/-%20x", "blunders"):
        where = f"/api/networks/{quote(name, safe='')}/{address}"
        answer = web.run(web.ask("GET", where))
        assert answer.status == 404 and set(answer.json) == {"error", "remedy"}


def test_folders_of_any_name_get_an_id_of_plain_letters(web_data: Path, tmp_path: Path) -> None:
    names = ["plain-1.2_x", "two words", "über", "a/b".replace("/", "∕"), ".hidden", "-", "~" * 200]
    for name in names:
        write_config(tmp_path / name, game="drop-3-3-3")
    ids = {id_of(name) for name in names}
    assert len(ids) == len(names)
    with InProcess(web_data, tmp_path) as web:
        assert {entry["id"] for entry in web.get("/api/runs").json["runs"]} == ids
        for name in ids:
            assert name.isascii() and "/" not in name
            assert web.get(f"/api/runs/{name}/metrics").status == 200


def test_without_torch_the_rest_goes_on(
    web_data: Path, web_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import azfit.loading
    from solver.errors import InputError

    def missing() -> None:
        raise InputError("this needs torch: run 'make learn'")

    monkeypatch.setattr(azfit.loading, "need_torch", missing)
    with InProcess(web_data, web_runs) as web:
        listed = web.get("/api/networks").json
        assert len(listed["networks"]) > 1 and "make learn" in listed["remedy"]
        answer = web.get("/api/networks/shipped/evaluate", position="-/- x")
        assert answer.status == 404 and "make learn" in answer.json["remedy"]
        assert web.get("/api/networks/shipped/blunders").status == 200
        assert web.get("/api/drop/4/4/4", position="-/- x").status == 200


def test_numbers_of_a_network_that_are_not_finite_are_no_crash(
    web_data: Path, tmp_path: Path
) -> None:
    import torch

    from azfit.checkpoint import load_checkpoint, save_checkpoint

    write_config(tmp_path / "run", game="drop-3-3-3")
    path = save_small_network(tmp_path / "run" / "best.safetensors", "drop-3-3-3")
    network, _ = load_checkpoint(path)
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(1e30)
    save_checkpoint(path, network)
    with InProcess(web_data, tmp_path) as web:
        for sims in (0, 5):
            answer = web.get("/api/networks/run:best/evaluate", position="-/- x", sims=sims)
            assert answer.status == 409 and answer.json["error"]
