import { Service } from "@fjord/kube";
import type { AddressFamily } from "../../addresses.ts";
import { ADDRESS_ANNOTATIONS } from "../../chosen-address.ts";
import { namedHost } from "../../cluster-names.ts";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";
import { classAt } from "./remote-class.ts";

type Spec = NonNullable<Service["spec"]>;

/**
 * Services, with all that means the same elsewhere, and with the address that they have at home where the provider has that to give: whoever has
 * been told an address rather than a name then finds the Service wherever it stands. The selector goes with them: guests carry the labels of the pods that they
 * stand for, so that the provider's own slices hold them, and the pods of other places come as EndpointSlices.
 */
export const services: ReflectedKind<Service> = {
  kind: Service,
  policy: "DenyList",
  follows: ["addresses"],
  ownAnnotations: ADDRESS_ANNOTATIONS,
  forge(service, context) {
    const spec = specAt(service, context);
    if (spec === undefined) return undefined;
    return content({ ...service, spec }, classAt(service), familiesAt(spec, context.families()));
  },
  // A class, family or address that nobody asked for is the provider's choice.
  seen(twin, { spec }) {
    const wanted = spec as Spec;
    const families = familiesSeen(twin.spec ?? {}, wanted);
    const seen = content(twin, wanted.loadBalancerClass && twin.spec?.loadBalancerClass, families);
    return hasAddress(wanted) && hasAddress(twin.spec)
      ? { spec: { ...(seen.spec as Spec), clusterIP: wanted.clusterIP } }
      : seen;
  },
  // Somebody else has it there, or Services have other ranges.
  modest({ spec }) {
    const { clusterIP: _, ...rest } = spec as Spec;
    return hasAddress(spec as Spec) ? { spec: rest } : undefined;
  },
  amended,
  namespaceNamed: (service) => serviceNamed(service)?.namespace,
  lacking(service, context) {
    const named = serviceNamed(service);
    if (named === undefined || context.twinOf(named.namespace) !== undefined) return undefined;
    return `it has no twin at ${context.siteName()}: it leads to namespace ${named.namespace}, which has none there`;
  },
  // The way to the API of the cluster itself.
  neverLeaves: ({ metadata }) => metadata.namespace === "default" && metadata.name === "kubernetes",
};

/** The Service of the own cluster that one of the type ExternalName leads to. */
function serviceNamed({ spec = {} }: Service) {
  const host = spec.type === "ExternalName" ? namedHost(spec.externalName ?? "") : undefined;
  return host?.sort === "Service" ? host : undefined;
}

/** A namespace has another name there: by its own the Service would lead to somebody else's. Undefined where it leads nowhere. */
function specAt(service: Service, { twinOf }: TwinContext): Spec | undefined {
  const { spec = {} } = service;
  const named = serviceNamed(service);
  if (named === undefined) return spec;
  const twin = twinOf(named.namespace);
  return twin === undefined ? undefined : { ...spec, externalName: `${named.service}.${twin}.${named.suffix}` };
}

function content(
  { spec = {} }: Service,
  loadBalancerClass: string | undefined,
  families: Pick<Spec, "ipFamilyPolicy" | "ipFamilies">,
): Body {
  const isExposed = spec.type === "NodePort" || spec.type === "LoadBalancer";
  const isBalanced = spec.type === "LoadBalancer";
  return {
    spec: {
      ...pick(spec, [
        "type",
        "selector",
        "publishNotReadyAddresses",
        "sessionAffinity",
        "sessionAffinityConfig",
        "internalTrafficPolicy",
        "trafficDistribution",
      ]),
      // Of another type it means nothing, and may be what is left of before.
      ...(spec.type === "ExternalName" && pick(spec, ["externalName"])),
      ...(spec.ports && { ports: spec.ports.map(port) }),
      ...(spec.clusterIP && spec.type !== "ExternalName" && { clusterIP: spec.clusterIP }),
      ...families,
      ...(isExposed && pick(spec, ["externalTrafficPolicy"])),
      ...(isBalanced && pick(spec, ["allocateLoadBalancerNodePorts", "loadBalancerSourceRanges"])),
      ...(isBalanced && loadBalancerClass !== undefined && { loadBalancerClass }),
    },
  };
}

/** Providers count ports of exposed Services, and take a change of either for one of both. */
function amended(patch: Body, { spec: twin = {} }: Service): Body {
  const spec = patch.spec as Spec | undefined;
  if (spec === undefined || !("type" in spec || "ports" in spec)) return patch;
  const { type = "ClusterIP", ports = [] } = twin;
  return { ...patch, spec: { type, ports: ports.map(port), ...spec } };
}

function hasAddress(spec: Spec | undefined): boolean {
  return spec?.clusterIP !== undefined && spec.clusterIP !== "" && spec.clusterIP !== "None";
}

function port({ name, protocol, port, targetPort, appProtocol }: NonNullable<Spec["ports"]>[number]) {
  return {
    port,
    ...(name && { name }),
    ...(protocol && { protocol }),
    ...(targetPort !== undefined && { targetPort }),
    ...(appProtocol && { appProtocol }),
  };
}

/**
 * Both families where both are wanted and there: a provider with one gives that one. A single family is the same where the
 * provider has that beside another one, since endpoints elsewhere have addresses of it alone; else whichever the provider has.
 */
function familiesAt(
  { ipFamilyPolicy, ipFamilies, type }: Spec,
  there: readonly AddressFamily[] | undefined,
): Pick<Spec, "ipFamilyPolicy" | "ipFamilies"> {
  if (type === "ExternalName") return {};
  if (ipFamilyPolicy === "PreferDualStack" || ipFamilyPolicy === "RequireDualStack")
    return { ipFamilyPolicy: "PreferDualStack" };
  const [family] = ipFamilies ?? [];
  if (family === undefined || there === undefined || there.length < 2) return {};
  return there.some((each) => each === family) ? { ipFamilyPolicy: "SingleStack", ipFamilies: [family] } : {};
}

/** Both is what nobody gives by itself: where it is no longer wanted, it is to go. */
function familiesSeen(twin: Spec, wanted: Spec): Partial<Spec> {
  const isPolicySeen = wanted.ipFamilyPolicy !== undefined || twin.ipFamilyPolicy === "PreferDualStack";
  return {
    ...(isPolicySeen && pick(twin, ["ipFamilyPolicy"])),
    ...(wanted.ipFamilies && pick(twin, ["ipFamilies"])),
  };
}

function pick<Name extends keyof Spec>(spec: Spec, names: readonly Name[]): Partial<Spec> {
  return Object.fromEntries(names.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));
}
