# bash completion for lyrsvc: source this file, or install it as completions/lyrsvc

# Divide the line into words as the shell will see them: bash splits at = and : too.
_lyrsvc_words() {
    local rest=${COMP_LINE:0:COMP_POINT} piece i
    _lyrsvc_line=() _lyrsvc_last=''
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)) && [[ -n $COMP_LINE ]]; then
            # only what stands before the cursor counts
            local trimmed=${rest#"${rest%%[![:space:]]*}"}
            [[ $piece == "$trimmed"* ]] && piece=$trimmed
        fi
        if ((i > 0)) && _lyrsvc_joined "$i" "$rest"; then
            _lyrsvc_line[-1]+=$piece
        else
            _lyrsvc_line+=("$piece")
        fi
        # a break character itself is never replaced, only what follows it
        [[ $piece == [=:] ]] && _lyrsvc_last='' || _lyrsvc_last=$piece
        if [[ -n $COMP_LINE ]]; then
            rest=${rest#"${rest%%[![:space:]]*}"}
            rest=${rest#"$piece"}
        fi
    done
}

# Tell whether word $1 stands directly behind the one before it.
_lyrsvc_joined() {
    if [[ -n $COMP_LINE ]]; then
        [[ $2 != [[:space:]]* ]]
    else
        [[ ${COMP_WORDS[$1]} == [=:]* || ${COMP_WORDS[$1 - 1]} == *[=:] ]]
    fi
}

# Write a candidate so that the shell reads it back unchanged, behind the quote that is open.
_lyrsvc_quoted() {
    case $2 in
    \"*) REPLY=${1//\\/\\\\} REPLY=${REPLY//\"/\\\"} REPLY=${REPLY//\$/\\\$} REPLY=${REPLY//\`/\\\`} ;;
    \'*) REPLY=${1//\'/\'\\\'\'} ;;
    *) printf -v REPLY %q "$1" ;;
    esac
}

_lyrsvc() {
    local -a _lyrsvc_line
    local _lyrsvc_last program=${1:-lyrsvc} candidate current before REPLY
    [[ $program == '~/'* ]] && program=$HOME/${program:2}
    _lyrsvc_words
    current=${_lyrsvc_line[-1]}
    before=${current%"$_lyrsvc_last"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        # bash replaces only the piece behind the last = or :
        if [[ -n $before ]]; then
            candidate=${candidate#"$before"}
        fi
        _lyrsvc_quoted "$candidate" "$_lyrsvc_last"
        COMPREPLY+=("$REPLY")
    done < <(LYRSVC_COMPLETE_SHELL=bash "$program" __complete "${_lyrsvc_line[@]:1}" 2>/dev/null)
}

complete -o default -F _lyrsvc lyrsvc
