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

-- Well-formed UTF-8 without NUL (Unicode, table 3-7), by the hexadecimal digits of the bytes.
CREATE FUNCTION scidex_oci.is_text(bytes bytea) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN encode(bytes, 'hex') ~ ('^(0[1-9a-f]|[1-7][0-9a-f]|(c[2-9a-f]|d[0-9a-f])[89ab][0-9a-f]'
        || '|(e0[ab][0-9a-f]|e[1-9abcef][89ab][0-9a-f]|ed[89][0-9a-f])[89ab][0-9a-f]'
        || '|(f0[9ab][0-9a-f]|f[1-3][89ab][0-9a-f]|f48[0-9a-f])([89ab][0-9a-f]){2})*$');

-- A file name as text: as it is where it is UTF-8, else with \ooo for bytes and \\ for a backslash.
CREATE FUNCTION scidex_oci.name_text(bytes bytea) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE WHEN scidex_oci.is_text(bytes) THEN convert_from(bytes, 'UTF8') ELSE encode(bytes, 'escape') END;

-- The views stay as they are when the tables change; what would not fit gets a view of the next number.
CREATE VIEW scidex_oci.runs_v1 AS
SELECT r.id, r.attempt, r.state, r.reason, r.message, r.exit_code, r.signal,
       r.created_at, r.started_at, r.finished_at, r.host, r.tool_version, r.outputs_total, r.rejected_total,
       coalesce((SELECT jsonb_object_agg(l.key, l.value) FROM scidex_oci.run_label l
                 WHERE l.id = r.id AND l.attempt = r.attempt), '{}'::jsonb) AS labels,
       NOT EXISTS (SELECT FROM scidex_oci.analysis_run n WHERE n.id = r.id AND n.attempt > r.attempt) AS latest
FROM scidex_oci.analysis_run r;

CREATE VIEW scidex_oci.outputs_v1 AS
SELECT o.id, o.attempt, scidex_oci.name_text(o.path) AS path, o.path AS path_bytes,
       scidex_oci.is_text(o.path) AS path_is_text, o.sha256, o.size, o.media_type, o.mode, o.partial
FROM scidex_oci.analysis_output o
WHERE o.verdict = 'output';

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
        GRANT SELECT ON scidex_oci.runs_v1, scidex_oci.outputs_v1 TO scidex_run;
    END IF;
END
$$;
-- +goose StatementEnd
