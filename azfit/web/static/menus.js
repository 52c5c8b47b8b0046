// Menus whose entries change while the page is open: asked for anew when somebody goes to them.

import { get } from "./api.js";

// Calls refresh when a menu inside this element, or the part that it is in, is about to be opened, by
// mouse or by key; one call at a time.
// Nothing happens if the server does not answer: the old entries may still be right.
export function whenOpened(node, refresh) {
  let asking = null;
  const ask = ({ target }) => {
    if (target.matches("select, summary")) asking ??= refresh().catch(() => {}).finally(() => { asking = null; });
  };
  node.addEventListener("pointerdown", ask);
  node.addEventListener("focusin", ask);
}

// The variants and networks there are now; remedy: what to do before a network can be asked, or null.
export class Lists {
  async load() {
    const [{ variants }, { networks, remedy }] = await Promise.all([get("/api/variants"), get("/api/networks")]);
    const text = JSON.stringify([variants, networks, remedy]), isNew = text !== this.text;
    Object.assign(this, { variants, networks, remedy, text });
    return isNew;
  }
}
