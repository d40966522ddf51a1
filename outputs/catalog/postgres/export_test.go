package postgres

import "testing"

// Roled is a fresh database of the tests' cluster, by the URLs of a member of scidex_admin and of one of scidex_run, and
// how to change it as the server's owner.
func Roled(t *testing.T) (admin, runner string, execute func(sql string, args ...any)) {
	t.Helper()
	c := theCluster(t)
	name := c.database(t)
	return c.url("boss", name), c.url("runner", name), func(sql string, args ...any) { t.Helper(); c.execute(t, name, sql, args...) }
}
