-- +goose Up

-- What run --reuse asks for: runs of one action_id, the newest first. Few runs have one, and the others no entry. Whatever a
-- document holds, its run is committed.
CREATE INDEX analysis_run_action ON analysis_run (json_extract(report, '$.action_id'), created_at, id, attempt)
    WHERE json_extract(report, '$.action_id') IS NOT NULL;
