# What the scripts of all three package formats share; put in place of the line that names it.

ACCOUNT=lyrsvcgo-svc
UNIT=lyrsvcgo-svc.service
STATE=/var/lib/lyrsvcgo-svc
SETTINGS=/etc/lyrsvcgo-svc

has_group() {
    if command -v getent >/dev/null 2>&1; then
        getent group "$ACCOUNT" >/dev/null
    else
        grep -q "^$ACCOUNT:" /etc/group
    fi
}

make_account() {
    nologin=/bin/false
    for place in /usr/sbin/nologin /sbin/nologin; do
        if [ -x "$place" ]; then
            nologin=$place
            break
        fi
    done
    if ! has_group; then
        if command -v groupadd >/dev/null 2>&1; then
            groupadd --system "$ACCOUNT"
        else
            addgroup -S "$ACCOUNT"
        fi
    fi
    if ! id -u "$ACCOUNT" >/dev/null 2>&1; then
        if command -v useradd >/dev/null 2>&1; then
            useradd --system --gid "$ACCOUNT" --home-dir "$STATE" --no-create-home \
                --shell "$nologin" --comment "lyrsvc" "$ACCOUNT"
        else
            adduser -S -D -H -h "$STATE" -s "$nologin" -G "$ACCOUNT" -g "lyrsvc" "$ACCOUNT"
        fi
    fi
}

make_directories() {
    mkdir -p "$STATE" "$SETTINGS"
    chown "$ACCOUNT:$ACCOUNT" "$STATE"
    chmod 0750 "$STATE"
    chown "root:$ACCOUNT" "$SETTINGS"
    chmod 2750 "$SETTINGS"
}

# Offline, as in an image being built, there is nothing to tell.
systemd_runs() {
    [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1
}

reload_units() {
    if systemd_runs; then
        systemctl daemon-reload || true
    fi
}

restart_if_running() {
    if systemd_runs; then
        systemctl try-restart "$UNIT" ||
            echo "lyrsvc: the service did not come up again; see: journalctl -u $UNIT" >&2
    fi
}

stop_and_disable() {
    if systemd_runs; then
        systemctl stop "$UNIT" || true
    fi
    if command -v systemctl >/dev/null 2>&1; then
        systemctl --no-reload --quiet disable "$UNIT" >/dev/null 2>&1 || true
    fi
}

tell_next_steps() {
    cat <<EOF
lyrsvc is installed; nothing is enabled or started. Next:
  1. let it write beside your music: copy /usr/share/lyrsvc/systemd/media-write.conf to
     /etc/systemd/system/$UNIT.d/ and name the directory in it
  2. start it:    systemctl daemon-reload && systemctl enable --now ${UNIT%.service}
  3. add music:   sudo lyrsvc library add /srv/music
Settings: $SETTINGS/config.toml, an example lies beside it.
EOF
}

tell_what_stays() {
    echo "lyrsvc: kept: state in $STATE, settings in $SETTINGS, user and group $ACCOUNT"
}
