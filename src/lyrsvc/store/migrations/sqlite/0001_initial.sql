-- The schema. Moments are UTC text of fixed width, set by the program.

CREATE TABLE schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
    name       TEXT NOT NULL PRIMARY KEY,
    value      TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- Libraries and their inventory

CREATE TABLE libraries (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    name                TEXT NOT NULL CHECK (name <> ''),
    name_key            TEXT NOT NULL UNIQUE CHECK (name_key <> ''),
    path                TEXT NOT NULL,
    path_hash           TEXT NOT NULL UNIQUE,
    enrich              INTEGER CHECK (enrich IN (0, 1)),
    detect_instrumental INTEGER CHECK (detect_instrumental IN (0, 1)),
    last_ok_scan_at     TEXT,
    created_at          TEXT NOT NULL,
    updated_at          TEXT NOT NULL
) STRICT;

CREATE TABLE scan_dirs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    library_id INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
    parent_id  INTEGER REFERENCES scan_dirs (id) ON DELETE CASCADE,
    name       TEXT NOT NULL DEFAULT '',
    rel_path   TEXT NOT NULL DEFAULT '',
    path_hash  TEXT NOT NULL,
    error      TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (library_id, path_hash)
) STRICT;

CREATE INDEX ix_dirs_parent ON scan_dirs (parent_id, name);

-- The queue

CREATE TABLE work_items (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    artist               TEXT NOT NULL DEFAULT '',
    artists              TEXT NOT NULL DEFAULT '[]',
    title                TEXT NOT NULL DEFAULT '',
    album                TEXT NOT NULL DEFAULT '',
    album_artist         TEXT NOT NULL DEFAULT '',
    artist_key           TEXT NOT NULL CHECK (artist_key <> ''),
    title_key            TEXT NOT NULL CHECK (title_key <> ''),
    search_keys          TEXT NOT NULL DEFAULT '',
    duration_bucket      INTEGER NOT NULL DEFAULT 0 CHECK (duration_bucket >= 0),
    duration_ms          INTEGER NOT NULL DEFAULT 0 CHECK (duration_ms >= 0),
    isrc                 TEXT NOT NULL DEFAULT '',
    mbid                 TEXT NOT NULL DEFAULT '',
    low_confidence       INTEGER NOT NULL DEFAULT 0 CHECK (low_confidence IN (0, 1)),
    status               TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'processing', 'done', 'failed', 'deferred')),
    claimed_from         TEXT NOT NULL DEFAULT ''
        CHECK (claimed_from IN ('', 'pending', 'failed', 'deferred')),
    reason               TEXT NOT NULL DEFAULT '',
    reason_detail        TEXT NOT NULL DEFAULT '',
    reason_text          TEXT NOT NULL DEFAULT '',
    priority             INTEGER NOT NULL DEFAULT 0,
    route                INTEGER NOT NULL DEFAULT 1 CHECK (route IN (0, 1)),
    ready_key            INTEGER,
    due_at               TEXT,
    attempts             INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    misses               INTEGER NOT NULL DEFAULT 0 CHECK (misses >= 0),
    provider_set_version INTEGER NOT NULL DEFAULT 0,
    detect_instrumental  INTEGER CHECK (detect_instrumental IN (0, 1)),
    detect_origin        TEXT NOT NULL DEFAULT ''
        CHECK (detect_origin IN ('', 'explicit', 'library', 'global')),
    rerun                INTEGER NOT NULL DEFAULT 0 CHECK (rerun IN (0, 1)),
    boosted              INTEGER NOT NULL DEFAULT 0 CHECK (boosted IN (0, 1)),
    lease_owner          TEXT NOT NULL DEFAULT '',
    lease_until_at       TEXT,
    claim_seq            INTEGER NOT NULL DEFAULT 0,
    resume               TEXT,
    completed_at         TEXT,
    fetched_at           TEXT,
    lane                 TEXT NOT NULL DEFAULT '',
    outcome              TEXT NOT NULL DEFAULT ''
        CHECK (outcome IN ('', 'synced', 'unsynced', 'instrumental', 'miss', 'rejected')),
    from_cache           INTEGER NOT NULL DEFAULT 0 CHECK (from_cache IN (0, 1)),
    detector_verdict     INTEGER CHECK (detector_verdict IN (0, 1)),
    detector_version     TEXT NOT NULL DEFAULT '',
    music_sum            REAL,
    vocal_peak           REAL,
    speech_mean          REAL,
    vocal_class          TEXT NOT NULL DEFAULT '',
    detected_at          TEXT,
    created_at           TEXT NOT NULL,
    updated_at           TEXT NOT NULL,
    CHECK (status <> 'done' OR completed_at IS NOT NULL),
    CHECK (ready_key IS NULL OR status IN ('pending', 'failed', 'deferred'))
) STRICT;

CREATE UNIQUE INDEX ux_items_key ON work_items (artist_key, title_key, duration_bucket);
CREATE INDEX ix_items_ready ON work_items (route, ready_key, id) WHERE ready_key IS NOT NULL;
CREATE INDEX ix_items_due ON work_items (due_at) WHERE ready_key IS NOT NULL;
CREATE INDEX ix_items_wait ON work_items (due_at, id)
    WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred');
CREATE INDEX ix_items_lease ON work_items (lease_until_at) WHERE status = 'processing';
CREATE INDEX ix_items_status ON work_items (status, reason);
CREATE INDEX ix_items_list ON work_items (status, priority DESC, id);
CREATE INDEX ix_items_done ON work_items (completed_at, id, lane, outcome) WHERE status = 'done';
CREATE INDEX ix_items_instr ON work_items (id) WHERE detector_verdict = 1;
CREATE INDEX ix_items_miss ON work_items (id)
    WHERE status = 'done' AND outcome IN ('miss', 'rejected');

CREATE TABLE work_targets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id     INTEGER NOT NULL REFERENCES work_items (id) ON DELETE CASCADE,
    library_id  INTEGER REFERENCES libraries (id) ON DELETE SET NULL,
    origin      TEXT NOT NULL CHECK (origin IN ('inventory', 'path', 'metadata')),
    source_path TEXT NOT NULL DEFAULT '',
    source_hash TEXT NOT NULL DEFAULT '',
    out_dir     TEXT NOT NULL,
    out_stem    TEXT NOT NULL,
    out_hash    TEXT NOT NULL UNIQUE,
    duration_ms INTEGER NOT NULL DEFAULT 0 CHECK (duration_ms >= 0),
    mode        TEXT NOT NULL DEFAULT 'normal'
        CHECK (mode IN ('normal', 'upgrade', 'update', 'force')),
    status      TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'done', 'failed', 'parked')),
    result      TEXT NOT NULL DEFAULT ''
        CHECK (result IN ('', 'written', 'same', 'present', 'kept', 'miss', 'rejected', 'gone')),
    kind        TEXT NOT NULL DEFAULT '' CHECK (kind IN ('', 'lrc', 'txt', 'marker')),
    reason      TEXT NOT NULL DEFAULT '',
    settled_at  TEXT,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

CREATE INDEX ix_targets_item ON work_targets (item_id, status, library_id);
CREATE INDEX ix_targets_source ON work_targets (source_hash);
CREATE INDEX ix_targets_lib ON work_targets (library_id, item_id);

CREATE TABLE scan_results (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    library_id       INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
    dir_id           INTEGER NOT NULL REFERENCES scan_dirs (id) ON DELETE CASCADE,
    name             TEXT NOT NULL CHECK (name <> ''),
    mtime_ns         INTEGER NOT NULL DEFAULT 0,
    size             INTEGER NOT NULL DEFAULT 0,
    inode            INTEGER NOT NULL DEFAULT 0,
    reader_version   INTEGER NOT NULL DEFAULT 0,
    enriched         INTEGER NOT NULL DEFAULT 0 CHECK (enriched IN (0, 1)),
    low_confidence   INTEGER NOT NULL DEFAULT 0 CHECK (low_confidence IN (0, 1)),
    artist           TEXT NOT NULL DEFAULT '',
    artists          TEXT NOT NULL DEFAULT '[]',
    title            TEXT NOT NULL DEFAULT '',
    album            TEXT NOT NULL DEFAULT '',
    album_artist     TEXT NOT NULL DEFAULT '',
    artist_key       TEXT NOT NULL DEFAULT '',
    alt_artist_key   TEXT NOT NULL DEFAULT '',
    title_key        TEXT NOT NULL DEFAULT '',
    album_key        TEXT NOT NULL DEFAULT '',
    key_version      INTEGER NOT NULL DEFAULT 0,
    isrc             TEXT NOT NULL DEFAULT '',
    mbid             TEXT NOT NULL DEFAULT '',
    duration_ms      INTEGER NOT NULL DEFAULT 0 CHECK (duration_ms >= 0),
    duration_bucket  INTEGER NOT NULL DEFAULT 0 CHECK (duration_bucket >= 0),
    out_stem         TEXT NOT NULL DEFAULT '',
    sidecar          INTEGER NOT NULL DEFAULT 0 CHECK (sidecar BETWEEN 0 AND 7),
    sidecar_class    TEXT NOT NULL DEFAULT '' CHECK (sidecar_class IN ('', 'lrc', 'txt', 'marker')),
    ours             INTEGER NOT NULL DEFAULT 0 CHECK (ours IN (0, 1)),
    embedded         INTEGER NOT NULL DEFAULT 9 CHECK (embedded IN (0, 1, 2, 9)),
    status           TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'done', 'failed', 'deferred', 'unreadable')),
    reason           TEXT NOT NULL DEFAULT '',
    reason_text      TEXT NOT NULL DEFAULT '',
    target_id        INTEGER REFERENCES work_targets (id) ON DELETE SET NULL,
    missing_since_at TEXT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    UNIQUE (dir_id, name)
) STRICT;

CREATE INDEX ix_scan_gate ON scan_results
    (dir_id, name, mtime_ns, size, inode, sidecar, enriched, reader_version, status,
     key_version, embedded, target_id, missing_since_at);
CREATE INDEX ix_scan_keys ON scan_results (title_key, artist_key);
CREATE INDEX ix_scan_altkeys ON scan_results (title_key, alt_artist_key);
CREATE INDEX ix_scan_list ON scan_results (library_id, status, id);
CREATE INDEX ix_scan_wanted ON scan_results (sidecar_class, ours, id, library_id)
    WHERE missing_since_at IS NULL;
CREATE INDEX ix_scan_mbid ON scan_results (mbid) WHERE mbid <> '';
CREATE INDEX ix_scan_isrc ON scan_results (isrc) WHERE isrc <> '';
CREATE INDEX ix_scan_missing ON scan_results (missing_since_at) WHERE missing_since_at IS NOT NULL;
CREATE INDEX ix_scan_target ON scan_results (target_id);

-- What lanes answered, what is counted, how lanes fare

CREATE TABLE lane_attempts (
    queue_id      INTEGER NOT NULL,
    lane          TEXT NOT NULL,
    hit           INTEGER NOT NULL DEFAULT 0 CHECK (hit IN (0, 1)),
    verdict       TEXT NOT NULL DEFAULT '',
    reason_detail TEXT NOT NULL DEFAULT '',
    evidence      TEXT NOT NULL DEFAULT '{}',
    attempted_at  TEXT NOT NULL,
    PRIMARY KEY (queue_id, lane)
) STRICT;

CREATE INDEX ix_attempts_lane ON lane_attempts (lane, hit, attempted_at);

CREATE TABLE counts (
    name       TEXT NOT NULL PRIMARY KEY,
    n          INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE lane_counters (
    lane        TEXT NOT NULL PRIMARY KEY,
    hits        INTEGER NOT NULL DEFAULT 0 CHECK (hits >= 0),
    misses      INTEGER NOT NULL DEFAULT 0 CHECK (misses >= 0),
    last_hit_at TEXT,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

CREATE TABLE lane_state (
    lane             TEXT NOT NULL PRIMARY KEY,
    state            TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'closed', 'probing')),
    cause            TEXT NOT NULL DEFAULT ''
        CHECK (cause IN ('', 'throttled', 'quota', 'refused', 'malformed', 'unreachable')),
    trips            INTEGER NOT NULL DEFAULT 0 CHECK (trips >= 0),
    bad_streak       INTEGER NOT NULL DEFAULT 0 CHECK (bad_streak >= 0),
    ok_streak        INTEGER NOT NULL DEFAULT 0 CHECK (ok_streak >= 0),
    pace_level       INTEGER NOT NULL DEFAULT 0 CHECK (pace_level BETWEEN 0 AND 3),
    closed_until_at  TEXT,
    probe_until_at   TEXT,
    probe_owner      TEXT NOT NULL DEFAULT '',
    next_slot_at     TEXT,
    last_ok_at       TEXT,
    last_throttle_at TEXT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL
) STRICT;

CREATE TABLE lyrics_cache (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    artist_key      TEXT NOT NULL,
    title_key       TEXT NOT NULL,
    duration_bucket INTEGER NOT NULL DEFAULT 0,
    duration_ms     INTEGER NOT NULL DEFAULT 0,
    lane            TEXT NOT NULL,
    kind            TEXT NOT NULL,
    body            TEXT NOT NULL,
    rules_version   INTEGER NOT NULL DEFAULT 0,
    fetched_at      TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    UNIQUE (artist_key, title_key, duration_bucket)
) STRICT;

-- What was written to disk, what is to be renamed

CREATE TABLE written_files (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    path        TEXT NOT NULL,
    path_hash   TEXT NOT NULL UNIQUE,
    library_id  INTEGER,
    item_id     INTEGER,
    kind        TEXT NOT NULL CHECK (kind IN ('lrc', 'txt', 'marker', 'elrc')),
    source      TEXT NOT NULL DEFAULT '',
    sha256      TEXT NOT NULL DEFAULT '',
    prev_sha256 TEXT NOT NULL DEFAULT '',
    size        INTEGER NOT NULL DEFAULT 0,
    mtime_ns    INTEGER NOT NULL DEFAULT 0,
    state       TEXT NOT NULL DEFAULT 'intended' CHECK (state IN ('intended', 'written')),
    written_at  TEXT,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

CREATE INDEX ix_written_sha ON written_files (sha256);

CREATE TABLE rename_jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    old_path   TEXT NOT NULL,
    new_path   TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'ignored')),
    error      TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

-- Who may come in

CREATE TABLE api_keys (
    public_id    TEXT NOT NULL PRIMARY KEY,
    name         TEXT NOT NULL DEFAULT '',
    hash         TEXT NOT NULL UNIQUE,
    scopes       TEXT NOT NULL CHECK (scopes <> ''),
    revoked_at   TEXT,
    last_used_at TEXT,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL
) STRICT;

CREATE TABLE secrets (
    name       TEXT NOT NULL PRIMARY KEY,
    ciphertext BLOB NOT NULL,
    key_check  TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE admins (
    id            TEXT NOT NULL PRIMARY KEY,
    username      TEXT NOT NULL CHECK (username <> ''),
    username_key  TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    token_hash   TEXT NOT NULL PRIMARY KEY,
    admin_id     TEXT NOT NULL REFERENCES admins (id) ON DELETE CASCADE,
    expires_at   TEXT NOT NULL,
    last_address TEXT NOT NULL DEFAULT '',
    user_agent   TEXT NOT NULL DEFAULT '',
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    CHECK (expires_at > created_at)
) STRICT;

CREATE INDEX ix_sessions_exp ON sessions (expires_at);

-- Runs, locks, memory of events

CREATE TABLE scan_runs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    library_id   INTEGER NOT NULL REFERENCES libraries (id) ON DELETE CASCADE,
    started_by   TEXT NOT NULL
        CHECK (started_by IN ('schedule', 'start', 'user', 'watcher', 'webhook', 'cli')),
    scope        TEXT NOT NULL DEFAULT '',
    mode         TEXT NOT NULL DEFAULT '',
    started_at   TEXT NOT NULL,
    ended_at     TEXT,
    state        TEXT NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'done', 'failed', 'cancelled')),
    reason       TEXT NOT NULL DEFAULT ''
        CHECK (reason IN ('', 'root_unavailable', 'mass_missing', 'aborted', 'storage')),
    seen         INTEGER NOT NULL DEFAULT 0,
    opened       INTEGER NOT NULL DEFAULT 0,
    new          INTEGER NOT NULL DEFAULT 0,
    changed      INTEGER NOT NULL DEFAULT 0,
    unchanged    INTEGER NOT NULL DEFAULT 0,
    enqueued     INTEGER NOT NULL DEFAULT 0,
    from_cache   INTEGER NOT NULL DEFAULT 0,
    reopened     INTEGER NOT NULL DEFAULT 0,
    missing      INTEGER NOT NULL DEFAULT 0,
    relinked     INTEGER NOT NULL DEFAULT 0,
    pruned       INTEGER NOT NULL DEFAULT 0,
    unreadable   INTEGER NOT NULL DEFAULT 0,
    dir_errors   INTEGER NOT NULL DEFAULT 0,
    file_errors  INTEGER NOT NULL DEFAULT 0,
    error_sample TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX ix_runs_library ON scan_runs (library_id, id);

CREATE TABLE locks (
    name       TEXT NOT NULL PRIMARY KEY,
    owner      TEXT NOT NULL,
    until_at   TEXT NOT NULL,
    info       TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE history (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    event       TEXT NOT NULL,
    item_id     INTEGER,
    library_id  INTEGER,
    artist      TEXT NOT NULL DEFAULT '',
    title       TEXT NOT NULL DEFAULT '',
    album       TEXT NOT NULL DEFAULT '',
    lane        TEXT NOT NULL DEFAULT '',
    result      TEXT NOT NULL DEFAULT '',
    outcome     TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    destination TEXT NOT NULL DEFAULT '',
    "by"        TEXT NOT NULL DEFAULT '',
    search_keys TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX ix_history_at ON history (at, id, event, lane, library_id);
CREATE INDEX ix_history_item ON history (item_id, id);

CREATE TABLE audit_log (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         TEXT NOT NULL,
    event      TEXT NOT NULL,
    outcome    TEXT NOT NULL DEFAULT '',
    actor      TEXT NOT NULL DEFAULT '',
    client     TEXT NOT NULL DEFAULT '',
    request_id TEXT NOT NULL DEFAULT '',
    data       TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE INDEX ix_audit_at ON audit_log (at, id);

-- Maintained counts start at zero, so that readers always find their rows

INSERT INTO counts (name, n, created_at, updated_at) VALUES
    ('status.pending', 0, :now, :now),
    ('status.processing', 0, :now, :now),
    ('status.done', 0, :now, :now),
    ('status.failed', 0, :now, :now),
    ('status.deferred', 0, :now, :now),
    ('ready.pending', 0, :now, :now),
    ('ready.failed', 0, :now, :now),
    ('ready.deferred', 0, :now, :now),
    ('instrumental', 0, :now, :now),
    ('wanted_missing', 0, :now, :now),
    ('wanted_unsynced', 0, :now, :now);

-- What the planner is to believe about a long queue. Without it, it takes the index on
-- status for questions that the small partial indexes answer a thousand times faster.

ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('work_items', 'ux_items_key', '1000000 200 2 1'),
    ('work_items', 'ix_items_ready', '300000 150000 1 1'),
    ('work_items', 'ix_items_due', '300000 10'),
    ('work_items', 'ix_items_wait', '200000 5 1'),
    ('work_items', 'ix_items_lease', '8 2'),
    ('work_items', 'ix_items_status', '1000000 250000 50000'),
    ('work_items', 'ix_items_list', '1000000 250000 100000 1'),
    ('work_items', 'ix_items_done', '500000 2 1 1 1'),
    ('work_items', 'ix_items_instr', '5000 1'),
    ('work_items', 'ix_items_miss', '20000 1');
ANALYZE sqlite_schema;
