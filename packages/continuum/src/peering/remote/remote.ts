import type { Duplex } from "node:stream";
import { CacheRoom, ConnectionError, clockAhead, KubeClient, type KubeClientOptions, Transport } from "@fjord/kube";
import type { Means } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import { KUBE_PREFIX, LARGEST_BODY, PROTOCOL, type SiteReport } from "../../protocol.ts";
import type { Reachability, RemoteSite } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { askUpgrade } from "../tunnel/ask-upgrade.ts";
import { NoParkedConnection } from "../tunnel/errors.ts";
import { describeClock } from "./describe-clock.ts";
import { failureReason } from "./failure-reason.ts";
import { Heartbeat, type RemoteTiming, TimedOut } from "./heartbeat.ts";
import { checkRefusal, checkSiteReport } from "./report-check.ts";
import { sameReport } from "./same-report.ts";
import { LONGEST_CONNECT_MS, Way, type WayOptions } from "./way.ts";

export interface RemoteOptions extends Omit<WayOptions, "connectTimeoutMs" | "clock"> {
  readonly means: Omit<Means, "metrics">;
  readonly timing: RemoteTiming;
  readonly used: () => boolean;
  readonly kube?: KubeClientOptions;
  /** What caches of its Kubernetes API may take together. @default 128 MiB */
  readonly roomBytes?: number;
  readonly onChange: () => void;
}

/** Once it answers again, connections from before have this long to show a sign of life. */
const STALE_GRACE_MS = 300;
/** For so long a site that does not answer may merely be slow. */
const SLOW_MS = 5_000;
/** A site that is away for so long has its connections ended, so that nobody waits for an answer that may never come. */
const GIVE_UP_MS = 1_000;
const RECENT_MS = 60_000;

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** One peer: asked for its report again and again, so that whoever uses it knows whether it is there. */
export class Remote implements RemoteSite {
  readonly id: SiteId;
  readonly #options: RemoteOptions;
  readonly #way: Way;
  readonly #calls: Transport;
  readonly #heartbeat: Heartbeat<SiteReport>;
  readonly #listeners = new Set<() => void>();
  #kube: KubeClient | undefined;
  #reachability: Reachability;
  #report: SiteReport | undefined;
  #clockAhead = 0;
  #calledAt = Number.NEGATIVE_INFINITY;
  #cancelGiveUp = () => {};
  /** Since when it has given no other answer than that it does not know this site. */
  #unknownSince: number | undefined;
  /** Bytes that each connection had given when the site was lost. */
  #heardBefore = new Map<Duplex, number>();

  constructor(options: RemoteOptions) {
    const { id, means } = options;
    this.id = id;
    this.#options = options;
    this.#way = new Way({ ...options, clock: means.clock, connectTimeoutMs: 3_000 });
    const since = means.clock.now();
    this.#reachability = { reachable: false, since, reason: "ConnectionFailed", message: NOT_ASKED };
    this.#heartbeat = new Heartbeat({
      ...options,
      ask: async (signal) => checkSiteReport(await this.#call("GET", "/site", undefined, signal), id),
      received: () => this.#way.received(),
      onHeard: (report, isSlow) => this.#heard(report, isSlow),
      onSlow: () => this.#slow(),
      onUnheard: (error, firstFailure) => this.#unheard(error, firstFailure),
    });
    this.#calls = new Transport(
      { server: `https://${id}`, namespace: "default", tls: {} },
      {
        connect: (signal) => this.#way.connect(signal),
        connections: 4,
        connectTimeoutMs: LONGEST_CONNECT_MS,
        maxBodyBytes: LARGEST_BODY,
        requestTimeoutMs: 30_000,
        closeGraceMs: 0,
        compress: false,
        clock: means.clock,
      },
    );
  }

  get kube(): KubeClient {
    this.#kube ??= new KubeClient(
      { server: `https://${this.id}${KUBE_PREFIX}`, namespace: "default", tls: {} },
      {
        // As many as pods are brought to sites at once.
        connections: 16,
        shareWatches: true,
        // A site that is away is not dialled at all, and one that is there may take its time.
        connectTimeoutMs: LONGEST_CONNECT_MS,
        closeGraceMs: 0,
        // Its owner may mean us ill: nobody waits for ever, nor takes whatever comes.
        headersTimeoutMs: 20_000,
        requestTimeoutMs: 60_000,
        maxBodyBytes: LARGEST_ANSWER,
        answersBytes: LARGEST_ANSWER,
        room: new CacheRoom(this.#options.roomBytes ?? LEAST_ROOM, `site ${this.id}`),
        clock: this.#options.means.clock,
        ...this.#options.kube,
        connect: (signal, protocols) => this.#connect(signal, protocols),
        connectLasting: (signal) => this.#connectLasting(signal),
      },
    );
    return this.#kube;
  }

  /** Whether somebody has opened its Kubernetes API, or called it a short while ago. */
  get inUse(): boolean {
    return this.#kube !== undefined || this.#options.means.clock.now() < this.#calledAt + RECENT_MS;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  get clockAhead(): number {
    return this.#clockAhead;
  }

  get report(): SiteReport | undefined {
    return this.#report;
  }

  async call<Answer>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    this.#calledAt = this.#options.means.clock.now();
    return await this.#call(method, path, body, signal);
  }

  async #call<Answer>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    const action = `${method} ${path}`;
    const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": JSON_TYPE } };
    const request = { method, path: PROTOCOL + path, action, retryTooManyRequests: false, ...content };
    const { clock } = this.#options.means;
    const asked = clock.now();
    const response = await this.#calls.request(signal === undefined ? request : { ...request, signal });
    const date = String(response.headers.date ?? "");
    this.#clockAhead = clockAhead(date, { asked, answered: clock.now() }, this.#clockAhead);
    const answer = this.#parse(action, response.body);
    if (response.statusCode >= 200 && response.statusCode < 300) return answer as Answer;
    throw new PeerRefused(checkRefusal(answer, response.statusCode), response.statusCode);
  }

  async connect(path: string, protocol: string, signal: AbortSignal): Promise<Duplex> {
    const socket = await this.#connectLasting(signal);
    const { clock } = this.#options.means;
    return await askUpgrade(socket, { host: this.id, path, protocol, timeoutMs: LONGEST_CONNECT_MS, clock, signal });
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  refresh(): void {
    this.#heartbeat.refresh();
  }

  async stop(): Promise<void> {
    this.#heartbeat.stop();
    this.#cancelGiveUp();
    const closed = [this.#calls.close(), this.#kube?.close()];
    this.#way.destroy();
    await Promise.all(closed);
  }

  /** Nobody waits for a site that has been away for a while: its return is found by the heartbeat. */
  #connect(signal: AbortSignal, protocols: readonly string[] | undefined): Duplex | Promise<Duplex> {
    if (this.#isAway) throw this.#away();
    return this.#way.connect(signal, { protocols });
  }

  /**
   * For people's logs and commands, which would be cut for good where a watch goes on over the next connection. They outlive a
   * loss, which on a busy machine may be no more than an answer that comes late, and a site that seems away is dialled all
   * the same.
   */
  async #connectLasting(signal: AbortSignal): Promise<Duplex> {
    if (!this.#isAway) return this.#way.connect(signal, { lasting: true });
    if (this.#way.tunnelled) throw this.#away();
    const enough = new AbortController();
    const cancel = this.#options.means.clock.after(SLOW_MS, () => enough.abort());
    try {
      return await this.#way.connect(AbortSignal.any([signal, enough.signal]), { lasting: true });
    } catch {
      signal.throwIfAborted();
      throw this.#away();
    } finally {
      cancel();
    }
  }

  get #isAway(): boolean {
    const { reachable, lastHeard, since } = this.#reachability;
    // One that is slow for a moment may still take a connection, and whoever asks would rather wait than hear no. Parked
    // ones are as silent as the site is: to take them now would only use them up.
    const isSlow = !this.#way.tunnelled && this.#options.means.clock.now() - since <= SLOW_MS;
    return !reachable && lastHeard !== undefined && !isSlow;
  }

  #away(): Error {
    return new Error(`the site is away: ${this.#reachability.message}`);
  }

  #heard(report: SiteReport, isSlow: boolean): void {
    const now = this.#options.means.clock.now();
    const before = this.#reachability;
    const reason = this.#way.tunnelled ? "Tunnelled" : "Dialled";
    const since = before.reachable ? before.since : now;
    const answers = reason === "Dialled" ? "it answers" : "it answers over a connection that it opened";
    const message = (isSlow ? `${answers}, slowly` : answers) + describeClock(this.#clockAhead);
    this.#reachability = { reachable: true, since, lastHeard: now, reason, message };
    this.#unknownSince = undefined;
    const changed = this.#report === undefined || !sameReport(this.#report, report);
    if (changed) this.#report = report;
    if (!before.reachable) this.#returned();
    if (changed || !before.reachable || before.reason !== reason || before.message !== message) this.#tell();
  }

  /** It does not answer in time, and yet something comes from it. */
  #slow(): void {
    const before = this.#reachability;
    if (!before.reachable || before.message === SLOW) return;
    this.#reachability = { ...before, message: SLOW };
    this.#tell();
  }

  #unheard(error: unknown, firstFailure: number): void {
    const before = this.#reachability;
    const { reason, message } = failureReason(this.#whatFailed(error), this.#way.tunnelled);
    // As of when it was first asked in vain: it was lost no later than that.
    const since = before.reachable ? firstFailure : before.since;
    const { lastHeard } = before;
    this.#reachability = {
      reachable: false,
      since,
      reason,
      message,
      ...(this.#isForgotten(reason) && { forgotten: true }),
      ...(lastHeard === undefined ? {} : { lastHeard }),
    };
    if (before.reachable) {
      for (const socket of this.#way.connections()) this.#heardBefore.set(socket, bytesOf(socket));
      this.#cancelGiveUp = this.#options.means.clock.after(GIVE_UP_MS, () => this.#giveUp());
    }
    const isNews = before.reachable || before.reason !== reason || before.forgotten !== this.#reachability.forgotten;
    if (isNews || before.message === NOT_ASKED) this.#tell();
  }

  /**
   * A question gives up before whoever waits for a connection does. Of a site that never came there is more to say than that it
   * was slow: a consumer without an endpoint need not come, and its provider's owner would look for a fault.
   */
  #whatFailed(error: unknown): unknown {
    const neverCame = error instanceof TimedOut && this.#reachability.lastHeard === undefined && this.#way.isMissing;
    return neverCame ? new NoParkedConnection({ site: this.id }) : error;
  }

  /** For a moment it may know nobody, while its owner mends something there. */
  #isForgotten(reason: Reachability["reason"]): boolean {
    const now = this.#options.means.clock.now();
    this.#unknownSince = reason === "NotPaired" ? (this.#unknownSince ?? now) : undefined;
    return this.#unknownSince !== undefined && now >= this.#unknownSince + FORGOTTEN_MS;
  }

  /**
   * Connections from before the loss may be dead without anybody having been told. Those that stay silent are ended, so that
   * watches go on over new ones at once.
   */
  #returned(): void {
    this.#cancelGiveUp();
    const before = this.#heardBefore;
    this.#heardBefore = new Map();
    if (before.size === 0) return;
    this.#options.means.clock.after(STALE_GRACE_MS, () => {
      for (const [socket, bytes] of before) if (bytesOf(socket) === bytes) socket.destroy();
    });
  }

  #giveUp(): void {
    for (const socket of this.#heardBefore.keys()) socket.destroy();
    this.#heardBefore.clear();
    this.#options.parked?.drop(this.id);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
    this.#options.onChange();
  }

  #parse(action: string, body: Buffer): unknown {
    try {
      return body.length === 0 ? undefined : JSON.parse(body.toString("utf8"));
    } catch (cause) {
      throw new ConnectionError({ action, server: this.id, reason: "the answer is not JSON", cause, sent: true });
    }
  }
}

const SLOW = "it is slow to answer, and yet heard";
/** For how long it must say that it does not know this site before it is believed. */
const FORGOTTEN_MS = 60_000;
const NOT_ASKED = "it has not been asked yet";
const JSON_TYPE = "application/json";
/** Also of all that is under way together: a site may be asked a dozen things at once. */
const LARGEST_ANSWER = 64 * 1024 * 1024;
/** Ten thousand pods, and their twins, in a small process. */
const LEAST_ROOM = 128 * 1024 * 1024;

function bytesOf(socket: Duplex): number {
  return (socket as { bytesRead?: number }).bytesRead ?? 0;
}
