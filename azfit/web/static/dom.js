// Elements, and what the page remembers between visits.

export const byId = (id) => document.getElementById(id);

// element("p", {class: "hint", onclick: f}, "text", child): attributes, then children.
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) node.setAttribute(name, String(value)); // "true", "false"
    else if (value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined);

const controlsOf = (node) => [...node.querySelectorAll("button, a, input, select, textarea, summary")];

// New content in an element. Whoever was on one of its controls stays on the one in its place.
export function replace(node, ...children) {
  const place = controlsOf(node).indexOf(document.activeElement);
  node.replaceChildren(...present(children));
  if (place >= 0) controlsOf(node).slice(0, place + 1).at(-1)?.focus({ preventScroll: true });
}

export function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
  if (entries.some(([value]) => value === chosen)) select.value = chosen;
}

// A browser may refuse to store anything; the page then works without.
export function recall(key) {
  try { return localStorage.getItem(`fadefour.${key}`); } catch { return null; }
}

export function remember(key, value) {
  try { localStorage.setItem(`fadefour.${key}`, value); } catch { /* nothing is lost */ }
}
