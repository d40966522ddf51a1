"""What was counted, as tables for people."""


def tables(told):
    """All of it in Markdown."""
    parts = [told["where"], totals(told), commands(told), sizes(told["sizes"])]
    return "\n\n".join(parts)


def totals(told):
    columns = [(stage, part) for part in ("submission", "submission_in_batch", "run", "idle_worker_minute") for stage in ("empty", "full")]
    found = [told[stage][part]["totals"] for stage, part in columns]
    rows = [["", *(f"{part}, {stage}" for stage, part in columns)]]
    rows += [[name, *(number(of.get(name, 0)) for of in found)] for name in found[0]]
    return markdown(rows)


def commands(told):
    rows = [["", "blocks, empty", "full", "server ms, empty", "full", "CPU ms, empty", "full", "ratio of blocks"]]
    for (name, empty), full in zip(told["empty"]["commands"].items(), told["full"]["commands"].values()):
        cells = [empty["blocks"], full["blocks"], empty["server_ms"], full["server_ms"], 1000 * empty["cpu"], 1000 * full["cpu"]]
        rows.append([name, *map(number, cells), number(full["blocks"] / max(empty["blocks"], 1))])
    return markdown(rows)


def sizes(found):
    rows = [["table", "rows", "heap, bytes a row", "TOAST", "indexes", "MiB in all"]]
    for table in found:
        count, indexes = max(table["rows"], 1), sum((table["indexes"] or {}).values())
        each = [table["heap"] / count, table["toast"] / count, indexes / count]
        rows.append([table["table"], f"{table['rows']:,}", *map(number, each), number((table["heap"] + table["toast"] + indexes) / 2**20)])
    return markdown(rows)


def markdown(rows):
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
