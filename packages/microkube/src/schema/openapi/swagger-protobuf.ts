/**
 * A Swagger document, or a part of one, in the binary form that older parts of kubectl ask for (openapi.v2.Document of
 * gnostic-models). Two of them one after the other are both in one, which is how custom kinds are added.
 */
export function swaggerProtobuf(document: object): Buffer {
  return encode("Document", document as Json);
}

type Json = Record<string, unknown>;

/** How a value is written: a scalar, a message by its name, or a function for what has no fields of its own in JSON. */
type Form = "text" | "texts" | "flag" | "whole" | "real" | "any" | "anys" | "name" | Write;
type Write = (number: number, value: unknown) => readonly Buffer[];
type Fields = Readonly<Record<string, readonly [number: number, form: Form]>>;

const one =
  (name: () => string): Write =>
  (number, value) => [bytes(number, encode(name(), value as Json))];
const many =
  (name: () => string): Write =>
  (number, value) =>
    (value as Json[]).map((each) => bytes(number, encode(name(), each)));
/** An object whose keys are names: a message of pairs, each of which is a name and a message. */
const named =
  (write: (value: unknown) => Buffer, pairs = 1): Write =>
  (number, value) => [bytes(number, Buffer.concat(pairsOf(value as Json, pairs, write)))];

const limits = (from: number): Fields => ({
  ...{ default: [from, "any"], maximum: [from + 1, "real"], exclusiveMaximum: [from + 2, "flag"] },
  ...{ minimum: [from + 3, "real"], exclusiveMinimum: [from + 4, "flag"], maxLength: [from + 5, "whole"] },
  ...{ minLength: [from + 6, "whole"], pattern: [from + 7, "text"], maxItems: [from + 8, "whole"] },
  ...{ minItems: [from + 9, "whole"], uniqueItems: [from + 10, "flag"], enum: [from + 11, "anys"] },
  ...{ multipleOf: [from + 12, "real"], "x-": [from + 13, "name"] },
});
const primitive = (from: number): Fields => ({
  ...{ type: [from, "text"], format: [from + 1, "text"], items: [from + 2, one(() => "PrimitivesItems")] },
  ...{ collectionFormat: [from + 3, "text"], ...limits(from + 4) },
});
const schema = one(() => "Schema");
const operation = one(() => "Operation");

const messages: Readonly<Record<string, Fields>> = {
  Document: {
    ...{ swagger: [1, "text"], info: [2, one(() => "Info")], host: [3, "text"], basePath: [4, "text"] },
    ...{ schemes: [5, "texts"], consumes: [6, "texts"], produces: [7, "texts"] },
    paths: [8, named((value) => encode("PathItem", value as Json), 2)],
    definitions: [9, named((value) => encode("Schema", value as Json))],
    parameters: [10, named((value) => parameter(value as Json))],
    responses: [11, named((value) => encode("Response", value as Json))],
    security: [12, requirements],
    securityDefinitions: [13, named((value) => bytes(2, encode("ApiKeySecurity", value as Json)))],
    "x-": [16, "name"],
  },
  Info: {
    ...{ title: [1, "text"], version: [2, "text"], description: [3, "text"], termsOfService: [4, "text"] },
    "x-": [7, "name"],
  },
  ApiKeySecurity: {
    type: [1, "text"],
    name: [2, "text"],
    in: [3, "text"],
    description: [4, "text"],
    "x-": [5, "name"],
  },
  PathItem: {
    ...{ $ref: [1, "text"], get: [2, operation], put: [3, operation], post: [4, operation], delete: [5, operation] },
    ...{ options: [6, operation], head: [7, operation], patch: [8, operation], parameters: [9, parameters] },
    "x-": [10, "name"],
  },
  Operation: {
    ...{ tags: [1, "texts"], summary: [2, "text"], description: [3, "text"], operationId: [5, "text"] },
    ...{ produces: [6, "texts"], consumes: [7, "texts"], parameters: [8, parameters], responses: [9, responses] },
    ...{ schemes: [10, "texts"], deprecated: [11, "flag"], security: [12, requirements], "x-": [13, "name"] },
  },
  BodyParameter: {
    ...{ description: [1, "text"], name: [2, "text"], in: [3, "text"], required: [4, "flag"], schema: [5, schema] },
    "x-": [6, "name"],
  },
  /** In a header or a path. */
  PlainParameter: {
    ...{ required: [1, "flag"], in: [2, "text"], description: [3, "text"], name: [4, "text"], ...primitive(5) },
  },
  /** In a query or a form. */
  QueryParameter: {
    ...{ required: [1, "flag"], in: [2, "text"], description: [3, "text"], name: [4, "text"] },
    ...{ allowEmptyValue: [5, "flag"], ...primitive(6) },
  },
  PrimitivesItems: primitive(1),
  Reference: { $ref: [1, "text"], description: [2, "text"] },
  Response: {
    description: [1, "text"],
    schema: [2, (number, value) => [bytes(number, bytes(1, encode("Schema", value as Json)))]],
    "x-": [5, "name"],
  },
  Schema: {
    ...{ $ref: [1, "text"], format: [2, "text"], title: [3, "text"], description: [4, "text"], default: [5, "any"] },
    ...{ multipleOf: [6, "real"], maximum: [7, "real"], exclusiveMaximum: [8, "flag"], minimum: [9, "real"] },
    ...{ exclusiveMinimum: [10, "flag"], maxLength: [11, "whole"], minLength: [12, "whole"], pattern: [13, "text"] },
    ...{ maxItems: [14, "whole"], minItems: [15, "whole"], uniqueItems: [16, "flag"], maxProperties: [17, "whole"] },
    ...{ minProperties: [18, "whole"], required: [19, "texts"], enum: [20, "anys"] },
    additionalProperties: [21, (number, value) => [bytes(number, additional(value))]],
    type: [22, (number, value) => [bytes(number, Buffer.concat([value].flat().map((each) => text(1, String(each)))))]],
    items: [23, (number, value) => [bytes(number, Buffer.concat(many(() => "Schema")(1, [value].flat())))]],
    allOf: [24, many(() => "Schema")],
    properties: [25, named((value) => encode("Schema", value as Json))],
    ...{ discriminator: [26, "text"], readOnly: [27, "flag"], example: [30, "any"], "x-": [31, "name"] },
  },
};

function encode(message: string, value: Json): Buffer {
  const fields = messages[message] ?? {};
  const parts: [number: number, parts: readonly Buffer[]][] = [];
  for (const [key, each] of Object.entries(value)) {
    if (each === undefined || each === null) continue;
    const field = fields[key.startsWith("x-") ? "x-" : key];
    if (field !== undefined) parts.push([field[0], write(field[0], field[1], key, each)]);
  }
  // Fields stand in the order of their numbers, as other writers have it.
  return Buffer.concat(parts.sort(([a], [b]) => a - b).flatMap(([, written]) => written));
}

function write(number: number, form: Form, key: string, value: unknown): readonly Buffer[] {
  switch (form) {
    case "text":
      return value === "" ? [] : [text(number, String(value))];
    case "texts":
      return (value as string[]).map((each) => text(number, each));
    case "flag":
      return value === true ? [Buffer.concat([tag(number, 0), varint(1)])] : [];
    case "whole":
      return value === 0 ? [] : [Buffer.concat([tag(number, 0), varint(Number(value))])];
    case "real":
      return value === 0 ? [] : [double(number, Number(value))];
    case "any":
      return [bytes(number, any(value))];
    case "anys":
      return (value as unknown[]).map((each) => bytes(number, any(each)));
    case "name":
      return [bytes(number, Buffer.concat([text(1, key), bytes(2, any(value))]))];
    default:
      return form(number, value);
  }
}

/** What may be anything is YAML in there; JSON is. */
function any(value: unknown): Buffer {
  return text(2, `${JSON.stringify(value)}\n`);
}

function pairsOf(value: Json, number: number, write: (value: unknown) => Buffer): Buffer[] {
  return Object.entries(value).map(([name, each]) =>
    bytes(number, Buffer.concat([text(1, name), bytes(2, write(each))])),
  );
}

function additional(value: unknown): Buffer {
  if (typeof value === "boolean") return Buffer.concat([tag(2, 0), varint(value ? 1 : 0)]);
  return bytes(1, encode("Schema", value as Json));
}

function requirements(number: number, value: unknown): Buffer[] {
  const scopes = (each: unknown) => Buffer.concat((each as string[]).map((scope) => text(1, scope)));
  return (value as Json[]).map((each) => bytes(number, Buffer.concat(pairsOf(each, 1, scopes))));
}

function responses(number: number, value: unknown): Buffer[] {
  const response = (each: unknown) => {
    const isReference = (each as Json).$ref !== undefined;
    return isReference ? bytes(2, encode("Reference", each as Json)) : bytes(1, encode("Response", each as Json));
  };
  return [bytes(number, Buffer.concat(pairsOf(value as Json, 1, response)))];
}

function parameters(number: number, value: unknown): Buffer[] {
  return (value as Json[]).map((each) =>
    bytes(number, each.$ref === undefined ? bytes(1, parameter(each)) : bytes(2, encode("Reference", each))),
  );
}

const places: Readonly<Record<string, readonly [number: number, message: string]>> = {
  header: [1, "PlainParameter"],
  formData: [2, "QueryParameter"],
  query: [3, "QueryParameter"],
  path: [4, "PlainParameter"],
};

function parameter(value: Json): Buffer {
  if (value.in === "body") return bytes(1, encode("BodyParameter", value));
  const [number, message] = places[String(value.in)] ?? [3, "QueryParameter"];
  return bytes(2, bytes(number, encode(message, value)));
}

function tag(number: number, wire: number): Buffer {
  return varint(number * 8 + wire);
}

function text(number: number, value: string): Buffer {
  return bytes(number, Buffer.from(value));
}

function bytes(number: number, content: Buffer): Buffer {
  return Buffer.concat([tag(number, 2), varint(content.length), content]);
}

function double(number: number, value: number): Buffer {
  const content = Buffer.alloc(8);
  content.writeDoubleLE(value);
  return Buffer.concat([tag(number, 1), content]);
}

function varint(value: number): Buffer {
  const found: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    found.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(found);
}
