"""Fills a catalog with copies of real runs: their rows with other ids, times and digests. There are no blobs."""

import hashlib

APART = 30  # seconds from one run to the next: a million are a year
PIECE = 100_000

# Copies of template runs, of which each tenth is the second one's. Keys are not looked up: they are right by what is done.
STATEMENTS = (
    """CREATE TEMP TABLE copies AS SELECT n, CASE WHEN n %% 10 = 9 THEN '%(bad)s' ELSE '%(good)s' END AS template,
        'synthetic-' || lpad(n::text, 8, '0') AS id, now() - interval '2 days' - (%(count)s - n) * interval '%(apart)s s' AS at
        FROM generate_series(%(first)s, %(last)s) n""",
    """INSERT INTO scidex_oci.analysis_run (id, attempt, state, reason, message, exit_code, signal, created_at, started_at, finished_at,
        request, place, report, host, boot_id, tool_version, outputs_total, rejected_total)
        SELECT c.id, 1, state, reason, message, exit_code, signal, c.at, c.at + interval '1 s', c.at + interval '2 s',
        replace(request::text, r.id, c.id)::json, replace(place::text, r.id, c.id)::json, report, host, boot_id, tool_version,
        outputs_total, rejected_total
        FROM copies c JOIN scidex_oci.analysis_run r ON r.id = c.template ORDER BY c.n""",
    """INSERT INTO scidex_oci.run_label SELECT c.id, 1, key, value
        FROM copies c JOIN scidex_oci.run_label l ON l.id = c.template ORDER BY c.n""",
    """INSERT INTO scidex_oci.run_label SELECT c.id, 1, 'rare', (c.n / 10)::text FROM copies c ORDER BY c.n""",
    """INSERT INTO scidex_oci.run_blob SELECT c.id, 1, encode(sha256((c.n || b.sha256)::bytea), 'hex')
        FROM copies c JOIN scidex_oci.run_blob b ON b.id = c.template ORDER BY c.n""",
    """INSERT INTO scidex_oci.sandbox_audit_event (analysis_id, attempt, ts, seq, kind, path_or_addr, severity, allowed, blocked, count)
        SELECT c.id, 1, c.at + interval '1 s', seq, kind, path_or_addr, severity, allowed, blocked, count
        FROM copies c JOIN scidex_oci.sandbox_audit_event e ON e.analysis_id = c.template ORDER BY c.n""",
    """INSERT INTO scidex_oci.analysis_output (id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial, content)
        SELECT c.id, 1, path, size, encode(sha256(c.n::text::bytea), 'hex'), media_type, mode, verdict, detail, partial, content
        FROM copies c JOIN scidex_oci.analysis_output o ON o.id = c.template ORDER BY c.n""",
)

# Jobs that have ended in the last 23 hours, of the newest runs: River's cleaner leaves them for this hour.
JOBS = """INSERT INTO scidex_oci.river_job (state, attempt, max_attempts, attempted_at, created_at, finalized_at, scheduled_at, priority,
        args, attempted_by, kind, metadata, queue, tags)
    SELECT state, attempt, max_attempts, t.at - interval '2 s', t.at - interval '3 s', t.at, t.at - interval '3 s', priority,
        replace(args::text, '%(good)s', 'synthetic-' || lpad(n::text, 8, '0'))::jsonb, attempted_by, kind, metadata, queue, tags
    FROM generate_series(%(count)s - %(jobs)s, %(count)s - 1) n,
        LATERAL (SELECT now() - (%(count)s - n) * interval '23 hours' / %(jobs)s AS at) t,
        (SELECT * FROM scidex_oci.river_job WHERE args ->> 'id' = '%(good)s') j ORDER BY n"""

SIZES = """SELECT json_agg(json_build_object('table', relname, 'rows', (SELECT n_live_tup FROM pg_stat_user_tables s WHERE s.relid = c.oid),
    'heap', pg_relation_size(c.oid), 'toast', pg_table_size(c.oid) - pg_relation_size(c.oid), 'indexes', (SELECT json_object_agg(i.relname,
        pg_relation_size(i.oid)) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid)) ORDER BY pg_total_relation_size(c.oid) DESC)
    FROM pg_class c WHERE relnamespace = 'scidex_oci'::regnamespace AND relkind = 'r' AND pg_relation_size(c.oid) > 0"""


def fill(server, count, good, bad, say):
    """Add count runs, nine of ten copies of the run good."""
    for first in range(0, count, PIECE):
        last = min(first + PIECE, count) - 1
        values = {"good": good, "bad": bad, "count": count, "first": first, "last": last, "apart": APART}
        # Triggers are off for this session: they are those of foreign keys.
        server.sql("SET session_replication_role = replica;" + ";".join(statement % values for statement in STATEMENTS))
        say(f"{last + 1:,} runs")


def fill_jobs(server, count, jobs, good):
    """Add so many jobs that have ended, of the newest runs."""
    server.sql(JOBS % {"good": good, "count": count, "jobs": jobs})


def name(n):
    return f"synthetic-{n:08}"


def digest(n):
    """Of the output of the n-th run, as STATEMENTS has it."""
    return hashlib.sha256(str(n).encode()).hexdigest()
