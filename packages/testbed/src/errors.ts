import { defineError } from "@fjord/base";

export const ProcessStartError = defineError(
  "TESTBED_PROCESS_START",
  "cannot start {process} of {site} from {file}: {reason}",
  "Check that the file exists and can be executed; `npm run testbed -- binaries` gets it again.",
);

export const ProcessEndedError = defineError(
  "TESTBED_PROCESS_ENDED",
  "{process} of {site} ended while the test bed waited for {what}; the last lines of {log}:\n{tail}",
  "The log lines say why. A port taken by another program in between goes away with another try.",
);

export const NotReadyError = defineError(
  "TESTBED_NOT_READY",
  "{site}: waited {seconds} s in vain for {what} (last answer: {last})",
  "Look at the logs with `npm run testbed -- logs`; a busy machine may need `--timeout`.",
);

export const NoSuchSiteError = defineError(
  "TESTBED_NO_SUCH_SITE",
  "the test bed has no site {site}; its sites are {sites}",
  "Name one of the sites that `npm run testbed -- status` lists.",
);

export const NoSuchProcessError = defineError(
  "TESTBED_NO_SUCH_PROCESS",
  "{site} has no process {process}; its processes are {processes}",
  "Name one of the processes that `npm run testbed -- status` lists.",
);

export const NoFreePortError = defineError(
  "TESTBED_NO_FREE_PORT",
  "found no free port on {address} between {low} and {high}",
  "End what listens on those ports; `ss -ltn` lists it.",
);

export const DirectoryInUseError = defineError(
  "TESTBED_DIRECTORY_IN_USE",
  "cannot start a test bed in {directory}: it holds other files",
  "Name a directory that is empty or does not exist yet with --directory.",
);

export const RegistryError = defineError(
  "TESTBED_REGISTRY",
  "will not use {directory}, where test beds are registered: {reason}",
  "The directory must belong to you and be closed to others (mode 0700): remove it or put TMPDIR elsewhere.",
);

export const SiteCountError = defineError(
  "TESTBED_SITE_COUNT",
  "cannot start {sites} sites: a test bed has 1 to {maxSites}",
  "Ask for fewer sites.",
);

export const RelayListenError = defineError(
  "TESTBED_RELAY_LISTEN",
  "cannot open the path between two sites on {address}: {reason}",
  "End what listens on that address; `ss -ltnp` names it.",
);

export const NoSuchPathError = defineError(
  "TESTBED_NO_SUCH_PATH",
  "the test bed has no path from {from} to {to}; its sites are {sites}",
  "Name two different sites that `npm run testbed -- status` lists.",
);

export const ControlError = defineError(
  "TESTBED_NETWORK_CONTROL",
  "cannot {task} through {socket}: {reason}",
  "`npm run testbed -- status` shows whether the network process runs; `restart` starts it again.",
);

export const NotExposedError = defineError(
  "TESTBED_NOT_EXPOSED",
  "nothing is exposed from {from} to {to} that leads to {target}; there is {exposed}",
  "Name one of the targets that `npm run testbed -- paths` lists.",
);

export const NoBedError = defineError(
  "TESTBED_NONE",
  "there is no test bed in {directory}",
  "Start one with `npm run testbed -- up`, or name its directory with --directory.",
);

export const BedBusyError = defineError(
  "TESTBED_BUSY",
  "another command (process {pid}) is starting the test bed in {directory}",
  "Wait for it, or end it with Ctrl-C: it removes what it began.",
);

export const BedDiffersError = defineError(
  "TESTBED_DIFFERS",
  "a test bed of {running} runs in {directory}, not one of {asked}",
  "End it with `npm run testbed -- down` first, or start the other one elsewhere with --directory.",
);

export const BedNotRemovedError = defineError(
  "TESTBED_NOT_REMOVED",
  "some of the test bed in {directory} could not be removed: {what}",
  "Mend what stands in the way and run `npm run testbed -- down` again: it goes on from there.",
);

export const BedRemovedError = defineError(
  "TESTBED_REMOVED",
  "the test bed in {directory} was removed by another command while it started",
  "Run `npm run testbed -- up` again once no `down` runs.",
);

export const PausedError = defineError(
  "TESTBED_PAUSED",
  "{paused}",
  "A site is not ready while a process of it is paused.",
);

export const StateUnreadableError = defineError(
  "TESTBED_STATE",
  "cannot read the state of the test bed in {file}: {reason}",
  "`npm run testbed -- down` ends and removes the test bed all the same.",
);

export const ForeignStateError = defineError(
  "TESTBED_FOREIGN_STATE",
  "{file} is not the state of a test bed in that directory: {reason}",
  "It was copied, moved or edited, and nothing was touched. Delete the directory by hand.",
);

export const MetricsWithoutNodesError = defineError(
  "TESTBED_METRICS_WITHOUT_NODES",
  "metrics-server has nothing to measure at sites without real nodes",
  "Give each site some with --nodes, which needs root; or leave --metrics-server out.",
);

export const RootNeededError = defineError(
  "TESTBED_ROOT_NEEDED",
  "cannot {action} as an ordinary user: real nodes need root",
  "Run it as root, or without real nodes: sites alone, and nodes that are simulated, need none.",
);
