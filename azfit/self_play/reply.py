"""The opponent's reply: a second policy head that only training has.

It predicts the search's policy in the position after the next move, for which the features must
see what the opponent is up to. The network that plays, is saved and exported does not have it; only
the state that a run resumes from does.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from azfit.network import Network, PlacePolicy


class ReplyHead(nn.Module):
    """From a network's features to logits of the opponent's moves."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        game = network.game
        self.reply: nn.Module = PlacePolicy(game)
        if network.config.kind == "mlp":
            self.reply = nn.Linear(network.body.features, game.actions)

    def forward(self, features: Tensor, target: Tensor | None) -> Tensor:
        """Logits [B, A] from what ``Network.seen`` gave. They are of all moves: which of them the
        opponent will have depends on the move that comes first."""
        logits: Tensor = self.reply(features)
        return logits if target is None else logits.gather(1, target)


def reply_loss(logits: Tensor, replies: Tensor) -> Tensor:
    """Cross-entropy with replies [B, A], all 0 where there is none. A sum over those that have one,
    so that a batch without any gives 0 and not 0 / 0."""
    return -(replies * torch.log_softmax(logits, 1)).sum() / len(replies)
