import { fileURLToPath } from "node:url";

const source = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/**
 * The file of the command `fjord` for Node: what `npm test` has built of it and names in FJORD_TEST_PROGRAM, as it is shipped, or its
 * source where a test file is run by itself.
 */
export function testedFjord({ FJORD_TEST_PROGRAM: built }: NodeJS.ProcessEnv = process.env): string {
  return built || source("cli/src/cli.ts");
}

/** The agent's in the same way, by FJORD_TEST_AGENT. */
export function testedAgent({ FJORD_TEST_AGENT: built }: NodeJS.ProcessEnv = process.env): string {
  return built || source("agent/src/cli.ts");
}
