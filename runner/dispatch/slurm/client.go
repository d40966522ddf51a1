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
	"syscall"
	"time"
)

// ErrMissing is returned for a Slurm command that is not installed here.
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

// call runs one of Slurm's commands and returns its standard output. Its error has the command's message.
func call(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's SIGINT is for the caller, who ends it with ctx
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

// environment is that of Slurm's commands: without variables that are options of theirs. Those of sbatch override the
// script, and one of squeue would hide tasks, which then would be taken for gone.
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

// saidError is the message of a Slurm command that failed.
type saidError struct{ command, what string }

func (e *saidError) Error() string { return fmt.Sprintf("%s failed: %s", e.command, e.what) }

// ErrLeft is returned if a failed submission may have left jobs.
var ErrLeft = errors.New("jobs of it may be left in Slurm")

// Submit submits the arrays of a spool whose scripts are written: all of them, or none. If there are several, none starts
// before Slurm has all. It returns ErrLeft where jobs may be left.
func (s Spool) Submit(ctx context.Context, args []string) error {
	asked := 0
	err := s.submit(ctx, args, &asked)
	if err == nil {
		return nil
	}
	var left error
	for k := range asked { // by name: after a failed call the job's number is unknown
		left = errors.Join(left, scancel(context.WithoutCancel(ctx), "--user="+strconv.Itoa(s.Submission.UID), "--name="+s.Submission.JobName(k)))
	}
	if left != nil {
		return fmt.Errorf("%w; %w: %w", err, ErrLeft, left)
	}
	return err
}

// noConnection is in sbatch's message if it had no connection to the controller, which so has made no job
// (SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR in Slurm's errno.h).
const noConnection = "connect failure"

// submit counts in asked the arrays that it has passed to Slurm.
func (s Spool) submit(ctx context.Context, args []string, asked *int) error {
	var jobs []string
	several := len(s.Submission.Arrays) > 1
	for k := range s.Submission.Arrays {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		given := append([]string{"--parsable", "--chdir=" + s.Dir}, args...)
		if several {
			given = append(given, "--hold")
		}
		*asked++
		// A call that is cut short may still have made a job.
		out, err := call(context.WithoutCancel(ctx), "sbatch", append(given, s.ScriptPath(k))...)
		if err != nil && strings.Contains(err.Error(), noConnection) {
			*asked--
		}
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.SetSubmitted(); err != nil || !several {
		return err
	}
	_, err := call(context.WithoutCancel(ctx), "scontrol", "release", strings.Join(jobs, ","))
	return err
}

// Cancel cancels what is left of a submission. Pending tasks never start; running ones get SIGTERM, and end with their grace
// and harvest within the time that a task has for that (Size.Signal). For one that takes longer: Cancel with kill.
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
