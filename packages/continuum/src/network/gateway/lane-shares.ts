/** Who carries which lane of a site's links, as its gateways have it written down. A run is a process on a node: `NODE_RANDOM`. */
export interface LaneShares {
  /** By lane, the run that carries it; empty where nobody does. */
  readonly lanes: readonly string[];
  /** By run, how often it has said that it lives: of those that carry something, or would if somebody gave it to them. */
  readonly beats: Readonly<Record<string, number>>;
}

/** What one run makes of them. */
export interface ShareView {
  /** This run. */
  readonly me: string;
  /** How many lanes there are. */
  readonly count: number;
  /** Whether a run has said nothing for too long. */
  readonly isSilent: (run: string) => boolean;
  /** Whether it is time to say that this one lives. */
  readonly isDue: boolean;
}

/** One that has come is given something when it has said so often that it lives: who comes and goes gets nothing. */
export const PROVEN_BEATS = 8;

/** The node of a run. */
export function nodeOf(run: string): string {
  return run.slice(0, run.lastIndexOf("_"));
}

/** The node to which what a node carries would go, if that fell silent now; undefined where there is no other. */
export function heirOf({ lanes, beats }: LaneShares, node: string): string | undefined {
  const others = Object.keys(beats).filter((run) => nodeOf(run) !== node);
  return others.length === 0 ? undefined : nodeOf(fewest(others, lanes));
}

/** Those that others carry and that would come to a node, if theirs fell silent now. */
export function inheritedBy(shares: LaneShares, node: string): number[] {
  const next = (run: string, lane: number) => nodeOf(withoutRun(shares, run).lanes[lane] ?? "");
  return shares.lanes.flatMap((run, lane) =>
    run !== "" && nodeOf(run) !== node && next(run, lane) === node ? [lane] : [],
  );
}

/** Those that a node carries, by whichever run. */
export function lanesOn({ lanes }: LaneShares, node: string): number[] {
  return lanes.flatMap((run, lane) => (run !== "" && nodeOf(run) === node ? [lane] : []));
}

/**
 * What is to be written down next; the same object where nothing is. Lanes of the silent go to their node's next run, or to whoever has the fewest; who has
 * most of them gives to those that have two fewer, the last lane first, as the first one has more to do than others. All is decided by what is written, and
 * is written only where that has not changed meanwhile: no lane ever is at two.
 */
export function nextShares(now: LaneShares, view: ShareView): LaneShares {
  const { me, count, isSilent } = view;
  const alive = new Set(Object.keys(now.beats).filter((run) => run === me || !isSilent(run)));
  const isHeld = (run: string | undefined) => run !== undefined && run !== "" && alive.has(run);
  const lanes = Array.from({ length: count }, (_, lane) => now.lanes[lane] ?? "");
  const held = lanes.map((run) => (isHeld(run) ? run : ""));
  // Nobody else sees this one before it has taken something, or asks for it.
  if (held.includes("")) alive.add(me);
  for (const [lane, run] of lanes.entries())
    if (held[lane] === "") held[lane] = successor(run, alive) ?? fewest([...alive], held);
  give(
    held,
    me,
    [...alive].filter((run) => run !== me && (now.beats[run] ?? 0) >= PROVEN_BEATS),
  );
  const beats = beatsOf(now, held, alive, view);
  const next = { lanes: held, beats };
  return JSON.stringify(next) === JSON.stringify(now) ? now : next;
}

/** The same without this run: others have what it had, at once. */
export function withoutRun(now: LaneShares, me: string): LaneShares {
  const { [me]: _, ...beats } = now.beats;
  const lanes = now.lanes.map((run) => (run === me ? "" : run));
  const others = Object.keys(beats);
  if (others.length > 0) for (const [lane, run] of lanes.entries()) if (run === "") lanes[lane] = fewest(others, lanes);
  return { lanes, beats };
}

function beatsOf(
  { beats }: LaneShares,
  lanes: readonly string[],
  alive: ReadonlySet<string>,
  { me, isDue }: ShareView,
): Record<string, number> {
  const most = Math.max(...lanes.filter((run) => run !== "").map((run) => load(run, lanes)));
  const others = Object.entries(beats).filter(([run]) => alive.has(run) && run !== me);
  // Who has nothing, and is not to get anything, or would be one of too many that ask, says nothing; the next run of a node has what that had. But one stands by,
  // so that who carries all knows who comes next.
  const isNextRun = lanes.some((run) => run !== me && nodeOf(run) === nodeOf(me));
  const before = beats[me];
  const mine = before === undefined ? 1 : before + (isDue ? 1 : 0);
  const isEnough = others.length > 1 && (most < 2 || others.length >= lanes.length);
  const isOut = load(me, lanes) === 0 && !isNextRun && isEnough;
  const all = isOut ? others : [...others, [me, mine] as const];
  return Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function successor(run: string, alive: ReadonlySet<string>): string | undefined {
  return run === "" ? undefined : [...alive].find((each) => nodeOf(each) === nodeOf(run));
}

/** The first of those that have the fewest. */
function fewest(runs: readonly string[], lanes: readonly string[]): string {
  return runs.reduce((one, other) => (load(other, lanes) < load(one, lanes) ? other : one));
}

/** While one of `others` has two fewer. */
function give(lanes: string[], me: string, others: readonly string[]): void {
  if (others.length === 0) return;
  for (;;) {
    const other = fewest(others, lanes);
    if (load(me, lanes) - load(other, lanes) < 2) return;
    lanes[lanes.lastIndexOf(me)] = other;
  }
}

function load(run: string, lanes: readonly string[]): number {
  return lanes.filter((each) => each === run).length;
}
