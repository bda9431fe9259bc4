# fish completion for lyrsvc: source this file, or install it as completions/lyrsvc.fish

function __lyrsvc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l plain (string unescape -- $current 2>/dev/null)
    or set -l plain $current
    set -l found (LYRSVC_COMPLETE_DESCRIPTIONS=1 command $program __complete $words "$plain" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end

complete -c lyrsvc -f -a '(__lyrsvc_complete)'
