package slurm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Call is how a node runs this program. All paths are absolute.
type Call struct {
	Program string // the same on every node
	Spool   string
	Tmp     string // for what a node keeps while a task runs
}

// Validate refuses paths that a script cannot hold.
func (c Call) Validate() error {
	for _, path := range []string{c.Program, c.Spool, c.Tmp} {
		if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("path %q: Slurm takes none with control characters in it; choose another", path)
		}
	}
	return nil
}

// path is PATH on a node: Slurm's own comes from the caller or from a login shell there.
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Script returns the batch script of the k-th array. Its directives are numbers and the name; paths are quoted shell words.
// The shell is replaced, so that Slurm's signals for it (B:) reach scidex-oci. The environments of the submitter and of a
// login shell are dropped: scidex-oci on a node uses its command line and the node's config file.
func (s Submission) Script(k int, call Call) string {
	array := s.Arrays[k]
	return fmt.Sprintf(`#!/bin/sh
# Written by "scidex-oci slurm submit". What became of it: scidex-oci slurm status %[1]s
#SBATCH --job-name=%[2]s
#SBATCH --array=0-%[3]d
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=%[4]d
#SBATCH --mem=%[5]dM
#SBATCH --time=%[6]d
#SBATCH --signal=B:TERM@%[7]d
#SBATCH --no-requeue
#SBATCH --export=NIL
#SBATCH --output=logs/%[8]d_%%a.out
exec env -i PATH=%[9]s \
  %[10]s slurm task --tmp=%[11]s %[1]s %[8]d "$SLURM_ARRAY_TASK_ID"
`, format.ShellQuote(call.Spool), s.JobName(k), len(array.Lines)-1, array.CPUs, array.MemoryMiB, array.Minutes, array.Signal, k, path,
		format.ShellQuote(call.Program), format.ShellQuote(call.Tmp))
}

// JobName is the name of the k-th array, by which it is found again.
func (s Submission) JobName(k int) string { return fmt.Sprintf("%s-%d", s.Name, k) }

// reserved are the sbatch options that the script sets, and those that would change its meaning.
var reserved = []string{
	"--job-name", "-J", "--array", "-a", "--nodes", "-N", "--ntasks", "-n", "--cpus-per-task", "-c", "--mem", "--mem-per-cpu",
	"--mem-per-gpu", "--time", "-t", "--time-min", "--signal", "--requeue", "--no-requeue", "--export", "--export-file",
	"--get-user-env", "--output", "-o", "--error", "-e", "--input", "-i", "--chdir", "-D", "--wait", "-W", "--wrap", "--parsable",
	"--hold", "-H", "--test-only", "--clusters", "-M", "--uid", "--gid", "--ntasks-per-node",
}

// CheckArgument refuses an sbatch option that is the script's.
func CheckArgument(arg string) error {
	name, _, _ := strings.Cut(arg, "=")
	if !strings.HasPrefix(arg, "-") || arg == "-" || arg == "--" {
		return fmt.Errorf("%q is no option of sbatch; write it as one word, such as --constraint=avx2", arg)
	}
	if !strings.HasPrefix(arg, "--") { // -p main, -pmain
		name = arg[:2]
	}
	for _, one := range reserved {
		if name == one || strings.HasPrefix(name, "--") && strings.HasPrefix(one, name) { // getopt_long(3) takes abbreviations
			return fmt.Errorf("%q is set by scidex-oci itself, from the limits of the lines; leave it out", arg)
		}
	}
	return nil
}

// errNoArrays is for a file without lines.
var errNoArrays = errors.New("there is no line to submit")
