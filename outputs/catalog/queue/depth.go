package queue

// Depth is how many jobs a queue has that have not ended.
type Depth struct {
	Waiting   int64 // for a worker that has room
	Unplaced  int64 // for a worker that is large enough and has the labels and programs: none of those that are there is known to
	Retrying  int64 // for their time after an error
	Scheduled int64 // for the time that they are not to begin before
	Running   int64
}
