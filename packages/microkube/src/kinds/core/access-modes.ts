const short = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

/** `RWO,ROX`. */
export function accessModesText(modes: readonly (string | undefined)[] | undefined): string {
  return short
    .filter(([mode]) => modes?.includes(mode))
    .map(([, text]) => text)
    .join(",");
}
