#!/bin/sh
# lyrsvc rename hook: sidecars follow the audio files that Lidarr renames.
#
# In Lidarr: Settings > Connect > Custom Script, trigger "On Rename", path of this file.
# Runs where Lidarr runs; it needs a POSIX shell and nothing else. Lidarr and whoever
# writes the sidecars must see the music under the same paths.
#
# The .lrc (with an .elrc) and the .txt beside each old name get the new name. A file
# that stands there already is never replaced, and audio is never touched.

set -f

event=${Lidarr_EventType:-${lidarr_eventtype:-${LIDARR_EVENTTYPE:-}}}
olds=${Lidarr_TrackFile_PreviousPaths:-${lidarr_trackfile_previouspaths:-${LIDARR_TRACKFILE_PREVIOUSPATHS:-}}}
news=${Lidarr_TrackFile_Paths:-${lidarr_trackfile_paths:-${LIDARR_TRACKFILE_PATHS:-}}}

case $event in
    [Rr][Ee][Nn][Aa][Mm][Ee]) ;;
    '') if [ -z "$olds" ] || [ -z "$news" ]; then exit 0; fi ;;
    *) exit 0 ;;
esac

moved=0
already=0
kept=0
failed=0

# Print one line, whatever characters are in the names.
say() {
    printf '%s' "$*" | tr '\n\r\t' '???'
    echo
}

complain() {
    printf '%s' "lyrsvc rename hook: $*" | tr '\n\r\t' '???' >&2
    echo >&2
}

# Count the paths of a list into $count.
count_paths() {
    count=0
    rest="$1|"
    while [ -n "$rest" ]; do
        rest=${rest#*"|"}
        count=$((count + 1))
    done
}

# Put the path without its last extension into $stem; false when it is no absolute path.
stem_of() {
    case $1 in
        /*) ;;
        *) return 1 ;;
    esac
    name=${1##*/}
    case $name in
        ?*.*) name=${name%.*} ;;
    esac
    [ -n "$name" ] || return 1
    stem=${1%/*}/$name
}

is_there() {
    [ -e "$1" ] || [ -L "$1" ]
}

fail() {
    failed=$((failed + 1))
    complain "cannot move $1: $2"
    return 1
}

is_source() {
    [ -f "$1" ] && [ ! -L "$1" ]
}

# Rename one file without ever replacing one; true when it has the new name afterwards.
move_file() {
    mkdir -p -- "${2%/*}" || { fail "$1" "its new directory cannot be made"; return 1; }
    if ln -- "$1" "$2" 2>/dev/null; then
        if ! rm -f -- "$1"; then
            rm -f -- "$2"
            fail "$1" "it cannot be removed from its old place"
            return 1
        fi
    else
        mv -n -- "$1" "$2"
        if is_there "$1" || [ ! -f "$2" ]; then
            fail "$1" "the file system refused"
            return 1
        fi
    fi
    moved=$((moved + 1))
    say "moved $1 -> $2"
}

# Tell whether a file that is not at its old name has its new one already.
is_done() {
    [ -f "$1" ] && already=$((already + 1))
}

count_paths "$olds"
old_count=$count
count_paths "$news"
if [ -z "$olds" ] || [ -z "$news" ]; then
    complain "the list of old or of new paths is empty; nothing was moved"
    exit 1
fi
if [ "$old_count" -ne "$count" ]; then
    complain "there are $old_count old and $count new paths; nothing was moved"
    exit 1
fi

# What stands at the old names now is what is to be moved, nothing that gets there later:
# a new name may be another file's old one. Each file is three words of "$@".
set --
olds="$olds|"
news="$news|"
while [ -n "$olds" ]; do
    old=${olds%%"|"*}
    new=${news%%"|"*}
    olds=${olds#*"|"}
    news=${news#*"|"}
    if ! stem_of "$old"; then
        fail "$old" "this is no absolute path"
        continue
    fi
    old_stem=$stem
    if ! stem_of "$new"; then
        fail "$old" "its new path is no absolute path"
        continue
    fi
    [ "$old_stem" = "$stem" ] && continue
    if is_source "$old_stem.lrc"; then
        set -- "$@" "$old_stem" "$stem" lrc
    elif is_done "$stem.lrc"; then
        if is_source "$old_stem.elrc"; then
            set -- "$@" "$old_stem" "$stem" elrc
        else
            is_done "$stem.elrc"
        fi
    fi
    if is_source "$old_stem.txt"; then
        set -- "$@" "$old_stem" "$stem" txt
    else
        is_done "$stem.txt"
    fi
done

# A name that is taken may be given up by another file: go on while anything moves.
before=-1
while [ "$moved" -ne "$before" ]; do
    before=$moved
    left=$#
    while [ "$left" -gt 0 ]; do
        old_stem=$1 stem=$2 kind=$3
        shift 3
        left=$((left - 3))
        if is_there "$stem.$kind"; then
            set -- "$@" "$old_stem" "$stem" "$kind"
        elif move_file "$old_stem.$kind" "$stem.$kind"; then
            if [ "$kind" = lrc ] && is_source "$old_stem.elrc"; then
                set -- "$@" "$old_stem" "$stem" elrc
            fi
        fi
    done
done
while [ "$#" -gt 0 ]; do
    if is_there "$1.$3"; then
        kept=$((kept + 1))
        complain "kept $1.$3: $2.$3 is there already"
    fi
    shift 3
done

say "$moved moved, $already moved by Lidarr, $kept kept, $failed failed"
[ "$failed" -eq 0 ]
