/** The placeholders of a message template, as an object type: `"cannot read {file}"` gives `{ file: unknown }`. */
export type Placeholders<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: unknown } & Placeholders<Rest>
  : unknown;

/** An error with a stable code that callers can branch on and users can look up in docs/reference/errors.md. */
export class FjordError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FjordError";
    this.code = code;
  }
}

export interface ErrorType<Template extends string> {
  new (values: Placeholders<Template>, options?: ErrorOptions): FjordError;
  readonly code: string;
  readonly template: Template;
  readonly advice: string;
}

/**
 * One entry of the error catalogue. The template says what was attempted, on what, and why it failed; the advice says
 * what to do about it and is printed in the reference.
 */
export function defineError<const Template extends string>(
  code: string,
  template: Template,
  advice: string,
): ErrorType<Template> {
  return class extends FjordError {
    static readonly code = code;
    static readonly template = template;
    static readonly advice = advice;

    constructor(values: Placeholders<Template>, options?: ErrorOptions) {
      super(code, fill(template, values as Record<string, unknown>), options);
    }
  };
}

/** The message of anything that was thrown, with the messages of its causes. Never throws itself. */
export function describeError(thrown: unknown): string {
  const messages: string[] = [];
  let error = thrown;
  // Causes may go in circles.
  for (let depth = 0; depth === 0 || (error !== undefined && depth < 8); depth++) {
    const { message, cause } = look(error);
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message);
    error = cause;
  }
  return messages.join(": ");
}

/** Anything can be thrown: objects without a text, proxies, errors whose fields throw when read. */
function look(error: unknown): { message: string; cause: unknown } {
  try {
    if (!(error instanceof Error)) return { message: textOf(error), cause: undefined };
    return { message: textOf(error.message || error.name), cause: error.cause };
  } catch {
    return { message: NO_TEXT, cause: undefined };
  }
}

const NO_TEXT = "something that cannot be described";

/** As `String`, which throws for objects that cannot be turned into text. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return NO_TEXT;
  }
}

function fill(template: string, values: Record<string, unknown>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => textOf(values[name]));
}
