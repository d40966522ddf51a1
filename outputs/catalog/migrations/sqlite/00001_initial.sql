-- +goose Up

-- "SciD": tells a catalog from another program's database.
PRAGMA application_id = 0x53636944;

CREATE TABLE catalog_meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

INSERT INTO catalog_meta (key, value) VALUES ('catalog_id', lower(hex(randomblob(16))));

CREATE TABLE analysis_run (
    id             TEXT    NOT NULL CHECK (id <> ''),
    attempt        INTEGER NOT NULL CHECK (attempt >= 1),
    state          TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'complete', 'failed', 'canceled', 'error', 'lost')),
    reason         TEXT,
    message        TEXT,
    exit_code      INTEGER,
    signal         TEXT,
    created_at     TEXT    NOT NULL CHECK (created_at LIKE '____-__-__T__:__:__.___Z'),
    started_at     TEXT    CHECK (started_at LIKE '____-__-__T__:__:__.___Z'),
    finished_at    TEXT    CHECK (finished_at LIKE '____-__-__T__:__:__.___Z'),
    request        TEXT    CHECK (json_valid(request)),
    place          TEXT    CHECK (json_valid(place)),
    report         TEXT    CHECK (json_valid(report)),
    host           TEXT    NOT NULL,
    boot_id        TEXT    NOT NULL,
    tool_version   TEXT    NOT NULL,
    outputs_total  INTEGER NOT NULL DEFAULT 0,
    rejected_total INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (id, attempt)
) STRICT;

CREATE INDEX analysis_run_created ON analysis_run (created_at, id, attempt);

CREATE TABLE run_label (
    id      TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    PRIMARY KEY (id, attempt, key),
    FOREIGN KEY (id, attempt) REFERENCES analysis_run (id, attempt) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX run_label_value ON run_label (key, value);

CREATE TABLE run_blob (
    id      TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    sha256  TEXT    NOT NULL CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
    PRIMARY KEY (id, attempt, sha256),
    FOREIGN KEY (id, attempt) REFERENCES analysis_run (id, attempt) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX run_blob_sha256 ON run_blob (sha256);

-- Without a rowid the rows of a run lie together in the order of their paths' bytes, which is how
-- they are listed.
CREATE TABLE analysis_output (
    id         TEXT    NOT NULL,
    attempt    INTEGER NOT NULL,
    path       BLOB    NOT NULL,
    size       INTEGER CHECK (size >= 0),
    sha256     TEXT    CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
    media_type TEXT,
    mode       INTEGER CHECK (mode BETWEEN 0 AND 511),
    verdict    TEXT    NOT NULL CHECK (verdict <> ''),
    detail     BLOB,
    partial    INTEGER NOT NULL CHECK (partial IN (0, 1)),
    content    BLOB,
    PRIMARY KEY (id, attempt, path),
    FOREIGN KEY (id, attempt) REFERENCES analysis_run (id, attempt) ON DELETE CASCADE,
    CHECK ((verdict = 'output') = (sha256 IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX analysis_output_sha256 ON analysis_output (sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE sandbox_audit_event (
    analysis_id  TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    ts           TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    path_or_addr BLOB,
    severity     TEXT    NOT NULL,
    allowed      INTEGER NOT NULL DEFAULT 0,
    blocked      INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (analysis_id, attempt) REFERENCES analysis_run (id, attempt) ON DELETE CASCADE
) STRICT;

CREATE INDEX sandbox_audit_event_run ON sandbox_audit_event (analysis_id, attempt, ts);
