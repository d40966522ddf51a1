package crate

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// placed is a file and its path in the crate.
type placed struct {
	path string
	file File
}

// Crate is a run to be written: the metadata and each file's location.
type Crate struct {
	metadata []byte
	files    []placed // in the order of the metadata
	modified time.Time
}

// Describe makes the crate of a run.
func Describe(run Run) (*Crate, error) {
	d := &description{run: run, root: entity{ID: "./", Type: "Dataset"}}
	action := d.action()
	d.rootOf(action)
	graph := []any{
		entity{ID: MetadataFile, Type: "CreativeWork", ConformsTo: refTo(crateProfile), About: refTo("./")},
		d.root,
		entity{ID: runProfile, Type: "CreativeWork", Name: "Process Run Crate", Version: "0.5"},
		action,
	}
	metadata, err := encode(append(graph, d.others...))
	if err != nil {
		return nil, fmt.Errorf("describe run %q: %w", run.ID, err)
	}
	return &Crate{metadata: metadata, files: d.files, modified: run.FinishedAt.UTC().Truncate(time.Second)}, nil
}

// description collects entities and files.
type description struct {
	run    Run
	root   entity
	others []any
	files  []placed
}

// add adds an entity and refers to it.
func (d *description) add(e entity) ref {
	d.others = append(d.others, e)
	return ref{e.ID}
}

// addFile adds a file of the crate, below a directory.
func (d *description) addFile(dir string, f File, kind any) ref {
	path, changed := safePath(dir, f.Path)
	if dir == "" {
		path, changed = string(f.Path), false
	}
	e := entity{
		ID: idOf(path), Type: kind, Name: outputs.Escape(f.Path), Description: f.Description,
		ContentSize: strconv.FormatInt(f.Size, 10), EncodingFormat: f.MediaType, SHA256: f.SHA256,
	}
	if changed {
		e.AlternateName = e.Name
	}
	d.files = append(d.files, placed{path, f})
	r := d.add(e)
	d.root.HasPart = append(d.root.HasPart, r)
	return r
}

func (d *description) rootOf(action entity) {
	run := d.run
	d.root.Name, d.root.Description = run.Name, run.Description
	d.root.ConformsTo = refTo(runProfile)
	d.root.DatePublished = moment(run.FinishedAt)
	d.root.Mentions = []ref{{action.ID}, d.add(d.engine(action))}
	license := entity{ID: run.License, Type: "CreativeWork", Name: run.License, Description: "Under these terms the run was given away by who made this crate."}
	if run.License == "" {
		license = entity{
			ID: "#no-license", Type: "CreativeWork", Name: "No license is stated",
			Description: "Who made this crate has not said under what terms it may be used. Ask them before you use it.",
		}
	}
	r := d.add(license)
	d.root.License = &r
}

// engine names scidex-oci as the maker.
func (d *description) engine(action entity) entity {
	software := d.run.Engine
	engine := d.add(entity{ID: software.URL, Type: "SoftwareApplication", Name: software.Name, URL: software.URL, SoftwareVersion: software.Version})
	return entity{
		ID: action.ID + "-engine", Type: "OrganizeAction", Name: "Run by " + software.Name,
		Instrument: &engine, Result: []ref{{action.ID}},
	}
}

func (d *description) action() entity {
	run := d.run
	id := "#run-" + url.PathEscape(run.ID)
	a := entity{
		ID: id, Type: "CreateAction", Name: "Run " + run.ID, Description: format.ShellLine(run.Command...),
		StartTime: moment(run.StartedAt), EndTime: moment(run.FinishedAt), ActionStatus: refTo(statusTerms + "CompletedActionStatus"),
	}
	if !run.Completed {
		a.ActionStatus, a.Error = refTo(statusTerms+"FailedActionStatus"), run.Error
	}
	instrument := d.instrument()
	a.Instrument = &instrument
	for _, in := range run.Inputs {
		a.Object = append(a.Object, d.input(in))
	}
	for _, f := range run.Outputs {
		a.Result = append(a.Result, d.addFile(outputsDir, f, "File"))
	}
	for _, f := range run.Logs {
		a.Result = append(a.Result, d.addFile(logsDir, f, "File"))
	}
	for _, f := range []*File{run.Result, run.Statement} {
		if f != nil {
			d.addFile("", *f, "File")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(run.Environment)) {
		value := run.Environment[name]
		a.Environment = append(a.Environment, d.add(entity{ID: "#environment-" + url.PathEscape(name), Type: "PropertyValue", Name: name, Value: &value}))
	}
	for _, m := range run.Usage {
		value := strconv.FormatInt(m.Value, 10)
		a.ResourceUsage = append(a.ResourceUsage, d.add(entity{
			ID: id + "-" + m.Name, Type: "PropertyValue", Name: m.Name, PropertyID: m.About, UnitCode: m.Unit, Value: &value,
		}))
	}
	if run.Image != nil {
		image := d.image(*run.Image)
		a.ContainerImage = &image
	}
	if run.Agent != nil {
		agent := d.add(entity{ID: cmp.Or(run.Agent.ID, "#agent"), Type: "Person", Name: run.Agent.Name})
		a.Agent = &agent
	}
	return a
}

// instrument is what was executed. A script's version is its digest: it has no other.
func (d *description) instrument() ref {
	run := d.run
	if run.Script != nil {
		r := d.addFile(scriptDir, *run.Script, []string{"File", "SoftwareSourceCode"})
		script := d.others[len(d.others)-1].(entity) //nolint:forcetypeassert // addFile has added it
		script.Version = "sha256:" + run.Script.SHA256
		d.others[len(d.others)-1] = script
		return r
	}
	name := "an unknown command"
	if len(run.Command) > 0 {
		name = run.Command[0]
	}
	return d.add(entity{ID: "#command", Type: "SoftwareApplication", Name: name, Description: "The program as the run found it; which version that was is not known."})
}

func (d *description) input(in Input) ref {
	e := entity{
		ID: "#input-" + url.PathEscape(strings.TrimPrefix(in.Place, "/")), Type: "CreativeWork", Name: in.Place, AlternateName: in.Host,
		Description: "It was bound for the run to read only. Its contents are not recorded and not in this crate.",
	}
	if in.SHA256 != "" {
		e.Identifier = in.Digested + ":sha256:" + in.SHA256
		e.Description = "It was bound for the run to read only. Its contents are not in this crate; the identifier is their digest, or that of a listing of them, as scidex-oci computes it."
	}
	return d.add(e)
}

func (d *description) image(i Image) ref {
	return d.add(entity{
		ID: "#container-image", Type: "ContainerImage", AdditionalType: refTo(runTerms + "DockerImage"),
		Registry: i.Registry, Name: i.Name, Tag: i.Tag, SHA256: i.SHA256, Identifier: i.RootDigest,
	})
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
