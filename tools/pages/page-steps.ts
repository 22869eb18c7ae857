/** A command of a page, and what the page says that it prints. */
export interface PageStep {
  readonly line: number;
  readonly command: string;
  /** Lines that it prints; nothing where the page does not show what it prints. */
  readonly prints?: readonly string[];
}

const FENCE = /^```(\w*)/;
const NOT_RUN = /^<!-- not run: .+ -->$/;

/**
 * What a reader of the page would type, in its order. Blocks of `console` have prompts (`$ `) and what is printed; blocks of
 * `sh` are typed as they stand. One below the comment `not run: REASON` is left out.
 */
export function pageSteps(markdown: string): PageStep[] {
  const steps: PageStep[] = [];
  const lines = markdown.split("\n");
  let before = "";
  for (let at = 0; at < lines.length; at++) {
    const language = FENCE.exec(lines[at] ?? "")?.[1];
    if (language === undefined) {
      if (lines[at]?.trim() !== "") before = lines[at]?.trim() ?? "";
      continue;
    }
    const end = lines.indexOf("```", at + 1);
    const block = lines.slice(at + 1, end);
    if (!NOT_RUN.test(before)) {
      if (language === "sh") steps.push({ line: at + 2, command: block.join("\n") });
      if (language === "console") steps.push(...session(block, at + 2));
    }
    before = "";
    at = end;
  }
  return steps;
}

function session(block: readonly string[], first: number): PageStep[] {
  const steps: PageStep[] = [];
  for (let at = 0; at < block.length; at++) {
    const line = first + at;
    const text = block[at] ?? "";
    if (!text.startsWith("$ ")) {
      (steps.at(-1)?.prints as string[] | undefined)?.push(text);
      continue;
    }
    const command = [text.slice(2)];
    const heredoc = /<<(\w+)$/.exec(text)?.[1];
    const goesOn = () =>
      heredoc === undefined ? command.at(-1)?.endsWith("\\") : command.length === 1 || command.at(-1) !== heredoc;
    while (goesOn() && at + 1 < block.length) command.push(block[++at] ?? "");
    steps.push({ line, command: command.join("\n"), prints: [] });
  }
  return steps;
}
