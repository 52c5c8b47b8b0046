// The page: which view, which game, light or dark.

import { byId, options, recall, remember } from "./dom.js";
import { Explorer } from "./explorer.js";
import { gameByName } from "./games.js";
import { Lists, whenOpened } from "./menus.js";
import { Runs } from "./runs.js";
import { Session } from "./session.js";

const GOMOKU_SIZES = [9, 15];

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => recall("theme") ?? (dark.matches ? "dark" : "light");
  applyTheme(current());
  dark.addEventListener("change", () => applyTheme(current()));
  byId("theme").addEventListener("click", () => {
    remember("theme", current() === "dark" ? "light" : "dark");
    applyTheme(current());
  });
}

// Past the header: to the cell of the board that keys reach, or to the run.
function setUpSkipping() {
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    const place = byId("explore").hidden ? byId("run") : byId("board");
    (place.querySelector(".cell[tabindex='0']") ?? place).focus();
  });
}

function showView(name) {
  for (const view of ["explore", "runs"]) {
    byId(view).hidden = view !== name;
    byId(`to-${view}`).setAttribute("aria-pressed", String(view === name));
  }
  byId("skip").textContent = `Skip to the ${name === "runs" ? "run" : "board"}`;
  byId("game-choice").hidden = name !== "explore";
}

// The variants that are solved here first; the shipped network's first of all. visited: a game
// that the page was asked for by its address.
function gameChoices({ variants, networks }, visited) {
  const drops = variants.map(({ n, m, k }) => `drop-${n}-${m}-${k}`);
  drops.sort((one, other) => (other === "drop-4-4-4") - (one === "drop-4-4-4"));
  const gomokus = [...GOMOKU_SIZES.map((size) => `gomoku-${size}`),
    ...networks.map((network) => network.game).filter((name) => name.startsWith("gomoku"))];
  const names = new Set([...drops, "connect4", ...gomokus, ...(visited ? [visited] : [])]);
  return [...names].map((name) => [name, gameByName(name).title]);
}

async function start() {
  setUpTheme();
  setUpSkipping();
  const lists = new Lists(), select = byId("game");
  await lists.load();
  const listGames = (chosen) => {
    options(select, gameChoices(lists, chosen), chosen);
    byId("notice").hidden = lists.variants.length > 0;
    byId("network-remedy").textContent = lists.remedy ? `Networks cannot be asked here: ${lists.remedy}` : "";
  };
  const explorer = new Explorer(lists.networks, (game) => listGames(game.name));
  const refresh = async () => {
    if (!await lists.load()) return;
    listGames(explorer.session?.game.name);
    if (explorer.session) explorer.setNetworks(lists.networks);
  };
  for (const id of ["game-choice", "play-part", "network-part"]) whenOpened(byId(id), refresh);
  const runs = new Runs((game, moves) => {
    runs.stop();
    showView("explore");
    explorer.openGame(game, moves);
  });

  const explore = () => { runs.stop(); showView("explore"); };
  const goTo = (query, stored) => {
    if (query.has("run")) {
      showView("runs");
      return runs.show(query.get("run"));
    }
    explore();
    const restored = Session.restored(stored);
    if (restored) return explorer.open(restored.within(explorer.session), null);
    const game = gameByName(query.get("game")) ?? gameByName(gameChoices(lists)[0][0]);
    const first = query.has("game") ? game.empty : game.example;
    return explorer.open(Session.at(game, query.get("position") || first), query.has("game") ? "replace" : null);
  };

  byId("to-explore").addEventListener("click", () => {
    explore();
    if (explorer.session) explorer.open(explorer.session); else goTo(new URLSearchParams(), null);
  });
  byId("to-runs").addEventListener("click", () => {
    history.pushState({ run: "" }, "", "/?run=");
    showView("runs");
    runs.show();
  });
  select.addEventListener("change", () => { explore(); explorer.newGame(gameByName(select.value)); });
  addEventListener("popstate", (event) => {
    const isShown = !byId("explore").hidden && explorer.session?.address === location.pathname + location.search;
    // A change behind the # is no other place: the game stays as it is, and this place gets it.
    if (event.state === null && isShown) explorer.session.replace();
    else goTo(new URLSearchParams(location.search), event.state);
  });
  addEventListener("keydown", (event) => {
    const inText = event.target.closest?.("input:not([type=checkbox]), textarea, select");
    if (inText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "t") byId("theme").click(); else if (!byId("explore").hidden) explorer.key(event);
  });
  await goTo(new URLSearchParams(location.search), history.state);
}

start().catch((problem) => {
  byId("problem").textContent = problem.message;
  byId("problem").hidden = false;
});
