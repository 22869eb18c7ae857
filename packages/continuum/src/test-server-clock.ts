import type { Clock } from "@fjord/base";
import { ServerClock } from "@fjord/kube";

/** What is known of a server whose clock is `ahead` milliseconds ahead of the own one, and has answered once. */
export function serverClockOf(clock: Clock, ahead = 0): ServerClock {
  const serverClock = new ServerClock(clock);
  serverClock.answered(new Date(clock.now() + ahead).toUTCString(), clock.now());
  return serverClock;
}
