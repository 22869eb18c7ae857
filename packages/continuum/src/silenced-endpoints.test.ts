import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EndpointSlice } from "@fjord/kube";
import { SILENCED_ANNOTATION, silenced, stillSilenced, toldEndpoints } from "./silenced-endpoints.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

const ready = { ready: true, serving: true, terminating: false };
const leaving = { ready: false, serving: true, terminating: true };
const there: Endpoint = { addresses: ["240.0.0.7"], conditions: ready, hostname: "web-0" };
const here: Endpoint = { addresses: ["10.0.0.1"], conditions: ready };
const isCutOff = (address: string) => address.startsWith("240.");
const sliceOf = (endpoints: Endpoint[], note?: string) => ({
  metadata: { name: "web", ...(note !== undefined && { annotations: { [SILENCED_ANNOTATION]: note } }) },
  endpoints,
});
const after = (slice: ReturnType<typeof sliceOf>, cutOff: (address: string) => boolean) => {
  const change = silenced(slice, cutOff);
  assert.ok(change);
  return sliceOf(change.endpoints, change.note);
};

describe("endpoints behind a link that has fallen silent", () => {
  it("are neither ready nor serving, and others stay as they are", () => {
    const { endpoints } = after(sliceOf([there, here]), isCutOff);
    assert.deepEqual(endpoints, [
      { addresses: ["240.0.0.7"], hostname: "web-0", conditions: { ready: false, serving: false } },
      here,
    ]);
  });

  it("are what their consumer has said when the link answers", () => {
    const slice = sliceOf([there, { addresses: ["240.0.0.8"] }, { addresses: ["240.0.0.9"], conditions: leaving }]);
    const back = after(after(slice, isCutOff), () => false);
    assert.deepEqual(back.endpoints, [{ ...there }, { addresses: ["240.0.0.8"], conditions: {} }, slice.endpoints[2]]);
    assert.equal(back.metadata.annotations, undefined);
  });

  it("are not written twice, nor where nothing is silent", () => {
    assert.equal(
      silenced(sliceOf([there, here]), () => false),
      undefined,
    );
    assert.equal(silenced(after(sliceOf([there, here]), isCutOff), isCutOff), undefined);
  });

  it("are told by the consumer as ever: it sees what it has written", () => {
    const slice = after(sliceOf([there, here]), isCutOff);
    assert.deepEqual(toldEndpoints(slice.endpoints, slice.metadata.annotations), [there, here]);
    assert.deepEqual(toldEndpoints(undefined, undefined), []);
  });

  it("are silenced again where the consumer has written anew, with what it says now", () => {
    const marked = after(sliceOf([there, here]), isCutOff);
    const rewritten = sliceOf(
      [{ ...there, conditions: leaving }, here],
      marked.metadata.annotations?.[SILENCED_ANNOTATION],
    );
    assert.deepEqual(toldEndpoints(rewritten.endpoints, rewritten.metadata.annotations)[0]?.conditions, leaving);
    const again = after(rewritten, isCutOff);
    assert.deepEqual(again.endpoints[0]?.conditions, { ready: false, serving: false });
    assert.deepEqual(after(again, () => false).endpoints[0]?.conditions, leaving);
  });

  it("stay left out where the consumer has something else to say, and are what it says now when the link answers", () => {
    const marked = after(sliceOf([there, here]), isCutOff);
    const more = { addresses: ["10.0.0.2"], conditions: ready };
    const { endpoints, note } = stillSilenced([{ ...there, conditions: leaving }, here, more], marked);
    assert.deepEqual(endpoints, [{ ...there, conditions: { ready: false, serving: false } }, here, more]);
    const rewritten = sliceOf(endpoints, note);
    assert.deepEqual(toldEndpoints(endpoints, rewritten.metadata.annotations)[0]?.conditions, leaving);
    assert.equal(silenced(rewritten, isCutOff), undefined, "there is nothing to contradict");
    assert.deepEqual(after(rewritten, () => false).endpoints[0]?.conditions, leaving);
    assert.deepEqual(stillSilenced([here], marked), { endpoints: [here], note: undefined });
    assert.deepEqual(stillSilenced([there], sliceOf([there])), { endpoints: [there], note: undefined });
  });

  it("forget one that is no longer there, and take nothing from a note but conditions", () => {
    const marked = after(sliceOf([there, here]), isCutOff);
    const gone = after(sliceOf([here], marked.metadata.annotations?.[SILENCED_ANNOTATION]), isCutOff);
    assert.equal(gone.metadata.annotations, undefined);
    const silent = { ready: false, serving: false };
    for (const note of ["", "nonsense", "[]", "null", '{"240.0.0.7":{"ready":"yes","evil":1}}', '{"240.0.0.7":null}'])
      assert.deepEqual(
        Object.keys(
          toldEndpoints([{ ...there, conditions: silent }], { [SILENCED_ANNOTATION]: note })[0]?.conditions ?? {},
        ).filter((each) => !["ready", "serving"].includes(each)),
        [],
      );
  });
});
