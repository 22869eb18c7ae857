// Finds links in Markdown that lead nowhere. Pure: takes texts and the set of files, gives what is broken.

export interface Document {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface BrokenLink {
  readonly path: string;
  readonly line: number;
  readonly target: string;
  readonly why: string;
}

/** Relative links whose file, folder or heading is not there. Links to the web are not followed. */
export function findBrokenLinks(documents: readonly Document[], exists: (path: string) => boolean): BrokenLink[] {
  const anchors = new Map(documents.map((document) => [document.path, anchorsOf(document.text)]));
  return documents.flatMap((document) =>
    linksOf(document.text).flatMap(({ target, line }) => {
      const why = judge(document.path, target, anchors, exists);
      return why === undefined ? [] : [{ path: document.path, line, target, why }];
    }),
  );
}

function judge(
  from: string,
  target: string,
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
  exists: (path: string) => boolean,
): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const [file = "", anchor] = target.split("#", 2);
  const decoded = decode(file);
  if (decoded === undefined) return "its escapes cannot be decoded";
  const path = decoded === "" ? from : resolvePath(from, decoded);
  if (path === undefined) return "leaves the repository";
  if (!exists(path)) return `there is no ${path}`;
  if (anchor === undefined || !path.endsWith(".md")) return undefined;
  return anchors.get(path)?.has(anchor) ? undefined : `${path} has no heading for #${anchor}`;
}

export function linksOf(text: string): { target: string; line: number }[] {
  const prose = withoutCode(text);
  return LINKS.flatMap((form) =>
    [...prose.matchAll(form)].map((match) => ({
      target: match[1] ?? "",
      line: prose.slice(0, match.index).split("\n").length,
    })),
  );
}

/** `[text](target)`, `[name]: target`, and HTML. */
const LINKS = [
  /\]\(\s*<?([^)\s>]+)>?[^)]*\)/g,
  /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/gm,
  /<(?:a|img)\b[^>]*?\b(?:href|src)="([^"]*)"/g,
];

function decode(target: string): string | undefined {
  try {
    return decodeURIComponent(target);
  } catch {
    return undefined;
  }
}

/** The anchors that GitHub makes of a document's headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, "");
  for (const [, heading = ""] of prose.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = heading
      .toLowerCase()
      .replace(/\]\([^)]*\)/g, "")
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    let unique = slug;
    for (let n = 1; anchors.has(unique); n++) unique = `${slug}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

function withoutCode(text: string): string {
  const blank = (code: string) => code.replace(/[^\n]/g, " ");
  return text.replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, blank).replace(/`[^`\n]*`/g, blank);
}

function resolvePath(from: string, target: string): string | undefined {
  const parts = from.split("/").slice(0, -1);
  for (const part of target.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return undefined;
    } else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
