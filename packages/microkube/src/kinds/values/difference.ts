const context = 3;

/** What changed between two values, as a unified diff of their text: for people who are refused a change. */
export function difference(before: unknown, after: unknown): string {
  const a = lines(before);
  const b = lines(after);
  const edits = compare(a, b);
  const shown = edits.map((_, i) =>
    edits.slice(Math.max(0, i - context), i + context + 1).some(({ sign }) => sign !== " "),
  );
  let text = "";
  for (let i = 0; i < edits.length; i++) {
    if (!shown[i]) continue;
    let end = i;
    while (end < edits.length && shown[end]) end++;
    text += hunk(edits.slice(0, i), edits.slice(i, end));
    i = end;
  }
  return text;
}

interface Edit {
  readonly sign: " " | "-" | "+";
  readonly line: string;
}

const lines = (value: unknown): string[] => (JSON.stringify(value, null, 1) ?? "null").split("\n");

function hunk(before: readonly Edit[], edits: readonly Edit[]): string {
  const count = (list: readonly Edit[], sign: "-" | "+") => list.filter((one) => one.sign !== sign).length;
  const range = (sign: "-" | "+") => {
    const length = count(edits, sign === "-" ? "+" : "-");
    const start = count(before, sign === "-" ? "+" : "-") + (length === 0 ? 0 : 1);
    return length === 1 ? `${start}` : `${start},${length}`;
  };
  return `@@ -${range("-")} +${range("+")} @@\n${edits.map(({ sign, line }) => `${sign}${line}\n`).join("")}`;
}

/** Equal beginnings and ends aside, the longest common subsequence: specs are small. */
function compare(a: readonly string[], b: readonly string[]): Edit[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (list: readonly string[]): Edit[] => list.map((line) => ({ sign: " ", line }));
  return [
    ...same(a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ];
}

function middle(a: readonly string[], b: readonly string[]): Edit[] {
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i] as Uint32Array;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const edits: Edit[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push({ sign: " ", line: a[i] as string });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      edits.push({ sign: "-", line: a[i++] as string });
    } else edits.push({ sign: "+", line: b[j++] as string });
  }
  return edits;
}
