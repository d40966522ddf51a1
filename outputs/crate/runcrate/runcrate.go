// Package runcrate makes a crate of a run in the catalog and its result, and compares a crate with its result.
package runcrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Stores have what a crate of a run consists of.
type Stores struct {
	Catalog interface {
		Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error
	}
	Blobs interface {
		Size(ctx context.Context, sha256 string) (int64, error)
		Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
	}
}

// opener opens contents by digest.
type opener func(sha256 string) (io.ReadCloser, error)

func (o opener) Open(sha256 string) (io.ReadCloser, error) { return o(sha256) }

const scriptType = "text/plain"

// New returns the crate of a run with its result, and the source of its contents until ctx ends: the blobs, and the result
// as JSON.
func New(ctx context.Context, s Stores, run catalog.Run, r result.Result) (c crate.Run, source crate.Source, err error) {
	raw, err := r.FileContent()
	if err != nil {
		return c, nil, err
	}
	sum := sha256.Sum256(raw)
	digest := hex.EncodeToString(sum[:])
	source = opener(func(sha256 string) (io.ReadCloser, error) {
		if sha256 == digest {
			return io.NopCloser(bytes.NewReader(raw)), nil
		}
		return s.Blobs.Open(ctx, sha256)
	})
	c = describe(run, r)
	c.Result = &crate.File{
		Path: []byte(result.File), Description: "The result as scidex-oci show --json prints it.",
		Size: int64(len(raw)), SHA256: digest, MediaType: "application/json",
	}
	if r.Statement != nil {
		if c.Result, c.Statement, err = s.signed(ctx, *r.Statement); err != nil {
			return c, source, err
		}
	}
	if c.Script, err = s.script(ctx, r.Script); err != nil {
		return c, source, err
	}
	if c.Logs, err = s.logs(ctx, r.Logs); err != nil {
		return c, source, err
	}
	c.Outputs, err = s.outputs(ctx, run.Key)
	return c, source, err
}

// describe is what the crate says of a run, without its files.
func describe(run catalog.Run, r result.Result) crate.Run {
	var asked spec.Analysis
	_ = json.Unmarshal(run.Request, &asked) // a request of another version; the result has it as it is
	name := run.String()
	c := crate.Run{
		ID: name, Name: "Run " + name,
		Description: "The outputs, logs and result of one run of an analysis, made by scidex-oci.",
		Completed:   run.State == outcome.Complete, Error: run.Message,
		StartedAt: run.StartedAt, FinishedAt: run.FinishedAt,
		Command: asked.Command, Environment: asked.Env, Inputs: inputsOf(asked, r.Inputs),
		Image: imageOf(r.Sandbox), Usage: usageOf(r.Usage),
		Engine: crate.Software{Name: "scidex-oci", URL: "https://github.com/scidex-ai/scidex-oci", Version: run.ToolVersion},
	}
	if asked.Script != "" {
		c.Command = append([]string{asked.Script}, asked.Args...)
	}
	return c
}
