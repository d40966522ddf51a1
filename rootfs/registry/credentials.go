package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Credentials return the credential for a registry (host:port); the zero credential is anonymous.
type Credentials func(ctx context.Context, registry string) (auth.Credential, error)

// FromDocker returns the credentials stored by "docker login" and similar tools: in the file $REGISTRY_AUTH_FILE, else
// $DOCKER_CONFIG/config.json, else ~/.docker/config.json, and in their credential helpers. getenv reads the environment.
// Only a $REGISTRY_AUTH_FILE must exist.
func FromDocker(getenv func(string) string) (Credentials, error) {
	path, err := credentialFile(getenv)
	if path == "" || err != nil {
		return nil, err
	}
	store, err := credentials.NewStore(path, credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("credential file %s: %w", path, err)
	}
	return Credentials(credentials.Credential(store)), nil
}

func credentialFile(getenv func(string) string) (string, error) {
	if path := getenv("REGISTRY_AUTH_FILE"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("credential file of REGISTRY_AUTH_FILE: %w", err)
		}
		return path, nil
	}
	dir := getenv("DOCKER_CONFIG")
	if dir == "" {
		home := getenv("HOME")
		if home == "" {
			return "", nil
		}
		dir = filepath.Join(home, ".docker")
	}
	path := filepath.Join(dir, "config.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, nil
}
