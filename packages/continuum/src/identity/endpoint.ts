import { EndpointRefused } from "./errors.ts";

const LONGEST = 256;
const MOST = 8;
/** Narrower than the schema of Site, so that what passes here can be written there. */
const HOST = /[-._A-Za-z0-9\u00a1-\uffff]+|\[[0-9a-fA-F:.]+\]/.source;
const PATH = /\/(?:[!$&-;=@-Z_a-z~\u00a1-\uffff]|%[0-9A-Fa-f]{2})*/.source;
const SHAPE = new RegExp(`^https://(?:${HOST})(?::[1-9][0-9]{0,4})?(?:${PATH})?$`);

/** An agent's address, checked: an https URL without credentials, query and fragment. Throws `EndpointRefused`. */
export function checkEndpoint(value: unknown): string {
  if (typeof value !== "string") throw new EndpointRefused({ endpoint: typeof value, problem: "it is no text" });
  const endpoint = value.length > LONGEST ? `${value.slice(0, 32)}...` : value;
  const refuse = (problem: string) => new EndpointRefused({ endpoint: JSON.stringify(endpoint), problem });
  if (value.length > LONGEST) throw refuse(`it has more than ${LONGEST} characters`);
  const url = URL.parse(value);
  if (url === null) throw refuse("it is no URL");
  // Nor shown whole: a password would be in the log.
  if (url.username !== "" || url.password !== "")
    throw new EndpointRefused({ endpoint: url.host, problem: "it has credentials in it" });
  if (url.protocol !== "https:") throw refuse("it does not begin with https://");
  if (!SHAPE.test(value)) throw refuse("it is not just a host, a port and a path");
  return value;
}

/** All of a peer's addresses, each once, in its order of preference. Throws `EndpointRefused`. */
export function checkEndpoints(values: unknown): string[] {
  if (!Array.isArray(values)) throw new EndpointRefused({ endpoint: typeof values, problem: "a list is expected" });
  if (values.length > MOST) {
    throw new EndpointRefused({ endpoint: `${values.length} endpoints`, problem: `there are more than ${MOST}` });
  }
  return [...new Set(values.map(checkEndpoint))];
}
