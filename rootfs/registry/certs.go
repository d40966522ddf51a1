package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// CertDirs are the directories that may hold HOST[:PORT] with the certificates of a registry, in podman's order
// (containers-certs.d(5)). getenv reads the environment.
func CertDirs(getenv func(string) string) []string {
	var dirs []string
	if own := configHome(getenv); own != "" {
		dirs = append(dirs, filepath.Join(own, "containers/certs.d"))
	}
	return append(dirs, "/etc/containers/certs.d", "/etc/docker/certs.d")
}

// maxCertFiles bounds the entries of a host's directory.
const maxCertFiles = 256

// hostTLS is the TLS configuration for a host (HOST[:PORT]): that of the first directory that has one, else the default.
func hostTLS(dirs []string, host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	dir, err := certDir(dirs, host)
	if dir == "" || err != nil {
		return config, err
	}
	names, err := certFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("certificates of %s: %w", host, err)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := addFile(config, dir, name, names); err != nil {
			return nil, fmt.Errorf("certificates of %s: %w", host, err)
		}
	}
	return config, nil
}

// certDir is the first directory for a host, or "". A redirect may name any host.
func certDir(dirs []string, host string) (string, error) {
	name := canonical(host)
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", nil
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		there, err := userdir.Handle(path)
		switch {
		case err == nil:
			return path, there.Close()
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission): // others may hide theirs
			return "", fmt.Errorf("certificates of %s: %w", host, err)
		}
	}
	return "", nil
}

func certFiles(dir string) (map[string]bool, error) {
	opened, err := userdir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	f, err := opened.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names := make(map[string]bool)
	for {
		some, err := f.Readdirnames(maxCertFiles)
		for _, name := range some {
			names[name] = true
		}
		switch {
		case len(some) == 0 && err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case len(some) == 0:
			return names, nil
		case len(names) > maxCertFiles:
			return nil, fmt.Errorf("%q has more than %d files; leave only certificates and keys there", dir, maxCertFiles)
		}
	}
}

// addFile adds what a file of a host's directory is by its name; other names have no meaning.
func addFile(config *tls.Config, dir, name string, names map[string]bool) error {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	path := filepath.Join(dir, base)
	switch filepath.Ext(name) {
	case ".crt":
		return addAuthority(config, path+".crt")
	case ".cert":
		if !names[base+".key"] {
			return fmt.Errorf("%q has no key: put it into %q, or name the file of an authority *.crt", path+".cert", path+".key")
		}
		return addClient(config, path)
	case ".key":
		if !names[base+".cert"] {
			return fmt.Errorf("%q has no certificate: put it into %q", path+".key", path+".cert")
		}
	}
	return nil
}

// addAuthority trusts the authorities in a file, in addition to those of the system.
func addAuthority(config *tls.Config, path string) error {
	data, info, err := readSmall(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("anyone may write %q, and so read what is sent to the registry; run: chmod o-w %s", path, format.ShellQuote(path))
	}
	if config.RootCAs == nil {
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
	}
	if !config.RootCAs.AppendCertsFromPEM(data) {
		return fmt.Errorf("%q holds no certificate in PEM", path)
	}
	return nil
}

// addClient adds the client certificate in path.cert with its key in path.key. A key that all users of the machine can
// read authenticates each of them.
func addClient(config *tls.Config, path string) error {
	cert, _, err := readSmall(path + ".cert")
	if err != nil {
		return err
	}
	key, info, err := readSmall(path + ".key")
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("the key %q is open to all users (mode %04o); run: chmod o= %s", path+".key", info.Mode().Perm(), format.ShellQuote(path+".key"))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%q and %q are not a certificate in PEM and its key", path+".cert", path+".key")
	}
	config.Certificates = append(config.Certificates, pair)
	return nil
}
