package slurm

import (
	"math"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// What a task needs beside its analysis.
const (
	// ownMemory is for launcher, supervisor and Slurm's own step daemon, which the task's control group may count: 32 MiB each
	// at most, with room for SQLite and for pages that are being written.
	ownMemory = 128 * spec.MiB
	// startTime is for what comes before the analysis: looking through inputs, an image's check, the container.
	startTime = 2 * time.Minute
	// endTime is for what comes after it beside the harvest: commit, and delivery to the spool.
	endTime = time.Minute
	// harvestRate is the least at which outputs are read, hashed and copied twice, in bytes a second.
	harvestRate = 16 * spec.MiB
	// signalSlack is by how much Slurm may signal too early (sbatch(1), --signal).
	signalSlack = time.Minute
)

// Size is what each task of an array gets.
type Size struct {
	MemoryMiB int64 `json:"memory_mib"`
	CPUs      int   `json:"cpus"`
	Minutes   int   `json:"minutes"` // Slurm's time limit
	Signal    int   `json:"signal"`  // seconds before it when Slurm sends SIGTERM, so that the run ends with its harvest
}

// SizeOf is what an analysis needs, with the defaults filled in where it does not say.
func SizeOf(a spec.Analysis) Size {
	a = a.WithDefaults()
	after := time.Duration(a.Grace) + time.Duration(a.WorkSize/harvestRate)*time.Second + endTime
	whole := startTime + time.Duration(a.Timeout) + after + signalSlack
	return Size{
		MemoryMiB: int64((a.Memory + ownMemory + spec.MiB - 1) / spec.MiB),
		CPUs:      max(1, int(math.Ceil(a.CPUs))),
		Minutes:   int(math.Ceil(whole.Minutes())),
		Signal:    int(math.Ceil(after.Seconds())),
	}
}

// arrayMax is the most tasks of one array: Slurm's default MaxArraySize is 1001, and the first index 0.
const arrayMax = 1000

// Array is one array of tasks of one size.
type Array struct {
	Size
	Lines []int `json:"lines"` // by their task: the numbers of the lines
}

// Sized is a line and what it needs.
type Sized struct {
	Number int
	Size
}

// Arrays puts lines into as few arrays as their sizes allow, in the order of the lines. Nothing is rounded up to a larger size.
func Arrays(lines []Sized) []Array {
	var all []Array
	open := map[Size]int{} // the last array of each size
	for _, line := range lines {
		i, known := open[line.Size]
		if !known || len(all[i].Lines) == arrayMax {
			i = len(all)
			open[line.Size] = i
			all = append(all, Array{Size: line.Size})
		}
		all[i].Lines = append(all[i].Lines, line.Number)
	}
	return slices.Clip(all)
}
