package app

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// notOfSlurm are flags of run that mean nothing on a node, and why slurm submit refuses them.
var notOfSlurm = map[string]string{
	"id":              `it names one run; give each line its own "id"`,
	"file":            "the manifests are the lines of the file; give that as the argument",
	"again":           "it repeats no recorded run; submit the request under another id",
	"export":          slurm.NoExport,
	"overwrite":       "there is no export",
	"secret":          slurm.NoSecret,
	"post-process":    "a node calls no command of a user; call it for what \"scidex-oci slurm collect\" prints",
	"post-process-on": "a node calls no command of a user",
	"events":          `the analyses run elsewhere; see "scidex-oci slurm status SPOOL"`,
	"trace":           "the analyses run elsewhere; trace a run of one of the lines",
}

// slurmSubmitOptions are the options of slurm submit: those of run, as defaults for all lines, and more.
type slurmSubmitOptions struct {
	run                *options.Run
	spool, program     string
	partition, account string
	dryRun             bool
	sbatch             []string
}

func (o *slurmSubmitOptions) flags(g *options.Global) []cli.Flag {
	flags := options.Hide(options.WithoutSign(o.run.Flags(g)), slices.Collect(maps.Keys(notOfSlurm))...)
	options.Hide(flags, "post-process-timeout", "min-free", "quiet")
	options.Describe(flags, "limits", "`outer|enforce|best-effort`: leave memory, CPUs and processes to Slurm's control groups (default), or refuse or hold as run does")
	options.Describe(flags, "json", "print one JSON object")
	return options.List(append(flags,
		options.Path(&o.spool, "spool", "make `DIR` for scripts, requests and results, on a file system that the nodes share"),
		options.Bool(&o.dryRun, "dry-run", "print the scripts and submit nothing"),
		options.Path(&o.program, "program", "call scidex-oci at `PATH` on the nodes (default: where this one is)"),
		options.String(&o.partition, "partition", "submit to the partition `NAME`"),
		options.String(&o.account, "account", "charge the account `NAME`"),
		options.Values(&o.sbatch, "sbatch", "give sbatch the option `ARG` too, one word, as --sbatch=--constraint=avx2; repeatable", readSbatch),
	)...)
}

func readSbatch(t options.Text) ([]string, error) {
	for _, arg := range t.Values {
		if err := slurm.CheckArgument(arg); err != nil {
			return nil, command.Usagef("%s: %s", t.Label, err)
		}
	}
	return t.Values, nil
}

// arguments are the arguments of sbatch.
func (o *slurmSubmitOptions) arguments() (all []string) {
	if o.partition != "" {
		all = append(all, "--partition="+o.partition)
	}
	if o.account != "" {
		all = append(all, "--account="+o.account)
	}
	return append(all, o.sbatch...)
}

// callOf is how a node runs this program.
func (o *slurmSubmitOptions) callOf(g *options.Global) (call slurm.Call, err error) {
	call = slurm.Call{Program: o.program, Spool: o.spool, Tmp: g.Tmp.Path("/tmp")}
	if call.Spool == "" {
		return call, command.Usagef("slurm submit needs --spool DIR, a directory to be made on a file system that the nodes share")
	}
	if call.Program == "" {
		if call.Program, err = os.Executable(); err != nil {
			return call, fmt.Errorf("%w; give --program PATH", err)
		}
	}
	return call, call.Validate()
}
