/** What the page says to the agent that serves it, and hears from it. */

/** The agent's refusal, in its words. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(path, {
    method,
    ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const value = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (!answer.ok) throw new Refusal(answer.status, String(value.error ?? answer.statusText));
  return value;
}

export async function whoAmI(): Promise<string | undefined> {
  try {
    const { user } = await ask("GET", "/api/session");
    return String(user);
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return undefined;
    throw error;
  }
}

export async function logIn(by: { token: string } | { code: string }): Promise<string> {
  const { user } = await ask("POST", "/api/session", by);
  return String(user);
}

export async function logOut(): Promise<void> {
  await ask("DELETE", "/api/session");
}

/** Has the agent do something as the viewer. Gives a sentence that says what was done. */
export async function act(action: string, body: object): Promise<string> {
  const { done } = await ask("POST", `/api/actions/${action}`, body);
  return String(done);
}

/** The output of a container as it is written, in pieces of text, until the signal aborts or it ends. */
export async function* logOf(query: Record<string, string>, signal: AbortSignal): AsyncGenerator<string, void, void> {
  const answer = await fetch(`/api/log?${new URLSearchParams(query)}`, { signal });
  if (!answer.ok) {
    const value = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new Refusal(answer.status, value.error ?? answer.statusText);
  }
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done = true, value = "" } = (await reader?.read()) ?? {};
    if (done) return;
    yield value;
  }
}

export function terminalUrl(query: Record<string, string>): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/api/terminal?${new URLSearchParams(query)}`;
}
