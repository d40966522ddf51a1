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

-- What has not ended is little, however much has: gc and batch --resume look for it.
CREATE INDEX analysis_run_open ON scidex_oci.analysis_run (created_at, id, attempt) WHERE state IN ('queued', 'running');
