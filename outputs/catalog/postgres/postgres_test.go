package postgres

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/catalogtest"
)

// asAdmin does everything as a member of scidex_admin, who makes the schema too.
func asAdmin() catalogtest.Driver {
	return catalogtest.Driver{
		Fresh: func(t *testing.T) string {
			c := theCluster(t)
			return c.url("boss", c.database(t))
		},
		Empty: func(t *testing.T) string {
			c := theCluster(t)
			return c.url("boss", c.lent(t))
		},
		Open: openAny,
	}
}

// asRunner does all as a member of scidex_run but making the schema and Delete.
func asRunner() catalogtest.Driver {
	return catalogtest.Driver{
		Fresh: func(t *testing.T) string {
			c := theCluster(t)
			return c.url("runner", c.lent(t))
		},
		Open: openAny,
	}
}

// openAny opens an address of either driver, in whatever process.
func openAny(ctx context.Context, address string) (catalog.Database, error) {
	c, err := Open(ctx, address)
	if err != nil {
		return nil, err // not a nil *Catalog in an interface
	}
	byAdmin := strings.Replace(address, "user=runner", "user=boss", 1)
	if byAdmin == address {
		return c, nil
	}
	admin, err := Open(ctx, byAdmin)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &twoRoles{Catalog: c, admin: admin}, nil
}

// twoRoles deletes as scidex_admin and does the rest as scidex_run.
type twoRoles struct {
	*Catalog
	admin *Catalog
}

func (c *twoRoles) Delete(ctx context.Context, key catalog.Key) error {
	return c.admin.Delete(ctx, key)
}

func (c *twoRoles) Close() error { return errors.Join(c.Catalog.Close(), c.admin.Close()) }

func TestMain(m *testing.M) {
	catalogtest.Play(asAdmin())
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.remove(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func TestConformance(t *testing.T) {
	for name, driver := range map[string]catalogtest.Driver{"admin": asAdmin(), "runner": asRunner()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalogtest.Run(t, driver)
		})
	}
}
