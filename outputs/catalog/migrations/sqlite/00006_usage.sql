-- +goose Up

-- All that stats reads of a run, by the hour of its creation: a million runs are read from a fortieth of what their rows
-- take. The last column is one text, because to put it together takes longer than to read it: numbers, and the hexadecimal
-- digits of texts. Whatever a document holds, its run is committed.
CREATE INDEX analysis_run_usage ON analysis_run (
    substr(created_at, 1, 13), created_at, state, reason, host, id, attempt,
    iif(typeof(json_extract(report, '$.usage.wall_ms')) = 'integer', json_extract(report, '$.usage.wall_ms'), 0)
    || ' ' || iif(typeof(json_extract(report, '$.usage.cpu_ms')) = 'integer', json_extract(report, '$.usage.cpu_ms'), 0)
    || ' ' || iif(typeof(json_extract(report, '$.usage.memory_peak_bytes')) = 'integer', json_extract(report, '$.usage.memory_peak_bytes'), 0)
    || ' ' || iif(typeof(json_extract(request, '$.memory')) = 'integer', json_extract(request, '$.memory'), 0)
    || ' ' || iif(typeof(json_extract(request, '$.cpus')) IN ('integer', 'real'), json_extract(request, '$.cpus'), 0)
    || ' ' || hex(coalesce(json_extract(request, '$.timeout'), ''))
    || ' ' || hex(coalesce(reason, ''))
) WHERE state IN ('complete', 'failed', 'canceled', 'error', 'lost');
