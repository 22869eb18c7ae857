import type { Duplex } from "node:stream";
import { ConnectionError, KubeClient, type KubeClientOptions, Transport } from "@fjord/kube";
import type { Means } from "../../home.ts";
import type { SiteId } from "../../identity/site-identity.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import { KUBE_PREFIX, LARGEST_BODY, PROTOCOL, type Refusal, type SiteReport } from "../protocol.ts";
import type { Reachability, RemoteSite } from "../remote-site.ts";
import { failureReason } from "./failure-reason.ts";
import { checkSiteReport } from "./report-check.ts";
import { sameReport } from "./same-report.ts";
import { Way, type WayOptions } from "./way.ts";

export interface RemoteTiming {
  /** How often a site that is used is asked for its report. */
  readonly beatMs: number;
  /** How long its answer may take. */
  readonly timeoutMs: number;
  /** The longest pause between attempts while it is away and used. */
  readonly retryMs: number;
  /** How often a site that nobody uses is asked. */
  readonly unusedMs: number;
}

export const defaultRemoteTiming: RemoteTiming = { beatMs: 800, timeoutMs: 750, retryMs: 400, unusedMs: 30_000 };

export interface RemoteOptions extends Omit<WayOptions, "connectTimeoutMs" | "clock"> {
  readonly means: Omit<Means, "metrics">;
  readonly timing: RemoteTiming;
  readonly used: () => boolean;
  readonly kube?: KubeClientOptions;
  readonly onChange: () => void;
}

/** Once it answers again, connections from before have this long to show a sign of life. */
const STALE_GRACE_MS = 300;
/** A site that is away for so long has its connections ended, so that nobody waits for an answer that may never come. */
const GIVE_UP_MS = 1_000;
/** A site that was there is lost with the second answer in a row that does not come: the first may be our own tardiness. */
const LOST_AFTER = 2;
/** Where we are late ourselves, the answer may be there and not read yet. */
const LATE_MS = 50;

/** One peer: asked for its report again and again, so that whoever uses it knows whether it is there. */
export class Remote implements RemoteSite {
  readonly id: SiteId;
  readonly #options: RemoteOptions;
  readonly #way: Way;
  readonly #calls: Transport;
  readonly #listeners = new Set<() => void>();
  #kube: KubeClient | undefined;
  #reachability: Reachability;
  #report: SiteReport | undefined;
  #failures = 0;
  #firstFailure = 0;
  #cancelBeat = () => {};
  #cancelGiveUp = () => {};
  #beating = false;
  #again = false;
  #stopped = false;
  /** Bytes that each connection had given when the site was lost. */
  #heardBefore = new Map<Duplex, number>();

  constructor(options: RemoteOptions) {
    const { id, timing, means } = options;
    this.id = id;
    this.#options = options;
    this.#way = new Way({ ...options, clock: means.clock, connectTimeoutMs: 3_000 });
    const message = "it has not been asked yet";
    this.#reachability = { reachable: false, since: means.clock.now(), reason: "ConnectionFailed", message };
    this.#calls = new Transport(
      { server: `https://${id}`, namespace: "default", tls: {} },
      {
        connect: (signal) => this.#way.connect(signal),
        connections: 4,
        connectTimeoutMs: Math.max(3_000, timing.timeoutMs),
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
        connectTimeoutMs: 5_000,
        closeGraceMs: 0,
        clock: this.#options.means.clock,
        ...this.#options.kube,
        connect: (signal) => this.#connect(signal),
      },
    );
    return this.#kube;
  }

  get reachability(): Reachability {
    return this.#reachability;
  }

  get report(): SiteReport | undefined {
    return this.#report;
  }

  async call<Answer>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const action = `${method} ${path}`;
    const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": JSON_TYPE } };
    const request = { method, path: PROTOCOL + path, action, retryTooManyRequests: false, ...content };
    const response = await this.#calls.request(signal === undefined ? request : { ...request, signal });
    const answer = this.#parse(action, response.body);
    if (response.statusCode >= 200 && response.statusCode < 300) return answer as Answer;
    throw new PeerRefused(refusalOf(answer, response.statusCode), response.statusCode);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  refresh(): void {
    if (this.#stopped) return;
    if (this.#beating) {
      this.#again = true;
      return;
    }
    this.#cancelBeat();
    void this.#beat();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelBeat();
    this.#cancelGiveUp();
    const closed = [this.#calls.close(), this.#kube?.close()];
    this.#way.destroy();
    await Promise.all(closed);
  }

  /** While the site is known to be away nobody waits for it: its return is found by the heartbeat. */
  #connect(signal: AbortSignal): Duplex | Promise<Duplex> {
    const { reachable, lastHeard, message } = this.#reachability;
    if (!reachable && lastHeard !== undefined) throw new Error(`the site is away: ${message}`);
    return this.#way.connect(signal);
  }

  async #beat(): Promise<void> {
    this.#beating = true;
    this.#again = false;
    const { clock } = this.#options.means;
    const began = clock.now();
    try {
      const report = await this.#ask();
      if (this.#stopped) return;
      this.#failures = 0;
      this.#heard(report);
    } catch (error) {
      if (this.#stopped) return;
      if (this.#failures++ === 0) this.#firstFailure = began;
      if (this.#failures >= LOST_AFTER || !this.#reachability.reachable) this.#unheard(error);
    } finally {
      this.#beating = false;
    }
    this.#cancelBeat = clock.after(this.#again ? 0 : this.#pause(clock.now() - began), () => void this.#beat());
  }

  async #ask(): Promise<SiteReport> {
    const { timing, means } = this.#options;
    const late = new AbortController();
    const onLate = () => late.abort(new TimedOut(timing.timeoutMs));
    let cancel = means.clock.after(timing.timeoutMs, () => {
      cancel = means.clock.after(LATE_MS, onLate);
    });
    try {
      return checkSiteReport(await this.call("GET", "/site", undefined, late.signal), this.id);
    } finally {
      cancel();
    }
  }

  #pause(spent: number): number {
    const { timing, used, means } = this.#options;
    const jitter = 0.9 + 0.1 * means.random();
    if (!used()) return timing.unusedMs * jitter;
    if (this.#failures === 0) return Math.max(0, timing.beatMs * jitter - spent);
    if (this.#failures < LOST_AFTER) return 0;
    return Math.min(timing.retryMs, 25 * 2 ** Math.min(this.#failures, 10)) * jitter;
  }

  #heard(report: SiteReport): void {
    const now = this.#options.means.clock.now();
    const before = this.#reachability;
    const reason = this.#way.tunnelled ? "Tunnelled" : "Dialled";
    const since = before.reachable ? before.since : now;
    const message = reason === "Dialled" ? "it answers" : "it answers over a connection that it opened";
    this.#reachability = { reachable: true, since, lastHeard: now, reason, message };
    const changed = this.#report === undefined || !sameReport(this.#report, report);
    if (changed) this.#report = report;
    if (!before.reachable) this.#returned();
    if (changed || !before.reachable || before.reason !== reason) this.#tell();
  }

  #unheard(error: unknown): void {
    const before = this.#reachability;
    const { reason, message } = failureReason(error, this.#way.tunnelled);
    // As of when it was first asked in vain: it was lost no later than that.
    const since = before.reachable ? this.#firstFailure : before.since;
    const { lastHeard } = before;
    this.#reachability = {
      reachable: false,
      since,
      reason,
      message,
      ...(lastHeard === undefined ? {} : { lastHeard }),
    };
    if (before.reachable) {
      for (const socket of this.#way.connections()) this.#heardBefore.set(socket, bytesOf(socket));
      this.#cancelGiveUp = this.#options.means.clock.after(GIVE_UP_MS, () => this.#giveUp());
    }
    if (before.reachable || this.#failures === 1 || before.reason !== reason) this.#tell();
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

export class TimedOut extends Error {
  override readonly name = "TimedOut";

  constructor(ms: number) {
    super(`it did not answer within ${ms} ms`);
  }
}

const JSON_TYPE = "application/json";
const LONGEST_MESSAGE = 1024;

/** A refusal in whatever shape it came. */
function refusalOf(answer: unknown, status: number): Refusal {
  const { code, message, available } = (answer ?? {}) as Record<string, unknown>;
  return {
    code: typeof code === "string" && /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(code) ? code : `Status${status}`,
    message: typeof message === "string" ? message.slice(0, LONGEST_MESSAGE) : `the site answered ${status}`,
    ...(typeof available === "object" && available !== null ? { available: available as Refusal["available"] } : {}),
  } as Refusal;
}

function bytesOf(socket: Duplex): number {
  return (socket as { bytesRead?: number }).bytesRead ?? 0;
}
