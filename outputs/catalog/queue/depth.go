package queue

import "time"

// Depth is the number of unfinished jobs of a queue.
type Depth struct {
	Waiting   int64 // for a worker with room
	Unplaced  int64 // for a worker that is large enough and has the labels and programs: no worker is known to
	Retrying  int64 // for a retry after an error
	Scheduled int64 // for their start time
	Running   int64
}

// ClassDepth is that of one class.
type ClassDepth struct {
	Class string // OtherClasses for several together
	Depth
	// Oldest is for how long the oldest job that waits, or is unplaced, could have run; 0 if there is none.
	Oldest time.Duration
}

// OtherClasses is the name for the classes beyond NamedClasses, and for jobs in queues that are no class. No class has this name.
const OtherClasses = "_other"

// NamedClasses is how many classes a Depth names.
const NamedClasses = 50

// Sum is the depth of all classes.
func Sum(classes []ClassDepth) (all Depth) {
	for _, c := range classes {
		all.Waiting += c.Waiting
		all.Unplaced += c.Unplaced
		all.Retrying += c.Retrying
		all.Scheduled += c.Scheduled
		all.Running += c.Running
	}
	return all
}
