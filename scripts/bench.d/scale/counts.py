"""What a server has done between two looks at its counters."""

# One object with all counters of PostgreSQL's that are read. Statements of other roles than the tool's are not its own.
LOOK = """SELECT json_build_object(
    'lsn', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'),
    'pages', (SELECT wal_fpi FROM pg_stat_wal),
    'database', (SELECT json_build_object('transactions', xact_commit + xact_rollback, 'connections', sessions)
        FROM pg_stat_database WHERE datname = 'scidex'),
    'statements', (SELECT json_object_agg(queryid::text || '/' || toplevel, json_build_object('query', query, 'calls', calls,
            'rows', rows, 'ms', total_exec_time + total_plan_time, 'wal', wal_bytes,
            'blocks', shared_blks_hit + shared_blks_read + local_blks_hit + local_blks_read))
        FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE rolname = 'scidex'))"""

# The counters of tables are those of one database, and looking at them is a connection and a transaction there.
LOOK_AT_TABLES = """SELECT json_object_agg(relname, json_build_object('inserted', n_tup_ins, 'updated', n_tup_upd,
    'hot', n_tup_hot_upd, 'deleted', n_tup_del)) FROM pg_stat_user_tables WHERE schemaname = 'scidex_oci'"""
OWN_LOOKS = {"transactions": 2, "connections": 1}  # a connection is a transaction, too

# River tells workers through this function; it is called once for each row of its statement.
NOTIFY = "pg_notify"


class Counts:
    """What was done between two looks; it can be scaled, and another taken from it."""

    def __init__(self, totals, tables, statements):
        self.totals, self.tables, self.statements = totals, tables, statements

    def less(self, other, times=1):
        """This without so many times another."""
        return Counts(subtracted(self.totals, other.totals, times), nested(self.tables, other.tables, times),
                      nested(self.statements, other.statements, times))

    def by(self, number):
        """This for each of so many."""
        return Counts({}, {}, {}).less(self, -1 / number)

    def told(self, busiest=12):
        """Totals, tables that were written to, and the statements that took most of the server's time."""
        told = dict(self.totals)
        for name, of in (("statements", "calls"), ("rows", "rows"), ("execution_ms", "ms"), ("blocks", "blocks")):
            told[name] = sum(s[of] for s in self.statements.values())
        told["notifications"] = sum(s["rows"] for query, s in self.statements.items() if NOTIFY in query)
        order = sorted(self.statements.items(), key=lambda item: -item[1]["ms"])
        return {
            "totals": {name: rounded(value) for name, value in told.items()},
            "tables": {name: trimmed(counts) for name, counts in self.tables.items() if any(abs(v) > 0.005 for v in counts.values())},
            "busiest": [{"query": query, **trimmed(counts)} for query, counts in order[:busiest]],
        }


def between(before, after):
    """Counts between two looks (LOOK with the tables of LOOK_AT_TABLES), without what the first look did itself."""
    totals = subtracted(after["database"], before["database"])
    totals = subtracted(totals, OWN_LOOKS)
    totals["wal_bytes"], totals["wal_pages"] = after["lsn"] - before["lsn"], after["pages"] - before["pages"]
    totals["server_cpu_ms"] = 1000 * (after["cpu"] - before["cpu"])
    return Counts(totals, nested(after["tables"], before["tables"]), nested(by_query(after), by_query(before)))


def by_query(look):
    """Counts of each statement by its text: the same one may have been prepared in several forms."""
    merged = {}
    for statement in (look["statements"] or {}).values():
        counts = {name: value for name, value in statement.items() if name != "query"}
        query = " ".join(statement["query"].split())
        merged[query] = subtracted(merged.get(query, {}), counts, -1)
    return merged


def subtracted(one, other, times=1):
    return {name: one.get(name, 0) - times * other.get(name, 0) for name in {**one, **other}}


def nested(one, other, times=1):
    return {name: subtracted(one.get(name, {}), other.get(name, {}), times) for name in {**one, **other}}


def trimmed(counts):
    return {name: rounded(value) for name, value in counts.items() if name != "query"}


def rounded(value):
    return round(value, 2) if isinstance(value, float) else value
