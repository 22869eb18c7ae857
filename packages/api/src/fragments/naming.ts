import { array, object, string } from "../schema/index.ts";

const prefix = "[0-9a-f.:]{2,39}/[0-9]{1,3}";

/** A range as agents write it: `10.42.0.0/16`, `fd00:42::/56`. */
export const range = () => string({ maxLength: 43, pattern: `^${prefix}$` });

/** One address, of either family, as agents write it. */
export const address = () => string({ maxLength: 39, pattern: "^[0-9a-f.:]{2,39}$" });

/** An address or a range as agents write it. */
export const addressOrRange = () => string({ maxLength: 43, pattern: "^[0-9a-f.:]{2,39}(/[0-9]{1,3})?$" });

/** Ranges of pods, and what they are called elsewhere. */
export function namings(fields: { range: string; called: string }, maxItems = 32) {
  return array(
    object({
      range: range().describe(fields.range),
      called: range().optional().describe(fields.called),
    }),
    { maxItems, keys: ["range"] },
  );
}
