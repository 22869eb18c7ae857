import { Command } from "commander";

/** A group of commands (`fjord` itself, `fjord network`) that is asked for none of them answers with its help: that is no mistake. */
export class FjordCommand extends Command {
  override createCommand(name?: string): FjordCommand {
    return new FjordCommand(name);
  }

  override help(): never {
    return super.help();
  }
}
