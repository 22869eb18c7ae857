import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Contract, newObject, Peering } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import type { Home } from "../home.ts";
import { SiteKey, signTerms } from "../identity/index.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import type { ContractProposal, ContractRequest, Terms } from "../protocol.ts";
import type { RemoteSite } from "../remote-site.ts";
import { contractId } from "./contract-id.ts";
import type { ContractStore } from "./contract-store.ts";
import { TermsRefused } from "./errors.ts";
import { Negotiation } from "./negotiation.ts";

const peering = newObject(Peering, { metadata: { name: "p", uid: "u" }, spec: { site: "s", resources: { cpu: 1 } } });

/** A consumer, and a provider that answers as it is told to. */
async function scene(answer: (proposal: ContractProposal, request: ContractRequest) => unknown) {
  const [own, other] = [await SiteKey.generate(), await SiteKey.generate()];
  const kept = new Map<string, Contract>();
  const asked: string[] = [];
  const store = {
    fresh: async () => {},
    get: (id: string) => kept.get(id),
    create: async (contract: Contract) => {
      kept.set(contract.spec.terms.id, contract);
      return contract;
    },
    remove: async ({ spec }: Contract) => void kept.delete(spec.terms.id),
    writeStatus: async (id: string, status: Contract["status"]) => ({ ...kept.get(id), status }) as Contract,
  } as unknown as ContractStore;
  const site = {
    id: other.id,
    clockAhead: 0,
    call: async (method: string, path: string, body: unknown) => {
      asked.push(`${method} ${path.replace(/c-[-a-z0-9]+/, "ID")}`);
      if (method === "PUT") return { id: "", phase: "Active", standing: "Open", tenantReady: true };
      const request = body as ContractRequest;
      const now = Date.now();
      const terms: Terms = {
        id: contractId(own.id, request.requestId, request.supersedes),
        consumer: own.id,
        provider: other.id,
        resources: request.resources,
        notBefore: new Date(now).toISOString(),
        notAfter: new Date(now + 3_600_000).toISOString(),
        enforcement: "None",
      };
      return answer({ terms, signature: signTerms(other, terms), publicKey: other.publicKey }, request);
    },
  } as unknown as RemoteSite;
  const home = { identity: own, clock: systemClock, logger: silentLogger } as unknown as Home;
  const negotiation = new Negotiation({ home, store });
  return { agree: () => negotiation.agree({ peering, site, resources: { cpu: "1" } }), kept, asked, other };
}

const stranger = await SiteKey.generate();

describe("a consumer that negotiates", () => {
  it("signs what it asked for, and keeps it before it signs", async () => {
    const { agree, kept, asked } = await scene((proposal) => proposal);
    const { contract } = await agree();
    assert.equal(contract.status?.phase, "Active");
    assert.equal(kept.size, 1);
    assert.deepEqual(asked, ["POST /contracts", "PUT /contracts/ID/signature"]);
  });

  const hostile: [string, (proposal: ContractProposal) => unknown][] = [
    ["nothing", () => null],
    ["a text", () => "yes"],
    ["no terms", ({ signature, publicKey }) => ({ signature, publicKey })],
    ["a signature of something else", (proposal) => ({ ...proposal, signature: `${"A".repeat(86)}==` })],
    ["another's key", (proposal) => ({ ...proposal, publicKey: stranger.publicKey })],
    [
      "another's key and its signature",
      ({ terms }) => ({ terms, publicKey: stranger.publicKey, signature: signTerms(stranger, terms) }),
    ],
    ["more than was asked for", ({ terms, ...rest }) => ({ ...rest, terms: { ...terms, resources: { cpu: "2" } } })],
  ];
  for (const [what, change] of hostile) {
    it(`does not sign where it is answered by ${what}`, async () => {
      const { agree, kept, asked } = await scene(change);
      await assert.rejects(agree(), TermsRefused);
      assert.equal(kept.size, 0);
      assert.deepEqual(asked, ["POST /contracts"]);
    });
  }

  it("asks anew where the answer to its request is over, but not without end", async () => {
    let spent = 3;
    const ids = new Set<string>();
    const patient = await scene((proposal, { requestId }) => {
      ids.add(requestId);
      if (spent-- > 0) throw new PeerRefused({ code: "RequestSpent", message: "" }, 410);
      return proposal;
    });
    await patient.agree();
    assert.equal(ids.size, 4);
    const endless = await scene(() => {
      throw new PeerRefused({ code: "RequestSpent", message: "" }, 410);
    });
    await assert.rejects(endless.agree(), PeerRefused);
    assert.ok(endless.asked.length < 20);
  });
});
