import {
  againAfter,
  type Cache,
  type Controller,
  ifNotFound,
  isBeingDeleted,
  MutatingWebhookConfiguration,
  Namespace,
  type Result,
  type Runnable,
  Secret,
  sameContent,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import {
  advanced,
  type CertificateChain,
  lookAgainAfter,
  newPair,
  type ServingPair,
  trusted,
} from "./certificate-chain.ts";
import { ADMISSION_SECRET, chainOf, forgeSecret } from "./certificate-secret.ts";
import {
  WEBHOOK_CONFIGURATION,
  type WebhookConfigurationOptions,
  webhookConfiguration,
} from "./webhook-configuration.ts";

export interface AdmissionConfigurationOptions {
  readonly home: Home;
  /** Where the own API server reaches the admission servers. */
  readonly client: WebhookConfigurationOptions["client"];
  /** What it calls them there: host names and addresses that the certificate is for. */
  readonly names: readonly string[];
  /** How long the next certificate is believed before it is served. @default 60_000 */
  readonly settleMs?: number;
}

const FIELD_MANAGER = "fjord-agent";
/** Fjord may be installed again under an agent that runs outside of the cluster. */
const UNINSTALLED_LOOK_MS = 10_000;

/** Tells the own API server whom to ask, keeps it so, and renews the certificates without a moment of mistrust. */
export class AdmissionConfiguration implements Runnable {
  readonly name = "admission configuration";
  readonly needsLeaderElection = true;
  readonly #options: AdmissionConfigurationOptions;
  readonly #secrets: Cache<Secret>;
  readonly #configurations: Cache<MutatingWebhookConfiguration>;
  readonly #controller: Controller;

  constructor(options: AdmissionConfigurationOptions) {
    this.#options = options;
    const { caches, namespace } = options.home;
    this.#secrets = caches.open(Secret, { namespace, fieldSelector: `metadata.name=${ADMISSION_SECRET}` }).cache;
    this.#configurations = caches.open(MutatingWebhookConfiguration, {
      fieldSelector: `metadata.name=${WEBHOOK_CONFIGURATION}`,
    }).cache;
    const both = () => [{ name: WEBHOOK_CONFIGURATION }];
    this.#controller = homeController(options.home, {
      name: "admission-configuration",
      sources: [watches(this.#secrets, both), watches(this.#configurations, both)],
      backoff: { initial: 100, max: 5_000 },
      reconcile: (_, { signal }) => this.#reconcile(signal),
    });
  }

  /** Called with each pair that is to be served from then on. */
  onPair(use: (pair: ServingPair) => void): void {
    const tell = (secret: Secret) => {
      const chain = chainOf(secret);
      if (chain !== undefined) use(chain.current);
    };
    this.#secrets.addHandler({ onAdd: tell, onUpdate: (_, secret) => tell(secret) });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    this.#controller.enqueue({ name: WEBHOOK_CONFIGURATION });
    await this.#controller.run(stop, abandon);
  }

  async #reconcile(signal: AbortSignal): Promise<Result> {
    const { home, names, settleMs } = this.#options;
    if (await this.#isUninstalled(signal)) {
      home.logger.info("admission is not configured: the agent's namespace is being removed");
      return againAfter(UNINSTALLED_LOOK_MS);
    }
    const secret = this.#secrets.get({ name: ADMISSION_SECRET, namespace: home.namespace });
    const before = secret && chainOf(secret);
    const now = home.clock.now();
    const chain =
      before === undefined ? { current: await newPair(names, now) } : await advanced(before, names, now, settleMs);
    const isServedYet = before?.current === chain.current;
    // What is to be served next is believed first; only what replaces a useless one cannot wait.
    if (chain !== before && isServedYet) await this.#believe(chain, signal);
    if (chain !== before) await this.#store(chain, secret, signal);
    await this.#believe(chain, signal);
    return againAfter(lookAgainAfter(chain, now, settleMs));
  }

  /** Who removes Fjord need not know of an agent outside of the cluster: what that wrote now would stay, and stop pods for good. */
  async #isUninstalled(signal: AbortSignal): Promise<boolean> {
    const { client, namespace } = this.#options.home;
    const found = await client.get(Namespace, { name: namespace }, { signal }).catch(ifNotFound);
    return found === undefined || isBeingDeleted(found);
  }

  async #store(chain: CertificateChain, before: Secret | undefined, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options.home;
    const secret = forgeSecret(namespace, chain);
    if (before === undefined) {
      await client.create(Secret, secret, { signal });
      return;
    }
    const { resourceVersion } = before.metadata;
    const metadata = { ...secret.metadata, ...(resourceVersion !== undefined && { resourceVersion }) };
    await client.update(Secret, { ...secret, metadata, type: before.type ?? "kubernetes.io/tls" }, { signal });
  }

  async #believe(chain: CertificateChain, signal: AbortSignal): Promise<void> {
    const wanted = webhookConfiguration({ client: this.#options.client, ca: trusted(chain) });
    const found = this.#configurations.get({ name: WEBHOOK_CONFIGURATION });
    if (sameContent(found?.webhooks, wanted.webhooks)) return;
    const options = { fieldManager: FIELD_MANAGER, force: true, signal };
    await this.#options.home.client.apply(MutatingWebhookConfiguration, wanted, options);
  }
}
