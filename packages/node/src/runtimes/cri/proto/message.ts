/** Types of a field that hold one value. An enumeration travels, and is kept, as its number. */
export type Scalar = "string" | "bytes" | "bool" | "int32" | "uint32" | "enum" | "int64" | "uint64";

type FieldType = Scalar | "map" | Schema<unknown> | readonly [Scalar | Schema<unknown>];

export type Field = readonly [name: string, number: number, type: FieldType];

/** How messages of one type are written and read: the part of Protocol Buffers (version 3) that CRI uses. */
export interface Schema<T> {
  /** Called once, when it is first needed: most messages never are. */
  readonly fields: () => readonly Field[];
  /** Never there: tells types apart. */
  readonly message?: T;
}

export interface Method<I, O> {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly input: Schema<I>;
  readonly output: Schema<O>;
}

/** What a message is made of: whatever is left out has its default. */
export type Init<T> = { readonly [K in keyof T]?: InitField<T[K]> };

type InitField<V> = V extends undefined | string | number | bigint | boolean | Uint8Array
  ? V
  : V extends readonly (infer E)[]
    ? readonly InitField<E>[]
    : V extends { [key: string]: string }
      ? Readonly<Record<string, string>>
      : Init<V>;

export function schema<T>(fields: () => readonly Field[]): Schema<T> {
  let known: readonly Field[] | undefined;
  return {
    fields: () => {
      known ??= fields();
      return known;
    },
  };
}
