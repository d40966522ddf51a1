package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newCrateCommand(p *command.Program) *cli.Command {
	o := &crateOptions{}
	return &cli.Command{
		Name:      "crate",
		Usage:     "write a run with its outputs as an RO-Crate, or check one",
		UsageText: "scidex-oci crate ID -o DIR|FILE.zip [flags]\n   scidex-oci crate verify DIR|FILE.zip",
		ArgsUsage: "ID",
		Description: `A Process Run Crate 0.5 has the outputs, the logs, the script and the result of a run, and says in ro-crate-metadata.json
what was executed, when, on which image, with what environment, and what it used. Inputs are named, not contained;
secrets are left out. What nobody knows is left out too: say --license and --agent.`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runCrate(ctx, st, *o, given)
		}),
		Subcommands: []*cli.Command{newCrateVerify(p)},
	}
}

// crateOptions are the options of crate.
type crateOptions struct {
	output, license string
	title           options.Text
	agent           *crate.Agent
}

func (o *crateOptions) flags() []cli.Flag {
	return options.List(
		options.Path(&o.output, "output", "write to `DIR`, new or empty, or to a new FILE.zip", "o"),
		options.Given(&o.title, "title", "the `NAME` of the crate (default: the run's)"),
		options.Value(&o.license, "license", "the `URI` of the license of all that is in it", readLicense),
		options.Value(&o.agent, "agent", "who had the analysis run: `NAME`, or \"NAME <URI>\", as of an ORCID", readAgent),
	)
}

func runCrate(ctx context.Context, st *stores.Stores, o crateOptions, name string) error {
	if o.output == "" {
		return command.Usagef("crate: where to? Give -o DIR or -o FILE.zip")
	}
	run, err := st.Find(ctx, name)
	if err != nil {
		return err
	}
	if !run.State.Final() {
		return fmt.Errorf("run %q is %s; it can be a crate when it has ended", run.Key, run.State)
	}
	if err := deliver.OutputsRemoved(run); err != nil {
		return err
	}
	described, source, err := crateOf(ctx, st, run)
	if err != nil {
		return err
	}
	described.Name = o.title.Or(described.Name)
	described.License, described.Agent = o.license, o.agent
	made, err := crate.Describe(described)
	if err != nil {
		return err
	}
	if strings.HasSuffix(o.output, ".zip") {
		return made.WriteZip(ctx, o.output, source)
	}
	return made.WriteDir(ctx, o.output, source)
}

func readLicense(t options.Text) (string, error) {
	if u, err := url.Parse(t.Value); err != nil || !u.IsAbs() {
		return "", t.Refuse("give a URI, as https://creativecommons.org/licenses/by/4.0/")
	}
	return t.Value, nil
}

// readAgent reads NAME, or "NAME <URI>".
func readAgent(t options.Text) (*crate.Agent, error) {
	name, id, _ := strings.Cut(strings.TrimSuffix(t.Value, ">"), "<")
	agent := &crate.Agent{Name: strings.TrimSpace(name), ID: id}
	if u, err := url.Parse(id); agent.Name == "" || err != nil || id != "" && !u.IsAbs() {
		return nil, t.Refuse("give NAME, or \"NAME <URI>\"")
	}
	return agent, nil
}

// crateSource has the blobs, and the result, which is none.
type crateSource struct {
	blobs  crate.Source
	digest string
	result []byte
}

func (s crateSource) Open(sha256 string) (io.ReadCloser, error) {
	if sha256 == s.digest {
		return io.NopCloser(bytes.NewReader(s.result)), nil
	}
	return s.blobs.Open(sha256)
}

const scriptType = "text/plain"

// crateOf is what the catalog has of a run.
func crateOf(ctx context.Context, st *stores.Stores, run catalog.Run) (crate.Run, crateSource, error) {
	result, err := watch.Show(ctx, st.Host, run)
	if err != nil {
		return crate.Run{}, crateSource{}, err
	}
	raw, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return crate.Run{}, crateSource{}, err
	}
	sum := sha256.Sum256(raw)
	source := crateSource{blobs: st.BlobOpener(ctx), digest: hex.EncodeToString(sum[:]), result: raw}
	var asked spec.Analysis
	_ = json.Unmarshal(run.Request, &asked) // a request of another version; the result has it as it is
	name := run.String()
	c := crate.Run{
		ID: name, Name: "Run " + name,
		Description: "The outputs, logs and result of one run of an analysis, made by scidex-oci. " + results.Ending(result) + ".",
		Completed:   run.State == catalog.Complete, Error: run.Message,
		StartedAt: run.StartedAt, FinishedAt: run.FinishedAt,
		Command: asked.Command, Environment: asked.Env, Inputs: crateInputs(asked, result.Inputs),
		Image: crateImage(result.Sandbox), Usage: crateUsage(result.Usage),
		Result: &crate.File{
			Path: []byte("scidex-result.json"), Description: "The result as scidex-oci show --json prints it.",
			Size: int64(len(raw)), SHA256: source.digest, MediaType: "application/json",
		},
		Engine: crate.Software{Name: "scidex-oci", URL: "https://github.com/scidex-ai/scidex-oci", Version: run.ToolVersion},
	}
	if asked.Script != "" {
		c.Command = append([]string{asked.Script}, asked.Args...)
	}
	if c.Script, err = crateScript(ctx, st, result.Script); err != nil {
		return c, source, err
	}
	if c.Logs, err = crateLogs(ctx, st, result.Logs); err != nil {
		return c, source, err
	}
	c.Outputs, err = crateOutputs(ctx, st, run.Key)
	return c, source, err
}

func crateOutputs(ctx context.Context, st *stores.Stores, key catalog.Key) (all []crate.File, err error) {
	err = st.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
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

func crateScript(ctx context.Context, st *stores.Stores, s *result.Script) (*crate.File, error) {
	if s == nil || s.SHA256 == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	size, err := st.Blobs.Size(ctx, s.SHA256)
	name := s.Name[strings.LastIndexByte(s.Name, '/')+1:]
	return &crate.File{
		Path: []byte(name), Description: "The script as it was executed.", Size: size, SHA256: s.SHA256, MediaType: scriptType,
	}, err
}

func crateLogs(ctx context.Context, st *stores.Stores, logs result.Logs) (all []crate.File, err error) {
	for _, one := range []struct {
		name string
		log  result.Log
	}{{"stdout", logs.Stdout}, {"stderr", logs.Stderr}} {
		if one.log.SHA256 == "" {
			continue // nothing was written
		}
		size, failed := st.Blobs.Size(ctx, one.log.SHA256)
		err = errors.Join(err, failed)
		f := crate.File{Path: []byte(one.name + ".txt"), Description: "What the analysis wrote to " + one.name + ".", Size: size, SHA256: one.log.SHA256, MediaType: "text/plain"}
		if one.log.Truncated {
			f.Description += fmt.Sprintf(" Not all of it was kept: it wrote %d bytes.", one.log.Bytes)
		}
		all = append(all, f)
	}
	return all, err
}

func crateInputs(a spec.Analysis, digested []result.Input) (all []crate.Input) {
	for _, one := range []crate.Input{{Place: "/data", Host: a.Data}, {Place: "/docs", Host: a.Docs}, {Place: "/analysis", Host: a.Project}, {Place: "/work", Host: a.Stage}} {
		if one.Host != "" && one.Host != spec.None {
			all = append(all, one)
		}
	}
	for _, text := range a.Inputs {
		if in, err := spec.ParseInput(text); err == nil {
			all = append(all, crate.Input{Place: in.Destination, Host: in.Source})
		}
	}
	for i := range all {
		for _, in := range digested {
			if in.Destination == all[i].Place && in.SHA256 != nil {
				all[i].Digested, all[i].SHA256 = in.Digested, *in.SHA256
			}
		}
	}
	return all
}

// crateImage reads HOST/PATH:TAG@sha256:DIGEST.
func crateImage(s result.Sandbox) *crate.Image {
	if s.RootfsReference == nil {
		return nil
	}
	i := crate.Image{Name: *s.RootfsReference}
	if s.RootfsDigest != nil {
		i.RootDigest = *s.RootfsDigest
	}
	i.Name, i.SHA256, _ = strings.Cut(i.Name, "@sha256:")
	if host, rest, ok := strings.Cut(i.Name, "/"); ok && strings.ContainsAny(host, ".:") {
		i.Registry, i.Name = host, rest
	}
	if name, tag, ok := strings.Cut(i.Name, ":"); ok && !strings.Contains(tag, "/") {
		i.Name, i.Tag = name, tag
	}
	return &i
}

// crateUsage returns what was measured; docs/crate.md defines the quantities.
func crateUsage(u result.Usage) (all []crate.Measure) {
	const about, unit = "https://github.com/scidex-ai/scidex-oci/blob/main/docs/crate.md#", "https://qudt.org/vocab/unit/"
	for _, m := range []struct {
		name, unit string
		value      int64
	}{
		{"wall_ms", "MilliSEC", u.WallMS},
		{"cpu_ms", "MilliSEC", u.CPUMS},
		{"memory_peak_bytes", "BYTE", u.MemoryPeakBytes},
		{"pids_peak", "", u.PidsPeak},
		{"work_bytes", "BYTE", u.WorkBytes},
		{"work_files", "", u.WorkFiles},
	} {
		if m.value <= 0 {
			continue // not measured
		}
		one := crate.Measure{Name: m.name, About: about + m.name, Value: m.value}
		if m.unit != "" {
			one.Unit = unit + m.unit
		}
		all = append(all, one)
	}
	return all
}
