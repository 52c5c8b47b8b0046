"""PettingZoo: the three games as AEC environments.

    from azfit.adapters import pettingzoo
    env = pettingzoo.env("drop-4-4-4", render_mode="ansi")    # or "connect4", "gomoku-15"

As in PettingZoo's classic games, the agents are ``player_0`` and ``player_1``; an observation is a
dictionary of ``observation``, here the planes that our networks see (float32 [planes, rows,
columns], the observing agent's pieces first), and ``action_mask``, all zeros for the agent that is
not to move. A win gives 1, a loss -1, a draw 0; an illegal move ends the game with -1 for the agent
that made it. A game that reaches ``max_plies`` is truncated, with 0 for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.boards import board, picture, standing
from azfit.games import Game, Result, State, game_by_name
from azfit.playing.arena import most_plies
from solver.board_picture import draw
from solver.checks import integer_in
from solver.errors import InputError
from solver.extras import missing
from solver.plotting import rgb_array

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.utils import EzPickle
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
    from pettingzoo.utils.agent_selector import AgentSelector
except ImportError:
    raise ImportError(str(missing("pettingzoo", "azfit.adapters.pettingzoo"))) from None

AGENTS = ["player_0", "player_1"]
RENDER_MODES = ["human", "ansi", "rgb_array"]
MOST_PLIES = 1_000_000


def env(
    game: str = "drop-4-4-4", *, max_plies: int | None = None, render_mode: str | None = None
) -> Any:
    """The environment of a game, by name, with PettingZoo's usual checks around it."""
    wrapped = raw_env(game, max_plies=max_plies, render_mode=render_mode)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


class raw_env(AECEnv, EzPickle):  # noqa: N801 - what PettingZoo calls it
    """The environment itself, which raises InputError for an illegal move."""

    metadata = {  # noqa: RUF012 - PettingZoo reads it from the class
        "render_modes": RENDER_MODES,
        "name": "fadefour_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        game: str = "drop-4-4-4",
        *,
        max_plies: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """max_plies: None for the cap of matches, 40 to 100 plies; the other games end before."""
        EzPickle.__init__(self, game, max_plies=max_plies, render_mode=render_mode)
        super().__init__()
        if render_mode not in (None, *RENDER_MODES):
            raise InputError(f"render_mode={render_mode!r}: use {', '.join(RENDER_MODES)}")
        self.game: Game = game_by_name(game)
        cap = most_plies(self.game) if max_plies is None else max_plies
        self.max_plies = integer_in("max_plies", cap, 1, MOST_PLIES)
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        actions = self.game.actions
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in AGENTS}
        planes = spaces.Box(0.0, 1.0, self.game.plane_shape, np.float32)
        mask = spaces.Box(0, 1, (actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": planes, "action_mask": mask}) for agent in AGENTS
        }
        self.board: State = self.game.start()
        """The position, as ``azfit.games`` has it."""

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """seed: nothing here is random."""
        self.board, self.plies = self.game.start(), 0
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._agent_selector = AgentSelector(self.agents)
        self.agent_selection = self._agent_selector.reset()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        side = AGENTS.index(agent)
        mask = np.zeros(self.game.actions, np.int8)
        if agent == self.agent_selection:
            mask[self.game.legal_moves(self.board)] = 1
        planes = self.game.planes_seen_by(side, self.board)
        return {"observation": planes, "action_mask": mask}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.board, self.plies = self.game.play(self.board, int(action)), self.plies + 1
        other, result = self._agent_selector.next(), self.game.result(self.board)
        if result == Result.MOVER_WON:
            self.rewards[agent], self.rewards[other] = 1, -1
        if result != Result.GOING_ON:
            self.terminations = dict.fromkeys(self.agents, True)
        elif self.plies >= self.max_plies:
            self.truncations = dict.fromkeys(self.agents, True)
        self.agent_selection = other
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> str | NDArray[np.uint8] | None:
        """ "ansi": text; "rgb_array": pixels [height, width, 3]; "human": prints the text."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render_mode: choose one when making the env")
            return None
        if self.render_mode == "rgb_array":
            return rgb_array(draw(picture(self.game, self.board)))
        text = f"{board(self.game, self.board)}\n{standing(self.game, self.board)}\n"
        if self.render_mode == "ansi":
            return text
        print(text, flush=True)
        return None

    def close(self) -> None:
        """There is no window to close."""
