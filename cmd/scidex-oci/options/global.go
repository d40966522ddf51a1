package options

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
)

// Global are the options of every command.
type Global struct {
	Root, DB, Blobs, Tmp, LogLevel, LogFormat, Config Text
	// MinFree has a flag in the commands that make runs. The others have it from the config file.
	MinFree Text
	// MaxUnharvested and MaxUnharvestedSize have no flag: the config file has them.
	MaxUnharvested, MaxUnharvestedSize Text
	// Inject has flags in the same commands.
	Inject Text
	// Sign has flags in the same commands.
	Sign Sign
	// Dir is the working directory.
	Dir string

	file layer // the config file
}

// Flags are the global flags.
func (g *Global) Flags() []*Flag {
	return []*Flag{
		Given(&g.Root, "root", "keep catalog, blobs and locks in `DIR` (default: $XDG_DATA_HOME/scidex-oci or ~/.local/share/scidex-oci, for root /var/lib/scidex-oci)"),
		Given(&g.DB, "db", "use the catalog at `URL`, sqlite://PATH or postgres://USER@HOST:PORT/DATABASE (default: sqlite://ROOT/catalog.db)"),
		Given(&g.Blobs, "blobs", "use the blob store at `URL`, file://DIR or s3://BUCKET/PREFIX?endpoint=URL (default: file://ROOT/blobs); credentials, region and endpoint of S3 also by AWS_* and ~/.aws"),
		Given(&g.Tmp, "tmp", "make working directories in `DIR` (default: /tmp)"),
		Given(&g.LogLevel, "log-level", "write messages of `LEVEL` debug, info, warn or error and above (default: warn)"),
		Given(&g.LogFormat, "log-format", "write messages as `text|json`, one a line (default: text)"),
		Given(&g.Config, "config", "read defaults from the YAML `FILE`, keys as flags with underscores (default: $XDG_CONFIG_HOME/scidex-oci/config.yaml or /etc/scidex-oci/config.yaml, if they exist); its list allow_binds restricts what may be bound, that of /etc/scidex-oci/config.yaml always; its mapping runtimes gives directories the names that --runtime takes; its mapping images says what the images of a workflow engine are here; its mappings registries and short_names are for image pull"),
	}
}

// MinFreeFlag is the flag of MinFree.
func (g *Global) MinFreeFlag() *Flag {
	return Given(&g.MinFree, "min-free", "`SIZE|PERCENT%`: end runs and start none while the file system of /work or of the blobs has less free space than this; 0 for no such minimum (default: the smaller of 5% and 2GiB)")
}

// UnharvestedKeys are the keys of a config file that bound the directories which stay because a harvest failed. Those of the
// operator's file hold for all users.
func (g *Global) UnharvestedKeys() []*Flag {
	return []*Flag{
		Given(&g.MaxUnharvested, "max-unharvested", "start no run while `N` working directories stay because their harvest failed; 0 for no such bound (default: 100)"),
		Given(&g.MaxUnharvestedSize, "max-unharvested-size", "start no run while such directories have `SIZE` together; 0 for no such bound (default: 64GiB)"),
	}
}

// InjectFlag is the flag of Inject. No manifest has it: it names variables of this command's environment.
func (g *Global) InjectFlag() *Flag {
	return GivenList(&g.Inject, "inject", "`[METHOD ]HOST/PREFIX/=HEADER:env:VARIABLE`: add a header with the value of a variable to requests that an analysis sends in plain text to a host of --allow-host, and send them on over TLS; the analysis does not get the value; repeatable; see docs/requests.md")
}

// Load sets the options of a command line: those of flags, and others, which are no flags of the command and may be keys of
// the config file. On an error, the first, all options are set as far as known.
func (g *Global) Load(env Lookup, flags []*Flag, others ...*Flag) error {
	l, err := g.layers(env, flags)
	hidden := append(g.SignFlags(), g.MinFreeFlag(), g.InjectFlag())
	for _, f := range slices.Concat(flags, others, hidden) {
		err = cmp.Or(err, f.take(l))
	}
	system, _ := g.file.operators(OperatorConfig) // Allowed returns the error to those who start runs
	for _, f := range g.UnharvestedKeys() {
		err = cmp.Or(err, f.take(layers{configFile - 1: system, configFile: g.file}))
	}
	return err
}

// layers reads the sources of flag values.
func (g *Global) layers(env Lookup, flags []*Flag) (layers, error) {
	dir, err := os.Getwd()
	if err != nil {
		// The flags are good all the same: --json is answered with an object.
		g.Dir = "/"
		return layers{fromFlags(flags, "/")}, fmt.Errorf("working directory: %w; change to one that exists", err)
	}
	g.Dir = dir
	above := layers{fromFlags(flags, dir), fromEnvironment(append(g.SignFlags(), flags...), env, dir)} // gc signs what it recovers
	g.file, err = fromConfig(above.text("config").Path(""), configPaths(env), configKeys())
	return append(above, g.file), err // above is valid even without the file
}

// OnLine are those options on the command line that choose the catalog.
func (g *Global) OnLine() []Text {
	var all []Text
	for _, t := range []Text{g.Config, g.Root, g.DB, g.Blobs} {
		if t.Layer == commandLine && t.Given {
			all = append(all, t)
		}
	}
	return all
}

// Allowed are the restrictions of the config file in use and of the operator's: a file of the caller's replaces the
// operator's defaults, and nothing else.
func (g *Global) Allowed() ([]binds.Allowed, error) { return g.file.restrictions(OperatorConfig) }

func (l layer) restrictions(operator string) ([]binds.Allowed, error) {
	system, err := l.operators(operator)
	return append(l.allowed(), system.allowed()...), err
}

// operators is the operator's config file, empty if it is this layer itself.
func (l layer) operators(operator string) (layer, error) {
	if l.file == operator {
		return layer{}, nil
	}
	system, err := readConfig(operator, configKeys())
	if errors.Is(err, fs.ErrNotExist) {
		return layer{}, nil
	}
	return system, err
}
