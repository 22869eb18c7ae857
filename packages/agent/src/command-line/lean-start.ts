/** Settings of V8 for an agent, by command and by measurement (docs/decisions/0007). */
export const leanSettings = {
  run: [
    "--max-semi-space-size=1",
    "--optimize-for-size",
    "--initial-old-space-size=16",
    "--heap-growing-percent=30",
    "--no-opt",
    "--no-maglev",
    // For what a start or a burst has left (spare-memory.ts).
    "--expose-gc",
    // What has not run during four collections is compiled again when it does (docs/decisions/0057).
    "--flush-baseline-code",
    "--bytecode-old-age=4",
    // What is left then lies scattered.
    "--compact-on-every-full-gc",
  ],
};

/**
 * Settings of glibc for what is not JavaScript's (docs/decisions/0054): one place for it, and what is large and no longer used goes
 * back to the system. Buffers of connections count as large and lie apart from the rest. At its end, which is kept too short for
 * one of them, something small that stays would come to lie above them, and nothing below that can be given back.
 */
export const leanMemory = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_TOP_PAD_: "16384",
};
