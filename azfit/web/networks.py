"""Networks: which there are, what one thinks of a position, where it is known to be wrong.

torch is imported by a worker thread when a network is first asked; everything else is answered
meanwhile.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from azfit.games import DropOldest, Game, game_by_name
from azfit.known_blunders import KnownBlunders, sampled_blunders, stored_blunders
from azfit.notation import after_action, read_position
from azfit.players import Floats, NetworkPlayer
from azfit.web import parameters
from azfit.web.answers import JsonResponse
from azfit.web.catalogue import Catalogue, NetworkFile
from azfit.web.endpoints import (
    COUNT,
    NUMBER,
    RESULT,
    SHARE,
    TEXT,
    Endpoint,
    Parameter,
    listed,
    optional,
    shape,
)
from azfit.web.errors import ApiError, explained
from azfit.web.tables import MOST_READ_AHEAD, Tables
from azfit.web.work import Stop, Workers, while_connected
from solver.errors import InputError
from solver.wording import quoted

if TYPE_CHECKING:
    from azfit.loading import LoadedNetwork
    from azfit.search import Evaluation

MOST_SIMS = 10_000
"""Simulations of one request: seconds for a large network."""

MOST_LOADED = 4
MOST_GRADED = 16

THREADS, WAITING = 2, 32
MOST_SECONDS = 120.0

WAITING_GRADES = 8
"""Grades are made one at a time, on a thread of their own: opinions need not wait for one."""

MOST_GRADED_BYTES = MOST_READ_AHEAD
"""Of a table: a grade reads the whole of it first."""


GRADE = "run 'fadefour grade CHECKPOINT --json > NAME.grade.json' beside the checkpoint"


class Networks:
    """The networks that are in memory: the few that were asked last."""

    def __init__(self) -> None:
        self.loaded: OrderedDict[str, LoadedNetwork] = OrderedDict()
        self._graded: OrderedDict[str, KnownBlunders] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, network: NetworkFile) -> LoadedNetwork:
        from azfit.loading import load_network

        remedy = remedy_without_torch()
        if remedy is not None:
            raise ApiError(404, "networks cannot be asked here", remedy)
        with self._lock:
            if network.sha256 not in self.loaded:
                self.loaded[network.sha256] = load_network(network.path, threads=1)
            self.loaded.move_to_end(network.sha256)
            while len(self.loaded) > MOST_LOADED:
                self.loaded.popitem(last=False)
            return self.loaded[network.sha256]

    def blunders(self, network: NetworkFile, tables: Tables, stop: Stop) -> KnownBlunders:
        """From the grade beside the checkpoint, or from a sample, which is graded once."""
        game = game_by_name(network.game)
        if not isinstance(game, DropOldest):
            what = f"{network.id} plays {network.game}"
            raise ApiError(404, what, "known blunders are of drop-oldest networks")
        stored = stored_blunders(network.path, network.sha256)
        if stored is not None:
            return stored
        if network.sha256 not in self._graded:
            table = tables.table(game.rules)
            if table.path.stat().st_size > MOST_GRADED_BYTES:
                raise ApiError(404, f"{game.rules.name} is too large to be graded here", GRADE)
            player = stoppable_player(self.get(network), stop)
            self._graded[network.sha256] = sampled_blunders(player, table)
            while len(self._graded) > MOST_GRADED:
                self._graded.popitem(last=False)
        return self._graded[network.sha256]


def remedy_without_torch() -> str | None:
    """What to do before a network can be asked; None: nothing. torch is looked for, not loaded."""
    from azfit.loading import need_torch

    try:
        need_torch()
    except InputError as error:
        return str(error)
    return None


def stoppable_player(loaded: LoadedNetwork, stop: Stop) -> NetworkPlayer:
    """The network alone, on boards that are canonical; it asks before each batch of positions
    whether to go on."""

    def evaluate(planes: Floats) -> Evaluation:
        stop.check()
        return loaded.evaluator(planes)

    game = loaded.network.game
    return NetworkPlayer(game, evaluate, name=loaded.name, sha256=loaded.sha256)


def opinion_entry(
    network: NetworkFile, loaded: LoadedNetwork, game: Game, text: str, sims: int, stop: Stop
) -> dict[str, Any]:
    try:
        position = read_position(game, text)
    except InputError as error:
        raise explained(error) from None
    state = game.state(position)
    legal = game.legal_moves(state)
    if not legal:
        raise ApiError(400, f"'{position}' is over", "ask about a position in play")
    # Without proofs, which end a search early and take the visits of lost moves away: what is shown
    # of a search is its visits.
    player = loaded.player(sims or None, prove=False if sims else None)
    opinion = player.opinion(state, stop.check)
    moves = [
        {
            "move": game.action_name(action),
            "position": str(after_action(position, action)),
            "policy": float(opinion.policy[action]),
            "visits": None if opinion.visits is None else int(opinion.visits[action]),
            "mean": None if opinion.means is None else float(opinion.means[action]),
        }
        for action in legal
    ]
    moves.sort(key=lambda move: (-(move["visits"] or 0), -move["policy"]))  # type: ignore[operator]
    win, draw, loss = (float(share) for share in opinion.wdl)
    return {
        "network": network.id,
        "game": game.name,
        "position": str(position),
        "sims": sims,
        "wdl": {"win": win, "draw": draw, "loss": loss},
        "value": win - loss,
        "plies": opinion.steps,
        "moves": moves,
        "move": game.action_name(opinion.action),
    }


class NetworkRoutes:
    def __init__(
        self, networks: Networks, catalogue: Catalogue, tables: Tables, readers: Workers
    ) -> None:
        self._networks, self._catalogue = networks, catalogue
        self._tables, self._readers = tables, readers
        self.workers = Workers("the networks' thread", THREADS, WAITING)
        self.graders = Workers("the grading of networks", 1, WAITING_GRADES)

    async def networks(self, request: Request) -> Response:
        found = await self._readers.run(lambda stop: self._catalogue.networks())
        networks = [network.to_dict() for network in found]
        return JsonResponse({"networks": networks, "remedy": remedy_without_torch()})

    async def evaluate(self, request: Request) -> Response:
        name = request.path_params["network"]
        network = await self._readers.run(lambda stop: self._catalogue.network(name))
        game = parameters.text(request, "game", network.game)
        if game != network.game:
            what = f"{network.id} plays {network.game}, not {quoted(game)}"
            raise ApiError(400, what, f"use game={network.game}, or leave it out")
        text = parameters.text(request, "position")
        sims = parameters.whole_number(request, "sims", 0, 0, MOST_SIMS)

        def ask(stop: Stop) -> dict[str, Any]:
            loaded = self._networks.get(network)
            return opinion_entry(network, loaded, game_by_name(game), text, sims, stop)

        answer = self.workers.run(ask, MOST_SECONDS)
        return JsonResponse(await while_connected(request, answer))

    async def blunders(self, request: Request) -> Response:
        name = request.path_params["network"]
        network = await self._readers.run(lambda stop: self._catalogue.network(name))

        def ask(stop: Stop) -> KnownBlunders:
            return self._networks.blunders(network, self._tables, stop)

        known = await while_connected(request, self.graders.run(ask, MOST_SECONDS))
        return JsonResponse(
            {
                "network": network.id,
                "game": network.game,
                "population": known.population,
                "positions": known.overall.positions,
                "count": round(known.overall.blunders),
                "blunders": [asdict(blunder) for blunder in known.worst_blunders],
            }
        )

    @property
    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/networks",
                self.networks,
                "The networks that come with fadefour, and those of the runs",
                shape(networks=listed(NETWORK), remedy=optional(TEXT)),
            ),
            Endpoint(
                "GET",
                "/api/networks/{network}/evaluate",
                self.evaluate,
                "What a network thinks of a position, alone or with a search",
                OPINION,
                (ID, GAME, POSITION, SIMS),
                errors=(400, 404, 409, 413, 422, 429),
            ),
            Endpoint(
                "GET",
                "/api/networks/{network}/blunders",
                self.blunders,
                "Where a drop-oldest network is known to give a result away, the worst first",
                BLUNDERS,
                (ID,),
                errors=(404, 409, 422, 429),
            ),
        ]


# ---- schemas ------------------------------------------------------------------------------------

ID = Parameter("network", "the id of a network, from /api/networks", "shipped", TEXT, "path")
GAME = Parameter("game", "the network's game; another is refused", "drop-4-4-4", TEXT)
POSITION = Parameter(
    "position", "a position in the notation of the game", "a1b2/c3 y", TEXT, required=True
)
SIMS = Parameter("sims", "simulations of the search; 0: the network alone", 100, COUNT)

NETWORK = shape(
    id=TEXT,
    name=TEXT,
    game=TEXT,
    run=optional(TEXT),
    parameters=optional(COUNT),
    step=optional(COUNT),
    sha256=TEXT,
)

OPINION = shape(
    network=TEXT,
    game=TEXT,
    position=TEXT,
    sims=COUNT,
    wdl=shape(win=SHARE, draw=SHARE, loss=SHARE),
    value=NUMBER,
    plies=NUMBER,
    moves=listed(
        shape(
            move=TEXT,
            position=TEXT,
            policy=SHARE,
            visits=optional(COUNT),
            mean=optional(NUMBER),
        )
    ),
    move=TEXT,
)

VALUE = shape(result=RESULT, plies=optional(COUNT))

BLUNDERS = shape(
    network=TEXT,
    game=TEXT,
    population=TEXT,
    positions=COUNT,
    count=COUNT,
    blunders=listed(
        shape(
            position=TEXT,
            move=TEXT,
            before=VALUE,
            after=VALUE,
            right=listed(TEXT),
            refutation=listed(TEXT),
            confidence=optional(NUMBER),
        )
    ),
)
