import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Deployment, type KubeClient, Namespace, Pod, StatefulSet } from "@fjord/kube";
import { getOrSuggest } from "./workload-pods.ts";

const signal = new AbortController().signal;
const named = (name: string, namespace?: string) => ({ metadata: { name, namespace } });
const refused = (statusCode: number, reason: string) =>
  new ApiError({ action: "look", statusCode, status: { kind: "Status", reason, message: reason, code: statusCode } });

/** A cluster with `api` in namespace shop, and `web` in default. */
function cluster(mayLookEverywhere: boolean): KubeClient {
  const list = async (kind: unknown, { namespace }: { namespace?: string }) => {
    if (kind === Namespace) return { items: [named("default"), named("shop")] };
    if (namespace === undefined && !mayLookEverywhere) throw refused(403, "Forbidden");
    return { items: namespace === undefined ? [named("api", "shop")] : [named("web", "default")] };
  };
  const get = async () => {
    throw refused(404, "NotFound");
  };
  return { list, get } as unknown as KubeClient;
}

test("an object of another namespace is pointed at, as far as one may look", async () => {
  const ask = (name: string, mayLook: boolean) =>
    getOrSuggest(cluster(mayLook), Deployment, { name, namespace: "default" }, signal);
  await assert.rejects(
    ask("api", true),
    /in namespace default called api here \(there is one in namespace shop: -n shop\)$/,
  );
  await assert.rejects(ask("wep", false), /called wep here \(did you mean web\?\)$/);
  await assert.rejects(ask("nothing-like-it", false), /called nothing-like-it here$/);
});

test("a workload that is named as a pod is pointed at", async () => {
  const there = (kind: unknown) => {
    const nothing = cluster(true);
    const get = async (asked: unknown) =>
      asked === kind ? named("db", "default") : Promise.reject(refused(404, "NotFound"));
    return { list: nothing.list, get } as unknown as KubeClient;
  };
  const ask = (kind: unknown) => getOrSuggest(there(kind), Pod, { name: "db", namespace: "default" }, signal);
  await assert.rejects(ask(Deployment), /no pod in namespace default called db here \(there is deployment\/db\)$/);
  await assert.rejects(ask(StatefulSet), /\(there is statefulset\/db\)$/);
});
