// Preloaded by agents whose clock a test wants to be off by FJORD_TEST_CLOCK_AHEAD milliseconds; timers run as they do.
const ahead = Number(process.env.FJORD_TEST_CLOCK_AHEAD ?? 0);
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
