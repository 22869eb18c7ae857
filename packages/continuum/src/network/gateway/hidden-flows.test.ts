import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { it } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { HiddenFlows } from "./hidden-flows.ts";

it("Flows that have the node's address: it is said where the kernel cannot be asked for them", async () => {
  const warnings: LogFields[] = [];
  const warn = (_: string, fields: LogFields = {}) => void warnings.push(fields);
  const network = { talk: () => spawn("sh", ["-c", "echo no >&2; exit 1"]) };
  const flows = new HiddenFlows({ network, logger: { ...silentLogger, warn } });
  assert.equal(await flows.forget(["10.42.0.0/16"], ["240.0.0.0/16"]), 0);
  assert.deepEqual(warnings, [{ reason: "no" }]);
});
