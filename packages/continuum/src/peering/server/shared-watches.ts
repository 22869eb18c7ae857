import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { type Clock, describeError, type Logger } from "@fjord/base";
import { endWhenSilent } from "@fjord/kube";
import type { Caller } from "../../peer-routes.ts";
import { KUBE_PREFIX } from "../../protocol.ts";
import type { PeerIdentity, SiteId } from "../../site-identity.ts";
import type { PeerLimits } from "./peer-limits.ts";
import type { PeerMetrics } from "./peer-metrics.ts";
import { SharedWatch } from "./shared-watch.ts";

export interface SharedWatchesOptions {
  readonly limits: PeerLimits;
  readonly metrics: PeerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handle: (request: IncomingMessage, response: ServerResponse, caller: PeerIdentity) => void;
}

/** Of HTTP/2: ask for this in the older way. */
const HTTP_1_1_REQUIRED = 0xd;
const HTTP_VERSION_NOT_SUPPORTED = 505;
/** Megabytes that one connection may take of this process: what 64 watches hold that nobody reads is far less. */
const SESSION_MEMORY = 4;
const A_FEW = 32;

/**
 * Connections that a peer's watches share, by HTTP/2 (docs/decisions/0048). Whatever else is asked over one, or in another
 * form, is refused, and the connection takes nothing more: all that HTTP/2 can do besides is left to those who mean harm.
 */
export class SharedWatches {
  readonly #options: SharedWatchesOptions;
  /** Of each peer, the oldest first. */
  readonly #perPeer = new Map<SiteId, Set<TLSSocket>>();

  constructor(options: SharedWatchesOptions) {
    this.#options = options;
  }

  /**
   * Serves a connection over which HTTP/2 was agreed on. Where the peer has as many as it may, its oldest is ended: it may be one that
   * the peer has lost, which is noticed a minute and a half later.
   */
  serve(socket: TLSSocket, caller: PeerIdentity): void {
    const { limits, metrics } = this.#options;
    const open = this.#perPeer.get(caller.id) ?? new Set();
    const [oldest] = open;
    if (oldest !== undefined && open.size >= limits.sharedPerPeer) {
      metrics.connectionRefused("TooManyOfPeer");
      this.#forget(caller.id, oldest);
      oldest.destroy();
    }
    this.#perPeer.set(caller.id, open.add(socket));
    socket.once("close", () => this.#forget(caller.id, socket));
    const session = this.#begin(socket);
    endWhenIdle(session, socket, limits.idleMs, this.#options.clock);
    // Node does not notice that a peer has gone of which it waits for a reader: watches and what they hold would stay for good.
    endWhenSilent(session, { everyMs: limits.pingMs, answerMs: limits.silentMs }, () => socket.destroy());
    session.on("error", (error) => {
      this.#options.logger.debug("a connection that watches share broke", { reason: describeError(error) });
    });
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
      this.#ask(session, stream, headers, caller),
    );
  }

  #begin(socket: TLSSocket): ServerHttp2Session {
    const { headerBytes, watchesShared, droppedBurst, droppedPerSecond } = this.#options.limits;
    // As a plain import it would load all of fetch, by Node's own getters.
    const { performServerHandshake } = process.getBuiltinModule("node:http2");
    return performServerHandshake(socket, {
      settings: { maxConcurrentStreams: watchesShared, maxHeaderListSize: headerBytes, enablePush: false },
      maxHeaderListPairs: 64,
      maxSessionMemory: SESSION_MEMORY,
      maxSessionInvalidFrames: A_FEW,
      maxSessionRejectedStreams: A_FEW,
      streamResetBurst: droppedBurst,
      streamResetRate: droppedPerSecond,
    });
  }

  #ask(session: ServerHttp2Session, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, caller: Caller): void {
    stream.on("error", (error) => {
      this.#options.logger.debug("a shared watch broke", { reason: describeError(error) });
    });
    if (!isWatch(stream, headers)) {
      this.#options.metrics.request("none", HTTP_VERSION_NOT_SUPPORTED, 0);
      stream.close(HTTP_1_1_REQUIRED);
      session.close();
      return;
    }
    // Nothing comes of it, but without a reader it would not end.
    stream.resume();
    const { request, response } = new SharedWatch(stream, headers, () => session.close());
    this.#options.handle(request, response, caller);
  }

  #forget(id: SiteId, socket: TLSSocket): void {
    const open = this.#perPeer.get(id);
    if (open?.delete(socket) && open.size === 0) this.#perPeer.delete(id);
  }
}

/** Without a body, and of the Kubernetes API. Whether the peer may is the proxy's to say. */
function isWatch({ endAfterHeaders }: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const { ":method": method, ":path": path } = headers as Record<string, unknown>;
  if (!endAfterHeaders || method !== "GET" || typeof path !== "string") return false;
  return path.startsWith(`${KUBE_PREFIX}/`) && WATCHES.test(path);
}

const WATCHES = /[?&]watch=(?:true|1)(?:&|$)/;

/** One without a watch is ended, also where none has ever come, and where the peer was told to end it and does not. */
function endWhenIdle(session: ServerHttp2Session, socket: TLSSocket, idleMs: number, clock: Clock): void {
  const end = () => socket.destroy();
  let open = 0;
  let cancel = clock.after(idleMs, end);
  session.on("stream", (stream: ServerHttp2Stream) => {
    open++;
    cancel();
    stream.once("close", () => {
      open--;
      if (open === 0 && !socket.destroyed) cancel = clock.after(idleMs, end);
    });
  });
  socket.once("close", () => cancel());
}
