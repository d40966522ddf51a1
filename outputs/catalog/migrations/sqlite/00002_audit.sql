-- +goose Up

-- A program that knows version 1 only may have the catalog open and go on writing: hence the default.
-- The index sandbox_audit_event_run ends with the rowid, and so serves the order of time and insertion.
ALTER TABLE sandbox_audit_event ADD COLUMN count INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1);

CREATE TABLE selftest_report (
    id           INTEGER PRIMARY KEY,
    ts           TEXT    NOT NULL CHECK (ts LIKE '____-__-__T__:__:__.___Z'),
    host         TEXT    NOT NULL,
    tool_version TEXT    NOT NULL,
    passed       INTEGER NOT NULL CHECK (passed IN (0, 1)),
    report       TEXT    NOT NULL CHECK (json_valid(report))
) STRICT;

CREATE INDEX selftest_report_ts ON selftest_report (ts);
