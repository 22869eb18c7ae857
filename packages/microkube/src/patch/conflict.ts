import { StatusError } from "../status-error.ts";
import type { FieldSet, PathElement } from "./field-set.ts";
import { pathText } from "./field-set.ts";
import type { Manager } from "./managers.ts";

/** Fields that somebody else owns and that an apply would change. */
export interface Conflict {
  readonly manager: Manager;
  readonly path: readonly PathElement[];
}

export function conflictsOf(found: readonly { manager: Manager; set: FieldSet }[]): Conflict[] {
  return found.flatMap(({ manager, set }) => [...set.paths()].map((path) => ({ manager, path })));
}

/** The server's answer: 409 with a cause for each field. */
export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${described(manager)}`,
    field: pathText(path),
  }));
  return new StatusError(409, "Conflict", messageOf(conflicts), { causes });
}

function messageOf(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${described(first.manager)}: ${pathText(first.path)}`;
  }
  const byManager = Map.groupBy(conflicts, ({ manager }) => manager);
  const lines = [...byManager]
    .sort(([one], [other]) => (sortKey(one) < sortKey(other) ? -1 : 1))
    .flatMap(([manager, all]) => [
      `conflicts with ${described(manager)}:`,
      ...all.map(({ path }) => `- ${pathText(path)}`),
    ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

const sortKey = ({ name, operation, apiVersion, subresource }: Manager): string =>
  JSON.stringify([name, operation, operation === "Apply" ? "" : apiVersion, subresource]);

function described({ name, operation, apiVersion, subresource }: Manager): string {
  const of = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(name)}${of}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}
