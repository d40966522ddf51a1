package stores

import (
	"context"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/store"
)

// OpenedStore is a catalog with its blob store and its location.
type OpenedStore struct {
	store.Store
	Selftests catalog.Selftests
	Location  blobLocation
}

// OpenPair opens a catalog and a blob store. The default blob store is that of otherwise.
func OpenPair(ctx context.Context, database, blobs options.Text, otherwise Settings) (OpenedStore, error) {
	db, err := databaseAt(database)
	if err != nil {
		return OpenedStore{}, err
	}
	location := otherwise.Blobs
	if blobs.Given {
		if location, err = blobsAt(blobs, otherwise.Root); err != nil {
			return OpenedStore{}, err
		}
	}
	s, err := location.open()
	if err != nil {
		return OpenedStore{}, err
	}
	c, err := db.open(ctx)
	if err != nil {
		return OpenedStore{}, err
	}
	return OpenedStore{Store: store.Store{Catalog: c, Blobs: s}, Selftests: c, Location: location}, nil
}
