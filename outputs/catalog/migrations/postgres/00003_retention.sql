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

-- A program that knows version 2 only may have the catalog open and go on writing: hence the defaults.
-- outputs_removed_at is when the contents of the outputs were given up; their rows stay.
ALTER TABLE scidex_oci.analysis_run
    ADD COLUMN pinned             boolean        NOT NULL DEFAULT false,
    ADD COLUMN outputs_removed_at timestamptz(3);

CREATE INDEX analysis_run_outputs_removed ON scidex_oci.analysis_run (id, attempt) WHERE outputs_removed_at IS NOT NULL;

-- A prefix of a digest is a range of analysis_output_sha256, which 00001 made.
