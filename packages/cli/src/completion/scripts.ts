const bash = `# source <(fjord completion bash)
_fjord() {
  local IFS=$'\\n' offered
  offered=$(fjord __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
  local current="\${COMP_WORDS[COMP_CWORD]}"
  [[ $current == "=" ]] && current=""
  COMPREPLY=()
  if [[ $offered == ":files" ]]; then
    compopt -o default 2>/dev/null
  elif [[ -n $offered ]]; then
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
  fi
}
complete -F _fjord fjord
`;

const zsh = `#compdef fjord
# source <(fjord completion zsh)
_fjord() {
  local -a offered
  offered=(\${(f)"$(fjord __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | cut -f1)"})
  # In --context=wave only what stands behind the sign is completed.
  [[ $PREFIX == --*=* ]] && compset -P '*='
  if [[ $offered[1] == ":files" ]]; then _files; elif (( $#offered )); then compadd -a offered; fi
}
autoload -Uz compinit
(( $+functions[compdef] )) || compinit
compdef _fjord fjord
`;

const fish = `# fjord completion fish | source
function __fjord_complete
  set -l current (commandline -ct)
  set -l offered (fjord __complete (commandline -opc)[2..] $current 2>/dev/null)
  # Of --context=wave fish wants all, the option too.
  set -l option (string match -r -- '^--[a-z-]+=' $current)
  if test "$offered[1]" = ":files"
    set offered (__fish_complete_path (string replace -r -- '^--[a-z-]+=' '' $current))
  end
  if test (count $offered) -gt 0
    printf '%s\\n' "$option"$offered
  end
end
complete -c fjord -f -a '(__fjord_complete)'
`;

/** Each asks the program itself, so that it offers names of this moment and is never out of date. */
export const completionScripts: Readonly<Record<"bash" | "zsh" | "fish", string>> = { bash, zsh, fish };
