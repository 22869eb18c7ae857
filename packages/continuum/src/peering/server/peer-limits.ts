/** How much one agent takes from others before it says no. */
export interface PeerLimits {
  /** Connections at once, of all peers. */
  readonly connections: number;
  /** Connections at once of one key. */
  readonly connectionsPerPeer: number;
  /** Of these, connections at once of one key that watches share, and watches at once on each. */
  readonly sharedPerPeer: number;
  readonly watchesShared: number;
  /** Watches of one such connection that the peer may drop at once after a quiet time, and each second. */
  readonly droppedBurst: number;
  readonly droppedPerSecond: number;
  /** How often the peer is asked on such a connection whether it is there, and milliseconds that it has to say so. */
  readonly pingMs: number;
  readonly silentMs: number;
  /** Questions of one key that are being answered at once; the proxy has limits of its own. */
  readonly requestsPerPeer: number;
  /** Questions of one key each second, and how many at once after a quiet time; the proxy has limits of its own. */
  readonly questionsPerSecond: number;
  readonly questionsBurst: number;
  /** Connections at once of which nobody has said yet whose they are. */
  readonly handshakes: number;
  /** Connections at once of keys that no Site names. */
  readonly connectionsOfStrangers: number;
  /** Bytes of a request's line and headers. */
  readonly headerBytes: number;
  /** Milliseconds for a TLS handshake. */
  readonly handshakeMs: number;
  /** Milliseconds for the headers of a request, from its first byte. */
  readonly headersMs: number;
  /** Milliseconds for a whole request, its body included. */
  readonly requestMs: number;
  /** Milliseconds that a connection is kept without a request. */
  readonly idleMs: number;
  /** Requests a second of strangers at one address, and how many at once after a quiet time. */
  readonly strangersPerSecond: number;
  readonly strangersBurst: number;
  /** The same of all strangers together. */
  readonly allStrangersPerSecond: number;
  readonly allStrangersBurst: number;
}

export const defaultPeerLimits: PeerLimits = {
  connections: 8192,
  connectionsPerPeer: 1024,
  sharedPerPeer: 8,
  watchesShared: 64,
  droppedBurst: 256,
  droppedPerSecond: 16,
  pingMs: 30_000,
  silentMs: 60_000,
  requestsPerPeer: 512,
  questionsPerSecond: 200,
  questionsBurst: 1_000,
  handshakes: 512,
  connectionsOfStrangers: 128,
  headerBytes: 16 * 1024,
  handshakeMs: 5_000,
  headersMs: 5_000,
  requestMs: 30_000,
  idleMs: 60_000,
  strangersPerSecond: 5,
  strangersBurst: 20,
  allStrangersPerSecond: 50,
  allStrangersBurst: 200,
};
