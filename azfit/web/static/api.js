// The server's answers. Every failure is a Problem: what is wrong, and what to do.

export class Problem extends Error {
  constructor(status, error, remedy) {
    super(remedy ? `${error}: ${remedy}` : error);
    this.status = status;
  }
}

export const isAbort = (error) => error.name === "AbortError";

async function ask(path, init) {
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "the server does not answer", "is 'fadefour serve' still running?");
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Problem(response.status, body.error ?? `error ${response.status}`, body.remedy);
  }
  return response;
}

const addressOf = (path, query) => (query ? `${path}?${new URLSearchParams(query)}` : path);

export async function get(path, query, signal) {
  return (await ask(addressOf(path, query), { signal })).json();
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

// An answer that may take long: onEvent(kind, data) for each event before it. Aborting the signal
// ends the work on the server, too.
export async function stream(path, query, onEvent, signal) {
  const headers = { Accept: "text/event-stream" };
  const response = await ask(addressOf(path, query), { headers, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Problem(0, "the answer ended early", "ask again");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const kind = /^event: (.*)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (!kind || data === undefined) continue;
      const body = JSON.parse(data);
      if (kind === "answer") return body;
      if (kind === "error") throw new Problem(body.status ?? 0, body.error, body.remedy);
      onEvent(kind, body);
    }
  }
}
