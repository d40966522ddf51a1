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

-- A number as it is written, else 0.
-- +goose StatementBegin
CREATE FUNCTION scidex_oci.number_of(value json) RETURNS text LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN CASE WHEN json_typeof(value) = 'number' AND length(value::text) < 40 THEN value::text ELSE '0' END;
END
$$;
-- +goose StatementEnd

-- All that stats reads of a run's documents, in one text that is made when one is written: numbers, and the hexadecimal digits
-- of the timeout, with blanks between. Of a document with a \u0000 json says nothing but an error; its run is committed all the
-- same. Whoever may write a run may call it.
-- +goose StatementBegin
CREATE FUNCTION scidex_oci.usage_of(request json, report json) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, scidex_oci, pg_temp
AS $$
DECLARE
    usage json;
    used  text;
    asked text;
BEGIN
    BEGIN
        usage := report -> 'usage';
        used := number_of(usage -> 'wall_ms') || ' ' || number_of(usage -> 'cpu_ms') || ' ' || number_of(usage -> 'memory_peak_bytes');
    EXCEPTION WHEN OTHERS THEN
        used := '0 0 0';
    END;
    BEGIN
        asked := number_of(request -> 'memory') || ' ' || number_of(request -> 'cpus') || ' '
            || encode(convert_to(left(coalesce(request ->> 'timeout', ''), 40), 'UTF8'), 'hex');
    EXCEPTION WHEN OTHERS THEN
        asked := '0 0 ';
    END;
    RETURN used || ' ' || asked;
END
$$;
-- +goose StatementEnd

ALTER TABLE scidex_oci.analysis_run ADD COLUMN usage text COLLATE "C" GENERATED ALWAYS AS (scidex_oci.usage_of(request, report)) STORED;

-- A million runs are read from this alone, where they were vacuumed since.
CREATE INDEX analysis_run_usage ON scidex_oci.analysis_run (created_at, id, attempt) INCLUDE (usage, state, reason, host)
    WHERE state IN ('complete', 'failed', 'canceled', 'error', 'lost');
