import type { Command } from "commander";
import { argumentSources, optionSources, type Source } from "./sources.ts";

export interface Offer {
  readonly words: readonly { readonly word: string; readonly about?: string }[];
  /** Whose names could come here too. */
  readonly sources: readonly Source[];
  /** A file's name could come here. */
  readonly files: boolean;
  /** What is typed of the word already. */
  readonly prefix: string;
  /** What was said of the cluster and the namespace. */
  readonly flags: Readonly<Record<"kubeconfig" | "context" | "namespace", string | undefined>>;
}

/** What could come next. `typed`: the words behind the program's name, the last of them unfinished. */
export function complete(program: Command, typed: readonly string[]): Offer {
  const { words, prefix, assigned } = takenApart(typed);
  const [name = "", ...rest] = words.filter((word, index) => index > 0 || !word.startsWith("-"));
  const command = program.commands.find((each) => each.name() === name);
  const flags = {
    kubeconfig: optionValue(rest, "--kubeconfig"),
    context: optionValue(rest, "--context"),
    namespace: optionValue(rest, "--namespace", "-n"),
  };
  const none: Offer = { words: [], sources: [], files: false, prefix, flags };
  if (command === undefined) {
    if (words.length > 0) return none;
    return { ...none, words: prefix.startsWith("-") ? optionsOf(program) : commandsOf(program) };
  }
  const before = assigned ?? rest.at(-1) ?? "";
  const meant = subcommandOf(command, rest);
  const option = meant.options.find(({ long, short, required }) => required && [long, short].includes(before));
  if (option !== undefined) {
    if (option.argChoices !== undefined) return { ...none, words: option.argChoices.map((word) => ({ word })) };
    const source = optionSources[option.long ?? ""];
    return {
      ...none,
      ...(typeof source === "object"
        ? { words: source.map((word) => ({ word })) }
        : source === "files"
          ? { files: true }
          : { sources: source === undefined ? [] : [source] }),
    };
  }
  if (prefix.startsWith("-")) return { ...none, words: optionsOf(meant) };
  if (meant !== command && rest.includes(meant.name())) {
    const behind = rest.slice(rest.indexOf(meant.name()) + 1);
    return { ...none, ...argumentOffer(`${name} ${meant.name()}`, argumentsIn(meant, behind)) };
  }
  if (meant !== command && argumentsIn(command, rest) > 0) return none;
  const sub = command.commands.map((each) => ({ word: each.name(), about: each.description() }));
  const { words: listed, sources } = argumentOffer(name, argumentsIn(command, rest));
  return { ...none, words: [...(argumentsIn(command, rest) === 0 ? sub : []), ...listed], sources };
}

/** What the argument behind so many others may be. */
function argumentOffer(command: string, before: number): Pick<Offer, "words" | "sources"> {
  const places = argumentSources[command] ?? [];
  const place = places[Math.min(before, places.length - 1)] ?? [];
  return {
    words: place.filter((each) => typeof each === "object").map(({ word }) => ({ word })),
    sources: place.filter((each) => typeof each === "string"),
  };
}

/** As in `fjord pair token`; where none is named, the command itself, or what it does then by itself as `fjord micro` does. */
function subcommandOf(command: Command, rest: readonly string[]): Command {
  const named = command.commands.find((each) => rest.includes(each.name()));
  const usual = command.options.length === 0 ? command.commands[0] : undefined;
  return named ?? usual ?? command;
}

/** bash takes `--context=wave` for three words; others for one. */
function takenApart(typed: readonly string[]): { words: string[]; prefix: string; assigned?: string } {
  const words: string[] = [];
  for (const word of typed) {
    if (word === "=") continue;
    words.push(word);
  }
  const prefix = typed.at(-1) === "=" ? "" : (words.pop() ?? "");
  const [, option, value] = /^(--[a-z-]+)=(.*)$/.exec(prefix) ?? [];
  return option === undefined ? { words, prefix } : { words, prefix: value ?? "", assigned: option };
}

function optionValue(words: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    if (names.includes(word)) return words[index + 1];
    const name = names.find((each) => word.startsWith(`${each}=`));
    if (name !== undefined) return word.slice(name.length + 1);
  }
  return undefined;
}

function argumentsIn(command: Command, words: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (!word.startsWith("-")) count++;
    else if (command.options.some(({ long, short, required }) => required && [long, short].includes(word))) index++;
  }
  return count;
}

function commandsOf(program: Command) {
  const shown = program.commands.filter((command) => !command.name().startsWith("_"));
  return shown.map((command) => ({ word: command.name(), about: command.description() }));
}

function optionsOf(command: Command) {
  const own = command.options.flatMap(({ long, description }) =>
    long === undefined ? [] : [{ word: long, about: description }],
  );
  return [...own, { word: "--help", about: "show help" }];
}
