package postgres

import "testing"

// Roles are the addresses of a database of the tests' cluster, as members of scidex_admin and scidex_run have it, and how to
// change it as the server's owner.
type Roles struct {
	Admin, Runner string
	Execute       func(sql string, args ...any)
}

// Fresh returns an empty database.
func Fresh(t *testing.T) Roles {
	t.Helper()
	c := theCluster(t)
	return roles(t, c, c.database(t))
}

// WithQueue returns a database in which migrate has made the queue, as a copy of one of all tests.
func WithQueue(t *testing.T, migrate func(Roles)) Roles {
	t.Helper()
	c := theCluster(t)
	return roles(t, c, c.copyOf(t, "the queue", func(original string) { migrate(roles(t, c, original)) }))
}

func roles(t *testing.T, c *cluster, name string) Roles {
	return Roles{c.url("boss", name), c.url("runner", name), func(sql string, args ...any) { t.Helper(); c.execute(t, name, sql, args...) }}
}
