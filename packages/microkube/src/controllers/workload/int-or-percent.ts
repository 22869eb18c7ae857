/** A number, or a share of `total` such as `25%`. Undefined for what is neither. */
export function scaledValue(value: number | string, total: number, round: "up" | "down"): number | undefined {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return undefined;
  const share = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(share) : Math.floor(share);
}
