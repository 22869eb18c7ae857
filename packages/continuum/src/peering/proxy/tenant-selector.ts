import { CONSUMER_LABEL } from "@fjord/api";

const LONGEST = 4096;
/** Whatever a label selector is made of. */
const SELECTOR = /^[A-Za-z0-9_./,=!()<> -]*$/;

/** The selector asked for, and only what is labelled as the consumer's. Undefined where it is no selector. */
export function tenantSelector(consumer: string, asked: string | undefined): string | undefined {
  const own = `${CONSUMER_LABEL}=${consumer}`;
  if (asked === undefined || asked === "") return own;
  // Requirements are only ever joined by "and", so that what follows the first can but narrow it.
  return asked.length <= LONGEST && SELECTOR.test(asked) ? `${own},${asked}` : undefined;
}
