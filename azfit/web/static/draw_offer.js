// The end of a game that need not end: two people may agree on a draw, and so may you on behalf of two
// machines; anybody may claim one when a position has been on the board three times. Two machines do
// that by themselves.

import { byId } from "./dom.js";

const REPETITIONS = 3;

export class DrawOffer {
  // end: ends the game as a draw by "agreement" or by "repetition".
  constructor(end) {
    Object.assign(this, { how: null, isCertain: false, node: byId("draw"), words: byId("repeated") });
    this.node.addEventListener("click", () => end(this.how));
  }

  // session: of a position in play, or null; yours: how many of the two sides you play.
  show(session, yours = 0) {
    const isRepeated = session !== null && session.occurrences >= REPETITIONS;
    const mayAgree = session !== null && session.ply > 0 && session.atEnd && yours !== 1;
    this.how = isRepeated ? "repetition" : mayAgree ? "agreement" : null;
    this.isCertain = isRepeated && yours === 0;
    this.words.hidden = !isRepeated;
    this.node.hidden = this.how === null;
    this.node.textContent = isRepeated ? "Claim a draw" : "Agree to a draw";
  }
}
