import assert from "node:assert/strict";
import { test } from "node:test";
import { pageSteps } from "./page-steps.ts";

const page = `# A page

<!-- not run: it is about the reader's machine -->

\`\`\`sh
git clone x
\`\`\`

Some words.

\`\`\`console
$ one \\
  --more
printed

and this
$ two <<END
$ not a command
END
\`\`\`

\`\`\`yaml
kind: Pod
\`\`\`

\`\`\`sh
three
four
\`\`\`
`;

test("what a reader types is found, with what the page says of its output", () => {
  assert.deepEqual(pageSteps(page), [
    { line: 12, command: "one \\\n  --more", prints: ["printed", "", "and this"] },
    { line: 17, command: "two <<END\n$ not a command\nEND", prints: [] },
    { line: 27, command: "three\nfour" },
  ]);
});
