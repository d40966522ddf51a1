package queue

// Depth is the number of unfinished jobs of a queue.
type Depth struct {
	Waiting   int64 // for a worker with room
	Unplaced  int64 // for a worker that is large enough and has the labels and programs: no present one is known to
	Retrying  int64 // for a retry after an error
	Scheduled int64 // for their start time
	Running   int64
}
