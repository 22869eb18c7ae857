import { certificateProblem, decodeBase64, keyProblem } from "./pem.ts";
import { readTextFile } from "./read-text-file.ts";
import type { Section } from "./section.ts";
import { systemReason } from "./system-reason.ts";

/** PEM text, and the field that it came from. */
export interface PemField {
  readonly pem: string;
  readonly name: string;
}

/** Reads `certificate-authority` or `certificate-authority-data` and their like; the data field wins, as for kubectl. */
export async function readPemField(section: Section, name: string): Promise<PemField | undefined> {
  const dataName = `${name}-data`;
  const data = section.string(dataName);
  if (data !== undefined) return { pem: decodePem(section, dataName, data), name: dataName };
  const path = section.filePath(name);
  if (path === undefined) return undefined;
  const pem = await readTextFile(path).catch((error: unknown) => {
    throw section.wrong(name, `cannot read ${path}: ${systemReason(error)}`, { cause: error });
  });
  const problem = pemProblem(name, pem);
  if (problem !== undefined) throw section.wrong(name, `${path}: ${problem}`);
  return { pem, name };
}

function decodePem(section: Section, dataName: string, data: string): string {
  if (data.includes("-----BEGIN ")) throw section.wrong(dataName, "PEM text that is not base64-encoded");
  const pem = decodeBase64(data);
  if (pem === undefined) throw section.wrong(dataName, "not base64");
  const problem = pemProblem(dataName, pem);
  if (problem !== undefined) throw section.wrong(dataName, `${problem} (in the decoded base64)`);
  return pem;
}

function pemProblem(name: string, pem: string): string | undefined {
  if (pem.trim() === "") return "empty";
  return name.startsWith("client-key") ? keyProblem(pem) : certificateProblem(pem);
}
