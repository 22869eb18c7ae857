const block = 512;
/**
 * A ustar archive. Owner root, time zero, entries in the order given: the same entries give the same bytes, so that an
 * image made twice has one digest.
 */
export function tarArchive(entries) {
    const parts = [];
    for (const entry of entries) {
        parts.push(header(entry));
        if ("content" in entry)
            parts.push(entry.content, new Uint8Array(padding(entry.content.length)));
    }
    parts.push(new Uint8Array(2 * block));
    return Buffer.concat(parts);
}
/** The entries of an archive that `tarArchive` wrote. */
export function* readTar(archive) {
    const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
    for (let at = 0; at + block <= bytes.length && bytes[at] !== 0;) {
        const text = (from, length) => bytes.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
        const octal = (from, length) => Number.parseInt(text(from, length), 8);
        const prefix = text(345, 155);
        const path = prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
        const size = octal(124, 12);
        const mode = octal(100, 8);
        const type = text(156, 1);
        if (type === "5")
            yield { path: path.replace(/\/$/, ""), directory: true, mode };
        else if (type === "2")
            yield { path, link: text(157, 100) };
        else
            yield { path, content: bytes.subarray(at + block, at + block + size), mode };
        at += block + size + padding(size);
    }
}
function header(entry) {
    const bytes = Buffer.alloc(block);
    const { name, prefix } = splitPath("directory" in entry ? `${entry.path}/` : entry.path);
    bytes.write(name, 0, 100, "utf8");
    bytes.write(octal(mode(entry), 8), 100);
    bytes.write(octal(0, 8), 108);
    bytes.write(octal(0, 8), 116);
    bytes.write(octal("content" in entry ? entry.content.length : 0, 12), 124);
    bytes.write(octal(0, 12), 136);
    bytes.write("content" in entry ? "0" : "link" in entry ? "2" : "5", 156);
    if ("link" in entry)
        bytes.write(entry.link, 157, 100, "utf8");
    bytes.write("ustar\u000000", 257);
    bytes.write("root", 265);
    bytes.write("root", 297);
    bytes.write(prefix, 345, 155, "utf8");
    // The sum is taken with its own field full of spaces.
    bytes.fill(" ", 148, 156);
    const sum = bytes.reduce((total, byte) => total + byte, 0);
    bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return bytes;
}
function mode(entry) {
    if ("link" in entry)
        return 0o777;
    return entry.mode ?? ("directory" in entry ? 0o755 : 0o644);
}
function octal(value, width) {
    return `${value.toString(8).padStart(width - 1, "0")}\0`;
}
function padding(size) {
    return (block - (size % block)) % block;
}
/** A path of more than 100 bytes is cut at a slash into name and prefix. */
function splitPath(path) {
    if (Buffer.byteLength(path) <= 100)
        return { name: path, prefix: "" };
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
        const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
        if (name !== "" && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155)
            return { name, prefix };
    }
    throw new RangeError(`the path is too long for a tar archive: ${path}`);
}
