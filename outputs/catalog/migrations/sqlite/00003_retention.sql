-- +goose Up

-- A program that knows version 2 only may have the catalog open and go on writing: hence the defaults.
ALTER TABLE analysis_run ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));

-- When the contents of the outputs were given up; their rows stay.
ALTER TABLE analysis_run ADD COLUMN outputs_removed_at TEXT CHECK (outputs_removed_at LIKE '____-__-__T__:__:__.___Z');

CREATE INDEX analysis_run_outputs_removed ON analysis_run (id, attempt) WHERE outputs_removed_at IS NOT NULL;
