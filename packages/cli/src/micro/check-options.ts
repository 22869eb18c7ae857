import { isIP, isIPv4 } from "node:net";
import { endpointOption, labelsOption, resourcesOption } from "@fjord/node/option-values";
import { InvalidMicroOption } from "../errors.ts";

export interface MicroOptionTexts {
  readonly address: string;
  readonly serviceRange: string;
  readonly podRange?: string;
  readonly serveDns?: string;
  readonly endpoint: readonly string[];
  readonly capacity: readonly string[];
  readonly label: readonly string[];
}

/** Throws where a text is not what its option takes: before anything is made or started that would stay half done. */
export function checkMicroOptions(texts: MicroOptionTexts): void {
  const { address, serviceRange, podRange, serveDns, endpoint, capacity, label } = texts;
  if (isIP(address) === 0) throw invalid("--address", address, "it is no IP address, such as 127.0.0.1");
  const services = loopbackRange("--service-range", serviceRange);
  const pods = podRange === undefined ? undefined : loopbackRange("--pod-range", podRange);
  if (pods !== undefined && pods.first <= services.last && services.first <= pods.last)
    throw invalid("--pod-range", podRange ?? "", `Services get theirs from ${serviceRange}: the two must not overlap`);
  if (serveDns !== undefined) endpointOption("--serve-dns", serveDns, 53);
  for (const each of endpoint) checkEndpoint(each);
  resourcesOption("--capacity", capacity);
  labelsOption("--label", label);
}

function checkEndpoint(text: string): void {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
    throw invalid("--endpoint", text, "it is no URL without credentials, such as https://wave.example:7443");
}

/** Such a range needs no rights on any machine. */
function loopbackRange(option: string, text: string): { first: number; last: number } {
  const [address = "", prefix = "", ...more] = text.split("/");
  const bits = /^\d{1,2}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!isIPv4(address) || !address.startsWith("127.") || !(bits >= 9 && bits <= 30) || more.length > 0)
    throw invalid(
      option,
      text,
      "it is no range inside 127.0.0.0/8 with a prefix from /9 to /30, such as 127.96.0.0/16",
    );
  const size = 2 ** (32 - bits);
  const value = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const first = Math.floor(value / size) * size;
  return { first, last: first + size - 1 };
}

function invalid(option: string, value: string, reason: string): Error {
  return new InvalidMicroOption({ option, value: value === "" ? "empty" : value, reason });
}
