package options

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// parse gives flags the values of a command line and an environment, with a config file of this text.
func parse(t *testing.T, flags []*Flag, line []string, env map[string]string, config string) error {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Parse(line); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	all := map[string]string{"SCIDEX_OCI_CONFIG": write(t, dir+"/etc/config.yaml", config)}
	for name, value := range env {
		all[name] = value
	}
	var g Global
	return g.Load(variables(all), append(flags, g.Flags()...))
}

// kinds is one option of each kind.
type kinds struct {
	on     bool
	text   string
	path   string
	count  int
	long   time.Duration
	size   spec.Size
	choice string
	words  []string
	labels map[string]string
}

func (o *kinds) flags() []*Flag {
	o.text, o.count, o.long = "default", 7, time.Minute
	return []*Flag{
		Bool(&o.on, "json", ""), String(&o.text, "keep", ""), Path(&o.path, "data", ""), Count(&o.count, "jobs", "", 1),
		Duration(&o.long, "drain", "", time.Second), Parsed(&o.size, "memory", "", spec.ParseSize), Choice(&o.choice, "limits", "", "a", "b"),
		Words(&o.words, "state", "", States()), Pairs(&o.labels, "label", ""),
	}
}

// The command line wins over the environment, that over the config file, and that over the default.
func TestLayers(t *testing.T) {
	var o kinds
	err := parse(t, o.flags(), []string{"--memory=1KiB", "--label=a=1", "--label=b=2,c=3"},
		map[string]string{"SCIDEX_OCI_MEMORY": "2KiB", "SCIDEX_OCI_LIMITS": "b", "SCIDEX_OCI_STATE": "failed,lost", "SCIDEX_OCI_JOBS": ""},
		"memory: 3KiB\nlimits: a\ndata: d\njson: true\n")
	if err != nil || o.size != spec.KiB || o.choice != "b" || !strings.HasSuffix(o.path, "/etc/d") || !o.on {
		t.Errorf("%+v, %v", o, err)
	}
	if o.text != "default" || o.count != 7 || o.long != time.Minute || len(o.words) != 2 || o.labels["b"] != "2,c=3" || len(o.labels) != 2 {
		t.Errorf("%+v", o)
	}
}

// Each is refused by the name that it has where it was given. The others are known all the same.
func TestRefusedValues(t *testing.T) {
	for line, want := range map[string]string{
		"--json=maybe": `--json "maybe": give true or false`, "--jobs=0": `--jobs "0": give a whole number, at least 1`,
		"--drain=1ms": `--drain "1ms": give a duration of at least 1s, as 90s or 10m`, "--memory=x": `--memory: "x"`, "--limits=c": `--limits "c": give one of a, b`,
		"--state=faild": `--state "faild": there is no such state; did you mean "failed"?`, "--label=a": `--label "a": no "="; give K=V`, "--label==a": "no name before",
	} {
		var o kinds
		err := parse(t, o.flags(), []string{line}, map[string]string{"SCIDEX_OCI_KEEP": "x"}, "")
		if err == nil || !strings.HasPrefix(err.Error(), strings.SplitN(want, "no name", 2)[0]) || !strings.Contains(err.Error(), want) || o.text != "x" {
			t.Errorf("%s: %v, want %s; %+v", line, err, want, o)
		}
	}
	var o kinds
	err := parse(t, o.flags(), nil, map[string]string{"SCIDEX_OCI_JOBS": "many"}, "json: perhaps\n")
	if err == nil || !strings.HasPrefix(err.Error(), "config file ") || !strings.HasSuffix(err.Error(), `json "perhaps": give true or false`) {
		t.Error(err)
	}
	if err := parse(t, o.flags(), nil, map[string]string{"SCIDEX_OCI_JOBS": "many"}, ""); err == nil || !strings.HasPrefix(err.Error(), `SCIDEX_OCI_JOBS "many": `) {
		t.Error(err)
	}
}

// A switch that stands alone is on, and the same flags can be read again.
func TestReadAgain(t *testing.T) {
	var o kinds
	flags := o.flags()
	for _, line := range [][]string{{"--json", "--jobs=2", "--jobs=3"}, nil} {
		err := parse(t, flags, line, nil, "")
		if given := line != nil; err != nil || o.on != given || (o.count == 3) != given || (o.count == 7) == given {
			t.Errorf("%q: %+v, %v", line, o, err)
		}
	}
}
