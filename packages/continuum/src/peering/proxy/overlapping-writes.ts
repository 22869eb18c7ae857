/** What has become of a write: the bytes that are kept of the object, none where it is gone, nothing was done, or who knows. */
export type Outcome = { readonly kept: number } | "gone" | "undone" | "unknown";

/**
 * Writes of one object that are under way together. Their answers do not tell which of them the API did last, so that it has of the object
 * whatever one of them may have left there: a deletion is believed where nothing else was written beside it.
 */
export class OverlappingWrites {
  #before: number | undefined;
  #most: number | undefined;
  #open = 0;
  #kept: number | undefined;
  #isGone = false;

  /** `before` are the bytes of the object until then, where there is one. */
  constructor(before: number | undefined) {
    this.#before = before;
    this.#most = before;
  }

  /** None is under way any more. */
  get over(): boolean {
    return this.#open === 0;
  }

  /** The bytes of the object: while writes are under way the most that it may have; undefined where there is none. */
  get bytes(): number | undefined {
    if (!this.over) return this.#most;
    return this.#kept ?? (this.#isGone ? undefined : this.#before);
  }

  /** Begins one that may leave so many bytes; a deletion leaves none. */
  begin(bytes?: number): void {
    this.#open++;
    this.#most = larger(this.#most, bytes);
  }

  /** One that `raises` leaves of the object what there was, however little it says of it. */
  end(bytes: number | undefined, outcome: Outcome, raises = false): void {
    this.#open--;
    if (outcome === "gone") this.#isGone = true;
    const said = typeof outcome === "object" ? outcome.kept : outcome === "unknown" ? bytes : undefined;
    const kept = raises && said !== undefined ? larger(said, this.#before) : said;
    this.#kept = larger(this.#kept, kept);
    this.#most = larger(this.#most, kept);
  }

  /** The API was found to have so many bytes of it meanwhile. */
  found(bytes: number | undefined): void {
    this.#before = bytes ?? this.#before;
    this.#most = larger(this.#most, bytes);
  }
}

/** Of what may be there the most. */
export function larger(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}
