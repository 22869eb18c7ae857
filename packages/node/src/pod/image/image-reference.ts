/** The parts of an image's name; undefined where it is none. */
export interface ImageReference {
  /** `docker.io`, `registry.example.com:5000` */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

const DEFAULT_REGISTRY = "docker.io";

const path = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const registryGrammar =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$/;
const tagGrammar = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const digestGrammar = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

export function parseImage(image: string): ImageReference | undefined {
  const [named = "", digest, ...rest] = image.split("@");
  if (rest.length > 0 || (digest !== undefined && !digestGrammar.test(digest))) return undefined;
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  const name = colon === -1 ? named : named.slice(0, colon);
  if (tag !== undefined && !tagGrammar.test(tag)) return undefined;
  const { registry, repository } = splitRegistry(name);
  if (!registryGrammar.test(registry) || !path.test(repository) || name.length > 255) return undefined;
  return { registry, repository, ...(tag && { tag }), ...(digest && { digest }) };
}

/** The first part is a registry where it could not be a folder. */
function splitRegistry(name: string): { registry: string; repository: string } {
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  const isRegistry = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  if (isRegistry) return { registry: first, repository: name.slice(slash + 1) };
  return { registry: DEFAULT_REGISTRY, repository: slash === -1 ? `library/${name}` : name };
}

/** What a pod that says nothing wants: a moving tag is looked up each time. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const reference = parseImage(image);
  const isMoving = reference?.digest === undefined && (reference?.tag ?? "latest") === "latest";
  return isMoving ? "Always" : "IfNotPresent";
}
