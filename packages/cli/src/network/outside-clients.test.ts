import assert from "node:assert/strict";
import { it } from "node:test";
import type { AddressPlan } from "@fjord/api";
import type { Service } from "@fjord/kube";
import { isForOutside, outsideAdvice } from "./outside-clients.ts";

it("says of whom clients from outside get no answer, unless nodes are machines of the site", () => {
  const planWith = (site: string, carrier?: "Proxy") =>
    ({ spec: { site, ...(carrier && { carrier }) } }) as AddressPlan;
  const network = {
    id: "own",
    plans: [planWith("aaa"), planWith("bbb"), planWith("ccc", "Proxy")],
    nameOf: (site: string | undefined) => (site === "aaa" ? "wave" : undefined),
  };
  const at = (...sites: (string | undefined)[]) => sites.map((site) => ({ site }));
  const [advice = "", ...more] = outsideAdvice(at("own", "aaa", "aaa", "bbb", undefined), network);
  assert.match(advice, /endpoints at wave, bbb: spec\.network\.machines/);
  assert.deepEqual(more, []);
  assert.deepEqual(outsideAdvice(at("own", "aaa"), network, ["192.168.7.0/24"]), []);
  assert.deepEqual(outsideAdvice(at("own", undefined, "ccc"), network), [], "no link leads there");
});

it("knows Services that nodes have a port for", () => {
  const of = (spec: Service["spec"]) => isForOutside({ metadata: {}, spec } as Service);
  assert.deepEqual(
    [
      of({ type: "NodePort" }),
      of({ type: "LoadBalancer", externalTrafficPolicy: "Cluster" }),
      of({ externalIPs: ["192.0.2.7"] }),
      of({ type: "ClusterIP" }),
      of({ type: "NodePort", externalTrafficPolicy: "Local" }),
    ],
    [true, true, true, false, false],
  );
});
