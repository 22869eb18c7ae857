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

export const DemoSiteFailed = defineError(
  "TESTBED_DEMO_SITE_FAILED",
  "site {site} did not start: {how}. The last that it wrote:\n{tail}",
  "Another program may use its addresses or ports, or the disk may be full: `npm run demo` tries again.",
);

export const DemoPortTaken = defineError(
  "TESTBED_DEMO_PORT_TAKEN",
  "the shop is to answer at {address}, and another program listens there",
  "End that program, or give it another port.",
);

export const DemoNotReady = defineError(
  "TESTBED_DEMO_NOT_READY",
  "waited {seconds} s for {what}; the last that was seen is {last}",
  "Nothing of the demo is left; `npm run demo` tries again. The lines above are the last that the sites wrote.",
);

export const DemoNoRoom = defineError(
  "TESTBED_DEMO_NO_ROOM",
  "{berths} demos run on this machine already",
  "End one of them with Ctrl-C where it was started.",
);

export const DemoNoContainers = defineError(
  "TESTBED_DEMO_NO_CONTAINERS",
  "the demo on Kubernetes needs containers, and there can be none here: {reason}",
  "`npm run demo` without --kubernetes shows the same with plain processes, and needs neither root nor containers.",
);

export const DemoDirectoryRefused = defineError(
  "TESTBED_DEMO_DIRECTORY_REFUSED",
  "cannot keep the demo's files in {directory}: {reason}",
  "Name a directory that you may write to: `npm run demo -- --directory /tmp/fjord-demo`.",
);
