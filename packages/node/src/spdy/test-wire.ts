import { Duplex, duplexPair } from "node:stream";

/** Two ends of a byte stream that cuts what goes through it as `sizes` say, in turn. */
export function choppedPair(sizes: readonly number[] = []): [Duplex, Duplex] {
  const [a, b] = duplexPair();
  a.once("close", () => b.destroy());
  b.once("close", () => a.destroy());
  return [chopped(a, sizes), chopped(b, sizes)];
}

function chopped(inner: Duplex, sizes: readonly number[]): Duplex {
  let turn = 0;
  const outer = new Duplex({
    read: () => void inner.resume(),
    write(data: Buffer, _encoding, done) {
      let rest = data;
      while (rest.length > 0) {
        const size = sizes.length === 0 ? rest.length : (sizes[turn++ % sizes.length] ?? rest.length);
        const piece = rest.subarray(0, size);
        rest = rest.subarray(piece.length);
        if (rest.length === 0) inner.write(Buffer.from(piece), done);
        else inner.write(Buffer.from(piece));
      }
      if (data.length === 0) done();
    },
    final: (done) => void inner.end(done),
    destroy(error, done) {
      inner.destroy();
      done(error);
    },
  });
  inner.pause();
  inner.on("data", (data) => {
    if (!outer.push(data)) inner.pause();
  });
  inner.on("end", () => outer.push(null));
  inner.on("close", () => outer.destroy());
  return outer;
}
