/** Replaces each `$(NAME)` whose variable is known; `$$` stands for a dollar sign, so that `$$(NAME)` stays as `$(NAME)`. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) =>
    name === undefined ? "$" : (variables.get(name) ?? whole),
  );
}

/** The variables of a text that are not known. */
export function unknownVariables(text: string, variables: ReadonlyMap<string, string>): string[] {
  const names = [...text.matchAll(/\$(?:\$|\(([^)]*)\))/g)].map((match) => match[1]);
  return names.filter((name): name is string => name !== undefined && !variables.has(name));
}
