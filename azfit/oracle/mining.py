"""Mining: the positions that a network plays wrong, or nearly wrong, listed to train on them again.

Only critical positions can be played wrong; they are listed once. A network that hides the
leaving piece plays a full position as it plays its row, the position without that piece, with
one cell blocked: it is enough to look at the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from azfit.network import Network
from azfit.oracle.sampler import WDL_OF_BYTE, Batch, label_nodes
from solver.index import find_nodes, slice_bases
from solver.rules import Rules
from solver.table import DenseTable
from solver.values import IMPOSSIBLE

NODES_AT_A_TIME = 1 << 16
ROWS_AT_A_TIME = 1 << 12

Uint64Array = NDArray[np.uint64]


def node_range(table: DenseTable, network: Network) -> tuple[int, int]:
    """The first node and the end of the nodes to look at: the full slice is left out if the network
    hides the leaving piece."""
    bases = slice_bases(table.rules)
    return 0, bases[-2] if network.config.hide_leaving else bases[-1]


def worth_of_moves(move_values: NDArray[np.uint8]) -> Tensor:
    """2 win, 1 draw, 0 loss, -1 no move: int8 [B, A], from the bytes of the moves."""
    worth = WDL_OF_BYTE[move_values].astype(np.int8)  # the opponent's class: its loss, 2, is a win
    worth[move_values == IMPOSSIBLE] = -1
    return torch.from_numpy(worth)


def critical_nodes(table: DenseTable, first: int, end: int) -> Iterator[Uint64Array]:
    """The nodes in this range where the choice of a move, or the cell blocked, matters."""
    for low in range(first, end, NODES_AT_A_TIME):
        nodes = np.arange(low, min(low + NODES_AT_A_TIME, end), dtype=np.uint64)
        worth = worth_of_moves(_moves(label_nodes(table, nodes, ("move_values",))))
        least = torch.where(worth >= 0, worth, 3).amin(1)
        yield nodes[(least < worth.amax(1)).numpy()]


def _moves(batch: Batch) -> NDArray[np.uint8]:
    assert batch.move_values is not None
    return batch.move_values


def leads(logits: Tensor, worth: Tensor) -> Tensor:
    """By how much the best keeping move leads the best one that loses the result, float32 [...].

    logits and worth are [..., A]. Below 0: a blunder; +inf where no move can go wrong.
    """
    best = worth.amax(-1, keepdim=True)
    keeping, losing = worth == best, (worth < best) & (worth >= 0)
    best_keeping = logits.masked_fill(~keeping, -torch.inf).amax(-1)
    best_losing = logits.masked_fill(~losing, -torch.inf).amax(-1)
    lead = best_keeping - best_losing
    return torch.where(best[..., 0] >= 0, lead, torch.inf)


def blocked_leads(logits: Tensor, worth: Tensor) -> Tensor:
    """The leads with each cell blocked in turn, float32 [B, A]; +inf where it was not a move."""
    actions = worth.shape[1]
    blocked = (
        worth[:, None, :]
        .expand(-1, actions, -1)
        .masked_fill(torch.eye(actions, dtype=torch.bool), -1)
    )
    lead = leads(logits[:, None, :].expand(-1, actions, -1), blocked)
    return torch.where(worth >= 0, lead, torch.inf)


def full_nodes(
    rules: Rules, pieces: NDArray[np.uint8], oldest: NDArray[np.int64]
) -> tuple[Uint64Array, NDArray[np.bool_]]:
    """Rows (pieces uint8 [B, 2m], plane 0 empty) with the mover's oldest piece put on a cell.

    Returns the nodes of those that can occur, and which these are, bool [B].
    """
    x = pieces[:, : rules.m].astype(np.int8)
    x[:, 0] = oldest
    masks = np.bitwise_or.reduce(1 << x.astype(np.int64), axis=1)
    lines = [sum(1 << cell for cell in line) for line in rules.lines]
    possible = ~np.any([(masks & line) == line for line in lines], axis=0)
    y = pieces[possible, rules.m :].astype(np.int8)
    nodes, _ = find_nodes(x[possible], y, np.zeros(len(y), np.int8), rules)
    return nodes, possible


def mine(
    network: Network,
    table: DenseTable,
    critical: Uint64Array,
    margin: float,
    report: Callable[[int], None] | None = None,
) -> tuple[Uint64Array, NDArray[np.float32]]:
    """The nodes whose lead is below this margin, and their leads; ``critical`` is where to look.
    report: called with the number of nodes looked at since the last call.

    If the network hides the leaving piece and ``critical`` lists the critical nodes of
    ``node_range``, the answer speaks for the whole table: blunders are the leads below 0.
    """
    nodes: list[Uint64Array] = [np.empty(0, np.uint64)]
    margins: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for part in np.split(critical, range(ROWS_AT_A_TIME, len(critical), ROWS_AT_A_TIME)):
            batch = label_nodes(table, part, ("pieces", "move_values"))
            assert batch.pieces is not None
            logits = network(network.planes_of(torch.from_numpy(batch.pieces))).policy
            worth = worth_of_moves(_moves(batch))
            lead = leads(logits, worth).numpy()
            nodes.append(part[lead < margin])
            margins.append(lead[lead < margin])
            if network.config.hide_leaving:
                full = _mine_full(table, part, batch.pieces, logits, worth, margin)
                nodes.append(full[0])
                margins.append(full[1])
            if report is not None:
                report(len(part))
    network.train(was_training)
    return np.concatenate(nodes), np.concatenate(margins)


def _mine_full(
    table: DenseTable,
    nodes: Uint64Array,
    pieces: NDArray[np.uint8],
    logits: Tensor,
    worth: Tensor,
    margin: float,
) -> tuple[Uint64Array, NDArray[np.float32]]:
    """The full positions of those nodes that are rows, where the lead is below the margin."""
    are_rows = torch.from_numpy(nodes >= np.uint64(slice_bases(table.rules)[-3]))
    lead = blocked_leads(logits[are_rows], worth[are_rows]).numpy()
    rows, cells = np.nonzero(lead < margin)
    full, possible = full_nodes(table.rules, pieces[are_rows.numpy()][rows], cells)
    return full, lead[rows, cells][possible]
