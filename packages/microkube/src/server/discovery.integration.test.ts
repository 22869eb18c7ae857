import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiError, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";

type Json = Record<string, unknown>;
interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly storageVersionHash?: string }[];
}
interface Service {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly spec: { readonly group?: string; readonly service?: object };
  readonly status?: { readonly conditions?: readonly { lastTransitionTime?: string }[] };
}

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "toys.shop.example.com" },
  spec: {
    group: "shop.example.com",
    scope: "Namespaced",
    names: { plural: "toys", kind: "Toy" },
    versions: ["v1", "v2beta1"].map((name) => ({
      ...{ name, served: true, storage: name === "v1" },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
        },
      },
    })),
  },
};
const toys = "/apis/shop.example.com/v1/namespaces/default/toys";

describe("what a server says of itself", { skip: kubernetesSkip() }, () => {
  let real: SharedTestSite;
  let ours: Microkube;
  let clients: readonly [KubeClient, KubeClient];

  const send = async (
    client: KubeClient,
    method: "GET" | "POST" | "PATCH",
    path: string,
    body?: unknown,
    type = "",
  ) => {
    const contentType = type === "" ? "application/json" : type;
    const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": contentType } };
    try {
      return JSON.parse(Buffer.from((await client.raw(method, path, content)).body).toString());
    } catch (error) {
      if (error instanceof ApiError) return { error: error.message };
      throw error;
    }
  };
  const both = async <T>(look: (client: KubeClient) => Promise<T>) => [await look(clients[0]), await look(clients[1])];

  before(async () => {
    [real, ours] = await Promise.all([sharedTestSite(), startMicrokube({ controllers: false, scheduler: false })]);
    clients = [new KubeClient(real.config), ours.client()];
    await both(async (client) => {
      await send(client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
      for (const path of [toys, "/apis/apiregistration.k8s.io/v1/apiservices/v2beta1.shop.example.com"]) {
        for (let left = 2_400; left > 0; left--) {
          if (!("error" in (await send(client, "GET", path)))) break;
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
      }
    });
  });
  after(async () => {
    await Promise.all(clients?.map((client) => client.close()) ?? []);
    await ours?.close();
  });

  /** All APIServices, once the server has said of each whether it is available: of a new one it does that later. */
  async function judged(client: KubeClient): Promise<Service[]> {
    for (let left = 2_400; ; left--) {
      const { items } = (await send(client, "GET", "/apis/apiregistration.k8s.io/v1/apiservices")) as {
        items: Service[];
      };
      if (items.every(({ status }) => (status?.conditions ?? []).length > 0)) return items;
      assert.ok(left > 0, "an APIService has no condition");
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  it("has the same storage version of each resource", async () => {
    const { groups } = (await send(clients[1], "GET", "/apis")) as {
      groups: { name: string; versions: { groupVersion: string }[] }[];
    };
    const paths = ["/api/v1", ...groups.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`))];
    const [theirs, own] = await both(async (client) => {
      const hashes: Record<string, string | undefined> = {};
      for (const path of paths) {
        const { resources } = (await send(client, "GET", path)) as ResourceList;
        for (const { name, storageVersionHash } of resources) hashes[`${path}/${name}`] = storageVersionHash;
      }
      return hashes;
    });
    const shown = Object.fromEntries(Object.keys(own ?? {}).map((name) => [name, theirs?.[name]]));
    assert.deepEqual(own, shown);
  });

  it("has the same APIServices for what both serve", async () => {
    const [theirs = {}, own = {}] = await both(async (client) => {
      const items = await judged(client);
      const plain = items.map(({ metadata: { name, labels }, spec, status }): [string, Json] => {
        const conditions = status?.conditions?.map(({ lastTransitionTime: _, ...rest }) => rest);
        return [name, { labels, spec, conditions }];
      });
      return Object.fromEntries(plain) as Record<string, Json>;
    });
    const shown = Object.fromEntries(Object.keys(own).map((name) => [name, theirs[name]]));
    assert.ok(Object.keys(own).length > 15);
    assert.deepEqual(own, shown);
  });

  it("refuses a strict patch of a custom resource in the same words", async () => {
    const toy = { apiVersion: "shop.example.com/v1", kind: "Toy", metadata: { name: "bear" }, spec: { size: 1 } };
    const [theirs, own] = await both(async (client) => {
      await send(client, "POST", toys, toy);
      const patch = { spec: { colour: "red", size: 2 } };
      const type = "application/merge-patch+json";
      const { error } = await send(client, "PATCH", `${toys}/bear?fieldValidation=Strict`, patch, type);
      return String(error)
        .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID")
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "TIME")
        .replaceAll(/(resourceVersion\\*":\\*")\d+/g, "$1N");
    });
    assert.equal(own, theirs);
    assert.match(own ?? "", /strict decoding error: unknown field \\?"spec.colour/);
  });
});
