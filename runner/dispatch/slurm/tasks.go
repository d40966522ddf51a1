package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TaskID names one task of a submission.
type TaskID struct{ Array, Task int }

// Status is Slurm's status of a task.
type Status struct {
	Job    string // of the array, "12"; "" where Slurm does not know the task
	State  string // Slurm's word, as "NODE_FAIL"; "" where Slurm does not know the task, or no longer
	Node   string // "" if it has none
	Reason string // as "OutOfMemory", "" for none
}

// Ended reports whether the task has ended. A state unknown to this program is no end.
func (s Status) Ended() bool { return s.State == "" || slices.Contains(ends, s.State) }

// Waits reports whether the task is still pending.
func (s Status) Waits() bool {
	return slices.Contains([]string{"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"}, s.State)
}

// ends are the final states (squeue(1), JOB STATE CODES). COMPLETING is none: the node may still be at it.
var ends = []string{
	"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
}

// Tasks asks Slurm for the tasks of a submission: squeue first, which forgets a task some minutes after its end (MinJobAge),
// then sacct for the rest, if there is accounting. A task that neither knows is left out: it has ended, or never was.
// Where squeue, or existing accounting, cannot be queried, that is an error and says nothing about any task.
func (s Spool) Tasks(ctx context.Context) (map[TaskID]Status, error) {
	all := map[TaskID]Status{}
	out, err := call(ctx, "squeue", "--noheader", "--array", "--states=all", "--user="+strconv.Itoa(s.Submission.UID), "--format=%F|%K|%T|%N|%r|%j")
	if err != nil {
		return nil, err
	}
	if err := s.readQueue(out, all); err != nil {
		return nil, err
	}
	jobs, err := s.forgotten(all)
	if err != nil || len(jobs) == 0 {
		return all, err
	}
	out, err = call(ctx, "sacct", "--noheader", "--parsable2", "--allocations", "--jobs="+strings.Join(jobs, ","), "--format=JobID,State,NodeList,JobName")
	var said *saidError
	if errors.As(err, &said) && strings.Contains(said.what, "accounting storage is disabled") || errors.Is(err, ErrMissing) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	return all, s.readAccounts(out, all)
}

// forgotten are the jobs with tasks that squeue does not know.
func (s Spool) forgotten(all map[TaskID]Status) (jobs []string, err error) {
	for k, array := range s.Submission.Arrays {
		id, err := s.Job(k)
		if err != nil {
			return nil, err
		}
		for task := range array.Lines {
			if _, known := all[TaskID{k, task}]; !known && id != "" {
				jobs = append(jobs, id)
				break
			}
		}
	}
	return jobs, nil
}

// readQueue reads lines of squeue, "12|3|RUNNING|n2|None|name".
func (s Spool) readQueue(out string, all map[TaskID]Status) error {
	for line := range strings.Lines(out) {
		field := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 6)
		if len(field) != 6 {
			return fmt.Errorf("squeue said %q, which cannot be read", line)
		}
		k, own := s.Submission.arrayOf(field[5])
		task, err := strconv.Atoi(field[1])
		if !own || err != nil {
			continue // another job of the same user
		}
		reason := field[4]
		if reason == "None" {
			reason = ""
		}
		all[TaskID{k, task}] = Status{Job: field[0], State: field[2], Node: field[3], Reason: reason}
	}
	return nil
}

// readAccounts reads lines of sacct, "12_3|CANCELLED by 1000|n2|name", for tasks that squeue does not know.
func (s Spool) readAccounts(out string, all map[TaskID]Status) error {
	for line := range strings.Lines(out) {
		field := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 4)
		if len(field) != 4 {
			return fmt.Errorf("sacct said %q, which cannot be read", line)
		}
		k, own := s.Submission.arrayOf(field[3])
		job, index, _ := strings.Cut(field[0], "_")
		task, err := strconv.Atoi(index)
		if _, known := all[TaskID{k, task}]; !own || err != nil || known {
			continue
		}
		state, _, _ := strings.Cut(field[1], " ")
		node := field[2]
		if node == "None assigned" {
			node = ""
		}
		all[TaskID{k, task}] = Status{Job: job, State: state, Node: node}
	}
	return nil
}
