-- +goose Up

-- ls --state lost, where no recent run is. Most runs are complete, and have no entry: without them this has a tenth of the
-- size, and their commit does not write to it.
CREATE INDEX analysis_run_state ON analysis_run (state, created_at, id, attempt) WHERE state IN ('failed', 'canceled', 'error', 'lost');
