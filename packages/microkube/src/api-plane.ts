import { type Clock, describeError, type Logger, type Random } from "@fjord/base";
import { type AdmissionPlugin, defaultPlugins, WebhookPlugins } from "./admission/index.ts";
import { Aggregator, keepLocalServices } from "./aggregation/index.ts";
import type { Auditor } from "./audit/index.ts";
import {
  anyTokenAuthenticator,
  bootstrapTokens,
  ClientCertificates,
  type ClusterCredentials,
  FrontProxy,
  identityReviews,
  RequestAuthenticator,
  requestToken,
  ServiceAccountTokens,
} from "./authentication/index.ts";
import {
  accessReviews,
  ClusterAuthorizer,
  ensureBootstrapObjects,
  followRoleAggregation,
} from "./authorization/index.ts";
import { conversionBy, DefinitionKeeper, definitionType } from "./crd/index.ts";
import { customKinds } from "./custom-kinds.ts";
import { type ApiAddress, ensureApiService, ensureAuthenticationConfig, ensureNamespaces } from "./first-objects.ts";
import { builtInTypes, type KindMeans } from "./kinds/index.ts";
import { patches } from "./patch/index.ts";
import { MutatingPolicies, ValidatingPolicies } from "./policies/index.ts";
import { Registry, ServedTypes } from "./registry/index.ts";
import { applyDefaults, builtInResources, builtInSchemas, Decoder, GoTypes, OpenApiDocuments } from "./schema/index.ts";
import {
  ApiServer,
  Connector,
  Discovery,
  Health,
  openApiHandler,
  openIdHandler,
  ResourceHandler,
  ServerMetrics,
} from "./server/index.ts";
import { StatusError } from "./status-error.ts";
import type { Store } from "./store/index.ts";
import { withConditionsChecked } from "./webhook-conditions.ts";

export interface ApiPlaneOptions {
  readonly store: Store;
  readonly credentials: ClusterCredentials;
  readonly serviceRanges: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly auditor?: Auditor;
  /** `host:port`, as clients reach it. */
  readonly address: () => string;
}

/** The first address of a range, which the API itself has. */
function firstOf(range = ""): string {
  const [network = ""] = range.split("/");
  return network.endsWith("::") ? `${network}1` : network.replace(/\d+$/, (last) => String(Number(last) + 1));
}

/** The API server with all its parts, without a connection to the world. */
export class ApiPlane {
  readonly registry: Registry;
  readonly server: ApiServer;
  readonly handler: ResourceHandler;
  readonly authorizer: ClusterAuthorizer;
  readonly tokens: ServiceAccountTokens;
  readonly #definitions: DefinitionKeeper;
  readonly #aggregator: Aggregator;
  readonly #webhooks: WebhookPlugins;
  readonly #credentials: ClusterCredentials;
  readonly #serviceRanges: readonly string[];
  readonly #policies = { validating: new ValidatingPolicies(), mutating: new MutatingPolicies() };
  readonly #ends: (() => void)[] = [];

  constructor(options: ApiPlaneOptions) {
    const { store, credentials, serviceRanges, clock, random, logger, auditor, address } = options;
    this.#credentials = credentials;
    this.#serviceRanges = serviceRanges;
    const schemas = builtInSchemas();
    const goTypes = new GoTypes();
    const decoder = new Decoder(schemas, goTypes);
    const resources = builtInResources();
    const builtIn = builtInTypes(schemas, this.#kindMeans(clock));
    const types = new ServedTypes(
      builtIn.map((type) =>
        type.kind === "CustomResourceDefinition" ? definitionType(type) : withConditionsChecked(type),
      ),
    );
    const plugins: AdmissionPlugin[] = [];
    this.registry = new Registry({ store, types, plugins, patches, applyDefaults, clock, random, logger });
    this.authorizer = new ClusterAuthorizer(this.registry);
    this.tokens = new ServiceAccountTokens({ cluster: this.registry, key: credentials.serviceAccountKey });
    const admission = { authorizer: this.authorizer, roles: this.authorizer.roles };
    this.#webhooks = new WebhookPlugins({ builtIn: defaultPlugins(admission), decoder });
    const { mutating, validating } = this.#policies;
    const extensions = [mutating, this.#webhooks.mutating, validating, this.#webhooks.validating];
    plugins.push(...defaultPlugins({ ...admission, extensions }));
    const authenticator = new RequestAuthenticator({
      frontProxy: new FrontProxy({ authority: credentials.frontProxyCa, clock }),
      certificates: new ClientCertificates({ authority: credentials.clusterCa, clock }),
      tokens: anyTokenAuthenticator([this.tokens, bootstrapTokens(this.registry)]),
    });
    const { registry, authorizer } = this;
    const connector = new Connector({ registry, authorizer, kubeletClient: credentials.kubeletClient });
    this.handler = new ResourceHandler({
      registry: this.registry,
      schemas,
      resources,
      decoder,
      goTypes,
      connect: (exchange, type, target) => connector.connect(exchange, type, target),
    });
    this.#definitions = new DefinitionKeeper({
      cluster: this.registry,
      served: types,
      meta: schemas.of({ group: "", version: "v1", kind: "ConfigMap" })?.properties?.metadata ?? {},
      convert: conversionBy((config, review, seconds) =>
        this.#webhooks.client.post(config, review, seconds, this.registry),
      ),
    });
    const discovery = new Discovery(types, resources, () => this.#aggregator.groups());
    this.#aggregator = new Aggregator({
      cluster: this.registry,
      certificate: credentials.frontProxyClient,
      changed: () => discovery.changed(),
    });
    const openApi = openApiHandler(new OpenApiDocuments(customKinds(this.registry)));
    this.server = new ApiServer({
      registry: this.registry,
      authenticator,
      authorizer: this.authorizer,
      handler: this.handler,
      discovery,
      health: new Health({ ping: () => undefined, etcd: () => store.problem }),
      metrics: new ServerMetrics(),
      extra: [this.#aggregator.handle, openApi, openIdHandler(this.tokens, address)],
      ...(auditor && { auditor }),
      logger,
      address,
    });
  }

  /** Makes what every cluster has, and begins to follow what answers depend on. */
  async start(): Promise<void> {
    this.#ends.push(this.authorizer.follow(), this.#webhooks.follow(this.registry));
    this.#definitions.start();
    const { validating, mutating } = this.#policies;
    this.#ends.push(validating.follow(this.registry), mutating.follow(this.registry));
    await ensureNamespaces(this.registry);
    await this.#ensureFirst(() => ensureBootstrapObjects(this.registry));
    await this.#ensureFirst(() => ensureAuthenticationConfig(this.registry, this.#credentials));
    this.#ends.push(followRoleAggregation(this.registry));
    this.#aggregator.start();
    this.#ends.push(keepLocalServices(this.registry, (type) => this.registry.isCustom(type)));
  }

  /** Once it is known where it listens. */
  async publish(address: ApiAddress): Promise<void> {
    await this.#ensureFirst(() =>
      ensureApiService(this.registry, { ...address, clusterIP: firstOf(this.#serviceRanges[0]) }),
    );
  }

  /** The administrator needs none of these to put right what is wrong with them. */
  async #ensureFirst(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.registry.logger.error("the cluster's first objects are not all there", { error: describeError(error) });
    }
  }

  close(): void {
    this.handler.close();
    for (const end of this.#ends.splice(0)) end();
    this.#aggregator.stop();
    void this.#definitions.stop();
  }

  /** What kinds ask of parts that are made only after them. */
  #kindMeans(clock: Clock): KindMeans {
    const access = () => accessReviews(this.authorizer, this.authorizer.roles);
    const identity = () =>
      identityReviews({ tokens: this.tokens, audiences: this.tokens.audiences, now: () => clock.now() });
    type Reviews = ReturnType<typeof accessReviews>;
    const review = (of: () => Reviews, kind: string) => async (request: Parameters<Reviews[string]>[0]) => {
      const answer = of()[kind];
      if (answer === undefined) throw new StatusError(501, "NotImplemented", `${kind} is not served`);
      return answer(request);
    };
    return {
      serviceRanges: this.#serviceRanges,
      issueToken: (account, body, { cluster }) => {
        const { namespace = "", name = "" } = account.metadata;
        return requestToken(this.tokens)({ cluster, namespace, name, body });
      },
      tokenReview: review(identity, "TokenReview"),
      subjectAccessReview: review(access, "SubjectAccessReview"),
      localSubjectAccessReview: review(access, "LocalSubjectAccessReview"),
      selfSubjectAccessReview: review(access, "SelfSubjectAccessReview"),
      selfSubjectRulesReview: review(access, "SelfSubjectRulesReview"),
    };
  }
}
