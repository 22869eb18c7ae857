/** Control characters but for the end of a line and tabs, and what makes a terminal show text in another order than it has. */
const STEERING = /(?![\n\t])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A text of other sites or of pods, shown and not obeyed: what would steer a terminal is spelt out, as `^[` for escape. What
 * people see must be what is there, whoever wrote it.
 */
export function shown(text: string): string {
  return text.replace(STEERING, spelt);
}

/** The same for JSON, and for YAML where all of it is quoted: those who read it read the same. */
export function escaped(json: string): string {
  return json.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same on one line. */
export function shownInLine(text: string): string {
  return shown(text.replace(/\s*[\r\n\t]+\s*/g, " "));
}

function spelt(character: string): string {
  const code = character.charCodeAt(0);
  if (code === 0x7f) return "^?";
  return code < 0x20 ? `^${String.fromCharCode(code + 0x40)}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

const COLOUR = "\u001b\\[[\\d;:]{0,40}m";
const PARTS = new RegExp(`${COLOUR}|\\r?\\n|${STEERING.source}`, "gu");
/** What the next piece may make a colour or an end of line of. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about.
const UNFINISHED = /(?:\u001b(?:\[[\d;:]{0,40})?|\r)$/;
const PLAIN = "\u001b[0m";

/** An output of pods on its way to a terminal, in pieces: it may colour its lines, each for itself, and nothing else. */
export class TerminalLines {
  #unfinished = "";
  #isColoured = false;

  take(piece: string): string {
    const text = this.#unfinished + piece;
    const end = UNFINISHED.exec(text)?.index ?? text.length;
    this.#unfinished = text.slice(end);
    return text.slice(0, end).replace(PARTS, (part) => this.#part(part));
  }

  /** What is left where no more comes. */
  rest(): string {
    return shown(this.#unfinished) + this.#plain();
  }

  #part(part: string): string {
    if (part.endsWith("\n")) return this.#plain() + part;
    if (part.length === 1) return shown(part);
    this.#isColoured = true;
    return part;
  }

  #plain(): string {
    const isColoured = this.#isColoured;
    this.#isColoured = false;
    return isColoured ? PLAIN : "";
  }
}
