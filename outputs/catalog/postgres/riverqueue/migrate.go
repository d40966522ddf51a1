package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
)

// Migrate brings River's tables to this program's version, each step in a transaction, and returns the versions before and
// after. If they are up to date it costs one read.
func Migrate(ctx context.Context, c *postgres.Catalog) (before, after int, err error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{Schema: schema})
	if err != nil {
		return 0, 0, fmt.Errorf("migrate the queue: %w", err)
	}
	for _, m := range migrator.AllVersions() {
		after = max(after, m.Version)
	}
	err = c.Reading(ctx, func(tx pgx.Tx) error {
		before, err = version(ctx, tx)
		return err
	})
	switch {
	case err != nil:
		return before, before, fmt.Errorf("look at the queue: %w", err)
	case before > after:
		return before, before, fmt.Errorf("the queue's tables have version %d and this program knows versions up to %d; use the newer scidex-oci that made them", before, after)
	case before == after:
		return before, after, nil
	}
	for now := before; err == nil && now < after; {
		err = c.Within(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			now, err = step(ctx, tx, migrator, after)
			return err
		})
	}
	if err == nil {
		return before, after, nil
	}
	if postgres.NotAllowed(err) {
		return before, before, fmt.Errorf("the queue's tables have version %d, this program needs %d, and this role may not change them; let a member of scidex_admin run: scidex-oci --db URL catalog migrate", before, after)
	}
	return before, before, fmt.Errorf("migrate the queue: %w", err)
}

// version is the newest applied River migration; 0 if none. River's own query also reads information_schema, for tables
// older than any made here: half of the pages that a submission read.
func version(ctx context.Context, tx pgx.Tx) (n int, err error) {
	var there bool
	if err = tx.QueryRow(ctx, `SELECT to_regclass('scidex_oci.river_migration') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT coalesce(max(version), 0)::int FROM scidex_oci.river_migration`).Scan(&n)
	return n, err
}

// step applies the next migration under a lock and returns the version after it. The sixth uses an enumeration value that
// the fourth adds, which PostgreSQL allows only in another transaction. New objects get the owner of the catalog's tables.
func step(ctx context.Context, tx pgx.Tx, migrator *rivermigrate.Migrator[pgx.Tx], latest int) (now int, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('scidex_oci'), hashtext('migrate'))`); err != nil {
		return 0, err
	}
	if now, err = version(ctx, tx); err != nil || now >= latest {
		return now, err
	}
	if _, err = tx.Exec(ctx, asAdmin); err != nil {
		return now, err
	}
	one := &rivermigrate.MigrateOpts{MaxSteps: 1}
	if _, err := migrator.MigrateTx(ctx, tx, rivermigrate.DirectionUp, one); err != nil { //nolint:staticcheck // advised against for several in one transaction
		return now, err
	}
	if now, err = version(ctx, tx); err == nil && now == latest {
		_, err = tx.Exec(ctx, grants)
	}
	return now, err
}

const asAdmin = `DO $$
	BEGIN
		IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_admin' AND pg_has_role(oid, 'MEMBER')) THEN
			SET LOCAL ROLE scidex_admin;
		END IF;
	END
	$$`

// grants are what roles of runs need: on jobs, River's leader lease and the like, including DELETE, but no deletion in the
// catalog.
const grants = `DO $$
	BEGIN
		IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
			GRANT SELECT ON scidex_oci.river_migration TO scidex_run;
			GRANT SELECT, INSERT, UPDATE, DELETE ON scidex_oci.river_job, scidex_oci.river_queue,
				scidex_oci.river_leader, scidex_oci.river_notification TO scidex_run;
			GRANT USAGE ON SEQUENCE scidex_oci.river_job_id_seq, scidex_oci.river_notification_id_seq TO scidex_run;
		END IF;
	END
	$$`
