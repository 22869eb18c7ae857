// Writes messages.ts to standard output, from a FileDescriptorSet in JSON on standard input: see generate.sh.
import { text } from "node:stream/consumers";

interface FieldDescriptor {
  jsonName: string;
  number: number;
  label: string;
  type: string;
  typeName?: string;
}

interface MessageDescriptor {
  name: string;
  field?: FieldDescriptor[];
  nestedType?: MessageDescriptor[];
  enumType?: EnumDescriptor[];
  options?: { mapEntry?: boolean };
}

interface EnumDescriptor {
  name: string;
  value: { name: string; number?: number }[];
}

interface ServiceDescriptor {
  name: string;
  method: { name: string; inputType: string; outputType: string }[];
}

interface FileDescriptor {
  package: string;
  messageType: MessageDescriptor[];
  enumType: EnumDescriptor[];
  service: ServiceDescriptor[];
}

/** The TypeScript of a scalar, by Protocol Buffers' name of it. */
const scalars: Readonly<Record<string, string>> = {
  string: "string",
  bytes: "Uint8Array",
  bool: "boolean",
  int32: "number",
  uint32: "number",
  int64: "bigint",
  uint64: "bigint",
};

const { file } = JSON.parse(await text(process.stdin)) as { file: [FileDescriptor] };
const [proto] = file;
const prefix = `.${proto.package}.`;
const nameOf = (typeName: string) => typeName.slice(prefix.length).replaceAll(".", "_");
const messages = proto.messageType.flatMap((message) => [message, ...(message.nestedType ?? [])]);
const maps = new Set(messages.filter((message) => message.options?.mapEntry).map((message) => message.name));

function messageText(message: MessageDescriptor): string {
  const fields = message.field ?? [];
  const types = fields
    .map((field) => `  ${field.jsonName}${isOptional(field) ? "?" : ""}: ${typeOf(field)};\n`)
    .join("");
  const rows = fields.map((field) => `  ["${field.jsonName}", ${field.number}, ${codecOf(field)}],\n`).join("");
  const { name } = message;
  const type = types === "" ? `type ${name} = Record<never, never>;` : `interface ${name} {\n${types}}`;
  return `export ${type}\nexport const ${name}: Schema<${name}> = schema(() => [\n${rows}]);\n`;
}

const scalarOf = (field: FieldDescriptor) => field.type.replace("TYPE_", "").toLowerCase();
const isRepeated = (field: FieldDescriptor) => field.label === "LABEL_REPEATED";
const isMap = (field: FieldDescriptor) => maps.has(field.typeName?.split(".").at(-1) ?? "");
const isOptional = (field: FieldDescriptor) => field.type === "TYPE_MESSAGE" && !isRepeated(field);

function typeOf(field: FieldDescriptor): string {
  if (isMap(field)) return "{ [key: string]: string }";
  const type = scalars[scalarOf(field)] ?? nameOf(field.typeName ?? "");
  return isRepeated(field) ? `${type}[]` : type;
}

function codecOf(field: FieldDescriptor): string {
  if (isMap(field)) return '"map"';
  const codec = field.type === "TYPE_MESSAGE" ? nameOf(field.typeName ?? "") : `"${scalarOf(field)}"`;
  return isRepeated(field) ? `[${codec}]` : codec;
}

function enumText({ name, value }: EnumDescriptor, parent = ""): string {
  const full = `${parent}${name}`;
  const rows = value.map((each) => `  ${each.name}: ${each.number ?? 0},\n`).join("");
  return `export const ${full} = {\n${rows}} as const;\nexport type ${full} = (typeof ${full})[keyof typeof ${full}];\n`;
}

function serviceText({ name, method }: ServiceDescriptor): string {
  const rows = method.map((each) => {
    const [input, output] = [nameOf(each.inputType), nameOf(each.outputType)];
    const key = each.name.charAt(0).toLowerCase() + each.name.slice(1);
    const path = `/${proto.package}.${name}/${each.name}`;
    return `  ${key}: { path: "${path}", input: ${input}, output: ${output} },\n`;
  });
  return `export const ${name} = {\n${rows.join("")}};\n`;
}

const parts = [
  'import { type Schema, schema } from "./message.ts";\n',
  ...proto.enumType.map((each) => enumText(each)),
  ...proto.messageType.flatMap((message) => (message.enumType ?? []).map((each) => enumText(each, `${message.name}_`))),
  ...proto.messageType.map(messageText),
  ...proto.service.map(serviceText),
];
process.stdout.write(parts.join("\n"));
