import type { VirtualNode } from "@fjord/api";
import type { SiteId } from "./site-identity.ts";

/** A virtual node of the consumer, and which site it stands for. */
export interface KnownVirtualNode {
  readonly name: string;
  readonly site: SiteId;
  readonly contract: string;
  readonly object: VirtualNode;
}

export interface VirtualNodes {
  get(name: string): KnownVirtualNode | undefined;
  list(): readonly KnownVirtualNode[];
  at(site: SiteId): readonly KnownVirtualNode[];
  /** Those that have no Node, since one of their name is somebody else's: what is bound to that is none of theirs. */
  taken(): readonly KnownVirtualNode[];
  onChange(listener: (name: string) => void): () => void;
}
