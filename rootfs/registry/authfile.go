package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// authFile is a file of credentials: containers-auth.json(5), or Docker's config.json.
type authFile struct {
	Auths   map[string]authEntry `json:"auths"`
	Helpers map[string]string    `json:"credHelpers"`
	Store   string               `json:"credsStore"`
	path    string
}

// authEntry has the fields of Docker's AuthConfig that authenticate.
type authEntry struct {
	Auth          string `json:"auth"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

func readAuthFile(path string) (authFile, error) {
	file := authFile{path: path}
	data, _, err := readSmall(path)
	if err != nil {
		return file, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return file, nil
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return file, fmt.Errorf("%q: %w", path, err)
	}
	return file, nil
}

// get returns the credential for a repository, or the zero one. As in podman a helper of the registry comes first, then the
// longest key that the repository lies in.
func (f authFile) get(ctx context.Context, host, repository string) (auth.Credential, error) {
	names := serverNames(host)
	for _, name := range names {
		if helper := f.Helpers[name]; helper != "" {
			return f.ask(ctx, helper, name)
		}
	}
	if entry, found := f.within(canonical(host), repository); found {
		return f.credential(entry)
	}
	if f.Store != "" {
		if got, err := f.ask(ctx, f.Store, names[0]); err != nil || got != auth.EmptyCredential {
			return got, err
		}
	}
	return f.credential(f.ofHost(names))
}

// within is the entry with the longest key host/PATH that is the repository or holds it.
func (f authFile) within(host, repository string) (authEntry, bool) {
	for path := repository; path != ""; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
		if entry, found := f.Auths[host+"/"+path]; found && entry != (authEntry{}) {
			return entry, true
		}
	}
	return authEntry{}, false
}

// ofHost is the entry of a registry: of one of its names, or of a URL of it, which old versions of Docker wrote.
func (f authFile) ofHost(names []string) authEntry {
	for _, name := range names {
		if entry := f.Auths[name]; entry != (authEntry{}) {
			return entry
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
		if host, isURL := hostOfURL(key); isURL && slices.Contains(names, host) {
			return f.Auths[key]
		}
	}
	return authEntry{}
}

func hostOfURL(key string) (host string, isURL bool) {
	for _, scheme := range []string{"https://", "http://"} {
		if rest, found := strings.CutPrefix(key, scheme); found {
			host, _, _ = strings.Cut(rest, "/")
			return host, true
		}
	}
	return "", false
}

// serverNames are the keys of a registry, first that of "docker login".
func serverNames(host string) []string {
	if canonical(host) == hub {
		return []string{"https://index.docker.io/v1/", hub, "index.docker.io", "registry-1.docker.io"}
	}
	return []string{host}
}

// ask runs a credential helper (docker-credential-NAME of docker/docker-credential-helpers).
func (f authFile) ask(ctx context.Context, helper, server string) (auth.Credential, error) {
	got, err := credentials.NewNativeStore(helper).Get(ctx, server)
	if err != nil {
		return got, fmt.Errorf("credential helper docker-credential-%s of %q: %w", helper, f.path, err)
	}
	return got, nil
}

func (f authFile) credential(e authEntry) (auth.Credential, error) {
	got := auth.Credential{Username: e.Username, Password: e.Password, RefreshToken: e.IdentityToken, AccessToken: e.RegistryToken}
	if e.Auth == "" {
		return got, nil
	}
	text, err := base64.StdEncoding.DecodeString(e.Auth)
	user, password, pair := strings.Cut(string(text), ":")
	if err != nil || !pair { // the error would show the secret
		return auth.Credential{}, fmt.Errorf("credential file %q: %w", f.path, errNoAccount)
	}
	got.Username, got.Password = user, strings.Trim(password, "\x00")
	return got, nil
}

var errNoAccount = errors.New(`an "auth" is no USER:PASSWORD in base64; log in again`)
