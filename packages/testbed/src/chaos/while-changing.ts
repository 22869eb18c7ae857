import { waitFor } from "../wait.ts";

type Options = Parameters<typeof waitFor>[1];

/**
 * Waits until nothing is left of what `look` finds, as long as that grows less: `timeout` is for each time that it becomes
 * shorter than ever before. Gives whether nothing was left.
 */
export async function whileChanging(
  look: () => readonly string[] | Promise<readonly string[]>,
  options: Options,
): Promise<boolean> {
  let least = Number.POSITIVE_INFINITY;
  while (least > 0) {
    const fewer = async () => {
      const { length } = await look();
      if (length >= least) return false;
      least = length;
      return true;
    };
    if (!(await waitFor(fewer, options))) return false;
  }
  return true;
}
