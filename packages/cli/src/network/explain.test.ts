import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, newObject } from "@fjord/api";
import { inWords, type PathAnswer, verdictOf } from "./explain.ts";
import { standsFor } from "./path-ends.ts";

const plain = (_: string, text: string) => text;

it("a packet's way is told in lines, and nobody's words are a terminal's", () => {
  const hop = { at: "pod", what: "sends", source: "10.42.0.7", destination: "240.0.3.9" } as const;
  const answer: PathAnswer = {
    from: "pod shop/web",
    to: "Service shop/data (10.96.0.7)",
    verdict: "Dropped",
    paths: [
      {
        from: "pod shop/web",
        to: "pod shop/data",
        verdict: "Dropped",
        hops: [
          { ...hop, site: "harbor", verdict: "Passes" },
          { ...hop, at: "link", what: "it is down \u001b[31m", rule: "Link x", verdict: "Dropped" },
        ],
        advice: [],
      },
    ],
    advice: ["look at it"],
  };
  const text = inWords(answer, plain);
  assert.equal(text.includes("\u001b"), false);
  assert.deepEqual(
    text.split("\n").map((line) => line.trim().replace(/ {2,}/g, " ")),
    [
      "From pod shop/web to Service shop/data (10.96.0.7): it is dropped",
      "by pod shop/data",
      "ok harbor pod 10.42.0.7 -> 240.0.3.9",
      "sends",
      "DROPPED link 10.42.0.7 -> 240.0.3.9",
      text.split("\n")[5]?.trim(),
      "What to do: look at it",
      "",
    ],
  );
  assert.match(text, /it is down .*\[Link x\]/);
});

it("endpoints that are left out are told beside those that it arrives at", () => {
  const leftOut = [{ to: "pod shop/far", reason: "it is not ready, as the link with wave has fallen silent" }];
  const answer = {
    from: "pod shop/web",
    to: "Service shop/data",
    verdict: "Delivered",
    paths: [],
    leftOut,
    advice: [],
  };
  assert.match(
    inWords(answer as PathAnswer, plain),
    /it arrives; 1 endpoint is left out\n {2}left out: pod shop\/far: it is not ready, as the link with wave has fallen silent\n$/,
  );
});

it("of many endpoints, one that is dropped counts, and one that is not known is no success", () => {
  const of = (...verdicts: ("Delivered" | "Dropped" | "Unknown")[]) =>
    verdictOf(verdicts.map((verdict) => ({ verdict })));
  assert.deepEqual([of("Delivered", "Delivered"), of("Delivered", "Unknown")], ["Delivered", "Unknown"]);
  assert.deepEqual([of("Dropped", "Dropped"), of("Dropped", "Unknown")], ["Dropped", "Partly"]);
  assert.deepEqual([of("Delivered", "Dropped"), of()], ["Partly", "Dropped"]);
});

it("an address that stands for one of another site is told with it", () => {
  const spec = { site: "w", own: [], peer: [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }] };
  const plans = [newObject(AddressPlan, { metadata: { name: "w" }, spec })];
  const nameOf = (id: string | undefined) => (id === "w" ? "wave" : undefined);
  assert.equal(standsFor({ plans, nameOf }, "127.88.128.7", "w"), "127.88.128.7, which stands for 127.89.0.7 of wave");
  assert.equal(standsFor({ plans, nameOf }, "127.88.0.7", "h"), undefined);
});
