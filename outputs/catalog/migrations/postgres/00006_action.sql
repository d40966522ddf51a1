-- +goose Up

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_admin' AND pg_has_role(oid, 'MEMBER')) THEN
        SET LOCAL ROLE scidex_admin;
    END IF;
END
$$;
-- +goose StatementEnd

-- What run --reuse asks for: runs of one action_id, the newest first. Few runs have one, and the others no entry. It is a column
-- that is written beside the report, since no expression may look into that: json refuses to say anything of a document with a
-- \u0000 in it, and a run must not be lost for what its documents hold.
ALTER TABLE scidex_oci.analysis_run ADD COLUMN action_id text COLLATE "C";
CREATE INDEX analysis_run_action ON scidex_oci.analysis_run (action_id, created_at, id, attempt) WHERE action_id IS NOT NULL;
