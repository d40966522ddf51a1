package crate_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piprate/json-gold/ld"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/crate"
)

// blobs are contents by their digest, as a store has them.
type blobs map[string]string

func (b blobs) Open(digest string) (io.ReadCloser, error) {
	content, ok := b[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func (b blobs) file(path, content string) crate.File {
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	b[digest] = content
	return crate.File{Path: []byte(path), Size: int64(len(content)), SHA256: digest, MediaType: "text/csv"}
}

// full is a run of which all is known.
func full(b blobs) crate.Run {
	script, result := b.file("fit.py", "print()"), b.file("scidex-result.json", "{}")
	at := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)
	return crate.Run{
		Name: "Run a@1", Description: "what it is", ID: "a@1", Error: "the analysis ended with exit code 3",
		StartedAt: at, FinishedAt: at.Add(time.Minute), Command: []string{"fit.py", "a b"}, Script: &script,
		Inputs:      []crate.Input{{Place: "/data", Host: "/home/me/data"}, {Place: "/inputs/x y", Host: "/srv/x", Digested: "content", SHA256: strings.Repeat("ab", 32)}},
		Environment: map[string]string{"B": "", "A": "1"},
		Image:       &crate.Image{Registry: "registry.example", Name: "python", Tag: "3.12", SHA256: strings.Repeat("ab", 32), RootDigest: "sha256:cd"},
		Usage:       []crate.Measure{{Name: "cpu_ms", About: "https://example.org/#cpu_ms", Unit: "https://qudt.org/vocab/unit/MilliSEC", Value: 7}},
		Outputs:     []crate.File{b.file("sub/table.csv", "a,b\n"), b.file("summary.csv", "1\n")},
		Logs:        []crate.File{b.file("stdout.txt", "hello\n")}, Result: &result,
		Agent: &crate.Agent{Name: "Ada", ID: "https://orcid.org/0000-0001-2345-6789"}, License: "https://creativecommons.org/publicdomain/zero/1.0/",
		Engine: crate.Software{Name: "scidex-oci", URL: "https://example.org/scidex-oci", Version: "v0.2.0"},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written writes a run into a new directory.
func written(t *testing.T, run crate.Run, b blobs) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "crate")
	c, err := crate.Describe(run)
	must(t, err)
	must(t, c.WriteDir(t.Context(), dir, b))
	return dir
}

// contexts has those that crates name, without a network.
type contexts struct{}

func (contexts) LoadDocument(address string) (*ld.RemoteDocument, error) {
	name, ok := map[string]string{
		"https://w3id.org/ro/crate/1.1/context":          "crate-context.json",
		"https://w3id.org/ro/terms/workflow-run/context": "run-context.json",
	}[address]
	if !ok {
		return nil, fmt.Errorf("no context %s here", address)
	}
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	document, err := ld.DocumentFromReader(bytes.NewReader(text))
	return &ld.RemoteDocument{DocumentURL: address, Document: document}, err
}

// graph reads metadata as an independent JSON-LD processor does: nodes by their IRI, below a base.
func graph(t *testing.T, metadata []byte) (nodes map[string]map[string]any, written int) {
	t.Helper()
	var document any
	must(t, json.Unmarshal(metadata, &document))
	for _, e := range document.(map[string]any)["@graph"].([]any) {
		written += len(e.(map[string]any))
	}
	options := ld.NewJsonLdOptions("https://example.org/crate/")
	options.DocumentLoader = contexts{}
	expanded, err := ld.NewJsonLdProcessor().Flatten(document, nil, options)
	must(t, err)
	nodes = map[string]map[string]any{}
	for _, node := range expanded.([]any) {
		n := node.(map[string]any)
		nodes[strings.TrimPrefix(n["@id"].(string), "https://example.org/crate/")] = n
	}
	return nodes, written
}

const (
	schema = "http://schema.org/"
	terms  = "https://w3id.org/ro/terms/workflow-run#"
)

// values are those of a property, or the nodes that it refers to.
func values(node map[string]any, property string) (all []string) {
	list, _ := node[property].([]any)
	for _, v := range list {
		if one, ok := v.(map[string]any); ok {
			value := one["@value"]
			if value == nil {
				value = one["@id"]
			}
			all = append(all, strings.TrimPrefix(fmt.Sprint(value), "https://example.org/crate/"))
		}
	}
	return all
}

func metadataOf(t *testing.T, dir string) []byte {
	t.Helper()
	metadata, err := os.ReadFile(filepath.Join(dir, crate.MetadataFile))
	must(t, err)
	return metadata
}

// The crate has what the two specifications require and recommend, as JSON-LD.
func TestProfile(t *testing.T) {
	b := blobs{}
	nodes, written := graph(t, metadataOf(t, written(t, full(b), b)))
	const action = "#run-a@1"
	for _, want := range []struct {
		node, property string
		values         []string
	}{
		{"ro-crate-metadata.json", "http://purl.org/dc/terms/conformsTo", []string{"https://w3id.org/ro/crate/1.1"}},
		{"ro-crate-metadata.json", schema + "about", []string{""}},
		{"", "http://purl.org/dc/terms/conformsTo", []string{"https://w3id.org/ro/wfrun/process/0.5"}},
		{"", schema + "name", []string{"Run a@1"}},
		{"", schema + "description", []string{"what it is"}},
		{"", schema + "datePublished", []string{"2026-03-04T05:07:07.008Z"}},
		{"", schema + "license", []string{"https://creativecommons.org/publicdomain/zero/1.0/"}},
		{"", schema + "hasPart", []string{"script/fit.py", "outputs/sub/table.csv", "outputs/summary.csv", "logs/stdout.txt", "scidex-result.json"}},
		{"", schema + "mentions", []string{action, action + "-engine"}},
		{action, schema + "name", []string{"Run a@1"}},
		{action, schema + "description", []string{`fit.py 'a b'`}},
		{action, schema + "startTime", []string{"2026-03-04T05:06:07.008Z"}},
		{action, schema + "endTime", []string{"2026-03-04T05:07:07.008Z"}},
		{action, schema + "actionStatus", []string{schema + "FailedActionStatus"}},
		{action, schema + "error", []string{"the analysis ended with exit code 3"}},
		{action, schema + "instrument", []string{"script/fit.py"}},
		{action, schema + "agent", []string{"https://orcid.org/0000-0001-2345-6789"}},
		{action, schema + "object", []string{"#input-data", "#input-inputs%2Fx%20y"}},
		{action, schema + "result", []string{"outputs/sub/table.csv", "outputs/summary.csv", "logs/stdout.txt"}},
		{action, terms + "environment", []string{"#environment-A", "#environment-B"}},
		{action, terms + "containerImage", []string{"#container-image"}},
		{action, terms + "resourceUsage", []string{action + "-cpu_ms"}},
		{"#environment-B", schema + "value", []string{""}},
		{"#container-image", terms + "registry", []string{"registry.example"}},
		{"#container-image", schema + "name", []string{"python"}},
		{"#container-image", terms + "tag", []string{"3.12"}},
		{"#container-image", terms + "sha256", []string{strings.Repeat("ab", 32)}},
		{"#container-image", schema + "additionalType", []string{terms + "DockerImage"}},
		{action + "-cpu_ms", schema + "propertyID", []string{"https://example.org/#cpu_ms"}},
		{action + "-cpu_ms", schema + "unitCode", []string{"https://qudt.org/vocab/unit/MilliSEC"}},
		{action + "-engine", schema + "instrument", []string{"https://example.org/scidex-oci"}},
		{"https://example.org/scidex-oci", schema + "softwareVersion", []string{"v0.2.0"}},
		{"outputs/summary.csv", schema + "contentSize", []string{"2"}},
		{"outputs/summary.csv", schema + "encodingFormat", []string{"text/csv"}},
		{"https://orcid.org/0000-0001-2345-6789", schema + "name", []string{"Ada"}},
	} {
		if got := values(nodes[want.node], want.property); !slices.Equal(got, want.values) {
			t.Errorf("%s of %q is %q, want %q", want.property, want.node, got, want.values)
		}
	}
	for node, types := range map[string][]any{
		"": {schema + "Dataset"}, action: {schema + "CreateAction"}, "script/fit.py": {schema + "MediaObject", schema + "SoftwareSourceCode"},
		"outputs/summary.csv": {schema + "MediaObject"}, "#container-image": {terms + "ContainerImage"}, action + "-cpu_ms": {schema + "PropertyValue"},
	} {
		if !reflect.DeepEqual(nodes[node]["@type"], types) {
			t.Errorf("%q is a %v, want %v", node, nodes[node]["@type"], types)
		}
	}
	wantWhole(t, nodes, written)
}

// wantWhole checks that no property lacks a term of the context, and that every entity that is referred to exists.
func wantWhole(t *testing.T, nodes map[string]map[string]any, written int) {
	t.Helper()
	read := 0
	for _, node := range nodes {
		read += len(node)
		for property := range node {
			for _, id := range values(node, property) {
				if strings.HasPrefix(property, "@") || property == schema+"actionStatus" || property == schema+"additionalType" || property == "http://purl.org/dc/terms/conformsTo" && id == "https://w3id.org/ro/crate/1.1" {
					continue
				}
				if refers(node, property) && nodes[id] == nil {
					t.Errorf("%s refers to %q, which is not there", property, id)
				}
			}
		}
	}
	if read != written {
		t.Errorf("of %d properties %d are JSON-LD", written, read)
	}
}

func refers(node map[string]any, property string) bool {
	list, _ := node[property].([]any)
	for _, v := range list {
		if one, ok := v.(map[string]any); ok && one["@id"] != nil {
			return true
		}
	}
	return false
}

// Unknown values are left out, and nothing is made up.
func TestUnknownValuesAreLeftOut(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	dir := written(t, crate.Run{ID: "b@1", Completed: true, Error: "no", FinishedAt: at, Command: []string{"true"}, Engine: crate.Software{Name: "e", URL: "https://example.org/"}}, blobs{})
	nodes, n := graph(t, metadataOf(t, dir))
	wantWhole(t, nodes, n)
	for _, property := range []string{"agent", "error", "startTime", "object", "result"} {
		if got := values(nodes["#run-b@1"], schema+property); got != nil {
			t.Errorf("%s is %q", property, got)
		}
	}
	if got := values(nodes["#no-license"], schema+"name"); !slices.Equal(got, []string{"No license is stated"}) {
		t.Errorf("the license is %q", got)
	}
	wantGood(t, dir, 0)
}

// verify opens and verifies a crate.
func verify(t *testing.T, path string) (crate.Check, error) {
	t.Helper()
	c, err := crate.Open(path)
	if err != nil {
		return crate.Check{}, err
	}
	defer c.Close()
	return c.Verify(t.Context())
}

func wantGood(t *testing.T, path string, files int) {
	t.Helper()
	check, err := verify(t, path)
	if err != nil || check.Files != files || len(check.Problems) != 0 {
		t.Errorf("Verify %+v, %v, want %d files and no problem", check, err, files)
	}
}

func wantProblem(t *testing.T, path, name, what string) {
	t.Helper()
	check, err := verify(t, path)
	if err != nil || len(check.Problems) != 1 || check.Problems[0].Path != name || !strings.Contains(check.Problems[0].What, what) {
		t.Errorf("Verify %+v, %v, want that %q is %s", check, err, name, what)
	}
}

// Names of any bytes get a path below outputs, each a different one, and the original name is kept.
func TestHostileNames(t *testing.T) {
	b, names := blobs{}, []string{
		"../../etc/passwd", "/etc/shadow", "..", ".", "a//b", "a/./b", "\xff\xfe", "a\xffb", "a_b", "a\nb", "a\\b", "c:x", "\x1b[31m", "\u202egnp",
		"ro-crate-metadata.json", "scidex-result.json", "a b%20c#?", "é", "e\u0301", "nul.", "x ", strings.Repeat("n", 255), strings.Repeat("n", 254) + "m", "-rf", "#run-x", "http:", "https://example.org/x",
	}
	run := full(b)
	run.Outputs = nil
	for i, name := range names {
		run.Outputs = append(run.Outputs, b.file(name, fmt.Sprint("content ", i)))
	}
	dir := written(t, run, b)
	nodes, n := graph(t, metadataOf(t, dir))
	wantWhole(t, nodes, n)
	wantGood(t, dir, len(names)+3)
	ids := values(nodes["#run-a@1"], schema+"result")
	for i, name := range names {
		path, err := url.PathUnescape(ids[i])
		must(t, err)
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(content) != fmt.Sprint("content ", i) || !strings.HasPrefix(path, "outputs/") && !strings.HasPrefix(path, "outputs-renamed/") || !fs.ValidPath(path) {
			t.Errorf("%q is at %q: %q, %v", name, path, content, err)
		}
		if changed := path != "outputs/"+name; changed != (values(nodes[ids[i]], schema+"alternateName") != nil) {
			t.Errorf("%q is at %q, and its other name is %q", name, path, values(nodes[ids[i]], schema+"alternateName"))
		}
	}
	file := filepath.Join(t.TempDir(), "a.zip")
	c, err := crate.Describe(run)
	must(t, err)
	must(t, c.WriteZip(t.Context(), file, b))
	wantGood(t, file, len(names)+3)
	archive, err := zip.OpenReader(file)
	must(t, err)
	defer archive.Close()
	for _, entry := range archive.File {
		if !filepath.IsLocal(entry.Name) || strings.ContainsAny(entry.Name, "\\:\x1b\n\u202e") {
			t.Errorf("the archive has %q", entry.Name)
		}
	}
}

// The same run makes the same bytes.
func TestDeterministic(t *testing.T) {
	b := blobs{}
	var all [2][]byte
	for i := range all {
		c, err := crate.Describe(full(b))
		must(t, err)
		file := filepath.Join(t.TempDir(), "a.zip")
		must(t, c.WriteZip(t.Context(), file, b))
		all[i], err = os.ReadFile(file)
		must(t, err)
	}
	if !bytes.Equal(all[0], all[1]) {
		t.Error("two archives of one run differ")
	}
}

// A crate is written whole or not at all, and never over something.
func TestWriteRefuses(t *testing.T) {
	b := blobs{}
	run := full(b)
	c, err := crate.Describe(run)
	must(t, err)
	lacking := blobs{}
	top := t.TempDir()
	for name, write := range map[string]func(string, blobs) error{
		"dir":   func(to string, from blobs) error { return c.WriteDir(t.Context(), to, from) },
		"a.zip": func(to string, from blobs) error { return c.WriteZip(t.Context(), to, from) },
	} {
		to := filepath.Join(top, name)
		if err := write(to, lacking); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s without its blobs: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(top, "*")); len(left) != 0 {
			t.Errorf("%s without its blobs leaves %q", name, left)
		}
		must(t, write(to, b))
		if err := write(to, b); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("%s once more: %v", name, err)
		}
		wantGood(t, to, 5)
		must(t, os.RemoveAll(to))
		if hidden, _ := os.ReadDir(top); len(hidden) != 0 {
			t.Errorf("%s leaves %v", name, hidden)
		}
	}
	empty := filepath.Join(top, "empty")
	must(t, os.Mkdir(empty, 0o700))
	must(t, c.WriteDir(t.Context(), empty, b))
	wantGood(t, empty, 5)
}

func TestVerify(t *testing.T) {
	b := blobs{}
	change := func(name string, do func(path string) error) {
		t.Helper()
		dir := written(t, full(b), b)
		must(t, do(filepath.Join(dir, "outputs", "summary.csv")))
		t.Run(name, func(t *testing.T) { wantProblem(t, dir, "outputs/summary.csv", name) })
	}
	change("missing", os.Remove)
	change("its digest is another", func(p string) error { return os.WriteFile(p, []byte("2\n"), 0o600) })
	change("more than the 2 bytes", func(p string) error { return os.WriteFile(p, []byte("1\n2"), 0o600) })
	change("1 bytes of 2", func(p string) error { return os.Truncate(p, 1) })

	dir := written(t, full(b), b)
	must(t, os.WriteFile(filepath.Join(dir, "more"), nil, 0o600))
	wantProblem(t, dir, "more", "not named")
	must(t, os.Remove(filepath.Join(dir, "more")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	wantProblem(t, dir, "link", "no regular file")
	must(t, os.Remove(filepath.Join(dir, "link")))
	must(t, os.WriteFile(filepath.Join(dir, "d\xff"), nil, 0o600))
	wantProblem(t, dir, "d\xff", "not named")
	must(t, os.Remove(filepath.Join(dir, "d\xff")))
	must(t, os.Symlink(dir, dir+"-link"))
	wantGood(t, dir+"-link", 5)
	must(t, os.Remove(filepath.Join(dir, crate.MetadataFile)))
	if _, err := verify(t, dir); err == nil || !strings.Contains(err.Error(), "no RO-Crate") {
		t.Errorf("without metadata: %v", err)
	}
	fifo := dir + "-fifo"
	must(t, unix.Mkfifo(fifo, 0o600))
	if _, err := verify(t, fifo); err == nil || !strings.Contains(err.Error(), "neither a directory nor a regular file") {
		t.Errorf("a FIFO: %v", err)
	}
}

// archive makes a zip archive of entries.
func archive(t *testing.T, entries ...[2]string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "a.zip"))
	must(t, err)
	w := zip.NewWriter(file)
	for _, entry := range entries {
		to, err := w.Create(entry[0])
		must(t, err)
		_, err = io.WriteString(to, entry[1])
		must(t, err)
	}
	must(t, errors.Join(w.Close(), file.Close()))
	return file.Name()
}

// An untrusted archive is only read, and no file beyond its stated size.
func TestVerifyHostileArchive(t *testing.T) {
	metadata := func(entities string) [2]string {
		return [2]string{crate.MetadataFile, `{"@graph": [` + entities + `]}`}
	}
	const one = `{"@id": "a", "@type": ["File", "X"], "contentSize": 1, "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}`
	wantGood(t, archive(t, metadata(one), [2]string{"a", "a"}), 1)
	wantProblem(t, archive(t, metadata(one), [2]string{"a", strings.Repeat("a", 4<<20)}), "a", "more than the 1 bytes")
	wantProblem(t, archive(t, metadata(one), [2]string{"a", "a"}, [2]string{"b", "b"}), "b", "not named")
	for name, want := range map[string]string{"../b": "absolute", "a": "more than once", "a/b": "a file and a directory", "b\\c": "a backslash"} {
		if _, err := verify(t, archive(t, metadata(one), [2]string{"a", "a"}, [2]string{name, "b"})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	wantProblem(t, archive(t, metadata(`{"@id": "../../etc/passwd", "@type": "File", "contentSize": "1", "sha256": "x"}`)), "../../etc/passwd", "missing")
	wantProblem(t, archive(t, metadata(`{"@id": "a", "@type": "File"}`), [2]string{"a", "a"}), "a", "without its size")
	wantProblem(t, archive(t, metadata(one+","+one), [2]string{"a", "a"}), "a", "twice")
	wantGood(t, archive(t, metadata(`{"@id": "https://example.org/x", "@type": "File"}`)), 0)
	wantProblem(t, archive(t, metadata(`{"@id": "a", "@type": "File", "contentSize": 2000001, "sha256": "x"}`), [2]string{"a", "a"}), "a", "1 bytes of 2000001")
	wantProblem(t, archive(t, [2]string{crate.MetadataFile, `{"@context": [{}], "@graph": [` + one + `], "@id": {"@graph": []}}`}), "a", "missing")
	for _, odd := range []string{`[]`, `{"@graph": {}}`, `{"@graph": [`, `{"@graph": [1]}`, `{"@graph": [{"@id": "%x", "@type": "File"}]}`, ``} {
		if _, err := verify(t, archive(t, [2]string{crate.MetadataFile, odd})); err == nil {
			t.Errorf("%s is a crate", odd)
		}
	}
	huge := archive(t, metadata(`{"description": "`+strings.Repeat("x", 17<<20)+`"}`))
	if _, err := verify(t, huge); err == nil || !strings.Contains(err.Error(), "bytes that are read for 1 files") {
		t.Errorf("17 MiB of metadata: %v", err)
	}
	for _, bad := range []string{"", "{", `{"@graph": 7}`} {
		if _, err := verify(t, archive(t, [2]string{crate.MetadataFile, bad})); err == nil {
			t.Errorf("metadata %q are taken", bad)
		}
	}
}
