import type { Schedule } from "./schedule.ts";

const MANY = 1000;

/** How many times were due after `from` and up to `now`, and the last of them; many are not counted one by one. */
export function missedTimes(schedule: Schedule, from: number, now: number): { count: number; last?: number } {
  let count = 0;
  let last: number | undefined;
  for (let time = schedule.next(from); time !== undefined && time <= now; time = schedule.next(time)) {
    count++;
    last = time;
    if (count < MANY) continue;
    return { count: MANY, last: lastBefore(schedule, last, now) };
  }
  return last === undefined ? { count } : { count, last };
}

/** By halving the time that is left. */
function lastBefore(schedule: Schedule, known: number, now: number): number {
  let low = known;
  let high = now;
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2);
    const time = schedule.next(middle);
    if (time !== undefined && time <= now) low = Math.max(time, middle);
    else high = middle;
  }
  for (let time = schedule.next(low); time !== undefined && time <= now; time = schedule.next(time)) low = time;
  const previous = schedule.next(low - 60_000);
  return previous !== undefined && previous <= low ? previous : low;
}
