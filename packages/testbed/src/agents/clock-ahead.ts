// Preloaded by agents whose clock a test wants to be off by FJORD_TEST_CLOCK_AHEAD milliseconds, or to jump to what is in
// FJORD_TEST_CLOCK_FILE; timers run as they do.
const { readFileSync } = process.getBuiltinModule("node:fs");
const file = process.env.FJORD_TEST_CLOCK_FILE;
let ahead = Number(process.env.FJORD_TEST_CLOCK_AHEAD ?? 0);
if (file !== undefined)
  setInterval(() => {
    try {
      ahead = Number(readFileSync(file, "utf8"));
    } catch {
      // Nobody has wanted it to jump.
    }
  }, 100).unref();
// A machine whose clock is off when a process starts has a wrong beginning of what only ever grows, too; a jump leaves that as it is.
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + ahead });
const RealDate = Date;

class DateAhead extends RealDate {
  constructor(...given: readonly unknown[]) {
    if (given.length === 0) super(DateAhead.now());
    else super(...(given as [number]));
  }

  static override now(): number {
    return RealDate.now() + ahead;
  }
}

globalThis.Date = DateAhead as DateConstructor;
