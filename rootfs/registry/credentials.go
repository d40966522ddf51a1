package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// Credentials return the credential for a repository of a registry (host[:port]); the zero credential is anonymous.
type Credentials func(ctx context.Context, host, repository string) (auth.Credential, error)

// Stored returns the credentials that "podman login", "docker login" and similar tools have stored: only those of
// $REGISTRY_AUTH_FILE, which must exist, or of the first of AuthFiles that has some for the repository. getenv reads
// the environment.
func Stored(getenv func(string) string) (Credentials, error) {
	if path := getenv("REGISTRY_AUTH_FILE"); path != "" {
		file, err := readAuthFile(path)
		if err != nil {
			return nil, fmt.Errorf("credential file of REGISTRY_AUTH_FILE: %w", err)
		}
		return firstOf([]authFile{file}), nil
	}
	var files []authFile
	for _, path := range authFiles(getenv) {
		file, err := readAuthFile(path)
		switch {
		case err == nil:
			files = append(files, file)
		case !absent(path, err):
			return nil, fmt.Errorf("credential file: %w", err)
		}
	}
	return firstOf(files), nil
}

// absent reports whether this user cannot have logged in with the file: it is missing, or its directory is closed to
// the user, as /run/containers is when root's podman makes it.
func absent(path string, err error) bool {
	if errors.Is(err, fs.ErrPermission) {
		_, err = os.Lstat(path)
		return errors.Is(err, fs.ErrPermission)
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// authFiles are podman's and docker's files in podman's order (containers-auth.json(5)).
func authFiles(getenv func(string) string) []string {
	runtime := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) {
		runtime = filepath.Join("/run/containers", strconv.Itoa(os.Geteuid()))
	} else {
		runtime = filepath.Join(runtime, "containers")
	}
	files := []string{filepath.Join(runtime, "auth.json")}
	if own := configHome(getenv); own != "" {
		files = append(files, filepath.Join(own, "containers/auth.json"))
	}
	if docker := getenv("DOCKER_CONFIG"); docker != "" {
		files = append(files, filepath.Join(docker, "config.json"))
	} else if home := getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".docker/config.json"))
	}
	return files
}

func firstOf(files []authFile) Credentials {
	return func(ctx context.Context, host, repository string) (auth.Credential, error) {
		for _, file := range files {
			if got, err := file.get(ctx, host, repository); err != nil || got != auth.EmptyCredential {
				return got, err
			}
		}
		return auth.EmptyCredential, nil
	}
}

// hub is the registry whose server has another name than its references, and whose credentials have a third one.
const hub = "docker.io"

// canonical is a registry's name in configuration.
func canonical(host string) string {
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return hub
	}
	return host
}

// configHome is the XDG Base Directory Specification's, or "".
func configHome(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config")
	}
	return ""
}
