// Package crate describes a run as a Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5), which is an RO-Crate 1.1,
// writes it with its files into a directory or a zip archive, and checks one. It knows neither catalog nor store: a Run is
// given to it, and a Source of contents.
package crate

import (
	"io"
	"time"
)

// Run is what a crate tells. What is empty is not known and left out.
type Run struct {
	Name        string // of the root data set
	Description string
	ID          string // of the action: ID@ATTEMPT
	Completed   bool   // whether the analysis ended well
	Error       string // why not

	StartedAt, FinishedAt time.Time

	// Command is what was executed. Script, where there is one, is the file of it that is in the crate.
	Command []string
	Script  *File
	// Inputs were bound for the run to read. They are not in the crate.
	Inputs []Input
	// Environment has variables that were asked for. Those whose values are secret must not be among them.
	Environment map[string]string
	Image       *Image
	Usage       []Measure

	Outputs []File // the results
	Logs    []File // likewise; their paths are ours
	Result  *File  // the result as JSON; its path is ours

	Agent   *Agent
	License string // a URI; empty where nobody has said one
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

// Input is what was bound for a run to read.
type Input struct {
	Place string // in the container: "/data"
	Host  string // where it was on the host
	// Digested says what SHA256 is the digest of: "content" or "listing"; empty where there is none.
	Digested, SHA256 string
}

// Image is the image that was the root filesystem.
type Image struct {
	Registry, Name, Tag string
	SHA256              string // of its manifest, in hexadecimal digits
	RootDigest          string // of its root filesystem, as scidex-oci computes it
}

// Measure is a quantity that was used.
type Measure struct {
	Name  string
	About string // a URL that says what it is
	Unit  string // of QUDT, empty for a count
	Value int64
}

// Agent is who had the analysis run.
type Agent struct{ ID, Name string }

// Software is the program that made the run.
type Software struct{ Name, URL, Version string }

// Source opens the contents of a file by their digest; who reads to the end has read what the digest names, or gets an
// error.
type Source interface {
	Open(sha256 string) (io.ReadCloser, error)
}
