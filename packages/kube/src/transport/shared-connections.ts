import type { ClientHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import type { StreamLane } from "./connections.ts";
import type { Connect } from "./dial.ts";
import { endWhenSilent, type PingTimes } from "./session-pings.ts";
import { SharedTurn } from "./shared-turn.ts";
import type { AnswerHandler, Wire, WireRequest } from "./wire.ts";

export interface SharedConnectionsOptions {
  readonly connect: Connect;
  readonly host: string;
  readonly connectTimeoutMs: number;
  /** A connection that nobody needs any more, for a server that speaks HTTP/1.1 only. @default none */
  readonly spare?: () => Duplex | undefined;
  /** A wire of HTTP/1.1 for one request over this connection. */
  readonly alone: (connection: Duplex) => Wire;
  readonly pings?: PingTimes;
}

const PROTOCOLS = ["h2", "http/1.1"] as const;
/** So many requests share a connection, if the server takes as many; API servers take 100 or more. */
const STREAMS = 64;
/** Whoever has waited for so many connections in vain hears of it, and comes again in the pace of failures. */
const MOST_DIALS = 16;
/** Of an answer: the server may be another site's. */
const HEADER_BYTES = 16 * 1024;
/** What a server may send of one answer, and of all, before somebody has read it. */
const WINDOW = 256 * 1024;
const WINDOW_OF_ALL = 1024 * 1024;

/**
 * Watches, many over one connection by HTTP/2: a connection takes more memory than what comes over it. Where the server
 * does not speak it, each has a connection of its own.
 */
export class SharedConnections implements Wire {
  readonly #options: SharedConnectionsOptions;
  readonly #sessions = new Map<ClientHttp2Session, Shared>();
  #attempt: Attempt | undefined;
  /** The server took HTTP/1.1 last: then nobody waits for a connection to share. */
  #isAlone = false;

  constructor(options: SharedConnectionsOptions) {
    this.#options = options;
  }

  /** For one request, which fails with `released` if it is released before its end. */
  lane(released: Error): StreamLane {
    let turn: SharedTurn | undefined;
    return {
      wire: { send: (request, handler) => (turn = this.send(request, handler)) },
      release: () => turn?.fail(released),
    };
  }

  /** The answer may pause for as long as it likes. */
  send(request: WireRequest, handler: AnswerHandler): SharedTurn {
    const turn = new SharedTurn(request, handler, this.#options.host);
    void this.#begin(turn);
    return turn;
  }

  async #begin(turn: SharedTurn): Promise<void> {
    try {
      // One that was dialled for the first may be full by the time that the last of those who wait comes to it.
      for (let dials = 0; !turn.over; dials++) {
        const session = this.#sessions.keys().find((each) => this.#hasRoom(each));
        if (session !== undefined) {
          this.#count(session, 1);
          turn.begin(session, () => this.#count(session, -1));
          return;
        }
        if (dials === MOST_DIALS) throw new Error(NO_REQUESTS);
        const connection = this.#isAlone ? await this.#dialAlone(turn.signal) : await this.#dialTogether(turn);
        if (connection === undefined) continue;
        if (turn.over) connection.destroy();
        else turn.beginAlone(this.#options.alone(connection));
        return;
      }
    } catch (error) {
      turn.fail(error as Error);
    }
  }

  #hasRoom(session: ClientHttp2Session): boolean {
    const shared = this.#sessions.get(session);
    if (shared === undefined || shared.isLeft || session.destroyed) return false;
    return shared.count < Math.min(STREAMS, session.remoteSettings.maxConcurrentStreams ?? STREAMS);
  }

  #count(session: ClientHttp2Session, more: number): void {
    const shared = this.#sessions.get(session);
    if (shared === undefined) return;
    shared.count += more;
    if (shared.count === 0) this.#end(session, shared);
  }

  /** No more requests on it; those that it has are answered to their ends. */
  #leave(session: ClientHttp2Session): void {
    const shared = this.#sessions.get(session);
    if (shared === undefined) return;
    shared.isLeft = true;
    if (shared.count === 0) this.#end(session, shared);
  }

  /** A session that is closed waits for the other side to end the connection too, which may never do so. */
  #end(session: ClientHttp2Session, { connection }: Shared): void {
    this.#sessions.delete(session);
    session.destroy();
    connection.destroy();
  }

  /** Who watches has listed just before: over that connection nobody has to be dialled. */
  #dialAlone(signal: AbortSignal): Duplex | Promise<Duplex | undefined> {
    return this.#options.spare?.() ?? this.#dial(signal);
  }

  /** One attempt for all who come meanwhile; given up when none of them wants it any more. */
  async #dialTogether(turn: SharedTurn): Promise<Duplex | undefined> {
    this.#attempt ??= this.#newAttempt();
    const attempt = this.#attempt;
    attempt.waiting.add(turn);
    const leave = () => {
      attempt.waiting.delete(turn);
      if (attempt.waiting.size > 0) return;
      attempt.stop.abort(NOBODY_WAITS);
      // It may have come about just now.
      for (const [session, shared] of this.#sessions) if (shared.count === 0) this.#end(session, shared);
      attempt.connection.then((connection) => connection?.destroy()).catch(() => {});
    };
    turn.signal.addEventListener("abort", leave, { once: true });
    try {
      const connection = await attempt.connection;
      // Of HTTP/1.1 it is of use to one.
      if (turn.over || attempt.isTaken) return undefined;
      attempt.isTaken = true;
      return connection;
    } finally {
      turn.signal.removeEventListener("abort", leave);
      attempt.waiting.delete(turn);
    }
  }

  #newAttempt(): Attempt {
    const stop = new AbortController();
    const over = () => {
      if (this.#attempt === attempt) this.#attempt = undefined;
    };
    const connection = this.#dial(stop.signal).finally(over);
    const attempt: Attempt = { stop, connection, waiting: new Set(), isTaken: false };
    stop.signal.addEventListener("abort", over, { once: true });
    return attempt;
  }

  /** Gives the connection if it is for one request only. */
  async #dial(signal: AbortSignal): Promise<Duplex | undefined> {
    const { connect, connectTimeoutMs, host } = this.#options;
    const late = new AbortController();
    const message = `Connect Timeout: there was no connection to ${host} within ${connectTimeoutMs / 1000} s`;
    const timer = setTimeout(
      () => late.abort(Object.assign(new Error(message), { code: "ETIMEDOUT" })),
      connectTimeoutMs,
    );
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const connection = await connect(either, PROTOCOLS);
      this.#isAlone = (connection as { alpnProtocol?: unknown }).alpnProtocol !== "h2";
      if (this.#isAlone) return connection;
      await this.#open(connection, either);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns when the server's settings are there: how much it takes at once is among them. */
  #open(connection: Duplex, signal: AbortSignal): Promise<void> {
    // As a plain import it would load all of fetch, by Node's own getters.
    const { connect } = process.getBuiltinModule("node:http2");
    const session = connect(`https://${this.#options.host}`, {
      createConnection: () => connection,
      settings: { enablePush: false, initialWindowSize: WINDOW, maxHeaderListSize: HEADER_BYTES },
    });
    return new Promise((resolve, reject) => {
      const onAbort = () => session.destroy(signal.reason as Error);
      signal.addEventListener("abort", onAbort, { once: true });
      let problem: Error | undefined;
      session.on("error", (error) => {
        problem = error;
      });
      session.once("close", () => {
        signal.removeEventListener("abort", onAbort);
        this.#sessions.delete(session);
        reject(problem ?? new Error("the other side closed the connection before it said what it takes"));
      });
      session.once("goaway", () => {
        if (this.#sessions.has(session)) this.#leave(session);
        else connection.destroy();
      });
      session.once("remoteSettings", ({ maxConcurrentStreams }) => {
        if (session.destroyed) return;
        // A request would wait in the session, where nothing ends it but the session's end.
        if (maxConcurrentStreams === 0) return session.destroy(new Error(NO_REQUESTS));
        signal.removeEventListener("abort", onAbort);
        session.setLocalWindowSize(WINDOW_OF_ALL);
        this.#sessions.set(session, { connection, count: 0, isLeft: false });
        endWhenSilent(session, this.#options.pings ?? {});
        resolve();
      });
    });
  }
}

/** A connection that requests share. */
interface Shared {
  readonly connection: Duplex;
  /** How many requests it has. */
  count: number;
  /** The server wants to hear no more of them. */
  isLeft: boolean;
}

interface Attempt {
  readonly stop: AbortController;
  readonly connection: Promise<Duplex | undefined>;
  readonly waiting: Set<SharedTurn>;
  isTaken: boolean;
}

const NO_REQUESTS = "the other side takes connections, and no requests over them";
const NOBODY_WAITS = new Error("nobody waits for the connection any more");
