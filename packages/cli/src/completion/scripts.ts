const bash = `# source <(fjord completion bash)
_fjord() {
  local IFS=$'\\n' offered
  offered=$(fjord __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
  local current="\${COMP_WORDS[COMP_CWORD]}"
  [[ $current == "=" ]] && current=""
  COMPREPLY=()
  [[ $offered == ":files" || -z $offered ]] || COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _fjord fjord
`;

const zsh = `#compdef fjord
# source <(fjord completion zsh)
_fjord() {
  local -a offered
  offered=(\${(f)"$(fjord __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | cut -f1)"})
  if [[ $#offered -eq 0 || $offered[1] == ":files" ]]; then _files; else compadd -a offered; fi
}
autoload -Uz compinit
(( $+functions[compdef] )) || compinit
compdef _fjord fjord
`;

const fish = `# fjord completion fish | source
function __fjord_complete
  set -l offered (fjord __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test (count $offered) -eq 0; or test "$offered[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $offered
  end
end
complete -c fjord -f -a '(__fjord_complete)'
`;

/** Each asks the program itself, so that it offers names of this moment and is never out of date. */
export const completionScripts: Readonly<Record<"bash" | "zsh" | "fish", string>> = { bash, zsh, fish };
