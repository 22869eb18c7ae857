import type { Resources, Terms } from "./protocol.ts";
import type { SiteId } from "./site-identity.ts";

/** A contract in force at the provider, with what the materialiser of pods must know. */
export interface LiveContract {
  /** The newest of its line: a renewal or a resize takes the place of the one before. */
  readonly id: string;
  readonly consumer: SiteId;
  readonly resources: Resources;
  readonly enforcement: Terms["enforcement"];
  readonly notAfter: number;
  /** Whether new pods are taken: false while either side has cordoned or drained it. */
  readonly takesPods: boolean;
  /** Whether running pods are to go. */
  readonly drained: boolean;
  /** Whether they go in the end whatever the consumer's disruption budgets say: it is this site's owner who wants them gone. */
  readonly cleared?: boolean;
}

/** The contracts that a provider serves. */
export interface LiveContracts {
  /** The contract in force that `name` is, or was superseded by; undefined where none is. */
  resolve(name: string): LiveContract | undefined;
  /** All in force with one consumer. */
  of(consumer: SiteId): readonly LiveContract[];
  /** Called with the consumer whose contracts changed. */
  onChange(listener: (consumer: SiteId) => void): () => void;
}
