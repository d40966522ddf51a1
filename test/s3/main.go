// Command s3 is an S3 server for tests, versitygw on a directory: it serves until its standard input ends, at a free
// port of loopback or of the address that is its argument, or at HOST:PORT. When it answers it prints one line of JSON:
// endpoint, access_key, secret_key, and dir, in which a bucket is a directory and an object a file. A directory that is
// its second argument stays, so that the server may be killed and started again. There is also an account without
// rights, limited and limited-secret, for bucket policies.
//
// With the argument gofakes3 it is that server, on loopback and in memory, with one bucket of the name bucket and no dir.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

// What a server of tests has; the secret opens nothing else.
const (
	accessKey = "test-access"
	secretKey = "test-secret-canary"
	region    = "us-east-1"
)

// started is what is printed.
type started struct {
	Endpoint  string `json:"endpoint"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Region    string `json:"region"`
	Dir       string `json:"dir"`
}

func main() {
	serve := run
	if len(os.Args) > 1 && os.Args[1] == "gofakes3" {
		serve = runMemory
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	out := os.Stdout
	os.Stdout = os.Stderr // the server has things to say
	dir, remove, err := directory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	address := append(os.Args[1:], "127.0.0.1")[0]
	if _, _, err := net.SplitHostPort(address); err != nil {
		if address, err = freeAddress(address); err != nil {
			return err
		}
	}
	up := make(chan struct{})
	server, err := newServer(dir, func() { close(up) })
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeMultiPort([]string{address}) }()
	select {
	case <-up:
	case err := <-ended:
		return err
	}
	line := started{"http://" + address, accessKey, secretKey, region, objects(dir)}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	return <-ended
}

// directory is that of the second argument, or a new one for only this server.
func directory() (dir string, remove func() error, err error) {
	if len(os.Args) > 2 {
		return os.Args[2], func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "scidex-s3.")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

func objects(dir string) string { return filepath.Join(dir, "objects") }

// newServer keeps metadata in files next to the objects, so that any file system can be used.
func newServer(dir string, up func()) (*s3api.S3ApiServer, error) {
	beside := filepath.Join(dir, "metadata")
	if err := errors.Join(os.MkdirAll(objects(dir), 0o755), os.MkdirAll(beside, 0o755), os.MkdirAll(filepath.Join(dir, "accounts"), 0o755)); err != nil {
		return nil, err
	}
	store, err := meta.NewSideCar(beside)
	if err != nil {
		return nil, err
	}
	backend, err := posix.New(objects(dir), store, posix.PosixOpts{SideCarDir: beside, ForceNoTmpFile: true, Concurrency: 64, CopyObjectThreshold: 5 << 30})
	if err != nil {
		return nil, err
	}
	users, err := accounts(filepath.Join(dir, "accounts"))
	if err != nil {
		return nil, err
	}
	root := middlewares.RootUserConfig{Access: accessKey, Secret: secretKey}
	// Each connection has one request, as is its default: after an object without bytes it takes the rest of the request for
	// the next one, when that comes late, and answers it with 400.
	return s3api.New(backend, root, region, users, nil, nil, nil, nil, s3api.WithQuiet(),
		s3api.WithConcurrencyLimiter(8192, 8192), s3api.WithMpMaxParts(10000), s3api.WithOnListen(up))
}

// accounts are the administrator and one who may do what the policy of a bucket grants.
func accounts(dir string) (auth.IAMService, error) {
	users, err := auth.NewInternal(auth.Account{Access: accessKey, Secret: secretKey, Role: auth.RoleAdmin}, dir)
	if err != nil {
		return nil, err
	}
	err = users.CreateAccount(auth.Account{Access: "limited", Secret: "limited-secret", Role: auth.RoleUser})
	if errors.Is(err, auth.ErrUserExists) { // it was started before
		err = nil
	}
	return users, err
}

// freeAddress is a port of a host that is free now.
func freeAddress(host string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
