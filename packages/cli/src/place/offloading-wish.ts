import type { Offloading, SpecDraftOf } from "@fjord/api";
import { parseDuration } from "../command-line/durations.ts";
import { InvalidValue } from "../errors.ts";

type Spec = Offloading["spec"];
type Draft = SpecDraftOf<typeof Offloading>;

/** What `fjord offload` was told; what was left out stays as it is. */
export interface OffloadingFlags {
  readonly pods?: Spec["pods"];
  readonly naming?: Spec["naming"]["strategy"];
  readonly twinName?: string;
  readonly selector: readonly string[];
  readonly whenUnreachable?: string;
}

const NONE = "none";
const name = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Throws where an option makes no sense, whatever there is. */
export function checked({ twinName, selector, whenUnreachable }: OffloadingFlags): void {
  labelsOf(selector);
  if (whenUnreachable !== undefined) unreachable(whenUnreachable);
  if (twinName !== undefined) checkedName(twinName);
}

/** What a namespace is offloaded by that was not before. */
export function firstSpec(flags: OffloadingFlags): Draft {
  const sites = labelsOf(flags.selector);
  return {
    pods: flags.pods ?? "Both",
    naming: namingOf(flags),
    sites: { ...(sites && { matchLabels: sites }) },
    whenUnreachable: unreachable(flags.whenUnreachable ?? "Evict"),
  };
}

/** A merge patch of the spec of one that is offloaded already: what is not named stays. */
export function changeOf(flags: OffloadingFlags, before: Spec, namespace: string): object {
  namingStays(flags, before.naming, namespace);
  const labels = labelsOf(flags.selector);
  const gone = Object.fromEntries(Object.keys(before.sites.matchLabels ?? {}).map((key) => [key, null]));
  const isAll = labels !== undefined && Object.keys(labels).length === 0;
  return {
    ...(flags.pods !== undefined && { pods: flags.pods }),
    ...(labels !== undefined && {
      sites: isAll ? { matchLabels: null, matchExpressions: null } : { matchLabels: { ...gone, ...labels } },
    }),
    ...(flags.whenUnreachable !== undefined && {
      whenUnreachable: { after: null, ...unreachable(flags.whenUnreachable) },
    }),
  };
}

function namingOf({ naming = "Suffixed", twinName }: OffloadingFlags): Spec["naming"] {
  if (twinName !== undefined) {
    if (naming !== "Chosen")
      throw new InvalidValue({
        option: "--twin-name",
        value: twinName,
        reason: "it goes with --naming=Chosen: add that",
      });
    return { strategy: naming, name: checkedName(twinName) };
  }
  if (naming === "Chosen")
    throw new InvalidValue({ option: "--naming", value: naming, reason: "say the name too, by --twin-name=NAME" });
  return { strategy: naming };
}

function checkedName(text: string): string {
  if (name.test(text)) return text;
  const reason = "it must be the name of a namespace: at most 63 of a-z, 0-9 and '-'";
  throw new InvalidValue({ option: "--twin-name", value: text, reason });
}

/** Twins do not change their name: who names another is told so, and the same one again is no mistake. */
function namingStays(flags: OffloadingFlags, before: Spec["naming"], namespace: string): void {
  const { naming, twinName } = flags;
  if (naming === undefined && twinName === undefined) return;
  const isKept = naming === undefined || naming === before.strategy;
  if (isKept && (twinName === undefined || twinName === before.name)) return;
  const called = before.name === undefined ? before.strategy : `${before.strategy}, ${before.name}`;
  const [option, value] = isKept ? ["--twin-name", twinName] : ["--naming", naming];
  const reason = `the twins of namespace ${namespace} have their name already (${called}), which stays: \`fjord unoffload ${namespace}\` first, then offload it anew`;
  throw new InvalidValue({ option, value, reason });
}

/** Undefined where nothing is said of labels; none at all where every site will do. */
function labelsOf(selectors: readonly string[]): Record<string, string> | undefined {
  if (selectors.length === 0) return undefined;
  if (selectors.length === 1 && selectors[0] === NONE) return {};
  return Object.fromEntries(
    selectors.map((text) => {
      const [key = "", value, ...more] = text.split("=");
      if (!labelKey.test(key) || value === undefined || !labelValue.test(value) || more.length > 0)
        throw new InvalidValue({ option: "--selector", value: text, reason: "it must be label=value, or none" });
      return [key, value];
    }),
  );
}

function unreachable(text: string): { action: "Evict" | "Keep"; after?: string } {
  const [action, after, ...more] = text.split("=");
  if (action === "Keep" && after === undefined) return { action };
  if (action === "Evict" && more.length === 0 && (after === undefined || isPatience(after)))
    return { action, ...(after !== undefined && { after }) };
  const reason = "it must be Keep, Evict or Evict=30s, with a second at least";
  throw new InvalidValue({ option: "--when-unreachable", value: text, reason });
}

/** As the kind takes it. */
function isPatience(text: string): boolean {
  if (text.length > 16 || !/^(\d{1,6}(\.\d{1,3})?(ms|s|m|h))+$/.test(text)) return false;
  return parseDuration("--when-unreachable", text) >= 1_000;
}
