import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, Peering } from "@fjord/api";
import { lastWords } from "@fjord/base";
import { closed, howFar } from "./peer.ts";

test("who may not use a site is told of the direction of a pairing, and not of what is shared", () => {
  const refused = closed("peering otter was not ready", "Agreed: ConsumerRefused: ... (mayConsume of its Site there)");
  assert.match(lastWords(refused), /"mayConsume":true.*--both-ways/s);
  assert.doesNotMatch(lastWords(refused), /`sharing`/);
  const unshared = closed("peering otter was not ready", "Agreed: NotSharing: the provider shares nothing");
  assert.match(lastWords(unshared), /`sharing` of the Site there/);
  const cordoned = closed(
    "peering otter was not ready",
    "Agreed: ConsumerRefused: the provider has closed its contracts with otter",
  );
  assert.match(lastWords(cordoned), /`fjord uncordon` there/);
  assert.doesNotMatch(lastWords(cordoned), /`sharing`/);
});

test("whom a site has forgotten is told to pair anew, and not of what is shared", () => {
  const reason =
    "Agreed: ConsumerRefused: the site that was asked does not know the site x, which asked: pair them first";
  const forgotten = closed("peering otter was not ready", reason);
  assert.match(lastWords(forgotten), /`fjord peer TOKEN` here.*CLI_NOT_KNOWN_THERE/s);
  assert.doesNotMatch(lastWords(forgotten), /`sharing`/);
});

test("who asks a site that is known not to answer waits for it, and not for the agent", () => {
  const asked = newObject(Peering, { metadata: { name: "otter" }, spec: { site: "otter", resources: { cpu: "1" } } });
  const silence = "otter does not answer (it did not answer within 750 ms)";
  assert.deepEqual(howFar(asked, silence), { done: false, progress: silence });
  assert.deepEqual(howFar(asked), { done: false, progress: "waiting for the agent" });
  const refused = { type: "Paired", status: "False", reason: "SiteUnreachable", message: "cannot be dialled" };
  const heard = { ...asked, status: { conditions: [refused] } } as unknown as Peering;
  const progress = "Paired: SiteUnreachable: cannot be dialled";
  assert.deepEqual(howFar(heard, silence), { done: false, progress, refused: false }, "the agent's own word is newer");
});
