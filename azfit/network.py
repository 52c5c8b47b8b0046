"""The network: from age planes to a policy, win/draw/loss, and plies to the end.

Four ideas carry it, each an option so that its effect can be measured (bench/network_choice.py):

canonical     The board is turned into its canonical orientation before the body sees it, and the
              policy is turned back. The body learns an eighth of the boards, and the answers on
              symmetric boards are the same by construction: a grade over the canonical positions
              is a grade over all positions.
hide_leaving  (drop-oldest) The mover's piece on plane 0 leaves with the very next move: all it
              does is to block its cell. The legal mask knows it; the body need not.
rate_moves    For each move the body predicts how the game ends after it (draw, or the number of
              plies; their parity shows who wins). The value of the position is that of the moves
              the policy plays: outcome = sum over moves of policy x outcome of the move. With
              hide_leaving this is exact: what the hidden piece changes is which moves there are.
threats       (Connect Four, Gomoku) The body also sees the planes of threats: the cells that would
              complete a line of either side, in Gomoku also those that would make a four. They
              follow from the stones, but a small tower spends its layers on finding them.

Shapes: planes float32 [B, P, R, C]; A actions; K outcomes: 0 draw, k: the game ends in k plies
(odd: the mover wins).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from azfit.games import Game, game_by_name
from azfit.network_config import NetworkConfig as NetworkConfig

ILLEGAL = -1e9
"""The logit of an illegal move: its probability is exactly 0 in float32."""


class Outputs(NamedTuple):
    """What the network says about a batch, for the side to move."""

    policy: Tensor
    """Logits [B, A], ILLEGAL where there is no move."""
    wdl: Tensor
    """Logits [B, 3]: win, draw, loss."""
    steps: Tensor
    """Logits [B, max_plies] of 1, 2, ... plies to the end, given that there is one."""
    moves: Tensor | None
    """Logits [B, A, K] of each move's outcome; None without rate_moves."""


class Orientation(nn.Module):
    """Turns boards of one-piece planes into their canonical orientation.

    The canonical orientation has the least list of cells, plane by plane. That list, read as a
    number in base ``cells``, is linear in the planes: a product with a constant matrix gives it
    for all eight transforms, exactly, in float64 (25 ** 10 < 2 ** 53).
    """

    place_values: Tensor
    source: Tensor
    target: Tensor

    def __init__(self, game: Game, planes: int) -> None:
        super().__init__()
        cells = game.rows * game.columns
        image = torch.from_numpy(game.cell_image.astype(np.int64))  # [8, cells]
        exponents = torch.arange(planes - 1, -1, -1, dtype=torch.float64, device="cpu")
        powers = float(cells) ** exponents
        values = (powers[:, None, None] * image.T[None]).reshape(planes * cells, -1)
        self.register_buffer("place_values", values, persistent=False)
        self.register_buffer("source", image.argsort(1), persistent=False)
        self.register_buffer("target", image, persistent=False)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Planes [B, P, cells] turned, and target [B, cells]: where each cell has gone."""
        keys = planes.flatten(1).double() @ self.place_values
        transform = keys.argmin(1)
        source = self.source[transform][:, None, :].expand(-1, planes.shape[1], -1)
        return planes.gather(2, source), self.target[transform]


class DenseBlock(nn.Module):
    """x + W2 relu(W1 norm(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, width)
        self.narrow = nn.Linear(width, width)
        for parameter in self.narrow.parameters():
            nn.init.zeros_(parameter)  # a block starts as the identity

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.narrow(torch.relu(self.widen(self.norm(x))))
        return x + y


class ConvolutionBlock(nn.Module):
    """x + C2 relu(C1 norm(x)), over all of the board (one group)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(1, channels)
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        for parameter in self.second.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(torch.relu(self.first(self.norm(x))))
        return x + y


class DenseBody(nn.Module):
    """Planes [B, P, cells] -> features [B, width]. The planes are one-hot, so the first layer is
    a sum of a few rows of its weights."""

    def __init__(self, planes: int, cells: int, config: NetworkConfig) -> None:
        super().__init__()
        self.features = config.width
        self.first = nn.Linear(planes * cells, config.width)
        # Few inputs are 1: larger weights give features of the size that the blocks expect.
        nn.init.normal_(self.first.weight, std=planes**-0.5)
        self.blocks = nn.Sequential(*(DenseBlock(config.width) for _ in range(config.blocks)))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, planes: Tensor) -> Tensor:
        x: Tensor = self.norm(self.blocks(self.first(planes.flatten(1))))
        return torch.relu(x)


class ConvolutionBody(nn.Module):
    """Planes [B, P, cells] -> features [B, reduced channels * cells]."""

    REDUCED = 32

    def __init__(self, planes: int, game: Game, config: NetworkConfig) -> None:
        super().__init__()
        self._board = (game.rows, game.columns)
        self.features = self.REDUCED * game.rows * game.columns
        self.first = nn.Conv2d(planes, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(ConvolutionBlock(config.width) for _ in range(config.blocks)))
        self.reduce = nn.Conv2d(config.width, self.REDUCED, 1)

    def forward(self, planes: Tensor) -> Tensor:
        board = planes.reshape(*planes.shape[:2], *self._board)
        x: Tensor = self.reduce(torch.relu(self.blocks(self.first(board))))
        return torch.relu(x.flatten(1))


def _spread(answers: Tensor, rows: Tensor | None) -> Tensor:
    """Answers [U, ...] for boards that share them: [B, ...] by rows [B] of U."""
    return answers if rows is None else answers[rows]


class PlacePolicy(nn.Module):
    """A tower's policy: the same weights for every place where a piece can go, a cell or, in
    Connect Four, a column. What is learned about a pattern in one place applies everywhere."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self._board = (game.rows, game.columns)
        place = (1, 1) if game.actions == game.rows * game.columns else (game.rows, 1)
        self.rate = nn.Conv2d(ConvolutionBody.REDUCED, 1, place)

    def forward(self, features: Tensor) -> Tensor:
        """Logits [B, A] from the tower's features [B, reduced channels * cells]."""
        maps = features.view(-1, ConvolutionBody.REDUCED, *self._board)
        logits: Tensor = self.rate(maps).flatten(1)
        return logits


class PlainHeads(nn.Module):
    """Policy, win/draw/loss and steps, each from the features alone."""

    def __init__(self, policy: nn.Module, features: int, max_plies: int) -> None:
        super().__init__()
        self.policy = policy
        self.wdl = nn.Linear(features, 3)
        self.steps = nn.Linear(features, max_plies)

    def forward(
        self, features: Tensor, legal: Tensor, target: Tensor | None, rows: Tensor | None = None
    ) -> Outputs:
        policy = _spread(self.policy(features), rows)
        wdl, steps = _spread(self.wdl(features), rows), _spread(self.steps(features), rows)
        if target is not None:
            policy = policy.gather(1, target)
        return Outputs(policy.masked_fill(~legal, ILLEGAL), wdl, steps, None)


class MoveHeads(nn.Module):
    """Rates every move; the position's value is that of the moves the policy plays."""

    def __init__(self, features: int, actions: int, max_plies: int) -> None:
        super().__init__()
        self._actions, self._outcomes = actions, max_plies + 1
        self.all = nn.Linear(features, actions * (1 + self._outcomes))

    def forward(
        self, features: Tensor, legal: Tensor, target: Tensor | None, rows: Tensor | None = None
    ) -> Outputs:
        both = _spread(self.all(features), rows).view(-1, self._actions, 1 + self._outcomes)
        if target is not None:
            both = both.gather(1, target[:, :, None].expand(-1, -1, both.shape[2]))
        moves = both[:, :, 1:]
        policy = both[:, :, 0].masked_fill(~legal, ILLEGAL)
        played = policy.softmax(1)
        outcome = (played[:, None, :] @ moves)[:, 0]  # [B, K]
        wins = outcome[:, 1::2].logsumexp(1)
        if self._outcomes > 2:
            losses = outcome[:, 2::2].logsumexp(1)
        else:
            losses = torch.full_like(wins, ILLEGAL)
        wdl = torch.stack([wins, outcome[:, 0], losses], 1)
        return Outputs(policy, wdl, outcome[:, 1:], moves)


class Network(nn.Module):
    """forward(planes float32 [B, P, R, C]) -> Outputs."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        game = game_by_name(config.game)
        self.game = game
        planes, cells = game.plane_shape[0], game.rows * game.columns
        self.seen_planes: int = planes if config.threats else game.stone_planes
        """Of the planes that are given, the first ones; the others are not looked at."""
        shown = self.seen_planes - config.hide_leaving
        self.orientation = Orientation(game, shown) if config.canonical else None
        self.body: DenseBody | ConvolutionBody = (
            DenseBody(shown, cells, config)
            if config.kind == "mlp"
            else ConvolutionBody(shown, game, config)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.heads: MoveHeads | PlainHeads
        features, actions = self.body.features, game.actions
        if config.rate_moves:
            self.heads = MoveHeads(features, actions, config.max_plies)
        else:
            dense = config.kind == "mlp"
            policy = nn.Linear(features, actions) if dense else PlacePolicy(game)
            self.heads = PlainHeads(policy, features, config.max_plies)

    def forward(
        self, planes: Tensor, first: Tensor | None = None, rows: Tensor | None = None
    ) -> Outputs:
        """Boards that differ only in what hide_leaving hides need not all go through the body:
        first [U] are the indices of boards that differ otherwise, and rows [B] says which of
        them each board equals."""
        features, legal, target = self.seen(planes, first, rows)
        outputs: Outputs = self.heads(features, legal, target, rows)
        return outputs

    def seen(
        self, planes: Tensor, first: Tensor | None = None, rows: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """What the heads are given: features [B, F], or [U, F] with ``first``; legal bool [B, A];
        and target [B, cells], where each cell has gone, None if boards are taken as they are."""
        flat = planes.flatten(2)
        legal = self.legal(flat)
        shown, target = flat[:, int(self.config.hide_leaving) : self.seen_planes], None
        if first is not None:
            shown = shown[first]
        if self.orientation is not None:
            shown, target = self.orientation(shown)
            target = _spread(target, rows)
        return self.dropout(self.body(shown)), legal, target

    def legal(self, flat: Tensor) -> Tensor:
        """bool [B, A] from planes [B, P, cells]: cells without a piece, or columns of Connect Four
        whose top cell is empty."""
        empty = flat[:, : self.game.stone_planes].sum(1) == 0
        return empty if self.game.actions == empty.shape[1] else empty[:, -self.game.actions :]

    def planes_of(self, pieces: Tensor) -> Tensor:
        """Planes float32 [B, P, R, C] from the sampler's pieces, uint8 [B, P]."""
        cells = self.game.rows * self.game.columns
        planes = torch.zeros(*pieces.shape, cells + 1)
        planes.scatter_(2, pieces.long()[:, :, None], 1.0)
        return planes[:, :, :cells].reshape(-1, *self.game.plane_shape)

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def parameter_count(config: NetworkConfig) -> int:
    """Parameters of such a network, without making it: its weights take no memory."""
    with torch.device("meta"):
        return Network(replace(config, canonical=False)).parameter_count
