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

-- The leases of workers (docs/adr/0048). All times are this database's. A worker renews its row several times in a length; no
-- renewal since unbroken_since came late. Each row is rewritten every few seconds: a page keeps room for that.
CREATE TABLE scidex_oci.worker_lease (
    worker         text COLLATE "C" PRIMARY KEY,
    host           text        NOT NULL,
    length         interval    NOT NULL,
    started        timestamptz NOT NULL,
    renewed_at     timestamptz NOT NULL,
    unbroken_since timestamptz NOT NULL
) WITH (fillfactor = 20);

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON scidex_oci.worker_lease TO scidex_run;
    END IF;
END
$$;
-- +goose StatementEnd
