package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/catalogtest"
)

func suite() catalogtest.Driver {
	return catalogtest.Driver{
		Fresh: func(t *testing.T) string { return filepath.Join(t.TempDir(), "catalog.db") },
		Open: func(ctx context.Context, path string) (catalog.Database, error) {
			c, err := Open(ctx, path)
			if err != nil {
				return nil, err // not a nil *Catalog in an interface
			}
			return c, nil
		},
	}
}

func TestMain(m *testing.M) { catalogtest.Main(m, suite()) }

// anyone may make a catalog.
func anyone(context.Context) error { return nil }

func TestConformance(t *testing.T) { catalogtest.Run(t, suite()) }
