-- +goose Up

-- What is made belongs to scidex_admin, where that role exists and whoever migrates is a member of it.
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_admin' AND pg_has_role(oid, 'MEMBER')) THEN
        SET LOCAL ROLE scidex_admin;
    END IF;
END
$$;
-- +goose StatementEnd

CREATE TABLE scidex_oci.catalog_meta (
    key   text COLLATE "C" NOT NULL PRIMARY KEY,
    value text NOT NULL
);

INSERT INTO scidex_oci.catalog_meta (key, value) VALUES ('catalog_id', replace(gen_random_uuid()::text, '-', ''));

-- Collation C compares bytes, as SQLite does. The documents are json and not jsonb: jsonb refuses \u0000 and
-- changes numbers and repeated keys, and a run must neither be lost nor changed for what its documents hold.
CREATE TABLE scidex_oci.analysis_run (
    id             text COLLATE "C" NOT NULL CHECK (id <> ''),
    attempt        integer          NOT NULL CHECK (attempt >= 1),
    state          text COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'complete', 'failed', 'canceled', 'error', 'lost')),
    reason         text COLLATE "C",
    message        text,
    exit_code      integer,
    signal         text,
    created_at     timestamptz(3)   NOT NULL,
    started_at     timestamptz(3),
    finished_at    timestamptz(3),
    request        json,
    place          json,
    report         json,
    host           text COLLATE "C" NOT NULL,
    boot_id        text             NOT NULL,
    tool_version   text             NOT NULL,
    outputs_total  bigint           NOT NULL DEFAULT 0,
    rejected_total bigint           NOT NULL DEFAULT 0,
    PRIMARY KEY (id, attempt)
);

CREATE INDEX analysis_run_created ON scidex_oci.analysis_run (created_at, id, attempt);

CREATE TABLE scidex_oci.run_label (
    id      text COLLATE "C" NOT NULL,
    attempt integer          NOT NULL,
    key     text COLLATE "C" NOT NULL,
    value   text COLLATE "C" NOT NULL,
    PRIMARY KEY (id, attempt, key),
    FOREIGN KEY (id, attempt) REFERENCES scidex_oci.analysis_run (id, attempt) ON DELETE CASCADE
);

-- An entry of a B-tree takes about 2700 bytes, and a value may be longer.
CREATE INDEX run_label_value ON scidex_oci.run_label (key, left(value, 500));

CREATE TABLE scidex_oci.run_blob (
    id      text COLLATE "C" NOT NULL,
    attempt integer          NOT NULL,
    sha256  text COLLATE "C" NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (id, attempt, sha256),
    FOREIGN KEY (id, attempt) REFERENCES scidex_oci.analysis_run (id, attempt) ON DELETE CASCADE
);

CREATE INDEX run_blob_sha256 ON scidex_oci.run_blob (sha256);

CREATE TABLE scidex_oci.analysis_output (
    id         text COLLATE "C" NOT NULL,
    attempt    integer          NOT NULL,
    path       bytea            NOT NULL,
    size       bigint           CHECK (size >= 0),
    sha256     text COLLATE "C" CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    media_type text,
    mode       integer          CHECK (mode BETWEEN 0 AND 511),
    verdict    text COLLATE "C" NOT NULL CHECK (verdict <> ''),
    detail     bytea,
    partial    boolean          NOT NULL,
    content    bytea,
    FOREIGN KEY (id, attempt) REFERENCES scidex_oci.analysis_run (id, attempt) ON DELETE CASCADE,
    CHECK ((verdict = 'output') = (sha256 IS NOT NULL))
);

-- Each path once, and in the order of its bytes. A path may have 4096 bytes and an entry of a B-tree takes about
-- 2700: of a long one the index has the beginning and the digest.
CREATE UNIQUE INDEX analysis_output_path ON scidex_oci.analysis_output
    (id, attempt, substring(path FOR 2000), (CASE WHEN octet_length(path) > 2000 THEN sha256(path) ELSE ''::bytea END));

CREATE INDEX analysis_output_sha256 ON scidex_oci.analysis_output (sha256) WHERE sha256 IS NOT NULL;

-- seq is the order in which the run gave its events.
CREATE TABLE scidex_oci.sandbox_audit_event (
    analysis_id  text COLLATE "C" NOT NULL,
    attempt      integer          NOT NULL,
    ts           timestamptz(3)   NOT NULL,
    seq          integer          NOT NULL,
    kind         text             NOT NULL,
    path_or_addr bytea,
    severity     text COLLATE "C" NOT NULL,
    allowed      boolean          NOT NULL DEFAULT false,
    blocked      boolean          NOT NULL DEFAULT false,
    count        bigint           NOT NULL DEFAULT 1 CHECK (count >= 1),
    PRIMARY KEY (analysis_id, attempt, ts, seq),
    FOREIGN KEY (analysis_id, attempt) REFERENCES scidex_oci.analysis_run (id, attempt) ON DELETE CASCADE
);

CREATE TABLE scidex_oci.selftest_report (
    id           bigint           PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    ts           timestamptz(3)   NOT NULL,
    host         text COLLATE "C" NOT NULL,
    tool_version text             NOT NULL,
    passed       boolean          NOT NULL,
    report       json             NOT NULL
);

CREATE INDEX selftest_report_ts ON scidex_oci.selftest_report (ts, id);

-- What scidex_run may, where that role exists (docs/postgres/roles.sql). Only whoever migrates writes
-- catalog_meta and goose_db_version.
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
        GRANT SELECT ON scidex_oci.catalog_meta, scidex_oci.goose_db_version TO scidex_run;
        GRANT SELECT, INSERT, UPDATE ON scidex_oci.analysis_run TO scidex_run;
        GRANT SELECT, INSERT ON scidex_oci.run_label, scidex_oci.run_blob, scidex_oci.analysis_output,
            scidex_oci.sandbox_audit_event, scidex_oci.selftest_report TO scidex_run;
    END IF;
END
$$;
-- +goose StatementEnd
