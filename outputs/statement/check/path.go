package check

import (
	"context"
	"encoding/json"
	"path"

	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/crate/runcrate"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// Path verifies a run in a directory of exported outputs, or in a crate, a directory or an archive. The error is of what could
// not be read at all.
func Path(ctx context.Context, name string, keys []statement.PublicKey) (*Report, error) {
	c, err := crate.Open(name)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // it was only read
	r := newReport()
	file, err := r.read(c, result.StatementFile)
	if err != nil {
		return nil, err
	}
	res, err := r.read(c, result.File)
	if len(r.Problems) > 0 || err != nil {
		return r, err
	}
	signed := r.open(file, res, keys)
	if signed == nil {
		return r, nil
	}
	expected, err := r.expected(c, signed, res)
	if err == nil {
		err = r.files(ctx, c, expected)
	}
	if err == nil && c.Has(crate.MetadataFile) {
		err = r.metadata(ctx, c, res)
	}
	return r.sorted(), err
}

// read reads a file that scidex-oci adds to the outputs.
func (r *Report) read(c *crate.Contents, name string) ([]byte, error) {
	if !c.Has(name) {
		r.problem(name, "missing")
		return nil, nil
	}
	data, err := c.Read(name, statement.Max)
	if err != nil {
		what, err := crate.Unreadable(name, err)
		r.problem(name, what)
		return nil, err
	}
	return data, nil
}

// content is what a file must have; its size is -1 if only the digest is signed.
type content struct {
	size   int64
	sha256 string
}

// expected are the files that the statement names, by their names in the crate.
func (r *Report) expected(c *crate.Contents, signed *statement.Signed, res []byte) (map[string]content, error) {
	expected := map[string]content{}
	whole := c.Has(crate.MetadataFile)
	for _, o := range signed.Outputs() {
		exact, err := o.Exact()
		if err != nil {
			return nil, err
		}
		switch name := string(exact); {
		case whole:
			expected[crate.OutputPath(exact)] = content{o.Size, o.SHA256}
		case result.Added(exact, true):
			r.LeftOut = append(r.LeftOut, o.Path)
		default:
			expected[name] = content{o.Size, o.SHA256}
		}
	}
	if whole {
		return expected, addKept(expected, res)
	}
	return expected, nil
}

// addKept adds the script and the streams, which a crate has.
func addKept(expected map[string]content, res []byte) error {
	var kept struct {
		Logs   result.Logs
		Script *result.Script
	}
	if err := json.Unmarshal(res, &kept); err != nil { // its names were compared: they are those of the statement
		return err
	}
	for name, log := range map[string]result.Log{"stdout.txt": kept.Logs.Stdout, "stderr.txt": kept.Logs.Stderr} {
		if log.SHA256 != "" {
			expected[crate.LogPath(name)] = content{-1, log.SHA256}
		}
	}
	if kept.Script != nil && kept.Script.SHA256 != "" {
		expected[crate.ScriptPath(path.Base(kept.Script.Name))] = content{-1, kept.Script.SHA256}
	}
	return nil
}

// files compares all files with what is expected.
func (r *Report) files(ctx context.Context, c *crate.Contents, expected map[string]content) error {
	for _, other := range c.NotRegular() {
		r.problem(other.Path, other.What)
	}
	for name, want := range expected {
		if err := ctx.Err(); err != nil {
			return err
		}
		what, err := "", error(nil)
		if want.size < 0 {
			what, err = c.CompareDigest(name, want.sha256)
		} else {
			what, err = c.Compare(name, want.size, want.sha256)
		}
		if err != nil {
			return err
		}
		r.compare(name, what, max(want.size, 0))
	}
	for _, name := range c.Names() {
		switch _, named := expected[name]; {
		case named, name == result.File, name == result.StatementFile:
		case name == crate.MetadataFile:
			r.NotSigned = append(r.NotSigned, name)
		default:
			r.problem(name, "not in the statement")
		}
	}
	return nil
}

// metadata compares the metadata of a crate with its files and the signed result: they are made with the crate, and not signed.
func (r *Report) metadata(ctx context.Context, c *crate.Contents, res []byte) error {
	check, err := c.Verify(ctx)
	var more []crate.Problem
	if err == nil {
		more, err = runcrate.Compare(c, res)
		r.Problems = append(r.Problems, more...)
	}
	if err != nil {
		if _, failed := crate.Unreadable(crate.MetadataFile, err); failed != nil {
			return failed
		}
		r.problem(crate.MetadataFile, err.Error())
		return ctx.Err()
	}
	for _, p := range check.Problems {
		if !r.has(p.Path) {
			r.problem(crate.MetadataFile, p.Path+": "+p.What)
		}
	}
	return nil
}

// has reports whether a file has a problem already.
func (r *Report) has(name string) bool {
	for _, p := range r.Problems {
		if p.Path == name {
			return true
		}
	}
	return false
}
