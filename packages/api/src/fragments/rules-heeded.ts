/** Of whatever has rules of reflection: whether they say anything. There only where there are, or were, rules. */
export const rulesHeeded = {
  meaning: "Every rule of reflection is about something that is reflected.",
  reasons: {
    AllHeeded: "They are, or there are none any more.",
    ResourceUnknown: "Some are not, and have no effect: the message says which, and what was probably meant.",
  },
} as const;
