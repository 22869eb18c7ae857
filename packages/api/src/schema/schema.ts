import { fillDefaults } from "./fill-defaults.ts";
import type { StructuralSchema, ValidationRule } from "./structural.ts";

/** Whether a writer must give a field, may leave it out, or may leave it to the server to fill in. */
export type Presence = "required" | "optional" | "defaulted";

/** What is known of one condition type: its meaning and the reasons it can carry. */
export interface ConditionEntry {
  readonly meaning: string;
  readonly reasons: Readonly<Record<string, string>>;
}
export type ConditionCatalogue = Readonly<Record<string, ConditionEntry>>;

export interface SchemaParts {
  readonly node: StructuralSchema;
  /** The word for this type in the reference: `duration`, `site id`. */
  readonly typeName: string;
  /** Schemas below this one, by what is added to the path: `.name`, `[]`, `.*`. */
  readonly children?: Readonly<Record<string, AnySchema>>;
  readonly conditions?: ConditionCatalogue;
  /** What to do instead of changing the field; present where it is immutable. */
  readonly immutable?: string;
}

/**
 * One field's type, three times: `Out` is what a reader gets (defaults filled), `In` what a writer gives, and `node` what
 * the API server enforces. Values are immutable: each method returns a new schema.
 */
export class Schema<Out, In = Out, P extends Presence = "required"> {
  declare readonly _types?: { out: Out; in: In };
  readonly presence: P;
  readonly parts: SchemaParts;

  constructor(parts: SchemaParts, presence: P) {
    this.parts = parts;
    this.presence = presence;
  }

  get node(): StructuralSchema {
    return this.parts.node;
  }

  /** What `kubectl explain` and the reference say. */
  describe(description: string): Schema<Out, In, P> {
    const { description: detail, ...node } = this.node;
    return this.#with({ description: detail ? `${description} ${detail}` : description, ...node });
  }

  optional(): Schema<Out, In, "optional"> {
    return new Schema(this.parts, "optional");
  }

  /**
   * The server fills this in where the field is left out. It checks the default against the field's rules as it stands,
   * so the defaults below are put into it here.
   */
  default(value: In): Schema<Out, In, "defaulted"> {
    const node = { ...this.node, default: fillDefaults(this.node, value) as NonNullable<unknown> };
    return new Schema({ ...this.parts, node }, "defaulted");
  }

  /** The field keeps its first value; `advice` ends the refusal with what to do instead. */
  immutable(advice: string): Schema<Out, In, P> {
    return new Schema({ ...this.parts, immutable: advice }, this.presence);
  }

  /** Adds a CEL rule. */
  rule(rule: string, message: string, fieldPath?: string): Schema<Out, In, P> {
    return this.#with(withRule(this.node, { rule, message, ...(fieldPath === undefined ? {} : { fieldPath }) }));
  }

  #with(node: StructuralSchema): Schema<Out, In, P> {
    return new Schema({ ...this.parts, node }, this.presence);
  }
}

/** Any schema, whatever it describes. */
export type AnySchema = Schema<unknown, unknown, Presence>;

/** What a reader of the field gets. */
export type OutOf<S> = S extends Schema<infer Out, infer _In, infer _P> ? Out : never;
/** What a writer of the field gives. */
export type InOf<S> = S extends Schema<infer _Out, infer In, infer _P> ? In : never;

export function withRule(node: StructuralSchema, rule: ValidationRule): StructuralSchema {
  return { ...node, "x-kubernetes-validations": [...(node["x-kubernetes-validations"] ?? []), rule] };
}
