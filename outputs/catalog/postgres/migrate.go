package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
)

// oldestServer is the oldest PostgreSQL that the migrations support: 14 has bodies of SQL functions.
const oldestServer = 140000

// versions is goose's table, made here so that it gets the owner of the others.
const versions = "scidex_oci.goose_db_version"

// inspection decides whether a database can be used as it is.
type inspection struct {
	server   int // as server_version_num
	encoding string
	schema   bool  // the schema exists
	ours     bool  // and has the table of versions
	tables   int64 // its other tables
	version  int64 // the newest applied migration; 0 if none
}

// upToDate migrates the database to the newest schema of fsys and returns the versions before and after. An up-to-date
// database costs two reads.
func (c *Catalog) upToDate(ctx context.Context, fsys fs.FS) (before, after int64, err error) {
	latest, err := migrations.Latest(fsys)
	if err != nil {
		return 0, 0, err
	}
	found, err := c.inspect(ctx)
	if err != nil {
		return 0, 0, err
	}
	current, err := found.current(latest)
	if err != nil || current {
		return found.version, found.version, err
	}
	if err := c.migrate(ctx, fsys, latest); err != nil {
		return found.version, found.version, &outdated{have: found.version, want: latest, err: err}
	}
	return found.version, latest, nil
}

// inspect reads the state each time: another process may be migrating.
func (c *Catalog) inspect(ctx context.Context) (found inspection, err error) {
	err = c.readRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		to_regnamespace('scidex_oci') IS NOT NULL, to_regclass('`+versions+`') IS NOT NULL,
		(SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('scidex_oci') AND relkind = 'r')`,
		&found.server, &found.encoding, &found.schema, &found.ours, &found.tables)
	if err == nil && found.ours {
		err = c.readRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versions, &found.version)
	}
	return found, err
}

// current reports whether nothing must be done, and refuses databases that must not be changed.
func (i inspection) current(latest int64) (bool, error) {
	switch {
	case i.server < oldestServer:
		return false, fmt.Errorf("this server is PostgreSQL %d; the catalog needs %d or newer", i.server/10000, oldestServer/10000)
	case i.encoding != "UTF8":
		return false, fmt.Errorf("the encoding of this database is %s; make one with: createdb --encoding=UTF8 --template=template0 NAME", i.encoding)
	case !i.ours && i.tables > 0:
		return false, errors.New("its schema \"scidex_oci\" has tables of another program; name another database")
	case i.version > latest:
		return false, migrations.Newer(i.version, latest)
	default:
		return i.version == latest, nil
	}
}

// outdated is why an old schema could not be migrated.
type outdated struct {
	have, want int64
	err        error
}

func (e *outdated) Error() string {
	return fmt.Sprintf("migrate from version %d to %d: %v", e.have, e.want, e.err)
}

func (e *outdated) Unwrap() error { return e.err }

// whereAllowed adds who can migrate if the role may not.
func whereAllowed(err error) error {
	var old *outdated
	if !errors.As(err, &old) || codeOf(err) != codeNotAllowed {
		return err
	}
	return fmt.Errorf("its schema has version %d, this program needs %d, and this role may not change it; let a member of scidex_admin run: scidex-oci --db URL catalog migrate", old.have, old.want)
}

// migrate brings the database to the latest version under a lock. A process that waited for the lock finds the work
// done. It is the lock of a transaction, since PgBouncer keeps only transactions on one connection; goose uses other
// connections.
func (c *Catalog) migrate(ctx context.Context, fsys fs.FS, latest int64) error {
	lock, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, lock)
	if _, err := lock.Exec(ctx, `set local idle_in_transaction_session_timeout = 0; set local lock_timeout = '60s';
		select pg_advisory_xact_lock(hashtext('scidex_oci'), hashtext('migrate'))`); err != nil {
		return err
	}
	found, err := c.inspect(ctx)
	if err != nil {
		return err
	}
	if current, err := found.current(latest); err != nil || current {
		return err
	}
	if err := c.prepare(ctx, found); err != nil {
		return err
	}
	return c.up(ctx, fsys)
}

// prepare makes the schema and the table of versions if missing, as goose would.
func (c *Catalog) prepare(ctx context.Context, found inspection) error {
	if found.ours {
		return nil
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if !found.schema {
			if _, err := tx.Exec(ctx, `CREATE SCHEMA scidex_oci`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `
			DO $$
			BEGIN
				IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_admin' AND pg_has_role(oid, 'MEMBER')) THEN
					ALTER SCHEMA scidex_oci OWNER TO scidex_admin;
					SET LOCAL ROLE scidex_admin;
				END IF;
				IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'scidex_run') THEN
					GRANT USAGE ON SCHEMA scidex_oci TO scidex_run;
				END IF;
			END
			$$;
			CREATE TABLE `+versions+` (
				id         integer   PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY,
				version_id bigint    NOT NULL,
				is_applied boolean   NOT NULL,
				tstamp     timestamp NOT NULL DEFAULT now()
			);
			INSERT INTO `+versions+` (version_id, is_applied) VALUES (0, true)`)
		return err
	})
}

// up applies the migrations, each in a separate transaction.
func (c *Catalog) up(ctx context.Context, fsys fs.FS) (err error) {
	db := sql.OpenDB(stdlib.GetConnector(*c.pool.Config().ConnConfig))
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, fsys,
		goose.WithTableName(versions), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
