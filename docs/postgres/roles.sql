-- The roles of a scidex-oci catalog in PostgreSQL (docs/postgres.md). To be run once in the catalog's database,
-- by one who may make roles and schemas:
--
--   psql -d DATABASE -v ON_ERROR_STOP=1 -f docs/postgres/roles.sql
--
-- It can be run again, and before or after the tables are made.
--
--   scidex_run    what runs need: SELECT, INSERT and UPDATE on runs, SELECT and INSERT elsewhere, and to call submit. It
--                 deletes nothing but jobs of the queue, and what workers note beside them and of themselves, which pass.
--   scidex_admin  owns the schema: also DELETE (rm) and changes of the schema (catalog migrate).
--
-- Both are groups that cannot log in: GRANT scidex_run TO a user.
BEGIN;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
        CREATE ROLE scidex_run NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_admin') THEN
        CREATE ROLE scidex_admin NOLOGIN;
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS scidex_oci;
ALTER SCHEMA scidex_oci OWNER TO scidex_admin;
GRANT USAGE ON SCHEMA scidex_oci TO scidex_run;

-- Where the tables are there already; the migrations grant the same on those they make.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'scidex_oci' AND c.relkind IN ('r', 'v')
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO scidex_admin', name);
        EXECUTE format('GRANT SELECT ON %s TO scidex_run', name);
    END LOOP;
    FOR name IN SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = 'scidex_oci'
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO scidex_admin', name);
    END LOOP;
    IF to_regclass('scidex_oci.river_job') IS NOT NULL THEN -- the queue's, which are River's
        ALTER TYPE scidex_oci.river_job_state OWNER TO scidex_admin;
        GRANT SELECT, INSERT, UPDATE, DELETE ON scidex_oci.river_job, scidex_oci.river_queue,
            scidex_oci.river_leader, scidex_oci.river_notification TO scidex_run;
        GRANT USAGE ON SEQUENCE scidex_oci.river_job_id_seq, scidex_oci.river_notification_id_seq TO scidex_run;
    END IF;
    IF to_regprocedure('scidex_oci.submit(jsonb, integer)') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION scidex_oci.submit(jsonb, integer) TO scidex_run;
    END IF;
    IF to_regclass('scidex_oci.worker_lease') IS NOT NULL THEN
        GRANT INSERT, UPDATE, DELETE ON scidex_oci.worker_lease TO scidex_run;
    END IF;
    IF to_regclass('scidex_oci.analysis_run') IS NOT NULL THEN
        GRANT INSERT, UPDATE ON scidex_oci.analysis_run TO scidex_run;
        GRANT INSERT ON scidex_oci.run_label, scidex_oci.run_blob, scidex_oci.analysis_output,
            scidex_oci.sandbox_audit_event, scidex_oci.selftest_report TO scidex_run;
    END IF;
END
$$;

COMMIT;
