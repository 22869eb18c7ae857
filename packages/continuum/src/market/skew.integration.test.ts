// What agents of neighbouring versions say to each other. The older messages are those of the first agents; the newer ones
// say things that this version has never heard of.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Contract, newObject, Peering } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import { CustomResourceDefinition, KubeClient, SharedCaches } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import type { Home } from "../home.ts";
import { SiteKey, signTerms, verifyTerms } from "../identity/index.ts";
import type { ContractRequest, Terms } from "../protocol.ts";
import type { RemoteSite } from "../remote-site.ts";
import { contractId } from "./contract-id.ts";
import { ContractStore } from "./contract-store.ts";
import { Negotiation } from "./negotiation.ts";
import { checkedAcceptance, checkedRequest, checkedStanding } from "./request-check.ts";

const later = { price: { amount: 3, currency: "EUR" }, greenest: true };

describe("a provider of another version", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  const stop = new AbortController();
  let site: SharedTestSite;
  let client: KubeClient;
  let home: Home;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    for (const definition of customResourceDefinitions())
      await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
    for await (const { object } of client.watch(CustomResourceDefinition, {
      fieldSelector: "metadata.name=contracts.fjord.dev",
    })) {
      const conditions = "status" in object ? (object.status?.conditions ?? []) : [];
      if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
    }
    const means = { clock: systemClock, random: Math.random, logger: silentLogger, client };
    home = { ...means, identity: await SiteKey.generate(), caches: new SharedCaches(means) } as unknown as Home;
  });
  after(async () => {
    stop.abort();
    await client?.close();
  });

  /** Signs terms with more, or less, in them than this version's, and takes only a signature of these very terms. */
  async function providerThat(says: (terms: Terms) => object, answers: object = {}): Promise<RemoteSite> {
    const key = await SiteKey.generate();
    let promised: Terms | undefined;
    const call = async (method: string, _: string, body: unknown) => {
      if (method === "PUT") {
        const { signature } = checkedAcceptance(body);
        assert.ok(promised && verifyTerms(home.identity.publicKey, promised, signature), "it signed all of it");
        return { id: promised.id, phase: "Active", standing: "Open", tenantReady: true, ...later };
      }
      const request = body as ContractRequest;
      const now = Date.now();
      promised = says({
        id: contractId(home.identity.id, request.requestId, request.supersedes),
        consumer: home.identity.id,
        provider: key.id,
        resources: request.resources,
        notBefore: new Date(now).toISOString(),
        notAfter: new Date(now + 3_600_000).toISOString(),
        enforcement: "None",
      }) as Terms;
      return { terms: promised, signature: signTerms(key, promised), publicKey: key.publicKey, ...answers };
    };
    return { id: key.id, call, clockAhead: 0, report: { publicKey: key.publicKey } } as unknown as RemoteSite;
  }

  const agree = (name: string, remote: RemoteSite) => {
    const peering = newObject(Peering, { metadata: { name, uid: name }, spec: { site: "s", resources: { cpu: 1 } } });
    return new Negotiation({ home, store: new ContractStore(home) }).agree({
      peering,
      site: remote,
      resources: { cpu: "1" },
    });
  };

  it("that is newer may promise what nobody here knows: it is kept, and signed, whole", async () => {
    const remote = await providerThat((terms) => ({ ...terms, ...later }), { expires: "soon" });
    const { contract } = await agree("newer", remote);
    assert.equal(contract.status?.phase, "Active");
    const kept = await client.get(Contract, { name: contract.metadata.name ?? "" });
    const { price, greenest } = kept.spec.terms as unknown as typeof later;
    assert.deepEqual({ price, greenest }, later);
    // After a crash the signature is sent again, of what was kept.
    const { report } = await new Negotiation({ home, store: new ContractStore(home) }).confirm(kept, remote, {
      signature: kept.status?.signatures?.[0]?.value ?? "",
    });
    assert.equal(report.phase, "Active");
  });

  it("that is older leaves out of its answer what it has said before", async () => {
    const remote = await providerThat((terms) => terms, { publicKey: undefined });
    assert.equal((await agree("older", remote)).contract.status?.phase, "Active");
  });

  it("and a consumer that is newer asks in words that are only partly known", () => {
    const request = { requestId: "r-1", resources: { cpu: "1" } };
    assert.deepEqual(checkedRequest({ ...request, ...later }), request);
    assert.deepEqual(checkedStanding({ standing: "Open", ...later }), { standing: "Open" });
    const signature = `${"A".repeat(86)}==`;
    assert.deepEqual(checkedAcceptance({ signature, ...later }), { signature });
  });
});
