package slurm

import (
	"math"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// What a task needs in addition to its analysis.
const (
	// ownMemory is for launcher, supervisor and Slurm's step daemon, which the task's control group may count: 32 MiB each
	// at most, with room for SQLite and for pages being written.
	ownMemory = 128 * spec.MiB
	// startTime is for what comes before the analysis: scanning the inputs, an image's check, the container.
	startTime = 2 * time.Minute
	// endTime is for what comes after it except the harvest: commit, and delivery to the spool.
	endTime = time.Minute
	// harvestRate is the minimum for reading, hashing and twice copying outputs, in bytes a second.
	harvestRate = 16 * spec.MiB
	// signalSlack is how early Slurm may signal (sbatch(1), --signal).
	signalSlack = time.Minute
)

// Size is what each task of an array gets.
type Size struct {
	MemoryMiB int64 `json:"memory_mib"`
	CPUs      int   `json:"cpus"`
	Minutes   int   `json:"minutes"` // Slurm's time limit
	Signal    int   `json:"signal"`  // seconds before it when Slurm sends SIGTERM, so that the run ends with its harvest
}

// SizeOf returns what an analysis needs, with defaults filled in.
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

// Sized is a line and its size.
type Sized struct {
	Number int
	Size
}

// Arrays groups lines into as few arrays as their sizes allow, in line order. No size is rounded up.
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
