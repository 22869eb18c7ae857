import { isPodSpec, redactPodSpec } from "./redact-pod.ts";
import { REDACTED, redactText } from "./redact-text.ts";
import { isSecretName } from "./secret-names.ts";

/** Fields whose values are the owner's own, and of no use to whoever looks for a fault. */
const PRIVATE_FIELDS = new Set(
  "data stringData binaryData caBundle signature signatures volumeAttributes httpHeaders".split(" "),
);
/** Fields that are called after secrets, and only name one. */
const NAMES_OF_SECRETS =
  /^(?:secretName|secretRef|secretKeyRef|secretNamespace|imagePullSecrets|nodePublishSecretRef|pairingSecret)$/;
/** Keys that are there for everybody to read. */
const PUBLIC_KEYS = /^(?:publicKey|ownKey|nextKey)$/;
/** Annotations of Fjord's and of Kubernetes' own that are worth reading. Of all others only the length is kept: anybody writes what they like there. */
const HARMLESS_ANNOTATIONS: readonly RegExp[] = [
  // Not `install-values`: what a site was installed with is its owner's.
  /^fjord\.dev\/(?:reflect|home-api|grace-seconds|force-remove|only-one|remote-class|cordoned|labels|carried|forged|made-at)$/,
  /^fjord\.dev\/(?:both-ways|site-name|redeemed|refused|contract|shadow-uid|shadow-generation|origin-(?:namespace|uid))$/,
  /^fjord\.dev\/(?:machine|loopback-range|stand-in-range)$/,
  /^(?:deployment|batch|apps|statefulset|pod-security|endpoints|service|topology)\.kubernetes\.io\//,
  /^(?:node\.alpha|scheduler\.alpha|controller|cluster-autoscaler|csi\.volume|volumes|volume)\.kubernetes\.io\//,
  /^kubectl\.kubernetes\.io\/(?:restartedAt|default-container)$/,
  /^kubernetes\.io\/(?:config\.source|config\.mirror|config\.hash|config\.seen|change-cause-at|limit-ranger|enforce-mountable-secrets)$/,
  /^kubeadm\.alpha\.kubernetes\.io\/cri-socket$/,
  /^meta\.helm\.sh\/release-(?:name|namespace)$/,
];

/**
 * An object without what may be secret: of pods what decides their place, of annotations those that are known, and no contents of
 * config maps and secrets, no tokens. Names, labels, amounts, times and conditions stay.
 */
export function redactObject(value: unknown, field = ""): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((each) => redactObject(each, field));
  if (typeof value !== "object" || value === null) return value;
  const object = value as Record<string, unknown>;
  if (field === "annotations") return redactAnnotations(object);
  if (isPodSpec(object)) return redactPodSpec(object, redactObject);
  const entries = Object.entries(object).map(([name, each]) => {
    if (name === "managedFields") return [name, undefined];
    if (PUBLIC_KEYS.test(name)) return [name, each];
    if (each !== undefined && (PRIVATE_FIELDS.has(name) || holdsSecret(name, each))) return [name, REDACTED];
    return [name, redactObject(each, name)];
  });
  return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
}

function redactAnnotations(annotations: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => {
      const text = String(value);
      return [name, HARMLESS_ANNOTATIONS.some((known) => known.test(name)) ? redactText(text) : withLength(text)];
    }),
  );
}

function withLength(text: string): string {
  return text === "" ? "" : `[removed: ${text.length} characters]`;
}

/** What is no text or list of texts is looked at by itself: `serviceAccountToken: {...}`, `automountServiceAccountToken: true`. */
function holdsSecret(name: string, value: unknown): boolean {
  const isText = typeof value === "string" || (Array.isArray(value) && value.some((each) => typeof each === "string"));
  return isText && isSecretName(name) && !NAMES_OF_SECRETS.test(name);
}
