// Package crate describes a run as a Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5), which is an RO-Crate
// 1.1, writes it with its files into a directory or a zip archive, and verifies one. It uses neither catalog nor store: its
// inputs are a Run and a Source of contents.
package crate

import (
	"io"
	"time"
)

// Run is a crate's content. Empty fields are unknown and omitted.
type Run struct {
	Name        string // of the root data set
	Description string
	ID          string // of the action: ID@ATTEMPT
	Completed   bool   // whether the analysis succeeded
	Error       string // why not

	StartedAt, FinishedAt time.Time

	// Command is what was executed. Script, if any, is its file in the crate.
	Command []string
	Script  *File
	// Inputs were bound into the run. They are not in the crate.
	Inputs []Input
	// Environment has the requested variables. It must not contain secret values.
	Environment map[string]string
	Image       *Image
	Usage       []Measure

	Outputs []File // the results
	Logs    []File // likewise; scidex-oci chose their paths
	Result  *File  // the result as JSON; scidex-oci chose its path
	// Statement is the signed statement about the other files; nil if there is none.
	Statement *File

	Agent   *Agent
	License string // a URI; empty if unknown
	Engine  Software
}

// File is a file of the crate.
type File struct {
	Path        []byte // as the analysis named it: any bytes
	Description string
	Size        int64
	SHA256      string
	MediaType   string
}

// Input is a path bound into a run.
type Input struct {
	Place string // in the container: "/data"
	Host  string // on the host
	// Digested says what SHA256 is the digest of: "content" or "listing"; empty if there is none.
	Digested, SHA256 string
}

// Image is the image used as root filesystem.
type Image struct {
	Registry, Name, Tag string
	SHA256              string // of its manifest, in hexadecimal digits
	RootDigest          string // of its root filesystem, as scidex-oci computes it
}

// Measure is a used quantity.
type Measure struct {
	Name  string
	About string // URL of its definition
	Unit  string // of QUDT, empty for a count
	Value int64
}

// Agent is who started the run.
type Agent struct{ ID, Name string }

// Software is the program that made the run.
type Software struct{ Name, URL, Version string }

// Source opens the contents of a file by digest; a read to the end returns the contents that the digest names, or an error.
type Source interface {
	Open(sha256 string) (io.ReadCloser, error)
}
