import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** Where an answer is known, the next one is not waited for any longer: name servers of a peer's owner may not answer. */
const PATIENCE_MS = 500;
const MOST_KNOWN = 1_024;
/** Peers may name others without end. */
const MOST_ASKED = 256;

/**
 * Addresses of peers' hosts. A process asks for two names at a time, each of which may take half a minute and cannot be given up, and others wait in line: so each name is asked for once
 * at a time, however often somebody dials it, and who was found before is dialled there.
 */
export class HostNames {
  readonly #resolve: (host: string) => Promise<readonly LookupAddress[]>;
  readonly #asked = new Map<string, Promise<readonly LookupAddress[]>>();
  /** The one that was found longest ago comes first. */
  readonly #known = new Map<string, readonly LookupAddress[]>();

  /** @default as the system finds them */
  constructor(resolve: (host: string) => Promise<readonly LookupAddress[]> = resolveBySystem) {
    this.#resolve = resolve;
  }

  /** For `net.connect` and `tls.connect`. */
  readonly lookup: LookupFunction = (host, { all }, callback) => {
    this.addresses(host).then(
      (found) => {
        const [first] = found;
        if (all) callback(null, [...found]);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error) => callback(error, ""),
    );
  };

  /** At least one. */
  async addresses(host: string): Promise<readonly LookupAddress[]> {
    const known = this.#known.get(host);
    const asked = this.#asked.get(host) ?? (this.#asked.size < MOST_ASKED ? this.#ask(host) : undefined);
    if (asked === undefined) {
      if (known !== undefined) return known;
      throw new Error("too many names wait for their addresses");
    }
    if (known === undefined) return await asked;
    const late = Promise.withResolvers<readonly LookupAddress[]>();
    const timer = setTimeout(() => late.resolve(known), PATIENCE_MS).unref();
    try {
      return await Promise.race([asked, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #ask(host: string): Promise<readonly LookupAddress[]> {
    const asked = this.#resolve(host)
      .then((found) => {
        this.#remember(host, found);
        return found;
      })
      .finally(() => this.#asked.delete(host));
    // Nobody may wait for it any more.
    asked.catch(() => {});
    this.#asked.set(host, asked);
    return asked;
  }

  #remember(host: string, found: readonly LookupAddress[]): void {
    this.#known.delete(host);
    this.#known.set(host, found);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

function resolveBySystem(host: string): Promise<LookupAddress[]> {
  // Not imported: an import would load all that it could ever give (docs/decisions/0007).
  return process.getBuiltinModule("node:dns").promises.lookup(host, { all: true });
}
