package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// memoryBucket is the bucket that the server in memory has from the start.
const memoryBucket = "bucket"

// runMemory runs gofakes3, which keeps objects in memory and takes every signature.
func runMemory() error {
	backend := s3mem.New()
	if err := backend.CreateBucket(memoryBucket); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	server := &http.Server{Handler: gofakes3.New(backend).Server()}
	go func() { ended <- server.Serve(l) }()
	line := started{Endpoint: "http://" + l.Addr().String(), AccessKey: accessKey, SecretKey: secretKey, Region: region}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return errors.Join(err, server.Close())
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	return errors.Join(<-ended, server.Close())
}
