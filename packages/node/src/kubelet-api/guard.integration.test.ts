import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, before, describe, it } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import { ClusterRole, ClusterRoleBinding, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { Guard } from "./guard.ts";
import { ApiReviewer } from "./reviewer.ts";

describe("whom a real API server lets at a node", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let guard: Guard;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config);
    guard = new Guard({ reviewer: new ApiReviewer(client), nodeName: "test" });
  });

  after(async () => {
    await client.close();
  });

  /** A service account that may use these subresources of nodes; gives its token. */
  async function account(name: string, subresources: string[], resourceNames?: string[]): Promise<string> {
    await client.raw("POST", "/api/v1/namespaces/default/serviceaccounts", { body: { metadata: { name } } });
    const resources = subresources.map((subresource) => `nodes/${subresource}`);
    const rule = { apiGroups: [""], verbs: ["get"], resources, ...(resourceNames && { resourceNames }) };
    await client.create(ClusterRole, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      rules: [rule],
    });
    await client.create(ClusterRoleBinding, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    await isKnown(name, subresources[0] ?? "", resourceNames?.[0] ?? "test");
    return (await client.createToken({ name, namespace: "default" })).token;
  }

  /** Waits until the API server's authorizer, which learns of roles by watching, knows that account's. */
  async function isKnown(name: string, subresource: string, node: string): Promise<void> {
    const resourceAttributes = { verb: "get", resource: "nodes", subresource, name: node };
    const spec = { user: `system:serviceaccount:default:${name}`, resourceAttributes };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    for (;;) {
      const { body } = await client.raw("POST", path, { body: review });
      if ((JSON.parse(body.toString("utf8")) as { status: { allowed: boolean } }).status.allowed) return;
      await sleep(systemClock, 20);
    }
  }

  async function asks(token: string, url: string, method = "GET"): Promise<string> {
    const request = { method, url, headers: { authorization: `Bearer ${token}` }, socket: {} };
    try {
      return (await guard.admit(request as unknown as IncomingMessage)).name;
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  it("takes tokens of service accounts, for what their roles allow", async () => {
    const token = await account("metrics", ["metrics", "stats"]);
    assert.equal(await asks(token, "/metrics/resource"), "system:serviceaccount:default:metrics");
    assert.equal(await asks(token, "/stats/summary"), "system:serviceaccount:default:metrics");
    assert.equal(await asks(token, "/pods"), "KUBELET_FORBIDDEN");
    assert.equal(await asks(token, "/exec/default/web/main", "POST"), "KUBELET_FORBIDDEN");
  });

  it("takes the fine right as well as the one to everything", async () => {
    const fine = await account("fine", ["pods", "healthz"]);
    assert.equal(await asks(fine, "/pods"), "system:serviceaccount:default:fine");
    assert.equal(await asks(fine, "/healthz"), "system:serviceaccount:default:fine");
    assert.equal(await asks(fine, "/containerLogs/default/web/main"), "KUBELET_FORBIDDEN");
    const all = await account("all", ["proxy"]);
    assert.equal(await asks(all, "/pods"), "system:serviceaccount:default:all");
    assert.equal(await asks(all, "/containerLogs/default/web/main"), "system:serviceaccount:default:all");
    assert.equal(await asks(all, "/exec/default/web/main", "POST"), "KUBELET_FORBIDDEN");
    assert.equal(await asks(all, "/metrics"), "KUBELET_FORBIDDEN");
  });

  it("looks at the name of the node", async () => {
    assert.equal(
      await asks(await account("here", ["stats"], ["test"]), "/stats/summary"),
      "system:serviceaccount:default:here",
    );
    assert.equal(await asks(await account("elsewhere", ["stats"], ["other"]), "/stats/summary"), "KUBELET_FORBIDDEN");
  });

  it("refuses tokens that are nobody's", async () => {
    const token = await account("torn", ["stats"]);
    assert.equal(await asks(`${token}x`, "/stats/summary"), "KUBELET_UNAUTHENTICATED");
    assert.equal(await asks("nonsense", "/stats/summary"), "KUBELET_UNAUTHENTICATED");
  });

  it("refuses whom it does not know yet while the API server is gone, and remembers the others", async () => {
    const known = await account("known", ["stats"]);
    const unknown = await account("unknown", ["stats"]);
    assert.equal(await asks(known, "/stats/summary"), "system:serviceaccount:default:known");
    await site.site.process("kube-apiserver").kill();
    assert.equal(await asks(known, "/stats/summary"), "system:serviceaccount:default:known");
    assert.equal(await asks(unknown, "/stats/summary"), "KUBELET_REVIEW_FAILED");
  });
});
