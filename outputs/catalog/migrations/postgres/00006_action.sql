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

-- What run --reuse asks for: runs of one action_id, the newest first. Few runs have one, and the others no entry. A digest has
-- 64 digits: of whatever else a document may hold no more is in the index than that.
CREATE INDEX analysis_run_action ON scidex_oci.analysis_run (left(report ->> 'action_id', 64), created_at, id, attempt)
    WHERE left(report ->> 'action_id', 64) IS NOT NULL;
