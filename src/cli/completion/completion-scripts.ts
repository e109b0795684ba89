// The shell scripts that ask wafsync for completions. They contain no commands or options, so they stay correct when wafsync is
// upgraded.

/** COMP_WORDS can't be used: bash treats colons and equals signs as separate words. */
const bash = `# Completion of wafsync for bash 4 and newer. Made by: wafsync completion bash

_wafsync() {
  local -a words lines
  local line directive current
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  if [[ \${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]]; then words+=(""); fi
  current=\${words[\${#words[@]} - 1]}
  mapfile -t lines < <("\${words[0]/#\\~/$HOME}" __complete -- "\${words[@]:1}" 2> /dev/null)
  COMPREPLY=()
  if ((\${#lines[@]} == 0)); then return; fi
  directive=\${lines[\${#lines[@]} - 1]}
  unset "lines[\${#lines[@]} - 1]"
  for line in "\${lines[@]}"; do COMPREPLY+=("\${line%%$'\\t'*}"); done
  if [[ $directive == :0 ]]; then
    compopt -o filenames 2> /dev/null
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _wafsync wafsync
`;

const zsh = `#compdef wafsync
# Completion of wafsync for zsh. Made by: wafsync completion zsh

_wafsync() {
  local -a lines candidates
  local line directive
  lines=("\${(@f)$("\${(Q)words[1]/#\\~/$HOME}" __complete -- "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  directive=\${lines[-1]}
  lines=("\${(@)lines[1,-2]}")
  for line in "\${lines[@]}"; do
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe -V wafsync candidates; fi
  if [[ $directive == :0 ]]; then _files; fi
}

# In a folder of fpath, this file is the function itself; if it is sourced, it declares the function.
if [[ \${funcstack[1]} == _wafsync ]]; then _wafsync "$@"; else compdef _wafsync wafsync; fi
`;

const fish = `# Completion of wafsync for fish 3 and newer. Made by: wafsync completion fish

function __wafsync_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete -- $words "$current" 2>/dev/null)
    set -l directive $lines[-1]
    set -e lines[-1]
    printf '%s\\n' $lines
    if test "$directive" = ':0'
        __fish_complete_path "$current"
    end
end

complete --command wafsync --no-files --keep-order --arguments '(__wafsync_complete)'
`;

const scripts = { bash, zsh, fish };

export async function runCompletion(shell: keyof typeof scripts, _options: object): Promise<number> {
  process.stdout.write(scripts[shell]);
  return await Promise.resolve(0);
}
