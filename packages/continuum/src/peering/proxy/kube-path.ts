/** A path of the Kubernetes API, taken apart. */
export interface KubePath {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const VERSION = /^v[1-9][0-9]{0,2}(?:(?:alpha|beta)[1-9][0-9]{0,2})?$/;
const GROUP = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,16}$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const RESOURCE = /^[a-z][a-z0-9]{0,62}$/;

/**
 * Reads `/api/v1/...` and `/apis/GROUP/VERSION/...` for a kind's objects. Undefined for whatever else there is, and for
 * what two readers could take for two things: nothing is decoded, completed or put right here.
 */
export function parseKubePath(path: string): KubePath | undefined {
  if (path.length > 1024 || !path.startsWith("/")) return undefined;
  const [root, ...rest] = path.slice(1).split("/");
  if (root === "api") return below("", rest);
  if (root !== "apis") return undefined;
  const [group = "", ...belowGroup] = rest;
  // A group without a dot is Kubernetes' own (apps, batch, policy).
  return GROUP.test(group) && group.length <= 253 ? below(group, belowGroup) : undefined;
}

function below(group: string, [version = "", ...segments]: readonly string[]): KubePath | undefined {
  if (!VERSION.test(version) || (group === "" && version !== "v1")) return undefined;
  if (segments[0] !== "namespaces") return object({ group, version }, segments);
  const [, namespace = "", ...rest] = segments;
  // A Namespace itself, or something of one, is no kind that is in a namespace.
  if (rest.length === 0 || !LABEL.test(namespace)) return undefined;
  return object({ group, version, namespace }, rest);
}

function object(
  scope: Pick<KubePath, "group" | "version" | "namespace">,
  segments: readonly string[],
): KubePath | undefined {
  const [resource = "", name, subresource, ...more] = segments;
  if (more.length > 0 || !RESOURCE.test(resource)) return undefined;
  if (name === undefined) return { ...scope, resource };
  if (!isName(name)) return undefined;
  if (subresource === undefined) return { ...scope, resource, name };
  return RESOURCE.test(subresource) ? { ...scope, resource, name, subresource } : undefined;
}

function isName(name: string): boolean {
  return SUBDOMAIN.test(name) && !name.includes("..");
}

/** As `Role` rules name it: `pods/log`, `shadowpods.fjord.dev`. */
export function resourceName({ group, resource, subresource }: KubePath): string {
  const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
  return group === "" ? whole : `${whole}.${group}`;
}
