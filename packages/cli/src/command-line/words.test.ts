import assert from "node:assert/strict";
import { test } from "node:test";
import { asksForJson, readWords } from "./words.ts";

test("-q is taken wherever it stands, but never from what another program is given", () => {
  assert.deepEqual(readWords(["peer", "wave", "-q"]), { words: ["peer", "wave"], asked: "peer", quiet: true });
  assert.deepEqual(readWords(["--quiet", "sites"]), { words: ["sites"], asked: "sites", quiet: true });
  assert.deepEqual(readWords(["-q", "kubectl", "wave", "-q"]).words, ["kubectl", "wave", "-q"]);
  assert.equal(readWords(["kubectl", "wave", "-q"]).quiet, false);
  assert.deepEqual(readWords(["explain", "--", "-q"]).words, ["explain", "--", "-q"]);
});

test("an option takes its value as kubectl's do", () => {
  assert.deepEqual(readWords(["sites", "-o=json"]).words, ["sites", "-o", "json"]);
  assert.deepEqual(readWords(["kubectl", "wave", "-o=json"]).words, ["kubectl", "wave", "-o=json"]);
});

test("the cluster may be named before the command, as kubectl lets one", () => {
  const read = (typed: string) => readWords(typed.split(" "));
  assert.deepEqual(read("--kubeconfig X sites"), {
    words: ["sites", "--kubeconfig", "X"],
    asked: "sites",
    quiet: false,
  });
  assert.deepEqual(
    read("-q --context=wave -n shop network status").words.join(" "),
    "network status --context=wave -n shop",
  );
  assert.equal(read("-n shop explain -- web").words.join(" "), "explain -n shop -- web");
  assert.equal(read("--context wave kubectl tide get pods").words.join(" "), "kubectl --context wave tide get pods");
  assert.equal(read("--context wave -h sites").words.join(" "), "sites --context wave --help");
  assert.equal(read("--context").words.join(" "), "--context", "nothing follows: told as unknown");
  assert.equal(read("--bogus X sites").words.join(" "), "--bogus X sites");
});

test("help of a command may be asked for before its name", () => {
  assert.deepEqual(readWords(["-h", "sites"]), { words: ["sites", "--help"], asked: "sites", quiet: false });
  assert.deepEqual(readWords(["-q", "--help", "network", "status"]).words, ["network", "status", "--help"]);
  assert.deepEqual(readWords(["-h", "kubectl"]).words, ["help", "kubectl"], "and not kubectl's own");
  assert.deepEqual(readWords(["--help"]).words, ["--help"]);
  assert.deepEqual(readWords(["kubectl", "-h"]).words, ["kubectl", "-h"]);
});

test("who asks for JSON is known also from words that are wrong", () => {
  const asks = (...typed: string[]) => asksForJson(readWords(typed));
  for (const words of ["-o json", "-ojson", "-o=json", "--output json", "--output=json"])
    assert.ok(asks("sites", "--bogus", ...words.split(" ")), words);
  for (const words of ["", "-o yaml", "json", "-o", "-- -o json"])
    assert.ok(!asks("sites", ...words.split(" ")), words);
  assert.ok(!asks("kubectl", "wave", "get", "pods", "-o", "json"));
});
