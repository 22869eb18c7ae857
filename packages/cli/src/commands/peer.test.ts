import assert from "node:assert/strict";
import { test } from "node:test";
import { lastWords } from "@fjord/base";
import { closed } from "./peer.ts";

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
