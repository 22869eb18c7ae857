import { isSiteId, siteIdOf } from "../../identity/index.ts";
import { checkLoopbackFacts, checkNetworkFacts } from "../../network/index.ts";
import type { ContractReport, PublishedFacts, Refusal, Resources, SiteReport } from "../../protocol.ts";

const MOST_CONTRACTS = 1024;
const MOST_PROPERTIES = 64;
const MOST_RESOURCES = 64;
const MOST_PRIVILEGES = 64;
const MOST_INTRODUCTIONS = 128;
const LONGEST_ENDPOINT = 256;
const LONGEST_MESSAGE = 1024;
/** As the schema of Site has it, and no longer than any amount that makes sense. */
const QUANTITY = /^[0-9]{1,20}(\.[0-9]{1,12})?([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$/;
const LABEL_KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;
const WORD = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const PHASES = ["Proposed", "Active", "Expiring", "Ended"];
const STANDINGS = ["Open", "Cordoned", "Drained", "Ended"];
const TIERS = ["cloud", "edge", "device"];

/** Thrown for a report of the wrong shape: what it says is then not believed at all. */
export class ReportMalformed extends Error {}

/**
 * What a peer says of itself, with only the fields that we know, each of the type and size that it must have. A fact that
 * is not is left out; what the peering rests on (its id, its contracts) fails the whole.
 */
export function checkSiteReport(value: unknown, id: string): SiteReport {
  const report = objectOf(value, "the report");
  if (report.id !== id) throw new ReportMalformed("the report is another site's");
  const shared = resourcesOf(report.shared);
  const free = resourcesOf(report.free);
  const network = checkNetworkFacts(report.network);
  const loopback = checkLoopbackFacts(report.loopback);
  return {
    id,
    ...publicKeyOf(report.publicKey, id),
    published: publishedOf(report.published),
    endpoints: endpointsOf(report.endpoints),
    ...(shared === undefined ? {} : { shared }),
    ...(free === undefined ? {} : { free }),
    ...guestPrivilegesOf(report.guestPrivileges),
    contracts: contractsOf(report.contracts),
    ...(network && { network }),
    ...(loopback && { loopback }),
    ...networkHeardOf(report.networkHeard),
    ...introductionsOf(report.introductions),
  };
}

/** A refusal in whatever shape it came: a word, a line of text, and amounts that are some. */
export function checkRefusal(value: unknown, status: number): Refusal {
  const { code, message, available } = isObject(value) ? value : {};
  return {
    code: typeof code === "string" && WORD.test(code) ? code : `Status${status}`,
    message: typeof message === "string" ? lineOf(message) : `the site answered ${status}`,
    ...amounts(available),
  };
}

/** A key counts only where the id, which has been proven, is that key's. */
function publicKeyOf(value: unknown, id: string): Pick<SiteReport, "publicKey"> {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]{43}=$/.test(value)) return {};
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value && siteIdOf(bytes) === id ? { publicKey: value } : {};
}

function networkHeardOf(value: unknown): Pick<SiteReport, "networkHeard"> {
  return typeof value === "string" && /^[\w-]{22}$/.test(value) ? { networkHeard: value } : {};
}

function introductionsOf(value: unknown): Pick<SiteReport, "introductions"> {
  if (!isObject(value)) return {};
  const entries = Object.entries(value).filter(
    ([site, token]) => isSiteId(site) && typeof token === "string" && /^[\w-]{22}$/.test(token),
  );
  if (entries.length === 0 || entries.length > MOST_INTRODUCTIONS) return {};
  return { introductions: Object.fromEntries(entries) as Record<string, string> };
}

function guestPrivilegesOf(value: unknown): Pick<SiteReport, "guestPrivileges"> {
  if (!Array.isArray(value)) return {};
  const words = value.slice(0, MOST_PRIVILEGES).filter((each) => typeof each === "string" && WORD.test(each));
  return words.length === 0 ? {} : { guestPrivileges: words };
}

function amounts(value: unknown): Pick<Refusal, "available"> {
  try {
    const available = resourcesOf(value);
    return available === undefined ? {} : { available };
  } catch (error) {
    if (error instanceof ReportMalformed) return {};
    throw error;
  }
}

/** Without what could move a terminal's cursor. */
function lineOf(text: string): string {
  return text.slice(0, LONGEST_MESSAGE).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, " ");
}

function contractsOf(value: unknown): ContractReport[] {
  if (!Array.isArray(value)) throw new ReportMalformed("the report has no list of contracts");
  if (value.length > MOST_CONTRACTS) throw new ReportMalformed("the report has too many contracts");
  return value.map(contractOf);
}

function contractOf(value: unknown): ContractReport {
  const contract = objectOf(value, "a contract");
  const { id, phase, standing, tenantReady } = contract;
  if (typeof id !== "string" || !NAME.test(id)) throw new ReportMalformed("a contract has no id");
  if (!isOneOf(phase, PHASES)) throw new ReportMalformed("a contract has an unknown phase");
  if (!isOneOf(standing, STANDINGS)) throw new ReportMalformed("a contract has an unknown standing");
  if (typeof tenantReady !== "boolean")
    throw new ReportMalformed("a contract does not say whether its tenant is ready");
  const limit = resourcesOf(contract.limit);
  const endReason = typeof contract.endReason === "string" && WORD.test(contract.endReason);
  return {
    id,
    phase: phase as ContractReport["phase"],
    standing: standing as ContractReport["standing"],
    tenantReady,
    ...(endReason ? { endReason: contract.endReason as string } : {}),
    ...(limit === undefined ? {} : { limit }),
  };
}

function publishedOf(value: unknown): PublishedFacts {
  if (!isObject(value)) return {};
  const facts: Record<string, unknown> = {
    name: textOf(value.name, 63),
    tier: isOneOf(value.tier, TIERS) ? value.tier : undefined,
    location: locationOf(value.location),
    properties: propertiesOf(value.properties),
    architectures: textsOf(value.architectures),
    operatingSystems: textsOf(value.operatingSystems),
    loopbackRanges: textsOf(value.loopbackRanges),
    version: textOf(value.version, 64),
    kubernetesVersion: textOf(value.kubernetesVersion, 64),
  };
  return present(facts) as PublishedFacts;
}

function locationOf(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const latitude = numberOf(value.latitude, 90);
  const longitude = numberOf(value.longitude, 180);
  const point = latitude === undefined || longitude === undefined ? {} : { latitude, longitude };
  const place = present({ region: labelNameOf(value.region), zone: labelNameOf(value.zone), ...point });
  return Object.keys(place).length === 0 ? undefined : place;
}

function propertiesOf(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).filter(
    ([key, text]) => LABEL_KEY.test(key) && typeof text === "string" && LABEL_VALUE.test(text),
  );
  return Object.fromEntries(entries.slice(0, MOST_PROPERTIES)) as Record<string, string>;
}

function endpointsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value
    .slice(0, 8)
    .filter((each) => typeof each === "string" && each.length <= LONGEST_ENDPOINT && /^https:\/\/[^\s]+$/.test(each));
}

function resourcesOf(value: unknown): Resources | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.length > MOST_RESOURCES) throw new ReportMalformed("the report has too many resources");
  for (const [name, amount] of entries) {
    const quantity = typeof amount === "number" ? String(amount) : amount;
    if (!LABEL_KEY.test(name) || typeof quantity !== "string" || !QUANTITY.test(quantity))
      throw new ReportMalformed("the report has an amount that is none");
  }
  return Object.fromEntries(entries) as Resources;
}

function labelNameOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(value) ? value : undefined;
}

function numberOf(value: unknown, most: number): number | undefined {
  return typeof value === "number" && Math.abs(value) <= most ? value : undefined;
}

function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return [...new Set(value.slice(0, 16).flatMap((each) => textOf(each, 32) ?? []))];
}

/** One line of printable text. */
function textOf(value: unknown, longest: number): string | undefined {
  if (typeof value !== "string" || value === "" || value.length > longest) return undefined;
  return /^[\p{L}\p{N}\p{P}\p{S} ]*$/u.test(value) ? value : undefined;
}

function isOneOf(value: unknown, words: readonly string[]): boolean {
  return typeof value === "string" && words.includes(value);
}

function present(facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw new ReportMalformed(`${what} is no object`);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
