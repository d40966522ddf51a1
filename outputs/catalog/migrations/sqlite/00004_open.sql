-- +goose Up

-- What has not ended is little, however much has: gc and batch --resume look for it.
CREATE INDEX analysis_run_open ON analysis_run (created_at, id, attempt) WHERE state IN ('queued', 'running');
