import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { parseQuantity, type Quantity } from "@fjord/kube";
import { parseTaint, type Taint } from "../registration/taints.ts";
import { InvalidNodeOption } from "./errors.ts";

const nameGrammar = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valueGrammar = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Of `a=1,b=2`, given once or several times. */
export function labelsOption(option: string, texts: readonly string[]): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const text of items(texts)) {
    const [name = "", value = "", ...more] = text.split("=");
    if (!nameGrammar.test(name)) throw invalid(option, text, `${name || "nothing"} is not the name of a label`);
    if (!text.includes("=")) throw invalid(option, text, "a label is written NAME=VALUE");
    if (more.length > 0 || !valueGrammar.test(value)) throw invalid(option, text, "its value is not one of a label");
    labels[name] = value;
  }
  return labels;
}

/** Of `key=value:NoSchedule` and `key:NoExecute`. */
export function taintsOption(texts: readonly string[]): Taint[] {
  return items(texts).map(parseTaint);
}

/** Of `cpu=2,memory=4Gi,example.com/gpu=1`. */
export function resourcesOption(option: string, texts: readonly string[]): Record<string, string> {
  const amounts: Record<string, string> = {};
  for (const text of items(texts)) {
    const [name = "", amount = "", ...more] = text.split("=");
    if (!nameGrammar.test(name) || more.length > 0) throw invalid(option, text, "write RESOURCE=AMOUNT");
    const quantity = quantityOf(option, text, amount);
    if (quantity < 0n) throw invalid(option, text, "an amount is not negative");
    amounts[name] = amount;
  }
  return amounts;
}

export function addressesOption(option: string, texts: readonly string[]): string[] {
  const addresses = items(texts);
  for (const text of addresses) if (isIP(text) === 0) throw invalid(option, text, "is not an IP address");
  return addresses;
}

/** `ADDRESS` or `ADDRESS:PORT`; an address of the sixth version with a port is in brackets. */
export function endpointOption(option: string, text: string, defaultPort: number): { address: string; port: number } {
  if (isIP(text) !== 0) return { address: text, port: defaultPort };
  const [, address = "", port = ""] = /^\[?([^\]]*)\]?:(\d+)$/.exec(text) ?? [];
  if (isIP(address) === 0) throw invalid(option, text, "is not an IP address with an optional port");
  return { address, port: countOption(option, port, 1, 65_535) };
}

export function countOption(option: string, text: string, least: number, most: number): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= least && count <= most)) throw invalid(option, text, `is not a number from ${least} to ${most}`);
  return count;
}

/** Whatever the machine is called, as the name of a node. */
export function nodeNameOption(option: string, text: string): string {
  const name = text.toLowerCase();
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) {
    throw invalid(
      option,
      text,
      "the name of a node has letters, digits, dots and hyphens, and begins and ends with a letter or digit",
    );
  }
  return name;
}

/** A token travels to it: by TLS or not at all. */
export function serverOption(option: string, text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:") throw invalid(option, text, "write https://HOST:PORT");
  return text;
}

/** Not shown when it is wrong: most of it may be right. */
export function tokenOption(option: string, text: string): string {
  if (!/^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(text)) {
    throw invalid(option, "…", "a bootstrap token is six letters or digits, a dot and sixteen more, all lower case");
  }
  return text;
}

/** The PEM text of a file that was named. */
export function certificatesOption(option: string, file: string, text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw invalid(option, file, "there is no PEM certificate in it");
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch {
    throw invalid(option, file, "a certificate in it cannot be read");
  }
  return text;
}

export function domainOption(option: string, text: string): string {
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  if (!new RegExp(`^${label}(\\.${label})*\\.?$`, "i").test(text)) throw invalid(option, text, "is not a domain name");
  return text;
}

/** A path below the machine's control groups; nothing for their root. */
export function cgroupOption(option: string, text: string): string {
  if (text.split("/").some((part) => part === "." || part === "..") || /[^\x21-\x7e]/.test(text)) {
    throw invalid(option, text, "is not the path of a control group");
  }
  return text;
}

function quantityOf(option: string, text: string, amount: string): Quantity {
  try {
    return parseQuantity(amount);
  } catch {
    throw invalid(option, text, `${JSON.stringify(amount)} is not a quantity, such as 2, 500m or 4Gi`);
  }
}

function items(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

function invalid(option: string, value: string, reason: string): Error {
  return new InvalidNodeOption({ option, value, reason });
}
