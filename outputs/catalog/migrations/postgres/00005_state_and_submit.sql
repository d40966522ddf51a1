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

-- ls --state lost, where no recent run is. Most runs are complete, and have no entry: without them this has a tenth of the
-- size, and their commit does not write to it.
CREATE INDEX analysis_run_state ON scidex_oci.analysis_run (state, created_at, id, attempt) WHERE state IN ('failed', 'canceled', 'error', 'lost');

-- submit puts an analysis into the queue in the transaction of whoever calls it, as "scidex-oci submit" does in one of its
-- own (outputs/catalog/postgres/riverqueue): the row of its next attempt, queued, and River's job. It returns the id. The
-- request is a manifest with absolute paths; of it only id and labels are looked at, the rest is the worker's to refuse.
-- River's tables are not there yet where only the catalog was migrated.
-- +goose StatementBegin
CREATE FUNCTION scidex_oci.submit(request jsonb, retries integer DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql SECURITY INVOKER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    run_id   text;
    last     record;
    next     integer;
    enqueued boolean;
BEGIN
    IF to_regclass('scidex_oci.river_job') IS NULL THEN
        RAISE EXCEPTION 'scidex_oci.submit: the tables of the queue are not there' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Let a member of scidex_admin run: scidex-oci --db URL catalog migrate';
    END IF;
    IF request IS NULL OR jsonb_typeof(request) <> 'object' THEN
        RAISE EXCEPTION 'scidex_oci.submit: the request is not a JSON object' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Give a manifest, such as {"command": ["true"]}.';
    END IF;
    IF retries < 0 THEN
        RAISE EXCEPTION 'scidex_oci.submit: retries are %', retries USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Give how many attempts may follow one that ends in an error, from 0 on.';
    END IF;
    IF jsonb_typeof(request -> 'labels') NOT IN ('object', 'null') OR EXISTS (
        SELECT FROM jsonb_each(CASE jsonb_typeof(request -> 'labels') WHEN 'object' THEN request -> 'labels' END) l
        WHERE jsonb_typeof(l.value) <> 'string'
    ) THEN
        RAISE EXCEPTION 'scidex_oci.submit: the labels are not an object of strings' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(request -> 'id') NOT IN ('string', 'null') OR (request ->> 'id') COLLATE "C" !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' THEN
        RAISE EXCEPTION 'scidex_oci.submit: id % is not allowed', request -> 'id' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'It must be 1 to 128 letters, digits, ''.'', ''_'' or ''-'', and begin with a letter or digit.';
    END IF;

    run_id := coalesce(request ->> 'id', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS') || '-'
        || left(gen_random_uuid()::text, 8));
    SELECT r.attempt, r.state INTO last FROM scidex_oci.analysis_run r WHERE r.id = run_id ORDER BY r.attempt DESC LIMIT 1;
    IF last.state IN ('queued', 'running') THEN
        RAISE EXCEPTION 'scidex_oci.submit: id % is in use: attempt % is %', run_id, last.attempt, last.state USING ERRCODE = 'unique_violation',
            HINT = 'Choose another id, or cancel it: scidex-oci queue cancel ' || run_id;
    END IF;
    IF last.state IN ('complete', 'failed') THEN
        RAISE EXCEPTION 'scidex_oci.submit: id % was used before and is %', run_id, last.state USING ERRCODE = 'unique_violation',
            HINT = 'Choose another id.';
    END IF;
    -- Each of two jobs would take the other's run for one of its own dead worker's.
    IF last.attempt IS NOT NULL AND EXISTS (
        SELECT FROM scidex_oci.river_job j WHERE j.kind = 'scidex_analysis' AND j.args @> jsonb_build_object('id', run_id)
            AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    ) THEN
        RAISE EXCEPTION 'scidex_oci.submit: id % is in use: its job is in the queue still, and the next attempt comes by itself', run_id
            USING ERRCODE = 'unique_violation', HINT = 'Choose another id, or end that: scidex-oci queue cancel ' || run_id;
    END IF;
    next := coalesce(last.attempt, 0) + 1;
    request := request || jsonb_build_object('id', run_id);

    INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, request, host, boot_id, tool_version)
    VALUES (run_id, next, 'queued', clock_timestamp(), request::json, '', '', '')
    ON CONFLICT DO NOTHING RETURNING true INTO enqueued;
    IF enqueued IS NULL THEN
        RAISE EXCEPTION 'scidex_oci.submit: id % was taken by another run at the same moment', run_id USING ERRCODE = 'unique_violation',
            HINT = 'Choose another id.';
    END IF;
    INSERT INTO scidex_oci.run_label (id, attempt, key, value)
    SELECT run_id, next, l.key, l.value
    FROM jsonb_each_text(CASE jsonb_typeof(request -> 'labels') WHEN 'object' THEN request -> 'labels' END) l;

    INSERT INTO scidex_oci.river_job (kind, queue, max_attempts, args)
    VALUES ('scidex_analysis', 'analyses', 25,
        jsonb_build_object('v', 1, 'id', run_id, 'request', request, 'first', next)
        || CASE WHEN retries IS NULL THEN '{}' ELSE jsonb_build_object('retries', retries) END);
    PERFORM pg_notify('scidex_oci.river_insert', '{"queue": "analyses"}'); -- workers hear it after the commit, and else look once a second
    RETURN run_id;
END
$$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION scidex_oci.submit(jsonb, integer) FROM PUBLIC;

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
        GRANT EXECUTE ON FUNCTION scidex_oci.submit(jsonb, integer) TO scidex_run;
    END IF;
END
$$;
-- +goose StatementEnd
