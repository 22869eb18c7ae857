/**
 * Settings of V8 for a site, which lives long and is to take little memory; given where it is started they spare it a second
 * start. What a starting site makes is nearly all there to stay: to look through it for garbage before there are 48 MB of it costs
 * a sixth of the start.
 */
export const LEAN_MICRO: readonly string[] = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=30",
  "--initial-old-space-size=48",
];
