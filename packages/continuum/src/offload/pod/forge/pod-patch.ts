import type { Mutator } from "./forge-context.ts";
import { labelTravels } from "./metadata.ts";
import { strategicMerge } from "./strategic-merge.ts";

/** What the owner of the virtual node wants of every pod that goes through it. Comes last, and so has the last word. */
export const applyPodPatch: Mutator = (template, _pod, { podPatch }) => {
  if (podPatch === undefined) return template;
  const { labels, annotations } = (podPatch.metadata ?? {}) as {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  return {
    labels: travelling(strategicMerge(template.labels, labels ?? {})),
    annotations: {
      ...ownOf(template.annotations),
      ...travelling(strategicMerge(template.annotations, annotations ?? {})),
    },
    spec: strategicMerge(template.spec, podPatch.spec ?? {}),
  };
};

function travelling(all: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => labelTravels(name)));
}

/** What forging itself has added. */
function ownOf(all: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !labelTravels(name)));
}
