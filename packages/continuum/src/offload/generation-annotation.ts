/** On a guest's pod: generation of the shadow pod that it was last made like. */
export const GENERATION_ANNOTATION = "fjord.dev/shadow-generation";
