import { describeError } from "@fjord/base";
import { type KubeClient, Pod } from "@fjord/kube";
import { NoPage, PageNotBuilt } from "../errors.ts";

export interface WayOptions {
  /** The agent's. */
  readonly namespace: string;
  /** Where the page is, if that was said. */
  readonly url?: string;
  readonly localPort: number;
  readonly signal: AbortSignal;
}

export interface WayToPage extends AsyncDisposable {
  readonly url: string;
  /** Whether it ends with this process. */
  readonly isForwarded: boolean;
}

const PAGE_PORT = 7446;
const AGENTS = "app.kubernetes.io/name=fjord,app.kubernetes.io/component=agent";
const PATIENCE_MS = 10_000;

/** Through the API to the agent's pod; an agent that is no pod serves its page on this machine. */
export async function openWayToPage(client: KubeClient, options: WayOptions): Promise<WayToPage> {
  const { namespace, localPort, signal } = options;
  if (options.url !== undefined) return straight(options.url);
  const { items } = await client.list(Pod, { namespace, labelSelector: AGENTS, signal });
  const pod = items.find(isReady)?.metadata.name;
  if (pod === undefined && items.length > 0)
    throw new NoPage({ url: `pod ${items[0]?.metadata.name}`, reason: "no agent is ready yet" });
  if (pod === undefined) return straight(`http://${pageHost(client.transport.server)}:${PAGE_PORT}`);
  const listener = await client.listenPortForward({ namespace, name: pod }, { port: PAGE_PORT, localPort, signal });
  const end = () => listener.close();
  return { url: `http://${listener.host}:${listener.port}`, isForwarded: true, [Symbol.asyncDispose]: end };
}

/** A site in one process serves its page where it serves its API, on loopback; any other agent on this machine at its usual address. */
function pageHost(server: string): string {
  const { hostname } = new URL(server);
  return hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname) ? hostname : "127.0.0.1";
}

/** Asked before anybody is sent there: a browser's words for a page that is away help nobody. */
export async function pageAnswers(url: string, signal: AbortSignal): Promise<void> {
  const refuse = (reason: string, cause?: unknown): never => {
    throw new NoPage({ url, reason }, { cause });
  };
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const answer = await fetch(url, { signal: patience }).catch((error: Error) => {
    signal.throwIfAborted();
    return refuse(describeError(error.cause ?? error), error);
  });
  const text = await answer.text();
  const { code, error } = refusalIn(text);
  if (code === "PAGE_FILES_MISSING") throw new PageNotBuilt({ url, reason: error });
  if (!answer.ok) refuse(`it answers ${answer.status}: ${text.trim().slice(0, 300)}`);
  if (!/<title>[^<]*Fjord/i.test(text)) refuse("what answers there is something else");
}

/** An agent says in JSON why it cannot serve the page. */
function refusalIn(text: string): { readonly code?: unknown; readonly error?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isReady({ metadata, status }: Pod): boolean {
  const ready = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
  return ready === true && metadata.deletionTimestamp === undefined;
}

function straight(url: string): WayToPage {
  return { url, isForwarded: false, [Symbol.asyncDispose]: async () => {} };
}
