import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { LoginRefused } from "./errors.ts";
import { LoginGate, networkOf } from "./login-gate.ts";

const wrong = () => Promise.reject(new LoginRefused({ reason: "unknown" }));
const right = async () => "in";
const refused = { code: "PAGE_LOGIN_REFUSED" };
const tooMany = { code: "PAGE_TOO_MANY_LOGINS" };

test("whoever shows wrong tokens may go on only slowly, and nobody else is held up", async () => {
  const clock = new ManualClock();
  const gate = new LoginGate(clock);
  const attempt = (address: string, check: () => Promise<string> = wrong) => gate.through(address, "token", check);
  for (let time = 0; time < 20; time++) await assert.rejects(attempt("192.0.2.1"), refused);
  let asked = 0;
  const counted = async () => String(asked++);
  await assert.rejects(attempt("192.0.2.1", counted), { ...tooMany, message: /in 3 s/ });
  assert.equal(asked, 0, "the API is not asked");
  assert.equal(await attempt("192.0.2.2", right), "in");
  assert.equal(await gate.through("192.0.2.1", "code", right), "in");
  await clock.advance(3_000);
  await assert.rejects(attempt("192.0.2.1"), refused);
  await assert.rejects(attempt("192.0.2.1"), tooMany);
  await clock.advance(60_000);
  for (let time = 0; time < 20; time++) await assert.rejects(attempt("192.0.2.1"), refused);
});

test("what is right, and what the API did not answer, counts for nothing", async () => {
  const gate = new LoginGate(new ManualClock());
  for (let time = 0; time < 50; time++) assert.equal(await gate.through("192.0.2.1", "token", right), "in");
  const away = () => Promise.reject(new Error("away"));
  for (let time = 0; time < 50; time++)
    await assert.rejects(gate.through("192.0.2.1", "token", away), { message: "away" });
});

test("many at once are many", async () => {
  const gate = new LoginGate(new ManualClock());
  const all = await Promise.allSettled(Array.from({ length: 60 }, () => gate.through("192.0.2.1", "token", wrong)));
  const codes = all.map((each) => (each.status === "rejected" ? (each.reason as { code: string }).code : "in"));
  assert.equal(codes.filter((code) => code === "PAGE_LOGIN_REFUSED").length, 20);
  assert.equal(codes.filter((code) => code === "PAGE_TOO_MANY_LOGINS").length, 40);
});

test("a network of IPv6 counts as one", () => {
  assert.equal(networkOf("2001:db8:1:2:aaaa:0:0:1"), "2001:db8:1:2::/64");
  assert.equal(networkOf("2001:0db8:1:2::ffff"), "2001:db8:1:2::/64");
  assert.equal(networkOf("fe80::1%eth0"), "fe80:0:0:0::/64");
  assert.equal(networkOf("::1"), "0:0:0:0::/64");
  assert.equal(networkOf("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(networkOf("192.0.2.1"), "192.0.2.1");
});
