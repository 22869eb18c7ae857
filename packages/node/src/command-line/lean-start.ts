/**
 * Settings of V8 for processes that wait most of their lives, by measurement (docs/decisions/0007): what is made at once
 * stays small, and nothing is compiled for speed.
 */
export const leanSettings = {
  run: [
    "--max-semi-space-size=2",
    "--initial-old-space-size=16",
    "--heap-growing-percent=30",
    "--no-opt",
    "--no-maglev",
  ],
  // Its heap grows by the pods, and it has something to compute: the quicker of the two compilers stays.
  simulate: ["--max-semi-space-size=4", "--no-opt"],
};
