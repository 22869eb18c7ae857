import type { Tenant } from "../../tenants.ts";
import { type KubePath, parseKubePath } from "./kube-path.ts";
import { flag, formatKubeQuery, type KubeQuery, parseKubeQuery, unknownParameter } from "./kube-query.ts";
import { forbidden, KubeRefusal } from "./kube-refusal.ts";
import { type ResourceRule, type Rules, type Verb, verbOf } from "./rules.ts";
import { tenantSelector } from "./tenant-selector.ts";

/** What a request is and how it is passed on. */
export interface Decision {
  readonly verb: Verb;
  readonly path: KubePath;
  /** Path and query for the API server. */
  readonly target: string;
  /** List and watch over all of the consumer's namespaces: with the agent's own rights, by label. */
  readonly tenantWide: boolean;
  /** Must be found to be a twin namespace of the consumer. */
  readonly twinNamespace?: string;
  /** Lasts as long as somebody listens. */
  readonly stream: boolean;
  /** Nothing is to be written: the API only says what it would do. */
  readonly dryRun: boolean;
}

/** What the request line asks for, or throws `KubeRefusal`. `url` is below the proxy's prefix. */
export function decide(method: string, url: string, upgrade: boolean, tenant: Tenant, rules: Rules): Decision {
  const question = url.indexOf("?");
  const pathText = question === -1 ? url : url.slice(0, question);
  const path = parseKubePath(pathText);
  const query = parseKubeQuery(question === -1 ? "" : url.slice(question + 1));
  if (path === undefined || query === undefined) throw new KubeRefusal(400, "this is no path that the proxy knows");
  const rule = rules.of(path);
  const verb = verbOf(method, path, query);
  if (rule === undefined) throw forbidden("other sites may not ask for this kind");
  if (verb === undefined || !rule.verbs.includes(verb)) throw forbidden("other sites may not do this to this kind");
  if (upgrade !== (rule.upgrade === true))
    throw new KubeRefusal(400, upgrade ? "this kind has no streams" : "this needs a connection that can be upgraded");
  const unknown = unknownParameter(query, verb, path.subresource);
  if (unknown !== undefined) throw new KubeRefusal(400, `the proxy does not know the parameter ${unknown}`);
  return place({ verb, path, pathText, query, rule }, tenant);
}

interface Asked {
  readonly verb: Verb;
  readonly path: KubePath;
  readonly pathText: string;
  readonly query: KubeQuery;
  readonly rule: ResourceRule;
}

function place({ verb, path, pathText, query, rule }: Asked, tenant: Tenant): Decision {
  const stream = verb === "watch" || rule.upgrade === true || flag(query, "follow");
  const dryRun = query.get("dryRun")?.[0] === "All";
  const common = { verb, path, stream, dryRun };
  const { namespace } = path;
  if (namespace === undefined) {
    if (rule.tenantWide !== true || (verb !== "list" && verb !== "watch") || path.name !== undefined)
      throw forbidden("this needs a namespace");
    const selector = tenantSelector(tenant.consumer, query.get("labelSelector")?.[0]);
    if (selector === undefined) throw new KubeRefusal(400, "this is no label selector");
    const narrowed = new Map(query).set("labelSelector", [selector]);
    return { ...common, target: pathText + formatKubeQuery(narrowed), tenantWide: true };
  }
  const target = pathText + formatKubeQuery(query);
  if (rule.inTenantNamespace === true) {
    if (namespace !== tenant.namespace) throw forbidden(notYours(namespace));
    return { ...common, target, tenantWide: false };
  }
  if (namespace === tenant.namespace) throw forbidden("this kind is in twin namespaces only");
  return { ...common, target, tenantWide: false, twinNamespace: namespace };
}

/** The same for one that does not exist, so that nothing is learnt. */
export function notYours(namespace: string): string {
  return `${namespace} is no namespace of this consumer`;
}
