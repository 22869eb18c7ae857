import type { WayState } from "../fabric/way.ts";
import type { NetworkState } from "../network-state.ts";

export interface GatewayWish {
  readonly state: NetworkState;
  /** The site's of WireGuard, in base64. */
  readonly privateKey: string;
  /** When that key was made, in milliseconds since the epoch, where it is known. */
  readonly keyMadeAt?: number;
}

/** What a node shall be. */
export interface NodeWish {
  /** Present where it carries the site's links. */
  readonly carries?: GatewayWish;
  /** How it, or how others, reach the node that carries them; absent where the site's nodes are none of its business. */
  readonly way?: WayState;
  /** What it is to carry besides when another node falls silent: made ready before. @default nothing */
  readonly inherits?: NetworkState;
  /** What those peers are called here whose links have fallen silent, whoever carries them. @default none */
  readonly silent?: readonly string[];
}

/** What a node shall be; undefined while that is not known, and then everything stays as it is. */
export interface GatewaySource {
  read(): Promise<NodeWish | undefined>;
  /** Calls whoever does not want to wait until it reads again. */
  onChange?(listener: () => void): () => void;
}
