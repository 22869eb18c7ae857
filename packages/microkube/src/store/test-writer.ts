// Writes for as long as it lives, and prints each key and value that was acknowledged; forgets what is old, if asked to.
import { SqliteStore } from "./sqlite-store.ts";
import { put } from "./test-store.ts";

const [path = "", survives = "process", forgets] = process.argv.slice(2);
const store = new SqliteStore({ path, survives: survives as "process" | "machine" });
const writer = async (key: string) => {
  for (;;) {
    const head = store.head(key);
    const revision = await store.write([put(key, head?.revision ?? 0, `${key}#${head?.revision ?? 0}`)]);
    process.stdout.write(`${key} ${revision}\n`);
    if (forgets !== undefined) store.compact(revision - 20);
  }
};
await Promise.all(Array.from({ length: 8 }, (_, index) => writer(`pods/a/${index}`)));
