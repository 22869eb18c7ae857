import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { type Clock, describeError, type Logger } from "@fjord/base";
import type { ByteStream, ClusterConfig, HttpHeaders, HttpResponse } from "@fjord/kube";
import type { Caller, RawRoute } from "../../peer-routes.ts";
import { KUBE_PREFIX } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import type { TenantAddresses } from "../../tenant-addresses.ts";
import type { Tenant, Tenants } from "../../tenants.ts";
import { noPeerMetrics, type PeerMetrics } from "../server/peer-metrics.ts";
import type { AskedMeans } from "./asked-means.ts";
import { type AuditSink, auditLog } from "./audit.ts";
import { type Decision, decide, notYours } from "./decide.ts";
import { Exchange } from "./exchange.ts";
import type { ExternalNames } from "./external-names.ts";
import { answerHeaders, impersonating, upstreamHeaders } from "./headers.ts";
import type { IngressHosts } from "./ingress-hosts.ts";
import { type KubePath, resourceName } from "./kube-path.ts";
import { forbidden, KubeRefusal, NotHere } from "./kube-refusal.ts";
import type { Outcome } from "./overlapping-writes.ts";
import { readBody } from "./read-body.ts";
import { type CustomResource, Rules, type Verb } from "./rules.ts";
import type { TenantObjects } from "./tenant-objects.ts";
import { defaultTenantLimits, type TenantLimits, TooOften, Traffic } from "./tenant-traffic.ts";
import { joinUpgrade } from "./upgrade.ts";
import { Upstream } from "./upstream.ts";
import { checkWrite } from "./write-check.ts";
import { writeOutcome } from "./write-outcome.ts";

/** A write of a tenant that the API server has accepted. */
export interface AcceptedWrite {
  readonly consumer: SiteId;
  readonly path: KubePath;
  readonly verb: Verb;
  /** The API server's answer. */
  readonly body: Buffer;
}

export interface KubeProxyOptions {
  /** How the agent itself reaches the own API server; it must be allowed to impersonate. */
  readonly config: ClusterConfig;
  readonly tenants: Tenants;
  /** Whether the namespace is a twin namespace of the consumer. */
  readonly isTwinOf: (consumer: SiteId, namespace: string) => boolean | Promise<boolean>;
  /** Whether a consumer that is no tenant now may be one a moment later: it is told to come again. @default none is */
  readonly isExpected?: (consumer: SiteId) => boolean;
  /** Custom resources that consumers may have twins of, as the owner lists them now. */
  readonly customResources?: () => readonly CustomResource[];
  readonly limits?: Partial<TenantLimits>;
  /** Whether disruption budgets in a twin namespace are to be kept. @default all are */
  readonly budgetsHold?: (namespace: string) => boolean;
  /** Bounds what each consumer may keep here. */
  readonly objects?: Pick<TenantObjects, "admit" | "forget">;
  /** Says which hosts Ingresses of consumers may have. @default any */
  readonly hosts?: Pick<IngressHosts, "admit">;
  /** Says where endpoints of consumers may lead. @default anywhere */
  readonly addresses?: Pick<TenantAddresses, "isKnown" | "endpointProblem">;
  /** Says what Services of consumers may stand for. @default anything */
  readonly externalNames?: Pick<ExternalNames, "admit">;
  /** Told of each request. @default the log */
  readonly audit?: AuditSink;
  /** Told of each accepted write of a ShadowPod, before the consumer is. */
  readonly onWritten?: (write: AcceptedWrite) => void;
  readonly peerMetrics?: PeerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The own Kubernetes API for tenants. Three locks, one behind the other: what is asked must be on a short list, in a
 * namespace that is the consumer's, and allowed by RBAC to the tenant's service account, whom it acts as.
 */
export class KubeProxy implements RawRoute {
  readonly prefix = KUBE_PREFIX;
  readonly access = "peer";
  readonly #options: KubeProxyOptions;
  readonly #rules: Rules;
  readonly #traffic: Traffic;
  readonly #limits: TenantLimits;
  readonly #upstream: Upstream;
  readonly #audit: AuditSink;
  readonly #metrics: PeerMetrics;
  readonly #stopListening: () => void;

  constructor(options: KubeProxyOptions) {
    this.#options = options;
    this.#rules = new Rules(options.customResources);
    this.#limits = { ...defaultTenantLimits, ...options.limits };
    this.#traffic = new Traffic(this.#limits, options.clock);
    this.#upstream = new Upstream(options.config);
    this.#audit = options.audit ?? auditLog(options.logger);
    this.#metrics = options.peerMetrics ?? noPeerMetrics;
    this.#stopListening = options.tenants.onChange((consumer) => {
      if (options.tenants.get(consumer) === undefined) this.#forget(consumer);
    });
  }

  /** Ends what is under way and lets connections go. */
  close(): void {
    this.#stopListening();
    this.#traffic.cutAll();
    this.#upstream.close();
  }

  #forget(consumer: SiteId): void {
    this.#traffic.cut(consumer);
    this.#upstream.forget(consumer);
    this.#options.objects?.forget(consumer);
  }

  async handle(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> {
    const exchange = this.#begin(request, caller);
    response.once("close", () => {
      if (!response.writableFinished) exchange.abandon();
      this.#over(exchange);
    });
    try {
      const { decision, tenant } = await this.#admit(exchange, false);
      if (decision.verb === "get" || decision.verb === "list" || decision.verb === "watch")
        await this.#read(exchange, decision, tenant, response);
      else await this.#write(exchange, decision, tenant, response);
    } catch (error) {
      if (exchange.cut) response.destroy();
      else this.#refusal(exchange, error).send(response);
    }
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): Promise<void> {
    const exchange = this.#begin(request, caller);
    socket.once("close", () => {
      exchange.abandon();
      this.#over(exchange);
    });
    try {
      const { decision, tenant } = await this.#admit(exchange, true);
      const headers = this.#headers(exchange, decision, tenant, "upgrade");
      const upstream = await this.#upstream.open(exchange, decision, headers);
      upstream.end();
      exchange.status = await joinUpgrade(upstream, socket, head);
    } catch (error) {
      if (exchange.cut) socket.destroy();
      else this.#refusal(exchange, error).sendRaw(socket);
    }
  }

  #begin(request: IncomingMessage, caller: Caller): Exchange {
    const url = (request.url ?? "").slice(KUBE_PREFIX.length);
    return new Exchange(request, caller, url, this.#options.clock);
  }

  #over(exchange: Exchange): void {
    exchange.over(this.#audit);
    this.#metrics.proxied(exchange.verb, exchange.resource, exchange.status, exchange.ms / 1000);
  }

  /** The three questions that are asked here, cheapest first. */
  async #admit(exchange: Exchange, upgrade: boolean): Promise<{ decision: Decision; tenant: Tenant }> {
    const { request, caller, url } = exchange;
    const traffic = this.#traffic.of(caller.id);
    // Before anything is said of it: whoever has no contract leaves lines in the audit, too.
    traffic.count();
    const tenant = this.#tenant(caller.id);
    const decision = decide(request.method ?? "", url, upgrade, tenant, this.#rules);
    exchange.verb = decision.verb;
    exchange.resource = resourceName(decision.path);
    exchange.onEnd(traffic.begin(decision.stream, () => exchange.end()));
    const { twinNamespace } = decision;
    if (twinNamespace !== undefined) {
      const answer = this.#options.isTwinOf(caller.id, twinNamespace);
      if (!(typeof answer === "boolean" ? answer : await answer)) throw forbidden(notYours(twinNamespace));
      // It may have ended while we looked.
      if (typeof answer !== "boolean") this.#tenant(caller.id);
      this.#checkBudget(decision, twinNamespace);
    }
    return { decision, tenant };
  }

  #checkBudget({ verb, path }: Decision, twinNamespace: string): void {
    const writes = verb === "create" || verb === "update" || verb === "patch";
    if (!writes || resourceName(path) !== "poddisruptionbudgets.policy") return;
    if (this.#options.budgetsHold?.(twinNamespace) !== false) return;
    throw forbidden("budgets have held up the drain of a node for as long as they may: none is kept until it is done");
  }

  #tenant(id: SiteId): Tenant {
    const tenant = this.#options.tenants.get(id);
    if (tenant !== undefined) return tenant;
    // An agent that has just started knows neither contracts nor tenants yet: to deny them would be a lie that lasts.
    if (this.#options.isExpected?.(id)) throw new NotHere(503, "the provider's agent is still starting", 1);
    throw forbidden(`there is no contract in force with the site ${id}`);
  }

  #headers(exchange: Exchange, decision: Decision, tenant: Tenant, sort: "read" | "write" | "upgrade") {
    const identity = decision.tenantWide ? {} : impersonating(tenant);
    return upstreamHeaders(exchange.request.headers, sort, identity);
  }

  async #read(exchange: Exchange, decision: Decision, tenant: Tenant, response: ServerResponse): Promise<void> {
    if (hasBody(exchange.request)) throw new KubeRefusal(400, "a read has no body");
    const headers = this.#headers(exchange, decision, tenant, "read");
    if (decision.stream) return await this.#stream(exchange, decision, headers, response);
    const answer = await this.#upstream.read(exchange, decision, headers);
    this.#answer(exchange, answer, response);
    await passOn(answer, response);
  }

  async #stream(exchange: Exchange, decision: Decision, headers: HttpHeaders, response: ServerResponse): Promise<void> {
    const answer = await this.#upstream.stream(exchange, decision, headers);
    this.#answer(exchange, answer, response);
    if (answer.stream === undefined) {
      response.end(answer.body);
      return;
    }
    // Who watches wants to know that it has begun.
    response.flushHeaders();
    await passStream(answer.stream, response);
  }

  async #write(exchange: Exchange, decision: Decision, tenant: Tenant, response: ServerResponse): Promise<void> {
    const { request, caller } = exchange;
    const traffic = this.#traffic.of(caller.id);
    traffic.mayWrite();
    const body = await readBody(request, this.#limits.bodyBytes, traffic);
    exchange.bodyBytes = body.length;
    let release: (() => void) | undefined;
    try {
      const { verb, path } = decision;
      const wrote = traffic.consider(body.length);
      const write = { consumer: caller.id, verb, path, contentType: request.headers["content-type"], body };
      const checked = checkWrite(write);
      const isTrial = decision.dryRun || checked.dryRun === true;
      await this.#checkLeading(caller.id, checked.asks);
      const { hosts } = checked.asks;
      if (hosts !== undefined) release = await this.#options.hosts?.admit(caller.id, hosts);
      const settle = await this.#options.objects?.admit({ ...write, ...checked, bytes: body.length });
      let outcome: Outcome = "undone";
      let answer: HttpResponse;
      try {
        // It took a while: the contract may be over by now.
        this.#tenant(caller.id);
        const headers = this.#headers(exchange, decision, tenant, "write");
        outcome = "unknown";
        answer = await this.#upstream.write(exchange, decision, headers, body);
        outcome = isTrial ? "undone" : writeOutcome(verb, path, answer);
      } finally {
        wrote(settle === undefined ? body.length : settle(outcome));
      }
      if (!isTrial) this.#announce(exchange, decision, answer);
      this.#answer(
        exchange,
        { ...answer, headers: { ...answer.headers, "content-length": `${answer.body.length}` } },
        response,
      );
      response.end(answer.body);
    } finally {
      release?.();
      traffic.release(body.length);
    }
  }

  /** Nodes and Ingress controllers of the provider lead there whoever asks them, past what keeps consumers from it. */
  async #checkLeading(consumer: SiteId, { addresses = [], externalNames = [] }: AskedMeans): Promise<void> {
    if (addresses.length === 0 && externalNames.length === 0) return;
    const { addresses: known, externalNames: names } = this.#options;
    if (known?.isKnown() === false) throw new NotHere(503, "the provider's agent is still starting", 1);
    const problem = known?.endpointProblem(consumer, addresses);
    if (problem !== undefined) throw forbidden(`${problem}: ${LEADING}`);
    await names?.admit(consumer, externalNames);
  }

  #announce(exchange: Exchange, { verb, path }: Decision, { statusCode, body }: HttpResponse): void {
    if (this.#options.onWritten === undefined || !isOfShadowPod(path) || statusCode < 200 || statusCode >= 300) return;
    try {
      this.#options.onWritten({ consumer: exchange.caller.id, path, verb, body });
    } catch (error) {
      this.#options.logger.error("nobody took a tenant's write", { reason: describeError(error) });
    }
  }

  #answer(exchange: Exchange, answer: Answer, response: ServerResponse): void {
    // The agent's own credential was not taken: nothing that the consumer could do about.
    const status = answer.statusCode === 401 ? 503 : (answer.statusCode ?? 502);
    exchange.status = status;
    response.writeHead(status, answerHeaders(answer.headers, "plain"));
  }

  #refusal(exchange: Exchange, error: unknown): KubeRefusal {
    const refusal = error instanceof KubeRefusal ? error : this.#unavailable(exchange, error);
    exchange.status = refusal.status;
    exchange.refusedByProxy = true;
    exchange.quiet = refusal instanceof TooOften && refusal.told;
    return refusal;
  }

  #unavailable(exchange: Exchange, error: unknown): KubeRefusal {
    const { verb, resource } = exchange;
    this.#options.logger.warn("a tenant's request failed", { verb, resource, reason: describeError(error) });
    if (exchange.sent)
      return new KubeRefusal(504, "the API server of the provider did not answer: it may have done it");
    return new KubeRefusal(503, "the API server of the provider did not answer", 1);
  }
}

const LEADING =
  "endpoints of a consumer lead to its own pods, by what these are called at the provider, which they are over a link";

type Answer = Pick<IncomingMessage, "statusCode" | "headers"> | Pick<HttpResponse, "statusCode" | "headers">;

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function isOfShadowPod({ resource, group }: KubePath): boolean {
  return resource === "shadowpods" && group === "fjord.dev";
}

/** The same for what lasts, which costs a third of that for each piece; what breaks off is cut, so that nobody takes it for whole. */
async function passStream(stream: ByteStream, response: ServerResponse): Promise<void> {
  try {
    for await (const chunk of stream) {
      if (!response.write(chunk)) await drained(response);
      if (response.destroyed) return;
    }
    response.end();
  } catch {
    response.destroy();
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/** Passes the answer's bytes on as they come and as fast as they are taken; either end takes the other with it. */
function passOn(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => pipeline(answer, response, () => resolve()));
}
