package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrMissing is returned for a command of Slurm's that is not installed here.
var ErrMissing = errors.New("was not found in PATH; call this where Slurm's commands are, such as on a login node")

// Available refuses where Slurm's commands are not.
func Available() error {
	for _, name := range []string{"sbatch", "squeue", "scancel", "scontrol"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s %w", name, ErrMissing)
		}
	}
	return nil
}

// call calls one of Slurm's commands and returns its standard output. Its error says what the command said.
func call(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second
	c.Env = environment(os.Environ())
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s %w", name, ErrMissing)
	}
	what := strings.Join(strings.Fields(said.String()), " ")
	if what == "" {
		what = err.Error()
	}
	return "", &saidError{name, what}
}

// kept are variables that say where jobs go, and nothing that the script says.
var kept = []string{"SBATCH_ACCOUNT", "SBATCH_PARTITION", "SBATCH_QOS", "SBATCH_RESERVATION", "SBATCH_CONSTRAINT"}

// environment is that of Slurm's commands: without the variables that are options of theirs. Those of sbatch win over the script,
// and one of squeue would hide tasks, which then would be taken for gone.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(kept, name) {
			return false
		}
		for _, prefix := range []string{"SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SCONTROL_", "SLURM_CLUSTERS"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	})
}

// saidError is what a command of Slurm's said when it failed.
type saidError struct{ command, what string }

func (e *saidError) Error() string { return fmt.Sprintf("%s failed: %s", e.command, e.what) }

// Submit gives Slurm the arrays of a spool whose scripts are written: all of them, or none. Where there are several, none
// begins before Slurm has all.
func (s Spool) Submit(ctx context.Context, args []string) (err error) {
	var jobs []string
	defer func() {
		if err != nil && len(jobs) > 0 {
			_, failed := call(context.WithoutCancel(ctx), "scancel", jobs...)
			err = errors.Join(err, failed)
		}
	}()
	several := len(s.Submission.Arrays) > 1
	for k := range s.Submission.Arrays {
		given := append([]string{"--parsable", "--chdir=" + s.Dir}, args...)
		if several {
			given = append(given, "--hold")
		}
		out, err := call(ctx, "sbatch", append(given, s.ScriptPath(k))...)
		if err != nil {
			return err
		}
		id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the cluster's name may follow
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return fmt.Errorf("sbatch said %q, which is no job's number", out)
		}
		jobs = append(jobs, id)
		if err := s.SetJob(k, id); err != nil {
			return err
		}
	}
	if err := s.SetSubmitted(); err != nil {
		return err
	}
	if several {
		_, err = call(ctx, "scontrol", "release", strings.Join(jobs, ","))
	}
	return err
}

// Cancel asks Slurm to end what is left of a submission. What has not begun never begins; what runs has its SIGTERM, and ends
// with its grace and its harvest. More than the time that a task has for that (Size.Signal) it may not take: then Cancel with kill.
func (s Spool) Cancel(ctx context.Context, tasks map[TaskID]Status, kill bool) (err error) {
	if err := s.SetCanceled(); err != nil {
		return err
	}
	jobs := map[string]bool{}
	for _, t := range tasks {
		if !t.Ended() {
			jobs[t.Job] = true
		}
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		if kill {
			err = errors.Join(err, scancel(ctx, job))
		} else {
			err = errors.Join(err, scancel(ctx, "--state=PENDING", job), scancel(ctx, "--state=RUNNING", "--batch", "--signal=TERM", job))
		}
	}
	return err
}

func scancel(ctx context.Context, args ...string) error {
	_, err := call(ctx, "scancel", args...)
	return err
}
