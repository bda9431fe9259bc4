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

# Rename one file without ever replacing one; true when the new name is right afterwards.
move_file() {
    if [ -L "$1" ] || [ ! -f "$1" ]; then
        if [ -f "$2" ]; then
            already=$((already + 1))
            return 0
        fi
        return 1
    fi
    if is_there "$2"; then
        kept=$((kept + 1))
        complain "kept $1: $2 is there already"
        return 1
    fi
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
    if move_file "$old_stem.lrc" "$stem.lrc"; then
        move_file "$old_stem.elrc" "$stem.elrc"
    fi
    move_file "$old_stem.txt" "$stem.txt"
done

say "$moved moved, $already moved by Lidarr, $kept kept, $failed failed"
[ "$failed" -eq 0 ]
