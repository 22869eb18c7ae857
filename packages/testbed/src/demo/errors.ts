import { defineError } from "@fjord/base";

export const DemoRunning = defineError(
  "TESTBED_DEMO_RUNNING",
  "the demo runs already in {directory}, as process {pid}",
  "Use that one: source its file `env` in another terminal. Or end it with Ctrl-C where it was started.",
);

export const DemoStepFailed = defineError(
  "TESTBED_DEMO_STEP_FAILED",
  "`{command}` ended with {status}: {output}",
  "Nothing of the demo is left; `npm run demo` tries again. The lines above are the last that the agents wrote.",
);
