import type { Duplex } from "node:stream";
import { Connection } from "./connection.ts";
import type { Connect } from "./dial.ts";
import { Turn, type TurnOwner } from "./turn.ts";
import type { AnswerHandler, Sending, Wire, WireRequest } from "./wire.ts";

export interface PoolOptions {
  readonly connect: Connect;
  /** Value of the Host header. */
  readonly host: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Put before each path; a proxy is told the whole URL. */
  readonly pathPrefix: string;
  /** How many connections there are at most. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number;
  /** Who has waited in line for so long, and for as long as the last one took to dial, has another connection dialled. @default 100 */
  readonly patienceMs?: number;
}

/** For so long after its last use a connection is sure enough to work for something that nobody repeats. */
const FRESH_MS = 3_000;

/** So many idle connections are kept for as long as `keepAliveMs` says. */
const KEPT_LONG = 1;

/**
 * So many are dialled at once: a handshake takes more memory than all that follows, and by the time that one has come many
 * requests have had their turn on another (docs/decisions/0042).
 */
const DIALLED_AT_ONCE = 2;
/** An attempt that takes longer may take for ever, and whoever comes then does not wait for it alone. */
const SOON_MS = 1_000;

/** So many requests wait for each connection before another is dialled for them: most answers come sooner than a handshake is over. */
const IN_LINE = 4;
const PATIENCE_MS = 100;

/** Connections to one server, each used by one request at a time. Requests that find none wait in line. */
export class ConnectionPool implements Wire, TurnOwner {
  readonly #options: PoolOptions;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  #patienceMs: number;
  /** The last one is the one that was used last. */
  readonly #idle: Connection[] = [];
  readonly #connections = new Set<Connection>();
  readonly #attempts = new Set<Attempt>();
  /** In the order in which they came, with the time by `performance.now()`. */
  readonly #waiting = new Map<Turn, number>();
  readonly #turns = new Set<Turn>();
  /** Looks at who has lost patience. */
  #lineTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  /** When that is due, by `performance.now()`. */
  #dropAt = 0;
  /** There once it is being closed. */
  #empty: PromiseWithResolvers<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.host = options.host;
    this.headers = options.headers;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
  }

  send(request: WireRequest, handler: AnswerHandler): Sending {
    const { pathPrefix } = this.#options;
    const whole = pathPrefix === "" ? request : { ...request, path: pathPrefix + request.path };
    const turn = new Turn(this, whole, handler);
    this.#turns.add(turn);
    const connection = this.#takeIdle();
    if (connection !== undefined) this.#use(connection, turn);
    else {
      this.#waiting.set(turn, performance.now());
      this.#connectAsNeeded();
    }
    return turn;
  }

  /** A connection that was used a moment ago and that nobody uses now, for whoever would dial otherwise. */
  takeFresh(): Duplex | undefined {
    const last = this.#idle.at(-1);
    if (last === undefined || last.idleSince + FRESH_MS < performance.now()) return undefined;
    const connection = this.#takeIdle();
    if (connection === undefined) return undefined;
    this.#connections.delete(connection);
    return connection.handOver();
  }

  /** Keeps no connection any more, and resolves when the requests under way have ended. */
  close(): Promise<void> {
    for (const connection of this.#idle.splice(0)) connection.destroy();
    clearTimeout(this.#idleTimer);
    this.#empty ??= Promise.withResolvers();
    this.#checkEmpty();
    return this.#empty.promise;
  }

  /** Ends the requests under way at once. */
  destroy(reason: Error): void {
    void this.close();
    for (const { stop } of this.#attempts) stop.abort(reason);
    for (const turn of this.#turns) turn.fail(reason);
    for (const connection of this.#connections) connection.destroy();
  }

  onFree(turn: Turn, connection: Connection, keepAliveMs: number): void {
    this.onOver(turn);
    connection.turn = undefined;
    this.#offer(connection, keepAliveMs);
  }

  onOver(turn: Turn): void {
    this.#waiting.delete(turn);
    this.#turns.delete(turn);
    this.#checkEmpty();
  }

  #checkEmpty(): void {
    if (this.#empty === undefined || this.#turns.size > 0) return;
    // Nobody waits for these.
    for (const { stop } of this.#attempts) stop.abort();
    clearTimeout(this.#lineTimer);
    this.#empty.resolve();
  }

  #use(connection: Connection, turn: Turn): void {
    connection.turn = turn;
    turn.begin(connection);
  }

  /** To whoever has waited longest, else to whoever comes next. */
  #offer(connection: Connection, keepAliveMs: number): void {
    const [next] = this.#waiting.keys();
    if (next !== undefined && connection.usable) {
      this.#waiting.delete(next);
      this.#use(connection, next);
      return;
    }
    // What a burst has opened beyond the first is let go soon after it: each connection keeps buffers.
    const longest = this.#idle.length < KEPT_LONG ? this.#options.keepAliveMs : this.#options.keepAliveMs / 10;
    const ms = Math.min(keepAliveMs, longest);
    if (this.#empty !== undefined || ms <= 0) connection.destroy();
    else this.#keep(connection, ms);
  }

  #keep(connection: Connection, ms: number): void {
    if (connection.stream.isPaused()) connection.stream.resume();
    connection.idleSince = performance.now();
    connection.idleUntil = connection.idleSince + ms;
    connection.keepProcess(false);
    this.#idle.push(connection);
    if (this.#idleTimer !== undefined && this.#dropAt <= connection.idleUntil) return;
    clearTimeout(this.#idleTimer);
    this.#dropLater(connection.idleUntil);
  }

  #takeIdle(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.usable && connection.idleUntil > performance.now()) {
        connection.keepProcess(true);
        return connection;
      }
      connection.destroy();
    }
    return undefined;
  }

  #dropOld(): void {
    const now = performance.now();
    const old = this.#idle.filter(({ idleUntil }) => idleUntil <= now);
    const kept = this.#idle.filter(({ idleUntil }) => idleUntil > now);
    this.#idle.splice(0, this.#idle.length, ...kept);
    for (const connection of old) connection.destroy();
    this.#idleTimer = undefined;
    if (kept.length > 0) this.#dropLater(Math.min(...kept.map(({ idleUntil }) => idleUntil)));
  }

  #dropLater(at: number): void {
    this.#dropAt = at;
    this.#idleTimer = setTimeout(() => this.#dropOld(), Math.max(1, at - performance.now() + 1)).unref();
  }

  #connectAsNeeded(): void {
    while (
      this.#attempts.size < this.#unserved() &&
      this.#attempts.size + this.#connections.size < this.#options.connections &&
      this.#dialledNow() < DIALLED_AT_ONCE
    ) {
      void this.#attempt();
    }
    if (this.#waiting.size === 0 || this.#lineTimer !== undefined) return;
    this.#lineTimer = setTimeout(() => {
      this.#lineTimer = undefined;
      this.#connectAsNeeded();
    }, this.#patienceMs);
  }

  /** How many of those who wait will have no turn soon on the connections that there are. */
  #unserved(): number {
    const { size } = this.#waiting;
    const tooMany = size - IN_LINE * this.#connections.size;
    if (tooMany === size) return size;
    const impatient = performance.now() - this.#patienceMs;
    let late = 0;
    for (const since of this.#waiting.values()) {
      if (since > impatient) break;
      late++;
    }
    return Math.max(tooMany, late);
  }

  /** A connection that takes longer to come than the turn that it is dialled for helps nobody: one that has all processors busy would dial without end. */
  #learnPatience(dialMs: number): void {
    this.#patienceMs = Math.max(this.#options.patienceMs ?? PATIENCE_MS, Math.min(dialMs, SOON_MS));
  }

  #dialledNow(): number {
    const since = performance.now() - SOON_MS;
    return this.#attempts.values().reduce((count, { began }) => count + Number(began > since), 0);
  }

  async #attempt(): Promise<void> {
    const attempt: Attempt = { stop: new AbortController(), began: performance.now() };
    this.#attempts.add(attempt);
    try {
      const stream = await this.#connect(attempt.stop);
      this.#attempts.delete(attempt);
      this.#learnPatience(performance.now() - attempt.began);
      const connection = new Connection(stream, (gone) => this.#forget(gone));
      this.#connections.add(connection);
      this.#offer(connection, Number.POSITIVE_INFINITY);
    } catch (error) {
      this.#attempts.delete(attempt);
      for (const turn of this.#disappointed()) turn.fail(error as Error);
    }
    this.#connectAsNeeded();
  }

  /**
   * Whom an attempt that failed leaves without hope: whoever has waited longest; and where there is no connection at all, everybody
   * but one for each other attempt. Nobody waits for one attempt after the other.
   */
  #disappointed(): Turn[] {
    const hopeless = this.#connections.size > 0 ? 1 : Math.max(1, this.#waiting.size - this.#attempts.size);
    return [...this.#waiting.keys()].slice(0, hopeless);
  }

  #connect(attempt: AbortController): Promise<Duplex> {
    const { connect, connectTimeoutMs, host } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const message = `Connect Timeout: there was no connection to ${host} within ${connectTimeoutMs / 1000} s`;
        attempt.abort(Object.assign(new Error(message), { code: "ETIMEDOUT" }));
      }, connectTimeoutMs);
      attempt.signal.addEventListener("abort", () => reject(attempt.signal.reason), { once: true });
      Promise.resolve(attempt.signal)
        .then(connect)
        .then((connection) => {
          // It came too late for anyone.
          if (attempt.signal.aborted) connection.destroy();
          resolve(connection);
        }, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    this.#connectAsNeeded();
  }
}

/** One connection on its way. */
interface Attempt {
  readonly stop: AbortController;
  /** By `performance.now()`. */
  readonly began: number;
}
