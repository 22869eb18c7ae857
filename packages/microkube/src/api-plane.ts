import { type Clock, describeError, type KubeObject, type Logger, type Random } from "@fjord/base";
import type { AdmissionPlugin } from "./admission/admission.ts";
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
  escalationCheck,
  followRoleAggregation,
} from "./authorization/index.ts";
import { builtInTypes, type KindMeans } from "./kinds/index.ts";
import { patches } from "./patch/index.ts";
import { Registry, ServedTypes } from "./registry/index.ts";
import { applyDefaults, builtInResources, builtInSchemas, Decoder, GoTypes } from "./schema/index.ts";
import { ApiServer, Connector, Discovery, Health, ResourceHandler, ServerMetrics } from "./server/index.ts";
import { StatusError } from "./status-error.ts";
import type { Store } from "./store/index.ts";

export interface ApiPlaneOptions {
  readonly store: Store;
  readonly credentials: ClusterCredentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** `host:port`, as clients reach it. */
  readonly address: () => string;
}

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** The API server with all its parts, without a connection to the world. */
export class ApiPlane {
  readonly registry: Registry;
  readonly server: ApiServer;
  readonly handler: ResourceHandler;
  readonly authorizer: ClusterAuthorizer;
  readonly tokens: ServiceAccountTokens;
  readonly #ends: (() => void)[] = [];

  constructor({ store, credentials, clock, random, logger, address }: ApiPlaneOptions) {
    const schemas = builtInSchemas();
    const goTypes = new GoTypes();
    const resources = builtInResources();
    const types = new ServedTypes(builtInTypes(schemas, this.#kindMeans(clock)));
    const plugins: AdmissionPlugin[] = [];
    this.registry = new Registry({ store, types, plugins, patches, applyDefaults, clock, random, logger });
    this.authorizer = new ClusterAuthorizer(this.registry);
    this.tokens = new ServiceAccountTokens({ cluster: this.registry, key: credentials.serviceAccountKey });
    plugins.push(escalationCheck(this.authorizer, this.authorizer.roles));
    const authenticator = new RequestAuthenticator({
      frontProxy: new FrontProxy({ authority: credentials.frontProxyCa, clock }),
      certificates: new ClientCertificates({ authority: credentials.clusterCa, clock }),
      tokens: anyTokenAuthenticator([this.tokens, bootstrapTokens(this.registry)]),
    });
    const connector = new Connector({ registry: this.registry, kubeletClient: credentials.kubeletClient });
    this.handler = new ResourceHandler({
      registry: this.registry,
      schemas,
      resources,
      decoder: new Decoder(schemas, goTypes),
      goTypes,
      connect: (exchange, type, target) => connector.connect(exchange, type, target),
    });
    this.server = new ApiServer({
      registry: this.registry,
      authenticator,
      authorizer: this.authorizer,
      handler: this.handler,
      discovery: new Discovery(types, resources),
      health: new Health({ ping: () => undefined, etcd: () => undefined }),
      metrics: new ServerMetrics(),
      logger,
      address,
    });
  }

  /** Makes what every cluster has, and begins to follow what answers depend on. */
  async start(): Promise<void> {
    this.#ends.push(this.authorizer.follow());
    await ensureNamespaces(this.registry);
    try {
      await ensureBootstrapObjects(this.registry);
    } catch (error) {
      // The administrator needs none of them, and can say what is wrong.
      this.registry.logger.error("the cluster's first objects are not all there", { error: describeError(error) });
    }
    this.#ends.push(followRoleAggregation(this.registry));
  }

  close(): void {
    this.handler.close();
    for (const end of this.#ends.splice(0)) end();
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

async function ensureNamespaces(registry: Registry): Promise<void> {
  const type = registry.types.ofKind("", "Namespace");
  if (type === undefined) return;
  const missing = NAMESPACES.filter((name) => registry.get(type, "", name) === undefined);
  await Promise.all(
    missing.map((name) => {
      const namespace: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      return registry.create(type, "", namespace);
    }),
  );
}
