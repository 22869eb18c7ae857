import { type Changes, type Snapshot, withChanges } from "@fjord/agent/page-model";

/** What the page knows, and whether it still hears from the agent. */
export interface Live {
  readonly snapshot: Snapshot | undefined;
  readonly connected: boolean;
  /** When something was last heard. */
  readonly heardAt: number;
}

/** The newest snapshot, kept current by server-sent events. */
export class LiveStore {
  #live: Live = { snapshot: undefined, connected: false, heardAt: Date.now() };
  #source: EventSource | undefined;
  #focus = "";
  readonly #listeners = new Set<() => void>();
  readonly #onLost: () => void;

  /** `onLost` is called when the agent no longer knows the session, perhaps. */
  constructor(onLost: () => void) {
    this.#onLost = onLost;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly read = (): Live => this.#live;

  /** Looks at one site or workload; what is known already stays until more comes. */
  look(focus: { site?: string; workload?: string }): void {
    const query = new URLSearchParams(Object.entries(focus)).toString();
    if (this.#source !== undefined && query === this.#focus) return;
    this.#focus = query;
    this.#open();
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    this.close();
    const source = new EventSource(`/api/live?${this.#focus}`);
    this.#source = source;
    source.addEventListener("snapshot", (event) => this.#heard(JSON.parse(event.data) as Snapshot));
    source.addEventListener("changes", (event) => {
      const { snapshot } = this.#live;
      if (snapshot !== undefined) this.#heard(withChanges(snapshot, JSON.parse(event.data) as Changes));
    });
    source.addEventListener("error", () => {
      this.#set({ ...this.#live, connected: false });
      this.#onLost();
      // The browser gives up where the answer was a refusal; it may be over by then.
      if (source.readyState === EventSource.CLOSED)
        setTimeout(() => {
          if (this.#source === source) this.#open();
        }, 1_500);
    });
  }

  #heard(snapshot: Snapshot): void {
    this.#set({ snapshot, connected: true, heardAt: Date.now() });
  }

  #set(live: Live): void {
    this.#live = live;
    for (const listener of this.#listeners) listener();
  }
}
