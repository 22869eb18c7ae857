import assert from "node:assert/strict";
import { test } from "node:test";
import { humanDuration, since } from "./duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test("ages are told as kubectl tells them", () => {
  const told: [number, string][] = [
    [-3 * second, "<invalid>"],
    [-1 * second, "0s"],
    [0, "0s"],
    [second - 1, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [3 * minute + 1 * second, "3m1s"],
    [10 * minute + 59 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [8 * hour + 59 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [2 * day + 5 * hour, "2d5h"],
    [8 * day + 5 * hour, "8d"],
    [365 * 2 * day - hour, "729d"],
    [365 * 2 * day, "2y"],
    [365 * 2 * day + 40 * day, "2y40d"],
    [365 * 8 * day + 40 * day, "8y"],
  ];
  for (const [age, text] of told) assert.equal(humanDuration(age), text);
});

test("a time that is not there has no age", () => {
  assert.equal(since(undefined, 0), "<unknown>");
  assert.equal(since("1970-01-01T00:00:00Z", 5000), "5s");
});
