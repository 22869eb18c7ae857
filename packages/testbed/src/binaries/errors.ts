import { defineError } from "@fjord/base";

const ELSEWHERE =
  "Install Go (https://go.dev/dl) and run `npm run testbed -- binaries` again, or put the programs in a directory and name it in FJORD_BINARIES.";

export const BinariesUnavailable = defineError(
  "TESTBED_BINARIES_UNAVAILABLE",
  `cannot get {components} ({title}); tried in this order:\n{attempts}\n${ELSEWHERE}`,
  "Each line says where was looked and why that failed; put one of them right. The usual one is a missing or too old Go.",
);

export const BinariesDirectoryMissing = defineError(
  "TESTBED_BINARIES_DIRECTORY_MISSING",
  "cannot look for programs in {directory}, which FJORD_BINARIES names: {reason}",
  "Make the directory, correct FJORD_BINARIES, or unset it to let the test bed find or build the programs.",
);

export const BinaryUnfit = defineError(
  "TESTBED_BINARY_UNFIT",
  "{path}, from the directory that FJORD_BINARIES names, cannot serve as {component} {version}: {reason}",
  "Put the program of the minor asked for into a sub-directory named by its version (for example v1.35.4), or remove this one.",
);

export const BinaryNotAsked = defineError(
  "TESTBED_BINARY_NOT_ASKED",
  "no path of {component} for Kubernetes {minor}: it was not among the sets and minors asked for, or was not found",
  "Name the set that holds it, and the minor, when asking for binaries.",
);

export const CacheUnusable = defineError(
  "TESTBED_CACHE_UNUSABLE",
  "cannot use the cache folder {folder}: {reason}",
  "Name a directory that you may read and write in FJORD_CACHE.",
);

export const GoMissing = defineError(
  "TESTBED_GO_MISSING",
  "no `go` in PATH; Go {minimum} or newer is needed",
  "Install Go from https://go.dev/dl and put its bin directory in PATH.",
);

export const GoTooOld = defineError(
  "TESTBED_GO_TOO_OLD",
  "{go} is Go {version}, and {minimum} or newer is needed (GOTOOLCHAIN is {toolchain}, so it fetches no newer one itself)",
  "Install a newer Go from https://go.dev/dl, or set GOTOOLCHAIN=auto with Go 1.21 or newer.",
);

export const GoUnverified = defineError(
  "TESTBED_GO_UNVERIFIED",
  "Go's checksum database is switched off (GOSUMDB=off), so that modules could not be verified",
  "Unset GOSUMDB (also look at `go env GOSUMDB`), or point it at a checksum database that you can reach.",
);

export const CommandFailed = defineError(
  "TESTBED_COMMAND_FAILED",
  "`{command}` {outcome}{output}",
  "The last lines of its output say why.",
);

export const DownloadFailed = defineError(
  "TESTBED_DOWNLOAD_FAILED",
  "cannot download {url}: {reason}",
  "Check that this machine reaches the site. Behind a proxy set HTTPS_PROXY and NODE_USE_ENV_PROXY=1.",
);

export const ChecksumMismatch = defineError(
  "TESTBED_CHECKSUM_MISMATCH",
  "{url} was refused: its SHA-256 is {actual}, and {checksum} says {expected}",
  "Try again; if it stays, something between here and the site alters files.",
);

export const BuiltWrong = defineError(
  "TESTBED_BINARY_WRONG",
  "the {component} that was made is of no use: {reason}",
  "This is a fault of the recipe or of this machine's ability to run the program; please report it with this message.",
);

export const BrowserUnavailable = defineError(
  "TESTBED_BROWSER_UNAVAILABLE",
  "there is no browser for tests of the page: {reason}",
  "Install Chromium (Debian package chromium), or run `npm run testbed -- binaries --browser` as root on Debian.",
);

export const NodePackagesUnavailable = defineError(
  "TESTBED_NODE_PACKAGES_UNAVAILABLE",
  "real nodes cannot run on this machine: {reasons}",
  "Real nodes need Linux, root, and the Debian packages listed in packages/testbed/src/binaries/versions.ts.",
);

export const NetworkToolsUnavailable = defineError(
  "TESTBED_NETWORK_TOOLS_UNAVAILABLE",
  "tests and benchmarks of links lack {programs}: {reason}",
  "Install the Debian packages iproute2, nftables, iperf3, tcpdump and wireguard-tools (and qemu-system-x86 with busybox-static where another kernel is to be tried), or run `npm run testbed -- binaries --network` as root on Debian.",
);

export const SuiteProgramsUnavailable = defineError(
  "TESTBED_SUITE_PROGRAMS_UNAVAILABLE",
  "programs of the end-to-end suite's images are missing ({packages}): {reason}",
  "Install those Debian packages, or run it as root on a machine with apt-get.",
);
