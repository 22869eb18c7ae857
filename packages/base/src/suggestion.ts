/** Of `names` the one that was probably meant; undefined where none is near. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const near = names
    .map((each) => ({ each, distance: distance(name, each) }))
    .filter(({ each, distance }) => distance <= Math.max(1, Math.floor(Math.max(name.length, each.length) / 3)));
  return near.sort((a, b) => a.distance - b.distance)[0]?.each;
}

/** How many letters have to be changed, added or left out, or change places with the next. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] as number) + 1 : changed;
      next.push(Math.min(changed, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] as number;
}

/** ` (did you mean X?)`, or nothing. */
export function didYouMean(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
