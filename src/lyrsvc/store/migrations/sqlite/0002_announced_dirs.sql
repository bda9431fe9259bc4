-- Directories with files that a webhook named and the inventory does not know, until they are scanned.

CREATE TABLE announced_dirs (
    path       TEXT NOT NULL PRIMARY KEY,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
