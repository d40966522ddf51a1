package runcrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func (s Stores) outputs(ctx context.Context, key catalog.Key) (all []crate.File, err error) {
	err = s.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			f := crate.File{Path: e.Path, Size: e.Size, SHA256: e.SHA256, MediaType: e.MediaType}
			if e.Partial {
				f.Description = "It may be incomplete: the run was ended while it was open for writing, or that could not be known."
			}
			all = append(all, f)
		}
		return true
	})
	return all, err
}

func (s Stores) script(ctx context.Context, script *result.Script) (*crate.File, error) {
	f := scriptOf(script)
	if f == nil {
		return nil, nil // there is none, which is no error
	}
	var err error
	f.Size, err = s.Blobs.Size(ctx, f.SHA256)
	return f, err
}

// scriptOf is the script of a run without its size; nil if there is none.
func scriptOf(script *result.Script) *crate.File {
	if script == nil || script.SHA256 == "" {
		return nil
	}
	name := script.Name[strings.LastIndexByte(script.Name, '/')+1:]
	return &crate.File{Path: []byte(name), Description: "The script as it was executed.", SHA256: script.SHA256, MediaType: scriptType}
}

func (s Stores) logs(ctx context.Context, logs result.Logs) (all []crate.File, err error) {
	for _, one := range []struct {
		name string
		log  result.Log
	}{{"stdout", logs.Stdout}, {"stderr", logs.Stderr}} {
		if one.log.SHA256 == "" {
			continue // nothing was written
		}
		size, failed := s.Blobs.Size(ctx, one.log.SHA256)
		err = errors.Join(err, failed)
		f := crate.File{Path: []byte(one.name + ".txt"), Description: "What the analysis wrote to " + one.name + ".", Size: size, SHA256: one.log.SHA256, MediaType: "text/plain"}
		if one.log.Truncated {
			f.Description += fmt.Sprintf(" Not all of it was kept: it wrote %s.", format.Size(one.log.Bytes))
		}
		all = append(all, f)
	}
	return all, err
}

// signed are the result as it was signed, and its statement.
func (s Stores) signed(ctx context.Context, signed result.Statement) (res, statement *crate.File, err error) {
	res = &crate.File{
		Path: []byte(result.File), Description: "The result as it was committed and signed.", SHA256: signed.ResultSHA256, MediaType: "application/json",
	}
	statement = &crate.File{
		Path: []byte(result.StatementFile), Description: "A signed statement of the run: two in-toto statements in DSSE envelopes. scidex-oci verify verifies it.",
		SHA256: signed.SHA256, MediaType: "application/jsonl",
	}
	for _, f := range []*crate.File{res, statement} {
		if f.Size, err = s.Blobs.Size(ctx, f.SHA256); err != nil {
			return nil, nil, err
		}
	}
	return res, statement, nil
}
