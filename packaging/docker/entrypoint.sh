#!/bin/sh
# lyrsvc container entrypoint: becomes the wanted user, then the wanted command.
#
#   PUID, PGID   numeric user and group of the service, 1000 each; any number will do
#   UMASK        octal mask for the files it makes, 022
#
# No user is created and nothing outside /config is changed, so that the root filesystem may
# be read-only. Inside /config only what the service makes itself is ever given to PUID:PGID.

set -eu

CONFIG=/config
OURS='config.toml config.toml.lyrsvc-save.* .config.toml.* .env lyrsvcgo.db lyrsvcgo.db-*
      lyrsvcgo.db.* .lyrsvcgo.key .lyrsvcgo.key.* realign-* *.before-restore tls backups lyrics
      logs *.log *.log.* *.log-* .*.log.lock'

say() {
    printf 'lyrsvc: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

# number NAME VALUE: print an id without its leading zeros.
number() {
    case $2 in
        *[!0-9]*) fail "$1 is \"$2\", which is no number; set $1 to a numeric id such as 1000" ;;
    esac
    value=$2
    while [ "${#value}" -gt 1 ] && [ "${value#0}" != "$value" ]; do
        value=${value#0}
    done
    if [ "${#value}" -gt 10 ] || [ "$value" -gt 4294967294 ]; then
        fail "$1 is $2, which is larger than any id; set $1 to a numeric id such as 1000"
    fi
    printf '%s\n' "$value"
}

apply_umask() {
    wanted=${UMASK:-022}
    case $wanted in
        *[!0-7]* | ????* )
            case $wanted in
                0[0-7][0-7][0-7]) ;;
                *) fail "UMASK is \"$wanted\"; set it to an octal mask such as 022 or 002" ;;
            esac
            ;;
    esac
    umask "$wanted"
}

# is_ours PATH: tell whether a file or directory belongs to the wanted user and group.
is_ours() {
    [ "$(stat -c %u:%g "$1" 2>/dev/null)" = "$puid:$pgid" ]
}

# holds_mount PATH: tell whether something is mounted there or below; that is not ours to give.
holds_mount() {
    while read -r _ _ _ _ point _; do
        case $point in
            "$1" | "$1"/*) return 0 ;;
        esac
    done </proc/self/mountinfo 2>/dev/null
    return 1
}

# give PATH: hand over an entry, and when it is a directory, what is in it. A root without its
# usual powers can look only into what it owns, so directories are taken before they are given.
give() {
    if [ -d "$1" ] && [ ! -L "$1" ]; then
        find "$1" -xdev -type d ! -user 0 -exec chown -h 0:0 {} \; || true
        find "$1" -xdev -depth -exec chown -h "$puid:$pgid" {} + || true
    else
        chown -h "$puid:$pgid" "$1" || true
    fi
}

# each_entry COMMAND: run it with every entry the service makes; stop at the first that fails.
each_entry() {
    for pattern in $OURS; do
        for entry in "$CONFIG"/$pattern; do
            if [ -e "$entry" ] || [ -L "$entry" ]; then
                "$1" "$entry" || return 1
            fi
        done
    done
}

# keeps_owner PATH: tell whether there is nothing to give; mounts are left as they are.
keeps_owner() {
    is_ours "$1" || holds_mount "$1"
}

give_if_foreign() {
    keeps_owner "$1" || give "$1"
}

take_over() {
    if [ "$(stat -c %u:%a "$CONFIG")" = 0:777 ] && [ -z "$(ls -A "$CONFIG")" ]; then
        chmod 0750 "$CONFIG" || true # a new volume, open as the image brings it
    fi
    if is_ours "$CONFIG" && ls "$CONFIG" >/dev/null 2>&1 && each_entry keeps_owner; then
        return 0
    fi
    if is_ours "$CONFIG" && ! ls "$CONFIG" >/dev/null 2>&1; then
        # Closed to a root without powers: its owner looks before anything is touched.
        # shellcheck disable=SC2016 # expanded by the inner shell
        if as_user env OURS="$OURS" sh -c '
            for pattern in $OURS; do
                for entry in "$1"/$pattern; do
                    if [ -e "$entry" ] || [ -L "$entry" ]; then
                        [ "$(stat -c %u:%g "$entry")" = "$2" ] || exit 1
                    fi
                done
            done' look "$CONFIG" "$puid:$pgid"; then
            return 0
        fi
    fi
    ls "$CONFIG" >/dev/null 2>&1 || chown 0:0 "$CONFIG" || true
    each_entry give_if_foreign
    is_ours "$CONFIG" || chown "$puid:$pgid" "$CONFIG" ||
        say "$CONFIG could not be given to $puid:$pgid"
}

as_user() {
    if [ "$is_root" = yes ]; then
        su-exec "$puid:$pgid" "$@"
    else
        "$@"
    fi
}

# Trying is the only honest test: mounts, access lists and quotas know more than modes say.
check_writable() {
    probe=$CONFIG/.lyrsvc-probe.$$
    # shellcheck disable=SC2016 # expanded by the inner shell
    if as_user sh -c ': >"$1" && rm -f "$1"' probe "$probe" 2>/dev/null; then
        return 0
    fi
    owner=$(stat -c %u:%g "$CONFIG" 2>/dev/null || echo unknown)
    mode=$(stat -c %a "$CONFIG" 2>/dev/null || echo unknown)
    if [ "$is_root" = yes ]; then
        other="set PUID=${owner%:*} PGID=${owner#*:}"
    else
        other="start with --user $owner"
    fi
    fail "$CONFIG belongs to $owner (mode $mode) and $puid:$pgid cannot write there;" \
        "on the host: chown $puid:$pgid on the directory mounted at $CONFIG, or $other"
}

apply_umask
if [ "$(id -u)" -eq 0 ]; then
    is_root=yes
    puid=$(number PUID "${PUID:-1000}")
    pgid=$(number PGID "${PGID:-1000}")
    if [ "$puid" -eq 0 ]; then
        say "warning: PUID is 0, the service runs as root"
    fi
    take_over
else
    is_root=no
    puid=$(id -u)
    pgid=$(id -g)
    if [ "${PUID:-$puid}" != "$puid" ] || [ "${PGID:-$pgid}" != "$pgid" ]; then
        say "note: started as $puid:$pgid, so PUID and PGID have no effect"
    fi
fi
check_writable

case ${1:-} in
    '') set -- lyrsvc serve ;;
    -*) set -- lyrsvc "$@" ;;
    lyrsvc | */*) ;;
    *)
        if as_user lyrsvc __complete "$1" 2>/dev/null | grep -Fqx -e "$1" ||
            ! command -v "$1" >/dev/null 2>&1; then
            set -- lyrsvc "$@"
        fi
        ;;
esac
if [ "$is_root" = yes ]; then
    # su-exec sets a HOME of its own choice.
    exec su-exec "$puid:$pgid" env HOME="${HOME:-$CONFIG}" "$@"
fi
exec "$@"
