import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/**
 * Gives namespaces in JSON the names that they have on the other side. Lines go on as they end, so that a watch is not held
 * up; what has none is one document.
 */
export function renamedNamespaces(names: ReadonlyMap<string, string>): Transform {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const renamed = (text: string) =>
    text.replace(
      /("namespace"\s*:\s*")([a-z0-9-]+)(?=")/g,
      (_, before: string, name: string) => before + (names.get(name) ?? name),
    );
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const text = rest + decoder.write(chunk);
      const end = text.lastIndexOf("\n") + 1;
      rest = text.slice(end);
      done(null, end === 0 ? undefined : renamed(text.slice(0, end)));
    },
    flush(done) {
      done(null, renamed(rest + decoder.end()));
    },
  });
}
