package runcrate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// mostResult bounds a result that is read, in bytes, as statement.Max does.
const mostResult = 64 << 20

// Verify is that of a crate, whose metadata also have to agree with the result in it, if there is one. Neither is signed.
func Verify(ctx context.Context, path string) (crate.Check, error) {
	c, err := crate.Open(path)
	if err != nil {
		return crate.Check{}, err
	}
	defer c.Close() //nolint:errcheck // it was only read
	check, err := c.Verify(ctx)
	check.Signed = c.Has(result.StatementFile)
	if err == nil && c.Has(result.File) {
		err = addProblems(&check, c)
	}
	if err != nil {
		return check, fmt.Errorf("verify %q: %w", path, err)
	}
	return check, nil
}

func addProblems(check *crate.Check, c *crate.Contents) error {
	res, err := c.Read(result.File, mostResult)
	if err != nil {
		return fmt.Errorf("%s: %w", result.File, err)
	}
	more, err := Compare(c, res)
	check.Problems = append(check.Problems, more...)
	slices.SortStableFunc(check.Problems, func(a, b crate.Problem) int { return cmp.Compare(a.Path, b.Path) })
	return err
}

// Compare returns how a crate's metadata differ from a result, which is JSON. The error is that one of them cannot be read.
func Compare(c *crate.Contents, res []byte) ([]crate.Problem, error) {
	var r result.Result
	if err := json.Unmarshal(res, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", result.File, err)
	}
	run := describe(catalog.Run{
		Key: r.Key(), Outcome: outcome.Outcome{State: r.State, Message: r.Message}, StartedAt: timeOf(r.StartedAt), FinishedAt: timeOf(r.FinishedAt),
		Request: r.Analysis, ToolVersion: r.ToolVersion,
	}, r)
	run.Script = scriptOf(r.Script)
	problems, err := c.CompareRun(run)
	for i := range problems {
		problems[i] = crate.Problem{Path: crate.MetadataFile, What: problems[i].Path + ": " + problems[i].What}
	}
	return problems, err
}

func timeOf(t *time.Time) (at time.Time) {
	if t != nil {
		at = *t
	}
	return at
}
