package relational

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// SelectRun reads whole runs for ScanRun, with their labels and blobs.
const SelectRun = `SELECT id, attempt, state, coalesce(reason, ''), coalesce(message, ''), coalesce(exit_code, 0), coalesce(signal, ''),
	created_at, started_at, finished_at, request::text, place::text, report::text,
	host, boot_id, tool_version, outputs_total, rejected_total, pinned, outputs_removed_at,
	(SELECT coalesce(json_object_agg(key, value), '{}')::text FROM scidex_oci.run_label l WHERE l.id = r.id AND l.attempt = r.attempt),
	(SELECT coalesce(json_agg(sha256), '[]')::text FROM scidex_oci.run_blob b WHERE b.id = r.id AND b.attempt = r.attempt)
	FROM scidex_oci.analysis_run r`

// newestFirst orders runs of one millisecond consistently.
const newestFirst = ` ORDER BY created_at DESC, id DESC, attempt DESC`

// ScanRun reads a row of SelectRun.
func ScanRun(row Row) (run catalog.Run, err error) {
	var labels, blobs string
	err = row.Scan(&run.ID, &run.Attempt, &run.State, &run.Reason, &run.Message, &run.ExitCode, &run.Signal,
		moment{&run.CreatedAt}, moment{&run.StartedAt}, moment{&run.FinishedAt}, document{&run.Request}, document{&run.Place}, document{&run.Report},
		&run.Host, &run.BootID, &run.ToolVersion, &run.OutputsTotal, &run.RejectedTotal, &run.Pinned, moment{&run.OutputsRemovedAt}, &labels, &blobs)
	if err != nil {
		return catalog.Run{}, err
	}
	err = errors.Join(json.Unmarshal([]byte(labels), &run.Labels), json.Unmarshal([]byte(blobs), &run.Blobs))
	slices.Sort(run.Blobs)
	return run, err
}

// Get returns one run, the last attempt if the key has none.
func (c Catalog) Get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	run, err := c.get(ctx, key)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("get run %q: %w", Label(key), c.db.Explain(err))
	}
	return run, nil
}

func (c Catalog) get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	where := c.where()
	where.Add(`id = %s`, key.ID)
	if key.Attempt != 0 {
		where.Add(`attempt = %s`, key.Attempt)
	}
	return c.first(ctx, where.String()+` ORDER BY attempt DESC`, where.Args...)
}

// first returns the first run of a selection.
func (c Catalog) first(ctx context.Context, selection string, args ...any) (run catalog.Run, err error) {
	err = one(ctx, c.db, func(row Row) error {
		run, err = ScanRun(row)
		return err
	}, SelectRun+selection+` LIMIT 1`, args...)
	return run, err
}

// Find resolves a typed name.
func (c Catalog) Find(ctx context.Context, text string) (catalog.Run, error) {
	name, err := catalog.ParseName(text)
	if err != nil {
		return catalog.Run{}, err
	}
	run, err := c.find(ctx, name)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("run %q: %w", text, c.db.Explain(err))
	}
	return run, nil
}

func (c Catalog) find(ctx context.Context, name catalog.Name) (catalog.Run, error) {
	if name.Last {
		return c.first(ctx, newestFirst)
	}
	key, err := name.Key(func(prefix string, limit int) ([]string, error) { return c.beginWith(ctx, prefix, limit) })
	if err != nil {
		return catalog.Run{}, err
	}
	return c.get(ctx, key)
}

// beginWith returns up to limit ids that start with prefix, in order. A range of the primary key has no wildcards and no
// case; the upper end is prefix and the last character of Unicode.
func (c Catalog) beginWith(ctx context.Context, prefix string, limit int) (ids []string, err error) {
	if !c.d.Holds(prefix) {
		return nil, nil
	}
	err = c.db.Query(ctx, func(row Row) (bool, error) {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return true, err
	}, `SELECT DISTINCT id FROM scidex_oci.analysis_run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`, prefix, prefix+"\U0010FFFF", limit)
	return ids, err
}

// List returns runs, the newest first.
func (c Catalog) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	runs, err := c.list(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", c.db.Explain(err))
	}
	return runs, nil
}

func (c Catalog) list(ctx context.Context, filter catalog.Filter) (runs []catalog.Run, err error) {
	where, err := c.Matching(ctx, filter)
	if err != nil {
		return nil, err
	}
	sql := SelectRun + where.String() + newestFirst
	if filter.Limit > 0 {
		sql += ` LIMIT ` + where.Bind(filter.Limit)
	}
	err = c.db.Query(ctx, func(row Row) (bool, error) {
		run, err := ScanRun(row)
		runs = append(runs, run)
		return true, err
	}, sql, where.Args...)
	return runs, err
}

func (c Catalog) where() *Where {
	return &Where{Moment: c.d.Moment, Holds: c.d.Holds, Contains: c.d.Contains}
}

// Matching is the clause for a filter, without its limit.
func (c Catalog) Matching(ctx context.Context, filter catalog.Filter) (*Where, error) {
	where := c.where()
	where.Runs(filter)
	if filter.ActionID != "" {
		where.Add(c.d.OfAction, filter.ActionID)
	}
	if filter.Last {
		where.Add(`NOT EXISTS (SELECT 1 FROM scidex_oci.analysis_run n WHERE n.id = r.id AND n.attempt > r.attempt)`)
	}
	return where, c.labels(ctx, where, filter.Labels)
}

// labels adds that a run has all of the labels.
func (c Catalog) labels(ctx context.Context, where *Where, labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := c.d.AddLabel(ctx, c.db, where, key, labels[key]); err != nil {
			return err
		}
	}
	return nil
}

// FindOutputs streams the outputs of any run.
func (c Catalog) FindOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) error {
	if err := c.findOutputs(ctx, query, yield); err != nil {
		return fmt.Errorf("find outputs: %w", c.db.Explain(err))
	}
	return nil
}

func (c Catalog) findOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) error {
	from, where := c.d.Outputs, c.where()
	where.Add(`o.verdict = 'output'`)
	if query.Digest != "" {
		from = c.d.OutputsOfDigest
		where.Add(`o.sha256 >= %s`, query.Digest)
		where.Add(`o.sha256 < %s`, query.Digest+"g") // after every digit
	}
	if !query.Since.IsZero() {
		where.Add(`r.created_at >= %s`, c.d.Moment(query.Since))
	}
	where.States(query.States)
	if err := c.labels(ctx, where, query.Labels); err != nil {
		return err
	}
	return c.db.Query(ctx, func(row Row) (bool, error) {
		found, err := scanFound(row)
		return err == nil && yield(found), err
	}, `SELECT r.id, r.attempt, r.created_at, r.outputs_removed_at,
		o.path, o.size, o.sha256, coalesce(o.media_type, ''), coalesce(o.mode, 0), o.partial FROM `+from+where.String()+
		` ORDER BY r.created_at DESC, r.id DESC, r.attempt DESC, o.path`, where.Args...)
}

func scanFound(row Row) (found catalog.FoundOutput, err error) {
	var mode int64
	err = row.Scan(&found.ID, &found.Attempt, moment{&found.CreatedAt}, moment{&found.OutputsRemovedAt},
		&found.Path, &found.Size, &found.SHA256, &found.MediaType, &mode, &found.Partial)
	found.Mode = uint32(mode)
	return found, err
}

const selectEntry = `SELECT path, coalesce(size, 0), coalesce(sha256, ''), coalesce(media_type, ''), coalesce(mode, 0), verdict, detail, partial
	FROM scidex_oci.analysis_output WHERE id = $1 AND attempt = $2`

func scanEntry(row Row) (entry outputs.Entry, err error) {
	var verdict string
	var mode int64
	err = row.Scan(&entry.Path, &entry.Size, &entry.SHA256, &entry.MediaType, &mode, &verdict, &entry.Detail, &entry.Partial)
	entry.Mode, entry.Rejected = uint32(mode), reasonOf(verdict)
	return entry, err
}

// Outputs streams the entries of a run as of the call.
func (c Catalog) Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error {
	err := c.ofAttempt(ctx, key, func(from Reader, key catalog.Key) error {
		return from.Query(ctx, func(row Row) (bool, error) {
			entry, err := scanEntry(row)
			return err == nil && yield(entry), err
		}, selectEntry+` ORDER BY `+c.d.ByPath, key.ID, key.Attempt)
	})
	if err != nil {
		return fmt.Errorf("outputs of run %q: %w", Label(key), err)
	}
	return nil
}

// Output returns one output.
func (c Catalog) Output(ctx context.Context, key catalog.Key, path []byte) (entry outputs.Entry, err error) {
	err = c.ofAttempt(ctx, key, func(from Reader, key catalog.Key) error {
		return one(ctx, from, func(row Row) error {
			entry, err = scanEntry(row)
			return err
		}, selectEntry+` AND `+c.d.OfPath+` AND verdict = 'output'`, key.ID, key.Attempt, notNull(path))
	})
	if err != nil {
		return outputs.Entry{}, fmt.Errorf("output %q of run %q: %w", path, Label(key), err)
	}
	return entry, nil
}

// Events returns what the sandbox saw a run try.
func (c Catalog) Events(ctx context.Context, key catalog.Key) (found []catalog.Event, err error) {
	err = c.ofAttempt(ctx, key, func(from Reader, key catalog.Key) error {
		return from.Query(ctx, func(row Row) (bool, error) {
			var e catalog.Event
			err := row.Scan(moment{&e.At}, &e.Kind, &e.Address, &e.Severity, &e.Allowed, &e.Blocked, &e.Count)
			found = append(found, e)
			return true, err
		}, `SELECT ts, kind, path_or_addr, severity, allowed, blocked, count
			FROM scidex_oci.sandbox_audit_event WHERE analysis_id = $1 AND attempt = $2 ORDER BY ts, `+c.d.EventOrder, key.ID, key.Attempt)
	})
	if err != nil {
		return nil, fmt.Errorf("events of run %q: %w", Label(key), err)
	}
	return found, nil
}

// ofAttempt runs do on a snapshot, with a key that names an attempt, the last one if key has none. An unknown run is
// catalog.ErrNotFound.
func (c Catalog) ofAttempt(ctx context.Context, key catalog.Key, do func(from Reader, key catalog.Key) error) error {
	if !c.d.Holds(key.ID) {
		return catalog.ErrNotFound
	}
	err := c.db.Read(ctx, func(from Reader) error {
		err := one(ctx, from, func(row Row) error { return row.Scan(&key.Attempt) },
			`SELECT attempt FROM scidex_oci.analysis_run WHERE id = $1 AND (attempt = $2 OR $2 = 0) ORDER BY attempt DESC LIMIT 1`, key.ID, key.Attempt)
		if err != nil {
			return err
		}
		return do(from, key)
	})
	if err != nil {
		return c.db.Explain(err)
	}
	return nil
}

// Digests streams the digests that runs name.
func (c Catalog) Digests(ctx context.Context, yield func(sha256 string) bool) error {
	err := c.db.Query(ctx, func(row Row) (bool, error) {
		var digest string
		err := row.Scan(&digest)
		return err == nil && yield(digest), err
	}, c.d.Digests)
	if err != nil {
		return fmt.Errorf("digests of the catalog: %w", c.db.Explain(err))
	}
	return nil
}
