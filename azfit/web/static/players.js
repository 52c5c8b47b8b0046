// Who plays: you, the table or solver (with a share of mistakes), or a network.

import { get } from "./api.js";
import { element, options, replace } from "./dom.js";
import { sideName } from "./games.js";

const YOU = "you", EXACT = "exact";

const newSeed = () => Math.floor(Math.random() * 2 ** 31);

export class Players {
  // changed: called when somebody else is to play.
  constructor(node, changed) {
    Object.assign(this, { node, changed, chosen: {}, selects: {}, networks: [], seed: newSeed() });
  }

  setGame(game, networks) {
    this.game = game;
    this.networks = networks.filter((network) => network.game === game.name);
    const before = this.chosen;
    this.chosen = {};
    replace(this.node, game.sides.map((side) => this.#row(side, before[side]?.who)));
  }

  // The networks there are now; everybody who still exists stays chosen.
  setNetworks(networks) {
    this.networks = networks.filter((network) => network.game === this.game.name);
    for (const side of this.game.sides) {
      const select = this.selects[side], { who } = this.chosen[side];
      options(select, this.#entries(), who);
      if (select.value !== who) select.dispatchEvent(new Event("change"));
    }
  }

  #entries() {
    return [[YOU, "you"], ...(this.game.judge ? [[EXACT, `the ${this.game.judge}`]] : []),
      ...this.networks.map(({ id }) => [id, `network ${id}`])];
  }

  #row(side, who) {
    const select = element("select", { id: `player-${side}`, "aria-label": `${sideName(side)} is played by` });
    const mistakes = element("input", { type: "number", min: 0, max: 100, step: 5, value: 0,
      id: `mistakes-${side}`, "aria-label": `Mistakes of ${sideName(side)} in percent` });
    const sims = element("input", { type: "number", min: 0, max: 10000, step: 50, value: 100,
      id: `sims-${side}`, "aria-label": `Simulations of ${sideName(side)}` });
    this.selects[side] = select;
    options(select, this.#entries(), who ?? YOU);
    const withMistakes = element("label", {}, " mistakes ", mistakes, " %");
    const withSims = element("label", {}, " simulations ", sims);
    const read = () => {
      this.chosen[side] = { who: select.value, mistakes: Number(mistakes.value) / 100, sims: Number(sims.value) };
      withMistakes.hidden = select.value !== EXACT;
      withSims.hidden = [YOU, EXACT].includes(select.value);
    };
    read();
    for (const control of [select, mistakes, sims]) {
      control.addEventListener("change", () => { read(); this.changed(); });
    }
    return element("p", {}, element("label", { for: select.id }, sideName(side)), select, withMistakes, withSims);
  }

  isYou(side) { return (this.chosen[side]?.who ?? YOU) === YOU; }
  // How many of the two sides you play.
  get yours() { return this.game.sides.filter((side) => this.isYou(side)).length; }

  newGame() { this.seed = newSeed(); }

  // The name of the move that the side to move makes.
  async move(shown, signal) {
    const { who, mistakes, sims } = this.chosen[shown.to_move];
    if (who === EXACT) {
      const query = { position: shown.position, mistakes, seed: this.seed };
      return this.game.nameOf(await get(`${this.game.path}/reply`, query, signal));
    }
    const query = { game: this.game.name, position: shown.position, sims };
    return (await get(`/api/networks/${encodeURIComponent(who)}/evaluate`, query, signal)).move;
  }
}
