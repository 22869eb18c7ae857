import type { Kind, KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { AddressBlock, AddressFamily } from "../addresses.ts";
import type { SiteId } from "../site-identity.ts";

/**
 * Which objects of a kind have twins. The first three are what a reflection rule can say; `Referenced` are those that an
 * offloaded pod at the site needs, and those annotated fjord.dev/reflect=true.
 */
export type ReflectionPolicy = "DenyList" | "AllowList" | "Never" | "Referenced";

/** What there is in an object beside its names and metadata. */
export type Body = Readonly<Record<string, unknown>>;

/** What a forge may know of the place that the twin is for. */
export interface TwinContext {
  /** The own site. */
  readonly consumer: SiteId;
  /** Where the twin is to be. */
  readonly site: SiteId;
  /** What users here call that. */
  siteName(): string;
  readonly namespace: string;
  /** Whether the site comes first of those that have a twin of the namespace. */
  readonly isFirstSite: boolean;
  /** Whether a node of the own cluster stands for the site. */
  isNodeOfSite(node: string): boolean;
  /** The own pods of the namespace that run at the site. */
  guests(): readonly Pod[];
  /** The own namespaces that have a twin at the site. */
  namespaces(): readonly { readonly name: string; readonly labels: Readonly<Record<string, string>> }[];
  /** Name of the twin of an own namespace at the site; undefined where it has none there. */
  twinOf(namespace: string): string | undefined;
  /** What an address of the own cluster, of a pod on `node`, is called at the site; undefined where it cannot be reached from there. */
  translateAddress(address: string, node?: string): string | undefined;
  /** What a block of addresses of the own cluster is at the site. */
  translateBlock(block: AddressBlock): readonly AddressBlock[];
  /** Whether an own pod elsewhere is ready, though it is not where it cannot be reached from here: others may reach it. */
  isReadyApart(pod: string): boolean;
  /** What addresses the site's pods have; undefined where nobody has said. */
  families(): readonly AddressFamily[] | undefined;
  /** The own pods of a namespace that run elsewhere than at the site. Only of namespaces that `podNamespaces` names. */
  podsElsewhere(namespace: string): readonly Pod[];
}

/** What is particular to a kind. The engine knows nothing else of kinds. */
export interface ReflectedKind<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  /** Where no rule speaks of the kind. */
  readonly policy: ReflectionPolicy;
  /** The twin's body; undefined where the object has no twin at this place. Pure. */
  forge(object: T, context: TwinContext): Body | undefined;
  /** The fields that `forge` gives, as a twin has them, without those that the provider may fill in. */
  seen(twin: T, wanted: Body): Body;
  /** What is sent of a patch where something that the provider has made of the twin stays. @default all of it */
  amended?(patch: Body, twin: T): Body;
  /** What a twin is made of where the provider has not to give all that is wanted; undefined where there is nothing less to ask for. */
  modest?(wanted: Body): Body | undefined;
  /** Objects that stay at home whatever rules and annotations say. */
  neverLeaves?(object: T): boolean;
  /**
   * Labels that every twin of the kind has, in place of the object's own, and without which an object is no twin: where
   * controllers copy labels, those of reflection alone do not tell.
   */
  readonly marks?: Readonly<Record<string, string>>;
  /** Annotations that are not carried, beside those that never are. */
  readonly ownAnnotations?: readonly string[];
  /** A twin stays for as long as its original exists, and is never made anew: it holds what cannot be made again. */
  readonly lasting?: boolean;
  /** What else than the object itself the forge looks at. */
  readonly follows?: readonly ("pods" | "namespaces" | "addresses")[];
  /** Namespaces whose pods the forge looks at, wherever these run. It is not called before all of them are known. */
  podNamespaces?(object: T, context: TwinContext): readonly string[];
  /** Another own namespace whose twin the forge looks at. */
  namespaceNamed?(object: T): string | undefined;
  /** What the twin lacks of the object, or why there is none; told to its owner. */
  lacking?(object: T, context: TwinContext): string | undefined;
  /** Has twins only where the object of this name, of another reflected kind, is allowed to have one. */
  readonly companion?: { readonly kind: Kind; nameOf(object: T): string | undefined };
  /** What the own object's status is to be, from a twin's; undefined where it stays as it is. Believes nothing. */
  statusFrom?(twin: T, object: T, context: TwinContext): Body | undefined;
  /** What it is to be where there is no twin, or none any more; undefined where it stays as it is. */
  statusWithout?(object: T, context: TwinContext): Body | undefined;
}
