import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerRefused } from "../../peer-refused-error.ts";
import { NoParkedConnection } from "../tunnel/errors.ts";
import { failureReason, whyNotDialledIn } from "./failure-reason.ts";

const silent = new Error("cannot POST /contracts at https://eg65", { cause: new NoParkedConnection({ site: "eg65" }) });

test("a site that can only dial out, and does not, is told of by its name and with what would have it do so", () => {
  const message = whyNotDialledIn(silent, "frosty-wood") ?? "";
  assert.match(message, /^frosty-wood has no endpoint and has not dialled out to this site: .*--both-ways$/);
  assert.equal(whyNotDialledIn(new Error("refused"), "frosty-wood"), undefined);
});

test("why a site counts as away is told by one word", () => {
  assert.equal(failureReason(silent, true).reason, "NoEndpoint");
  const stranger = new PeerRefused({ code: "NotPaired", message: "who are you?" });
  assert.equal(failureReason(stranger, false).reason, "NotPaired");
  assert.equal(failureReason(new Error("no connection within 5 s"), false).reason, "TimedOut");
  assert.equal(failureReason(new Error("ECONNREFUSED"), false).reason, "ConnectionFailed");
});
